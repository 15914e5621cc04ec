"""Where a verb's answer goes: files, the JSON document, the table for people, the exit status."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import redirect_stdout, suppress
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn, TextIO, TypeVar

import typer

from shorthaul.cli.flags import Answer, Listing, Output
from shorthaul.core.cases import Case
from shorthaul.core.document import json_pieces, json_text, save_json, write_text
from shorthaul.core.drawing.exports import csv_of
from shorthaul.core.errors import STANDARD_STREAM, InfeasibleError, InputError, UnwritableError
from shorthaul.core.files.outputs import MISPLACED, promise_output, put
from shorthaul.core.result import RESULT_VERSION, Result, Rows, Status
from shorthaul.core.searching.memory import stop_watching

T = TypeVar("T")

_EXIT = {Status.OPTIMAL: 0, Status.FEASIBLE: 0, Status.INVALID: 1, Status.INFEASIBLE: 3, Status.TIMEOUT: 4, None: 0}

#: The exit status of an answer that is not where it was asked for.
_UNWRITTEN = 2
#: A folder of files in memory, where the system has one.
_IN_MEMORY = "/dev/shm"


def finish(result: Result[Any], output: Answer, **parts: Any) -> NoReturn:
    """Write what was asked for, print the document or the table, and end with the exit status of ``result``.

    The parts are those of :func:`_written`. Where memory runs out on the way, all of it is done once more without
    figures. A file that cannot be written, here or by the verb, goes to a second place, and ends the command with
    status 2 after everything else was written; without such a place the document is printed.
    """
    try:
        _written(result, output, **parts)
    except MemoryError:
        _written(dataclasses.replace(result, figures=()), output, **parts)


def _written(
    result: Result[Any],
    output: Answer,
    *,
    details: Callable[[TextIO], object] | None = None,
    table: Rows | None = None,
) -> NoReturn:
    """Write and print a result: its plan to the path after ``-o`` unless it has violations, in the form it ends with.

    A table is the plan's own, or ``table``. ``details`` prints what stands above the summary, after everything is
    written.
    """
    target = output.output if isinstance(output, Output) else None
    form, plan = result.plan_file, result.plan
    if target is not None and form is not None and plan is not None:
        if result.status is Status.INVALID:
            print(f"{target}: not written, since the plan has violations", file=sys.stderr)
        elif target.suffix.lower() == ".csv":
            target = put(target, lambda path: write_text(path, csv_of(*(table or form.table(plan, form.workload)))))
        else:
            target = put(target, lambda path: form.save(path, plan, form.workload))

    @cache
    def document() -> dict[str, Any]:
        carried = None if form is None or plan is None else form.document(plan, form.workload)
        return result.document(carried if target is None else _with_file(carried, target, output))

    if output.result is not None:
        put(output.result, partial(save_json, value=document()))
    lost = None in MISPLACED.values()
    shown = json_pieces(document()) if output.json or lost else ()
    stop_watching()
    if shown:
        sys.stdout.writelines(shown)
        sys.stdout.flush()
    from shorthaul.report.text import print_summary

    stream = sys.stderr if output.json or lost else sys.stdout
    if details is not None:
        details(stream)
    print_summary(result, file=stream)
    raise typer.Exit(_UNWRITTEN if MISPLACED else _EXIT[result.status])


def put_answer(path: Path, write: Callable[[Path], object]) -> None:
    """Write the file that is all that a verb answers: elsewhere, with status 2, where it cannot be written.

    Without such a place, text goes through memory to standard output.
    """
    place, stream = put(path, write), sys.stdout
    if place == path:
        return
    if place is None:
        with suppress(OSError, UnwritableError, UnicodeDecodeError), TemporaryDirectory(dir=_IN_MEMORY) as folder:
            with redirect_stdout(sys.stderr):
                write(Path(folder) / path.name)
            stream.write((Path(folder) / path.name).read_bytes().decode())
    raise typer.Exit(_UNWRITTEN)


def text_file(path: Path | None, forms: Collection[str]) -> Path | None:
    """Return the file that the text of a verb goes to, and note that it is to be written; None: standard output."""
    if path is None or str(path) == STANDARD_STREAM:
        return None
    promise_output(path, forms)
    return path


def refuse_output(output: Output, instead: str) -> None:
    """Raise :class:`InputError` if ``-o`` asks for a plan and none was given; ``--result`` has ``instead``."""
    if output.output is not None:
        cure = f"give the plan to be replayed and written, or take --result for the {instead}"
        raise InputError("there is no plan to write", place="--output", value=str(output.output), cure=cure)


def _with_file(plan_document: Any, target: Path, output: Answer) -> Any:
    """Return the document of a plan, one that is too long for it with the path of its columns, as ``-o`` wrote them.

    That begins where the document lies, or is printed.
    """
    if not isinstance(plan_document, dict) or "digest" not in plan_document or target.suffix.lower() == ".csv":
        return plan_document
    from shorthaul.core.files.columns import columns_path

    folder = Path() if output.result is None else output.result.parent
    return {**plan_document, "file": os.path.relpath(columns_path(target), folder)}


def print_cases(cases: Iterable[Case[Any]], listing: Listing) -> None:
    """Print the built-in workloads of an engine: a table, or one JSON object with every parameter."""
    if listing.json:
        parameters = ("default", "help", "choices", "least", "most")
        entries = [
            {
                "name": case.name,
                "summary": case.summary,
                "usage": case.usage(),
                "parameters": {
                    name: {key: getattr(parameter, key) for key in parameters}
                    for name, parameter in case.parameters.items()
                },
            }
            for case in cases
        ]
        sys.stdout.write(json_text({"kind": "shorthaul/cases", "version": RESULT_VERSION, "cases": entries}))
        return
    from shorthaul.report.text import print_table

    print_table(("case", "what it is"), [(case.usage(), case.summary) for case in cases], file=sys.stdout)


def infeasible_document(error: InfeasibleError, command: str) -> dict[str, Any]:
    """Return the result document of a problem that is proven to have no plan."""
    whence = {"command": command} if error.provenance is None else error.provenance.document()
    return {
        "kind": f"shorthaul/{whence['command'].partition(' ')[0]}-result",
        "version": RESULT_VERSION,
        "status": Status.INFEASIBLE.value,
        "cost": None,
        "bound": None,
        "gap": None,
        "check": None,
        "plan": None,
        "provenance": whence,
        "infeasible": _reason(error) | {"further": [_reason(other) for other in error.further]},
        "figures": [],
    }


def _reason(error: InfeasibleError) -> dict[str, Any]:
    return {
        "resource": error.resource,
        "place": error.place,
        "demand": error.demand,
        "limit": error.limit,
        "contributors": [{"who": item.who, "amount": item.amount} for item in error.contributors],
        "cure": error.cure,
    }


def tell_infeasible(error: InfeasibleError, command: str, given: Mapping[str, Any]) -> None:
    """Print the result document, or write it, where the flags of the command ask for it."""
    document = infeasible_document(error, command)
    if given.get("json"):
        sys.stdout.write(json_text(document))
        sys.stdout.flush()
    if given.get("result") is not None:
        put(given["result"], partial(save_json, value=document))
