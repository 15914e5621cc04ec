"""Bounds by K-partition: how much one segment of a schedule can compute."""
