"""Bounds of tables, each place of which reads those before it along every axis, found inside any graph."""
