"""Operator graphs scheduled on a scratchpad accelerator."""
