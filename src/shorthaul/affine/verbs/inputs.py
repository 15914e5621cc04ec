"""What the verbs take as program and as plan."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

from shorthaul.affine.formats.plans import load_plan, plan_document, plan_table, save_plan
from shorthaul.affine.frontend.einsum import without_arrow
from shorthaul.affine.model import Program
from shorthaul.affine.plan import Plan
from shorthaul.affine.workloads.cases import CASES
from shorthaul.core.cases import Source, Workloads
from shorthaul.core.result import Result
from shorthaul.core.verbs import Plans

Workload: TypeAlias = Program | Source[Program] | str | PathLike[str]
PlanLike: TypeAlias = Plan | Result[Plan] | str | PathLike[str]


def _load(path: Path, data: bytes, options: Any) -> Program:
    from shorthaul.affine.frontend.scop import load

    return load(path, data, None if options is None else options.function)


PROGRAMS = Workloads(
    Program,
    CASES,
    _load,
    "a Program, a built-in kernel, a C or Python file with loops or its text, a sum such as 'ij,jk->ik'",
    of_files=("function",),
    mistaken=without_arrow,
)
PLANS: Plans[Plan, Program] = Plans(Plan, load_plan, plan_document, save_plan, plan_table)
