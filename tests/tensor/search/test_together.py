"""Plans where some operator does not fit into fast memory alone, only beside what makes its input."""

from __future__ import annotations

import pytest
from tests.reference.tensor_exhaustive import best_latency

import shorthaul.tensor
from shorthaul.core.errors import InfeasibleError, NoPlanError
from shorthaul.core.search import Search
from shorthaul.tensor import tuning
from shorthaul.tensor.check.replay import replay
from shorthaul.tensor.model import CONTEST
from shorthaul.tensor.plan import Granularity, Plan, Subgraph
from shorthaul.tensor.search import driver
from shorthaul.tensor.workloads.cases import GraphBuilder


def sums(capacity, number=3):
    """Return sums of two tensors and of the sum before, each of which takes three elements at least."""
    graph = GraphBuilder()
    one, other = graph.tensor(1, 2), graph.tensor(1, 2)
    last = graph.pointwise((one, other), 1)
    for _ in range(number - 1):
        last = graph.pointwise((one, other, last), 1)
    return graph.problem(capacity=capacity, bandwidth=1)


@pytest.mark.parametrize("rules", ["contest", "contest-loose", "spec"])
def test_it_is_found(rules):
    found = shorthaul.tensor.plan(sums(3, 2), rules=rules, effort=0.2, workers=1)
    assert found.cost["latency"] == pytest.approx(best_latency(sums(3, 2), CONTEST, longest=2)) == 6


def test_it_is_found_where_many_do_not_fit():
    found = shorthaul.tensor.plan(sums(3, 12), rules="contest", effort=0.2, workers=1)
    assert found.status == "optimal"
    assert len(found.plan.subgraphs) == 1


def test_it_is_proven_that_there_is_none():
    """Whatever makes its inputs in the same group takes as much."""
    graph = GraphBuilder()
    graph.pointwise(tuple(graph.pointwise((graph.tensor(1, 1),), 1) for _ in range(3)), 1)
    with pytest.raises(InfeasibleError, match="at operator 3: fast memory: 4 needed, the limit is 3"):
        shorthaul.tensor.plan(graph.problem(capacity=3, bandwidth=1), rules="contest", effort=0.1, workers=1)


def test_inputs_that_are_made_of_one_tensor_need_room_for_one():
    """All three copies are made in the group that adds them up."""
    graph = GraphBuilder()
    shared = graph.tensor(1, 1)
    graph.pointwise(tuple(graph.pointwise((shared,), 1) for _ in range(3)), 1)
    found = shorthaul.tensor.plan(graph.problem(capacity=2, bandwidth=1), rules="contest", effort=0.1, workers=1)
    assert found.status == "optimal"
    with pytest.raises(InfeasibleError, match="at operator 0: fast memory: 2 needed, the limit is 1"):
        shorthaul.tensor.plan(graph.problem(capacity=1, bandwidth=1), rules="contest", effort=0.1, workers=1)


def test_it_is_proven_of_many_operators():
    """More than are planned in stretches, which have to fit."""
    graph = GraphBuilder()
    last = graph.tensor(2, 2)
    for _ in range(tuning.MANY_OPERATORS + 1):
        last = graph.matmul(last, graph.tensor(2, 2), 1)
    with pytest.raises(InfeasibleError, match="at operator 0: fast memory: 3 needed, the limit is 2"):
        shorthaul.tensor.plan(graph.problem(capacity=2, bandwidth=1), rules="contest", effort=0.1, workers=1)


@pytest.mark.parametrize("rules", ["contest", "contest-loose", "spec"])
def test_a_product_needs_elements_of_a_row_and_a_column(rules):
    """Both operands are made of the same tensor in the same group: of that two elements are held at once."""
    graph = GraphBuilder()
    shared = graph.tensor(2, 2)
    graph.matmul(graph.pointwise((shared,), 1), graph.pointwise((shared,), 1), 1)
    with pytest.raises(InfeasibleError, match="at operator 2: fast memory: 3 needed, the limit is 2"):
        shorthaul.tensor.plan(graph.problem(capacity=2, bandwidth=1), rules=rules, effort=0.1, workers=1)


def test_products_that_are_done_need_no_room_at_the_last_step():
    """Four products of one step each are held by nothing when the others are loaded: 8 elements are enough for all."""
    graph = GraphBuilder()
    short = [graph.matmul(tensor, tensor, 1) for tensor in (graph.tensor(1, 1) for _ in range(4))]
    graph.pointwise((*short, *(graph.tensor(1, 1) for _ in range(4))), 1)
    graph.pointwise((short[0], graph.matmul(graph.tensor(1, 9), graph.tensor(9, 1), 1)), 1)
    problem = graph.problem(capacity=8, bandwidth=1)
    together = Plan((Subgraph(tuple(range(7)), Granularity(1, 1, 1)),))
    assert not replay(problem, together, CONTEST).violations
    with pytest.raises(NoPlanError):
        driver._refuse(problem, CONTEST, Search())
