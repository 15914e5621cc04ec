"""Built-in kernels and C files as workloads."""
