"""Bounds by lifetime: values that must be live at once."""
