"""Arrays in files: the boundary for those of strangers, and long plans in columns."""
