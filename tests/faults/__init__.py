"""Faults injected into running searches (``python -m tests.faults 200`` injects 200 into each engine)."""
