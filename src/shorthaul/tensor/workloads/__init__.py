"""Built-in operator graphs."""
