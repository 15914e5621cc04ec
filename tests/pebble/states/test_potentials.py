from __future__ import annotations

import numpy as np
import pytest
from tests.reference import pebble_potential as plain
from tests.reference.pebble_game_kernels import least_traffic

from shorthaul.core.search import Search
from shorthaul.pebble import case
from shorthaul.pebble.check.replay import replay
from shorthaul.pebble.model import Cdag, build
from shorthaul.pebble.states import lattice_kernels
from shorthaul.pebble.states import potential_kernels as kernels
from shorthaul.pebble.states.layered_search import Cut, layered
from shorthaul.pebble.states.potentials import Potentials, initial_prices, lattice_of, problem_of


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


def members(done: int) -> frozenset[int]:
    return frozenset(v for v in range(64) if done >> v & 1)


@pytest.mark.parametrize("most", [1, 5])
def test_the_kernel_proves_what_trying_everything_does(most: int) -> None:
    for seed in range(25):
        cdag, budget = sample(seed, 7, most)
        unit = int(np.gcd.reduce(cdag.weights))
        problem = problem_of(cdag, budget)
        lattice = lattice_of(problem)
        assert lattice is not None
        sets = [members(int(done)) for done in lattice.sets]
        rng = np.random.default_rng(seed)
        chosen: plain.Prices = {}
        prices = np.zeros((2, len(lattice.live)))
        for at, done in enumerate(sets):
            assert lattice.live[lattice.live_first[at] : lattice.live_first[at + 1]].tolist() == plain.live_after(
                cdag, done
            )
            for entry in range(lattice.live_first[at], lattice.live_first[at + 1]):
                u = int(lattice.live[entry])
                weight = 12 * int(cdag.weights[u]) // unit
                saved, unsaved = int(rng.integers(0, weight + 1)), int(rng.integers(0, 2 * weight + 1))
                unsaved *= not problem.given[u]
                chosen[done, u] = saved, unsaved
                prices[:, entry] = saved, unsaved
        ahead, through = np.empty(len(sets)), np.empty(len(lattice.nodes))
        ends = 6 * rng.random(len(through))
        graph, steps = lattice_kernels.Problem(*problem), lattice_kernels.Lattice(*lattice)
        kernels.look_ahead(kernels.Prices(graph, steps, prices, ends, ahead, through), 0.0, True)
        best = plain.ahead(cdag, budget, chosen)
        assert set(best) == set(sets)
        if most == 1:
            assert ahead.tolist() == [best[done] for done in sets]
        else:  # whole values fit, parts of values are let in
            assert all(mine <= best[done] for mine, done in zip(ahead.tolist(), sets, strict=True))
            assert (ahead == np.floor(ahead)).all()


def test_the_flow_is_the_gradient() -> None:
    cdag, budget = sample(5, 8)
    problem = problem_of(cdag, budget)
    lattice = lattice_of(problem)
    assert lattice is not None
    rng = np.random.default_rng(0)
    charge = problem.weights[lattice.live]
    prices = rng.random((2, len(charge))) * np.array([charge, 2 * charge])
    ahead, through = np.empty(len(lattice.sets)), np.empty(len(lattice.nodes))
    ends = np.zeros_like(through)
    graph, steps = lattice_kernels.Problem(*problem), lattice_kernels.Lattice(*lattice)
    work = kernels.Prices(graph, steps, prices, ends, ahead, through)
    kernels.look_ahead(work, 0.5, False)
    kernels.follow(work, 0.5)
    gradient, flow = np.array(work.gradient), np.array(work.flow)
    assert flow[-1] == pytest.approx(1.0, abs=1e-3)
    before, step = float(ahead[0]), 1e-6
    for kind in range(2):
        for entry in range(len(charge)):
            prices[kind, entry] += step
            kernels.look_ahead(work, 0.5, False)
            prices[kind, entry] -= step
            assert (ahead[0] - before) / step == pytest.approx(gradient[kind, entry], abs=2e-3)


def prices_of(cdag: Cdag, budget: int) -> Potentials:
    found = initial_prices(cdag, budget)
    assert found is not None
    return found


def agree(seeds: range, largest: int) -> None:
    for seed in seeds:
        cdag, budget = sample(seed, largest)
        excess = least_traffic(cdag, budget, recompute=False) - cdag.algorithmic_bound()
        limit = excess + int(np.random.default_rng(seed).integers(0, 4)) * int(np.gcd.reduce(cdag.weights))
        potentials = prices_of(cdag, budget)
        for steps in range(3):
            assert potentials.excess <= excess, seed
            potential = potentials.potential()
            found = layered(cdag, budget, limit=excess + 1, search=Search(), potential=potential)
            if steps == 0 or limit > excess:
                assert found.complete, seed
                assert found.excess == excess, seed
                assert found.plan is not None
                assert replay(cdag, found.plan, budget, recompute=False).ok
            empty = layered(cdag, budget, limit=excess, search=Search(), potential=potential)
            assert empty.plan is None
            assert empty.complete
            potentials.climb(limit, search=Search(effort=0.02 * (steps + 1)))


def test_bounds_and_searches_agree_with_the_game() -> None:
    agree(range(15), 8)


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_bounds_and_searches_agree_with_the_game_on_many() -> None:
    agree(range(1000, 2500), 10)


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
    outcome = layered(cdag, 4, limit=13, search=Search(), cut=cut, potential=found.potential())
    assert outcome.excess == 12
    assert outcome.plan is not None
    assert replay(cdag, outcome.plan, 4, recompute=False).ok


def test_graphs_that_are_too_large_get_none() -> None:
    assert initial_prices(case("fft:n=16,word=1").workload, 12) is None  # nodes
    assert initial_prices(case("kary:k=2,depth=5,word=1").workload, 12) is None  # computed sets
    assert initial_prices(build([2**15, 1, 1], [0, 1], [2, 2]), 2**16) is None  # weights
