"""Files of the pebble engine: CDAG documents and plans, and whatever :mod:`graphs` reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shorthaul.core.arguments import public
from shorthaul.core.document import (
    decode_text,
    digest,
    expect_kind,
    json_text,
    parse_json,
    read_bytes,
    read_text,
    suffix_of,
    write_bytes,
)
from shorthaul.core.errors import InputError, nearest_name
from shorthaul.core.files.arrays import Column
from shorthaul.core.files.columns import (
    MOST_JSON_ENTRIES,
    read_columns,
    read_plan,
    write_columns,
    write_head,
)
from shorthaul.pebble.formats.dot import decoded, read_dot
from shorthaul.pebble.formats.graphs import cost_from, from_dependencies, inputs_of, read_hyperdag
from shorthaul.pebble.formats.matrices import read_matrix_market
from shorthaul.pebble.formats.networks import SUFFIXES, from_node_link, read_network
from shorthaul.pebble.model import LARGEST_TOTAL, Cdag, NodeId, build
from shorthaul.pebble.plan import Move, Plan

CDAG_KIND = "shorthaul/cdag"
PLAN_KIND = "shorthaul/pebble-plan"
#: What an input may hold.
_DOCUMENTS = f"a document of kind '{CDAG_KIND}', or an object from each node to the list of what it is computed from"
_CONTENTS = f"{_DOCUMENTS}, HyperDAG text, DOT, MatrixMarket, GraphML, GML, or an edge list"
_NODE_KEYS = {"id", "weight", "compute", "input", "output"}
_NAMES = ("load", "store", "compute", "delete", "accumulate")


@public
def load_cdag(path: str | Path, data: bytes | None = None, *, work: bool = False) -> Cdag:
    """Return the CDAG that a file holds: a document, a dependency dictionary, HyperDAG, DOT or MatrixMarket.

    The content decides: JSON starts with a brace (or the file has its suffix), DOT with ``digraph`` (or the suffix
    ``.dot`` or ``.gv``), MatrixMarket with ``%%MatrixMarket matrix``; anything else is read as HyperDAG text.

    Parameters
    ----------
    path : str | Path
        The file.
    data : bytes | None
        Its content, if it was read already.
    work : bool, default False
        Of HyperDAG text: computing a vertex costs what the file says its work is.

    Returns
    -------
    Cdag
        The graph.

    Raises
    ------
    InputError
        If the file is missing or wrong: file, place, value and cure.

    Examples
    --------
    >>> load_cdag("fir.dot", b"digraph { a -> c; b -> c }").n
    3
    """
    path = Path(path)
    raw = read_bytes(path) if data is None else data
    suffix = suffix_of(path)
    latin = decoded(raw) if suffix in {".dot", ".gv"} else None
    text = decode_text(raw, file=path) if latin is None else latin
    start = text.lstrip()[:200].lower()
    try:
        if not start:
            raise InputError(
                "is empty",
                value="nothing but white space" if text else "no bytes",
                allowed=_CONTENTS,
                cure="write the graph into it, or name a built-in case (see 'shorthaul pebble cases')",
            )
        if suffix in SUFFIXES:
            return read_network(text, suffix, file=path)
        if start.startswith(("{", "[")) or suffix == ".json":
            return cdag_from_document(parse_json(text, file=path), name=str(path))
        if suffix in {".dot", ".gv"} or start.startswith(("digraph", "strict digraph", "graph")):
            return read_dot(text, file=path)
        if start.startswith("%%matrixmarket matrix") and suffix != ".hdag" and not _is_hyperdag(text):
            return read_matrix_market(text, file=path)
        return read_hyperdag(text, file=path, work=work)
    except InputError as error:
        raise error.in_file(path) from None


def _is_hyperdag(text: str) -> bool:
    # HyperDAG files may start with a MatrixMarket line too; their second line then names the format.
    return "hyperdag" in text[:2000].lower()


def cdag_from_document(document: Any, *, name: str = "") -> Cdag:
    """Return the CDAG of a ``shorthaul/cdag`` document or of a dependency dictionary (any object without ``kind``).

    Raises :class:`InputError` that names the place and the value.
    """
    if isinstance(document, dict) and "kind" not in document and isinstance(document.get("nodes"), list):
        return from_node_link(document)
    if isinstance(document, dict) and "kind" not in document and _is_dependencies(document):
        return from_dependencies(document, name=name)
    fields = expect_kind(_expect_cdag(document), CDAG_KIND)
    nodes, edges = _list(fields, "nodes"), _list(fields, "edges")
    unknown = next((key for key in fields if key not in {"kind", "version", "name", "nodes", "edges"}), None)
    if unknown is not None:
        near = nearest_name(unknown, ("nodes", "edges", "name"))
        raise InputError("unknown key", place=unknown, allowed="kind, version, name, nodes, edges", nearest=near)
    number: dict[NodeId, int] = {}
    weights: list[int] = []
    compute: list[int] = []
    given: dict[int, bool] = {}
    kept: dict[int, bool] = {}
    for i, node in enumerate(nodes):
        place = f"nodes[{i}]"
        if not isinstance(node, dict) or not set(node) <= _NODE_KEYS or "id" not in node:
            allowed = '{"id": ..., "weight": ..., "compute": ..., "input": ..., "output": ...}'
            raise InputError("is no node", place=place, value=node, allowed=allowed)
        key = node["id"]
        if not _is_id(key):
            raise InputError("is no name", place=f"{place}.id", value=key, allowed="an integer or a text")
        if key in number:
            raise InputError("is given twice", place=f"{place}.id", value=key, cure="give every node its own id")
        number[key] = i
        weights.append(_weight(node.get("weight", 1), f"{place}.weight"))
        compute.append(cost_from(node.get("compute", 0), f"{place}.compute"))
        _flag(node, "input", place, given, i)
        _flag(node, "output", place, kept, i)
    starts, stops = [], []
    for i, edge in enumerate(edges):
        if not isinstance(edge, list) or len(edge) != 2:
            raise InputError("is no edge", place=f"edges[{i}]", value=edge, allowed="[from, to]")
        for end in edge:
            if not _is_id(end) or end not in number:
                near = nearest_name(str(end), map(str, number)) if len(number) < 10_000 else None
                raise InputError("names a node that does not exist", place=f"edges[{i}]", value=end, nearest=near)
        starts.append(number[edge[0]])
        stops.append(number[edge[1]])
    ids = None if list(number) == list(range(len(number))) else list(number)
    inputs = inputs_of(len(weights), stops, given)
    title = str(fields.get("name", name))
    sizes, costs = np.array(weights, dtype=np.int64), np.array(compute, dtype=np.int64)
    outputs = np.array([kept.get(i, False) for i in range(len(weights))], dtype=np.bool_)
    return build(sizes, starts, stops, given=inputs, kept=outputs, compute=costs, ids=ids, name=title)


def _flag(node: Mapping[str, Any], key: str, place: str, flags: dict[int, bool], number: int) -> None:
    """Note whether a node is an input, say, if that is said of it."""
    if key not in node:
        return
    if not isinstance(node[key], bool):
        raise InputError("is no truth value", place=f"{place}.{key}", value=node[key], allowed="true, false")
    flags[number] = node[key]


def _expect_cdag(document: Any) -> Any:
    """Return ``document`` if it may be a CDAG document; else :class:`InputError` that tells what it is."""
    if not isinstance(document, dict):
        raise InputError(
            "is no graph",
            value=document,
            allowed=_DOCUMENTS,
            cure=f'begin with {{"kind": "{CDAG_KIND}", "version": 1}}',
        )
    if "kind" not in document:
        keys = ", ".join(sorted(map(str, document))[:8])
        raise InputError(
            "names no kind",
            place="kind",
            value=f"an object with the keys {keys}" if keys else "an object without keys",
            allowed=_DOCUMENTS,
            cure=f'add "kind": "{CDAG_KIND}", "version": 1',
        )
    if document["kind"] != CDAG_KIND:
        is_plan = document["kind"] in [PLAN_KIND, "shorthaul/pebble-result"]
        raise InputError(
            "is of another kind",
            place="kind",
            value=document["kind"],
            allowed=_DOCUMENTS,
            cure="give the graph first: shorthaul pebble check INPUT PLAN" if is_plan else "give the graph's own file",
        )
    return document


def _is_dependencies(document: Mapping[str, Any]) -> bool:
    return bool(document) and all(
        isinstance(value, list) and all(_is_id(item) for item in value) for value in document.values()
    )


def _is_id(value: Any) -> bool:
    return isinstance(value, int | str) and not isinstance(value, bool)


def _list(fields: Mapping[str, Any], key: str) -> list[Any]:
    value = fields.get(key)
    if not isinstance(value, list):
        raise InputError("is no list", place=key, value=value, allowed=f"a list of {key}")
    return value


def _weight(value: Any, place: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= LARGEST_TOTAL:
        allowed = f"integers from 1 to {LARGEST_TOTAL}"
        raise InputError(
            "must be a positive integer", place=place, value=value, allowed=allowed, cure="scale the sizes"
        )
    return value


def cdag_document(cdag: Cdag) -> dict[str, Any]:
    """Return ``cdag`` as a ``shorthaul/cdag`` document; a node computed from nothing has ``"input": false``.

    A node that costs something to compute has ``"compute"``, an output that others read has ``"output": true``.
    """
    sources, targets = cdag.edge_arrays()
    names = [cdag.id_of(node) for node in range(cdag.n)]
    nodes: list[dict[str, Any]] = [
        {"id": name, "weight": weight} for name, weight in zip(names, cdag.weights.tolist(), strict=True)
    ]
    for constant in cdag.constants().tolist():
        nodes[constant]["input"] = False
    for node in () if cdag.kept is None else np.flatnonzero(cdag.kept).tolist():
        nodes[node]["output"] = True
    for node in np.flatnonzero(cdag.compute).tolist():
        nodes[node]["compute"] = int(cdag.compute[node])
    return {
        "kind": CDAG_KIND,
        "version": 1,
        "name": cdag.name,
        "nodes": nodes,
        "edges": [[names[a], names[b]] for a, b in zip(sources.tolist(), targets.tolist(), strict=True)],
    }


def plan_document(plan: Plan, cdag: Cdag) -> dict[str, Any]:
    """Return ``plan`` as a ``shorthaul/pebble-plan`` document; a long one (see ``MOST_JSON_ENTRIES``) by its digest."""
    head = {"kind": PLAN_KIND, "version": 1}
    if len(plan) > MOST_JSON_ENTRIES:
        return {**head, "moves": len(plan), "digest": plan_digest(plan)}
    sources, targets = cdag.edge_arrays()

    def named(kind: int, node: int) -> list[NodeId]:
        ends = [int(targets[node]), int(sources[node])] if kind == Move.ACCUMULATE else [node]
        return [_NAMES[kind], *map(cdag.id_of, ends)]

    return {**head, "moves": [named(*move) for move in zip(plan.kinds.tolist(), plan.nodes.tolist(), strict=True)]}


def plan_table(plan: Plan, cdag: Cdag) -> tuple[tuple[str, ...], Iterable[Sequence[object]]]:
    """Return the columns, and a row per move: its node, and of a partial sum the operand that is added."""
    sources, targets = cdag.edge_arrays()
    names = cdag.names()

    def row(kind: int, node: int) -> tuple[str, ...]:
        is_sum = kind == Move.ACCUMULATE
        return _NAMES[kind], names[targets[node] if is_sum else node], names[sources[node]] if is_sum else ""

    return ("move", "node", "operand"), map(row, plan.kinds.tolist(), plan.nodes.tolist())


def plan_digest(plan: Plan) -> str:
    """Return the SHA-256 of the moves, kinds then node indices."""
    return digest(plan.kinds.tobytes() + plan.nodes.astype("<i8").tobytes())


@public
def save_plan(path: str | Path, plan: Plan, cdag: Cdag) -> None:
    """Write ``plan``: one move per line of JSON, or columns if it is long or the suffix is ``.npz``.

    A long plan whose path has another suffix is written as a short JSON document that names the ``.npz`` beside it.

    Parameters
    ----------
    path : str | Path
        The file to write.
    plan : Plan
        The plan.
    cdag : Cdag
        The graph that it is for.

    Raises
    ------
    InputError
        If the file cannot be written.

    Examples
    --------
    >>> from shorthaul.pebble.plan import plan_of
    >>> save_plan("nowhere/plan.json", plan_of([]), load_cdag("fir.dot", b"digraph { a -> c; b -> c }"))
    Traceback (most recent call last):
    shorthaul.core.errors.UnwritableError: nowhere/plan.json: its folder does not exist
      do:      make nowhere first
    """
    path = Path(path)
    if path.suffix.lower() != ".npz" and len(plan) <= MOST_JSON_ENTRIES:
        moves = ",\n  ".join(json_text(move, indent=None).strip() for move in plan_document(plan, cdag)["moves"])
        head = json_text({"kind": PLAN_KIND, "version": 1}, indent=None).strip()[:-1]
        write_bytes(path, f'{head}, "moves": [\n  {moves}\n]}}\n'.encode())
        return
    ids = np.arange(cdag.n) if cdag.ids is None else _id_array(cdag.ids)
    arrays = {"version": np.array(1), "moves": plan.kinds, "nodes": plan.nodes, "ids": ids}
    write_columns(path, PLAN_KIND, arrays)
    write_head(path, plan_document(plan, cdag))


def _id_array(ids: tuple[NodeId, ...]) -> np.ndarray[Any, Any]:
    if all(isinstance(name, int) for name in ids):
        return np.array(ids, dtype=np.int64)
    return np.array([name if isinstance(name, str) else f"#{name}" for name in ids], dtype=np.str_)


@public
def load_plan(path: str | Path, cdag: Cdag) -> Plan:
    """Return the plan that a file holds, its nodes as indices of ``cdag``.

    Reads ``.npz`` columns, plan documents, and result documents that carry a plan.

    Parameters
    ----------
    path : str | Path
        The file.
    cdag : Cdag
        The graph that the plan is for.

    Returns
    -------
    Plan
        The moves.

    Raises
    ------
    InputError
        If the file is missing or wrong: file, place, value and cure.

    Examples
    --------
    >>> load_plan("no.json", load_cdag("fir.dot", b"digraph { a -> c; b -> c }"))
    Traceback (most recent call last):
    shorthaul.core.errors.InputError: no.json: no such file
      do:      name a file that is there, or '-' and pipe it in
    """
    kinds = (PLAN_KIND, "shorthaul/pebble-result")
    return read_plan(
        Path(path),
        kinds,
        lambda data: _plan_from_columns(data, cdag),
        lambda fields: _plan_from_moves(fields.get("moves"), cdag),
        plan_digest,
    )


def _plan_from_moves(moves: Any, cdag: Cdag) -> Plan:
    if isinstance(moves, int) and not isinstance(moves, bool):
        raise InputError("holds no moves, only their number", place="moves", cure="check the plan file itself")
    if not isinstance(moves, list):
        raise InputError("is no list", place="moves", value=moves, allowed='[["load", id], ...]')
    kind_of = {name: i for i, name in enumerate(_NAMES)}
    node_of: Mapping[Any, int] = {cdag.id_of(node): node for node in range(cdag.n)}
    edge_of = {
        ends: edge for edge, ends in enumerate(zip(*(side.tolist() for side in cdag.edge_arrays()), strict=True))
    }
    kinds, nodes = [], []
    for i, move in enumerate(moves):
        count = 3 if isinstance(move, list) and move[:1] == ["accumulate"] else 2
        if not isinstance(move, list) or len(move) != count:
            allowed = '["load", id], or ["accumulate", id, operand]'
            raise InputError("is no move", place=f"moves[{i}]", value=move, allowed=allowed)
        name, *ends = move
        if not isinstance(name, str) or name not in kind_of:
            near = nearest_name(str(name), _NAMES)
            raise InputError("unknown move", place=f"moves[{i}]", value=name, allowed=", ".join(_NAMES), nearest=near)
        for node in ends:
            if not _is_id(node) or node not in node_of:
                cure = "give the plan of this graph"
                raise InputError("names a node that does not exist", place=f"moves[{i}]", value=node, cure=cure)
        kinds.append(kind_of[name])
        place = tuple(node_of[node] for node in ends)
        if count == 3 and place[::-1] not in edge_of:
            cure = "give the plan of this graph"
            raise InputError(
                "names no edge", place=f"moves[{i}]", value=move, allowed="a value and its operand", cure=cure
            )
        nodes.append(edge_of[place[::-1]] if count == 3 else place[0])
    return Plan(np.array(kinds, dtype=np.uint8), np.array(nodes, dtype=np.int64))


def _plan_from_columns(data: bytes, cdag: Cdag) -> Plan:
    columns = {"moves": Column(least=0, most=len(Move) - 1), "nodes": Column(least=0), "ids": Column("iuU")}
    moves, nodes, ids = read_columns(data, PLAN_KIND, columns).values()
    if moves.shape != nodes.shape:
        raise InputError("must be of equal length", place="moves, nodes", value=(moves.shape, nodes.shape))
    own = np.arange(cdag.n) if cdag.ids is None else _id_array(cdag.ids)
    if ids.shape != own.shape or ids.dtype.kind != own.dtype.kind or not bool((ids == own).all()):
        raise InputError("is a plan of another graph", place="ids", cure="give the plan of this graph")
    adds = moves == Move.ACCUMULATE
    for place, part, most in (("nodes", nodes[~adds], cdag.n), ("nodes of accumulations", nodes[adds], cdag.edges)):
        if len(part) and part.max() >= most:
            raise InputError("names a node that does not exist", place=place, value=int(part.max()))
    return Plan(moves.astype(np.uint8), nodes.astype(np.int64))


def load_numbers(path: str | Path, count: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return ``count`` finite numbers from a text file, one per line; raises :class:`InputError` with the line."""
    lines = [(i, line) for i, line in enumerate(read_text(path).splitlines(), 1) if line.strip()]
    numbers = []
    for number, line in lines:
        try:
            numbers.append(float(line))
        except ValueError:
            numbers.append(np.nan)
        if not np.isfinite(numbers[-1]):
            raise InputError("is no finite number", file=path, place=f"line {number}", value=line.strip())
    if len(numbers) != count:
        raise InputError(
            "has the wrong number of lines", file=path, value=len(numbers), allowed=f"{count}, one per input"
        )
    return np.array(numbers, dtype=np.float64)
