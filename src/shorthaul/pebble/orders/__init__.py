"""Orders of computation by construction: list scheduling, tiles, fusion, composition; replacement by Belady."""
