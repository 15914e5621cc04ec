"""Graphs traced by ``torch.fx`` or ``torch.export``: a node per value, weights in bytes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from shorthaul.core.errors import InputError
from shorthaul.pebble.formats.traced_operations import meta_of, operations_of
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
    Placeholders and attributes are inputs, and so are the parameters of modules that are called, where the graph knows
    its module; what leads to no result is left out, and so are results that are inputs. Computing costs the operations
    of :func:`operations_of`. Raises :class:`InputError` for a value without a size.
    """
    graph = getattr(traced, "graph", traced)
    nodes = list(graph.nodes)
    results = {one for node in nodes if node.op == "output" for one in node.all_input_nodes if one.op not in _GIVEN}
    needed = set(results)
    for node in reversed(nodes):
        if node in needed:
            needed.update(node.all_input_nodes)
    kept = [node for node in nodes if node in needed]
    called = _called(kept, traced if hasattr(traced, "get_submodule") else getattr(graph, "owning_module", None))
    attributes = {node.target: node for node in kept if node.op == "get_attr"}
    parameters: dict[str, Any] = {}
    for node, module in called.items():
        parameters.update((name, one) for name, one in _parameters(node, module).items() if name not in attributes)
    first = len(parameters)
    index: dict[Any, int] = {one: at for at, one in enumerate((*parameters, *kept))}
    edges = [(index[read], index[node]) for node in kept for read in node.all_input_nodes]
    for node, module in called.items():
        edges += [(index[attributes.get(name, name)], index[node]) for name in _parameters(node, module)]
    cdag = build(
        [max(1, _size(one)) for one in parameters.values()] + [_bytes(node) for node in kept],
        [start for start, _ in edges],
        [stop for _, stop in edges],
        given=np.array([True] * first + [node.op in _GIVEN for node in kept], dtype=np.bool_),
        kept=np.array([False] * first + [node in results for node in kept], dtype=np.bool_),
        compute=[0] * first + [operations_of(node, called.get(node)) for node in kept],
        ids=[*parameters, *(node.name for node in kept)],
    )
    return replace(cdag, weight_bytes=1.0)


def _called(nodes: list[Any], root: Any) -> dict[Any, Any]:
    """Return the modules that nodes call; none where the graph does not know its module."""
    if not hasattr(root, "get_submodule"):
        return {}
    return {node: root.get_submodule(node.target) for node in nodes if node.op == "call_module"}


def _parameters(node: Any, module: Any) -> dict[str, Any]:
    """Return the parameters of a module that a node calls, and the buffers of real numbers, by their names."""
    named = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    return {f"{node.target}.{name}": one for name, one in named.items() if one.dtype.is_floating_point}


def _bytes(node: Any) -> int:
    """Return the size of a node's value."""
    value = meta_of(node)
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
