"""The game with prices: what computing, loading and storing cost, values computed again, orders given."""
