"""Phases: operators that no group has together, as it would hold too much, run one after the other."""

from __future__ import annotations

import numpy as np
import pytest
from tests.samples import samples
from tests.tensor.networks.odd_networks import ODD
from tests.tensor.networks.onnx_writer import Net
from tests.tensor.networks.small_networks import SMALL, latency_s, machine, random_plan, read

from shorthaul.core.search import Search
from shorthaul.tensor.check.network_replay import replay_network
from shorthaul.tensor.networks.bounds.holding import Holding
from shorthaul.tensor.networks.bounds.latency import bound
from shorthaul.tensor.networks.bounds.phases import operators_after
from shorthaul.tensor.networks.model import Network
from shorthaul.tensor.networks.needs import demands
from shorthaul.tensor.networks.plan import Group, Loop, NetworkPlan
from shorthaul.tensor.verbs.network_search import planned

#: Steps of a group at most.
_MOST_STEPS = 1500


def _finest(network: Network, plan: NetworkPlan, rng: np.random.Generator) -> NetworkPlan:
    """Return the groups of a plan with tiles of one place, and perhaps one anchor cut as finely."""
    groups = []
    for group in plan.groups:
        sink, anchors = group.operators[-1], [n for n in group.operators[:-1] if network.operators[n].reduced]
        keys = [(sink, dim) for dim in range(len(network.operators[sink].dims))]
        if anchors and rng.random() < 0.8:
            anchor = anchors[rng.integers(len(anchors))]
            keys += [(anchor, dim) for dim in network.operators[anchor].reduced]
        loops, steps = [], 1
        last = {key for _, key in network.running_in(group.operators)}
        for number, dim in sorted(keys, key=last.__contains__):
            size = network.operators[number].dims[dim]
            if dim not in network.operators[number].rows and steps * size <= _MOST_STEPS:
                steps *= size
                loops.append(Loop(number, dim, 1))
        groups.append(Group(group.operators, tuple(loops), group.kept))
    return NetworkPlan(tuple(groups))


@pytest.mark.costly
@pytest.mark.parametrize(
    "name", [*sorted({*SMALL} - {"strides"}), *(pytest.param(name, marks=pytest.mark.slow) for name in ODD)]
)
def test_no_group_holds_less_than_the_least_of_any_two_of_its_operators(name: str) -> None:
    network, rng = SMALL[name] if name in SMALL else read(ODD[name]()), np.random.default_rng(21)
    needed = [number for number, demand in demands(network, machine(1)).items() if demand.operations > 0]
    holding, after, compared = Holding(network, frozenset(needed)), operators_after(network), 0
    for number in samples(48):
        plan = random_plan(network, rng)
        plan = _finest(network, plan, rng) if number % 3 else plan
        seen = replay_network(network, plan, 1e15, double_buffered=False)
        for group, done in zip(plan.groups, seen.groups, strict=True):
            for first in group.operators if not seen.violations else ():
                for last in set(group.operators) & set(np.flatnonzero(after[first]).tolist()) - {first}:
                    members = np.flatnonzero(after[first] & after[:, last]).tolist()
                    assert set(members) <= set(group.operators)
                    assert holding.of(members, done.peak_bytes) <= done.peak_bytes, (group, members)
                    compared += 1
    assert compared or name in ODD


def _compute_then_load() -> Network:
    net = Net("convolutions before a matrix")
    x = net.input(1, 32, 12, 12)
    for _ in range(6):
        x = net.conv(x, 32, 32, 3, act="Relu")
    return read(net.model(net.linear(net.op("Flatten", x), 32 * 144, 256, act="Relu")))


def test_compute_before_and_loads_after_add_up_where_memory_is_short() -> None:
    """By hand: weights of a convolution do not fit, so the first three of six end before the matrix is loaded.

    The matrix may be the sink, cut along its sum; of one convolution, the anchor, the sum may be cut as well. The one
    between, and its weights, are whole.
    """
    network = _compute_then_load()
    on = machine(24_000, bandwidth=2e10)
    floor, (plan, seen) = bound(network, on), planned(network, on, Search())
    plain = max(floor.details["values"][name] for name in ("matrix", "vector", "traffic"))
    convolutions = 3 * 2 * 32 * 32 * 9 * 144 / 64e9
    matrix = 32 * 144 * 256 * 4 / 2e10
    assert floor.method == "phases"
    assert floor.value >= convolutions + matrix - 24_000 / 2e10
    assert plain < floor.value <= latency_s(network, on, plan, seen)
    assert bound(network, machine(10**7, bandwidth=2e10)).method != "phases"
