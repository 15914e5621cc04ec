"""Graphs traced by ``torch.fx`` or ``torch.export``: a node per value, weights in bytes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from shorthaul.core.errors import InputError
from shorthaul.pebble.model import Cdag, build

#: The operations whose values are there from the start.
_GIVEN = ("placeholder", "get_attr")
#: What a number takes.
_NUMBER_BYTES = 8


def is_traced(value: object) -> bool:
    """Return whether ``value`` is a traced graph, or holds one."""
    return hasattr(getattr(value, "graph", value), "nodes")


def from_traced(traced: Any) -> Cdag:
    """Return the CDAG of a ``torch.fx.Graph``, a ``GraphModule`` or an exported program.

    Sizes are those of ``meta``: ``val``, as ``torch.export`` leaves them, or ``tensor_meta`` of a shape propagation.
    Placeholders and attributes are inputs; what leads to no result is left out, and so are results that are inputs.
    Computing costs nothing. Raises :class:`InputError` for a value without a size.
    """
    nodes = list(getattr(traced, "graph", traced).nodes)
    results = {one for node in nodes if node.op == "output" for one in node.all_input_nodes if one.op not in _GIVEN}
    needed = set(results)
    for node in reversed(nodes):
        if node in needed:
            needed.update(node.all_input_nodes)
    kept = [node for node in nodes if node in needed]
    index = {node: at for at, node in enumerate(kept)}
    edges = [(index[read], index[node]) for node in kept for read in node.all_input_nodes]
    cdag = build(
        [_bytes(node) for node in kept],
        [start for start, _ in edges],
        [stop for _, stop in edges],
        given=np.array([node.op in _GIVEN for node in kept], dtype=np.bool_),
        kept=np.array([node in results for node in kept], dtype=np.bool_),
        ids=[node.name for node in kept],
    )
    return replace(cdag, weight_bytes=1.0)


def _bytes(node: Any) -> int:
    """Return the size of a node's value."""
    value = node.meta.get("val", node.meta.get("tensor_meta"))
    if value is None:
        cure = "export the model with torch.export, or run torch.fx.passes.shape_prop.ShapeProp on the graph"
        raise InputError("has no size", place=f"node {node.name}", cure=cure)
    try:
        return max(1, _size(value))
    except (TypeError, ValueError, RuntimeError):
        cure = "export the model for given sizes, without dynamic shapes"
        raise InputError("has a symbolic shape", place=f"node {node.name}", cure=cure) from None


def _size(value: Any) -> int:
    """Return the bytes of a tensor, of several, or of a number."""
    if hasattr(value, "shape") and hasattr(value, "dtype"):  # a tensor, or what is known of one
        return math.prod(int(length) for length in value.shape) * int(value.dtype.itemsize)
    if isinstance(value, tuple | list):
        return sum(_size(one) for one in value)
    return _NUMBER_BYTES
