"""Built-in applications and generators of them."""
