"""Built-in computation DAGs and generators of them."""
