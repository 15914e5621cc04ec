"""Data-movement lower bounds for C loop nests, with their proof.

shorthaul.affine.bound("kernel.c", size="N=1000,S=512")
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shorthaul.core.lazy import attach

if TYPE_CHECKING:
    from shorthaul.affine.formats.plans import load_plan, save_plan
    from shorthaul.affine.frontend.scop import program_from_text
    from shorthaul.affine.integer_sets.counting import card
    from shorthaul.affine.integer_sets.dependences import DataFlow, flow_dependences
    from shorthaul.affine.model import Program, Statement
    from shorthaul.affine.options import (
        BoundOptions,
        CdagOptions,
        CheckOptions,
        CodeOptions,
        PlanOptions,
        SweepOptions,
    )
    from shorthaul.affine.orders.upper_bound import UpperBound, upper_bound
    from shorthaul.affine.plan import Plan
    from shorthaul.affine.replay.cdag import ConcreteCdag, concrete_cdag
    from shorthaul.affine.verbs.bound import bound
    from shorthaul.affine.verbs.coding import code
    from shorthaul.affine.verbs.planning import cdag, check, plan
    from shorthaul.affine.verbs.sweep import sweep
    from shorthaul.affine.workloads.cases import case, cases

_NAMES = {
    **dict.fromkeys(("case", "cases"), "shorthaul.affine.workloads.cases"),
    **dict.fromkeys(("ConcreteCdag", "concrete_cdag"), "shorthaul.affine.replay.cdag"),
    "card": "shorthaul.affine.integer_sets.counting",
    **dict.fromkeys(("DataFlow", "flow_dependences"), "shorthaul.affine.integer_sets.dependences"),
    **dict.fromkeys(("load_plan", "save_plan"), "shorthaul.affine.formats.plans"),
    **dict.fromkeys(("Program", "Statement"), "shorthaul.affine.model"),
    **dict.fromkeys(
        ("BoundOptions", "CdagOptions", "CheckOptions", "CodeOptions", "PlanOptions", "SweepOptions"),
        "shorthaul.affine.options",
    ),
    "Plan": "shorthaul.affine.plan",
    "bound": "shorthaul.affine.verbs.bound",
    "code": "shorthaul.affine.verbs.coding",
    **dict.fromkeys(("cdag", "check", "plan"), "shorthaul.affine.verbs.planning"),
    "sweep": "shorthaul.affine.verbs.sweep",
    "program_from_text": "shorthaul.affine.frontend.scop",
    **dict.fromkeys(("UpperBound", "upper_bound"), "shorthaul.affine.orders.upper_bound"),
}

__all__ = [
    "BoundOptions",
    "CdagOptions",
    "CheckOptions",
    "CodeOptions",
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
    "cases",
    "cdag",
    "check",
    "code",
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
