from __future__ import annotations

import numpy as np
import pytest
from tests.reference.pebble_game_kernels import least_traffic
from tests.samples import samples

from shorthaul.core.amounts import Bound
from shorthaul.core.errors import InfeasibleError
from shorthaul.core.search import Search
from shorthaul.pebble import case, tuning
from shorthaul.pebble.check.replay import replay
from shorthaul.pebble.exact import beam, solver
from shorthaul.pebble.model import Cdag, build
from shorthaul.pebble.orders import belady
from shorthaul.pebble.request import better
from shorthaul.pebble.states import potentials
from shorthaul.pebble.states.layered_search import Layers, layered, tables


def random_cdag(rng: np.random.Generator, n: int, most: int) -> Cdag:
    """A random CDAG in topological order; on some, values are computed from nothing."""
    fewest = int(rng.random() < 0.7)
    edges = {
        (int(p), v) for v in range(1, n) for p in rng.choice(v, min(v, int(rng.integers(fewest, 4))), replace=False)
    }
    edges.add((0, n - 1))
    sources, targets = (np.array([edge[end] for edge in sorted(edges)], dtype=np.int64) for end in (0, 1))
    first, is_read = np.ones(n, dtype=bool), np.zeros(n, dtype=bool)
    first[targets], is_read[sources] = False, True
    given = first & is_read & (rng.random(n) < rng.choice([0.3, 0.8, 1.0]))
    return build(rng.integers(1, most + 1, n), sources, targets, given=given)


def sample(seed: int, largest: int) -> tuple[Cdag, int]:
    rng = np.random.default_rng(seed)
    cdag = random_cdag(rng, int(rng.integers(3, largest + 1)), int(rng.choice([1, 2, 5, 9])))
    return cdag, cdag.least_budget() + int(rng.integers(0, 5))


def agree(seeds: range, largest: int) -> None:
    for seed in seeds:
        cdag, budget = sample(seed, largest)
        optimum = least_traffic(cdag, budget, recompute=False)
        least = cdag.algorithmic_bound()
        ways = [tables(cdag, from_end=from_end) for from_end in (False, True)]
        both = [layered(cdag, budget, limit=10**9, search=Search(), given=way) for way in ways]
        assert both[0].excess == both[1].excess, seed
        found = both[seed % 2]
        assert found.complete
        assert found.plan is not None
        assert found.excess == optimum - least, seed
        report = replay(cdag, found.plan, budget, recompute=False)
        assert report.ok, (seed, report.violations[:2])
        assert report.cost is not None
        assert report.cost["traffic"] == optimum
        if optimum > least:  # a pass whose limit is the optimum finds nothing, and says so for certain
            empty = layered(cdag, budget, limit=optimum - least, search=Search(), given=ways[seed // 2 % 2])
            assert empty.plan is None
            assert empty.complete


def test_the_search_agrees_with_the_game() -> None:
    agree(range(20), 8)


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_the_search_agrees_with_the_game_on_thousands() -> None:
    agree(range(1000, 4000), 10)


def test_states_give_way_to_those_that_hold_what_is_read_earlier() -> None:
    """There were 30,686 without exchanges between states, and 40,205 where loads of what had left forced no node either."""
    cdag = case("cg:n=3,percent=70,k=1,most=1,seed=303").workload
    found = Layers(cdag, 6, 15, tables(cdag, from_end=True))
    assert found.run(Search()).complete
    assert found.states <= 20_000


def test_solve_proves_what_the_game_says() -> None:
    for seed in samples(40):
        cdag, budget = sample(seed, 8)
        plan, bound, proven = solver.solve(cdag, budget, search=Search())
        assert proven
        assert plan.traffic(cdag.weights) == bound == least_traffic(cdag, budget, recompute=False)


@pytest.mark.costly
@pytest.mark.parametrize(
    ("text", "budget", "optimum"),
    [
        ("fft:n=8,word=1", 3, 40),
        ("fft:n=8,word=1", 6, 24),
        ("fft:n=8,word=1", 9, 18),
        ("fft:n=8,word=16", 48, 640),
        ("matmul:m=2,n=2,k=3,word=1", 3, 38),
        ("matmul:m=2,n=2,k=3,word=1", 6, 19),
        ("matmul:m=2,n=2,k=3,word=1", 9, 16),
        pytest.param("matmul:m=2,n=3,k=3,word=1", 6, 27, marks=pytest.mark.slow),
        pytest.param("matmul:m=2,n=3,k=3,word=1", 9, 23, marks=pytest.mark.slow),
        pytest.param("mvm:m=4,n=6,word=1", 5, 40, marks=pytest.mark.slow),
        pytest.param("mvm:m=4,n=6,word=1", 6, 38, marks=pytest.mark.slow),
        ("mvm:m=4,n=6,word=1", 9, 34),
        ("pyramid:n=10,word=1", 3, 87),
        pytest.param("pyramid:n=10,word=1", 9, 18, marks=pytest.mark.slow),
    ],
)
def test_known_optima(text: str, budget: int, optimum: int) -> None:
    cdag = case(text).workload
    least = cdag.algorithmic_bound()
    # The pass that is to prove the optimum; the beam would only tell its limit.
    found = layered(cdag, budget, limit=optimum - least + 1, search=Search())
    assert found.complete
    assert found.excess == optimum - least
    assert found.plan is not None
    assert replay(cdag, found.plan, budget, recompute=False).ok


@pytest.mark.slow
def test_a_narrow_search_still_gives_plans_that_pass() -> None:
    for seed in range(4):
        cdag = random_cdag(np.random.default_rng(seed), 70, 3)
        budget = cdag.least_budget() + seed % 4
        plan = beam.plan(cdag, budget, search=Search(), widest=64)
        assert replay(cdag, plan, budget, recompute=False).ok


def test_effort_that_is_spent_still_gives_a_plan_and_a_true_bound() -> None:
    cdag = case("fft:n=16,word=1").workload
    plan, bound, proven = solver.solve(cdag, 6, search=Search(effort=0.01))
    assert replay(cdag, plan, 6, recompute=False).ok
    assert not proven
    assert 32 <= bound <= 57


def test_too_small_a_budget_is_refused() -> None:
    with pytest.raises(InfeasibleError, match="fast memory"):
        solver.solve(case("fft:n=8,word=1").workload, 2, search=Search())


def test_what_a_search_excludes_is_rounded_up_to_what_weights_add_up_to() -> None:
    cdag = build([8, 8, 24], [0, 1], [1, 2])
    first = Bound("traffic", cdag.algorithmic_bound(), "algorithmic", "")
    raised = better(cdag, first, first.value + 12, proven=False, recompute=False)
    assert raised.value == first.value + 16
    assert better(cdag, first, first.value, proven=False, recompute=False) is first


def test_prices_of_many_computed_sets_prove_true_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(potentials, "_FEW_SETS", 16)
    monkeypatch.setattr(potentials, "_MOST_PRICED_APART", 16)
    cdag = case("pyramid:n=6,word=1").workload
    search = Search(effort=2)
    tried = solver._Solver(cdag, 4, belady.plan(cdag, 4), cdag.algorithmic_bound(), search)
    tried.use_potential(16 / tuning.PRICED_SETS)
    assert tried.bound == cdag.algorithmic_bound()  # too many sets for so little
    tried.use_potential(tuning.FIRST_TURN)
    assert cdag.algorithmic_bound() < tried.bound <= cdag.algorithmic_bound() + 12 <= tried.best.traffic(cdag.weights)
