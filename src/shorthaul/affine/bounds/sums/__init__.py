"""Arguments on sums: those a part computes whole, those that wait, that are used on lines, or that need whole rows."""
