"""Graphs as torch.fx and torch.export hand them over, by objects of the same names and attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest

import shorthaul
from shorthaul.core.errors import InputError
from shorthaul.pebble.formats.traced import from_traced


class Type:
    """A ``torch.dtype``."""

    def __init__(self, itemsize: int) -> None:
        self.itemsize = itemsize


class Known(NamedTuple):
    """A ``TensorMetadata``, which is a tuple."""

    shape: tuple[Any, ...]
    dtype: Type


class Node:
    """A ``torch.fx.Node``."""

    def __init__(self, op: str, name: str, reads: Sequence[Node] = (), **meta: object) -> None:
        self.op, self.name, self.all_input_nodes, self.meta = op, name, list(reads), meta


class Graph:
    """A ``torch.fx.Graph``."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = nodes


class Module:
    """A ``torch.fx.GraphModule``."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph


for kind in (Node, Graph, Module):
    kind.__module__ = "torch.fx"


def known(*shape: object, bytes_each: int = 4) -> Known:
    return Known(shape, Type(bytes_each))


def layers() -> list[Node]:
    """x -> linear(w) -> relu, two halves of it, their sum; a dead branch and an input that nothing reads."""
    x, w = Node("placeholder", "x", val=known(3, 8)), Node("get_attr", "w", val=known(8, 4))
    linear = Node("call_function", "linear", (x, w), val=known(3, 4))
    relu = Node("call_module", "relu", (linear,), tensor_meta=known(3, 4, bytes_each=2))
    split = Node("call_method", "chunk", (relu,), val=(known(3, 2), known(3, 2)))
    both = Node("call_function", "add", (split, relu), val=known(3, 2))
    zeros, count = Node("call_function", "zeros", (), val=known(5)), Node("call_function", "size", (x,), val=3)
    last = Node("call_function", "cat", (both, zeros, count), val=known(3, 7))
    unread, dead = Node("placeholder", "unread", val=known(9)), Node("call_function", "dead", (linear,), val=known(9))
    return [x, w, unread, linear, dead, relu, split, both, zeros, count, last, Node("output", "output", (last, x))]


def test_a_traced_graph_weighs_in_bytes() -> None:
    cdag = from_traced(Module(Graph(layers())))
    sizes = dict(zip(cdag.ids or (), cdag.weights.tolist(), strict=True))
    assert sizes == {
        "x": 96, "w": 128, "linear": 48, "relu": 24, "chunk": 48, "add": 24, "zeros": 20, "size": 8, "cat": 84,
    }  # fmt: skip
    assert [cdag.id_of(node) for node in cdag.inputs().tolist()] == ["x", "w"]
    assert [cdag.id_of(node) for node in cdag.outputs().tolist()] == ["cat"]
    assert [cdag.id_of(node) for node in cdag.constants().tolist()] == ["zeros"]
    result = shorthaul.pebble.plan(Graph(layers()), machine="cortex-m7", effort=0.1)
    assert result.cost is not None
    assert result.cost["traffic_bytes"] == 96 + 128 + 84


def test_results_that_are_read_too_are_stored() -> None:
    nodes = layers()
    nodes[-1].all_input_nodes.append(nodes[5])
    cdag = from_traced(Graph(nodes))
    assert [cdag.id_of(node) for node in cdag.outputs().tolist()] == ["relu", "cat"]


def test_what_a_traced_graph_lacks_is_told() -> None:
    unsized, symbolic = layers(), layers()
    unsized[3].meta.clear()
    symbolic[3].meta["val"] = known("batch", 4)
    for nodes, says in (
        (unsized, "node linear: has no size"),
        (symbolic, "node linear: has a symbolic shape"),
        (layers()[:3], "has no nodes"),
    ):
        with pytest.raises(InputError, match=says):
            shorthaul.pebble.plan(Graph(nodes), effort=0.1)
