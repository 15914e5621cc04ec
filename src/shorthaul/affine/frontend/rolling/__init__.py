"""Loops that were unrolled by hand, rolled again."""
