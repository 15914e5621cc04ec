"""The workload: a computation DAG with integer data sizes."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from shorthaul.core.arguments import public
from shorthaul.core.errors import Demand, InfeasibleError, InputError
from shorthaul.core.search import Search
from shorthaul.graphs.csr import Csr, distinct, find_cycle, from_arrays, topological_order

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
NodeId = int | str

#: The weights of all nodes together may not exceed this, so that sums over long schedules stay exact in 64 bits.
LARGEST_TOTAL = 2**46
#: Nodes named in a message; the rest is counted.
_MOST_NAMED = 8
#: Operands of a node up to which all of them are compared with one another, to find one that is there twice.
_MOST_COMPARED = 8


@dataclass(frozen=True, slots=True)
class Terms:
    """What a plan pays and which order it keeps to.

    ``load`` and ``store`` are the prices of moving a unit of weight, integers from 0; None: there are no such moves.
    Without loads, inputs are computed from nothing, at their own cost; without stores, outputs have to be computed
    only. With ``in_order`` the nodes are computed for the first time in the order of their indices. ``in_place``: a
    result may take the room of an operand that is dropped with that, if it is no larger. ``partial``: values are
    accumulated operand by operand, in any order, and may be stored and loaded meanwhile.

    >>> Terms().is_usual, Terms(store=None).is_usual
    (True, False)
    """

    load: int | None = 1
    store: int | None = 1
    in_order: bool = False
    in_place: bool = False
    partial: bool = False

    @property
    def is_usual(self) -> bool:
        """True for the paper's game: both prices are 1, in any order."""
        return self == Terms()

    @property
    def offloads(self) -> bool:
        """True if computed values can be stored and loaded again."""
        return self.load is not None and self.store is not None

    def played(self, cdag: Cdag) -> Cdag:
        """Return the graph as the plan sees it: without loads, it has no inputs."""
        return cdag if self.load is not None else replace(cdag, given=np.zeros(cdag.n, dtype=np.bool_))

    def needs(self, cdag: Cdag) -> IntArray:
        """Return what computing each node asks of the fast memory (0 for inputs), shape (n,).

        >>> Terms(in_place=True).needs(from_pairs([3, 1], [(0, 1)])).tolist()
        [0, 3]
        >>> Terms(partial=True).needs(from_pairs([1, 1, 1], [(0, 2), (1, 2)])).tolist()
        [0, 0, 2]
        """
        if not self.partial:
            return cdag.needs() - self.saved(cdag)
        sources, targets = cdag.edge_arrays()
        widest = np.zeros(cdag.n, dtype=np.int64)
        np.maximum.at(widest, targets, cdag.weights[sources])
        return np.where(cdag.given, 0, cdag.weights + widest)

    def saved(self, cdag: Cdag) -> IntArray:
        """Return the room that each node does without where it takes that of an operand, shape (n,)."""
        saved = np.zeros(cdag.n, dtype=np.int64)
        if self.in_place:
            sources, targets = cdag.edge_arrays()
            fits = cdag.weights[sources] >= cdag.weights[targets]
            saved[targets[fits]] = cdag.weights[targets[fits]]
        return saved

    def slack(self, cdag: Cdag) -> int:
        """Return how much more memory makes up for results that take the room of operands."""
        return int(self.saved(cdag).max())

    def least(self, cdag: Cdag) -> int:
        """Return what every plan pays: each node is computed once, each input loaded and each output stored.

        >>> Terms(load=2, store=None).least(from_pairs([3, 1], [(0, 1)]))
        6
        """
        seen = self.played(cdag)
        paid = int(seen.compute[~seen.given].sum()) + (self.load or 0) * int(seen.weights[seen.given].sum())
        return paid + (self.store or 0) * int(seen.weights[seen.is_output()].sum())


#: What a certificate proves, what is wrong with it, and remarks.
Verified = tuple[int, list[str], list[str]]
Document = dict[str, Any]


class Origin(Protocol):
    """What a graph was made from, where that has a bound and an order of its own."""

    def least_loaded(self, budget: int, width: int, search: Search) -> tuple[int, str, Document] | None:
        """Return a bound on the words loaded if no value is computed twice, its proof and certificate, if there is one.

        ``width`` is the least weight of a word.
        """

    def verified(self, certificate: Document, budget: int, width: int) -> Verified | None:
        """Return what a certificate proves, what is wrong with it, and remarks; None if this cannot be told here."""

    def order(self, budget: int, width: int, search: Search) -> IntArray | None:
        """Return the computed nodes in an order of few loads; None if there is none."""


@dataclass(frozen=True, slots=True, eq=False)
class Cdag:
    """A computation DAG: an edge (p, v) says that computing v reads p; ``weights`` are data sizes.

    ``weights`` has shape (n,), positive int64. ``parents`` and ``children`` hold the edges from both ends; the parents
    of a node keep the order in which the edges were given (operands). ``order`` is a topological order, the identity
    where every edge goes from a lower to a higher index. ``ids`` are the names of the nodes in documents, None where
    they are the indices. ``given`` (shape (n,)) tells which nodes are inputs: they have no parents and start in slow
    memory.
    Other nodes without parents are constants, computed from nothing. Outputs must end in slow memory: the nodes without
    children, and those of ``kept`` (shape (n,); None: there are none), which others read too. ``compute`` (shape (n,),
    int64 from 0) is what computing each node costs, once each time. ``origin`` is what the graph was made from, if that
    has a bound and an order of its own. ``weight_bytes`` are the bytes of a weight of 1, None where that is not known.

    Made by :func:`build`, which checks it.
    """

    weights: IntArray
    parents: Csr
    children: Csr
    order: IntArray
    given: BoolArray
    compute: IntArray
    ids: tuple[NodeId, ...] | None = None
    name: str = ""
    origin: Origin | None = None
    weight_bytes: float | None = None
    kept: BoolArray | None = None

    @property
    def n(self) -> int:
        """The number of nodes."""
        return len(self.weights)

    @property
    def edges(self) -> int:
        """The number of edges."""
        return len(self.parents.targets)

    def is_input(self) -> BoolArray:
        """True where a node is an input, shape (n,)."""
        return self.given

    def is_output(self) -> BoolArray:
        """True where a node has to end in slow memory: it has no children or is kept, shape (n,)."""
        ends = np.asarray(self.children.degrees() == 0)
        return ends if self.kept is None else ends | self.kept

    def unkept(self) -> Cdag:
        """Return the graph in which only nodes without children are outputs."""
        return self if self.kept is None else replace(self, kept=None)

    def inputs(self) -> IntArray:
        """The inputs, ascending."""
        return np.flatnonzero(self.given)

    def constants(self) -> IntArray:
        """The nodes that are computed from nothing, ascending."""
        return np.flatnonzero((self.parents.degrees() == 0) & ~self.given)

    def outputs(self) -> IntArray:
        """The outputs, ascending."""
        return np.flatnonzero(self.is_output())

    def needs(self) -> IntArray:
        """What computing each node asks of the fast memory: its weight and its parents' (0 for inputs), shape (n,)."""
        operands = np.concatenate([[0], np.cumsum(self.weights[self.parents.targets])])
        need: IntArray = self.weights + operands[self.parents.starts[1:]] - operands[self.parents.starts[:-1]]
        need[self.is_input()] = 0
        return need

    def least_budget(self) -> int:
        """The smallest budget for which a schedule exists (Proposition 2.3)."""
        return int(self.needs().max())

    def algorithmic_bound(self) -> int:
        """The weight of all inputs and outputs: each is moved at least once (Proposition 2.4)."""
        return int(self.weights[self.is_input()].sum() + self.weights[self.is_output()].sum())

    def id_of(self, node: int) -> NodeId:
        """Return the name of ``node`` in documents."""
        return node if self.ids is None else self.ids[node]

    def names(self) -> list[str]:
        """Return the names of all nodes as text: as JSON has them where a number and a text look alike."""
        ids = [self.id_of(node) for node in range(self.n)]
        names = [str(name) for name in ids]
        return names if len(set(names)) == self.n else [json.dumps(name, ensure_ascii=False) for name in ids]

    def edge_arrays(self) -> tuple[IntArray, IntArray]:
        """Return (from, to) of all edges, grouped by ``to``, each of shape (edges,)."""
        return self.parents.targets, np.repeat(np.arange(self.n, dtype=np.int64), self.parents.degrees())

    def _repr_html_(self) -> str:
        rows = [
            ("nodes", self.n),
            ("edges", self.edges),
            ("inputs", len(self.inputs())),
            ("constants", len(self.constants())),
            ("outputs", len(self.outputs())),
            ("weight", int(self.weights.sum())),
            ("least budget", self.least_budget()),
        ]
        cells = "".join(f"<tr><th>{name}</th><td>{value:,}</td></tr>" for name, value in rows)
        return f"<table><caption>CDAG {html.escape(self.name)}</caption>{cells}</table>"


@public
def build(
    weights: npt.ArrayLike,
    sources: npt.ArrayLike,
    targets: npt.ArrayLike,
    *,
    given: BoolArray | None = None,
    kept: BoolArray | None = None,
    compute: npt.ArrayLike | None = None,
    ids: Sequence[NodeId] | None = None,
    name: str = "",
) -> Cdag:
    """Return the CDAG with these node weights and the edges ``sources[i] -> targets[i]`` (indices below n).

    An edge given twice counts once.

    Parameters
    ----------
    weights : npt.ArrayLike
        The weight of every node, shape (n,).
    sources : npt.ArrayLike
        Where each edge begins, indices below n.
    targets : npt.ArrayLike
        Where each edge ends.
    given : BoolArray | None
        Which nodes are inputs, shape (n,); others without parents are computed from nothing. None: all without parents.
    kept : BoolArray | None
        Which nodes are outputs though others read them, shape (n,). None: only nodes without children are outputs.
    compute : npt.ArrayLike | None
        What computing each node costs, shape (n,), integers from 0. None: nothing.
    ids : Sequence[NodeId] | None
        The names of the nodes; None: their indices.
    name : str, default ''
        What the graph is called.

    Returns
    -------
    Cdag
        The graph.

    Raises
    ------
    InputError
        If there is no node, a weight is no positive integer, an edge leads to no node, there is a cycle, or an input
        has parents or no reader.

    Examples
    --------
    >>> cdag = build([1, 1, 2], [0, 1], [2, 2])
    >>> cdag.inputs().tolist(), cdag.outputs().tolist(), cdag.least_budget(), cdag.algorithmic_bound()
    ([0, 1], [2], 4, 4)
    """
    names = None if ids is None else tuple(ids)
    sizes = _weights(weights, names)
    n = len(sizes)
    for place, entries in (("ids", names), ("given", given), ("kept", kept)):
        if entries is not None and np.shape(entries) != (n,):
            raise InputError("does not have one entry per node", place=place, value=entries, allowed=f"{n} entries")
    start, stop, parents = _edges(sources, targets, n)
    children = from_arrays(n, start, stop)
    order = _order(children, start, stop, names)
    first = parents.degrees() == 0
    starts = first if given is None else np.asarray(given, dtype=np.bool_)
    computed = np.flatnonzero(starts & ~first)
    if len(computed):
        raise InputError(
            "an input is computed from other nodes", place="nodes", value=_listed(computed.tolist(), names),
            cure="drop the edges into it, or do not call it an input",
        )  # fmt: skip
    isolated = np.flatnonzero(starts & (children.degrees() == 0))
    if len(isolated):
        raise InputError(
            "a node has no edge: it is neither computed nor used", place="nodes",
            value=_listed(isolated.tolist(), names), cure="drop it, or give it an edge",
        )  # fmt: skip
    costs, read = _costs(compute, names, n), _read(kept, starts, children)
    return Cdag(sizes, parents, children, order, starts, costs, names, name, kept=read)


def _read(kept: BoolArray | None, given: BoolArray, children: Csr) -> BoolArray | None:
    """Return which of the outputs are computed and read, None if there are none."""
    read = np.zeros(len(given), dtype=np.bool_) if kept is None else np.asarray(kept, dtype=np.bool_)
    read = read & ~given & (children.degrees() > 0)
    return read if read.any() else None


@public
def from_pairs(weights: npt.ArrayLike, edges: Iterable[tuple[int, int]], *, name: str = "") -> Cdag:
    """Return the CDAG of ``edges`` as pairs (from, to); see :func:`build`.

    Parameters
    ----------
    weights : npt.ArrayLike
        The weight of every node, shape (n,).
    edges : Iterable[tuple[int, int]]
        Pairs (from, to) of indices.
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
    >>> from_pairs([1, 1, 1], [(0, 2), (1, 2)]).n
    3
    """
    listed = list(edges)
    for number, pair in enumerate(listed):
        ends = list(pair) if isinstance(cast("Any", pair), tuple | list | np.ndarray) else []
        if len(ends) != 2 or not all(isinstance(end, int | np.integer) and not isinstance(end, bool) for end in ends):
            place, allowed = f"edges[{number}]", "a pair (from, to) of indices"
            raise InputError("is not a pair of indices", place=place, value=pair, allowed=allowed)
    pairs = _integers([end for pair in listed for end in pair], "edges", "pairs of indices").reshape(-1, 2)
    return build(weights, pairs[:, 0], pairs[:, 1], name=name)


def require_budget(cdag: Cdag, budget: int, terms: Terms | None = None) -> None:
    """Raise :class:`InfeasibleError` if some node cannot be computed within ``budget`` (Proposition 2.3)."""
    needs = (terms or Terms()).needs(cdag)
    worst = int(needs.argmax())
    if needs[worst] <= budget:
        return
    operands = cdag.parents.neighbours(worst).tolist()
    if terms is not None and terms.partial and operands:  # one operand after the other
        operands = [max(operands, key=lambda operand: int(cdag.weights[operand]))]
    room = int(cdag.weights[operands].sum())
    contributors = [Demand(f"operand {cdag.id_of(p)}", int(cdag.weights[p])) for p in operands[:_MOST_NAMED]]
    if len(operands) > _MOST_NAMED:
        rest = int(cdag.weights[operands[_MOST_NAMED:]].sum())
        contributors.append(Demand(f"{len(operands) - _MOST_NAMED} more operands", rest))
    raise InfeasibleError(
        "fast memory",
        demand=int(needs[worst]),
        limit=budget,
        place=f"node {cdag.id_of(worst)}",
        contributors=[*contributors, Demand(f"the result {cdag.id_of(worst)}", int(needs[worst] - room))],
        cure=f"give a budget of at least {int(needs[worst])}",
    )


def _integers(given: npt.ArrayLike, place: str, allowed: str, *, cure: str = "") -> npt.NDArray[Any]:
    """Return an array of integers, shape (n,); raises :class:`InputError` with the first value that is none."""
    try:
        array = np.asarray(given)
    except ValueError:  # lists of several lengths
        array = np.array(None)
    if array.ndim != 1:
        raise InputError("is not a list of integers", place=place, value=given, allowed=allowed)
    has_flags = isinstance(given, list | tuple) and bool in set(map(type, given))
    if len(array) == 0 or (array.dtype.kind in "iu" and not has_flags):
        return array.astype(np.int64) if len(array) == 0 else array
    for number, item in enumerate(given if isinstance(given, list | tuple) else array.tolist()):
        if isinstance(item, bool | np.bool_) or not isinstance(item, int | np.integer) or abs(int(item)) >= 2**63:
            raise InputError("is not an integer", place=f"{place}[{number}]", value=item, allowed=allowed, cure=cure)
    return array.astype(np.int64)


def _weights(weights: npt.ArrayLike, ids: tuple[NodeId, ...] | None) -> IntArray:
    given = _integers(weights, "weights", "integers from 1", cure="scale the data sizes")
    if len(given) == 0:
        raise InputError("has no nodes", place="nodes", allowed="at least one node that is read or computed")
    low = int(given.argmin())
    if given[low] <= 0:
        raise InputError(
            "must be positive",
            place=f"weight of node {low if ids is None else ids[low]}",
            value=int(given[low]),
            allowed="integers from 1",
        )
    total = sum(given.tolist()) if len(given) < 1000 else float(given.astype(np.float64).sum())
    if total > LARGEST_TOTAL:
        raise InputError(
            "are too large", place="weights", value=int(total), allowed=f"at most {LARGEST_TOTAL} together"
        )
    return given.astype(np.int64)


def _costs(compute: npt.ArrayLike | None, ids: tuple[NodeId, ...] | None, n: int) -> IntArray:
    if compute is None:
        return np.zeros(n, dtype=np.int64)
    costs = _integers(compute, "compute", "integers from 0", cure="scale the costs")
    if len(costs) != n:
        raise InputError("must be integers, one per node", place="compute", value=f"{len(costs)} of them")
    low = int(costs.argmin())
    if costs[low] < 0:
        place = f"compute of node {low if ids is None else ids[low]}"
        raise InputError("must not be negative", place=place, value=int(costs[low]), allowed="integers from 0")
    total = float(costs.astype(np.float64).sum())
    if total > LARGEST_TOTAL:
        allowed = f"at most {LARGEST_TOTAL} together"
        raise InputError("are too large", place="compute", value=int(total), allowed=allowed, cure="scale the costs")
    return costs.astype(np.int64)


def _edges(sources: npt.ArrayLike, targets: npt.ArrayLike, n: int) -> tuple[IntArray, IntArray, Csr]:
    """Return the edges without those given again, and the parents of every node."""
    start = _integers(sources, "sources", "indices of nodes").astype(np.int64)
    stop = _integers(targets, "targets", "indices of nodes").astype(np.int64)
    if len(start) != len(stop):
        raise InputError("must be of equal length", place="edges", value=(len(start), len(stop)))
    if len(start) and (min(start.min(), stop.min()) < 0 or max(start.max(), stop.max()) >= n):
        wrong = int(np.flatnonzero((start < 0) | (stop < 0) | (start >= n) | (stop >= n))[0])
        raise InputError(
            "names a node that does not exist",
            place=f"edges[{wrong}]",
            value=[int(start[wrong]), int(stop[wrong])],
            allowed=f"0 to {n - 1}",
        )
    parents = from_arrays(n, stop, start)
    if _has_twins(parents):
        first = np.sort(np.unique(start * n + stop, return_index=True)[1])
        start, stop = start[first], stop[first]
        parents = from_arrays(n, stop, start)
    return start, stop, parents


def _has_twins(csr: Csr) -> bool:
    """Return whether a node has a neighbour twice. Sorting all edges takes far longer, where no node has many."""
    rises = csr.targets[1:] > csr.targets[:-1]
    firsts = csr.starts[(csr.starts > 0) & (csr.starts < len(csr.targets))]
    rises[firsts - 1] = True
    if rises.all():
        return False
    degrees = csr.degrees()
    most, node = int(degrees.max()), np.repeat(np.arange(csr.n), degrees)
    if most > _MOST_COMPARED:
        keys = node * csr.n + csr.targets
        return len(distinct(keys)) < len(keys)
    apart = range(1, most)
    return any(bool(((csr.targets[by:] == csr.targets[:-by]) & (node[by:] == node[:-by])).any()) for by in apart)


def _order(children: Csr, start: IntArray, stop: IntArray, ids: tuple[NodeId, ...] | None) -> IntArray:
    if bool((start < stop).all()):
        return np.arange(children.n, dtype=np.int64)
    order = topological_order(children)
    if order is None:
        cycle = find_cycle(children)
        raise InputError(
            "the graph has a cycle", place="edges", value=_listed([*cycle, cycle[0]], ids, " -> "), cure="break it"
        )
    return order


def _listed(nodes: Sequence[int], ids: tuple[NodeId, ...] | None, separator: str = ", ") -> str:
    shown = separator.join(str(node if ids is None else ids[node]) for node in nodes[:_MOST_NAMED])
    return shown if len(nodes) <= _MOST_NAMED else f"{shown}{separator}... ({len(nodes)} nodes)"
