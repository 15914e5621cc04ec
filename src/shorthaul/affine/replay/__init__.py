"""Concrete CDAGs and replays of orders on them."""
