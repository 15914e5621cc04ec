"""Planners and bounds by name, in the usual game and with prices."""
