"""Local search over orders: annealing, windows, rematerialisation."""
