"""The search: never above one operator per subgraph, always legal, the same plan from the same seed."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
from tests.reference.tensor_alone import one_operator_per_subgraph
from tests.samples import samples
from tests.tensor.annealed import improve
from tests.tensor.contest_family import contest_problem
from tests.tensor.random_plans import random_problem

from shorthaul.core.errors import InfeasibleError, NoPlanError
from shorthaul.core.search import Search
from shorthaul.tensor.bounds.best import lower_bound
from shorthaul.tensor.check.replay import replay
from shorthaul.tensor.model import CONTEST, RULES, SPEC, Machine
from shorthaul.tensor.plan import Plan
from shorthaul.tensor.search.driver import begin, plan_and_bound
from shorthaul.tensor.search.move_kernels import run
from shorthaul.tensor.search.schedules import Schedules
from shorthaul.tensor.workloads.cases import GraphBuilder

#: A temperature at which every move is taken that leads to a plan.
HOT = 1e12


def walked(schedules, moves):
    """Make one move that leads to another plan; return the sequence it leads to."""
    accepted = moves.accepted
    while moves.accepted == accepted:
        schedules.settle(moves, run(moves, 1, HOT))
    return tuple(tuple(schedules.groups.members.get(group)) for group, _ in schedules.sequences.steps())


@pytest.mark.costly
@pytest.mark.parametrize("name", RULES)
def test_every_sequence_is_a_legal_plan_of_the_latency_claimed(name):
    """Random walks through the search's moves; wherever the search sees a plan, the replay sees the same plan."""
    rules = RULES[name]
    seen = retained = recomputed = 0
    for seed in samples(80):
        problem = random_problem(np.random.default_rng(seed), operators=8)
        schedules, other = Schedules(problem, rules), Schedules(problem, rules)
        moves = schedules.begin(tuple((operator,) for operator in problem.topological_order), seed)
        if moves is None or len(problem.operators) < 3:
            continue
        for _ in range(10):
            sequence = walked(schedules, moves)
            # What is evaluated from change to change is what a whole evaluation finds, and what the replay finds.
            assert schedules.sequences.total == pytest.approx(other.solution(sequence).latency, rel=1e-9)
            plan = other.plan(sequence)
            checked = replay(problem, plan, rules)
            assert not checked.violations
            assert not checked.remarks
            assert checked.cost["latency"] == pytest.approx(schedules.sequences.total, rel=1e-9)
            seen += 1
            retained += any(subgraph.retained for subgraph in plan.subgraphs)
            recomputed += sum(len(group) for group in sequence) > len(problem.operators)
    assert seen > 70
    assert retained > 10
    assert recomputed > 4


@pytest.mark.costly
@pytest.mark.parametrize("name", RULES)
def test_search_is_legal_and_not_above_one_operator_per_subgraph(name):
    rules = RULES[name]
    for seed in samples(40):
        problem = random_problem(np.random.default_rng(seed), operators=6)
        try:
            alone = replay(problem, one_operator_per_subgraph(problem, rules), rules).cost["latency"]
        except (InfeasibleError, NoPlanError):
            continue
        found = replay(problem, improve(problem, rules, Search(effort=0.2, workers=1)), rules)
        assert not found.violations
        assert lower_bound(problem, rules).value * (1 - 1e-9) <= found.cost["latency"] <= alone * (1 + 1e-9)


def in_written_order(problem, plan):
    """Return the plan with raster orders written out, as without them `spec` flushes fast memory between tiles."""
    subgraphs = []
    for subgraph in plan.subgraphs:
        made = {problem.operators[index].output for index in subgraph.operators}
        taken = {tensor for index in subgraph.operators for tensor in problem.operators[index].inputs}
        shape, size = problem.tensors[min(made - taken)], subgraph.granularity
        tiles = -(-shape.height // size.h) * -(-shape.width // size.w)
        subgraphs.append(replace(subgraph, traversal=subgraph.traversal or tuple(range(tiles))))
    return Plan(tuple(subgraphs))


def squares():
    """Nine operators on 2 x 2 matrices, of which fast memory holds two: what is made twice decides."""
    graph = GraphBuilder()
    first = graph.tensor(2, 2)
    made = graph.matmul(graph.matmul(first, first, 0), first, 1)
    tensor = graph.matmul(made, made, 40)
    before = graph.matmul(tensor, graph.tensor(2, 2), 200)
    tensor = graph.matmul(before, graph.tensor(2, 2), 200)
    both = graph.pointwise((tensor, before), 1)
    last = graph.pointwise((graph.matmul(both, both, 200), tensor), 1)
    graph.matmul(last, made, 0)
    return replace(graph.problem(10, 0.7), machine=Machine(10, 0.7, 5, 3))


@pytest.mark.parametrize("effort", [0.05, pytest.param(0.3, marks=pytest.mark.slow)])
def test_freer_rules_are_never_dearer(effort):
    """A plan of the contest is one of `spec`: so are its groups, and the search finds nothing worse.

    Of 21 and 51 (103 operators) operators alone are so cheap under `spec` that fusing two of them does not pay; in 212
    (152) the best tile is as many whole native tiles as fit, which do not cut the axis evenly. 34 (128) has a first
    annealing that gets further under the contest's rules.
    """
    large = (21, 212, 34, 51)[: len(samples(8))] if effort < 0.2 else ()
    small = [contest_problem(seed) for seed in (*samples(8), *(2000 + n for n in samples(8)), *large)]
    made = [random_problem(np.random.default_rng(seed), operators=10) for seed in samples(24)]
    compared = 0
    for problem in (*small, *made):
        try:
            capped = improve(problem, CONTEST, Search(effort=effort, workers=1))
        except (InfeasibleError, NoPlanError):
            continue
        allowed = replay(problem, in_written_order(problem, capped), SPEC)
        assert not allowed.violations
        most = allowed.cost["latency"] * (1 + 1e-9)
        groups = tuple(tuple(sorted(subgraph.operators)) for subgraph in capped.subgraphs)
        assert Schedules(problem, SPEC).solution(groups).latency <= most
        found = replay(problem, improve(problem, SPEC, Search(effort=effort, workers=1)), SPEC)
        assert found.cost["latency"] <= most
        compared += 1
    assert compared == len((*small, *made))


def test_graphs_without_windows_are_searched_under_the_contests_rules_too():
    problem = squares()
    capped, freer = (improve(problem, rules, Search(effort=0.3, workers=1)) for rules in (CONTEST, SPEC))
    latency = replay(problem, in_written_order(problem, capped), SPEC).cost["latency"]
    assert replay(problem, freer, SPEC).cost["latency"] <= latency


@pytest.mark.slow
def test_windows_solved_under_the_contests_rules_serve_freer_ones():
    """103 operators of which windows under the contest's rules make far better plans than annealing."""
    problem = contest_problem(111)
    capped = improve(problem, CONTEST, Search(effort=2, workers=1))
    found = replay(problem, improve(problem, SPEC, Search(effort=2, workers=1)), SPEC)
    assert found.cost["latency"] <= replay(problem, in_written_order(problem, capped), SPEC).cost["latency"]


def test_same_seed_same_plan_on_one_process_and_on_two():
    problem = random_problem(np.random.default_rng(5), operators=8)
    plans = [improve(problem, CONTEST, Search(effort=1, seed=3, workers=workers)) for workers in (1, 2, 1)]
    assert plans[0] == plans[1] == plans[2]


def test_nothing_fits():
    problem = random_problem(np.random.default_rng(0), operators=3)
    tiny = type(problem)(problem.tensors, problem.operators, type(problem.machine)(1.0, 1.0, 2, 2))
    with pytest.raises((InfeasibleError, NoPlanError)):
        plan_and_bound(tiny, SPEC, Search(workers=1), restarts=4)


def test_a_group_runs_again_where_its_output_may_stay_in_fast_memory():
    """Two products stream an operand in every tile; made again right before the second one, it is there for both."""
    graph = GraphBuilder()
    made = graph.pointwise((graph.tensor(128, 512),), base_cost=10)
    for _ in range(2):
        graph.matmul(made, graph.tensor(512, 2048), base_cost=10)
    problem = graph.problem(capacity=120_000, bandwidth=20)
    plan = improve(problem, CONTEST, Search(effort=0.2, workers=1))
    found = replay(problem, plan, CONTEST)
    assert not found.violations
    assert [subgraph.operators for subgraph in plan.subgraphs].count((0,)) == 2
    assert sum(bool(subgraph.retained) for subgraph in plan.subgraphs) == 2


def test_a_group_runs_twice_where_the_program_has_it_twice():
    """A product is made again from what its operand keeps, for the second of two groups that find it resident."""
    graph = GraphBuilder()
    one = graph.matmul(graph.pointwise((graph.tensor(4, 3),), base_cost=1), graph.tensor(3, 4), base_cost=1)
    graph.matmul(one, graph.tensor(4, 4), base_cost=9)
    graph.matmul(one, graph.pointwise((one, graph.tensor(4, 4)), base_cost=0), base_cost=0)
    problem = replace(graph.problem(capacity=32, bandwidth=0.25), machine=Machine(32, 0.25, 1, 1))
    plan, bound = plan_and_bound(problem, RULES["contest-loose"], Search(effort=0.5, workers=1), restarts=1)
    assert bound.value == pytest.approx(1120)
    assert replay(problem, plan, RULES["contest-loose"]).cost["latency"] == 1120


def test_what_was_stored_before_is_made_again_for_the_next_group_alone():
    """The first time an operand is stored for the last product, the second time it stays for the product behind it."""
    graph = GraphBuilder()
    made = graph.pointwise((graph.tensor(2, 2),), base_cost=1)
    product = graph.matmul(made, graph.tensor(2, 6), base_cost=2)
    graph.matmul(made, graph.matmul(product, graph.tensor(6, 3), base_cost=2), base_cost=20)
    problem = replace(graph.problem(capacity=24, bandwidth=0.25), machine=Machine(24, 0.25, 1, 1))
    plan, bound = plan_and_bound(problem, CONTEST, Search(effort=0.5, workers=1), restarts=1)
    found = replay(problem, plan, CONTEST)
    assert not found.violations
    assert [subgraph.retained for subgraph in plan.subgraphs if subgraph.operators == (0,)] == [(), (made,)]
    assert found.cost["latency"] == 336 == pytest.approx(bound.value)


def test_what_groups_take_in_turn_stays_in_fast_memory_and_is_never_stored():
    """Three products of different shapes take one tensor, which is kept from the first to the last of them."""
    graph = GraphBuilder()
    made = graph.pointwise((graph.tensor(64, 64),), base_cost=1)
    for width in (64, 32, 16):
        graph.matmul(made, graph.tensor(64, width), base_cost=1)
    problem = graph.problem(capacity=9_000, bandwidth=1)
    plan = improve(problem, SPEC, Search(effort=0.05, workers=1))
    found = replay(problem, plan, SPEC)
    assert not found.violations
    assert [subgraph.retained for subgraph in plan.subgraphs] == [(made,)] * (len(plan.subgraphs) - 1) + [()]
    assert found.cost["traffic"] == 64 * 64 + 2 * 64 * (64 + 32 + 16)


@pytest.mark.parametrize("is_taken_before", [False, True])
@pytest.mark.parametrize("is_made", [False, True])
def test_a_group_between_two_takers_holds_what_it_does_not_take(is_made, is_taken_before):
    """Loaded or made, a tensor stays in fast memory for the group after the next one; what is made is not stored."""
    graph = GraphBuilder()
    kept = graph.tensor(8, 8)
    if is_made:
        kept = graph.pointwise((kept,), base_cost=1)
    tensor = graph.pointwise((kept if is_taken_before else graph.tensor(8, 8),), base_cost=1)
    if is_taken_before:
        tensor = graph.pointwise((tensor,), base_cost=1)
    graph.pointwise((tensor, kept), base_cost=1)
    problem = replace(graph.problem(capacity=400, bandwidth=1), machine=Machine(400, 1, 4, 4))
    alone = tuple((operator,) for operator in range(len(problem.operators)))
    schedules = Schedules(problem, SPEC)
    assert schedules.solution(alone) is not None
    found = replay(problem, schedules.plan(alone), SPEC)
    assert not found.violations
    assert found.cost["traffic"] == 64 * (2 if is_taken_before else 3)


@pytest.mark.parametrize("name", RULES)
def test_operators_that_are_alike_share_an_execution(name):
    """What single operators cost is found once for all that are alike, in whatever they find in fast memory."""
    draw, shared = np.random.default_rng(7), 0
    for _ in range(12):
        problem = random_problem(draw, operators=9, sizes=(8, 16, 16))
        schedules = Schedules(problem, RULES[name])
        for operator, one in enumerate(problem.operators):
            tensors = np.arange(len(problem.tensors))
            for _ in range(3):
                resident = tuple(draw.choice(tensors, size=draw.integers(3), replace=False).tolist())
                retained = tuple(
                    {*resident[:1], one.output, *one.inputs[: draw.integers(2)]} if draw.random() < 0.5 else ()
                )
                met = len(schedules._alone)
                found = schedules._execute(frozenset([operator]), resident, retained, ())
                shared += len(schedules._alone) == met
                assert found == schedules._priced(frozenset([operator]), resident, retained, ())
    assert shared > 10


def test_a_late_search_of_many_operators_keeps_the_plan_that_it_has_priced():
    graph = GraphBuilder()
    tensor = graph.tensor(64, 64)
    for _ in range(301):
        tensor = graph.pointwise((tensor,), 10)
    problem = graph.problem(20_000, 10)
    late = Search(time_limit=1, started=time.monotonic() - 9)
    begun = begin(problem, SPEC, late)
    assert begun.best is begun.alone
    assert begun.schedules.plan(begun.best.sequence) == Schedules(problem, SPEC).plan(begun.best.sequence)
