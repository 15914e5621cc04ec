"""What kernels share: operations on bits, random numbers, and their plain twins."""
