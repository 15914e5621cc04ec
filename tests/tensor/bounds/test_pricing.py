"""Columns that pricing finds, on graphs of more groups than can be enumerated, and bounds that stop early."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from benchmarks.tensor_moves import random_graph
from tests.samples import samples
from tests.tensor.bounds.programs import column_prices
from tests.tensor.bounds.test_bound import starved
from tests.tensor.contest_family import contest_problem
from tests.tensor.random_plans import random_plan, random_problem

from shorthaul.core.search import Search
from shorthaul.tensor.bounds import columns, completions
from shorthaul.tensor.bounds.best import lower_bound, prove
from shorthaul.tensor.bounds.columns import Program
from shorthaul.tensor.bounds.fronts import narrow_order
from shorthaul.tensor.bounds.groups import diagram
from shorthaul.tensor.bounds.groups.diagram import Diagram
from shorthaul.tensor.bounds.pricing import Column
from shorthaul.tensor.check import certificate
from shorthaul.tensor.check.certificate import certificate_of, verify
from shorthaul.tensor.check.replay import replay
from shorthaul.tensor.cost_model import cost_kernels, exhaustion_kernels, order_kernels
from shorthaul.tensor.cost_model.cost import kernel_arguments
from shorthaul.tensor.cost_model.exhaustion import Floor
from shorthaul.tensor.cost_model.granularity import Granularities
from shorthaul.tensor.cost_model.profile import profile_of
from shorthaul.tensor.model import CONTEST, CONTEST_LOOSE, Tensor
from shorthaul.tensor.search.driver import begin
from shorthaul.tensor.workloads.cases import GraphBuilder


def residual(blocks):
    """Two-layer perceptrons, each added to what came before: 2^blocks groups at least."""
    graph = GraphBuilder()
    tensor = graph.tensor(256, 256)
    for _ in range(blocks):
        hidden = graph.pointwise((graph.matmul(tensor, graph.tensor(256, 512), 1000),), 100)
        tensor = graph.pointwise((graph.matmul(hidden, graph.tensor(512, 256), 1000), tensor), 100)
    return graph.problem(60_000, 5)


def test_a_graph_of_more_groups_than_can_be_enumerated():
    problem = residual(16)
    search = Search(effort=2)
    program = Program(problem, CONTEST, search)
    assert program.diagram.is_complete
    assert program.diagram.nodes < 500
    prices = program.solve(search)
    assert prices is not None
    assert prices.value > 1.06 * lower_bound(problem, CONTEST).value
    document = {"value": prices.value, "certificate": prices.document()}
    assert verify(problem, CONTEST, certificate_of(problem, document, "bound")) == []
    document["value"] *= 1.01
    for row in document["certificate"]["cover"] + document["certificate"]["link"]:
        row[-1] *= 1.01
    assert verify(problem, CONTEST, certificate_of(problem, document, "bound"))


def test_the_integer_program_finds_a_plan_as_good_as_the_bound():
    """From the columns alone, no search: on most small problems its groups take no longer than the bound."""
    met = tried = 0
    for seed in range(60, 90):
        problem = starved(seed, 6)
        begun = begin(problem, CONTEST, Search(effort=0.01))
        if begun is None or len(problem.operators) < 3:
            continue
        alone = begun.schedules.plan(begun.alone.sequence)
        bound, groups, _ = prove(problem, CONTEST, Search(effort=3), alone, begun.alone.latency)
        if groups is None:
            assert bound.is_met_by(begun.alone.latency)
            continue
        found = begun._replace(best=begun.alone).with_groups(groups)
        assert found.best.latency >= bound.value * (1 - 1e-9)
        tried += 1
        met += bound.is_met_by(found.best.latency)
    assert tried > 2
    assert met > tried / 3


@pytest.mark.costly
@pytest.mark.parametrize("effort", [0.02, 0.1, 0.3])
def test_what_is_stated_early_is_true_and_verified(effort):
    stated = 0
    for seed in range(30, 36):
        problem = starved(seed, 7)
        whole = column_prices(problem, CONTEST, Search(effort=5))
        early = column_prices(problem, CONTEST, Search(effort=effort))
        assert whole is not None
        assert early is None or early.value <= whole.value * (1 + 1e-9)
        if early is not None and early.value:
            document = {"value": early.value, "certificate": early.document()}
            assert verify(problem, CONTEST, certificate_of(problem, document, "bound")) == []
            stated += 1
    assert stated > 2


def least_latency(problem, rules, column):
    """Return the least latency of a column, by exhaustion."""
    produced = {problem.operators[index].output for index in column.inside}
    consumed = {tensor for index in column.inside for tensor in problem.operators[index].inputs}
    outputs = sorted((produced - consumed) | column.retained)
    floor = Floor(profile_of(problem, column.inside, outputs, column.resident, column.retained), problem.machine, rules)
    while not floor.is_final:
        floor.raise_it()
    return floor.value


def test_tiles_are_bounded_together_by_no_more_than_each_alone():
    """Groups of random plans, stretched so that there are several blocks of tiles; the floor in the end is the same."""
    seen = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        small = random_problem(rng, operators=6)
        machine = replace(small.machine, capacity=20 * small.machine.capacity, native_width=24, native_height=20)
        problem = replace(
            small, tensors=tuple(Tensor(5 * t.width, 5 * t.height) for t in small.tensors), machine=machine
        )
        plan = random_plan(rng, small, CONTEST)
        for subgraph, state in zip(plan.subgraphs, replay(small, plan, CONTEST).subgraphs, strict=True):
            if state is None:
                continue
            profile = profile_of(problem, subgraph.operators, state.outputs, state.resident, state.retained)
            costs = cost_kernels.Costs(*kernel_arguments(profile, machine))
            orders = order_kernels.Orders(costs, *profile.mixed_axes)
            work = exhaustion_kernels.Exhaustion(costs, orders, np.array([24, 0, 0]), np.inf)
            alone, together = np.empty(30), np.empty(30)
            boxes = np.sort([rng.integers(1, (25, 21), (30, 2)).T for _ in range(2)], axis=0).transpose(2, 1, 0)
            exhaustion_kernels.bound_boxes(work, np.ascontiguousarray(boxes).reshape(30, 4), together)
            for corner in np.ndindex(2, 2):
                ones = np.stack([boxes[:, axis, corner[axis]] for axis in (0, 0, 1, 1)], axis=1)
                exhaustion_kernels.bound_boxes(work, np.ascontiguousarray(ones), alone)
                assert (together <= alone * (1 + 1e-12)).all()
            best = Granularities(machine, CONTEST).best(profile)
            if best is not None:
                floors = [Floor(profile, machine, CONTEST, limit) for limit in (np.inf, best.latency)]
                for floor in floors:
                    while not floor.is_final:
                        floor.raise_it()
                least = min(best.latency, floors[0].value)
                assert floors[1].value == pytest.approx(least, rel=1e-9)
                seen += 1
    assert seen > 10


def every_column(program):
    """Return every group that the diagram holds, one of each profile."""
    program.pricing.nothing = -np.inf
    found, is_complete = program.pricing.favoured(
        np.zeros(program.diagram.rows.number), Search(), width=10**6, most=10**6
    )
    assert is_complete
    program.pricing.nothing = 0.0
    return [(item.profile, program.pricing.column(item)) for item in found]


def test_narrow_orders_have_few_nodes():
    """Random graphs of 24 operators: consumers come before producers, and diagrams are smaller than in other orders."""
    nodes, others = 0, 0
    for seed in range(3, 7):
        problem = random_graph(seed, 24)
        order = narrow_order(problem, Search())
        place = {operator: number for number, operator in enumerate(order)}
        assert sorted(order) == list(range(24))
        assert all(
            place[user] < place[index]
            for index, operator in enumerate(problem.operators)
            for user in problem.consumers[operator.output]
        )
        nodes += Diagram(problem, CONTEST, Search(), 20_000).met
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(diagram, "narrow_order", lambda problem, _: list(reversed(problem.topological_order)))
            others += Diagram(problem, CONTEST, Search(), 20_000).met
    assert 6 * nodes < 5 * others


def test_no_group_worth_more_than_it_takes_is_missed_box_by_box():
    """Each column in turn is worth a little more than it takes, at most 1 %, in a memory that some hardly fit into."""
    seen = 0
    for seed in range(16):
        rng = np.random.default_rng(seed)
        problem = starved(seed, 5)
        machine = replace(problem.machine, capacity=float(rng.integers(8, 60)))
        program = Program(replace(problem, machine=machine), CONTEST, Search())
        if not program.diagram.is_complete:
            continue
        for profile, column in every_column(program):
            latency = least_latency(program.problem, CONTEST, column)
            rows = [row for row, sign in zip(column.rows, column.signs, strict=True) if sign > 0]
            taken = {row for row, sign in zip(column.rows, column.signs, strict=True) if sign < 0}
            if not np.isfinite(latency) or latency <= 0 or taken & {*rows}:
                continue
            duals = np.zeros(program.diagram.rows.number)
            for row in rows:
                duals[row] += rng.uniform(1, 1.01) * latency / len(rows)
            found, is_complete = program.pricing.favoured_by_box(duals, Search(), width=10**6, most=10**6)
            assert is_complete
            worths = [item.worth for item in found if item.profile == profile]
            assert max(worths, default=0.0) >= duals[rows].sum() * (1 - 1e-12)
            seen += 1
    assert seen > 40


@pytest.mark.costly
@pytest.mark.parametrize("rules", [CONTEST, CONTEST_LOOSE], ids=lambda rules: rules.name)
def test_prices_found_box_by_box_are_as_high_and_verified(rules, monkeypatch):
    """With one group going on at each node, all pricing that proves is done box by box, by the search and the check."""
    tried = 0
    for seed in range(8):
        problem = starved(seed, 6)
        expected = column_prices(problem, rules, Search(effort=5))
        with monkeypatch.context() as patch:
            patch.setattr(columns, "_WIDTHS", ((1, False), *columns._WIDTHS[1:]))
            patch.setattr(certificate, "_MANY_GROUPS", 0)
            prices = column_prices(problem, rules, Search(effort=5))
            assert (prices is None) == (expected is None)
            if prices is None or not prices.value:
                continue
            assert prices.value == pytest.approx(expected.value, rel=1e-6)
            given = certificate_of(problem, {"value": prices.value, "certificate": prices.document()}, "bound")
            assert verify(problem, rules, given) == []
            tried += 1
    assert tried > 4


@pytest.mark.parametrize("rules", [CONTEST, CONTEST_LOOSE], ids=lambda rules: rules.name)
def test_what_pieces_add_up_to_is_no_more_than_the_latency(rules):
    """Without prices every group is found; what its pieces take at least lies below its proven least latency."""
    seen = 0
    for seed in samples(80):
        problem = starved(seed, 5)
        program = Program(problem, rules, Search())
        for profile, column in every_column(program):
            assert program.pricing.least(profile) <= least_latency(problem, rules, column) * (1 + 1e-9)
            seen += 1
    assert seen > 3 * len(samples(80))


@pytest.mark.parametrize(
    ("problem", "dual"),
    [(starved(4, 6), 1000.0), pytest.param(starved(39, 9), 10_000.0, id="single groups of several layers meet")],
)
def test_boxes_one_at_a_time_find_what_all_at_once_find(problem, dual, monkeypatch):
    """As in diagrams so large that the potentials of one box are held at once."""
    program = Program(problem, CONTEST, Search())
    duals = np.full(program.diagram.rows.number, dual)
    together = program.pricing.favoured_by_box(duals, Search(), width=10**6, most=10**6)[0]
    monkeypatch.setattr(completions, "_MOST_POTENTIALS", 1)
    program.pricing._by_box = None
    alone = program.pricing.favoured_by_box(duals, Search(), width=10**6, most=10**6)[0]
    assert together
    assert {(item.profile, item.worth) for item in alone} == {(item.profile, item.worth) for item in together}


def test_slices_that_may_coincide_are_held_nevertheless():
    """Attention whose keys and values share an operand: no granularity has the other operand whole in fast memory."""
    problem = contest_problem(2000)
    head = Column(frozenset(range(5)), frozenset(), frozenset({3, 5}), (), ())
    assert least_latency(problem, CONTEST, head) == np.inf
    prices = column_prices(problem, CONTEST, Search(effort=2))
    assert prices.value == pytest.approx(187_700.8)
    given = certificate_of(problem, {"value": prices.value, "certificate": prices.document()}, "bound")
    assert verify(problem, CONTEST, given) == []


def test_no_shorter_step_takes_less_than_one_that_cuts_all_reductions_evenly():
    """Sums of products of several reductions, in one group; every granularity alone, and the floor of all."""
    tight = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        graph = GraphBuilder()
        height, width = map(int, rng.integers(5, 20, 2))
        total = None
        for reduction in map(int, rng.choice((4, 8, 60, 100, 160), 3)):
            made = graph.matmul(graph.tensor(height, reduction), graph.tensor(reduction, width), int(rng.integers(200)))
            total = made if total is None else graph.pointwise((total, made), int(rng.integers(20)))
        problem = graph.problem(int(rng.integers(300, 900)), float(rng.choice((0.5, 2.0, 8.0))))
        machine = replace(problem.machine, native_width=int(rng.integers(4, 9)), native_height=int(rng.integers(4, 9)))
        profile = profile_of(problem, range(5), [problem.operators[4].output], [], [])
        costs = cost_kernels.Costs(*kernel_arguments(profile, machine))
        orders, even = order_kernels.Orders(costs, False, False), 4
        for w, h in product(range(1, machine.native_width + 1), range(1, machine.native_height + 1)):
            work = exhaustion_kernels.Exhaustion(costs, orders, np.array([even, 0, 0]), 0.0)
            assert exhaustion_kernels.exhaust(work, np.array([[w, h]]), np.array([-1.0]), 1) == 1
            assert work.done == 1, "the longest step that cuts all evenly, and none below it"
            least = work.floor
            floors = [order_kernels.floor(costs, w, h, k) for k in range(1, even)]
            assert min(floors) >= least * (1 - 1e-12)
            tight += min(floors) < 1.02 * least
    assert tight > 20
