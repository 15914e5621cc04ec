"""Plain graph algorithms on CSR arrays that two engines or more need."""
