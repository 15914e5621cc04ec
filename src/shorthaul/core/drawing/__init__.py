"""Figures drawn, and written as tables, graphs and traces."""
