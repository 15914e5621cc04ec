"""Compulsory loads: every input is read from slow memory at least once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sympy

from shorthaul.affine.counting import card
from shorthaul.affine.dataflow import flow_dependences
from shorthaul.affine.model import Program
from shorthaul.affine.options import BoundOptions


@dataclass(frozen=True)
class CompulsoryBound:
    """The number of inputs, as a lower bound on the loads."""

    formula: sympy.Expr
    leading: sympy.Expr
    inputs: sympy.Expr
    operations: sympy.Expr
    oi_limit: sympy.Expr
    proof: tuple[dict[str, Any], ...]

    def value(self, sizes: Mapping[str, int]) -> float:
        """Return the bound at ``sizes``."""
        return float(self.formula.subs({name: sizes.get(str(name), name) for name in self.formula.free_symbols}))


def lower_bound(program: Program, options: BoundOptions) -> CompulsoryBound:  # noqa: ARG001
    """Return the number of inputs of ``program``."""
    flow = flow_dependences(program)
    inputs = sympy.expand(sum(card(item).expression() for item in flow.inputs.values()))
    work = sympy.expand(sum(card(item.domain).expression() * item.operations for item in program.statements))
    step = {"argument": "compulsory loads", "text": f"every input is loaded at least once: {inputs}"}
    return CompulsoryBound(inputs, inputs, inputs, work, work / inputs, (step,))
