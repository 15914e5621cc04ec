"""Levels of several memories that serve operands of their own: what fits, what passes, and no plan below the bound."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.tensor.networks.onnx_writer import Net
from tests.tensor.networks.small_networks import SMALL, random_plan, read
from tests.tensor.networks.test_inner import is_valid_and_above

from shorthaul.core.errors import InputError
from shorthaul.core.machines.files import machine_file
from shorthaul.core.search import Search
from shorthaul.tensor.check.edges import beginning_s, ending_s, single_s, tiles_of
from shorthaul.tensor.check.network_replay import replay_network
from shorthaul.tensor.networks.bounds.latency import bound
from shorthaul.tensor.networks.ends import spared_s
from shorthaul.tensor.networks.machine import Machine, machine_of
from shorthaul.tensor.networks.model import Network
from shorthaul.tensor.networks.plan import Group, Inner, Loop, NetworkPlan
from shorthaul.tensor.networks.tiling import priced
from shorthaul.tensor.verbs.network_costs import replay_on
from shorthaul.tensor.verbs.network_search import planned
from shorthaul.tensor.verbs.networks import report_on

OPERANDS = ["inputs", "weights", "outputs"]


def machine(levels: list[dict[str, object]]) -> Machine:
    compute = {"clock_hz": 1e9, "matrix": {"operations_per_cycle": {32: 64}, "pj_per_operation": {32: 1.0}}}
    compute["vector"] = {"operations_per_cycle": {32: 8}, "pj_per_operation": {32: 1.0}}
    outer = {"name": "a", "bandwidth_bytes_per_s": 1e9, "read_pj_per_byte": 100.0}
    text = json.dumps({"name": "made up", "levels": [outer, *levels], "compute": compute})
    return machine_of(machine_file(text, "levels", "compute"))


def level(name: str, capacity: int, *memories: dict[str, object], rate: float = 1e9) -> dict[str, object]:
    given = {"name": name, "capacity_bytes": capacity, "bandwidth_bytes_per_s": rate, "read_pj_per_byte": 1.0}
    return {**given, "memories": list(memories)}


def random_machine(rng: np.random.Generator, near: int, inner: int) -> Machine:
    """Return a machine of four levels, whose memories serve operands of their own, or further inside some only."""
    levels, served = [], list(OPERANDS)
    for name, capacity in (("b", near), ("c", inner), ("d", inner)):
        if name != "b":
            served = [operand for operand in served if rng.random() < 0.8] or served
        parts: dict[int, list[str]] = {}
        for operand in served:
            parts.setdefault(int(rng.integers(3)), []).append(operand)
        memories = [
            {
                "name": f"{name}{number}",
                "serves": mine,
                "capacity_bytes": max(1, int(capacity * rng.uniform(0.5, 1))),
                "bandwidth_bytes_per_s": float(10 ** rng.uniform(5, 10)),
                "read_pj_per_byte": float(rng.uniform(0, 9)),
            }
            for number, mine in parts.items()
        ]
        one = level(name, capacity, *memories, rate=float(10 ** rng.uniform(5, 10)))
        levels.append({**one, "double_buffered": bool(rng.random() < 0.7)})
    return machine(levels)


def hunt(network: Network, seed: int, count: int) -> int:
    """Compare random plans, their memories just large enough, with the bound; return how many break no rule."""
    rng, valid = np.random.default_rng(seed), 0
    for _ in range(count):
        plan = random_plan(network, rng)
        held = replay_network(network, plan, 1e12, double_buffered=False)
        near = int(max(group.peak_bytes for group in held.groups) * rng.uniform(1, 4)) + 1
        on = random_machine(rng, near, max(8, near // int(rng.integers(1, 6))))
        valid += is_valid_and_above(network, plan, on, rng)
    return valid


@pytest.mark.costly
@pytest.mark.parametrize("name", SMALL)
def test_no_random_plan_beats_the_bound(name: str) -> None:
    assert hunt(SMALL[name], 3, 30) > 0


@pytest.mark.costly
@pytest.mark.parametrize("name", SMALL)
def test_plans_fit_every_memory(name: str) -> None:
    """What the search finds is replayed without a violation, whatever memories there are, and is above the bound."""
    network, on = SMALL[name], random_machine(np.random.default_rng(len(name)), 40_000, 4_000)
    plan, replayed = planned(network, on, Search(effort=0.03))
    assert not replayed.violations
    cost = report_on(network, plan, on).cost
    assert cost is not None
    assert cost["latency_s"] >= bound(network, on).value * (1 - 1e-9)


def test_one_memory_for_all_is_a_level_of_one() -> None:
    network = SMALL["mlp"]
    costs = []
    for memories in ([], [{"name": "all", "serves": OPERANDS}]):
        on = machine([level("b", 30_000, *memories), level("c", 3_000, *memories)])
        costs.append(report_on(network, planned(network, on, Search(effort=0.05))[0], on).cost)
    assert costs[0] == costs[1]


def product(m: int, n: int, k: int) -> Network:
    net = Net("product")
    return read(net.model(net.op("MatMul", net.input(m, k), net.weight(k, n))))


def test_a_memory_of_weights_that_is_too_small_is_named() -> None:
    network = product(4, 8, 16)
    plan = NetworkPlan((Group((0,)),))
    weights = {"name": "weights", "serves": ["weights"], "capacity_bytes": 4 * 8 * 16 - 1}
    on = machine([level("b", 10_000, {"name": "others", "serves": ["inputs", "outputs"]}, weights)])
    (wrong,) = replay_on(network, plan, on).violations
    assert (wrong.rule, wrong.required, wrong.available) == ("over-capacity", 4 * 8 * 16, 4 * 8 * 16 - 1)


def test_what_is_made_and_read_as_weights_is_copied() -> None:
    """By hand: scores of 6 queries take keys as weights, which a product makes: 5 x 7 elements are held twice."""
    net = Net("keys")
    keys = net.op("MatMul", net.input(7, 3), net.weight(3, 5))
    network = read(net.model(net.op("MatMul", net.input(6, 5), net.op("Transpose", keys, perm=[1, 0]))))
    number = network.producer[network.operators[-1].reads[1].tensor]
    last = len(network.operators) - 1
    apart = [{"name": "w", "serves": ["weights"], "read_pj_per_byte": 3.0}]
    apart.append({"name": "o", "serves": ["inputs", "outputs"], "read_pj_per_byte": 2.0})
    on = machine([level("b", 10_000, *apart)])
    plan = NetworkPlan((Group(tuple(range(number, last + 1))),))
    (seen,) = replay_on(network, plan, on).groups
    assert seen.copied_of == {1: 4 * 5 * 7}
    assert seen.held_bytes == [4 * (3 * 5 + 5 * 7), 4 * (7 * 3 + 7 * 5 + 6 * 5 + 6 * 7)]
    cost = report_on(network, plan, on).cost
    assert cost is not None
    read_in = 4 * ((3 * 5) * 103 + (7 * 3 + 6 * 5) * 102 + 5 * 7 * (2 + 3)) + 4 * 6 * 7 * 102
    assert cost["energy_j"] == pytest.approx((read_in + 2 * (7 * 3 * 5 + 6 * 5 * 7)) * 1e-12)


def test_operands_without_a_memory_pass_by() -> None:
    """By hand: further inside is a memory of weights alone; of 2 x 4 tiles of the output each loads its columns."""
    network = product(4, 8, 16)
    inner = level("c", 1000, {"name": "w", "serves": ["weights"]})
    on = machine([level("b", 100_000), inner])
    loops = (Loop(0, 0, 2), Loop(0, 1, 2))
    plan = NetworkPlan((replace(Group((0,)), inner=(Inner(0, 2, loops),)),))
    (seen,) = replay_on(network, plan, on).groups
    assert seen.loads_of[1] == [0.0, 2 * 4 * 8 * 16, 0.0]
    assert seen.inner_bytes == [(2 * 4 * 8 * 16, 0.0)]


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        ([level("b", 9, {"name": "w", "serves": ["weights"]})], r"levels\[1\]\.memories: has no memory for inputs"),
        ([level("b", 9, *({"name": n, "serves": OPERANDS} for n in "xy"))], "serves an operand twice"),
        ([level("b", 9, {"name": "x", "serves": OPERANDS, "capacity_bytes": 10})], "exceeds the level"),
        ([level("b", 9), level("c", 9, {"name": "w", "serves": ["weights"]}), level("d", 9)], "serves inputs, which"),
    ],
)
def test_memories_that_contradict_are_named(levels: list[dict[str, object]], said: str) -> None:
    with pytest.raises(InputError, match=said):
        machine(levels)


def test_the_first_loads_pass_beside_tiles() -> None:
    """Against a machine that takes part after part: random times, in one step or the first and last of several."""
    rng = np.random.default_rng(5)
    for _ in range(200):
        work, loads, stores = (rng.integers(0, 5, size=int(rng.integers(1, 6))).astype(float) for _ in range(3))
        loads, stores = np.resize(loads, len(work)), np.resize(stores, len(work))
        ready = np.where(rng.random(len(work)) < 0.5, loads, 0.0)
        early = float(rng.integers(0, 6))
        left, channel, now, begun = early, 0.0, 0.0, []
        for part, load, can in zip(work, loads, ready, strict=True):
            saved = min(left, can)
            left, channel = left - saved, channel + load - saved
            now = max(now, channel) + part
            begun.append(now)
        assert beginning_s(work, loads, ready, early) == pytest.approx(now)
        out = 0.0
        for done, store in zip(work.cumsum(), stores, strict=True):
            out = max(out, done) + store
        assert ending_s(work, stores) == pytest.approx(max(out, work.sum()))
        for done, store in zip(begun, stores, strict=True):
            channel = max(channel, done if store else 0.0) + store
        assert single_s(work, loads, ready, early, stores) == pytest.approx(max(channel, now))


def test_tiles_load_what_they_are_first_to_read() -> None:
    """By hand: 2 x 2 tiles of a product, columns first: each loads its rows or columns once, sums end with it."""
    item = product(4, 8, 16).operators[0]
    region = [(np.zeros(1, np.int64), np.full(1, size - 1)) for size in item.dims]
    found = tiles_of(item, region, (Loop(0, 1, 4), Loop(0, 0, 2)))
    assert found.first_read(item.reads[0], region).tolist() == [0.5, 0.5, 0, 0]
    assert found.first_read(item.reads[1], region).tolist() == [0.5, 0, 0.5, 0]
    assert found.last_made().tolist() == [0.25] * 4
    halves = tiles_of(item, region, (Loop(0, 2, 8), Loop(0, 0, 2)))
    assert halves.last_made().tolist() == [0, 0, 0.5, 0.5]


def test_a_memory_of_its_own_may_be_smaller_than_its_level() -> None:
    """Tiles fit into the memory, not only into its level, where there is one alone."""
    one: dict[str, object] = {"name": "one", "serves": list(OPERANDS), "capacity_bytes": 300}
    on = machine([level("near", 3000, {**one, "capacity_bytes": 2000}), level("inner", 400, one)])
    plan, replayed = planned(product(60, 50, 40), on, Search(effort=0.02))
    assert not replayed.violations
    assert 1000 < replayed.groups[0].peak_bytes <= 2000
    assert plan.groups[0].inner


def test_a_first_step_needs_nothing_of_what_comes_later_in_a_concatenation() -> None:
    net = Net("pieces")
    x = net.input(64, 32)
    pieces = [net.op("MatMul", x, net.weight(32, 32)) for _ in range(2)]
    network = read(net.model(net.op("Relu", net.op("Concat", *pieces, axis=0))))
    weights = {"name": "w", "serves": ["weights"]}
    near = level("b", 6_000, weights, {"name": "o", "serves": ["inputs", "outputs"]})
    on = machine([{**near, "double_buffered": True}, level("c", 500)])
    plan = NetworkPlan((Group(tuple(range(len(network.operators))), (Loop(len(network.operators) - 1, 0, 4),)),))
    item = priced(network, plan.groups[0], on, frozenset(), frozenset())
    inner = tuple(Inner(number, 2, (Loop(number, 0, 1),)) for number in item.group.operators)
    item = replace(item, group=replace(item.group, inner=inner))
    assert spared_s(network, on, item, frozenset(), frozenset()) >= 0
