"""The sum of arguments at given sizes: those of no common vertices that are worth most."""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl
import pytest
import sympy

from shorthaul.affine.bounds import choice
from shorthaul.affine.bounds.choice import Fixed, combined_at
from shorthaul.affine.bounds.partition.candidates import Candidate, candidates, instances
from shorthaul.affine.integer_sets import counting
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
def test_those_that_are_worth_most_are_taken_one_after_the_other(with_made: bool) -> None:
    pool = [argument(10, "0 <= i < 9"), argument(7, "0 <= i < 4"), argument(2, "i = 20")]
    made = [(5.0, argument(5, "9 <= i < 12").count())] if with_made else []
    chosen = combined_at(
        pool, made, flow_dependences(kernel("gemm")), {"S": 8}, lambda bound: (float(bound.value), bound), 1.0, 0.01
    )
    assert sorted(value for value, _ in chosen) == ([2, 5, 10] if with_made else [2, 10])


class Partitioned(Candidate):
    """An argument that may lose instances, worth at most its points."""

    @property
    def spill(self) -> isl.UnionSet:
        return self.argument.spill

    def most_at(self, _: object) -> float:
        return float(self.points[0])


def test_what_turns_out_to_be_worth_less_gives_what_others_have_left_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, less = (argument(value, vertices) for value, vertices in ((6, "0 <= i < 9"), (5, "4 <= i < 9")))
    first, rest = (Partitioned(one.item, (most,), (), (), one.count) for one, most in ((whole, 10), (less, 5)))
    monkeypatch.setattr(choice, "_remainder", lambda item, *_, **__: rest if item is first else None)
    chosen = combined_at(
        [first, argument(7, "0 <= i < 4")],
        [],
        flow_dependences(kernel("gemm")),
        {"S": 8},
        lambda bound: (float(bound.value), bound),
        1.0,
        0.01,
    )
    assert sorted(value for value, _ in chosen) == [5, 7]


def test_an_argument_whose_formula_has_too_many_pieces_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    flow = flow_dependences(kernel("gemm"))
    found = candidates(flow, [item.name for item in flow.program.statements], instances(), symmetric=True)
    monkeypatch.setattr(counting, "MOST_PRINTED_PIECES", 0)
    assert found
    assert all(item.count() is None for item in found)
