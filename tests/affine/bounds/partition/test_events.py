"""The events of a segment, chosen for given sizes: larger bounds, which no order found beats."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from tests.affine.bounds.test_random_study import least_known
from tests.affine.derived import bound_of, flow_of, kernel

from shorthaul.affine.bounds.best import fitted, lower_bound
from shorthaul.affine.bounds.partition.candidates import best_events
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.quasi_polynomial import symbol
from shorthaul.affine.replay.cdag import concrete_cdag
from shorthaul.core.search import Search


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "size", "S"), [("cholesky", 2_000, 131_072), pytest.param("jacobi-1d", 2_000, 900, marks=pytest.mark.slow)]
)
def test_more_at_the_sizes_given(name: str, size: int, S: int) -> None:
    """The formula grows where it is asked for, nowhere does it fall, and its leading term stays."""
    sizes = {**dict.fromkeys(kernel(name).parameters, size), "S": S}
    general, made = (
        bound_of(name),
        lower_bound(kernel(name), flow=flow_of(name), sizes=sizes, search=Search(effort=0.2)),
    )
    assert made.value(sizes) > 1.01 * general.value(sizes)
    assert made.leading == general.leading
    for factor in (1, 3, 10):
        other = {**sizes, "S": S // factor}
        assert made.value(other) >= general.value(other)


STRIDED = """void f(int K, int C, int P, double I[C][2 * P + 10], double W[K][C][3], double O[K][P]) {
#pragma scop
for (int k = 0; k < K; k++)
  for (int p = 0; p < P; p++) {
    O[k][p] = 0.0;
    for (int c = 0; c < C; c++)
      for (int r = 0; r < 3; r++) O[k][p] += W[k][c][r] * I[c][2 * p + 4 * r];
  }
#pragma endscop
}"""


def test_arguments_are_chosen_for_the_sizes() -> None:
    """With few channels another argument is best than for large sizes; an order for these sizes does not beat it."""
    general = lower_bound(program_from_text(STRIDED), search=Search(effort=0.5))
    few, many = ({"K": 890, "P": 2505, "C": channels, "S": 1024} for channels in (8, 2505))
    assert fitted(general, few, Search(effort=0.2)).value(few) > 1.2 * general.value(few)
    assert general.value(few) == general.inputs.subs({symbol(name): value for name, value in few.items()})
    assert fitted(general, many, Search(effort=0.2)).value(many) < 1.1 * general.value(many)
    program, small = general.program, {"K": 12, "P": 14, "C": 2, "S": 6}
    value = fitted(general, small, Search(effort=0.2)).value(small)
    cdag = concrete_cdag(program, {name: small[name] for name in "KPC"})
    assert value <= least_known(cdag, small["S"], np.random.default_rng(3))


def test_the_events_that_are_worth_most() -> None:
    assert best_events(lambda events: -abs(events - 700), 700) == 700
    assert best_events(lambda events: -abs(events - 1_010), 700) == pytest.approx(1_010, rel=0.01)
    assert best_events(float, 1) >= 16


def hunt(name: str, sizes: dict[str, int], capacities: Iterable[int]) -> int:
    """Return how many arguments made for their sizes were larger than the general ones; none may be beaten."""
    general, cdag, rng = bound_of(name), concrete_cdag(kernel(name), sizes, flow_of(name)), np.random.default_rng(7)
    larger = 0
    for capacity in capacities:
        here = {**sizes, "S": capacity}
        at = {symbol(parameter): value for parameter, value in here.items()}
        made = [part.tuned(here) for part in general.proof.parts if part.tuned is not None]
        values = [general.inputs.subs(at) + item.value.subs(at) for item in made if item is not None]
        larger += len(values)
        assert not values or max(values) <= least_known(cdag, capacity, rng), (name, here)
    return larger


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("matmul", {"M": 9, "N": 8, "K": 11}),
        pytest.param("jacobi-1d", {"TSTEPS": 20, "N": 60}, marks=pytest.mark.slow),
        pytest.param("syrk", {"M": 9, "N": 12}, marks=pytest.mark.slow),
    ],
)
def test_no_order_beats_them(name: str, sizes: dict[str, int]) -> None:
    assert hunt(name, sizes, range(5, 9)) > 1
