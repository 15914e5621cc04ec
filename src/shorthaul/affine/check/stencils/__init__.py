"""Arguments on stencils, verified from their certificates."""
