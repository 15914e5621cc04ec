from __future__ import annotations

import numpy as np
import pytest
from tests.reference import pebble_potential as plain
from tests.reference.pebble_game_kernels import least_traffic

from shorthaul.core.search import Search
from shorthaul.pebble import case
from shorthaul.pebble.check.replay import replay
from shorthaul.pebble.model import Cdag, build
from shorthaul.pebble.states import lattice_kernels, potentials
from shorthaul.pebble.states import potential_kernels as kernels
from shorthaul.pebble.states.layered_search import Cut, layered, tables
from shorthaul.pebble.states.potentials import Potentials, initial_prices, lattice_of
from shorthaul.pebble.states.priced_parts import Chains, chains_of, problem_of


def random_cdag(rng: np.random.Generator, n: int, most: int) -> Cdag:
    edges = {
        (int(p), v) for v in range(1, n) for p in rng.choice(v, size=min(v, int(rng.integers(1, 4))), replace=False)
    }
    sources, targets = zip(*sorted(edges), strict=True)
    return build(rng.integers(1, most + 1, n), list(sources), list(targets))


def sample(seed: int, largest: int, most: int | None = None) -> tuple[Cdag, int]:
    rng = np.random.default_rng(seed)
    cdag = random_cdag(rng, int(rng.integers(3, largest + 1)), int(rng.choice([1, 2, 5, 9])) if most is None else most)
    return cdag, cdag.least_budget() + int(rng.integers(0, 4))


def apart(cdag: Cdag) -> Chains:
    """Return every node as a chain of its own."""
    computed = [v for v in cdag.order.tolist() if not cdag.is_input()[v]]
    return Chains([[v] for v in [*computed, *cdag.inputs().tolist()]], len(computed))


@pytest.mark.parametrize("most", [1, 5])
def test_the_kernel_proves_what_trying_everything_does(most: int) -> None:
    for seed in range(25):
        cdag, budget = sample(seed, 7, most)
        unit = int(np.gcd.reduce(cdag.weights))
        chains = apart(cdag)
        names, given = [nodes[0] for nodes in chains.nodes], frozenset(cdag.inputs().tolist())
        problem = problem_of(cdag, budget, chains)
        lattice = lattice_of(problem)
        assert lattice is not None
        sets = [given | {names[k] for k in range(chains.computed) if int(done) >> k & 1} for done in lattice.sets]
        rng = np.random.default_rng(seed)
        chosen: plain.Prices = {}
        prices = np.zeros((2, len(lattice.live)))
        for at, done in enumerate(sets):
            mine = lattice.live[lattice.live_first[at] : lattice.live_first[at + 1]].tolist()
            assert sorted(names[u] for u in mine) == plain.live_after(cdag, done)
            for entry in range(lattice.live_first[at], lattice.live_first[at + 1]):
                u = int(lattice.live[entry])
                weight = 12 * int(cdag.weights[names[u]]) // unit
                saved, unsaved = int(rng.integers(0, weight + 1)), int(rng.integers(0, 2 * weight + 1))
                unsaved *= u < chains.computed
                chosen[done, names[u]] = saved, unsaved
                prices[:, entry] = saved, unsaved
        ahead, through = np.empty(len(sets)), np.empty(len(lattice.nodes))
        graph, steps = lattice_kernels.Problem(*problem), lattice_kernels.Lattice(*lattice)
        charges = problem.weights[lattice.live]
        kernels.look_ahead(kernels.Prices(graph, steps, charges, prices, ahead, through), 0, len(sets), 0.0, True)
        best = plain.ahead(cdag, budget, chosen)
        assert set(best) == set(sets)
        if most == 1:
            assert ahead.tolist() == [best[done] for done in sets]
        else:  # whole values fit, parts of values are let in
            assert all(mine <= best[done] for mine, done in zip(ahead.tolist(), sets, strict=True))
            assert (ahead == np.floor(ahead)).all()


def test_the_flow_is_the_gradient() -> None:
    cdag, budget = sample(5, 8)
    problem = problem_of(cdag, budget, apart(cdag))
    lattice = lattice_of(problem)
    assert lattice is not None
    rng = np.random.default_rng(0)
    charge = problem.weights[lattice.live]
    prices = rng.random((2, len(charge))) * np.array(
        [charge, np.where(lattice.live < len(problem.room), 2, 0) * charge]
    )
    ahead, through = np.empty(len(lattice.sets)), np.empty(len(lattice.nodes))
    graph, steps = lattice_kernels.Problem(*problem), lattice_kernels.Lattice(*lattice)
    work = kernels.Prices(graph, steps, charge, prices, ahead, through)
    kernels.look_ahead(work, 0, len(ahead), 0.5, False)
    kernels.follow(work, 0, len(ahead), 0.5)
    gradient, flow = np.array(work.gradient), np.array(work.flow)
    assert flow[-1] == pytest.approx(1.0, abs=1e-3)
    before, step = float(ahead[0]), 1e-6
    for kind in range(2):
        for entry in range(len(charge)):
            prices[kind, entry] += step
            kernels.look_ahead(work, 0, len(ahead), 0.5, False)
            prices[kind, entry] -= step
            assert (ahead[0] - before) / step == pytest.approx(gradient[kind, entry], abs=2e-3)


def prices_of(cdag: Cdag, budget: int, *, sets: int = 2**14, start: Potentials | None = None) -> Potentials:
    found = initial_prices(cdag, budget, most_sets=sets, start=start)
    assert found is not None
    return found


def agree(seeds: range, largest: int, sets: int = 2**14) -> None:
    for seed in seeds:
        cdag, budget = sample(seed, largest)
        excess = least_traffic(cdag, budget, recompute=False) - cdag.algorithmic_bound()
        limit = excess + int(np.random.default_rng(seed).integers(0, 4)) * int(np.gcd.reduce(cdag.weights))
        prices = prices_of(cdag, budget, sets=sets)
        for steps in range(3):
            assert prices.excess <= excess, seed
            from_end = bool((seed + steps) % 2)
            potential, given = prices.potential(Search(), from_end=from_end), tables(cdag, from_end=from_end)
            found = layered(cdag, budget, limit=excess + 1, search=Search(), potential=potential, given=given)
            if steps == 0 or limit > excess:
                assert found.complete, seed
                assert found.excess == excess, seed
                assert found.plan is not None
                assert replay(cdag, found.plan, budget, recompute=False).ok
            empty = layered(cdag, budget, limit=excess, search=Search(), potential=potential, given=given)
            assert empty.plan is None
            assert empty.complete
            prices.climb(limit, search=Search(effort=0.02 * (steps + 1)))
            if not prices.is_whole:
                assert prices.sets <= sets * (steps + 1)
                prices = prices_of(cdag, budget, sets=sets * (steps + 2), start=prices)


@pytest.mark.parametrize("sets", [3, 12])
def test_prices_of_parts_and_searches_agree_with_the_game(sets: int) -> None:
    agree(range(30, 42), 8, sets)


def test_bounds_and_searches_agree_with_the_game() -> None:
    agree(range(15), 8)


def test_shared_prices_and_searches_agree_with_the_game(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(potentials, "_MOST_PRICED_APART", 0)
    monkeypatch.setattr(potentials, "_CALL", 5)
    agree(range(15, 22), 8)


def test_chains_are_one_value() -> None:
    # 0 and 1 are read by 2, which 3 alone reads, with an input of its own; 5 reads 3 and what 2 reads too
    cdag = build([1] * 7, [0, 1, 4, 2, 6, 3, 4], [2, 2, 2, 3, 3, 5, 5])
    chains = chains_of(cdag)
    assert chains.nodes == [[2, 3], [5], [4]]
    heavier = build([1, 1, 1, 2, 1, 1, 1], [0, 1, 4, 2, 6, 3, 4], [2, 2, 2, 3, 3, 5, 5])
    assert chains_of(heavier).nodes[:3] == [[2], [3], [5]]


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_bounds_and_searches_agree_with_the_game_on_many() -> None:
    agree(range(1000, 2500), 10)
    agree(range(2500, 4000), 10, 12)


def test_a_climb_proves_an_optimum() -> None:
    cdag = case("fft:n=4,word=1").workload
    found = prices_of(cdag, 3)
    found.climb(6, search=Search(effort=60))
    assert found.excess == 6
    assert found.sets == 0
    above = prices_of(cdag, 3)
    above.climb(7, search=Search(effort=1))
    assert above.excess <= 6
    assert above.sets > 0


def test_a_guided_beam_finds_a_good_plan() -> None:
    cdag = case("pyramid:n=6,word=1").workload
    found = prices_of(cdag, 4)
    found.climb(13, search=Search(effort=1))
    cut = Cut(300, is_guided=True)
    outcome = layered(cdag, 4, limit=13, search=Search(), cut=cut, potential=found.potential(Search()))
    assert outcome.excess == 12
    assert outcome.plan is not None
    assert replay(cdag, outcome.plan, 4, recompute=False).ok


def test_graphs_that_are_too_large_get_none() -> None:
    assert initial_prices(case("fft:n=32,word=1").workload, 12) is None  # nodes
    tree = case("kary:k=2,depth=6,word=1").workload
    found = initial_prices(tree, 12, most_sets=2**14, search=Search(effort=0.5))  # of a part of it
    assert found is not None
    assert not found.is_whole
    assert found.sets <= 2**14
    assert initial_prices(build([2**15, 1, 1], [0, 1], [2, 2]), 2**16) is None  # weights
