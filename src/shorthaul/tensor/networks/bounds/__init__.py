"""Lower bounds on what plans of networks take."""
