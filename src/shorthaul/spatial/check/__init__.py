"""The checker: an independent replay of a placement."""
