"""CDAGs in other tools' files: HyperDAG text, DOT, MatrixMarket, and dependency dictionaries."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.core.errors import InputError
from shorthaul.pebble.model import BoolArray, Cdag, NodeId, build

IntArray = npt.NDArray[np.int64]

#: The most nodes and edges read from a file.
MOST_ENTRIES = 4_000_000


def read_hyperdag(text: str, *, file: str | Path | None = None) -> Cdag:
    r"""Return the CDAG of a HyperDAG file: each hyperedge goes from its first pin to its other pins.

    The weight of a node is the last number on the line of its hyperedge (1 where there is none, and for outputs).
    Vertices without any pin are dropped; the others keep their number as their id. Raises :class:`InputError` with the
    line of whatever is wrong.

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
    return _from_pins(lines[1 + hyperedges + vertices :], sizes, vertices, file)


def _from_pins(lines: Sequence[tuple[int, str]], sizes: IntArray, vertices: int, file: str | Path | None) -> Cdag:
    source = [-1] * len(sizes)
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
    return _without_isolated(weights, starts, stops, range(vertices), file)


def _without_isolated(
    weights: IntArray, starts: Sequence[int], stops: Sequence[int], ids: Sequence[NodeId], file: str | Path | None
) -> Cdag:
    used = np.zeros(len(weights), dtype=bool)
    start, stop = np.array(starts, dtype=np.int64), np.array(stops, dtype=np.int64)
    used[start] = True
    used[stop] = True
    number = np.cumsum(used) - 1
    kept = None if isinstance(ids, range) and used.all() else [ids[i] for i in np.flatnonzero(used).tolist()]
    return build(weights[used], number[start], number[stop], ids=kept, name="" if file is None else str(file))


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
            allowed="64-bit integers",
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


def read_matrix_market(text: str, *, file: str | Path | None = None) -> Cdag:
    r"""Return the CDAG of solving L x = b for the lower triangle L of a MatrixMarket coordinate file.

    Inputs are the entries L_ij and the right-hand side b; x_i is computed at once from row i, b_i and the x_j it needs.
    Ids: ``b0``, ``L2,1`` and ``x2`` (rows from 0). Entries above the diagonal are ignored; the diagonal must be
    present unless the matrix is a pattern. Every value weighs 1. Raises :class:`InputError` with the line.

    >>> text = "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1.0\n2 1 1.0\n2 2 1.0\n"
    >>> read_matrix_market(text).ids
    ('b0', 'b1', 'L0,0', 'L1,0', 'L1,1', 'x0', 'x1')
    """
    header, *rest = text.splitlines() or [""]
    words = header.lower().split()
    if words[:3] != ["%%matrixmarket", "matrix", "coordinate"]:
        raise InputError(
            "is no sparse matrix", file=file, place="line 1", value=header, allowed="%%MatrixMarket matrix coordinate"
        )
    lines = [(i, line) for i, line in enumerate(rest, 2) if line.strip() and line.lstrip()[0] != "%"]
    if not lines:
        raise InputError("has no size line", file=file, allowed="rows columns entries")
    sizes = lines[0][1].split()
    if len(sizes) != 3 or sizes[0] != sizes[1] or not all(re.fullmatch(r"[0-9]{1,18}", size) for size in sizes):
        raise InputError(
            "is no square matrix",
            file=file,
            place=f"line {lines[0][0]}",
            value=lines[0][1].strip(),
            allowed="n n entries",
        )
    entries = [_entry(line, file) for line in lines]
    n = entries[0][0]
    if n > MOST_ENTRIES or len(entries) > MOST_ENTRIES:
        raise InputError("is too large", file=file, value=n, allowed=f"up to {MOST_ENTRIES} rows and entries")
    if len(entries) - 1 != int(sizes[2]):
        raise InputError(
            "has the wrong number of entries",
            file=file,
            value=len(entries) - 1,
            allowed=f"{sizes[2]}, as line {lines[0][0]} says",
        )
    lower: set[tuple[int, int]] = set()
    for (row, column), line in zip(entries[1:], lines[1:], strict=True):
        if not (1 <= row <= n and 1 <= column <= n):
            raise InputError(
                "names no entry", file=file, place=f"line {line[0]}", value=(row, column), allowed=f"1 to {n}"
            )
        if row >= column:
            lower.add((row - 1, column - 1))
        elif "symmetric" in words:
            lower.add((column - 1, row - 1))
    missing = next((i for i in range(n) if (i, i) not in lower), None)
    if missing is not None and "pattern" not in words:
        raise InputError(
            "has no diagonal entry", file=file, place=f"row {missing + 1}", cure="the system has no solution"
        )
    return _triangular_solve(sorted(lower), n, file)


def from_sparse(matrix: Any) -> Cdag:
    """Return the CDAG of solving L x = b for the lower triangle L of a SciPy sparse matrix, as for MatrixMarket.

    Raises :class:`InputError` for a matrix that is not square or lacks an entry of its diagonal.
    """
    rows, columns = matrix.shape if len(matrix.shape) == 2 else (0, 1)
    if rows != columns or rows > MOST_ENTRIES or matrix.nnz > MOST_ENTRIES:
        raise InputError("is no square matrix", value=matrix.shape, allowed=f"n x n, up to {MOST_ENTRIES} entries")
    entries = matrix.tocoo()
    pairs = zip(entries.row.tolist(), entries.col.tolist(), strict=True)
    lower = {(row, column) for row, column in pairs if row >= column}
    missing = next((i for i in range(rows) if (i, i) not in lower), None)
    if missing is not None:
        raise InputError("has no diagonal entry", place=f"row {missing}", cure="the system has no solution")
    return _triangular_solve(sorted(lower), rows, None)


def from_networkx(graph: Any) -> Cdag:
    """Return the CDAG of a ``networkx.DiGraph``; the attribute ``weight`` of a node is its size, 1 where it has none.

    A node without predecessors whose attribute ``input`` is False is computed from nothing. Raises
    :class:`InputError` for an undirected graph and for weights that are no positive integers.
    """
    if not graph.is_directed():
        raise InputError("is not directed", value=type(graph).__name__, allowed="a networkx.DiGraph")
    dependencies: dict[Any, list[Any]] = {node: [] for node in graph.nodes}
    for start, stop in graph.edges():
        dependencies[stop].append(start)
    sizes = {node: item.get("weight", 1) for node, item in graph.nodes(data=True)}
    weights = {node: item.item() if hasattr(item, "item") else item for node, item in sizes.items()}
    constants = {node for node, item in graph.nodes(data=True) if not item.get("input", True)}
    return _from_lists(dependencies, weights, constants, str(graph.name))


def _triangular_solve(lower: list[tuple[int, int]], n: int, file: str | Path | None) -> Cdag:
    first = n + len(lower)
    starts, stops = list(range(n)), [first + row for row in range(n)]
    for index, (row, column) in enumerate(lower):
        starts.append(n + index)
        stops.append(first + row)
        if column < row:
            starts.append(first + column)
            stops.append(first + row)
    ids = [f"b{i}" for i in range(n)] + [f"L{row},{column}" for row, column in lower] + [f"x{i}" for i in range(n)]
    weights = np.ones(first + n, dtype=np.int64)
    return build(weights, starts, stops, ids=ids, name="" if file is None else str(file))


def _entry(line: tuple[int, str], file: str | Path | None) -> tuple[int, int]:
    words = line[1].split()
    try:
        return int(words[0]), int(words[1])
    except (ValueError, IndexError):
        raise InputError(
            "is no entry", file=file, place=f"line {line[0]}", value=line[1].strip(), allowed="row column value"
        ) from None


_DOT_TOKEN = re.compile(
    r'"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<name>[A-Za-z_\x80-\uffff][\w\x80-\uffff]*|-?(?:\d+\.?\d*|\.\d+))'
    r"|(?P<arrow>->|--)|(?P<mark>[{}\[\];,=:])|(?P<space>\s+|//[^\n]*|#[^\n]*|/\*.*?\*/)",
    re.DOTALL,
)


def read_dot(text: str, *, file: str | Path | None = None) -> Cdag:
    """Return the CDAG of a DOT digraph; the attribute ``weight`` of a node is its size, 1 where it has none.

    A node that nothing leads to and that has ``input=false`` is computed from nothing. Subgraphs are read as part of
    the graph; ports and other attributes are ignored. Raises :class:`InputError` with the line of whatever cannot be
    read.

    >>> read_dot("digraph { a [weight=2]; a -> b -> c; a -> c }").ids
    ('a', 'b', 'c')
    """
    tokens = _dot_tokens(text, file)
    words = [token for token, _, _ in tokens]
    head = next((i for i, word in enumerate(words) if word == "{"), None)
    if head is None or "digraph" not in [word.lower() for word in words[:head]]:
        raise InputError("is no directed graph", file=file, allowed="digraph NAME { a -> b; ... }")
    if words.count("{") != words.count("}"):
        raise InputError("its braces do not match", file=file, allowed="as many { as }")
    weights: dict[str, int] = {}
    given: dict[str, bool] = {}
    edges: list[tuple[str, str]] = []
    position = head + 1
    while position < len(tokens):
        position = _dot_statement(tokens, position, weights, given, edges, file)
    number = {name: i for i, name in enumerate(weights)}
    starts, stops = [number[a] for a, _ in edges], [number[b] for _, b in edges]
    return build(
        np.array(list(weights.values()), dtype=np.int64),
        starts,
        stops,
        given=inputs_of(len(number), stops, {number[node]: is_input for node, is_input in given.items()}),
        ids=list(number),
        name="" if file is None else str(file),
    )


def _dot_tokens(text: str, file: str | Path | None) -> list[tuple[str, bool, int]]:
    tokens = []
    position, line = 0, 1
    while position < len(text):
        match = _DOT_TOKEN.match(text, position)
        if match is None:
            raise InputError("cannot be read", file=file, place=f"line {line}", value=text[position : position + 20])
        if match["space"] is None:
            quoted = match["quoted"] is not None
            tokens.append((match["quoted"].replace('\\"', '"') if quoted else match[0], quoted, line))
        line += match[0].count("\n")
        position = match.end()
    return tokens


def _dot_statement(
    tokens: list[tuple[str, bool, int]],
    position: int,
    weights: dict[str, int],
    given: dict[str, bool],
    edges: list[tuple[str, str]],
    file: str | Path | None,
) -> int:
    """Read one statement that starts at ``position``; return where the next one starts."""
    word, quoted, line = tokens[position]
    if not quoted and word in {"{", "}", ";", ","}:
        return position + 1
    if not quoted and word.lower() == "subgraph":
        following = position + 1
        return following if following < len(tokens) and tokens[following][0] == "{" else following + 1
    if not quoted and word in {"->", "--", "[", "]", "=", ":"}:
        raise InputError(
            "cannot be read", file=file, place=f"line {line}", value=word, allowed="a -> b; or a [weight=2];"
        )
    path = [word]
    position += 1
    while position < len(tokens):
        word, quoted, line = tokens[position]
        if quoted or word not in {"->", "--", ":"}:
            break
        if word == "--" or position + 1 == len(tokens) or tokens[position + 1][0] in {"{", "}", ";"}:
            raise InputError(
                "cannot be read", file=file, place=f"line {line}", value=word, allowed="a -> b between names"
            )
        if word == "->":
            path.append(tokens[position + 1][0])
        position += 2
    if position < len(tokens) and tokens[position][0] == "=" and not tokens[position][1]:
        return position + 2  # an attribute of the graph
    attributes, position = _dot_attributes(tokens, position, file)
    if len(path) == 1 and path[0].lower() in {"node", "edge", "graph"}:
        return position
    for name in path:
        weights.setdefault(name, 1)
    edges.extend(pairwise(path))
    if len(path) == 1:
        _note_attributes(path[0], attributes, f"line {line}", weights, given, file)
    return position


def _note_attributes(
    name: str,
    attributes: dict[str, str],
    place: str,
    weights: dict[str, int],
    given: dict[str, bool],
    file: str | Path | None,
) -> None:
    """Note the weight of a node and whether it is an input, where the attributes tell."""
    size, is_input = attributes.get("weight", "1"), attributes.get("input", "").lower()
    if not re.fullmatch(r"\d{1,18}", size) or int(size) == 0:
        raise InputError("must be a positive integer", file=file, place=f"{place}: weight of {name}", value=size)
    if "weight" in attributes:
        weights[name] = int(size)
    if "input" in attributes:
        if is_input not in {"true", "false"}:
            where = f"{place}: input of {name}"
            raise InputError("is no truth value", file=file, place=where, value=is_input, allowed="true, false")
        given[name] = is_input == "true"


def _dot_attributes(
    tokens: list[tuple[str, bool, int]], position: int, file: str | Path | None
) -> tuple[dict[str, str], int]:
    found: dict[str, str] = {}
    while position < len(tokens) and tokens[position][0] == "[" and not tokens[position][1]:
        line = tokens[position][2]
        end = next((i for i in range(position, len(tokens)) if tokens[i][0] == "]" and not tokens[i][1]), None)
        if end is None:
            raise InputError("an attribute list is not closed", file=file, place=f"line {line}", allowed="[name=value]")
        inside = tokens[position + 1 : end]
        for i, (word, _, _) in enumerate(inside):
            if word == "=" and 0 < i < len(inside) - 1:
                found[inside[i - 1][0]] = inside[i + 1][0]
        position = end + 1
    return found, position


def from_dependencies(
    tasks: Mapping[str, object] | Mapping[int, object],
    *,
    weights: Mapping[str, int] | Mapping[int, int] | None = None,
    name: str = "",
) -> Cdag:
    """Return the CDAG of a dictionary from each node to what it is computed from (the layout of Dask's graphs).

    A value is a list of names, or a task tuple ``(function, argument, ...)`` whose arguments, nested ones too, are
    names where they are keys of the dictionary; a task that names none is computed from nothing. Names that are no
    keys are inputs where they stand in plain lists, and so are names with an empty list or a value of their own.
    ``weights`` gives sizes other than 1.

    Parameters
    ----------
    tasks : Mapping[str, object] | Mapping[int, object]
        For every node what it is computed from.
    weights : Mapping[str, int] | Mapping[int, int] | None
        Sizes other than 1, by node.
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
    constants = {key for key, value in tasks.items() if _is_task(value) and not _dependencies(value, tasks)}
    return _from_lists({key: _dependencies(value, tasks) for key, value in tasks.items()}, weights, constants, name)


def inputs_of(n: int, stops: Sequence[int], given: Mapping[int, bool]) -> BoolArray:
    """Return which of n nodes are inputs: those that ``given`` says, else those that no edge leads to (``stops``)."""
    inputs = np.ones(n, dtype=np.bool_)
    inputs[np.asarray(stops, dtype=np.int64)] = False
    for node, is_input in given.items():
        inputs[node] = is_input
    return inputs


def _from_lists(
    tasks: Mapping[Any, list[Any]], weights: Mapping[Any, Any] | None, constants: set[Any], name: str
) -> Cdag:
    number: dict[Any, int] = {key: i for i, key in enumerate(tasks)}
    starts: list[int] = []
    stops: list[int] = []
    for key, parents in tasks.items():
        for parent in parents:
            starts.append(number.setdefault(parent, len(number)))
            stops.append(number[key])
    sizes = [1] * len(number)
    for key, weight in (weights or {}).items():
        if key not in number:
            raise InputError("names a node that does not exist", place="weights", value=key)
        if isinstance(weight, bool) or not isinstance(weight, int) or weight < 1:
            raise InputError("must be a positive integer", place=f"weight of {key}", value=weight)
        sizes[number[key]] = weight
    ids = [key if isinstance(key, int | str) and not isinstance(key, bool) else str(key) for key in number]
    given = inputs_of(len(number), stops, {number[key]: False for key in constants})
    return build(sizes, starts, stops, given=given, ids=ids, name=name)


def _is_task(value: Any) -> bool:
    return isinstance(value, tuple) and bool(value) and callable(value[0])


def _dependencies(value: Any, tasks: Mapping[Any, Any]) -> list[Any]:
    if _is_task(value):
        return [name for argument in value[1:] for name in _arguments(argument, tasks)]
    if isinstance(value, list | tuple | set | frozenset):
        return [item for item in value if isinstance(item, Hashable)]
    return [value] if isinstance(value, Hashable) and value in tasks else []


def _arguments(argument: Any, tasks: Mapping[Any, Any]) -> list[Any]:
    if isinstance(argument, Hashable) and argument in tasks:
        return [argument]
    if isinstance(argument, list | tuple):
        return [name for item in argument for name in _arguments(item, tasks)]
    return []
