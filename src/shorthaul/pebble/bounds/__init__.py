"""Lower bounds on the traffic of a graph, and the choice of the best."""
