"""Outputs that others read too: they end in slow memory, and are read from fast memory meanwhile."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from tests.pebble.exact.test_exact import random_cdag
from tests.reference import pebble_partial
from tests.reference.pebble_prices import least_paid

from shorthaul.core.errors import InfeasibleError, InputError
from shorthaul.core.search import Search
from shorthaul.pebble import bound, check, code, memory, plan, run, sweep
from shorthaul.pebble.formats.documents import cdag_document, cdag_from_document, load_cdag
from shorthaul.pebble.formats.graphs import from_networkx
from shorthaul.pebble.model import Cdag, Terms, build
from shorthaul.pebble.states.layered_search import layered
from shorthaul.pebble.strategy.kept import cut
from shorthaul.pebble.workloads.kernels_as_graphs import fft

#: a -> b -> c, b is an output too.
CHAIN = build([1, 2, 1], [0, 1], [1, 2], kept=np.array([False, True, False]))


def sample(seed: int) -> tuple[Cdag, Terms, int, bool]:
    """A random graph, some of whose outputs are read, in a random game."""
    rng = np.random.default_rng(seed)
    plain = random_cdag(rng, int(rng.integers(3, 7)), 3)
    compute = rng.integers(0, 4, plain.n) * int(rng.integers(2))
    kept = (rng.random(plain.n) < 0.4) & ~plain.given
    cdag = build(plain.weights, *plain.edge_arrays(), given=plain.given, kept=kept, compute=compute)
    prices = [None if price < 0 else int(price) for price in rng.integers(-1, 4, 2)] if rng.integers(2) else [1, 1]
    partial = bool(rng.random() < 0.2)
    in_order, in_place = (bool(flag) and not partial for flag in rng.integers(2, size=2))
    terms = Terms(*prices, in_order, in_place, partial)
    budget = int(terms.needs(terms.played(cdag)).max()) + int(rng.integers(3))
    return cdag, terms, budget, bool(rng.integers(2)) and not partial


def agree(seeds: range) -> None:
    """Plans pay what a brute force finds, and bounds say no more."""
    for seed in seeds:
        cdag, terms, budget, recompute = sample(seed)
        load, store = (math.inf if price is None else price for price in (terms.load, terms.store))
        asked = {
            "budget": budget, "recompute": recompute, "load_price": load, "store_price": store, "effort": 0.3,
            "order": "given" if terms.in_order else "free", "in_place": terms.in_place, "partial": terms.partial,
        }  # fmt: skip
        if terms.partial:
            seen = terms.played(cdag)
            optimum = pebble_partial.least_paid(cdag, budget, terms)
            optimum = None if optimum is None else optimum + int(seen.compute[~seen.given].sum())
        else:
            optimum = least_paid(cdag, budget, terms, recompute=recompute)
        if optimum is None:
            with pytest.raises(InfeasibleError):
                plan(cdag, **asked)
            continue
        result = plan(cdag, **asked)
        assert result.bound is not None
        assert result.cost is not None
        assert result.cost[result.bound.of] == optimum, seed
        assert result.status.value == "optimal", seed
        assert bound(cdag, **asked).bound.value <= optimum, seed


def test_plans_agree_with_the_game() -> None:
    agree(range(3))


@pytest.mark.slow
def test_plans_agree_with_the_game_on_many_more() -> None:
    agree(range(1000, 1600))


def test_an_output_that_is_read_is_stored_and_not_loaded_for_that() -> None:
    result = plan(CHAIN, budget=4, effort=0.1)
    assert (result.cost["loads"], result.cost["stores"], result.status.value) == (1, 3, "optimal")
    unkept = plan(CHAIN.unkept(), budget=4, effort=0.1)
    assert unkept.cost["traffic"] == 2
    assert [one.rule for one in check(CHAIN, unkept.plan, budget=4).check.violations] == ["missing-output"]
    assert run(CHAIN, result.plan).extra["run"]["outputs"] == 2
    assert "out[" in code(CHAIN, budget=4).extra["code"]
    assert [point["status"] for point in sweep(CHAIN, budgets="3,4", effort=0.1).extra["points"]] == ["optimal"] * 2


def test_a_constant_that_is_an_output_and_read_is_computed_once() -> None:
    given, kept = (np.arange(4) == node for node in (0, 2))
    cdag = build([3, 1, 1, 2], [0, 2, 0], [1, 3, 3], given=given, kept=kept)
    result = plan(cdag, budget=5, effort=0.1, partial=True)
    assert (result.cost["total"], result.status.value) == (3 + 1 + 1 + 2, "optimal")


@pytest.mark.parametrize("in_place", [False, True])
def test_least_memory_stores_them_at_once(in_place: bool) -> None:
    wide = build([2, 2, 1, 1], [0, 0, 1, 2], [1, 2, 3, 3], kept=np.array([False, True, True, False]))
    kept, unkept = (memory(cdag, effort=0.1, in_place=in_place) for cdag in (wide, wide.unkept()))
    assert kept.cost["budget"] == unkept.cost["budget"]
    assert (kept.cost["traffic"], unkept.cost["traffic"]) == (6, 3)


def test_bounds_with_them_are_verified(tmp_path: Path) -> None:
    """Where the graph is cut at them, loads and stores count: without that only loads, for their stores are paid anyway."""
    plain = fft(n=16, word=1)
    cdag = replace(plain, kept=np.arange(plain.n) == 30)
    path = tmp_path / "bound.json"
    result = bound(cdag, budget=4, effort=0.1)
    assert result.bound is not None
    assert cdag.algorithmic_bound() == 33
    assert result.bound.value > 50
    document = result.document()
    stated = document["bound"]["certificate"]
    assert stated["cut"] == [[30, "read0"]]
    for names in (stated["cut"], [[29, "read0"]], [[30, 31]], [], [30, "read0"], None):
        stated["cut"] = names
        path.write_text(json.dumps(document))
        assert check(cdag, bound=str(path)).check.ok == (names == [[30, "read0"]])
    stated["cut"] = [[30, "read0"]]
    document["bound"]["value"] += 1
    path.write_text(json.dumps(document))
    assert not check(cdag, bound=str(path)).check.ok


def test_graphs_that_are_cut_at_them_move_no_more_beyond() -> None:
    lifted = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        plain = random_cdag(rng, int(rng.integers(4, 8)), 3)
        kept = (rng.random(plain.n) < 0.4) & ~plain.given
        cdag = build(plain.weights, *plain.edge_arrays(), given=plain.given, kept=kept, ids=[*"abcdefg"][: plain.n])
        whole, names = cut(cdag)
        budget = cdag.least_budget()
        beyond = layered(whole, budget, limit=1000, search=Search()).excess
        assert beyond is not None
        assert len(names) == np.count_nonzero(kept & (cdag.children.degrees() > 0))
        if beyond == 0 or not names:
            continue
        optimum = least_paid(cdag, budget, Terms(), recompute=False)
        assert optimum is not None
        assert cdag.algorithmic_bound() + beyond <= optimum, seed
        lifted += 1
    assert lifted > 0


def test_every_format_keeps_them(tmp_path: Path) -> None:
    path = tmp_path / "graph.dot"
    path.write_text("digraph { b [weight=2, output=true]; a -> b -> c }")
    graph = nx.DiGraph([("a", "b"), ("b", "c")])
    graph.nodes["b"].update(output=True, weight=2)
    read = [load_cdag(path), from_networkx(graph), cdag_from_document(cdag_document(CHAIN))]
    nx.write_graphml(graph, tmp_path / "graph.graphml")
    read.append(load_cdag(tmp_path / "graph.graphml"))
    dot = tmp_path / "order.dot"
    dot.write_text(str(code(CHAIN, budget=4, format="dot").extra["code"]))
    for cdag in [*read, load_cdag(dot)]:
        assert sorted(cdag.weights[cdag.outputs()].tolist()) == [1, 2]
        assert cdag.algorithmic_bound() == 4
    path.write_text("digraph { b [output=maybe]; a -> b }")
    with pytest.raises(InputError, match="output of b: is no truth value"):
        load_cdag(path)
