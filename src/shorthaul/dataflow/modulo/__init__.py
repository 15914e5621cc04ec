"""Exact modulo scheduling: branch and bound and CP-SAT models."""
