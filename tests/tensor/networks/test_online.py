"""Softmax in its online form: rows are cut by the sums of the one product that reads them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto
from tests.reference.tensor_steps import steps_seconds
from tests.samples import samples
from tests.tensor.networks.onnx_writer import Net
from tests.tensor.networks.small_networks import machine, random_plan, read

from shorthaul import tensor
from shorthaul.core.search import Search
from shorthaul.tensor.check.network_replay import replay_network
from shorthaul.tensor.networks.execution.verdict import execute
from shorthaul.tensor.networks.loops import shape_of
from shorthaul.tensor.networks.model import Network
from shorthaul.tensor.networks.plan import Group, Loop, NetworkPlan
from shorthaul.tensor.networks.tiling import priced
from shorthaul.tensor.networks.translation.network import network_from_onnx
from shorthaul.tensor.verbs.network_costs import replay_on
from shorthaul.tensor.verbs.network_search import planned


def attention(heads: int = 2, tokens: int = 7, keys: int = 9, features: int = 3, *, masked: bool = False) -> Any:
    net = Net("attention")
    q = net.input(1, heads, tokens, features)
    k, v = (net.input(1, heads, keys, features) for _ in range(2))
    scores = net.op("MatMul", q, net.transpose(k, 0, 1, 3, 2))
    if masked:
        rows, columns = np.indices((tokens, keys))
        scores = net.add(scores, net.constant(np.where(columns > rows + 1, -np.inf, 0.0), np.float32))
    return net.model(net.op("MatMul", net.op("Softmax", scores, axis=-1), v))


def turned() -> Any:
    """The softmax is the right factor, along its first axis, and an operator follows."""
    net = Net("turned")
    x, y = net.input(5, 8), net.input(8, 6)
    return net.model(net.op("Tanh", net.op("MatMul", x, net.op("Softmax", y, axis=0))))


def experts() -> Any:
    """Values are alike for all heads, and a product follows the one that adds up over the rows."""
    net = Net("experts")
    x, v = net.input(3, 4, 10), net.input(10, 5)
    return net.model(net.op("MatMul", net.op("MatMul", net.op("Softmax", x, axis=-1), v), net.input(5, 2)))


def scores(net: Net, heads: int = 2, tokens: int = 7, keys: int = 9, features: int = 3) -> tuple[str, str]:
    """Scores of which the fourth row and all places far behind are masked, and values."""
    q, k, v = (net.input(1, heads, places, features) for places in (tokens, keys, keys))
    rows, columns = np.indices((tokens, keys))
    mask = np.where((columns > rows + 1) | (rows == 3), -np.inf, 0.0)
    product = net.op("MatMul", q, net.transpose(k, 0, 1, 3, 2))
    return net.add(product, net.constant(mask, np.float32)), v


def guarded() -> Any:
    """Rows that are masked whole are 0, as PyTorch exports it."""
    net = Net("guarded")
    x, v = scores(net)
    p = net.op("Softmax", x, axis=-1)
    return net.model(net.op("MatMul", net.op("Where", net.op("IsNaN", p), net.number(0), p), v))


def scaled() -> Any:
    """A factor per head, a divisor per row, places left out, and 16 bits."""
    net = Net("scaled")
    x, v = scores(net)
    p = net.op("Mul", net.input(1, 2, 1, 1), net.op("Div", net.op("Softmax", x, axis=-1), net.input(7, 1)))
    p = net.op("Where", net.input(7, 9, kind=TensorProto.BOOL), p, net.number(0))
    p = net.op("Cast", net.op("Cast", p, to=TensorProto.FLOAT16), to=TensorProto.FLOAT)
    return net.model(net.op("MatMul", p, v))


def regrouped() -> Any:
    """Heads folded into rows, a cache that is joined to new values, and a transposition."""
    net = Net("regrouped")
    q, k = net.input(1, 2, 3 * 5, 4), net.input(1, 2, 6, 4)
    p = net.op("Softmax", net.op("MatMul", k, net.transpose(q, 0, 1, 3, 2)), axis=2)
    p = net.reshape(net.transpose(p, 0, 1, 3, 2), 1, 6, 5, 6)
    v = net.op("Concat", net.input(1, 2, 2, 4), net.input(1, 2, 4, 4), axis=2)
    v = net.reshape(net.op("Expand", net.reshape(v, 1, 2, 1, 6, 4), net.constant([1, 2, 3, 6, 4])), 1, 6, 6, 4)
    return net.model(net.op("MatMul", p, v))


def by_letters() -> Any:
    net = Net("by_letters")
    q, k, v = (net.input(2, places, 3, 4) for places in (5, 6, 6))
    p = net.op("Softmax", net.op("Einsum", q, k, equation="bshd,bthd->bhst"), axis=-1)
    return net.model(net.op("Einsum", p, v, equation="bhst,bthd->bshd"))


def by_gemm() -> Any:
    net = Net("by_gemm")
    p = net.op("Softmax", net.op("Gemm", net.input(5, 4), net.input(8, 4), transB=1), axis=-1)
    return net.model(net.op("Gemm", p, net.input(6, 8), net.input(6), transB=1, alpha=0.5, beta=2.0))


def pooled() -> Any:
    """Rows are weights of a sum."""
    net = Net("pooled")
    x = net.input(2, 9, 6)
    p = net.op("Softmax", net.op("MatMul", net.input(2, 9, 5), net.input(5, 1)), axis=1)
    return net.model(net.op("ReduceSum", net.op("Mul", x, p), net.constant([1]), keepdims=0))


def written_out() -> Any:
    """Powers of what is below the largest score, over their sum."""
    net = Net("written_out")
    x, v = (net.input(2, 5, places) for places in (9, 4))
    x = net.op("MatMul", x, net.input(9, 9))
    v = net.op("MatMul", net.input(2, 9, 5), v)
    powers = net.op("Exp", net.op("Sub", x, net.op("ReduceMax", x, net.constant([-1]))))
    return net.model(net.op("MatMul", net.op("Div", powers, net.op("ReduceSum", powers, net.constant([2]))), v))


def operator_of_onnx() -> Any:
    net = Net("operator", opset=23)
    q, k, v = (net.input(1, 5, width) for width in (16, 8, 8))
    mask, more = net.input(5, 5, kind=TensorProto.BOOL), {"is_causal": 1, "softcap": 2.0}
    return net.model(net.op("Attention", q, k, v, mask, q_num_heads=4, kv_num_heads=2, **more))


MODELS = {
    "attention": attention(),
    "masked": attention(masked=True),
    "one head": attention(1, 6, 11, 2),
    "turned": turned(),
    "experts": experts(),
    **{
        make.__name__: make()
        for make in (guarded, scaled, regrouped, by_letters, by_gemm, pooled, written_out, operator_of_onnx)
    },
}
NETWORKS = {name: read(model) for name, model in MODELS.items()}


def whole_group(network: Network, rng: np.random.Generator) -> NetworkPlan:
    """Return all operators as one group, with every loop that it may have cut at random."""
    operators = tuple(range(len(network.operators)))
    shape = shape_of(network, operators)
    sink = [shape.sink[at] for at in rng.permutation(len(shape.sink))]
    loops = (Loop(*key, int(rng.integers(1, shape.sizes[key] + 1))) for key in (*sink, *shape.inner))
    return NetworkPlan((Group(operators, tuple(loops)),))


def test_what_may_be_cut() -> None:
    found = {name: sum(bool(item.running) for item in network.operators) for name, network in NETWORKS.items()}
    assert found == dict.fromkeys(NETWORKS, 1)
    net = Net("twice")
    p = net.op("Softmax", net.input(4, 6), axis=-1)
    twice = net.model(net.op("MatMul", p, net.input(6, 3)), net.op("Tanh", p))
    net = Net("other axis")
    other = net.model(net.op("MatMul", net.op("Softmax", net.input(4, 6), axis=0), net.input(6, 3)))
    net = Net("logarithms")
    logs = net.model(net.op("MatMul", net.op("LogSoftmax", net.input(4, 6), axis=-1), net.input(6, 3)))
    net = Net("squares")
    p = net.op("Softmax", net.input(4, 6), axis=-1)
    squares = net.model(net.op("Einsum", p, p, equation="ij,ij->i"))
    net = Net("summand")
    p = net.op("Where", net.input(4, 6, kind=TensorProto.BOOL), net.op("Softmax", net.input(4, 6)), net.number(0.1))
    summand = net.model(net.op("MatMul", p, net.input(6, 3)))
    net = Net("heads added up")
    heads = net.model(
        net.op("Einsum", net.op("Softmax", net.input(2, 4, 6)), net.input(2, 6, 3), equation="hij,hjk->ik")
    )
    net = Net("rows joined")
    p = net.reshape(net.op("Softmax", net.input(4, 2, 6)), 4, 12)
    joined = net.model(net.op("MatMul", p, net.input(12, 3)))
    net = Net("guard read twice")
    p = net.op("Softmax", net.input(4, 6))
    guard = net.op("IsNaN", p)
    read_twice = net.model(net.op("MatMul", net.op("Where", guard, net.number(0), p), net.input(6, 3)), guard)
    for model in (twice, other, logs, squares, summand, heads, joined, read_twice):
        assert not any(item.running for item in read(model).operators)


@pytest.mark.costly
@pytest.mark.parametrize("name", NETWORKS)
def test_random_plans_compute_and_move_what_is_said(name: str) -> None:
    """`run` compares outputs with the reference, and what is moved and computed with the replay."""
    network, rng, cut = NETWORKS[name], np.random.default_rng(3), 0
    for number in samples(24):
        plan = random_plan(network, rng) if number % 3 == 2 else whole_group(network, rng)
        done = tensor.run(network, plan, machine="edge-45nm")
        assert done.check is not None
        assert not done.check.violations
        assert done.extra["run"]["largest_error"] < 1e-12
        softmax = next(item for item in network.operators if item.running)
        extents = replay_on(network, plan, machine(10**6)).groups
        cut += any(seen.extents.get(network.operators.index(softmax), softmax.dims) != softmax.dims for seen in extents)
    assert cut


@pytest.mark.costly
@pytest.mark.parametrize("name", NETWORKS)
def test_prices_are_those_of_the_replay(name: str) -> None:
    network, rng, on = NETWORKS[name], np.random.default_rng(4), machine(10**6)
    for _ in samples(24):
        plan = whole_group(network, rng)
        (seen,), group = replay_on(network, plan, on).groups, plan.groups[0]
        found = priced(network, group, on, frozenset(), frozenset())
        assert found.loads == pytest.approx(seen.loads_bytes)
        assert found.stores == pytest.approx(seen.stores_bytes)
        assert found.peak == pytest.approx(seen.peak_bytes)
        rates = {
            number: on.seconds_per_operation(network.operators[number].unit, network.bits(number))
            for number in group.operators
        }
        vector_s = sum(
            done * rates[number] for number, done in seen.operations.items()
            if network.operators[number].unit == "vector"
        )  # fmt: skip
        assert found.vector_s == pytest.approx(vector_s)
        executed = steps_seconds(network, group, set(), set(), on)
        assert seen.steps_s == pytest.approx(executed, rel=1e-9)


def test_a_row_is_a_few_numbers_where_it_is_cut() -> None:
    """One query against 4,096 keys: scores of 64 of them, what is known of the row, and the sums."""
    network = read(attention(1, 1, 4096, 2))
    a, b, c = range(3)
    loop = Loop(c, network.operators[c].reduced[0], 64)
    seen = replay_network(network, NetworkPlan((Group((a, b, c), (loop,)),)), 1e9, double_buffered=False)
    assert not seen.violations
    assert seen.groups[0].loads_bytes == 4 * (2 + 2 * 4096 * 2)
    # query, keys, values, output, two numbers of the row, scores and their exponentials
    assert seen.groups[0].peak_bytes == 4 * (2 + 2 * 64 * 2 + 2 + 2 + 2 * 64)
    assert seen.groups[0].operations[b] == 4 * 4096 + 63 * 2


def test_loops_that_would_normalise_too_early_are_refused() -> None:
    network = NETWORKS["attention"]
    number = next(at for at, item in enumerate(network.operators) if item.running)
    product = number + 1
    row, sums = next(iter(network.operators[number].running)), network.operators[product].reduced[0]
    alone = NetworkPlan(
        tuple(Group((at,), (Loop(at, row, 2),) if at == number else ()) for at in range(len(network.operators)))
    )
    assert [item.rule for item in replay_network(network, alone, 1e9, double_buffered=False).violations] == ["cut-row"]
    group = Group((number, product), (Loop(product, sums, 2), Loop(product, 1, 3)))
    early = NetworkPlan((*(Group((at,)) for at in range(number)), group))
    found = replay_network(network, early, 1e9, double_buffered=False).violations
    assert [item.rule for item in found] == ["loop-order"]
    assert "is not the last one" in found[0].message
    last = replace(group, loops=group.loops[::-1])
    assert not replay_network(
        network, replace(early, groups=(*early.groups[:-1], last)), 1e9, double_buffered=False
    ).violations


def test_rows_are_whole_in_a_group_without_their_sums() -> None:
    """A loop over what comes between cuts that alone."""
    network = NETWORKS["scaled"]
    softmax = next(at for at, item in enumerate(network.operators) if item.running)
    kinds = [item.kind for item in network.operators[softmax : softmax + 2]]
    assert kinds == ["Softmax", "Div"]
    group = Group((softmax, softmax + 1), (Loop(softmax + 1, 2, 4),))
    others = [Group((at,)) for at in range(len(network.operators)) if at not in group.operators]
    plan = NetworkPlan((*others[:softmax], group, *others[softmax:]))
    (seen,) = (each for each in replay_on(network, plan, machine(10**6)).groups if softmax in each.extents)
    assert seen.extents[softmax] == network.operators[softmax].dims
    assert seen.extents[softmax + 1][-1] == 4
    done = tensor.run(network, plan, machine="edge-45nm")
    assert done.extra["run"]["largest_error"] < 1e-12


@pytest.mark.costly
@pytest.mark.parametrize("guard", [False, True])
def test_rows_that_sums_cut_may_be_longer_than_memory(guard: bool) -> None:
    """Scores of 800 places, twice, do not fit; without sums over them the softmax is taken apart."""
    on, net = machine(3000), Net("long")
    x, v = scores(net, 2, 5, 800, 4)
    p = net.op("Softmax", x, axis=-1)
    if guard:
        p = net.op("Cast", net.op("Where", net.op("IsNaN", p), net.number(0), p), to=TensorProto.FLOAT16)
        p = net.op("Cast", p, to=TensorProto.FLOAT)
    model = net.model(net.op("MatMul", p, v))
    network = network_from_onnx(model.SerializeToString(), most_row_bytes=on.most_row_bytes())
    assert [item.barrier for item in network.operators if item.kind == "Softmax"] == [False]
    plan, replayed = planned(network, on, Search())
    assert not replayed.violations
    assert execute(network, plan, None, Search(seed=3)).errors[model.graph.output[0].name] < 1e-12
    net = Net("long and read")
    p = net.op("Softmax", net.input(2, 800), axis=-1)
    model = net.model(net.op("MatMul", p, net.input(800, 3)), net.op("Tanh", p))
    network = network_from_onnx(model.SerializeToString(), most_row_bytes=on.most_row_bytes())
    assert "Softmax" not in {item.kind for item in network.operators}


def test_long_attention_is_fused() -> None:
    """Scores of 512 x 512 are neither stored nor loaded where 4,096 numbers fit."""
    network, on = read(attention(1, 512, 512, 8)), machine(16_384)
    _, replayed = planned(network, on, Search())
    assert sum(seen.loads_bytes + seen.stores_bytes for seen in replayed.groups) < 4 * 512 * 512


def test_heads_are_cut_where_values_come_from_a_projection() -> None:
    """Heads and features lie along one axis of what a projection makes; a tile of heads is a part of it, and no more."""
    net, heads, tokens, size = Net("projected"), 8, 64, 16
    x = net.op("MatMul", net.input(1, tokens, 32), net.weight(32, 3 * heads * size))
    parts = net.op("Split", x, axis=2, num_outputs=3, outputs=3)
    q, k, v = (net.heads(part, 1, tokens, heads, size) for part in parts)
    y = net.op("MatMul", net.op("Softmax", net.op("MatMul", q, net.transpose(k, 0, 1, 3, 2)), axis=-1), v)
    network = read(net.model(y))
    product = network.operators[-1]
    shape = shape_of(network, (1, 2, 3))
    assert {product.dim_names[dim] for _, dim in shape.sink} == {"b1", "m"}
    _, replayed = planned(network, machine(24_000), Search())
    least = 4 * tokens * 4 * heads * size
    moved = replayed.groups[-1].loads_bytes + replayed.groups[-1].stores_bytes
    assert least <= moved <= 1.01 * least, "keys and values of a head pass once"
