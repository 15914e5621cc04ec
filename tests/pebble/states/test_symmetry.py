from __future__ import annotations

import numpy as np
import pytest
from tests.pebble.exact.test_exact import random_cdag

from shorthaul.core.search import Search
from shorthaul.pebble import case
from shorthaul.pebble.check.replay import replay
from shorthaul.pebble.model import Cdag, build
from shorthaul.pebble.states.automorphism_kernels import turn
from shorthaul.pebble.states.automorphisms import NO_GROUP, automorphisms, group_of
from shorthaul.pebble.states.layered_search import Layers, layered, tables


def doubled(cdag: Cdag, rng: np.random.Generator) -> Cdag:
    """Return two copies of a graph that share its inputs, nodes in random order."""
    sources, targets = cdag.edge_arrays()
    given = cdag.is_input()
    copy = np.where(given, np.arange(cdag.n), np.arange(cdag.n) + cdag.n)
    kept = np.concatenate([np.arange(cdag.n), copy[~given]])
    name = np.full(2 * cdag.n, -1)
    name[kept] = rng.permutation(len(kept))
    weights = np.empty(len(kept), dtype=np.int64)
    weights[name[kept]] = np.concatenate([cdag.weights, cdag.weights[~given]])
    ends = [np.concatenate([side, copy[side]]) for side in (sources, targets)]
    starts = np.empty(len(kept), dtype=bool)
    starts[name[kept]] = np.concatenate([given, given[~given]])
    return build(weights, name[ends[0]], name[ends[1]], given=starts)


def searches_agree(seeds: range, largest: int) -> int:
    """Check searches up to automorphism against plain ones; return in how many graphs there was one."""
    symmetric = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        cdag = doubled(random_cdag(rng, int(rng.integers(4, largest + 1)), int(rng.choice([1, 2, 5]))), rng)
        budget = cdag.least_budget() + int(rng.integers(0, 3))
        plain = layered(cdag, budget, limit=10**9, search=Search())
        rows = automorphisms(cdag, search=Search())
        way = tables(cdag, from_end=seed % 2 == 1)
        found = layered(cdag, budget, limit=10**9, search=Search(), automorphisms=rows, given=way)
        assert found.complete
        assert found.plan is not None
        assert found.excess == plain.excess, seed
        report = replay(cdag, found.plan, budget, recompute=False)
        assert report.ok, (seed, report.violations[:2])
        assert report.cost is not None
        assert report.cost["traffic"] == cdag.algorithmic_bound() + found.excess
        symmetric += len(rows) > 0
    return symmetric


def test_searches_up_to_automorphism_agree_with_plain_ones() -> None:
    assert searches_agree(range(40), 8) > 35


@pytest.mark.slow
def test_searches_up_to_automorphism_agree_on_thousands() -> None:
    assert searches_agree(range(30000, 32000), 9) > 1900


@pytest.mark.costly
@pytest.mark.parametrize(
    ("text", "budget", "excess", "times"),
    [("fft:n=8,word=1", 3, 24, 10), ("matmul:m=2,n=2,k=3,word=1", 3, 22, 4), ("mvm:m=3,n=3,word=1", 4, None, 2)],
)
def test_structured_graphs_take_fewer_states(text: str, budget: int, excess: int | None, times: int) -> None:
    cdag = case(text).workload
    counts = []
    for rows in (None, automorphisms(cdag, search=Search())):
        whole = Layers(cdag, budget, 25, tables(cdag), automorphisms=rows)
        outcome = whole.run(Search())
        assert outcome.plan is not None
        assert replay(cdag, outcome.plan, budget, recompute=False).ok
        assert excess in {None, outcome.excess}
        counts.append(whole.states)
    assert counts[0] > times * counts[1]


@pytest.mark.parametrize("text", ["fft:n=16,word=1", "matmul:m=3,n=3,k=2,word=1", "pyramid:n=6,word=1"])
def test_automorphisms_keep_edges_and_weights(text: str) -> None:
    cdag = case(text).workload
    sources, targets = cdag.edge_arrays()
    edges = set(zip(sources.tolist(), targets.tolist(), strict=True))
    rows = automorphisms(cdag, search=Search())
    assert len(rows) > 0
    for row in rows:
        assert sorted(row.tolist()) == list(range(cdag.n))
        assert {(int(row[p]), int(row[v])) for p, v in edges} == edges
        assert (cdag.weights[row] == cdag.weights).all()


def test_a_turned_state_becomes_the_same_small_one() -> None:
    cdag = case("matmul:m=2,n=2,k=2,word=1").workload
    rows = automorphisms(cdag, search=Search())
    group = group_of(rows)
    rng = np.random.default_rng(1)
    same = 0
    for _ in range(100):
        chosen = rng.random((3, cdag.n)) < 0.3
        state = np.array([sum(1 << v for v in np.flatnonzero(part).tolist()) for part in chosen], dtype=np.uint64)
        row = rows[int(rng.integers(len(rows)))]
        turned = np.array(
            [sum(1 << int(row[v]) for v in np.flatnonzero(part).tolist()) for part in chosen], dtype=np.uint64
        )
        for one in (state, turned):
            turn(group, one)
        same += bool((state == turned).all())
    assert same > 60  # it goes down as far as single steps lead, not always to the least


def test_graphs_without_automorphisms_have_none() -> None:
    chain = build([1, 1, 1], [0, 1], [1, 2])
    assert len(automorphisms(chain, search=Search())) == 0
    assert group_of(automorphisms(chain, search=Search())) is NO_GROUP
    twins = build([1, 2, 1], [0, 1], [2, 2])
    assert len(automorphisms(twins, search=Search())) == 0
