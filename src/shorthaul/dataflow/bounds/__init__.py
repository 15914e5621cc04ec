"""Lower bounds on the period of a mapped network."""
