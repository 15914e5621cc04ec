"""Counting and transforming integer sets with parameters."""
