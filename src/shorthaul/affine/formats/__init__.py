"""Readers and writers of plans."""
