"""One order for several memories, each over the next."""
