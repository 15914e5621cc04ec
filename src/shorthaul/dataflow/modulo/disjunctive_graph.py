"""The cyclic disjunctive graph of a mapped network: what must follow what, and what must not overlap, as arrays.

A node is a begin, read, execution, write or end of a firing. All firings repeat every P ticks; two accesses that share
an interconnect, or two firings on a core, may take turns in any order, but never overlap modulo P (Hanen, *Study of a
NP-hard cyclic scheduling problem*, EJOR 1994). Accesses without duration belong to the execution.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from shorthaul.dataflow.graphs.multi_reader_buffers import Buffer
from shorthaul.dataflow.mapping.binding import MappedNetwork, Task
from shorthaul.dataflow.modulo.differences_kernels import close
from shorthaul.graphs.csr import from_edges, strong_components

IntArray = npt.NDArray[np.int64]
BEGIN, READ, EXECUTION, WRITE, END = range(5)
#: No constraint between two nodes.
UNBOUND = -(1 << 60)


@dataclass(frozen=True, slots=True)
class DisjunctiveGraph:
    """N nodes in F firings; those of firing f are ``first[f]`` to ``stop[f] - 1``, from its begin to its end.

    ``duration``, ``kind``, ``firing`` (N); ``execution`` (F) the node of each firing's execution. The accesses on
    interconnect r are ``on[on_at[r]:on_at[r + 1]]``, the firings on core p likewise in ``at_core``. ``tokens`` (., 4)
    holds arcs (from, to, ticks, initial tokens) of cycles through several actors; ``unit`` (F) numbers the firings
    that such cycles tie together. The others may be put off by whole periods at will.
    """

    names: tuple[str, ...]
    duration: IntArray
    kind: IntArray
    firing: IntArray
    first: IntArray
    stop: IntArray
    execution: IntArray
    on_at: IntArray
    on: IntArray
    core_at: IntArray
    at_core: IntArray
    tokens: IntArray
    unit: IntArray


def disjunctive_graph(
    net: MappedNetwork, capacities: Mapping[str, int] | None = None, *, atomic: bool = False
) -> DisjunctiveGraph:
    """Return the graph of ``net``; the buffers named in ``capacities`` hold at most these tokens.

    ``atomic``: a place is held from firing to firing, not from access to access.

    >>> from shorthaul.dataflow.mapping.binding import determine_channel_bindings, mapped
    >>> from shorthaul.dataflow.workloads.generators import figure7
    >>> from shorthaul.dataflow.graphs.multi_reader_buffers import substitute_mrbs
    >>> problem = figure7()
    >>> network = substitute_mrbs(problem.application, {})
    >>> one = {buffer.id: 1 for buffer in network.buffers}
    >>> memory = determine_channel_bindings(network, problem.platform, problem.mapping, one)
    >>> graph = disjunctive_graph(
    ...     mapped(problem.application, problem.platform, network, problem.mapping.binding, memory)
    ... )
    >>> len(graph.names), len(graph.first), int(graph.duration.sum())
    (25, 5, 23)
    """
    names: list[str] = []
    rows: list[tuple[int, int, int]] = []
    first: list[int] = []
    stop: list[int] = []
    execution: list[int] = []
    cores: dict[str, list[int]] = {}
    interconnects: dict[str, list[int]] = {}

    def node(name: str, duration: int, kind: int) -> None:
        names.append(name)
        rows.append((duration, kind, len(stop)))

    def accesses(tasks: Iterable[Task], kind: int) -> None:
        for task in tasks:
            if task.duration:
                for interconnect in task.route:
                    interconnects.setdefault(interconnect, []).append(len(names))
                node(task.name, task.duration, kind)

    for name in net.network.actors:
        cores.setdefault(net.binding[name], []).append(len(stop))
        first.append(len(names))
        node(f"begin {name}", 0, BEGIN)
        accesses(net.reads[name], READ)
        execution.append(len(names))
        node(name, net.execution[name], EXECUTION)
        accesses(net.writes[name], WRITE)
        node(f"end {name}", 0, END)
        stop.append(len(names))
    duration, kind, firing = np.array(rows, np.int64).reshape(-1, 3).T.copy()
    capacities = capacities or {}
    component = cyclic_components(net, capacities)
    units = [component.get(name, len(first) + number) for number, name in enumerate(net.network.actors)]
    ends = {name: (first[number], stop[number] - 1) for number, name in enumerate(net.network.actors)}
    tokens = _token_arcs(net, names, duration, component, capacities, ends if atomic else {})
    on_at, on = _grouped([group for group in interconnects.values() if len(group) > 1])
    core_at, at_core = _grouped(list(cores.values()))
    return DisjunctiveGraph(
        tuple(names), duration, kind, firing, np.array(first, np.int64), np.array(stop, np.int64),
        np.array(execution, np.int64), on_at, on, core_at, at_core, tokens, np.array(units, np.int64),
    )  # fmt: skip


def _grouped(groups: Sequence[Sequence[int]]) -> tuple[IntArray, IntArray]:
    sizes = np.cumsum([0, *map(len, groups)])
    return sizes.astype(np.int64), np.array([member for group in groups for member in group], np.int64)


def _token_arcs(
    net: MappedNetwork,
    names: Sequence[str],
    duration: IntArray,
    component: Mapping[str, int],
    capacities: Mapping[str, int],
    ends: Mapping[str, tuple[int, int]],
) -> IntArray:
    """Arcs for tokens that must be there, and for places that must be free: between accesses, or between ``ends``."""
    number = {name: i for i, name in enumerate(names)}
    reads, writes = net.read_tasks(), net.write_tasks()
    arcs = []
    for buffer in net.network.buffers:
        write = writes[buffer.id]
        source = number[write.name if write.duration else buffer.writer]
        for task in reads[buffer.id]:
            if buffer.writer == task.actor or not on_one_cycle(component, buffer, task):
                continue
            target = number[task.name if task.duration else task.actor]
            arcs.append((source, target, int(duration[source]), buffer.delay))
            if buffer.id not in capacities:
                continue
            room = capacities[buffer.id] - buffer.delay  # a place is free again when it has been read
            if ends:
                arcs.append((ends[task.actor][1], ends[buffer.writer][0], 0, room))
            else:
                arcs.append((target, source, int(duration[target]), room))
    return np.array(arcs, np.int64).reshape(-1, 4)


def on_one_cycle(component: Mapping[str, int], buffer: Buffer, task: Task) -> bool:
    """True if the writer of ``buffer`` and the reader ``task`` lie on a common cycle."""
    return component.get(buffer.writer, -1) == component.get(task.actor, -2)


def cyclic_components(net: MappedNetwork, limited: Container[str] = ()) -> dict[str, int]:
    """Return, for every actor on a cycle of several, the number of its strongly connected component.

    The readers of ``limited`` buffers hold up the writer too.
    """
    names = net.network.actors
    number = {name: i for i, name in enumerate(names)}
    pairs = [(number[b.writer], number[reader]) for b in net.network.buffers for reader in b.readers]
    pairs += [(number[r], number[b.writer]) for b in net.network.buffers if b.id in limited for r in b.readers]
    labels = strong_components(from_edges(len(names), pairs)).tolist()
    return {name: labels[i] for name, i in number.items() if labels.count(labels[i]) > 1}


def times_of(graph: DisjunctiveGraph, starts: Mapping[str, int]) -> IntArray:
    """Return the time of every node in a schedule; shape (N,)."""
    times = np.array([starts.get(name, 0) for name in graph.names], np.int64)
    for first, stop in zip(graph.first, graph.stop, strict=True):
        times[first] = times[first + 1 : stop - 1].min()
        times[stop - 1] = (times + graph.duration)[first + 1 : stop - 1].max()
    return times


def starts_of(graph: DisjunctiveGraph, times: IntArray) -> dict[str, int]:
    """Return the starts of executions and of accesses with a duration."""
    inner = (graph.kind != BEGIN) & (graph.kind != END)
    return {graph.names[i]: int(times[i]) for i in np.flatnonzero(inner)}


def whole_periods(graph: DisjunctiveGraph, times: IntArray, period: int) -> IntArray:
    """Return how many ticks of whole periods the first firing of every node's unit is away from the first one."""
    unit = np.unique(graph.unit, return_inverse=True)[1]
    begin = np.full(unit.max() + 1, np.iinfo(np.int64).max)
    np.minimum.at(begin, unit, times[graph.first])
    return (begin // period * period)[unit][graph.firing]


def fixed_differences(graph: DisjunctiveGraph, period: int) -> IntArray | None:
    """Return D (N, N), the least that time[j] - time[i] can be in any order, ``UNBOUND`` if nothing ties them.

    None if the fixed constraints alone contradict each other at ``period``. Accesses that could change places take a
    fixed order. Whole periods are set so that every firing
    follows the first access on the busiest interconnect within one period, which loses nothing.
    """
    n = len(graph.names)
    least = np.full((n, n), UNBOUND, np.int64)
    np.fill_diagonal(least, 0)
    duration = graph.duration
    for begin, execution, stop in zip(graph.first, graph.execution, graph.stop, strict=True):
        end = stop - 1
        for read in range(begin + 1, execution):
            least[begin, read], least[read, execution] = 0, duration[read]
        for write in range(execution + 1, end):
            least[execution, write], least[write, end] = duration[execution], duration[write]
        least[begin, execution] = duration[begin:execution].sum()
        least[execution, end] = duration[execution:end].sum()
        least[end, begin] = -period
    for source, target, ticks, tokens in graph.tokens:
        least[source, target] = max(least[source, target], ticks - tokens * period)
    for one, other in _alike(graph):
        least[one, other] = duration[one]
    anchor, anchors = _anchors(graph)
    for node in anchors:
        if graph.unit[graph.firing[node]] != graph.unit[graph.firing[anchor]]:
            # accesses on one interconnect do not overlap; a begin may be anywhere in the period
            least[anchor, node] = max(least[anchor, node], duration[anchor] if duration[node] else 0)
            least[node, anchor] = max(least[node, anchor], (duration[node] or 1) - period)
    return least if close(least) else None


def _alike(graph: DisjunctiveGraph) -> list[tuple[int, int]]:
    """Pairs of accesses of one firing that could change places in any schedule: one of them comes first in some."""
    tied = set(graph.tokens[:, :2].ravel().tolist())
    crossed: dict[int, list[int]] = {}
    for number, (low, high) in enumerate(pairwise(graph.on_at.tolist())):
        for node in graph.on[low:high].tolist():
            crossed.setdefault(node, []).append(number)
    last: dict[tuple[int, int, int, tuple[int, ...]], int] = {}
    pairs = []
    for node in np.flatnonzero((graph.kind == READ) | (graph.kind == WRITE)).tolist():
        if node in tied:
            continue
        alike = (
            int(graph.firing[node]), int(graph.kind[node]), int(graph.duration[node]), tuple(crossed.get(node, ()))
        )  # fmt: skip
        if alike in last:
            pairs.append((last[alike], node))
        last[alike] = node
    return pairs


def _anchors(graph: DisjunctiveGraph) -> tuple[int, list[int]]:
    """One node per unit, its longest access on the busiest interconnect or a begin; first the longest of them all."""
    loads = [graph.duration[graph.on[low:high]].sum() for low, high in pairwise(graph.on_at.tolist())]
    chosen: dict[int, int] = {}
    if loads:
        busiest = int(np.argmax(loads))
        for node in graph.on[graph.on_at[busiest] : graph.on_at[busiest + 1]].tolist():
            unit = int(graph.unit[graph.firing[node]])
            if unit not in chosen or graph.duration[node] > graph.duration[chosen[unit]]:
                chosen[unit] = node
    anchor = max(chosen.values(), key=lambda node: int(graph.duration[node]), default=int(graph.first[0]))
    for begin, unit in zip(graph.first.tolist(), graph.unit.tolist(), strict=True):
        chosen.setdefault(unit, begin)
    return anchor, sorted(chosen.values())


def turns(graph: DisjunctiveGraph) -> tuple[IntArray, IntArray, IntArray]:
    """Return what must take turns: nodes ``before``, nodes ``after`` and ``ticks``, each of shape (turns, 2).

    For some whole number k: time[after[t, 0]] - time[before[t, 0]] >= ticks[t, 0] - k * P, and on side 1 likewise with
    1 - k for k. Two accesses change sides; of two firings, the end of one comes before the begin of the other.
    """
    n, duration = len(graph.names), graph.duration
    middles = zip(graph.first.tolist(), graph.execution.tolist(), graph.stop.tolist(), strict=True)
    groups = [group for a, b, c in middles for group in (range(a + 1, b), range(b + 1, c - 1))]
    own = [(i, j) for group in groups for j in group for i in range(group.start, j)]
    inside = np.array(own, np.int64).reshape(-1, 2)
    firings = _pairs_of(graph.core_at, graph.at_core)
    shared = _pairs_of(graph.on_at, graph.on)
    keys = shared[:, 0] * n + shared[:, 1]
    first = np.sort(np.unique(keys, return_index=True)[1])  # in the order in which they are met
    shared = shared[first[~np.isin(keys[first], inside[:, 0] * n + inside[:, 1])]]
    stop, begin = graph.stop[firings] - 1, graph.first[firings]
    before = np.concatenate([inside, stop, shared])
    after = np.concatenate([inside[:, ::-1], begin[:, ::-1], shared[:, ::-1]])
    return before, after, duration[before]  # the ends of firings take none


def _pairs_of(starts: IntArray, members: IntArray) -> IntArray:
    """Return the pairs of every group in turn; shape (., 2)."""
    groups = [_pairs(members[low:high]) for low, high in pairwise(starts.tolist())]
    return np.concatenate([np.zeros((0, 2), np.int64), *groups])


def _pairs(members: IntArray) -> IntArray:
    """Return all pairs, the earlier member first, ordered by the later one; shape (., 2)."""
    return members[_triangle(len(members))]


@lru_cache(maxsize=512)
def _triangle(n: int) -> IntArray:
    later = np.repeat(np.arange(n), np.arange(n))
    return np.stack([np.arange(len(later)) - later * (later - 1) // 2, later], axis=1)


def resources(graph: DisjunctiveGraph) -> tuple[IntArray, IntArray]:
    """Return the accesses on every interconnect, ``on_at`` and ``on``, with those of equal length side by side."""
    groups = [graph.on[low:high].tolist() for low, high in pairwise(graph.on_at.tolist())]
    return _grouped([sorted(group, key=lambda node: int(graph.duration[node])) for group in groups])
