"""Orders of computation by construction: list scheduling, tiles, fusion; replacement by Belady."""
