"""Readers and writers of applications, platforms, plans and SDF3 files."""
