"""``shorthaul doctor``: what is installed, what is compiled, what is missing and how to get it."""

from __future__ import annotations

import json as json_module
import platform
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from shorthaul.cli.verbs import single, verb
from shorthaul.core.version import VERSION

REQUIRED = (
    "numpy",
    "scipy",
    "ortools",
    "islpy",
    "sympy",
    "pycparser",
    "typer",
    "rich",
    "jinja2",
    "msgspec",
    "pyyaml",
    "moocore",
)
#: Packages that widen what can be read, each with the extra that installs it and what it is for.
OPTIONAL = {
    "scikit-learn": ("sklearn", "decision trees and forests (spatial)"),
    "onnx": ("onnx", "ONNX models (convert)"),
    "networkx": ("graphs", "GraphML and GML files, graphs of networkx (pebble)"),
    "plotly": ("plotly", "Result.figure() in Python; pages and SVG do without"),
    "distributed": ("cluster", "searches on a Dask cluster (--cluster)"),
}
PROGRAMS = {"cacti": "SRAM estimates by CACTI (pebble memory)"}


app = single()


@verb(app, "doctor")
def doctor(
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Say what is installed, what is compiled and what is missing."""
    rows = [*_versions(), *_kernels(), *_programs()]
    missing = [name for kind, name, state, _ in rows if kind != "optional" and state == "missing"]
    if json:
        keys = ("kind", "name", "state", "remedy")
        print(
            json_module.dumps(
                {"version": VERSION, "items": [dict(zip(keys, row, strict=True)) for row in rows]}, indent=1
            )
        )
    else:
        from shorthaul.report.text import print_table

        print(f"shorthaul {VERSION}, Python {platform.python_version()}, {platform.system()} {platform.machine()}")
        print_table(("", "name", "state", "to get it"), rows, file=sys.stdout)
    raise typer.Exit(2 if missing else 0)


def _versions() -> list[tuple[str, str, str, str]]:
    from importlib.metadata import PackageNotFoundError, version

    def state(package: str) -> str:
        try:
            return version(package)
        except PackageNotFoundError:
            return "missing"

    rows = []
    for package in REQUIRED:
        found = state(package)
        rows.append(("required", package, found, f"pip install {package}" if found == "missing" else ""))
    for package, (extra, use) in OPTIONAL.items():
        found = state(package)
        remedy = f"pip install 'shorthaul[{extra}]': {use}" if found == "missing" else ""
        rows.append(("optional", package, found, remedy))
    return rows


def _kernels() -> list[tuple[str, str, str, str]]:
    from importlib.machinery import EXTENSION_SUFFIXES

    from shorthaul.core.compiled.required import CURE
    from shorthaul.core.compiled.twins import IS_COMPILED

    if not IS_COMPILED:
        return [("kernels", "all", "plain Python", "unset SHORTHAUL_COMPILED")]
    root = Path(__file__).parents[1]
    sources = sorted(root.rglob("*_kernels.py"))
    missing = [path for path in sources if not any(path.with_suffix(end).exists() for end in EXTENSION_SUFFIXES)]
    rows = [("kernels", str(path.relative_to(root).with_suffix("")), "missing", CURE) for path in missing]
    return rows or [("kernels", "all", f"{len(sources)} compiled", "")]


def _programs() -> list[tuple[str, str, str, str]]:
    return [
        ("program", name, shutil.which(name) or "not on PATH", "" if shutil.which(name) else f"optional: {use}")
        for name, use in PROGRAMS.items()
    ]
