"""Transformations of networks: multirate graphs, expansion to firings, multi-reader buffers."""
