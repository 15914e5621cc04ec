"""Optimal or closed-form schedules of graphs with structure: trees, wavelets, matrix-vector products."""
