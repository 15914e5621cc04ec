"""Data-movement lower bounds for C loop nests, with their proof."""
