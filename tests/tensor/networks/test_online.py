"""Softmax in its online form: rows are cut by the sums of the one product that reads them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.reference.tensor_steps import steps_seconds
from tests.samples import samples
from tests.tensor.networks.onnx_writer import Net
from tests.tensor.networks.small_networks import machine, random_plan, read

from shorthaul import tensor
from shorthaul.core.search import Search
from shorthaul.tensor.check.network_replay import replay_network
from shorthaul.tensor.networks.loops import loops_of
from shorthaul.tensor.networks.model import Network
from shorthaul.tensor.networks.plan import Group, Loop, NetworkPlan
from shorthaul.tensor.networks.tiling import priced
from shorthaul.tensor.verbs.networks import planned, replay_on


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


MODELS = {
    "attention": attention(),
    "masked": attention(masked=True),
    "one head": attention(1, 6, 11, 2),
    "turned": turned(),
    "experts": experts(),
}
NETWORKS = {name: read(model) for name, model in MODELS.items()}


def whole_group(network: Network, rng: np.random.Generator) -> NetworkPlan:
    """Return all operators as one group, with every loop that it may have cut at random."""
    operators = tuple(range(len(network.operators)))
    shape = loops_of(network, operators)
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
    for model in (twice, other, logs):
        assert not any(item.running for item in read(model).operators)


@pytest.mark.parametrize("name", NETWORKS)
def test_random_plans_compute_and_move_what_is_said(name: str) -> None:
    """`run` compares outputs with the reference, and what is moved and computed with the replay."""
    network, rng, cut = NETWORKS[name], np.random.default_rng(3), 0
    for number in samples(48):
        plan = random_plan(network, rng) if number % 3 == 2 else whole_group(network, rng)
        done = tensor.run(network, plan, machine="edge-45nm")
        assert done.check is not None
        assert not done.check.violations
        assert done.extra["run"]["largest_error"] < 1e-12
        softmax = next(item for item in network.operators if item.running)
        extents = replay_on(network, plan, machine(10**6)).groups
        cut += any(seen.extents.get(network.operators.index(softmax), softmax.dims) != softmax.dims for seen in extents)
    assert cut


@pytest.mark.parametrize("name", NETWORKS)
def test_prices_are_those_of_the_replay(name: str) -> None:
    network, rng, on = NETWORKS[name], np.random.default_rng(4), machine(10**6)
    for _ in samples(48):
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


def test_long_attention_is_fused() -> None:
    """Scores of 512 x 512 are neither stored nor loaded where 4,096 numbers fit."""
    network, on = read(attention(1, 512, 512, 8)), machine(16_384)
    _, replayed = planned(network, on, Search())
    assert sum(seen.loads_bytes + seen.stores_bytes for seen in replayed.groups) < 4 * 512 * 512
