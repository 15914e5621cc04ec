"""Readers and writers of problems and plans."""
