"""Networks that are recognised as a whole, in any order of their nodes."""
