"""Phases with statements in pieces, each placed apart."""
