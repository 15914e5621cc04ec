"""Which of several plans is the answer, by objective: at nearly the same cost that of the lower price."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from tests.tensor.networks.onnx_writer import Net

from shorthaul import tensor
from shorthaul.core.errors import InputError
from shorthaul.tensor.verbs.network_search import Amounts, preferred


def test_of_plans_nearly_as_fast_that_of_the_least_product_is_preferred() -> None:
    found = [Amounts(1.0, 5.0), Amounts(1.009, 4.0), Amounts(1.02, 1.0)]
    assert preferred(found, 0.01) == 1
    assert preferred(found, 0.0) == 0
    assert preferred(found, 0.01, most=1.0) == 0
    assert preferred([Amounts(1.0, 5.0), Amounts(1.009, 4.99)], 0.01) == 0
    assert preferred([Amounts(1.0, 5.0), Amounts(1.0, 4.0)], 0.01) == 1
    assert preferred(found, 0.01, most=0.5) == 0


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
