"""The only place that imports several engines."""
