"""What is executed together at given sizes: phases of several nests, and groups of a loop that take turns."""
