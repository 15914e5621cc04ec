"""Checkers of plans and of bounds."""
