"""Lower bounds on the energy of a layout and of LCA queries."""
