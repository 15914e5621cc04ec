"""Readers and writers of graphs and plans."""
