"""A mapping as arrays, its bindings, its loads and the start times of its firings."""
