"""Bounds of networks: no plan comes below them, and what they count is what the output needs."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from tests.samples import samples
from tests.tensor.networks.odd_networks import ODD
from tests.tensor.networks.onnx_writer import Net
from tests.tensor.networks.small_networks import ARRAYS, SMALL, latency_s, machine, random_plan, read

import shorthaul as surface
from shorthaul.core.search import Search
from shorthaul.tensor.check.network_replay import replay_network
from shorthaul.tensor.networks.array import spread
from shorthaul.tensor.networks.bounds.latency import bound
from shorthaul.tensor.networks.model import Index
from shorthaul.tensor.networks.needs import along, box_within, demands
from shorthaul.tensor.networks.plan import Group, Loop, NetworkPlan
from shorthaul.tensor.verbs.network_costs import replay_on
from shorthaul.tensor.verbs.network_search import planned


@pytest.mark.slow
def test_a_brief_bound_is_not_above_the_whole_one() -> None:
    """Of a product whose weights do not fit, after a mean: without phases and waiting something is left out."""
    net = Net("mean, then weights")
    mean = net.op("ReduceMean", net.linear(net.input(40, 60), 60, 50), axes=[0], keepdims=1)
    network = read(net.model(net.linear(mean, 50, 400)))
    on = machine(40_000, bandwidth=1e8)
    brief, whole = bound(network, on, brief=True), bound(network, on)
    assert 0 < brief.value < whole.value
    assert brief.details["values"].items() <= whole.details["values"].items()


@pytest.mark.costly
@pytest.mark.parametrize("name", ODD)
def test_no_random_plan_of_odd_sizes_beats_the_bound(name: str) -> None:
    test_no_random_plan_beats_the_bound(name)


@pytest.mark.costly
@pytest.mark.parametrize("name", SMALL)
def test_no_random_plan_beats_the_bound(name: str) -> None:
    network, rng = SMALL[name] if name in SMALL else read(ODD[name]()), np.random.default_rng(5)
    valid = 0
    for number in range(20):
        plan, array = random_plan(network, rng), ("[]", *ARRAYS)[number % 3]
        peak = max(group.peak_bytes for group in replay_network(network, plan, 1e12, double_buffered=False).groups)
        on = machine(
            max(1, int(np.ceil(peak))), double=True, bandwidth=float(rng.choice([1e6, 1e9, 1e12])), array=array
        )
        widths = [spread(operator, on.array) for operator in network.operators]
        replayed = replay_network(network, plan, peak, double_buffered=False, widths=widths)
        if replayed.violations:
            continue
        valid += 1
        total = 0.0
        for group in replayed.groups:
            seconds = {"matrix": 0.0, "vector": 0.0}
            for member, operations in group.filled.items():
                unit = network.operators[member].unit
                seconds[unit] += operations * on.seconds_per_operation(unit, network.bits(member))
            memory = (group.loads_bytes + group.stores_bytes) / on.levels[0].bandwidth_bytes_per_s
            total += max(*seconds.values(), memory)
        assert total >= bound(network, on).value * (1 - 1e-9)
    assert valid > 3


@pytest.mark.costly
@pytest.mark.parametrize("name", SMALL)
def test_loads_before_a_group_begins_pass_once_and_fit(name: str) -> None:
    """Random plans: what is loaded early is there, has room, moves only in time, and no plan comes below the bound."""
    network, rng, early = SMALL[name], np.random.default_rng(9), 0.0
    for number, double in itertools.product(samples(40), (True, False)):
        plan = random_plan(network, rng)
        held = replay_network(network, plan, 1e12, double_buffered=False)
        size = int(2 * max(group.peak_bytes for group in held.groups) * rng.uniform(1, 1.5)) + 1
        on = machine(size, double=double, bandwidth=float(rng.choice([1e6, 1e9, 1e12])))
        seen = replay_on(network, plan, on)
        if seen.violations:
            continue
        early += sum(group.early_bytes for group in seen.groups)
        rate, apart, before = on.levels[0].bandwidth_bytes_per_s, 0.0, None
        for group, done in zip(plan.groups, seen.groups, strict=True):
            moved = (done.loads_bytes + done.stores_bytes) / rate
            apart += max(moved, done.steps_s + done.ends_bytes / rate) if double else moved + done.steps_s
            made = set() if before is None else {a.tensor for m in before for a in network.operators[m].writes}
            there = sum(amount for (tensor, _), amount in done.first_bytes.items() if tensor not in made)
            assert 0 <= done.beside_s <= done.ends_bytes / rate * (1 + 1e-9)
            assert 0 <= done.early_bytes <= (0 if before is None else there) <= done.ends_bytes
            assert done.peak_bytes <= size
            before = group.operators
        taken = latency_s(network, on, plan, seen)
        assert bound(network, on).value * (1 - 1e-9) <= taken <= apart * (1 + 1e-9), number
        spared = sum(group.early_bytes / rate + group.beside_s for group in seen.groups)
        assert taken >= apart - spared - 1e-12
    assert early > 0


def test_the_bound_follows_a_row_through_a_reshape() -> None:
    """Of what lies above a view under another shape, the part is counted that the output needs, no more."""
    net = Net("row of heads")
    x = net.op("Relu", net.op("Exp", net.input(6, 12)))
    rows = net.op("Gather", net.reshape(x, 2, 3, 4, 3), net.constant(1), axis=1)
    network = read(net.model(net.op("Tanh", rows)))
    found = bound(network, machine(10**6, bandwidth=1.0)).details
    assert found["traffic_bytes"] == (24 + 24) * 4
    assert found["values"]["vector"] == pytest.approx(
        sum(item.work for item in network.operators) * 24 * machine(1).seconds_per_operation("vector", 32)
    )


def test_interpolation_asks_for_all_places_and_parts_of_a_split_for_both() -> None:
    """Every place of the convolution is near one of the output, and each half of its channels has a reader."""
    net = Net("head")
    left, right = net.op("Split", net.conv(net.input(1, 4, 7, 7), 4, 6, 3), axis=1, num_outputs=2, outputs=2)
    x = net.op("Add", net.op("Sigmoid", left), right)
    network = read(net.model(net.op("Resize", x, "", "", net.constant([1, 3, 25, 29]), mode="linear")))
    found = demands(network, machine(10**6))
    assert [found[number].operations for number in range(4)] == [item.operations for item in network.operators]


def test_needed_places_are_those_that_an_index_reaches() -> None:
    rng = np.random.default_rng(77)
    for _ in samples(200):
        sizes, size = rng.integers(1, 7, 2), int(rng.integers(1, 12))
        terms = tuple((dim, int(rng.choice([-3, -2, -1, 1, 2, 3, 4]))) for dim in range(2))
        index = Index(terms, int(rng.integers(-5, 9)), int(rng.integers(1, 5)), exact=bool(rng.integers(2)))
        masks = [rng.random(extent) < 0.7 for extent in sizes]
        wanted = np.zeros(size, bool)
        for at in itertools.product(*(np.flatnonzero(mask).tolist() for mask in masks)):
            place = sum(factor * at[dim] for dim, factor in terms) + index.offset
            if not (index.exact and place % index.divisor) and 0 <= place // index.divisor < size:
                wanted[place // index.divisor] = True
        assert (along(index, masks, size) == wanted).all()


def test_a_box_within_points_holds_nothing_else_and_all_of_a_box() -> None:
    rng = np.random.default_rng(78)
    for _ in samples(200):
        points = rng.random(rng.integers(1, 6, rng.integers(1, 4))) < 0.8
        found = box_within(points)
        assert points[np.ix_(*found)].all()
        assert any(map(np.any, found)) == points.any()
        box = np.ix_(*(rng.random(size) < 0.7 for size in points.shape))
        points[...] = False
        points[box] = True
        assert points[np.ix_(*box_within(points))].sum() == points.sum()


def test_no_tiling_of_a_product_beats_its_bound() -> None:
    """All tilings of small products, in all orders: the bytes moved are never below the bound at their peak."""
    for shape in ((6, 5, 7), (3, 3, 24)):
        m, n, k = shape
        net = Net("product")
        network = read(net.model(net.op("MatMul", net.input(m, k), net.weight(k, n))))
        for sizes in itertools.product(*({1, 3, size} for size in (m, n, k))):
            for order in itertools.permutations(range(3)):
                plan = NetworkPlan((Group((0,), tuple(Loop(0, dim, min(sizes[dim], shape[dim])) for dim in order)),))
                seen = replay_network(network, plan, 1e9, double_buffered=False).groups[0]
                floor = bound(network, machine(int(seen.peak_bytes), bandwidth=1.0)).details["traffic_bytes"]
                assert seen.loads_bytes + seen.stores_bytes >= floor


def test_a_broadcast_operand_moves_less_than_a_product() -> None:
    net = Net("broadcast row")
    network = read(
        net.model(net.op("MatMul", net.input(64, 64), net.op("Expand", net.input(1, 64), net.constant([64, 64]))))
    )
    on = machine(1600, bandwidth=1e6)
    plan, seen = planned(network, on, Search())
    assert latency_s(network, on, plan, seen) >= bound(network, on).value


def test_a_large_product_is_near_its_bound(tmp_path: Path) -> None:
    net = Net("product")
    path = tmp_path / "product.onnx"
    path.write_bytes(net.model(net.op("MatMul", net.input(4096, 4096), net.weight(4096, 4096))).SerializeToString())
    text = "{name: m, levels: [{name: far, bandwidth_bytes_per_s: 1e9}, {name: near, capacity_bytes: 4000000, "
    text += "bandwidth_bytes_per_s: 1e9, double_buffered: false}], compute: {clock_hz: 1e12, "
    text += "matrix: {operations_per_cycle: {32: 1e9}}, vector: {operations_per_cycle: {32: 1e9}}}}"
    (tmp_path / "machine.yaml").write_text(text)
    result = surface.tensor.plan(path, machine=str(tmp_path / "machine.yaml"))
    assert result.gap is not None
    assert result.gap < 0.25
    again = surface.tensor.check(path, result, machine=tmp_path / "machine.yaml")
    assert again.cost == result.cost
