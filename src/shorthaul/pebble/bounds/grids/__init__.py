"""Bounds of iterations over grids found inside any graph."""
