"""The checker: an independent replay of a periodic schedule."""
