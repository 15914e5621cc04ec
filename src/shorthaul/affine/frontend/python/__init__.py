"""Loops of a Python function on NumPy arrays, as a region in C."""
