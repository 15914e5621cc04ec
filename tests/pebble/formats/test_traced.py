"""Graphs as torch.fx and torch.export hand them over: objects of the same attributes, and torch's own if installed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest

import shorthaul
from shorthaul.core.errors import InputError
from shorthaul.pebble.formats.traced import from_traced
from shorthaul.pebble.formats.traced_operations import operations_of


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
        self.target, self.args, self.kwargs = name, tuple(reads), {}


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


def test_computing_costs_operations() -> None:
    """A product two for each multiplication, a view none, anything else one for each element of its result."""
    cdag = from_traced(Graph(layers()))
    costs = {str(cdag.id_of(node)): int(cdag.compute[node]) for node in range(cdag.n) if cdag.compute[node]}
    assert costs == {"linear": 2 * 3 * 4 * 8, "relu": 12, "add": 6, "zeros": 5, "cat": 21}
    x, w = Node("placeholder", "x", val=known(2, 6, 9, 9)), Node("placeholder", "w", val=known(4, 3, 3, 3))
    for name, places, cost in (
        ("conv2d", (2, 4, 7, 7), 2 * 392 * 27), ("aten.convolution.default", (2, 4, 7, 7), 2 * 392 * 27),
        ("conv_transpose2d", (2, 3, 11, 11), 2 * 972 * 27), ("aten.mean.dim", (2, 6), 972),
        ("aten.view.default", (972,), 0),
    ):  # fmt: skip
        read = Node("call_function", name, (x, w), val=known(*places))
        assert operations_of(read) == cost, name
    read = Node("call_function", "einsum", (x, w), val=known(2, 9))
    for equation, cost in (("abcd,efgh->ae", 2 * 972 * 108), ("ab..., efcd -> ae", 2 * 972 * 108)):
        read.args = (equation, *read.all_input_nodes)
        assert operations_of(read) == cost


def test_graphs_of_torch_itself() -> None:
    """Sizes, parameters and costs by torch.fx, torch.export and a traced gradient; torch counts the same operations."""
    torch = pytest.importorskip("torch")
    counter = pytest.importorskip("torch.utils.flop_counter").FlopCounterMode
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.fx.passes.shape_prop import ShapeProp

    nn = torch.nn
    layers = nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.Flatten(), nn.Linear(288, 10)
    model, x = nn.Sequential(*layers), torch.randn(2, 3, 8, 8)
    simple = torch.fx.symbolic_trace(model)
    ShapeProp(simple).propagate(x)
    with counter(display=False) as counted:
        model(x)
    plain = 2 * 8 * 64  # the rectifier
    bytes_in = 4 * (x.numel() + sum(one.numel() for one in model.parameters()))
    for traced in (simple, torch.export.export(model, (x,))):
        cdag = from_traced(traced)
        assert int(cdag.weights[cdag.given].sum()) == bytes_in
        assert int(cdag.compute.sum()) - plain == counted.get_total_flops()
    parameters = dict(model.named_parameters())

    def gradient(values: Any, given: Any) -> Any:
        return torch.func.grad(lambda v: torch.func.functional_call(model, v, (given,)).square().sum())(values)

    with counter(display=False) as counted:
        gradient(parameters, x)
    cdag = from_traced(make_fx(gradient, tracing_mode="fake")(parameters, x))
    heavy = [cost for cost in cdag.compute.tolist() if cost > 4096]
    assert sum(heavy) == counted.get_total_flops()
    result = shorthaul.pebble.memory(simple, order="given", effort=0.1)
    assert result.status == "optimal"


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
