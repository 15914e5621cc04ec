"""The search for granularities: more freedom never costs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shorthaul.tensor.cost_model.exhaustion import Floor
from shorthaul.tensor.cost_model.granularity import Granularities
from shorthaul.tensor.cost_model.profile import profile_of
from shorthaul.tensor.model import CONTEST, SPEC, Machine
from shorthaul.tensor.plan import Granularity
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


def test_a_clipped_tile_first_makes_the_longest_the_best():
    """Tiles of 3 and 2 columns take 12.25, and 13.75 from the left; of 4 and 1 columns 10.75, and 15.25 from the left."""
    graph = GraphBuilder()
    row = graph.tensor(1, 5)
    one = graph.matmul(row, graph.tensor(5, 1), base_cost=5)
    outputs = graph.matmul(one, row, base_cost=0), graph.matmul(one, row, base_cost=3)
    problem = replace(graph.problem(capacity=22, bandwidth=2), machine=Machine(22, 2, 4, 1))
    found = Granularities(problem.machine, CONTEST).best(profile_of(problem, {0, 1, 2}, outputs, (), ()))
    assert (found.latency, found.granularity) == (10.75, Granularity(4, 1, 1))


def test_steps_are_as_long_as_whole_tiles_leave_room_for():
    """Whole native tiles take steps of at most 109, which cut 512 into five: 96 rows in steps of 128 took 15 % more."""
    graph = GraphBuilder()
    tensor = graph.tensor(1024, 256)
    for width, reduction in ((512, 256), (512, 512), (128, 512)):
        tensor = graph.matmul(tensor, graph.tensor(reduction, width), 1000)
    problem = graph.problem(250_000, 25)
    profile = profile_of(problem, {0, 1, 2}, [tensor], (), ())
    found = Granularities(problem.machine, CONTEST).best(profile)
    assert found.granularity == Granularity(128, 128, 103)
    floor = Floor(profile, problem.machine, CONTEST, found.latency)
    while not floor.is_final:
        floor.raise_it()
    assert floor.value == pytest.approx(found.latency, rel=1e-9)
