"""``shorthaul demo``: the main job of every engine, as the commands a user would type."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from shorthaul.cli.verbs import single, verb
from shorthaul.core.errors import InputError

#: What the demo runs; every input is built in.
JOBS = (
    ("tensor", "plan transformer-block --effort 1"),
    ("pebble", "plan dwt:n=256,d=8 --budget 160"),
    ("affine", "bound gemm --size NI=1000,NJ=1000,NK=1000,S=32768"),
    ("dataflow", "plan sobel --generations 100"),
    ("spatial", "plan yule:n=65536,seed=1"),
)


app = single()


@verb(app, "demo")
def demo(
    folder: Annotated[Path, typer.Option("--output", "-o", help="Folder for results and report.")] = Path("out"),
) -> None:
    """Run the main job of every engine and draw one report."""
    from shorthaul.core.document import load_json, write_text
    from shorthaul.report.html import render
    from shorthaul.report.text import print_table

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        cure = "name a folder that is there, or can be made"
        raise InputError(f"is no folder: {error.strerror}", file=folder, cure=cure) from None
    results = {engine: folder / f"{engine}.json" for engine, _ in JOBS}
    for engine, arguments in JOBS:
        _run([engine, *shlex.split(arguments), "--result", str(results[engine])])
    documents = [load_json(path) for path in results.values()]
    page = folder / "demo.html"
    write_text(page, render(documents, names=[str(path) for path in results.values()]))
    rows = [_row(engine, document) for engine, document in zip(results, documents, strict=True)]
    print_table(("engine", "input", "cost", "bound", "gap", "status", "check", "seconds"), rows, file=sys.stdout)
    print(f"\nreport: {page.resolve()}")


def _run(arguments: list[str]) -> None:
    print(f"$ shorthaul {shlex.join(arguments)}", flush=True)
    # -P: a file called numpy.py in the folder of the call is none of ours
    done = subprocess.run([sys.executable, "-P", "-m", "shorthaul", *arguments], check=False)
    print(flush=True)
    if done.returncode:
        raise typer.Exit(done.returncode)


def _row(engine: str, document: Mapping[str, Any]) -> tuple[Any, ...]:
    from shorthaul.report.text import amount

    bound, cost, gap = document["bound"], document["cost"], document["gap"]
    plan = document["plan"]
    if isinstance(plan, dict) and "front" in plan:
        cost_text = f"a front of {len(plan['front'])} points, each with its bound"
    elif bound is None or cost is None:
        cost_text = "-"
    else:
        cost_text = f"{bound['of']} {amount(cost[bound['of']])}"
    return (
        engine,
        document["provenance"]["input"],
        cost_text,
        "-" if bound is None else amount(bound["value"]),
        "-" if gap is None else f"{gap:.1%}",
        document["status"] or "-",
        "-" if document["check"] is None else "passed" if document["check"]["ok"] else "failed",
        round(document["provenance"]["wall_time_s"], 1),
    )
