"""The events of a segment, chosen for given sizes: larger bounds, which no order found beats."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from tests.affine.derived import bound_of, flow_of, kernel
from tests.affine.test_random_study import least_known

from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.bounds.partition.candidates import best_events
from shorthaul.affine.integer_sets.quasi_polynomial import symbol
from shorthaul.affine.replay.cdag import concrete_cdag


@pytest.mark.parametrize(("name", "size", "S"), [("cholesky", 2_000, 131_072), ("jacobi-1d", 2_000, 900)])
def test_more_at_the_sizes_given(name: str, size: int, S: int) -> None:
    """The formula grows where it is asked for, nowhere does it fall, and its leading term stays."""
    sizes = {**dict.fromkeys(kernel(name).parameters, size), "S": S}
    general, made = bound_of(name), lower_bound(kernel(name), flow=flow_of(name), sizes=sizes)
    assert made.value(sizes) > 1.01 * general.value(sizes)
    assert made.leading == general.leading
    for factor in (1, 3, 10):
        other = {**sizes, "S": S // factor}
        assert made.value(other) >= general.value(other)


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
    assert hunt(name, sizes, range(4, 9)) > 1
