"""The sum of arguments at given sizes: those of no common vertices that are worth most together."""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl
import pytest
import sympy

from shorthaul.affine.bounds.choice import Fixed, combined_at
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.proofs.proof import SubBound
from shorthaul.affine.workloads.cases import kernel


@dataclass(frozen=True)
class Item:
    spill: isl.UnionSet


def argument(value: int, vertices: str) -> Fixed:
    spill = isl.UnionSet(f"{{ A[i] : {vertices} }}")
    made = SubBound("phases", ("S0",), vertices, sympy.Integer(value), spill, vertices, {}, (), ())
    return Fixed(Item(spill), (float(value),), lambda: made, lambda _: float(value))


@pytest.mark.parametrize("with_made", [False, True])
def test_two_that_are_worth_more_take_the_place_of_the_largest(with_made: bool) -> None:
    pool = [argument(10, "0 <= i < 9"), argument(7, "0 <= i < 4"), argument(6, "4 <= i < 8"), argument(2, "i = 20")]
    made = [(5.0, argument(5, "8 <= i < 12").count())] if with_made else []
    chosen = combined_at(
        pool, made, flow_dependences(kernel("gemm")), {"S": 8}, lambda bound: (float(bound.value), bound), 1.0, 0.01
    )
    assert sorted(value for value, _ in chosen) == ([2, 5, 6, 7] if with_made else [2, 6, 7])
    assert all(
        one[1].spill.intersect(other[1].spill).is_empty() for one in chosen for other in chosen if one is not other
    )
