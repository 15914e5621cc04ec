"""Exact modulo scheduling: local search, branch and bound, and the printed integer program."""
