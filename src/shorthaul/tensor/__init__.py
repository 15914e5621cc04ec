"""Scheduling operator graphs on a scratchpad accelerator (the MLSys 2026 scheduling contest).

``plan``, ``bound``, ``check``, ``run`` and ``sweep`` take a :class:`Problem`; ``load_problem`` and ``load_plan`` read
the contest's files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shorthaul.core.lazy import attach

if TYPE_CHECKING:
    from shorthaul.tensor.formats.documents import load_plan, load_problem, save_plan, save_problem
    from shorthaul.tensor.model import CONTEST, SPEC, Machine, Operator, OperatorType, Problem, Rules, Tensor
    from shorthaul.tensor.networks.model import Network
    from shorthaul.tensor.networks.plan import NetworkPlan
    from shorthaul.tensor.options import CheckOptions, PlanOptions, RuleOptions, RunOptions, SweepOptions
    from shorthaul.tensor.plan import Granularity, Plan, Subgraph
    from shorthaul.tensor.verbs.planning import bound, case, cases, check, plan, run
    from shorthaul.tensor.verbs.sweeping import sweep
    from shorthaul.tensor.workloads.cases import CASES

_NAMES = {
    "CASES": "shorthaul.tensor.workloads.cases",
    **dict.fromkeys(("load_plan", "load_problem", "save_plan", "save_problem"), "shorthaul.tensor.formats.documents"),
    **dict.fromkeys(
        ("CONTEST", "SPEC", "Machine", "Operator", "OperatorType", "Problem", "Rules", "Tensor"),
        "shorthaul.tensor.model",
    ),
    "Network": "shorthaul.tensor.networks.model",
    "NetworkPlan": "shorthaul.tensor.networks.plan",
    **dict.fromkeys(
        ("CheckOptions", "PlanOptions", "RuleOptions", "RunOptions", "SweepOptions"), "shorthaul.tensor.options"
    ),
    **dict.fromkeys(("Granularity", "Plan", "Subgraph"), "shorthaul.tensor.plan"),
    **dict.fromkeys(("bound", "case", "cases", "check", "plan", "run"), "shorthaul.tensor.verbs.planning"),
    "sweep": "shorthaul.tensor.verbs.sweeping",
}

__all__ = [
    "CASES",
    "CONTEST",
    "SPEC",
    "CheckOptions",
    "Granularity",
    "Machine",
    "Network",
    "NetworkPlan",
    "Operator",
    "OperatorType",
    "Plan",
    "PlanOptions",
    "Problem",
    "RuleOptions",
    "Rules",
    "RunOptions",
    "Subgraph",
    "SweepOptions",
    "Tensor",
    "bound",
    "case",
    "cases",
    "check",
    "load_plan",
    "load_problem",
    "plan",
    "run",
    "save_plan",
    "save_problem",
    "sweep",
]


__getattr__, __dir__ = attach(__name__, _NAMES)
