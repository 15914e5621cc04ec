"""Memories further inside: no plan is below the bound there, and none gains by leaving tiles out."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import onnx
import pytest
from tests.samples import samples
from tests.tensor.networks.odd_networks import ODD
from tests.tensor.networks.onnx_writer import Net
from tests.tensor.networks.small_networks import SMALL, random_plan, read

from shorthaul.core.machines.files import machine_file
from shorthaul.core.search import Search
from shorthaul.tensor.check.inner_replay import InnerLevel, replay_inner
from shorthaul.tensor.check.network_replay import replay_network
from shorthaul.tensor.networks.bounds.latency import bound
from shorthaul.tensor.networks.inner import region_network
from shorthaul.tensor.networks.loops import shape_of
from shorthaul.tensor.networks.machine import Machine, machine_of
from shorthaul.tensor.networks.model import Network
from shorthaul.tensor.networks.plan import Group, Inner, Loop, NetworkPlan
from shorthaul.tensor.networks.pricing import GroupPricer
from shorthaul.tensor.verbs.network_search import planned
from shorthaul.tensor.verbs.networks import report_on

LARGE = 10**9


def four_levels(rng: np.random.Generator, inner: int = LARGE) -> Machine:
    """Return a machine on which any level may be the slow one."""
    rates = [f"bandwidth_bytes_per_s: {10 ** rng.uniform(5, 10)}" for _ in range(3)]
    double = [f"double_buffered: {str(bool(rng.random() < 0.7)).lower()}" for _ in range(3)]
    text = f"""{{name: four, levels: [{{name: a, {rates[0]}}}, {{name: b, capacity_bytes: {LARGE}, {rates[1]}, {double[0]}}},
      {{name: c, capacity_bytes: {inner}, {rates[2]}, {double[1]}}},
      {{name: d, capacity_bytes: {inner}, bandwidth_bytes_per_s: 1.0, {double[2]}}}],
      compute: {{clock_hz: 1e9, matrix: {{operations_per_cycle: {{32: 64}}, sum_bits: {{32: 48}}}}, vector: {{operations_per_cycle: {{32: 8}}}}}}}}"""
    return machine_of(machine_file(text, "levels", "compute"))


def random_inner(network: Network, group: Group, rng: np.random.Generator) -> Group:
    """Return a group with tiles drawn for some operators on some levels; they may break rules."""
    if network.operators[group.operators[-1]].barrier:
        return group
    (seen,) = replay_network(network, NetworkPlan((group,)), 1e12, double_buffered=False).groups
    tiles = []
    for number, extents in seen.extents.items():
        sizes = list(extents)
        for level in (2, 3):
            if rng.random() < 0.4:
                continue
            dims = [dim for dim in range(len(sizes)) if dim not in network.operators[number].rows]
            loops = []
            for dim in rng.permutation(dims).tolist():
                sizes[dim] = int(rng.integers(1, sizes[dim] + 1))
                loops.append(Loop(number, dim, sizes[dim]))
            tiles.append(Inner(number, level, tuple(loops)))
    return replace(group, inner=tuple(tiles))


def hunt(name: str, seed: int, count: int) -> int:
    """Compare random plans with the bound; return how many break no rule."""
    network, rng = SMALL[name] if name in SMALL else read(ODD[name]()), np.random.default_rng(seed)
    return hunt_in(network, rng, count)


def hunt_in(network: Network, rng: np.random.Generator, count: int, inner: int = LARGE) -> int:
    valid = 0
    for _ in range(count):
        plan, on = random_plan(network, rng), four_levels(rng, inner)
        if replay_network(network, plan, 1e12, double_buffered=False).violations:
            continue
        valid += is_valid_and_above(network, plan, on, rng)
    return valid


def is_valid_and_above(network: Network, plan: NetworkPlan, on: Machine, rng: np.random.Generator) -> bool:
    """Return whether a plan with random inner tiles breaks no rule; one that breaks none must not be below the bound."""
    plan = NetworkPlan(tuple(random_inner(network, group, rng) for group in plan.groups))
    report = report_on(network, plan, on)
    if report.ok:
        assert report.cost is not None
        assert report.cost["latency_s"] >= bound(network, on).value * (1 - 1e-9)
    return report.ok


@pytest.mark.costly
@pytest.mark.parametrize("name", SMALL)
def test_no_random_plan_beats_the_bound(name: str) -> None:
    assert hunt(name, 7, 12) > 2


@pytest.mark.slow
@pytest.mark.parametrize("name", ODD)
def test_no_random_plan_of_odd_sizes_beats_the_bound(name: str) -> None:
    assert hunt(name, 7, 40) > 2


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_no_plan_gains_by_leaving_tiles_out(name: str) -> None:
    """Whatever tiles are taken away, of one operator for the innermost level, or all: nothing becomes less."""
    network, on = SMALL[name], four_levels(np.random.default_rng(1), inner=600)
    plan, _ = planned(network, on, Search(effort=0.3))
    before = report_on(network, plan, on).cost
    assert before is not None
    assert any(group.inner for group in plan.groups)
    for at, group in enumerate(plan.groups):
        for less in [(), *(tuple(i for i in group.inner if i is not one) for one in group.inner if one.level == 3)]:
            without = NetworkPlan((*plan.groups[:at], replace(group, inner=less), *plan.groups[at + 1 :]))
            after = report_on(network, without, on)
            assert after.ok
            assert after.cost is not None
            assert after.cost["latency_s"] >= before["latency_s"] * (1 - 1e-9)


def test_an_operator_without_tiles_takes_all_its_operands_again() -> None:
    """Of a product: two elements in, and a sum out and in again, for every multiplication."""
    network = SMALL["mlp"]
    number = next(n for n, item in enumerate(network.operators) if item.unit == "matrix")
    item = network.operators[number]
    plan = NetworkPlan(tuple(Group((n,)) for n in range(len(network.operators))))
    replayed = replay_network(network, plan, 1e12, double_buffered=True)
    assert not list(replay_inner(network, plan, replayed.groups, [InnerLevel(600.0, True)]))
    many, outputs = item.operations / item.work, network.tensors[item.writes[0].tensor].elements
    assert replayed.groups[number].inner_bytes == [((3 * many - outputs) * 4, many * 4)]


def looked_up(rows: int, found: int, width: int) -> Network:
    """Rows of a table that is made, and these added to others by their places."""
    net = Net("lookups")
    places = [net.input(found, 1, kind=onnx.TensorProto.INT64, name=name) for name in ("from", "to")]
    rows_of = net.op("GatherND", net.op("Relu", net.input(rows, width)), places[0])
    return read(net.model(net.op("ScatterND", net.input(rows, width), places[1], rows_of, reduction="add")))


@pytest.mark.parametrize(("rows", "found", "width"), [(20, 3, 2), (5, 9, 2)])
def test_what_is_looked_up_passes_by_element(rows: int, found: int, width: int) -> None:
    """Not all of the table for every element, where no tile of it is held; no plan is below the bound there."""
    network = looked_up(rows, found, width)
    plan = NetworkPlan(tuple(Group((n,)) for n in range(len(network.operators))))
    replayed = replay_network(network, plan, 1e12, double_buffered=True)
    assert not list(replay_inner(network, plan, replayed.groups, [InnerLevel(16.0, True)]))
    assert replayed.groups[1].inner_bytes == [(found * width * (4 + 8), found * width * 4)]
    assert hunt_in(network, np.random.default_rng(5), 3, inner=2000) > 0
    on = four_levels(np.random.default_rng(2), inner=64)
    chosen, _ = planned(network, on, Search(effort=0.02))
    report = report_on(network, chosen, on)
    assert report.ok
    assert report.cost is not None
    assert report.cost["latency_s"] >= bound(network, on).value * (1 - 1e-9)


def test_sums_that_go_on() -> None:
    """Of 2 x 3 sums of 8 cut in 4 parts: 4 times out, the last as outputs, 3 times in, wherever the cuts are."""
    net = Net("product")
    network = read(net.model(net.linear(net.input(2, 8), 8, 3)))
    number = next(n for n, item in enumerate(network.operators) if item.unit == "matrix")
    m, k = (network.operators[number].dim_names.index(name) for name in "mk")
    inner = Inner(number, 2, (Loop(number, k, 2), Loop(number, m, 1)))
    others = [Group((n,)) for n in range(len(network.operators)) if n != number]
    for loops in ((), (Loop(number, k, 4),)):
        plan = NetworkPlan(tuple(sorted([Group((number,), loops, inner=(inner,)), *others], key=lambda g: g.operators)))
        for wider in (1.0, 2.0):
            seen = replay_network(network, plan, 1e12, double_buffered=True).groups
            on = [InnerLevel(600.0, True)]
            assert not list(replay_inner(network, plan, seen, on, [wider] * len(network.operators)))
            passed = seen[number].inner_of[number][0]
            assert passed[2:] == (3 * 6 * 4 * wider, 3 * 6 * 4 * wider + 6 * 4)


def test_what_is_near_already_still_passes_further_inside() -> None:
    """A group is priced with the same traffic inside whether what it reads is kept near or loaded."""
    net = Net("two layers")
    x = net.linear(net.input(6, 40), 40, 30, act="Relu")
    network = read(net.model(net.linear(x, 30, 20)))
    product = next(n for n, item in enumerate(network.operators) if item.kind == "MatMul" and n)
    group = tuple(range(product, len(network.operators)))
    read_from = next(a.tensor for a in network.operators[product].reads if a.tensor in network.producer)
    shape, on = shape_of(network, group), four_levels(np.random.default_rng(0))
    amounts = []
    for near in (frozenset[int](), frozenset((read_from,))):
        pricer = GroupPricer(network, group, on, frozenset(), shape, {}, near)
        for key in pricer.keys:
            pricer.offer(key, [1, shape.sizes[key]])
        chosen = np.indices([2] * len(pricer.keys)).reshape(len(pricer.keys), -1)
        amounts.append(pricer.prices(pricer.keys, dict(zip(pricer.keys, chosen, strict=True))))
    assert (amounts[0].inner_s == amounts[1].inner_s).all()
    assert (amounts[0].loads > amounts[1].loads).all()


def test_patches_that_do_not_overlap_are_products_inside() -> None:
    """Taps are cut as sums are, and what lies between the patches of a tile is not held: no plan beats the bound of both.

    By hand: 3 x 2 places of 4 x 4 taps at 5 channels touch 480 elements, and 120 where of each patch one row is read.
    """
    net = Net("patches")
    network = read(net.model(net.conv(net.conv(net.input(1, 5, 12, 16), 5, 6, 4, 4, pad=0), 6, 4, 3, 3, pad=0)))
    operator, sizes = network.operators[0], dict(zip("nmyxc", (1, 1, 3, 2, 5), strict=True))
    for rows, touched in ((4, 480), (1, 120)):
        extents = [sizes.get(name, {"k0": rows, "k1": 4}.get(name, 1)) for name in operator.dim_names]
        assert region_network(network, 0, extents).tensors[0].elements == touched
    assert sum(hunt_in(network, np.random.default_rng(43), 4, inner) for inner in (150, 400, LARGE)) > 2
    text = """{name: slow inside, levels: [{name: a, bandwidth_bytes_per_s: 1e12}, {name: b, capacity_bytes: 1000000,
      bandwidth_bytes_per_s: 1e6}, {name: c, capacity_bytes: 400, bandwidth_bytes_per_s: 1e12}], compute: {clock_hz: 1e9,
      matrix: {operations_per_cycle: {32: 64}}, vector: {operations_per_cycle: {32: 8}}}}"""
    slow = machine_of(machine_file(text, "levels", "compute"))
    report = report_on(network, planned(network, slow, Search())[0], slow)
    assert report.cost is not None
    assert 1 <= report.cost["latency_s"] / bound(network, slow).value < 2.2


@pytest.mark.parametrize("registers", [7 * 5 * 4, 7 * 4, 4])
def test_windows_are_cut_where_registers_hold_a_part(registers: int) -> None:
    """Fewer registers than a filter has weights: each weight is still used for many places, not for one."""
    net = Net("window")
    network = read(net.model(net.conv(net.input(1, 1, 24, 24), 1, 2, k=(7, 5))))
    text = f"""{{name: m, levels: [{{name: a, bandwidth_bytes_per_s: 1e9}},
      {{name: b, capacity_bytes: {LARGE}, bandwidth_bytes_per_s: 1e9, double_buffered: false}},
      {{name: c, capacity_bytes: {registers}, bandwidth_bytes_per_s: 1e9, double_buffered: false,
        memories: [{{name: w, serves: [weights]}}]}}],
      compute: {{clock_hz: 1e9, matrix: {{operations_per_cycle: {{32: 1}}}}, vector: {{operations_per_cycle: {{32: 1}}}}}}}}"""
    on = machine_of(machine_file(text, "levels", "compute"))
    plan, replayed = planned(network, on, Search(effort=0.02))
    passed, _ = replayed.groups[0].inner_bytes[0]
    assert passed == 2 * 7 * 5 * 4 * math.prod(-(-24 // loop.tile) for loop in plan.groups[0].loops if loop.dim)


@pytest.mark.costly
@pytest.mark.parametrize("stride", [2, 3, 5])
@pytest.mark.parametrize("registers", [48, 80, 96])
def test_windows_of_transposed_convolutions_are_cut(stride: int, registers: int) -> None:
    """Tiles fit wherever their taps lie between the places that are read, and weights are used for many places.

    By position every operation would take a weight, eight channels and twenty taps for each place.
    """
    net = Net("window")
    weights = net.weight(8, 3, 20)
    network = read(net.model(net.op("ConvTranspose", net.input(1, 8, 45), weights, strides=[stride])))
    text = f"""{{name: m, levels: [{{name: a, bandwidth_bytes_per_s: 1e9}}, {{name: b, capacity_bytes: {LARGE},
      bandwidth_bytes_per_s: 1e9}}, {{name: c, capacity_bytes: {registers}, bandwidth_bytes_per_s: 1e9}}],
      compute: {{clock_hz: 1e9, matrix: {{operations_per_cycle: {{32: 1}}}}, vector: {{operations_per_cycle: {{32: 1}}}}}}}}"""
    _, replayed = planned(network, machine_of(machine_file(text, "levels", "compute")), Search(effort=0.02))
    assert not replayed.violations
    assert replayed.groups[0].inner_bytes[0][0] < math.prod(network.operators[0].dims) * 4


def broken(network: Network, groups: list[Group], rng: np.random.Generator) -> list[Group]:
    """Return the groups with one thing changed, most often into what the rules or the network do not know."""
    at, last = int(rng.integers(len(groups))), len(network.operators)

    def loops() -> tuple[Loop, ...]:
        return tuple(Loop(*map(int, rng.integers(-1, last + 1, 3))) for _ in range(int(rng.integers(4))))

    group = groups[at]
    changed = [
        replace(group, operators=tuple(int(item) for item in rng.integers(-1, last + 2, len(group.operators)))),
        replace(group, operators=()),
        replace(group, loops=loops()),
        replace(group, kept=tuple(int(item) for item in rng.integers(-1, len(network.tensors), 2))),
        replace(group, inner=tuple(Inner(int(rng.integers(last)), int(rng.integers(6)), loops()) for _ in range(3))),
    ]
    return [*groups[:at], changed[int(rng.integers(len(changed)))], *groups[at + 1 :]]


def test_a_plan_for_another_network_breaks_rules() -> None:
    """Operators, dimensions and tensors that do not exist are violations, on machines with further memories too."""
    seen = set()
    for seed in samples(120):
        rng = np.random.default_rng(seed)
        network, other = (list(SMALL.values())[int(rng.integers(len(SMALL)))] for _ in range(2))
        source = other if seed % 3 == 0 else network
        groups = [random_inner(source, group, rng) for group in random_plan(source, rng).groups]
        plan = NetworkPlan(tuple(broken(network, groups, rng)))
        report = report_on(network, plan, four_levels(rng, int(rng.integers(100, 10**6))))
        seen.update(item.rule for item in report.violations)
    assert {"operator-unknown", "loop-unknown"} <= seen


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 12))])
def test_pieces_of_a_concatenation_are_one_operand_inside(seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts = [int(size) for size in rng.integers(1, 7, int(rng.integers(2, 5)))]
    net = Net("pieces")
    kept = [net.input(4, size) for size in parts]
    x = net.op("Concat", *kept, axis=1)
    back = net.op("Concat", *kept[::-1], axis=1)
    y = net.op("MatMul", x, net.weight(sum(parts), 3)) if seed % 2 else net.op("Add", x, back)
    network = read(net.model(y))
    assert network.reads_apart[0] == (0, len(parts))
    inside = region_network(network, 0, network.operators[0].dims).tensors
    assert [tensor.elements for tensor in inside[:2]] == [4 * sum(parts), (3 if seed % 2 else 4) * sum(parts)]
    assert hunt_in(network, rng, 20, 160) > 0
