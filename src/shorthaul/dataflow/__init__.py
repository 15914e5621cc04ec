"""Streaming networks mapped to heterogeneous many-cores."""
