"""Trees laid out on a grid of processors, and the algorithms that run there."""
