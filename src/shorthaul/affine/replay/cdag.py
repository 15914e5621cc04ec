"""The concrete CDAG of a program at given sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
import numpy.typing as npt

from shorthaul.affine.integer_sets.counting import card
from shorthaul.affine.integer_sets.dependences import DataFlow, flow_dependences
from shorthaul.affine.integer_sets.points import MOST_POINTS, TooManyPointsError, pairs, points
from shorthaul.affine.model import Program
from shorthaul.core.arguments import public
from shorthaul.core.errors import InputError
from shorthaul.graphs.csr import distinct

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ConcreteCdag:
    """Vertices are numbered: inputs first, then statement instances in program order.

    ``operands[starts[v]:starts[v + 1]]`` are the distinct operands of v (none for inputs). ``owner[v]`` is the index
    into ``names`` of the array or statement that v belongs to, ``coordinates[v]`` its subscripts, padded with zeros;
    ``widths`` says how many of them count for each name. ``weights`` are element sizes in bytes.
    """

    inputs: int
    starts: IntArray
    operands: IntArray
    names: tuple[str, ...]
    widths: tuple[int, ...]
    owner: IntArray
    coordinates: IntArray
    weights: IntArray

    @property
    def n(self) -> int:
        """The number of vertices, inputs included."""
        return len(self.owner)

    @property
    def program_order(self) -> IntArray:
        """The computed vertices in the order of the C code."""
        return np.arange(self.inputs, self.n, dtype=np.int64)

    def by_name(self, vertices: IntArray, loads: IntArray) -> dict[str, int]:
        """Return the loads of all vertices of a name; ``loads[i]`` are those of ``vertices[i]``."""
        totals = np.zeros(len(self.names), dtype=np.int64)
        np.add.at(totals, self.owner[vertices], loads)
        return dict(zip(self.names, totals.tolist(), strict=True))

    def label(self, vertex: int) -> str:
        """Return ``S0[1, 2]`` or ``A[3]``."""
        owner = int(self.owner[vertex])
        inner = ", ".join(map(str, self.coordinates[vertex, : self.widths[owner]].tolist()))
        return f"{self.names[owner]}[{inner}]"

    def operand_lists(self) -> list[list[int] | None]:
        """Return the operands of every vertex: an empty list for an input, None for a vertex that reads nothing."""
        lists: list[list[int] | None] = []
        for vertex in range(self.n):
            found = self.operands[self.starts[vertex] : self.starts[vertex + 1]].tolist()
            lists.append(found or ([] if vertex < self.inputs else None))
        return lists

    def used(self) -> npt.NDArray[np.bool_]:
        """Return which vertices the document has: all but inputs that nothing reads, which nobody moves."""
        used: npt.NDArray[np.bool_] = np.arange(self.n) >= self.inputs
        used[self.operands] = True
        return used

    def document(self, name: str = "") -> CdagDocument:
        """Return the ``shorthaul/cdag`` document of the vertices that are used."""
        sinks = np.repeat(np.arange(self.n), np.diff(self.starts))
        used = self.used()
        from_nothing = (np.arange(self.n) >= self.inputs) & (np.diff(self.starts) == 0)
        ids = [self.label(vertex) for vertex in range(self.n)]
        weights = self.weights.tolist()
        return {
            "kind": "shorthaul/cdag",
            "version": 1,
            "name": name,
            "nodes": [
                {"id": ids[v], "weight": weights[v]} | ({"input": False} if from_nothing[v] else {})
                for v in np.flatnonzero(used).tolist()
            ],
            "edges": [[ids[a], ids[b]] for a, b in zip(self.operands.tolist(), sinks.tolist(), strict=True)],
        }


class CdagDocument(TypedDict):
    """A ``shorthaul/cdag`` document, as the pebble engine reads it."""

    kind: str
    version: int
    name: str
    nodes: list[dict[str, str | int]]
    edges: list[list[str]]


class RowIndex:
    """Finds the vertex of a row of coordinates."""

    def __init__(self, rows: IntArray, vertices: IntArray) -> None:
        self.columns: list[IntArray] = []
        self.prefixes: list[IntArray] = []
        self.vertices = np.zeros(len(rows), dtype=np.int64)
        keys = np.zeros(len(rows), dtype=np.int64)
        for at in range(rows.shape[1]):
            self.columns.append(distinct(rows[:, at]))
            joined = self._joined(keys, rows, at)
            self.prefixes.append(distinct(joined))
            keys = np.searchsorted(self.prefixes[at], joined)
        self.vertices[keys] = vertices

    def _joined(self, keys: IntArray, rows: IntArray, at: int) -> IntArray:
        """Return the ranks of the first columns and of column ``at`` in one number, however far apart values are."""
        column = self.columns[at]
        result: IntArray = keys * len(column) + np.searchsorted(column, rows[:, at])
        return result

    def find(self, rows: IntArray) -> IntArray:
        """Return the vertices of ``rows``, which are among those given."""
        keys = np.zeros(len(rows), dtype=np.int64)
        for at, prefixes in enumerate(self.prefixes):
            keys = np.searchsorted(prefixes, self._joined(keys, rows, at))
        return self.vertices[keys]


@public
def concrete_cdag(program: Program, sizes: Mapping[str, int], flow: DataFlow | None = None) -> ConcreteCdag:
    """Return the CDAG of ``program`` at ``sizes`` (every parameter must have one).

    Parameters
    ----------
    program : Program
        The program.
    sizes : Mapping[str, int]
        A value for every parameter.
    flow : DataFlow | None
        The program's dependences, if they are known already.

    Returns
    -------
    ConcreteCdag
        One vertex per value read or computed.

    Raises
    ------
    InputError
        If it would have too many vertices, or a size is missing.

    Examples
    --------
    >>> from shorthaul.affine.workloads.cases import kernel
    >>> concrete_cdag(kernel("trisolv"), {"N": 2}).n
    10
    """
    missing = [name for name in program.parameters if name not in sizes]
    if missing:
        raise InputError(
            "has no value for every parameter", place="sizes", value=dict(sizes), allowed=", ".join(missing)
        )
    flow = flow_dependences(program) if flow is None else flow
    try:
        return _listed(program, sizes, flow)
    except TooManyPointsError:
        raise too_large(program, sizes) from None


def too_large(program: Program, sizes: Mapping[str, int]) -> TooManyPointsError:
    """Return the error for instances, or edges into them, that are too many to be listed."""
    counted = [(card(item.domain).at(sizes), item) for item in program.statements]
    most, largest = max(counted, key=lambda pair: pair[0])
    given = ",".join(f"{name}={sizes[name]}" for name in program.parameters)
    what = f"{largest.name} (line {largest.place.line}: {largest.text}) has {most:,} instances,"
    if most <= MOST_POINTS:
        what = "an input has elements, or a statement reads values,"
    return TooManyPointsError(
        f"{what} too many to be listed",
        place=f"--size {given}",
        value=f"{sum(count for count, _ in counted):,} instances in all",
        allowed=f"up to {MOST_POINTS:,} instances of a statement, and as many elements of an input",
        cure="use smaller sizes; the verbs bound, plan, sweep and code take any",
    )


def _listed(program: Program, sizes: Mapping[str, int], flow: DataFlow) -> ConcreteCdag:
    blocks: list[tuple[str, IntArray]] = [(array, points(where, sizes)) for array, where in flow.inputs.items()]
    inputs = sum(len(rows) for _, rows in blocks)
    instances = []
    for statement in program.statements:
        rows, times = pairs(statement.schedule, sizes)
        instances.append((statement.name, rows, times))
    order = np.lexsort(np.concatenate([times for _, _, times in instances]).T[::-1])
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    blocks += [(name, rows) for name, rows, _ in instances]
    names = tuple(name for name, _ in blocks)
    widths = tuple(rows.shape[1] for _, rows in blocks)
    n = inputs + len(order)
    owner = np.zeros(n, dtype=np.int64)
    coordinates = np.zeros((n, max(widths)), dtype=np.int64)
    index: dict[str, RowIndex] = {}
    before = 0
    for at, (name, rows) in enumerate(blocks):
        vertices = np.arange(before, before + len(rows), dtype=np.int64)
        if before >= inputs and at >= len(flow.inputs):
            vertices = inputs + rank[vertices - inputs]
        owner[vertices] = at
        coordinates[vertices, : rows.shape[1]] = rows
        index[f"input {name}" if at < len(flow.inputs) else name] = RowIndex(rows, vertices)
        before += len(rows)
    edges = []
    for item in flow.flows:
        sources, sinks = pairs(item.relation, sizes)
        start = index[f"input {item.reference.array}" if item.source is None else item.source]
        edges.append(np.column_stack([index[item.sink].find(sinks), start.find(sources)]))
    both = np.concatenate(edges) if edges else np.zeros((0, 2), dtype=np.int64)
    sinks, operands = np.divmod(distinct(both[:, 0] * n + both[:, 1]), n)  # a value is read once by a statement
    starts = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(sinks, minlength=n), out=starts[1:])
    return ConcreteCdag(inputs, starts, operands, names, widths, owner, coordinates, _weights(program, names, owner))


def _weights(program: Program, names: tuple[str, ...], owner: IntArray) -> IntArray:
    sizes = []
    for name in names:
        array = program.by_name[name].write.array if name in program.by_name else name
        sizes.append(program.arrays[array].element_bytes)
    return np.array(sizes, dtype=np.int64)[owner]
