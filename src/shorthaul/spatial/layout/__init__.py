"""Placements of trees on the grid: orders, space-filling curves, annealing, their cost."""
