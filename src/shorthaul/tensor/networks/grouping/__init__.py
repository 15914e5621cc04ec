"""Groups of operators: which are fused, in which order they run, and what stays near between them."""
