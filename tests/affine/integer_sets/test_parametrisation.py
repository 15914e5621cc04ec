"""Sums over the iterations of outer loops, and why K-partitions need none."""

from __future__ import annotations

import islpy as isl
import numpy as np
import pytest

from shorthaul.affine.bounds.partition.brascamp_lieb import best_exponents, least_sum
from shorthaul.affine.integer_sets.parametrisation import disjoint_part, positive_sum
from shorthaul.affine.integer_sets.quasi_polynomial import Polynomial
from shorthaul.affine.integer_sets.subspaces import span


@pytest.mark.costly
@pytest.mark.parametrize("seed", range(12))
def test_exponents_of_a_slice_fit_the_whole(seed: int) -> None:
    """Kernels in the directions of the inner loops: one more outer loop changes neither exponents nor U."""
    rng = np.random.default_rng(seed)
    rows = [rng.integers(-1, 2, (int(rng.integers(1, 3)), 3)).tolist() for _ in range(int(rng.integers(2, 5)))]
    slices = tuple(item for item in (span(part) for part in rows) if 0 < len(item) < 3)
    if len(slices) < 2:
        slices = (span([(1, 0, 0)]), span([(0, 1, 0)]), span([(0, 0, 1)]))
    whole = tuple(span([(0, *row) for row in item]) for item in slices)
    inner = least_sum(slices, 3)
    outer = least_sum(whole, 4)
    assert outer == (None if inner is None else max(inner, 1))
    clique = (tuple(range(len(slices))),)
    one, other = best_exponents(slices, 3, clique), best_exponents(whole, 4, clique)
    assert (one is None) == (other is None)
    if one is not None and other is not None:
        assert one.coefficient() == pytest.approx(other.coefficient(), rel=1e-3)


@pytest.mark.parametrize(("count", "direct"), [
    (Polynomial.variable("x0").scaled(2), lambda i: 2 * i),
    (Polynomial.variable("N").plus(Polynomial.variable("x0").scaled(-1)), lambda i: 9 - i),
    (Polynomial.floor(Polynomial.variable("x0"), 2).scaled(3), lambda i: 3 * (i // 2)),
])  # fmt: skip
def test_sums_over_the_iterations_with_a_positive_bound(count: Polynomial, direct) -> None:
    events = isl.Set("[N] -> { e[x0] : 0 <= x0 < N }")
    found = positive_sum(events, count, isl.Set("[N] -> { : }"))
    for memory in (1, 2, 5, 12):
        expected = sum(max(0, direct(i) - memory + 1) for i in range(9))
        assert found.weight_at({"N": 9, "S": memory}) == expected


def test_events_that_share_vertices_do_not_add_up() -> None:
    assert disjoint_part([isl.UnionMap("[N] -> { e[i] -> a[j] : 0 <= i, j < N }")]) is None
    apart = isl.UnionMap("[N] -> { e[i] -> a[i, j] : 0 <= i, j < N; e[i] -> b[j] : 0 <= i, j < N }")
    kept = disjoint_part([apart])
    assert kept is not None
    assert kept.is_equal(isl.UnionMap("[N] -> { e[i] -> a[i, j] : 0 <= i, j < N }"))
