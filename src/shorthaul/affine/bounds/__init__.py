"""Lower bounds on loads, and the choice and combination of arguments."""
