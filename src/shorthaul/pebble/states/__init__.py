"""Search over sets of computed values, and the heuristics and symmetries that prune it."""
