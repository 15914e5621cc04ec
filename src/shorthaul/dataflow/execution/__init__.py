"""Plans executed on tokens."""
