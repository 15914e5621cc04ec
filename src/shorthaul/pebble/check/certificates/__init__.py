"""Arguments that certificates of bounds are made of, verified one by one. They share no code with bounds."""
