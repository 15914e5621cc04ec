"""Plan files of the affine engine: an order of instances, as JSON or, when long, in columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shorthaul.affine.model import Program
from shorthaul.affine.plan import Plan
from shorthaul.core.arguments import public
from shorthaul.core.document import digest, json_text, parse_json, write_bytes
from shorthaul.core.errors import InputError, unknown_name
from shorthaul.core.files.arrays import Column
from shorthaul.core.files.columns import (
    MOST_JSON_ENTRIES,
    read_columns,
    read_plan,
    write_columns,
    write_head,
)

PLAN_KIND = "shorthaul/affine-plan"
_LARGEST_VALUE = 2**40


def _head(plan: Plan) -> dict[str, Any]:
    return {
        "kind": PLAN_KIND,
        "version": 1,
        "sizes": dict(plan.sizes),
        "fast_memory": plan.fast_memory,
        "tiling": plan.tiling,
        **({"levels": list(plan.levels)} if plan.levels else {}),
    }


def plan_document(plan: Plan, program: Program) -> dict[str, Any]:
    """Return ``plan`` as a document: ``order`` lists ``["S0", i, j]``; a long one is given by length and digest."""
    if len(plan) > MOST_JSON_ENTRIES:
        return {**_head(plan), "order": len(plan), "digest": plan_digest(plan)}
    widths = [len(program.by_name[name].iterators) for name in plan.names]
    rows = zip(plan.statements.tolist(), plan.iterations.tolist(), strict=True)
    return {**_head(plan), "order": [[plan.names[at], *row[: widths[at]]] for at, row in rows]}


def plan_table(plan: Plan, program: Program) -> tuple[list[str], Iterable[Sequence[object]]]:
    """Return the columns, and a row per instance in the order of execution: its statement and its iterations."""
    widths = [len(program.by_name[name].iterators) for name in plan.names]
    rows = zip(plan.statements.tolist(), plan.iterations.tolist(), strict=True)
    columns = ["statement", *(f"i{depth}" for depth in range(plan.iterations.shape[1]))]
    return columns, ([plan.names[at], *row[: widths[at]], *[""] * (len(row) - widths[at])] for at, row in rows)


def plan_digest(plan: Plan) -> str:
    """Return the SHA-256 of the order."""
    return digest(plan.statements.astype("<i8").tobytes() + plan.iterations.astype("<i8").tobytes())


@public
def save_plan(path: str | Path, plan: Plan, program: Program) -> None:
    """Write ``plan``; a long one in columns, with a short JSON document beside it unless ``path`` ends in ``.npz``.

    Parameters
    ----------
    path : str | Path
        The file to write.
    plan : Plan
        The plan.
    program : Program
        The program that it is for.

    Raises
    ------
    InputError
        If the file cannot be written.

    Examples
    --------
    >>> from shorthaul.affine.verbs.planning import plan
    >>> from shorthaul.affine.workloads.cases import kernel
    >>> found = plan(kernel("matvec"), size="M=2,N=2,S=8").plan
    >>> save_plan("nowhere/plan.json", found, kernel("matvec"))
    Traceback (most recent call last):
    shorthaul.core.errors.UnwritableError: nowhere/plan.json: its folder does not exist
      do:      make nowhere first
    """
    path = Path(path)
    if path.suffix.lower() != ".npz" and len(plan) <= MOST_JSON_ENTRIES:
        document = plan_document(plan, program)
        order = ",\n  ".join(json_text(item, indent=None).strip() for item in document.pop("order"))
        head = json_text(document, indent=None).strip()[:-1]
        write_bytes(path, f'{head}, "order": [\n  {order}\n]}}\n'.encode())
        return
    arrays = {
        "sizes": np.array(json_text(dict(plan.sizes), indent=None)),
        "fast_memory": np.array([plan.fast_memory, *plan.levels] if plan.levels else plan.fast_memory),
        "names": np.array(plan.names),
        "statements": plan.statements,
        "iterations": plan.iterations,
        "tiling": np.array(plan.tiling),
    }
    write_columns(path, PLAN_KIND, arrays)
    write_head(path, {**_head(plan), "digest": plan_digest(plan)})


@public
def load_plan(path: str | Path, program: Program) -> Plan:
    """Return the plan that a file holds: columns, a plan document, or a result document that carries a plan.

    Parameters
    ----------
    path : str | Path
        The file.
    program : Program
        The program that the plan is for.

    Returns
    -------
    Plan
        The plan.

    Raises
    ------
    InputError
        If the file is missing or wrong: file, place, value and cure.

    Examples
    --------
    >>> from shorthaul.affine.workloads.cases import kernel
    >>> load_plan("no.json", kernel("gemm"))
    Traceback (most recent call last):
    shorthaul.core.errors.InputError: no.json: no such file
      do:      name a file that is there, or '-' and pipe it in
    """
    kinds = (PLAN_KIND, "shorthaul/affine-result")
    return read_plan(
        Path(path),
        kinds,
        lambda data: _from_columns(data, program),
        lambda fields: _from_order(fields, program),
        plan_digest,
    )


def _sizes(value: Any, program: Program) -> dict[str, int]:
    if not isinstance(value, dict):
        raise InputError("is no object", place="sizes", value=value, allowed='{"N": 20, ...}')
    for name, size in value.items():
        if name not in program.parameters:
            raise unknown_name("parameter", name, program.parameters, place="sizes")
        if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size <= 10**9:
            raise InputError("is no size", place=f"sizes.{name}", value=size, allowed="integers from 0 to 1000000000")
    missing = [name for name in program.parameters if name not in value]
    if missing:
        raise InputError(f"gives no size for {', '.join(missing)}", place="sizes")
    return dict(value)


def _capacity(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < 2**50:
        raise InputError("is no size", place="fast_memory", value=value, allowed="words, integers from 1")
    return value


def _levels(value: Any, capacity: int) -> tuple[int, ...]:
    """Return the smaller memories of a plan, the largest first."""
    found = value if isinstance(value, list) else [value]
    if not all(_is_index(item) and 1 <= item < above for item, above in zip(found, [capacity, *found], strict=False)):
        raise InputError("are no memories", place="levels", value=value, allowed="words, falling, below fast_memory")
    return tuple(found)


def _from_order(fields: Mapping[str, Any], program: Program) -> Plan:
    order = fields.get("order")
    if isinstance(order, int) and not isinstance(order, bool):
        raise InputError("holds no order, only its length", place="order", cure="check the plan file itself")
    if not isinstance(order, list):
        raise InputError("is no list", place="order", value=order, allowed='[["S0", 0, 1], ...]')
    names = tuple(program.by_name)
    number = {name: at for at, name in enumerate(names)}
    widths = [len(item.iterators) for item in program.statements]
    iterations = np.zeros((len(order), max(widths)), dtype=np.int64)
    statements = np.zeros(len(order), dtype=np.int64)
    for k, item in enumerate(order):
        if not isinstance(item, list) or not item or not isinstance(item[0], str):
            raise InputError("is no instance", place=f"order[{k}]", value=item, allowed='["S0", 0, 1]')
        if item[0] not in number:
            raise unknown_name("statement", item[0], names, place=f"order[{k}]")
        at = number[item[0]]
        row = item[1:]
        if len(row) != widths[at] or not all(_is_index(value) for value in row):
            allowed = f"{item[0]} and {widths[at]} integers"
            raise InputError("is no instance", place=f"order[{k}]", value=item, allowed=allowed)
        statements[k] = at
        iterations[k, : len(row)] = row
    sizes, capacity = _sizes(fields.get("sizes"), program), _capacity(fields.get("fast_memory"))
    levels = _levels(fields.get("levels", []), capacity)
    return Plan(sizes, capacity, names, statements, iterations, str(fields.get("tiling", "")), levels)


def _is_index(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _LARGEST_VALUE


def _from_columns(data: bytes, program: Program) -> Plan:
    own = max(len(item.iterators) for item in program.statements)
    size = 1 << 50
    columns = {
        "sizes": Column("U", ()),
        "fast_memory": Column(shape=None),
        "names": Column("U", None),
        "statements": Column(least=0),
        "iterations": Column(shape=(None, None), least=-size, most=size),
        "tiling": Column("U", ()),
    }
    sizes, capacity, names, statements, iterations, tiling = read_columns(data, PLAN_KIND, columns).values()
    if len(statements) != len(iterations):
        raise InputError("must be of equal length", place="statements, iterations", value=statements.shape)
    if iterations.shape[1] != own:
        raise InputError(
            "is a plan of another program", place="iterations", value=iterations.shape[1], allowed=str(own)
        )
    listed = tuple(str(name) for name in np.atleast_1d(names).tolist())
    if len(statements) and int(statements.max()) >= len(listed):
        raise InputError("names a statement that does not exist", place="statements", value=int(statements.max()))
    given = _sizes(parse_json(str(sizes)), program)
    words, *levels = np.atleast_1d(capacity).ravel().tolist() or [0]
    return Plan(
        given,
        _capacity(words),
        listed,
        statements.astype(np.int64),
        iterations.astype(np.int64),
        str(tiling),
        _levels(levels, words),
    )
