"""The game with prices: compute costs, dear or missing loads and stores, a given order."""

from __future__ import annotations

import io
import json
import math
import re
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.pebble.exact.test_exact import random_cdag
from tests.pebble.families import Graph
from tests.reference.pebble_prices import least_paid

from shorthaul.core.errors import InfeasibleError, InputError, NoPlanError
from shorthaul.core.search import Search
from shorthaul.core.searching.progress import Progress
from shorthaul.pebble import bound, check, from_dependencies, plan, run, sweep, tuning
from shorthaul.pebble.bounds import stages
from shorthaul.pebble.check.replay import replay
from shorthaul.pebble.exact import priced_search
from shorthaul.pebble.formats.documents import cdag_document, cdag_from_document, load_cdag
from shorthaul.pebble.local_search import sequences
from shorthaul.pebble.local_search.sequences import Game
from shorthaul.pebble.model import Cdag, Terms, build
from shorthaul.pebble.plan import Move, plan_of
from shorthaul.pebble.request import Request
from shorthaul.pebble.strategy import priced
from shorthaul.pebble.workloads import kernels_as_graphs

NOTHING_MOVES = {"load_price": math.inf, "store_price": math.inf}


def sample(seed: int, largest: int = 6, *, in_place: bool | None = None) -> tuple[Game, Cdag]:
    """A random game of each kind, and its graph with its inputs; ``in_place`` or as it is drawn."""
    rng = np.random.default_rng(seed)
    plain = random_cdag(rng, int(rng.integers(2, largest + 1)), int(rng.choice([1, 3, 9])))
    in_order = bool(rng.integers(2))
    name = np.arange(plain.n) if in_order else rng.permutation(plain.n)
    sources, targets = plain.edge_arrays()
    back = np.argsort(name)
    compute = rng.integers(0, rng.choice([1, 4, 12]), plain.n)
    cdag = build(plain.weights[back], name[sources], name[targets], given=plain.given[back], compute=compute)
    load, store = (([None, 0, 1, 2, 5])[int(rng.integers(5))] for _ in range(2))
    more, recompute, drawn = int(rng.integers(4)), bool(rng.integers(2)), bool(rng.integers(2))
    in_place = drawn if in_place is None else in_place
    terms = Terms(load, store, in_order, in_place)
    seen = terms.played(cdag)
    return Game(seen, int(terms.needs(seen).max()) + more, recompute, terms), cdag


def agree(seeds: range) -> None:
    """The exact search finds the optimum of the game, annealing never beats it, and mostly meets it."""
    met = 0
    for seed in seeds:
        game, cdag = sample(seed)
        optimum = least_paid(cdag, game.budget, game.terms, recompute=game.recompute)
        done = priced_search.solve(game, limit=2**61, search=Search())
        assert done.is_complete
        if optimum is None:
            assert done.events is None, seed
            assert sequences.improve(game, sequences.in_order(game), search=Search(effort=0.02), goal=0) is None
            met += 1
            continue
        assert done.least == optimum, seed
        assert game.terms.least(cdag) <= optimum
        staged = stages.least_paid(
            game.cdag, game.budget, game.terms, recompute=game.recompute, limit=2**40, search=Search(effort=0.2)
        )
        order = stages.milestones(game.cdag, game.terms)
        few = stages._least_of_few(
            game.cdag, game.budget, game.terms, order, recompute=game.recompute, limit=2**40, search=Search(effort=0.2)
        )
        assert max(few, staged) <= optimum, seed
        request = Request(cdag, game.budget, game.recompute, Search(), game.terms)
        assert priced.moved_bound(priced.trivial_bound(request), request, Search(effort=0.03)).value <= optimum, seed
        found = sequences.improve(game, sequences.in_order(game), search=Search(effort=0.02), goal=optimum)
        for events, paid in ((done.events, optimum), found or (done.events, optimum)):
            assert events is not None
            made = sequences.played(game, events)
            report = replay(cdag, made, game.budget, recompute=game.recompute, terms=game.terms)
            assert report.ok, (seed, report.violations[:2])
            assert report.cost["total"] == paid >= optimum, seed
        met += found is not None and found[1] == optimum
    assert met >= 0.95 * len(seeds)


def test_plans_agree_with_the_game() -> None:
    agree(range(10, 20))


@pytest.mark.slow
def test_the_exact_search_in_place_is_a_brute_force() -> None:
    differ = 0
    for seed in range(10_000, 12_000):
        game, cdag = sample(seed, 5, in_place=True)
        optimum = least_paid(cdag, game.budget, game.terms, recompute=game.recompute)
        done = priced_search.solve(game, limit=2**61, search=Search())
        assert done.is_complete
        assert (done.events is None) == (optimum is None), seed
        if optimum is None or done.events is None:
            continue
        assert done.least == optimum, seed
        made = sequences.played(game, done.events)
        report = replay(cdag, made, game.budget, recompute=game.recompute, terms=game.terms)
        assert report.ok, (seed, report.violations[:2])
        assert report.cost["total"] == optimum, seed
        usual = replace(game.terms, in_place=False)
        apart = least_paid(cdag, game.budget, usual, recompute=game.recompute)
        differ += apart is None or apart > optimum
    assert differ > 200


def test_in_place_an_order_replayed_is_enough_where_it_moves_inputs_and_outputs_alone() -> None:
    graph = Graph()
    taps, samples = [graph.node() for _ in range(6)], [graph.node() for _ in range(21)]
    for first in range(16):
        total = graph.node(taps[0], samples[first])
        for tap in range(1, 6):
            total = graph.node(total, taps[tap], samples[first + tap])
    cdag, search = graph.done(), Search(effort=1)
    found = plan(cdag, budget=13, in_place=True, search=search)
    assert found.cost["traffic"] == found.bound.value == cdag.algorithmic_bound()
    assert search.left() > 0.99


def test_in_place_a_given_order_is_kept() -> None:
    """The plans that races begin with are not taken out of that order."""
    pairs = [(0, 1), (0, 3), (1, 2), (1, 3), (1, 4), (2, 5), (3, 4), (3, 5), (3, 6), (4, 6)]
    cdag = build([1, 4, 4, 4, 1, 4, 1], *zip(*pairs, strict=True))
    found = plan(cdag, budget=8, in_place=True, order="given", effort=0.15)
    assert (found.cost["traffic"], found.status) == (25, "optimal")


@pytest.mark.slow
def test_plans_agree_with_the_game_on_many_more() -> None:
    agree(range(1000, 3000))


def test_the_verbs_agree_with_the_game() -> None:
    for seed in range(100, 106):
        game, cdag = sample(seed)
        load, store = (math.inf if price is None else price for price in (game.terms.load, game.terms.store))
        asked = {
            "budget": game.budget, "recompute": game.recompute, "load_price": load, "store_price": store,
            "order": "given" if game.terms.in_order else "free", "in_place": game.terms.in_place,
        }  # fmt: skip
        optimum = least_paid(cdag, game.budget, game.terms, recompute=game.recompute)
        if optimum is None:
            with pytest.raises(InfeasibleError):
                plan(cdag, effort=0.2, **asked)
            continue
        result = plan(cdag, effort=0.2, **asked)
        is_usual = game.terms.is_usual and not cdag.compute.any()
        assert result.cost["traffic" if is_usual else "total"] == optimum, seed
        assert result.status.value == "optimal", seed
        assert bound(cdag, effort=0.2, **asked).bound.value <= optimum
        again = check(cdag, result.plan, effort=0.2, **asked)
        assert again.cost == result.cost
        del asked["recompute"]
        assert run(cdag, result.plan, effort=0.2, **asked).extra["run"]["agrees"]


def training(depth: int) -> Cdag:
    """A chain forward and a chain back that reads what the first one left behind."""
    edges = [(v, v + 1) for v in range(2 * depth - 1)] + [(v, 2 * depth - 2 - v) for v in range(depth - 1)]
    sources, targets = np.array(edges).T
    compute = np.arange(2 * depth) % 5 + 1
    return build(np.ones(2 * depth, dtype=np.int64), sources, targets, compute=compute)


def test_what_does_not_fit_is_computed_again() -> None:
    cdag = training(16)
    kept = plan(cdag, budget=17, recompute=True, effort=0.2, **NOTHING_MOVES)
    assert (kept.cost["total"], kept.status.value, kept.cost["traffic"]) == (cdag.compute.sum(), "optimal", 0)
    with pytest.raises((NoPlanError, InfeasibleError)):
        plan(cdag, budget=10, effort=0.1, **NOTHING_MOVES)
    again = plan(cdag, budget=10, recompute=True, effort=0.2, **NOTHING_MOVES)
    assert again.cost["compute"] == again.cost["total"] > cdag.compute.sum()
    dear = plan(cdag, budget=10, recompute=True, effort=0.2, load_price=1000, store_price=1000)
    assert dear.cost["loads"] == dear.cost["stores"] == 1
    cheap = plan(cdag, budget=10, recompute=True, effort=0.2, load_price=0, store_price=0)
    assert cheap.cost["compute"] == cdag.compute[1:].sum()


def test_stages_prove_what_annealing_finds() -> None:
    cdag = training(33)
    result = plan(cdag, budget=30, recompute=True, order="given", effort=1.5, **NOTHING_MOVES)
    assert (result.status.value, result.bound.method) == ("optimal", "stages")


@pytest.mark.slow
def test_few_stages_prove_what_annealing_finds_on_larger_graphs() -> None:
    cdag = training(201)
    assert 201 * (cdag.n + cdag.edges) > tuning.STAGED_SIZE * 2
    result = plan(cdag, budget=190, recompute=True, effort=2, **NOTHING_MOVES)
    assert (result.status.value, result.bound.method) == ("optimal", "stages")
    assert result.cost["total"] > cdag.compute.sum()


def test_equal_prices_scale_the_usual_game() -> None:
    cdag, _ = build(np.full(8, 2), [0, 1, 1, 2, 3, 4, 5, 6], [2, 2, 3, 4, 4, 5, 6, 7]), None
    usual, tripled = plan(cdag, budget=6), plan(cdag, budget=6, load_price=3, store_price=3)
    assert tripled.cost["total"] == 3 * usual.cost["traffic"]
    assert tripled.bound.value == 3 * usual.bound.value


@pytest.mark.costly
@pytest.mark.parametrize("partial", [False, True])
def test_the_progress_line_tells_what_is_paid(partial: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shorthaul.core.searching.progress.PLAIN_PROGRESS_S", 0.0)
    cdag = random_cdag(np.random.default_rng(3), 30, 3)
    cdag = replace(cdag, compute=np.full(cdag.n, 1000))
    out = io.StringIO()
    search = Search(effort=0.2, progress=Progress(out), started=time.monotonic() - 3)
    budget = int(Terms(partial=partial).needs(cdag).max())
    plan(cdag, budget=budget, load_price=2, store_price=2, partial=partial, search=search)
    told = re.search(r"best ([\d,]+)  bound ([\d,]+)", out.getvalue())
    assert told is not None
    assert all(int(value.replace(",", "")) > 1000 * (~cdag.given).sum() for value in told.groups())


def test_sweeps_leave_out_budgets_at_which_nothing_fits() -> None:
    points = sweep(training(8), recompute=True, budgets="3:9", effort=0.5, **NOTHING_MOVES).extra["points"]
    totals = [point["total"] for point in points]
    assert totals == sorted(totals, reverse=True)
    assert points[-1]["budget"] == 9
    assert all(point["bound"]["value"] <= point["total"] for point in points)


def test_the_check_finds_moves_that_there_are_not() -> None:
    cdag = build([1, 1, 1], [0, 1], [1, 2], compute=[5, 1, 1])
    loading = plan_of([(Move.LOAD, 0), (Move.COMPUTE, 1), (Move.STORE, 1), (Move.COMPUTE, 2)])
    found = check(cdag, loading, **NOTHING_MOVES).check
    assert [one.rule for one in found.violations] == ["no-such-move", "no-such-move"]
    silent = plan_of([(Move.COMPUTE, 0), (Move.COMPUTE, 1)])
    found = check(cdag, silent, **NOTHING_MOVES).check
    assert [one.rule for one in found.violations] == ["missing-output"]
    cdag = build([1, 1, 1], [0, 0], [1, 2])
    turned = plan_of([(Move.LOAD, 0), *((kind, v) for v in (2, 1) for kind in (Move.COMPUTE, Move.STORE))])
    assert check(cdag, turned).check.ok
    assert [one.rule for one in check(cdag, turned, order="given").check.violations] == ["out-of-order"]


def test_every_format_tells_compute_costs(tmp_path: Path) -> None:
    dot = tmp_path / "graph.dot"
    dot.write_text("digraph { a -> b [weight=3]; b [weight=2, compute=7] }")
    link = tmp_path / "graph.json"
    nodes = [{"id": "a"}, {"id": "b", "weight": 2, "compute": 7}]
    link.write_text(json.dumps({"nodes": nodes, "links": [{"source": "a", "target": "b"}]}))
    read = [load_cdag(dot), load_cdag(link), from_dependencies({"b": ["a"]}, weights={"b": 2}, compute={"b": 7})]
    for cdag in [*read, cdag_from_document(cdag_document(read[0]))]:
        assert {cdag.id_of(v): int(cdag.compute[v]) for v in range(2)} == {"a": 0, "b": 7}
    for wrong in (-1, 1.5, True, "7"):
        with pytest.raises(InputError, match=r"nodes\[0\]\.compute: must be an integer from 0"):
            cdag_from_document(
                {"kind": "shorthaul/cdag", "version": 1, "nodes": [{"id": 0, "compute": wrong}], "edges": []}
            )


def test_prices_and_orders_that_cannot_be(tmp_path: Path) -> None:
    del tmp_path
    cdag = build([1, 1], [1], [0])
    for price in ("-1", "0.5", "nan", "much", "1e7"):
        with pytest.raises(InputError, match=r"^load_price: is no price"):
            plan(cdag, load_price=price)
    with pytest.raises(InputError, match="node 0 stands before 1"):
        plan(cdag, order="given")
    with pytest.raises(InputError, match="knows the usual prices only"):
        plan(cdag, load_price=2, method="tiles")
    with pytest.raises(InputError, match="too large for these weights"):
        plan(build([2**45, 1], [0], [1]), store_price=1000)


def test_without_stores_outputs_are_computed_anew() -> None:
    """Depth first, where annealing finds no order that fits."""
    found = plan(kernels_as_graphs.fft(n=16, word=1), budget=6, recompute=True, store_price="inf", effort=0.3)
    assert found.check.ok
    assert found.cost["peak"] <= 6
    with pytest.raises(NoPlanError, match="more time, or give prices below inf"):
        plan(kernels_as_graphs.fft(n=16, word=1), budget=4, recompute=True, store_price="inf", effort=0.1)


def test_the_bound_on_the_traffic_is_found_once_with_its_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    cdag = random_cdag(np.random.default_rng(3), 60, most=1)
    request = Request(cdag, cdag.least_budget(), False, Search(effort=0.05), Terms(load=1, store=2))
    beside = priced.moved_bound(priced.trivial_bound(request), request, Search(effort=0.05)).value

    def again(request: Request) -> None:
        raise AssertionError("found again")

    monkeypatch.setattr(priced, "lower_bound", again)
    found = priced.find_priced_plan(request, "auto")
    assert priced.trivial_bound(request).value < beside
    assert 0.95 * beside <= found.bound.value <= request.paid(found.plan)
