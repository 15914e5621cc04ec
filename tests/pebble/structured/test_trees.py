"""Trees: the recursion against Eq. (6) as written, and both tree planners against the game itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.pebble_game_kernels import least_traffic
from tests.reference.pebble_tree import dwt_cost, tree_cost
from tests.samples import samples

from shorthaul.core.errors import InputError
from shorthaul.pebble.check.replay import replay
from shorthaul.pebble.model import Cdag, build, from_pairs
from shorthaul.pebble.structured import memory_states, tree_cuts, tree_recursion
from shorthaul.pebble.structured import wavelet as dwt
from shorthaul.pebble.structured.forest import as_forest, recursion_is_optimal
from shorthaul.pebble.workloads import kernels_as_graphs

trees = st.builds(
    kernels_as_graphs.random_tree,
    n=st.integers(3, 9),
    k=st.integers(1, 3),
    most=st.integers(1, 8),
    seed=st.integers(0, 2**20),
)


def with_equal_values(cdag: Cdag, weight: int) -> Cdag:
    """Give all computed nodes but the root one weight."""
    weights = cdag.weights.copy()
    weights[~cdag.is_input() & ~cdag.is_output()] = weight
    return build(weights, *cdag.edge_arrays())


@settings(max_examples=len(samples(150)))
@given(cdag=trees, extra=st.integers(0, 8))
def test_the_recursion_is_equation_6(cdag: Cdag, extra: int) -> None:
    budget = cdag.least_budget() + extra
    plan = tree_recursion.plan(cdag, budget)
    assert replay(cdag, plan, budget, recompute=False).ok
    assert plan.traffic(cdag.weights) == tree_cost(cdag, budget)


@settings(max_examples=len(samples(100)))
@given(cdag=trees, extra=st.integers(0, 5))
def test_cuts_are_optimal(cdag: Cdag, extra: int) -> None:
    budget = cdag.least_budget() + extra
    found = tree_cuts.plan(cdag, budget)
    assert found.complete
    assert replay(cdag, found.plan, budget, recompute=False).ok
    assert found.plan.traffic(cdag.weights) == least_traffic(cdag, budget, recompute=False)


@settings(max_examples=len(samples(100)))
@given(cdag=trees, weight=st.integers(1, 6), extra=st.integers(0, 5), recompute=st.booleans())
def test_the_recursion_is_optimal_where_it_says_so(cdag: Cdag, weight: int, extra: int, recompute: bool) -> None:
    cdag = with_equal_values(cdag, weight)
    forest = as_forest(cdag)
    assert forest is not None
    assert recursion_is_optimal(cdag, forest)
    budget = cdag.least_budget() + extra
    assert tree_recursion.plan(cdag, budget).traffic(cdag.weights) == least_traffic(cdag, budget, recompute=recompute)


@settings(max_examples=len(samples(25)))
@given(cdag=trees)
def test_least_memory_of_weighted_trees(cdag: Cdag) -> None:
    least = tree_cuts.least_memory(cdag)
    goal = cdag.algorithmic_bound()
    assert least_traffic(cdag, least, recompute=True) == goal
    assert least_traffic(cdag, least - 1, recompute=True) in {None, *range(goal + 1, 10**6)}


@settings(max_examples=len(samples(25)))
@given(
    levels=st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=3, max_size=3), extra=st.integers(0, 9)
)
def test_wavelets_with_any_level_weights(levels: list[tuple[int, int]], extra: int) -> None:
    shape = kernels_as_graphs.dwt(n=4, d=2)
    weights = np.empty(shape.n, dtype=np.int64)
    weights[:4] = levels[0][0]
    for first, count, (average, coefficient) in ((4, 4, levels[1]), (8, 2, levels[2])):
        weights[first : first + count : 2], weights[first + 1 : first + count : 2] = average, min(average, coefficient)
    cdag = build(weights, *shape.edge_arrays())
    budget = cdag.least_budget() + extra
    assert dwt.plan(cdag, budget).traffic(cdag.weights) == dwt_cost(cdag, 4, 2, budget)
    found = tree_cuts.plan(cdag, budget)
    assert found.complete
    assert found.plan.traffic(cdag.weights) == least_traffic(cdag, budget, recompute=True)


def test_the_curve_is_the_plan_at_every_budget() -> None:
    cdag = kernels_as_graphs.random_tree(n=300, k=3, most=9, seed=4)
    budgets, traffic = tree_recursion.curve(cdag)
    assert budgets[0] == cdag.least_budget()
    for budget in range(int(budgets[0]), int(budgets[-1]) + 2):
        expected = traffic[np.searchsorted(budgets, budget, side="right") - 1]
        assert tree_recursion.plan(cdag, budget).traffic(cdag.weights) == expected


def test_many_equal_parents() -> None:
    cdag = kernels_as_graphs.kary(k=24, depth=2, word=1)
    for budget in (25, 30, 48, 60):
        plan = tree_recursion.plan(cdag, budget)
        assert replay(cdag, plan, budget, recompute=False).ok
        # each of the 24 subtrees needs 25; the root holds 24: what is kept early leaves less room
        kept = min(24, budget - 25 + 1)
        assert plan.traffic(cdag.weights) == cdag.algorithmic_bound() + 2 * (24 - kept)


def test_large_random_trees_are_never_worse_than_the_recursion() -> None:
    for seed in range(4):
        cdag = kernels_as_graphs.random_tree(n=3000, k=3, most=50, seed=seed)
        budget = cdag.least_budget() + 10 * seed
        found = tree_cuts.plan(cdag, budget)
        assert replay(cdag, found.plan, budget, recompute=False).ok
        assert found.plan.traffic(cdag.weights) <= tree_recursion.plan(cdag, budget).traffic(cdag.weights)


def test_narrow_searches_still_give_plans() -> None:
    cdag = kernels_as_graphs.random_tree(n=500, k=3, most=1000, seed=1)
    budget = cdag.least_budget()
    found = tree_cuts.plan(cdag, budget, widths=(2,))
    assert not found.complete
    assert replay(cdag, found.plan, budget, recompute=False).ok


@settings(max_examples=len(samples(80)))
@given(cdag=trees.filter(lambda cdag: cdag.parents.degrees().max() <= 2), extra=st.integers(0, 8))
def test_memory_states_without_states_are_the_recursion(cdag: Cdag, extra: int) -> None:
    budget = cdag.least_budget() + extra
    plan = memory_states.plan(cdag, budget)
    assert replay(cdag, plan, budget, recompute=False).ok
    assert plan.traffic(cdag.weights) == tree_recursion.plan(cdag, budget).traffic(cdag.weights)


def test_memory_states_start_and_end_where_they_should() -> None:
    cdag = kernels_as_graphs.kary(k=2, depth=3, word=1)
    root = int(cdag.outputs()[0])
    assert memory_states.schedule(cdag, root, 5).traffic == 8
    # both subtrees' results are there: nothing is loaded
    assert memory_states.schedule(cdag, root, 5, initial=[12, 13]).traffic == 0
    # an inner value stays: one word less for the other subtree
    kept = memory_states.schedule(cdag, root, 6, reuse=[8])
    assert kept.traffic == 8
    deleted = {node for move, node in kept.plan if move.name == "DELETE"}
    assert 8 not in deleted
    # the first case of Eq. (8) is infinite, not 0
    with pytest.raises(Exception, match="fast memory between the given states"):
        memory_states.schedule(cdag, root, 3, reuse=[8, 9])


def test_tree_methods_refuse_other_graphs() -> None:
    diamond = from_pairs([1, 1, 1, 1, 1], [(0, 1), (0, 2), (1, 3), (2, 3), (4, 2)])
    with pytest.raises(InputError, match="this method plans trees only"):
        tree_recursion.plan(diamond, 9)
    with pytest.raises(InputError, match="wavelet transforms only"):
        dwt.plan(diamond, 9)
    with pytest.raises(InputError, match="binary trees only"):
        memory_states.plan(kernels_as_graphs.kary(k=3, depth=1), 640)
    with pytest.raises(InputError, match="without outputs on the way"):
        memory_states.plan(kernels_as_graphs.dwt(n=4, d=1), 640)


@settings(max_examples=len(samples(150)))
@given(
    n=st.integers(5, 60),
    k=st.integers(1, 4),
    most=st.integers(2, 1000),
    seed=st.integers(0, 10**6),
    width=st.integers(2, 8),
)
def test_what_a_narrow_search_leaves_out_never_raises_the_bound(
    n: int, k: int, most: int, seed: int, width: int
) -> None:
    cdag = kernels_as_graphs.random_tree(n=n, k=k, most=most, seed=seed)
    budget = cdag.least_budget()
    full = tree_cuts.plan(cdag, budget)
    assert full.complete
    optimum = full.plan.traffic(cdag.weights)
    narrow = tree_cuts.plan(cdag, budget, widths=(width,))
    assert narrow.least <= optimum <= narrow.plan.traffic(cdag.weights)


def test_a_wide_star_stays_light() -> None:
    k = 3000
    generator = np.random.default_rng(0)
    sources = np.concatenate([np.arange(k), np.arange(k, 2 * k)])
    targets = np.concatenate([np.arange(k, 2 * k), np.full(k, 2 * k)])
    cdag = build(generator.integers(1, 100, 2 * k + 1), sources, targets)
    found = tree_cuts.plan(cdag, cdag.least_budget())
    assert replay(cdag, found.plan, cdag.least_budget(), recompute=False).ok
    assert found.complete
