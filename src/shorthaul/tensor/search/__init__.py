"""The search over sequences of subgraphs."""
