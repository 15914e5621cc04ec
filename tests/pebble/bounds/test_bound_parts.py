from __future__ import annotations

import numpy as np
import pytest
from tests.pebble.exact.test_exact import random_cdag
from tests.reference.pebble_game_kernels import least_traffic
from tests.samples import samples

from shorthaul.core.search import Search
from shorthaul.pebble import case, tuning
from shorthaul.pebble.bounds import part_packing, parts
from shorthaul.pebble.bounds.packing_lp import packed
from shorthaul.pebble.model import LARGEST_TOTAL, Cdag, build
from shorthaul.pebble.states.layered_search import layered


def random_partition(rng: np.random.Generator, n: int) -> list[frozenset[int]]:
    colour = rng.random(n) < 0.8
    return [frozenset(np.flatnonzero(colour).tolist()), frozenset(np.flatnonzero(~colour).tolist())]


def sums_stay_below(seeds: range, largest: int) -> tuple[int, int]:
    """Check that the bounds of disjoint parts add up to no more than the optimum; return how often they say anything."""
    lifted = lifted_recomputing = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        cdag = random_cdag(rng, int(rng.integers(5, largest + 1)), int(rng.choice([1, 2, 5])))
        budget = cdag.least_budget() + int(rng.integers(0, 2))
        least = cdag.algorithmic_bound()
        optimum = least_traffic(cdag, budget, recompute=False)
        again = least_traffic(cdag, budget, recompute=True)
        assert optimum is not None
        assert again is not None
        if optimum == least:
            continue
        for cut in [random_partition(rng, cdag.n) for _ in range(4)]:
            once = recomputing = 0
            for nodes in cut:
                part = parts.restriction(cdag, nodes)
                value = 0 if part is None else parts.excess(part[0], budget, search=Search())
                assert value is not None
                once += value
                game = parts.recomputing(cdag, nodes)
                if game is not None:
                    recomputing += parts.excess_recomputing(game, budget, search=Search())
            assert least + once <= optimum, seed
            assert least + recomputing <= again, seed
            lifted += once > 0
            lifted_recomputing += recomputing > 0
    return lifted, lifted_recomputing


def test_bounds_of_disjoint_parts_add_up_to_no_more_than_the_game_takes() -> None:
    once, recomputing = sums_stay_below(range(15), 8)
    assert once > 1
    assert recomputing > 0


@pytest.mark.slow
def test_bounds_of_disjoint_parts_on_thousands() -> None:
    once, recomputing = sums_stay_below(range(5000, 7000), 8)
    assert once > 200
    assert recomputing > 100


def test_no_sum_exceeds_the_optimum_of_larger_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "LARGEST_PART", 9)  # so that the whole is no part
    monkeypatch.setattr(tuning, "PARTS_PATIENCE_EFFORT", 0.2)
    lifted = 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        cdag = random_cdag(rng, int(rng.integers(12, 18)), int(rng.choice([1, 3])))
        budget = cdag.least_budget() + int(rng.integers(0, 2))
        outcome = layered(cdag, budget, limit=10**9, search=Search())
        assert outcome.excess is not None
        found = part_packing.excess(cdag, budget, search=Search(effort=60), goal=outcome.excess)
        assert found.excess <= outcome.excess, seed
        lifted += found.excess > 0
    assert lifted > 0


@pytest.mark.costly
@pytest.mark.parametrize(
    ("text", "budget", "least", "known"),
    [
        ("fft:n=16,word=1", 6, 48, 57),
        pytest.param("mvm:m=4,n=6,word=1", 3, 60, 77, marks=pytest.mark.slow),
        ("matmul:m=3,n=3,k=3,word=1", 9, 29, 33),
        pytest.param("pyramid:n=10,word=1", 3, 40, 87, marks=pytest.mark.slow),
        ("fft:n=32,word=2", 12, 192, 320),
    ],
)
def test_hard_graphs(text: str, budget: int, least: int, known: int) -> None:
    cdag = case(text).workload
    goal = least - cdag.algorithmic_bound()
    found = part_packing.excess(cdag, budget, search=Search(effort=25), goal=goal)
    assert least <= cdag.algorithmic_bound() + found.excess <= known
    assert sum(value * share for _, value, share in found.parts) == pytest.approx(found.excess, abs=1)


def test_parts_in_which_values_are_computed_again_need_no_inputs() -> None:
    cdag = case("fft:n=8,word=1").workload
    found = part_packing.excess(cdag, 3, search=Search(effort=1), recompute=True, goal=6)
    assert 6 <= found.excess <= 24
    pyramid = case("pyramid:n=6,word=1").workload
    inner = parts.recomputing(pyramid, range(7, 28))
    assert inner is not None
    assert not inner.cdag.given.any()
    assert inner.outside[:6].tolist() == [2] * 6
    assert parts.excess_recomputing(inner, 4, search=Search(effort=0.1)) > 0


def test_a_fractional_packing_is_summed_exactly() -> None:
    triangle = packed(3, [[0, 1], [1, 2], [0, 2]], [5, 5, 5], search=Search())
    assert triangle.total == 8
    assert all(2 * share <= triangle.whole for share in triangle.shares)
    assert packed(3, [[0, 1], [1, 2], [0, 2]], [6, 6, 6], unit=6, search=Search()).total == 12
    assert packed(4, [], [], search=Search()).total == 0


def test_a_packing_never_gives_a_node_away_twice() -> None:
    rng = np.random.default_rng(3)
    for _ in samples(50):
        n = int(rng.integers(3, 12))
        sets = [sorted({int(v) for v in rng.integers(0, n, 4)}) for _ in range(12)]
        values = rng.integers(1, 9, 12).tolist()
        found = packed(n, sets, values, search=Search())
        for v in range(n):
            assert sum(share for part, share in zip(sets, found.shares, strict=True) if v in part) <= found.whole
        total = sum(share * value for share, value in zip(found.shares, values, strict=True))
        assert found.total * found.whole >= total > (found.total - 1) * found.whole


def test_weights_whose_gates_would_be_too_large_are_left_alone() -> None:
    cdag = build([LARGEST_TOTAL // 4] * 4, [0, 1, 2], [2, 2, 3])
    assert part_packing.excess(cdag, cdag.least_budget(), search=Search()).excess == 0


def test_no_time_gives_no_bound_but_an_answer() -> None:
    cdag: Cdag = case("fft:n=64,word=1").workload
    assert part_packing.excess(cdag, 4, search=Search(effort=0.01)).excess >= 0
