"""The lemmas behind a bound and the proof that is printed."""
