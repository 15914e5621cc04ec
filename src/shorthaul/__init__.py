"""The cost of moving data: how little has to move, which plan moves that little, and is a plan right.

The engines are loaded at first use: ``shorthaul.tensor``, ``shorthaul.pebble``, ``shorthaul.affine``,
``shorthaul.dataflow``, ``shorthaul.spatial``.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from shorthaul.core.lazy import attach
from shorthaul.core.version import VERSION

if TYPE_CHECKING:
    from shorthaul import affine, dataflow, pebble, spatial, tensor
    from shorthaul.bridges.conversion import convert
    from shorthaul.core.amounts import Bound, Cost
    from shorthaul.core.check import CheckReport, Violation
    from shorthaul.core.errors import InfeasibleError, InputError, NoPlanError, ShorthaulError
    from shorthaul.core.result import Result, Status
    from shorthaul.core.search import Search
    from shorthaul.report.html import report

if os.environ.get("SHORTHAUL_COMPILED") == "0":  # kernels as plain Python, for debugging
    from shorthaul.core.compiled import twins

    twins.install()
else:
    from shorthaul.core.compiled import required

    required.install()

__version__ = VERSION

_NAMES = {
    **{engine: f"shorthaul.{engine}" for engine in ("affine", "dataflow", "pebble", "spatial", "tensor")},
    **dict.fromkeys(("Bound", "Cost"), "shorthaul.core.amounts"),
    **dict.fromkeys(("CheckReport", "Violation"), "shorthaul.core.check"),
    **dict.fromkeys(("InfeasibleError", "InputError", "NoPlanError", "ShorthaulError"), "shorthaul.core.errors"),
    **dict.fromkeys(("Result", "Status"), "shorthaul.core.result"),
    "Search": "shorthaul.core.search",
    "convert": "shorthaul.bridges.conversion",
    "report": "shorthaul.report.html",
}

__all__ = [
    "Bound",
    "CheckReport",
    "Cost",
    "InfeasibleError",
    "InputError",
    "NoPlanError",
    "Result",
    "Search",
    "ShorthaulError",
    "Status",
    "Violation",
    "__version__",
    "affine",
    "convert",
    "dataflow",
    "pebble",
    "report",
    "spatial",
    "tensor",
]


__getattr__, __dir__ = attach(__name__, _NAMES)
