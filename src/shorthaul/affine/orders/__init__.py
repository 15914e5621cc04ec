"""Orders of computation with their loads as formulas: tiles, panels, triangles, skewing."""
