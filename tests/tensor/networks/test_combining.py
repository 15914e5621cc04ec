"""Two plans put together stretch by stretch: valid, as fast as the faster, and what is preferred."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
from tests.samples import samples
from tests.tensor.networks.onnx_writer import Net
from tests.tensor.networks.small_networks import SMALL, machine, random_plan, read

from shorthaul import tensor
from shorthaul.core.errors import InputError
from shorthaul.tensor.check.network_replay import replay_network
from shorthaul.tensor.networks.grouping.combining import Amounts, combined, preferred
from shorthaul.tensor.networks.model import Network
from shorthaul.tensor.networks.plan import Group, NetworkPlan
from shorthaul.tensor.verbs.network_costs import replay_on, rows_of


def _chain(count: int) -> Network:
    net = Net("chain")
    x = net.input(6, 8)
    for _ in range(count):
        x = net.op("Relu", x)
    return read(net.model(x))


def _amounts(network: Network, plan: NetworkPlan) -> list[Amounts]:
    on = machine(10**9, double=False, bandwidth=1e6)
    rows = rows_of(network, on, plan, replay_on(network, plan, on))
    return [Amounts(row.latency_s, row.loads + row.stores) for row in rows]


def test_of_plans_nearly_as_fast_that_of_the_least_product_is_preferred() -> None:
    found = [Amounts(1.0, 5.0), Amounts(1.009, 4.0), Amounts(1.02, 1.0)]
    assert preferred(found, 0.01) == 1
    assert preferred(found, 0.0) == 0
    assert preferred(found, 0.01, most=1.0) == 0
    assert preferred([Amounts(1.0, 5.0), Amounts(1.009, 4.99)], 0.01) == 0
    assert preferred([Amounts(1.0, 5.0), Amounts(1.0, 4.0)], 0.01) == 1
    assert preferred(found, 0.01, most=0.5) == 0


def test_each_stretch_is_the_faster_one_or_saves_more_than_it_takes() -> None:
    network = _chain(3)
    assert len(network.operators) == 3
    plans = NetworkPlan((Group((0,)), Group((1,)), Group((2,)))), NetworkPlan((Group((0, 1)), Group((2,))))
    first = [Amounts(1.0, 1.0), Amounts(1.0, 1.0), Amounts(100.0, 10.0)]
    assert combined(network, plans, (first, [Amounts(4.0, 0.0), Amounts(99.0, 10.0)]), 0.01) == NetworkPlan(
        (Group((0,)), Group((1,)), Group((2,)))
    )  # two seconds more of 101 are too many
    assert combined(network, plans, (first, [Amounts(1.0, 9.0), Amounts(100.1, 8.0)]), 0.01) == NetworkPlan(
        (Group((0, 1)), Group((2,)))
    )
    near = NetworkPlan((Group((0, 1), kept=(network.operators[1].writes[0].tensor,)), Group((2,))))
    assert combined(network, (plans[0], near), (first, [Amounts(1.0, 9.0), Amounts(900, 1.0)]), 0.01) == plans[0]


def _layers() -> list[Any]:
    made = []
    for kind, data, weights in (
        ("MatMul", (37, 700), (700, 300)),
        ("MatMul", (64, 256), (256, 1024)),
        ("Conv", (1, 64, 14, 14), (256, 64, 1, 1)),
        ("Conv", (1, 64, 30, 30), (128, 64, 3, 3)),
    ):
        net = Net("layer")
        made.append(net.model(net.op(kind, net.input(*data), net.weight(*weights))))
    return made


@pytest.mark.parametrize("effort", [pytest.param(None, marks=pytest.mark.slow), 0.01])
def test_each_objective_takes_no_more_of_it_than_the_others(effort: float | None) -> None:
    objectives: tuple[Literal["balanced", "time", "energy"], ...] = ("balanced", "time", "energy")
    ratios = []
    for model in _layers():
        found = {one: tensor.plan(model, machine="edge-45nm", objective=one, effort=effort).cost for one in objectives}
        costs: list[Any] = [found[one] for one in objectives]
        for number, amount in ((1, "latency_s"), (2, "energy_j")):
            amounts = [cost[amount] for cost in costs]
            assert amounts[number] == min(amounts)
            ratios.append(max(amounts) / amounts[number])
    assert max(ratios[::2]) > 1.03  # they are a choice, and differ, however little effort there is
    assert max(ratios[1::2]) > 1.2


def test_an_objective_goes_with_a_network() -> None:
    with pytest.raises(InputError, match="goes with an ONNX model"):
        tensor.plan("example-1", objective="time")


@pytest.mark.costly
@pytest.mark.parametrize("name", SMALL)
def test_random_plans_put_together_are_valid_and_add_up(name: str) -> None:
    network, rng, mixed = SMALL[name], np.random.default_rng(8), 0
    for _ in samples(24):
        plans = random_plan(network, rng), random_plan(network, rng)
        if any(replay_network(network, plan, 1e9, double_buffered=False).violations for plan in plans):
            continue
        amounts = _amounts(network, plans[0]), _amounts(network, plans[1])
        made = combined(network, plans, amounts, 0.01)
        assert not replay_network(network, made, 1e9, double_buffered=False).violations
        assert sorted(n for group in made.groups for n in group.operators) == list(range(len(network.operators)))
        each = {
            (group, item)
            for plan, own in zip(plans, amounts, strict=True)
            for group, item in zip(plan.groups, own, strict=True)
        }
        told = _amounts(network, made)
        assert each.issuperset(zip(made.groups, told, strict=True))
        fastest_s = min(sum(item.cost for item in own) for own in amounts)
        assert sum(item.cost for item in told) <= fastest_s * 1.01 * (1 + 1e-9)
        mixed += made not in plans
    assert mixed or len(samples(24)) < 24 or len(network.operators) < 4
