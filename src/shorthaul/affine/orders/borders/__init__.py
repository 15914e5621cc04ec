"""Inputs that tiles read again and again, held by them, and where the tiles of a coordinate begin."""
