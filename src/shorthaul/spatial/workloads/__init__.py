"""Generators of trees, decision trees, built-in cases."""
