from __future__ import annotations

import numpy as np
import pytest
from tests.pebble.exact.test_exact import random_cdag

from shorthaul.core.search import Search
from shorthaul.pebble import case
from shorthaul.pebble.bounds import parts
from shorthaul.pebble.check.replay import replay
from shorthaul.pebble.exact import pattern_choice
from shorthaul.pebble.states.layered_search import Layers, layered, tables
from shorthaul.pebble.states.pattern_databases import NO_PATTERNS, assembled, table_of


def test_a_table_starts_with_what_the_part_costs_alone() -> None:
    lifted = 0
    for seed in range(120):
        rng = np.random.default_rng(seed)
        cdag = random_cdag(rng, int(rng.integers(5, 14)), int(rng.choice([1, 4])))
        budget = cdag.least_budget() + int(rng.integers(0, 2))
        nodes = np.flatnonzero(rng.random(cdag.n) < 0.7).tolist()
        found = parts.restriction(cdag, nodes)
        if found is None:
            continue
        table = table_of(cdag, nodes, budget, most=10**6, search=Search())
        assert table is not None
        unit = int(np.gcd.reduce(cdag.weights))
        assert table.start * unit == parts.excess(found[0], budget, search=Search()), seed
        against = table_of(cdag, nodes, budget, most=10**6, search=Search(), from_end=True)
        assert against is not None
        assert against.start == table.start, seed
        lifted += table.start > 0
    assert lifted >= 5


def searches_agree(seeds: range, largest: int) -> int:
    """Check searches with tables of random overlapping parts against one without; return how often these say much.

    The search without tables is checked against the game itself elsewhere.
    """
    lifted = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        cdag = random_cdag(rng, int(rng.integers(7, largest + 1)), int(rng.choice([1, 2, 5, 9])))
        budget = cdag.least_budget() + int(rng.integers(0, 3))
        excess = layered(cdag, budget, limit=10**9, search=Search()).excess
        assert excess is not None
        chosen = [np.flatnonzero(rng.random(cdag.n) < 0.7).tolist() for _ in range(3)]
        made = [nodes for nodes in chosen if nodes]
        for from_end in (False, True):
            all_tables = [
                table_of(cdag, nodes, budget, most=10**6, search=Search(), from_end=from_end) for nodes in made
            ]
            given = [table for table in all_tables if table is not None]
            if not given:
                continue
            shares = [60 // len(given)] * len(given)
            found, game = assembled(cdag.n, given, shares, 60), tables(cdag, from_end=from_end)
            outcome = layered(cdag, budget, limit=excess + 1, search=Search(), patterns=found, given=game)
            assert outcome.plan is not None, seed
            assert outcome.complete
            assert outcome.excess == excess, seed
            assert replay(cdag, outcome.plan, budget, recompute=False).ok
            if excess:
                empty = layered(cdag, budget, limit=excess, search=Search(), patterns=found, given=game)
                assert empty.plan is None
                assert empty.complete
            lifted += any(table.start for table in given)
    return lifted


def test_searches_with_tables_agree_with_the_game() -> None:
    assert searches_agree(range(30), 15) >= 12


@pytest.mark.slow
def test_searches_with_tables_agree_with_the_game_on_thousands() -> None:
    assert searches_agree(range(20000, 23000), 17) > 2000


class Looks(Search):
    """A budget that is up at the given look at the clock."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._left = most

    def expired(self) -> bool:
        self._left -= 1
        return self._left < 0


@pytest.mark.costly
@pytest.mark.parametrize(
    ("text", "budget"), [("fft:n=8,word=1", 3), ("pyramid:n=8,word=1", 3), ("matmul:m=2,n=2,k=3,word=1", 3)]
)
def test_what_an_interrupted_search_has_open_is_a_bound(text: str, budget: int) -> None:
    cdag = case(text).workload
    optimum = layered(cdag, budget, limit=10**9, search=Search()).excess
    assert optimum is not None
    found = pattern_choice.Tables(cdag, budget, search=Search()).chosen(Search(effort=0.3))
    assert found.excess <= optimum
    for given, from_end in ((found.from_start, False), (found.from_end, True), (NO_PATTERNS, False)):
        turns = [Layers(cdag, budget, optimum, tables(cdag, from_end=from_end), patterns=given)]
        bounds = []
        while not turns[0].run(Looks(2)).finished:
            bounds.append(turns[0].proven)
        assert bounds == sorted(bounds)
        assert bounds[-1] <= optimum
        assert bounds[-1] > 0
        assert turns[0].proven == optimum


def test_lowering_the_limit_half_way_keeps_the_proof() -> None:
    cdag = case("fft:n=8,word=1").workload
    pass_ = Layers(cdag, 3, 40, tables(cdag))
    assert not pass_.run(Search(effort=1e-9)).finished
    pass_.lower(24)
    assert pass_.run(Search()).plan is None
    assert pass_.proven == 24


def test_parts_that_are_too_large_or_too_heavy_have_no_table() -> None:
    cdag = case("fft:n=16,word=1").workload
    assert table_of(cdag, range(80), 6, most=10**6, search=Search()) is None
    assert table_of(cdag, range(24), 6, most=100, search=Search()) is None
    heavy = case("dwt:n=8,d=3,weights=equal,word=1").workload
    assert table_of(heavy, range(6), 4, most=10**6, search=Search()) is not None
