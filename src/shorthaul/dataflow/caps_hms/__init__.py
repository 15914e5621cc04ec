"""CAPS-HMS, the modulo scheduling heuristic of Letras et al."""
