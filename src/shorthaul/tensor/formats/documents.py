"""The contest's JSON: problem files and plan files, read with exact complaints and written as the contest wants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from shorthaul.core.arguments import public
from shorthaul.core.document import convert, decode_text, parse_json, read_bytes, save_json
from shorthaul.core.errors import InputError, nearest_name, unknown_name
from shorthaul.core.files.arrays import Column, is_archive
from shorthaul.core.files.columns import (
    MOST_JSON_ENTRIES,
    columns_digest,
    companion,
    expect_digest,
    read_columns,
    write_columns,
)
from shorthaul.core.result import Rows
from shorthaul.tensor.model import Machine, Operator, OperatorType, Problem, Tensor
from shorthaul.tensor.plan import Granularity, Plan, Subgraph

_PROBLEM_TYPES: Final[dict[str, Any]] = {
    "widths": list[int],
    "heights": list[int],
    "inputs": list[list[int]],
    "outputs": list[list[int]],
    "base_costs": list[float],
    "op_types": list[str],
    "fast_memory_capacity": float,
    "slow_memory_bandwidth": float,
    "native_granularity": list[int],
}
_PLAN_TYPES: Final[dict[str, Any]] = {
    "subgraphs": list[list[int]],
    "granularities": list[list[int]],
    "tensors_to_retain": list[list[int]],
    "traversal_orders": list[list[int] | None] | None,
    "subgraph_latencies": list[float],
}
RESULT_KIND: Final = "shorthaul/tensor-result"
PLAN_KIND: Final = "shorthaul/tensor-plan"
#: The columns of a long plan.
_COLUMNS: Final = {
    "granularities": Column(shape=(None, None)),
    "has_traversal": Column("biu"),
    "latencies": Column("f"),
    "operators": Column(),
    "operators_end": Column(least=0),
    "retained": Column(),
    "retained_end": Column(least=0),
    "traversals": Column(),
    "traversals_end": Column(least=0),
}
#: Numbers in all columns, at most: each is an object of Python.
_MOST_NUMBERS: Final = 1 << 24
#: Subgraphs for each operator, at most: as many as operators are always enough.
_MOST_FOR_OPERATOR: Final = 1000
#: A granularity or tile number beyond this is a mistake; it would not fit 64 bits.
_LARGEST_NUMBER: Final = 2**62


@public
def load_problem(path: str | Path, data: bytes | None = None) -> Problem:
    """Return the problem in a contest file, whose content may be given as ``data``.

    Parameters
    ----------
    path : str | Path
        The file.
    data : bytes | None
        Its content, if it was read already.

    Returns
    -------
    Problem
        The problem.

    Raises
    ------
    InputError
        If the file is missing or wrong: file, place, value and cure.

    Examples
    --------
    >>> load_problem("no.json")
    Traceback (most recent call last):
    shorthaul.core.errors.InputError: no.json: no such file
      do:      name a file that is there, or '-' and pipe it in
    """
    data = read_bytes(path) if data is None else data
    try:
        return problem_from_document(parse_json(decode_text(data)))
    except InputError as error:
        raise error.in_file(path) from None


@public
def load_plan(path: str | Path, problem: Problem) -> Plan:
    """Return the plan for ``problem`` in a contest file, in columns, or in a result document.

    A result document carries its plan, or names its columns.

    Parameters
    ----------
    path : str | Path
        The file.
    problem : Problem
        The problem that the plan is for.

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
    >>> from shorthaul.tensor.workloads.cases import example_3
    >>> load_plan("no.json", example_3())
    Traceback (most recent call last):
    shorthaul.core.errors.InputError: no.json: no such file
      do:      name a file that is there, or '-' and pipe it in
    """
    return plan_from_bytes(Path(path), read_bytes(path), problem)


def plan_from_bytes(path: Path, data: bytes, problem: Problem) -> Plan:
    """Return the plan for ``problem`` in the content of the file ``path``; see :func:`load_plan`."""
    try:
        if is_archive(data):
            return plan_from_columns(data, problem)
        document = parse_json(decode_text(data))
        if isinstance(document, dict) and document.get("kind") == RESULT_KIND:
            document = document.get("plan")
        if isinstance(document, dict) and document.get("kind") == PLAN_KIND:
            return _from_companion(path, document, problem)
        if isinstance(document, dict) and str(document.get("kind", "")).startswith("shorthaul/"):
            allowed = f"a plan of the contest's, {PLAN_KIND!r}, or {RESULT_KIND!r} with one"
            cure = "a network's plan goes with its ONNX model and --machine"
            raise InputError("is of another kind", place="kind", value=document["kind"], allowed=allowed, cure=cure)
        return plan_from_document(document, problem)
    except InputError as error:
        raise error.in_file(path) from None


def problem_from_document(document: object) -> Problem:
    """Return the problem that a contest document describes; raises :class:`InputError` naming the place."""
    fields = _fields(document, _PROBLEM_TYPES, "a problem")
    _same_length(fields, ("widths", "heights"), "one for every tensor")
    _same_length(fields, ("op_types", "inputs", "outputs", "base_costs"), "one for every operator")
    tensors = tuple(Tensor(w, h) for w, h in zip(fields["widths"], fields["heights"], strict=True))
    operators = tuple(_operator(fields, index) for index in range(len(fields["op_types"])))
    native = fields["native_granularity"]
    if len(native) != 2:
        raise InputError("must be two sizes", place="native_granularity", value=native, allowed="[width, height]")
    machine = Machine(_plain(fields["fast_memory_capacity"]), _plain(fields["slow_memory_bandwidth"]), *native)
    return Problem(tensors, operators, machine)


def _operator(fields: Mapping[str, Any], index: int) -> Operator:
    kind, outputs = fields["op_types"][index], fields["outputs"][index]
    known = [member.value for member in OperatorType]
    if kind not in known:
        raise unknown_name("operator type", kind, known, place=f"op_types[{index}]")
    if len(outputs) != 1:
        raise InputError(
            "an operator has exactly one output",
            place=f"outputs[{index}]",
            value=outputs,
            allowed="a list of one tensor number",
        )
    inputs = tuple(fields["inputs"][index])
    return Operator(OperatorType(kind), inputs, outputs[0], _plain(fields["base_costs"][index]))


def _plain(value: float) -> float:
    """Return an integral number as an integer, as files have it."""
    return int(value) if abs(value) < 2**53 and value == int(value) else value


def _fields(document: object, types: Mapping[str, Any], what: str) -> dict[str, Any]:
    if not isinstance(document, dict):
        raise InputError(f"is not {what}", value=document, allowed=f"a JSON object with {', '.join(types)}")
    fields = {}
    for name, wanted in types.items():
        if name not in document and name != "traversal_orders":
            others = [key for key in document if key not in types]
            raise InputError("is missing", place=name, nearest=nearest_name(name, others), cure=f"add {name}")
        value = document.get(name)
        _refuse_huge(value, name)
        fields[name] = convert(value, wanted, place=name)
    return fields


def _refuse_huge(value: object, place: str) -> None:
    if isinstance(value, list):
        for index, item in enumerate(value):
            _refuse_huge(item, f"{place}[{index}]")
    elif isinstance(value, int) and abs(value) > _LARGEST_NUMBER:
        raise InputError("is too large", place=place, value=value, allowed="64-bit integers")


def _same_length(fields: Mapping[str, Any], names: Sequence[str], allowed: str) -> None:
    first = names[0]
    for name in names[1:]:
        if len(fields[name]) != len(fields[first]):
            raise InputError(
                f"has another length than {first}",
                place=name,
                value=f"{len(fields[name])} entries, {first} has {len(fields[first])}",
                allowed=allowed,
            )


def problem_document(problem: Problem) -> dict[str, Any]:
    """Return ``problem`` as a contest document."""
    machine = problem.machine
    return {
        "widths": [tensor.width for tensor in problem.tensors],
        "heights": [tensor.height for tensor in problem.tensors],
        "inputs": [list(operator.inputs) for operator in problem.operators],
        "outputs": [[operator.output] for operator in problem.operators],
        "base_costs": [operator.base_cost for operator in problem.operators],
        "op_types": [operator.kind.value for operator in problem.operators],
        "fast_memory_capacity": machine.capacity,
        "slow_memory_bandwidth": machine.bandwidth,
        "native_granularity": [machine.native_width, machine.native_height],
    }


def plan_from_document(document: object, problem: Problem) -> Plan:
    """Return the plan that a contest document describes; raises :class:`InputError` naming the place.

    Only what no plan for ``problem`` can hold is refused here: wrong types, lengths that differ, numbers of operators
    and tensors that do not exist. Whether the plan keeps the rules is for the check to say.
    """
    fields = _fields(document, _PLAN_TYPES, "a plan")
    assert isinstance(document, dict)
    for name in document:
        if name not in _PLAN_TYPES:
            raise unknown_name("key of a plan", name, _PLAN_TYPES, place=name)
    count = len(fields["subgraphs"])
    if fields["traversal_orders"] is None:
        fields["traversal_orders"] = [None] * count
    _same_length(fields, tuple(_PLAN_TYPES), "one for every subgraph")
    _known(fields["subgraphs"], "subgraphs", "operator", len(problem.operators))
    _known(fields["tensors_to_retain"], "tensors_to_retain", "tensor", len(problem.tensors))
    subgraphs = []
    for index in range(count):
        size, order = fields["granularities"][index], fields["traversal_orders"][index]
        if len(size) != 3:
            raise InputError("must be three sizes", place=f"granularities[{index}]", value=size, allowed="[w, h, k]")
        subgraphs.append(
            Subgraph(
                operators=tuple(fields["subgraphs"][index]),
                granularity=Granularity(*size),
                retained=tuple(fields["tensors_to_retain"][index]),
                traversal=None if order is None else tuple(order),
                latency=fields["subgraph_latencies"][index],
            )
        )
    return Plan(tuple(subgraphs))


def _known(lists: list[list[int]], place: str, what: str, count: int) -> None:
    for index, numbers in enumerate(lists):
        if len(numbers) > count:
            place, allowed = f"{place}[{index}]", f"each {what} once"
            raise InputError("holds more than there are", place=place, value=f"{len(numbers)} numbers", allowed=allowed)
        for position, number in enumerate(numbers):
            if not 0 <= number < count:
                raise InputError(
                    f"no such {what}",
                    place=f"{place}[{index}][{position}]",
                    value=number,
                    allowed=f"{what}s 0 to {count - 1}",
                    cure="name the problem that the plan was made for",
                )


def plan_document(plan: Plan) -> dict[str, Any]:
    """Return ``plan`` as the contest's five lists; every subgraph must carry its latency."""
    subgraphs = plan.subgraphs
    return {
        "subgraphs": [list(subgraph.operators) for subgraph in subgraphs],
        "granularities": [[size.w, size.h, size.k] for size in (subgraph.granularity for subgraph in subgraphs)],
        "tensors_to_retain": [list(subgraph.retained) for subgraph in subgraphs],
        "traversal_orders": [
            None if subgraph.traversal is None else list(subgraph.traversal) for subgraph in subgraphs
        ],
        "subgraph_latencies": [subgraph.latency for subgraph in subgraphs],
    }


def entries(plan: Plan) -> int:
    """Return how many numbers the five lists of ``plan`` hold."""
    return sum(
        len(subgraph.operators) + len(subgraph.retained) + len(subgraph.traversal or ()) + 4
        for subgraph in plan.subgraphs
    )


def carried_document(plan: Plan) -> dict[str, Any]:
    """Return ``plan`` as a result document carries it: five lists, or if it is long, its length and digest."""
    count = entries(plan)
    if count <= MOST_JSON_ENTRIES:
        return plan_document(plan)
    head = {"kind": PLAN_KIND, "version": 1, "subgraphs": len(plan.subgraphs), "entries": count}
    return {**head, "digest": columns_digest(plan_columns(plan).values())}


def plan_columns(plan: Plan) -> dict[str, npt.NDArray[Any]]:
    """Return ``plan`` in columns: lists one after the other, and where that of each subgraph ends.

    Every subgraph must carry its latency.
    """
    subgraphs = plan.subgraphs
    sizes = [item.granularity for item in subgraphs]
    columns = {
        "granularities": np.array([(size.w, size.h, size.k) for size in sizes], np.int64).reshape(-1, 3),
        "has_traversal": np.array([item.traversal is not None for item in subgraphs], bool),
        "latencies": np.array([item.latency for item in subgraphs], np.float64),
    }
    lists = {
        "operators": [item.operators for item in subgraphs],
        "retained": [item.retained for item in subgraphs],
        "traversals": [item.traversal or () for item in subgraphs],
    }
    for name, given in lists.items():
        columns[name] = np.array([number for numbers in given for number in numbers], np.int64)
        columns[f"{name}_end"] = np.cumsum([len(numbers) for numbers in given], dtype=np.int64)
    return {name: columns[name] for name in _COLUMNS}


def plan_from_columns(data: bytes, problem: Problem) -> Plan:
    """Return the plan for ``problem`` in the bytes of an archive; raises :class:`InputError` naming the column."""
    columns = read_columns(data, PLAN_KIND, _COLUMNS)
    count, total = len(columns["has_traversal"]), sum(column.size for column in columns.values())
    for what, found, most in (
        ("numbers", total, _MOST_NUMBERS),
        ("subgraphs", count, _MOST_FOR_OPERATOR * len(problem.operators)),
    ):
        if found > most:
            raise InputError("is too long", place="plan", value=f"{found} {what}", allowed=f"up to {most}")
    traversals = _split(columns, "traversals", count)
    document = {
        "subgraphs": _split(columns, "operators", count),
        "granularities": columns["granularities"].tolist(),
        "tensors_to_retain": _split(columns, "retained", count),
        "traversal_orders": [
            numbers if has else None for numbers, has in zip(traversals, columns["has_traversal"].tolist(), strict=True)
        ],
        "subgraph_latencies": columns["latencies"].tolist(),
    }
    return plan_from_document(document, problem)


def _split(columns: Mapping[str, npt.NDArray[Any]], name: str, count: int) -> list[list[int]]:
    """Return the lists of every subgraph that stand one after the other in a column."""
    ends = columns[f"{name}_end"]
    if len(ends) != count or (np.diff(ends, prepend=0, append=len(columns[name])) < 0).any():
        raise InputError("does not say where lists end", place=f"{name}_end", allowed="one ascending end per subgraph")
    return [part.tolist() for part in np.split(columns[name], ends)[:count]]


def _from_companion(path: Path, document: Mapping[str, Any], problem: Problem) -> Plan:
    found = companion(path, document)
    if found is None:
        raise InputError("holds no lists, only their length", place="plan", cure="check the plan file itself")
    columns, data = found
    try:
        plan = plan_from_columns(data, problem)
    except InputError as error:
        raise error.in_file(columns) from None
    expect_digest(document, columns_digest(plan_columns(plan).values()), columns)
    return plan


@public
def save_problem(path: str | Path, problem: Problem) -> None:
    """Write ``problem`` as a contest file, whole or not at all.

    Parameters
    ----------
    path : str | Path
        The file to write.
    problem : Problem
        The problem.

    Raises
    ------
    InputError
        If the file cannot be written.

    Examples
    --------
    >>> from shorthaul.tensor.workloads.cases import example_3
    >>> save_problem("nowhere/problem.json", example_3())
    Traceback (most recent call last):
    shorthaul.core.errors.UnwritableError: nowhere/problem.json: its folder does not exist
      do:      make nowhere first
    """
    save_json(path, problem_document(problem), indent=None)


def plan_table(plan: Plan) -> Rows:
    """Return the columns, and a row per subgraph."""
    columns = ("subgraph", "operators", "w", "h", "k", "retained", "traversal", "latency")

    def row(number: int, item: Subgraph) -> list[object]:
        lists = (item.operators, item.retained, item.traversal or ())
        operators, retained, traversal = (" ".join(map(str, numbers)) for numbers in lists)
        size = item.granularity
        return [number, operators, size.w, size.h, size.k, retained, traversal, item.latency]

    return columns, map(row, count(), plan.subgraphs)


@public
def save_plan(path: str | Path, plan: Plan) -> None:
    """Write ``plan`` as a contest file, whole or not at all; a long one in columns beside it too.

    A path that ends in ``.npz`` takes the columns alone.

    Parameters
    ----------
    path : str | Path
        The file to write.
    plan : Plan
        The plan.

    Raises
    ------
    InputError
        If a file cannot be written.

    Examples
    --------
    >>> save_plan("nowhere/plan.json", Plan(()))
    Traceback (most recent call last):
    shorthaul.core.errors.UnwritableError: nowhere/plan.json: its folder does not exist
      do:      make nowhere first
    """
    path = Path(path)
    if path.suffix.lower() == ".npz" or entries(plan) > MOST_JSON_ENTRIES:
        write_columns(path, PLAN_KIND, plan_columns(plan))
    if path.suffix.lower() != ".npz":
        save_json(path, plan_document(plan), indent=None)
