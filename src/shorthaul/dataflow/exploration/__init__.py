"""Exploration of mappings: NSGA-II and the decoders that it calls."""
