"""Orders as C: the parts of an order, what they share in memory, loops, and whole files."""
