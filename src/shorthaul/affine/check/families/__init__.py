"""Arguments on families of paths with a lemma of their own, verified: lines in a plane, sums that wait."""
