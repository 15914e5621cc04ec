"""CDAGs as HyperDAG text, dependency dictionaries and networkx graphs."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.core.arguments import public
from shorthaul.core.errors import InputError
from shorthaul.pebble.model import LARGEST_TOTAL, BoolArray, Cdag, build

IntArray = npt.NDArray[np.int64]

#: The most nodes and edges read from a file.
MOST_ENTRIES = 4_000_000


def read_hyperdag(text: str, *, file: str | Path | None = None, work: bool = False) -> Cdag:
    r"""Return the CDAG of a HyperDAG file: each hyperedge goes from its first pin to its other pins.

    The weight of a node is the last number on the line of its hyperedge (1 where there is none, and for outputs).
    With ``work`` the first number on the line of a vertex is what computing it costs (0 where there is none). Vertices
    without any pin are dropped; the others keep their number as their id. Raises :class:`InputError` with the line of
    whatever is wrong.

    >>> read_hyperdag("1 2 2\n0 3\n0 1\n1 1\n0 0\n0 1\n").weights.tolist()
    [3, 1]
    """
    lines = [(i, line) for i, line in enumerate(text.splitlines(), 1) if line.strip() and line.lstrip()[0] != "%"]
    if not lines:
        raise InputError("is empty", file=file, allowed="a HyperDAG file")
    counts = _integers(lines[0], file)
    if len(counts) < 3 or min(counts[:3]) < 0:
        raise InputError(
            "is no header", file=file, place=f"line {lines[0][0]}", value=lines[0][1].strip(), allowed="M N P"
        )
    hyperedges, vertices, pins = counts[:3]
    if vertices > MOST_ENTRIES or pins > MOST_ENTRIES:
        raise InputError("is too large", file=file, value=counts[:3], allowed=f"up to {MOST_ENTRIES} vertices and pins")
    expected = 1 + hyperedges + vertices + pins
    if len(lines) != expected:
        raise InputError(
            "has the wrong number of lines", file=file, value=len(lines), allowed=f"{expected}, as its header says"
        )
    sizes = np.ones(hyperedges, dtype=np.int64)
    seen: set[int] = set()
    for line in lines[1 : 1 + hyperedges]:
        numbers = _integers(line, file)
        _in_range(numbers[0], hyperedges, "hyperedge", line, file)
        if numbers[0] in seen:
            raise InputError("a hyperedge is given twice", file=file, place=f"line {line[0]}", value=numbers[0])
        seen.add(numbers[0])
        if len(numbers) > 1:
            sizes[numbers[0]] = _size(numbers[-1], line, file)
    costs = np.zeros(vertices, dtype=np.int64)
    for line in lines[1 + hyperedges : 1 + hyperedges + vertices] if work else ():
        numbers = _integers(line, file)
        _in_range(numbers[0], vertices, "vertex", line, file)
        if len(numbers) > 1:
            costs[numbers[0]] = cost_from(numbers[1], f"line {line[0]}")
    return _from_pins(lines[1 + hyperedges + vertices :], sizes, costs, file)


def _from_pins(lines: Sequence[tuple[int, str]], sizes: IntArray, costs: IntArray, file: str | Path | None) -> Cdag:
    source, vertices = [-1] * len(sizes), len(costs)
    weights = np.ones(vertices, dtype=np.int64)
    starts: list[int] = []
    stops: list[int] = []
    owner: dict[int, int] = {}
    for line in lines:
        numbers = _integers(line, file)
        if len(numbers) < 2:
            raise InputError("is no pin", file=file, place=f"line {line[0]}", value=line[1], allowed="hyperedge vertex")
        hyperedge, vertex = numbers[:2]
        _in_range(hyperedge, len(sizes), "hyperedge", line, file)
        _in_range(vertex, vertices, "vertex", line, file)
        if source[hyperedge] < 0:
            if vertex in owner and sizes[owner[vertex]] != sizes[hyperedge]:
                raise InputError(
                    "a vertex has two hyperedges of different weights", file=file, place=f"line {line[0]}", value=vertex
                )
            owner[vertex] = hyperedge
            source[hyperedge] = vertex
            weights[vertex] = sizes[hyperedge]
        else:
            starts.append(source[hyperedge])
            stops.append(vertex)
    used = np.zeros(vertices, dtype=bool)
    start, stop = np.array(starts, dtype=np.int64), np.array(stops, dtype=np.int64)
    used[start] = True
    used[stop] = True
    number = np.cumsum(used) - 1
    ids = None if used.all() else np.flatnonzero(used).tolist()
    name = "" if file is None else str(file)
    return build(weights[used], number[start], number[stop], compute=costs[used], ids=ids, name=name)


def _integers(line: tuple[int, str], file: str | Path | None) -> list[int]:
    words = line[1].partition("%")[0].split()
    try:
        numbers = [int(word) for word in words]
    except ValueError:
        numbers = []
    if not numbers or max(map(abs, numbers)) >= 2**63:
        raise InputError(
            "is no line of integers",
            file=file,
            place=f"line {line[0]}",
            value=line[1].strip(),
            allowed="64-bit integers, as in a HyperDAG file, which a file without another format's suffix is taken for",
            cure="name graphs .json, .dot, .gv, .mtx, .graphml, .gml, .edgelist or .edges as their format is",
        )
    return numbers


def _in_range(number: int, limit: int, what: str, line: tuple[int, str], file: str | Path | None) -> None:
    if not 0 <= number < limit:
        raise InputError(
            f"names no {what}", file=file, place=f"line {line[0]}", value=number, allowed=f"0 to {limit - 1}"
        )


def _size(size: int, line: tuple[int, str], file: str | Path | None) -> int:
    if size < 1:
        raise InputError(
            "a weight must be positive", file=file, place=f"line {line[0]}", value=size, allowed="integers from 1"
        )
    return size


def cost_from(value: Any, place: str) -> int:
    """Return what computing a node costs; raises :class:`InputError` if ``value`` is no integer from 0."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LARGEST_TOTAL:
        allowed = f"integers from 0 to {LARGEST_TOTAL}"
        raise InputError("must be an integer from 0", place=place, value=value, allowed=allowed, cure="scale the costs")
    return value


def from_networkx(graph: Any) -> Cdag:
    """Return the CDAG of a ``networkx.DiGraph``; a node's attribute ``weight``, or ``size``, is its size, else it is 1.

    The attribute ``compute`` is what computing it costs, 0 where it has none. A node without predecessors whose
    attribute ``input`` is False is computed from nothing, one whose attribute ``output`` is True is an output though
    others read it. Inputs that nothing reads are left out. Raises :class:`InputError` for an undirected graph, for
    weights that are no positive integers and for costs that are no integers from 0.
    """
    if not graph.is_directed():
        raise InputError("is not directed", value=type(graph).__name__, allowed="edges to what is computed (DiGraph)")
    weights, compute = _sizes(graph), _attribute(graph, "compute", 0)
    constants = {node for node, given in _attribute(graph, "input", 1).items() if not _flag("input", given, node)}
    kept = {node for node, found in _attribute(graph, "output", 0).items() if _flag("output", found, node)}
    used = [node for node in graph.nodes if graph.degree(node) or node in constants]
    dependencies: dict[Any, list[Any]] = {node: [] for node in used}
    for start, stop in graph.edges():
        dependencies[stop].append(start)
    weights, compute = ({node: found[node] for node in used} for found in (weights, compute))
    return _from_lists(dependencies, weights, compute, constants, str(graph.name), kept)


def _flag(key: str, given: Any, node: Any) -> bool:
    """Return whether an attribute says that a node is an input, say; raises :class:`InputError`."""
    found = {"true": True, "false": False, "1": True, "0": False}.get(str(given).lower())
    if found is None:
        raise InputError("is no truth value", place=f"{key} of {node}", value=given, allowed="true, false")
    return found


def _sizes(graph: Any) -> dict[Any, Any]:
    """Return the attribute ``weight`` of all nodes, or ``size``."""
    weights, sizes = _attribute(graph, "weight", None), _attribute(graph, "size", None)
    for node, size in sizes.items():
        if weights[node] is None:
            weights[node] = 1 if size is None else size
        elif size is not None and size != weights[node]:
            cure = "leave one of the two attributes out"
            raise InputError("has a weight and another size", place=f"node {node}", value=size, cure=cure)
    return weights


def _attribute(graph: Any, key: str, default: int | None) -> dict[Any, Any]:
    """Return an attribute of all nodes; scalars of NumPy as numbers of Python, whole real numbers as integers.

    Some libraries write all numbers as real ones.
    """
    values = {node: data.get(key, default) for node, data in graph.nodes.items()}
    plain = {node: value.item() if hasattr(value, "item") else value for node, value in values.items()}
    return {
        node: int(value) if isinstance(value, float) and value.is_integer() else value for node, value in plain.items()
    }


@public
def from_dependencies(
    tasks: Mapping[str, object] | Mapping[int, object],
    *,
    weights: Mapping[str, int] | Mapping[int, int] | None = None,
    compute: Mapping[str, int] | Mapping[int, int] | None = None,
    name: str = "",
) -> Cdag:
    """Return the CDAG of a dictionary from each node to what it is computed from (the layout of Dask's graphs).

    A value is a list of names, or a task tuple ``(function, argument, ...)`` whose arguments, nested ones too, are
    names where they are keys of the dictionary; a task that names none is computed from nothing. Names that are no
    keys are inputs where they stand in plain lists, and so are names with an empty list or a value of their own.
    ``weights`` gives sizes other than 1, ``compute`` what computing costs where it costs anything.

    Parameters
    ----------
    tasks : Mapping[str, object] | Mapping[int, object]
        For every node what it is computed from.
    weights : Mapping[str, int] | Mapping[int, int] | None
        Sizes other than 1, by node.
    compute : Mapping[str, int] | Mapping[int, int] | None
        What computing costs, by node; 0 elsewhere.
    name : str, default ''
        What the graph is called.

    Returns
    -------
    Cdag
        The graph.

    Raises
    ------
    InputError
        As for :func:`build`.

    Examples
    --------
    >>> from_dependencies({"c": ["a", "b"], "d": ["c", "a"]}).ids
    ('c', 'd', 'a', 'b')
    """
    for place, given in (("tasks", tasks), ("weights", weights), ("compute", compute)):
        if not isinstance(given, Mapping) and (given is not None or place == "tasks"):
            raise InputError("is of another type", place=place, value=given, allowed="a mapping from names")
    constants = {key for key, value in tasks.items() if _is_task(value) and not _dependencies(value, tasks)}
    lists = {key: _dependencies(value, tasks) for key, value in tasks.items()}
    if tasks and not constants and not any(lists.values()):
        key, value = next(((key, value) for key, value in tasks.items() if not _holds_names(value)), (None, tasks))
        place, allowed = f"tasks[{key!r}]" if key is not None else "tasks", "a list of names, or a task tuple"
        raise InputError("says of no node what it is computed from", place=place, value=value, allowed=allowed)
    return _from_lists(lists, weights, compute, constants, name)


def inputs_of(n: int, stops: Sequence[int], given: Mapping[int, bool]) -> BoolArray:
    """Return which of n nodes are inputs: those that ``given`` says, else those that no edge leads to (``stops``)."""
    inputs = np.ones(n, dtype=np.bool_)
    inputs[np.asarray(stops, dtype=np.int64)] = False
    for node, is_input in given.items():
        inputs[node] = is_input
    return inputs


def _from_lists(
    tasks: Mapping[Any, list[Any]],
    weights: Mapping[Any, Any] | None,
    compute: Mapping[Any, Any] | None,
    constants: set[Any],
    name: str,
    kept: Set[Any] = frozenset(),
) -> Cdag:
    number: dict[Any, int] = {key: i for i, key in enumerate(tasks)}
    starts: list[int] = []
    stops: list[int] = []
    for key, parents in tasks.items():
        for parent in parents:
            starts.append(number.setdefault(parent, len(number)))
            stops.append(number[key])
    nameless = next((key for key in number if key != key), None)  # noqa: PLR0124 -- a NaN
    if nameless is not None:
        raise InputError("cannot be the name of a node", place="nodes", value=nameless, allowed="text or integers")
    sizes = [1] * len(number)
    for key, weight in (weights or {}).items():
        if key not in number:
            raise InputError("names a node that does not exist", place="weights", value=key)
        if isinstance(weight, bool) or not isinstance(weight, int) or weight < 1:
            allowed = f"integers from 1 to {LARGEST_TOTAL}"
            raise InputError("must be a positive integer", place=f"weight of {key}", value=weight, allowed=allowed)
        sizes[number[key]] = weight
    costs = [0] * len(number)
    for key, cost in (compute or {}).items():
        if key not in number:
            raise InputError("names a node that does not exist", place="compute", value=key)
        costs[number[key]] = cost_from(cost, f"compute of {key}")
    ids = [key if isinstance(key, int | str) and not isinstance(key, bool) else str(key) for key in number]
    given = inputs_of(len(number), stops, {number[key]: False for key in constants})
    outputs = np.array([key in kept for key in number], dtype=np.bool_)
    return build(sizes, starts, stops, given=given, kept=outputs, compute=costs, ids=ids, name=name)


def _holds_names(value: Any) -> bool:
    return isinstance(value, list | tuple | set | frozenset)


def _is_task(value: Any) -> bool:
    return isinstance(value, tuple) and bool(value) and callable(value[0])


def _dependencies(value: Any, tasks: Mapping[Any, Any]) -> list[Any]:
    if _is_task(value):
        return [name for argument in value[1:] for name in _arguments(argument, tasks)]
    if _holds_names(value):
        return [item for item in value if isinstance(item, Hashable)]
    return [value] if isinstance(value, Hashable) and value in tasks else []


def _arguments(argument: Any, tasks: Mapping[Any, Any]) -> list[Any]:
    if isinstance(argument, Hashable) and argument in tasks:
        return [argument]
    if isinstance(argument, list | tuple):
        return [name for item in argument for name in _arguments(item, tasks)]
    return []
