"""The verbs: what a caller may ask of the engine, and with which keywords."""
