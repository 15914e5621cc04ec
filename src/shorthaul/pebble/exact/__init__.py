"""Exact search and the least memory that is enough."""
