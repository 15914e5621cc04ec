"""Bounds from values that are live between what some nodes read and what is computed from them, part by part."""
