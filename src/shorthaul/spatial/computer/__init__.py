"""The simulated spatial computer: processors, messages, collectives."""
