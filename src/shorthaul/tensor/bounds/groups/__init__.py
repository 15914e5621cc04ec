"""Groups of operators as paths through a diagram, whole or in parts, and what their pieces cost."""
