"""The figures of a report: right numbers, few points, and no surprises on odd plans."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.reference.tensor_alone import one_operator_per_subgraph

import shorthaul
from shorthaul.core.figure import Bars, Network, Series, Table, figure_document, figure_from_document
from shorthaul.tensor.check.replay import replay
from shorthaul.tensor.model import CONTEST, SPEC
from shorthaul.tensor.plan import Granularity, Plan, Subgraph
from shorthaul.tensor.views import figures
from shorthaul.tensor.workloads.cases import CASES, example_3, example_5


def shown(problem, *subgraphs, rules=SPEC):
    plan = Plan(subgraphs)
    return figures(problem, plan, replay(problem, plan, rules))


def test_the_timeline_of_the_paper_s_hybrid_strategy():
    size = Granularity(128, 128, 1)
    graph, timeline, busy, memory, table = shown(
        example_3(), Subgraph((0,), size, retained=(1,)), Subgraph((1, 2), size)
    )
    assert isinstance(graph, Network)
    assert isinstance(timeline, Bars)
    assert isinstance(busy, Series)
    assert isinstance(table, Table)
    assert {node.id: node.group for node in graph.nodes if node.shape == "square"} == {
        "o0": "subgraph 0",
        "o1": "subgraph 1",
        "o2": "subgraph 1",
    }
    assert ("t0", "o0") in graph.edges
    assert ("o1", "o2") in graph.edges
    lanes = [(bar.lane, bar.start, bar.stop) for bar in timeline.bars]
    assert lanes[3:] == [
        ("subgraph", 1638.4, 4638.4),
        ("compute", 1638.4, 4638.4),
        ("memory", 1638.4, pytest.approx(1638.4 + 1638.4)),
    ]
    assert busy.lines[0].y == (0.9155, 1.0, 1.0)
    assert busy.lines[1].y == (1.0, 0.5461, 0.5461)
    assert memory.limit == ("capacity", 50_000)
    assert memory.lines[0].y == (32768, 32768, 32768)
    assert table.rows[0][:8] == (0, "0", "128×128×1", 1, 1, "default", "-", "1")


def test_recomputation_is_told():
    size = Granularity(128, 128, 1)
    graph, *_ = shown(example_3(), Subgraph((0, 1), size, retained=(2,)), Subgraph((0, 2), size))
    (node,) = (node for node in graph.nodes if node.id == "o0")
    assert "subgraph 0, computed again in 1" in node.hover


def test_a_plan_that_cannot_be_replayed_has_graph_and_table():
    kinds = [type(figure) for figure in shown(example_5(), Subgraph((0, 1), Granularity(0, 128, 1)))]
    assert kinds == [Network, Table]
    assert [type(figure) for figure in shown(example_5())] == [Network, Table]


def test_long_plans_make_few_points():
    (case,) = (case for case in CASES if case.name == "mlp-chain")
    problem = case.build(batch=512, width=256, hidden=512, layers=2, capacity=100_000, bandwidth=50)
    plan = one_operator_per_subgraph(problem, CONTEST)
    small = tuple(replace(subgraph, granularity=Granularity(32, 32, 2), traversal=None) for subgraph in plan.subgraphs)
    made = shown(problem, *small, rules=CONTEST)
    for figure in made:
        if isinstance(figure, Series):
            assert all(len(line.x) == 401 for line in figure.lines)
            assert all(0 <= value <= max(1, problem.machine.capacity) for line in figure.lines for value in line.y)


def test_the_timeline_has_every_subgraph():
    (case,) = (case for case in CASES if case.name == "transformer-block")
    problem = case.build(**{name: parameter.default for name, parameter in case.parameters.items()} | {"layers": 7})
    plan = one_operator_per_subgraph(problem, CONTEST)
    (timeline,) = (figure for figure in shown(problem, *plan.subgraphs, rules=CONTEST) if isinstance(figure, Bars))
    assert len(timeline.bars) == 3 * len(problem.operators) == 3 * 238


def test_figures_come_back_from_their_documents():
    found = shorthaul.tensor.plan(example_3())
    for figure in found.figures:
        assert figure_from_document(figure_document(figure)) == figure


def test_a_problem_shows_itself_in_a_notebook():
    shown = example_5()._repr_html_()
    assert "<td>2 (2 MatMul)</td>" in shown
    assert "<th>inputs and outputs</th><td>3 and 1</td>" in shown
    assert "<th>fast memory</th><td>45,000</td>" in shown
