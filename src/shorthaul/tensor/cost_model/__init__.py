"""What a subgraph costs at each granularity and traversal order."""
