"""Orders block by block of tables and of iterations over grids, found by the structure of the graph."""
