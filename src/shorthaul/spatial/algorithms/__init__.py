"""Algorithms on the spatial computer: treefix sums, LCA, list ranking, layout creation."""
