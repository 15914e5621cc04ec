"""Bounds of graphs whose groups are cut into parts: below every plan, with certificates that hold, or are found out."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
from tests.samples import samples
from tests.tensor.annealed import improve
from tests.tensor.bounds.test_bound import starved
from tests.tensor.contest_family import contest_problem
from tests.tensor_hunt import accepts

import shorthaul
from shorthaul.core.errors import InputError
from shorthaul.core.search import Search
from shorthaul.tensor.bounds import columns
from shorthaul.tensor.bounds.best import lower_bound, prove
from shorthaul.tensor.bounds.columns import Program
from shorthaul.tensor.bounds.fronts import fronts, narrow_order
from shorthaul.tensor.bounds.groups import diagram
from shorthaul.tensor.bounds.groups.regions import Link, Sharing, cut_links, links_of, sharing
from shorthaul.tensor.bounds.parts import part_prices
from shorthaul.tensor.check.certificate import certificate_of, verify
from shorthaul.tensor.cost_model.profile import TILE
from shorthaul.tensor.model import CONTEST, CONTEST_LOOSE, Machine
from shorthaul.tensor.workloads.cases import GraphBuilder


def latency(problem, rules):
    return shorthaul.tensor.check(problem, improve(problem, rules, Search(effort=0.1)), rules=rules.name).cost[
        "latency"
    ]


def in_parts(problem, rules, cuts):
    return Program(problem, rules, Search(effort=2), cuts=cuts).solve(Search(effort=2))


@pytest.mark.costly
@pytest.mark.parametrize("rules", [CONTEST, CONTEST_LOOSE], ids=lambda rules: rules.name)
def test_no_plan_beats_parts_and_their_certificates_hold(rules):
    near = 0
    for seed in samples(40):
        problem = starved(seed, 6)
        cuts = frozenset((link.operator, link.tensor) for link in links_of(problem, rules))
        if not cuts:
            continue
        prices = in_parts(problem, rules, cuts)
        best = latency(problem, rules)
        assert prices.value <= best * (1 + 1e-9), seed
        assert accepts(problem, rules, prices), seed
        # Raised above a plan they cannot hold.
        assert not accepts(problem, rules, prices, 1.02 * best / prices.value), seed
        near += prices.value > 0.9 * best
    assert near > len(samples(40)) / 5


def test_a_price_of_slices_taken_is_paid_by_who_takes_them():
    """Two operators that the group has to make together: raising what one pays the other is found out."""
    graph = GraphBuilder()
    hidden = graph.pointwise((graph.tensor(512, 512),), 100)
    graph.pointwise((hidden,), 100)
    problem = graph.problem(30_000, 10)
    prices = in_parts(problem, CONTEST, frozenset({(1, hidden)}))
    document = {"value": prices.value, "certificate": prices.document()}
    assert verify(problem, CONTEST, certificate_of(problem, document, "bound")) == []
    assert prices.value == pytest.approx(latency(problem, CONTEST))
    for row in range(len(document["certificate"]["taking"])):
        for factor in (0.9, 1.1):
            wrong = copy.deepcopy(document)
            wrong["certificate"]["taking"][row][-1] *= factor
            assert [each.rule for each in verify(problem, CONTEST, certificate_of(problem, wrong, "bound"))] == [
                "certificate-part"
            ]


def test_a_graph_too_wide_gets_a_bound_by_parts(monkeypatch, tmp_path):
    problem = contest_problem(5)
    quick = lower_bound(problem, CONTEST).value
    monkeypatch.setattr(columns, "MOST_NODES", 60)
    found = shorthaul.tensor.bound(problem, rules="contest", effort=0.5)
    assert found.bound.value > quick
    assert found.bound.details["certificate"]["cuts"]
    found.save(tmp_path / "bound.json")
    checked = shorthaul.tensor.check(problem, rules="contest", bound=tmp_path / "bound.json")
    assert checked.check.ok
    assert checked.bound.value == pytest.approx(found.bound.value)


def test_little_effort_is_not_lost_on_a_diagram_that_is_far_too_wide():
    problem = contest_problem(8717)
    found = prove(problem, CONTEST, Search(effort=0.4))
    assert found.program is None
    assert found.bound.details["certificate"]["cuts"]
    assert found.bound.value > 1.2 * lower_bound(problem, CONTEST).value
    order = narrow_order(problem, Search())
    assert fronts(problem, order) > 1e9
    assert fronts(problem, [*reversed(problem.topological_order)]) >= fronts(problem, order)


def test_regions_are_small_and_matmuls_are_cut_from_matmuls():
    problem = contest_problem(5)
    operators = problem.operators
    order = [*reversed(problem.topological_order)]
    every = {(link.operator, link.tensor) for link in links_of(problem, CONTEST)}
    assert cut_links(problem, CONTEST, order, 1) == every
    kept = every - cut_links(problem, CONTEST, order, 1000)
    assert all(not (operators[i].is_matmul and operators[problem.producer[t]].is_matmul) for i, t in kept)
    assert any(operators[i].is_matmul and operators[problem.producer[t]].is_matmul for i, t in every)


def weights_taken_twice():
    """Products that take two weights twice each: as all of one is there in every step, its parts are loaded once."""
    graph = GraphBuilder()
    wide, tall = graph.tensor(1, 13), graph.tensor(13, 1)
    first = made = graph.pointwise((graph.tensor(13, 1), graph.tensor(13, 1)), 0)
    for weights, cost in ((wide, 0), (tall, 3), (wide, 3), (tall, 0)):
        made = graph.matmul(made, weights, cost)
    graph.pointwise((made, first), 1)
    return replace(graph.problem(55, 0.7), machine=Machine(55, 0.7, 9, 2))


def test_what_others_hold_whole_is_not_streamed(monkeypatch):
    problem = weights_taken_twice()
    every = frozenset((link.operator, link.tensor) for link in links_of(problem, CONTEST))
    prices = in_parts(problem, CONTEST, every)
    assert 80 < prices.value <= latency(problem, CONTEST)
    assert accepts(problem, CONTEST, prices)
    monkeypatch.setattr(
        diagram, "sharing", lambda *whole: {k: v._replace(beside=()) for k, v in sharing(*whole).items()}
    )
    forgetful = in_parts(problem, CONTEST, every)
    assert forgetful.value > 1.3 * latency(problem, CONTEST)
    assert not accepts(problem, CONTEST, forgetful)


def test_operators_that_hang_together_through_the_maker_alone_share_nothing():
    graph = GraphBuilder()
    made = graph.pointwise((graph.tensor(128, 128),), 100)
    left, right = (graph.pointwise((made,), 100) for _ in range(2))
    problem = graph.problem(60_000, 10)
    assert sharing(problem, CONTEST, Search())[1, made] == Sharing(1, ())
    graph.pointwise((left, right), 100)
    assert sharing(graph.problem(60_000, 10), CONTEST, Search())[1, made] == Sharing(2, ((TILE, TILE),))
    assert Link(1, made, 0) in links_of(problem, CONTEST)


@pytest.mark.costly
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("cuts", [[0, 99]]),
        ("cuts", "all"),
        ("cuts", [[[0], 1]]),
        ("weight", 0.5),
        ("taking", 1),
        ("weight", [[128, 128, 1.5]]),
        ("weight", [[128, 128]]),
        ("taking", [[0, 1]]),
        ("taking", [[0, 1, 128, 128, [["tile", "tile", 0, "none"]], -1]]),
        ("taking", [[0, 1, 128, 128, [["wide", "tile", 0, "none"]], 1]]),
    ],
)
def test_a_certificate_with_other_parts_is_refused_in_words(field, value):
    problem = contest_problem(5)
    prices = part_prices(problem, CONTEST, Search(effort=0.5))
    document = {"value": prices.value, "certificate": prices.document() | {field: value}}
    with pytest.raises(InputError, match=field):
        certificate_of(problem, document, "bound")
