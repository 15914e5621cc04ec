"""A mapping as arrays, its bindings and the start times of its firings."""
