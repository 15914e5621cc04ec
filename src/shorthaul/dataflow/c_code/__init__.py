"""Points of a plan as C."""
