"""Twins of the kernels of the exact decoder: orders on all resources by trying them all, longest paths by relaxation."""

from __future__ import annotations

from math import ceil

from shorthaul.dataflow.bounds.period import maximum_cycle_ratio
from shorthaul.dataflow.modulo.disjunctive_graph import DisjunctiveGraph, turns

Arc = tuple[int, int, int]


def fixed_arcs(graph: DisjunctiveGraph, period: int) -> list[Arc]:
    """Arcs (from, to, ticks) of firings and token cycles; loose firings begin within one period of the first one."""
    arcs: list[Arc] = []
    for begin, middle, stop in zip(graph.first, graph.execution, graph.stop, strict=True):
        arcs += [(begin, i, 0) for i in range(begin + 1, middle + 1)]
        arcs += [(i, middle, graph.duration[i]) for i in range(begin + 1, middle)]
        arcs += [(middle, i, graph.duration[middle]) for i in range(middle + 1, stop)]
        arcs += [(i, stop - 1, graph.duration[i]) for i in range(middle + 1, stop - 1)]
        arcs.append((stop - 1, begin, -period))
    arcs += [(u, v, ticks - held * period) for u, v, ticks, held in graph.tokens]
    seen = {graph.unit[0]}
    for begin, unit in zip(graph.first, graph.unit, strict=True):
        if unit not in seen:
            seen.add(unit)
            arcs += [(graph.first[0], begin, 0), (begin, graph.first[0], 1 - period)]
    return [(int(u), int(v), int(w)) for u, v, w in arcs]


def times(n: int, arcs: list[Arc]) -> list[int] | None:
    """Longest paths into every node, None if a cycle is positive."""
    time = [0] * n
    for _ in range(n + 1):
        changed = False
        for u, v, w in arcs:
            if time[u] + w > time[v]:
                time[v], changed = time[u] + w, True
        if not changed:
            return time
    return None


def schedulable(graph: DisjunctiveGraph, period: int) -> bool:
    """True if some choice of turns has a schedule of this period: every choice is tried."""
    rows = [*zip(*(array.tolist() for array in turns(graph)), strict=True)]
    n = len(graph.names)

    def choose(number: int, arcs: list[Arc]) -> bool:
        if times(n, arcs) is None:
            return False
        if number == len(rows):
            return True
        (a, c), (b, d), (ticks, other) = rows[number]
        return any(
            choose(number + 1, [*arcs, (a, b, ticks - k * period), (c, d, other - (1 - k) * period)])
            for k in range(-3, 5)
        )

    return choose(0, fixed_arcs(graph, period))


def cycle_ratio(n: int, arcs: list[tuple[int, int, int, int]]) -> int | None:
    """The least whole period of arcs (from, to, ticks, periods), by the maximum cycle ratio; None if there is none."""
    forever = 1 + sum(ticks for _, _, ticks, _ in arcs)
    if times(n, [(u, v, ticks - periods * forever) for u, v, ticks, periods in arcs]) is None:
        return None
    nodes = [str(i) for i in range(n)]
    found = maximum_cycle_ratio(nodes, [(str(u), str(v), ticks, periods) for u, v, ticks, periods in arcs])
    return 0 if found is None else ceil(found.ratio)
