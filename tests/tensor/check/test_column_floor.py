"""The least of a subgraph in which slices of one tensor coincide by chance: never above the least of any order."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from tests.tensor.columns import column

from shorthaul.tensor.check import column_floor
from shorthaul.tensor.check.column_floor import Steps, cheaper
from shorthaul.tensor.check.tile_floor import least_in_any_order
from shorthaul.tensor.model import CONTEST, Machine
from shorthaul.tensor.workloads.cases import GraphBuilder


def square(size, machine, *, is_residual):
    """Return a tensor times itself, and maybe the sum of both, as a problem and its column."""
    graph = GraphBuilder()
    tensor = graph.tensor(size, size)
    output = graph.matmul(tensor, tensor, 7)
    if is_residual:
        output = graph.pointwise((output, tensor), 3)
    problem = replace(graph.problem(1, 1), machine=machine)
    return problem, column(problem, frozenset(range(len(problem.operators))), [output], frozenset(), frozenset())


@pytest.mark.parametrize("native", [(5, 4)])
def test_no_order_takes_less_and_some_take_little_more(native):
    problem, item = square(11, Machine(150.0, 0.5, *native), is_residual=True)
    sizes = np.array(list(product(range(1, native[0] + 1), range(1, native[1] + 1), range(1, native[0] + 1))))
    floors = Steps(problem, item, *sizes.T).floor(problem.machine.capacity)
    for (w, h, k), floor in zip(sizes.tolist(), floors, strict=True):
        assert floor <= least_in_any_order(problem.machine, item, w, h, k, math.inf) * (1 + 1e-9)
    assert np.isfinite(floors).sum() > 50


def test_few_granularities_are_looked_at_tile_by_tile(monkeypatch):
    """They were all at which tiles and steps are equally long along one axis, or end together."""
    problem, item = square(99, Machine(2_000.0, 0.5, 32, 12), is_residual=False)
    seen = []
    monkeypatch.setattr(column_floor, "least_in_any_order", lambda *given: seen.append(given[2:5]) or math.inf)
    assert cheaper(problem, CONTEST, item, 1.02 * 233_568) is None
    assert 0 < len(seen) < 5
