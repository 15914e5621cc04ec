"""The search for granularities: more freedom never costs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shorthaul.tensor.cost_model.granularity import Granularities
from shorthaul.tensor.cost_model.profile import profile_of
from shorthaul.tensor.model import CONTEST, SPEC, Machine
from shorthaul.tensor.workloads.cases import GraphBuilder


@pytest.mark.parametrize(("height", "width"), [(2048, 512), (512, 512), (3000, 700)])
def test_tiles_of_any_size_cost_no_more_than_native_ones(height, width):
    """Small fast memories want short tiles, of which few were tried where long ones are allowed: 1.9 % more."""
    graph = GraphBuilder()
    output = graph.matmul(graph.tensor(height, 1), graph.tensor(1, width), 2000)
    problem = replace(graph.problem(1, 1), machine=Machine(384, 2, 128, 48))
    profile = profile_of(problem, frozenset([0]), [output], frozenset(), frozenset())
    found = [Granularities(problem.machine, rules).best(profile) for rules in (SPEC, CONTEST)]
    assert found[0].latency <= found[1].latency
