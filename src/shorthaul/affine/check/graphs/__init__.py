"""Graphs that stand for that of a program, verified from certificates."""
