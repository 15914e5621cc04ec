"""Load / store schedules for computation DAGs on a small fast memory: the weighted red-blue pebble game.

shorthaul.pebble.plan(cdag, budget=48)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shorthaul.core.lazy import attach

if TYPE_CHECKING:
    from shorthaul.pebble.formats.documents import load_cdag, load_plan, save_plan
    from shorthaul.pebble.formats.graphs import from_dependencies
    from shorthaul.pebble.model import Cdag, build, from_pairs
    from shorthaul.pebble.options import (
        BoundOptions,
        CheckOptions,
        CodeOptions,
        MemoryOptions,
        PlanOptions,
        RunOptions,
        SweepOptions,
    )
    from shorthaul.pebble.plan import Move, Plan, plan_of
    from shorthaul.pebble.verbs.coding import code
    from shorthaul.pebble.verbs.planning import bound, case, cases, check, plan, run
    from shorthaul.pebble.verbs.trade_off import memory, sweep

_NAMES = {
    **dict.fromkeys(("load_cdag", "load_plan", "save_plan"), "shorthaul.pebble.formats.documents"),
    "from_dependencies": "shorthaul.pebble.formats.graphs",
    **dict.fromkeys(("Cdag", "build", "from_pairs"), "shorthaul.pebble.model"),
    **dict.fromkeys(
        ("BoundOptions", "CheckOptions", "CodeOptions", "MemoryOptions", "PlanOptions", "RunOptions", "SweepOptions"),
        "shorthaul.pebble.options",
    ),
    **dict.fromkeys(("Move", "Plan", "plan_of"), "shorthaul.pebble.plan"),
    **dict.fromkeys(("bound", "case", "cases", "check", "plan", "run"), "shorthaul.pebble.verbs.planning"),
    "code": "shorthaul.pebble.verbs.coding",
    **dict.fromkeys(("memory", "sweep"), "shorthaul.pebble.verbs.trade_off"),
}

__all__ = [
    "BoundOptions",
    "Cdag",
    "CheckOptions",
    "CodeOptions",
    "MemoryOptions",
    "Move",
    "Plan",
    "PlanOptions",
    "RunOptions",
    "SweepOptions",
    "bound",
    "build",
    "case",
    "cases",
    "check",
    "code",
    "from_dependencies",
    "from_pairs",
    "load_cdag",
    "load_plan",
    "memory",
    "plan",
    "plan_of",
    "run",
    "save_plan",
    "sweep",
]

__getattr__, __dir__ = attach(__name__, _NAMES)
