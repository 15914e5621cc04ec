"""Data-movement lower bounds for C loop nests, with their proof.

shorthaul.affine.bound(shorthaul.affine.case("kernel.c").workload, size="N=1000,S=512")
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shorthaul.core.lazy import attach

if TYPE_CHECKING:
    from shorthaul.affine.cases import case
    from shorthaul.affine.cdag import ConcreteCdag, concrete_cdag
    from shorthaul.affine.counting import card
    from shorthaul.affine.dataflow import DataFlow, flow_dependences
    from shorthaul.affine.formats import load_plan, save_plan
    from shorthaul.affine.model import Program, Statement
    from shorthaul.affine.options import BoundOptions, CdagOptions, CheckOptions, PlanOptions, SweepOptions
    from shorthaul.affine.plan import Plan
    from shorthaul.affine.planning import bound, cdag, check, plan, sweep
    from shorthaul.affine.scop import program_from_text
    from shorthaul.affine.upper import UpperBound, upper_bound

_NAMES = {
    "case": "shorthaul.affine.cases",
    **dict.fromkeys(("ConcreteCdag", "concrete_cdag"), "shorthaul.affine.cdag"),
    "card": "shorthaul.affine.counting",
    **dict.fromkeys(("DataFlow", "flow_dependences"), "shorthaul.affine.dataflow"),
    **dict.fromkeys(("load_plan", "save_plan"), "shorthaul.affine.formats"),
    **dict.fromkeys(("Program", "Statement"), "shorthaul.affine.model"),
    **dict.fromkeys(
        ("BoundOptions", "CdagOptions", "CheckOptions", "PlanOptions", "SweepOptions"), "shorthaul.affine.options"
    ),
    "Plan": "shorthaul.affine.plan",
    **dict.fromkeys(("bound", "cdag", "check", "plan", "sweep"), "shorthaul.affine.planning"),
    "program_from_text": "shorthaul.affine.scop",
    **dict.fromkeys(("UpperBound", "upper_bound"), "shorthaul.affine.upper"),
}

__all__ = [
    "BoundOptions",
    "CdagOptions",
    "CheckOptions",
    "ConcreteCdag",
    "DataFlow",
    "Plan",
    "PlanOptions",
    "Program",
    "Statement",
    "SweepOptions",
    "UpperBound",
    "bound",
    "card",
    "case",
    "cdag",
    "check",
    "concrete_cdag",
    "flow_dependences",
    "load_plan",
    "plan",
    "program_from_text",
    "save_plan",
    "sweep",
    "upper_bound",
]

__getattr__, __dir__ = attach(__name__, _NAMES)
