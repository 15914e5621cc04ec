"""C written with fewer kinds of statements: calls, pointers, structures and counted loops."""
