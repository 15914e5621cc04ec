"""Seconds of steps that run one after the other: prices, replay, and a machine that executes them, event by event."""

from __future__ import annotations

import numpy as np
import pytest
from tests.reference.tensor_steps import Job, executed, steps_seconds
from tests.samples import samples
from tests.tensor.networks.odd_networks import ODD
from tests.tensor.networks.onnx_writer import Net
from tests.tensor.networks.small_networks import ARRAYS, SMALL, latency_s, machine, random_plan, read

from shorthaul.tensor.networks.loops import shape_of
from shorthaul.tensor.networks.machine import Machine
from shorthaul.tensor.networks.model import Network
from shorthaul.tensor.networks.plan import Group, Loop, NetworkPlan
from shorthaul.tensor.networks.pricing import GroupPricer
from shorthaul.tensor.verbs.network_costs import replay_on

#: Steps of a group at most that are executed event by event.
_MOST_STEPS = 80


def _draws(network: Network, seed: int, count: int) -> list[tuple[NetworkPlan, Machine]]:
    rng, found = np.random.default_rng(seed), []
    for number in range(count):
        array, rate = ("[]", *ARRAYS)[number % 3], float(10 ** rng.uniform(7, 11))
        found.append((random_plan(network, rng), machine(10**12, bandwidth=rate, array=array)))
    return found


def _compared(network: Network, plan: NetworkPlan, on: Machine) -> int:
    """Compare the steps of all groups that can be replayed, and whose prices hold, with one another."""
    seen, count = replay_on(network, plan, on), 0
    near: set[int] = set()
    if seen.violations:
        return 0
    for group, done in zip(plan.groups, seen.groups, strict=True):
        near |= set(group.kept)
        if done.steps > _MOST_STEPS or network.operators[group.operators[-1]].barrier:
            continue
        inside = {access.tensor for number in group.operators for access in network.operators[number].writes}
        names = [
            f"read {number}.{place}"
            for number in reversed(group.operators)
            for place, access in enumerate(network.operators[number].reads)
            if access.tensor not in inside
        ]
        shared = {place for place, name in enumerate(names) if name in done.shared}
        assert done.steps_s == pytest.approx(steps_seconds(network, group, near, shared, on), rel=1e-9), group
        # Prices take steps as alike that begin another iteration of the same loop.
        assert _priced(network, group, near, on) == pytest.approx(done.steps_s, rel=0.3), group
        count += 1
    return count


def _priced(network: Network, group: Group, near: set[int], on: Machine) -> float:
    """Return the price of the steps of a group: the time of their means."""
    shape, cut = (
        shape_of(network, group.operators),
        {(item.operator, item.dim): item.tile for item in group.loops},
    )
    inside = {access.tensor for number in group.operators[:-1] for access in network.operators[number].writes}
    stored = frozenset(
        tensor
        for tensor in inside
        if network.tensors[tensor].is_output or not set(network.consumers[tensor]) <= set(group.operators)
    )
    pricer = GroupPricer(network, group.operators, on, stored, shape, cut, frozenset(near))
    for key in pricer.keys:
        pricer.offer(key, [cut.get(key, shape.sizes[key])])
    order = [*cut, *(key for key in pricer.keys if key not in cut)]
    prices = pricer.prices(order, dict.fromkeys(pricer.keys, np.zeros(1, np.int64)))
    assert prices.steps_s[0] >= max(prices.matrix_s[0], prices.vector_s[0]) * (1 - 1e-9)
    return float(prices.steps_s[0])


@pytest.mark.costly
@pytest.mark.parametrize("name", SMALL)
def test_steps_take_what_a_machine_takes_that_executes_them(name: str) -> None:
    assert sum(_compared(SMALL[name], *draw) for draw in _draws(SMALL[name], 31, len(samples(40)))) > 2


@pytest.mark.slow
@pytest.mark.parametrize("name", ODD)
def test_steps_of_odd_sizes_take_what_a_machine_takes(name: str) -> None:
    network = read(ODD[name]())
    for draw in _draws(network, 32, 40):
        _compared(network, *draw)


def test_the_most_urgent_job_passes_and_steps_wait_for_it() -> None:
    """By hand: a tile of 5 s passes beside two steps of 2 s, of which the second one waits for 1 s of another job."""
    assert executed([2.0, 2.0], [Job(0, 2, 5.0)]) == 5.0
    assert executed([2.0, 2.0], [Job(0, 2, 2.0), Job(0, 1, 3.0)]) == 5.0
    assert executed([2.0, 2.0], [Job(1, 2, 3.0), Job(0, 1, 3.0)]) == 6.0


def test_what_is_computed_at_once_does_not_hide_what_passes_later() -> None:
    """By hand: all of a first product is computed in the first step, as each of 16 tiles of a second one needs it.

    The weights of the second one, which take longer, pass while the tile before them is multiplied, and wait for it; the
    first of them beside the first product, in what of that time the next ones leave.
    """
    net = Net("compute, then weights")
    x = net.op("MatMul", net.input(64, 64), net.weight(64, 64))
    network = read(net.model(net.op("MatMul", x, net.weight(64, 1024))))
    group = Group((0, 1), (Loop(1, next(d for d, n in enumerate(network.operators[1].dims) if n == 1024), 64),))
    on = machine(10**9, bandwidth=1.6e9)
    multiply, tile = 2 * 64**3 / 64e9, 64 * 64 * 4 / 1.6e9
    assert tile < 2 * multiply < 2 * tile
    first = max(2 * multiply, tile)
    rest = 14 * max(multiply, 2 * tile) + max(multiply, tile)
    plan = NetworkPlan((group,))
    seen = replay_on(network, plan, on)
    assert seen.groups[0].steps_s == pytest.approx(first + rest, rel=1e-12)
    assert _priced(network, group, set(), on) == pytest.approx(first + rest, rel=1e-12)
    assert latency_s(network, on, plan, seen) == pytest.approx(4 * tile + first + rest - (first - tile))
