"""Directed graphs in compressed sparse row form, and the orders every engine needs."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shorthaul.graphs.component_kernels import join
from shorthaul.graphs.csr_kernels import place

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Csr:
    """Adjacency of ``n`` nodes: the neighbours of node v are ``targets[starts[v]:starts[v + 1]]``.

    ``starts`` has shape (n + 1,), ``targets`` shape (number of edges,), both int64. Neighbours keep the order in which
    the edges were given; parallel edges are kept.
    """

    starts: IntArray
    targets: IntArray

    @property
    def n(self) -> int:
        """The number of nodes."""
        return len(self.starts) - 1

    def neighbours(self, node: int) -> IntArray:
        """Return the neighbours of ``node``, shape (degree,)."""
        return self.targets[self.starts[node] : self.starts[node + 1]]

    def degrees(self) -> IntArray:
        """Return the out-degree of every node, shape (n,)."""
        return np.diff(self.starts)

    def reversed(self) -> Csr:
        """Return the graph with every edge turned round."""
        sources = np.repeat(np.arange(self.n, dtype=np.int64), self.degrees())
        return from_arrays(self.n, self.targets, sources)


def from_arrays(n: int, sources: IntArray, targets: IntArray) -> Csr:
    """Return the CSR form of the edges ``sources[i] -> targets[i]`` (both of shape (number of edges,)).

    >>> from_arrays(3, np.array([2, 0]), np.array([1, 2])).neighbours(2)
    array([1])
    """
    starts = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(sources, minlength=n), out=starts[1:])
    begins, ends = (np.ascontiguousarray(nodes, dtype=np.int64) for nodes in (sources, targets))
    placed = np.empty_like(begins)
    place(begins, ends, starts[:-1].copy(), placed)
    return Csr(starts, placed)


def distinct(keys: IntArray) -> IntArray:
    """Return the different ones of ``keys``, ascending: what ``np.unique`` does by hashing, many times slower.

    >>> distinct(np.array([3, 1, 3]))
    array([1, 3])
    """
    ascending = np.sort(keys)
    found: IntArray = ascending[np.concatenate([[True], ascending[1:] != ascending[:-1]])[: len(keys)]]
    return found


def from_edges(n: int, edges: Iterable[tuple[int, int]]) -> Csr:
    """Return the CSR form of ``edges``, pairs (from, to) of nodes below ``n``."""
    pairs = np.array(list(edges), dtype=np.int64).reshape(-1, 2)
    return from_arrays(n, pairs[:, 0], pairs[:, 1])


def topological_order(graph: Csr) -> IntArray | None:
    """Return the nodes so that every edge points forward, smallest ready index first; None if there is a cycle.

    Kahn's algorithm with a heap, O((n + m) log n).

    >>> topological_order(from_edges(3, [(2, 0), (0, 1)])).tolist()
    [2, 0, 1]
    """
    missing = np.bincount(graph.targets, minlength=graph.n).tolist()
    starts, targets = graph.starts.tolist(), graph.targets.tolist()
    ready = [node for node in range(graph.n) if missing[node] == 0]
    order = []
    while ready:
        node = heapq.heappop(ready)
        order.append(node)
        for target in targets[starts[node] : starts[node + 1]]:
            missing[target] -= 1
            if missing[target] == 0:
                heapq.heappush(ready, target)
    return np.array(order, dtype=np.int64) if len(order) == graph.n else None


def find_cycle(graph: Csr) -> list[int]:
    """Return the nodes of one directed cycle in order, an empty list if there is none.

    >>> find_cycle(from_edges(3, [(0, 1), (1, 2), (2, 1)]))
    [1, 2]
    """
    starts, targets = graph.starts.tolist(), graph.targets.tolist()
    state = [0] * graph.n  # 0 unseen, 1 on the path, 2 done
    for root in range(graph.n):
        if state[root]:
            continue
        path, cursor = [root], [starts[root]]
        state[root] = 1
        while path:
            node = path[-1]
            if cursor[-1] == starts[node + 1]:
                state[node] = 2
                path.pop()
                cursor.pop()
                continue
            target = targets[cursor[-1]]
            cursor[-1] += 1
            if state[target] == 1:
                return path[path.index(target) :]
            if state[target] == 0:
                state[target] = 1
                path.append(target)
                cursor.append(starts[target])
    return []


def strong_components(graph: Csr) -> IntArray:
    """Return the number of each node's strongly connected component, shape (n,) (Tarjan 1972).

    >>> strong_components(from_edges(4, [(0, 1), (1, 2), (2, 1), (2, 3)])).tolist()
    [2, 1, 1, 0]
    """
    starts, targets = graph.starts.tolist(), graph.targets.tolist()
    label = [-1] * graph.n
    index = [-1] * graph.n  # in the order of the visit
    low = [0] * graph.n  # the least index seen from a node
    stack: list[int] = []
    count = visited = 0
    for root in range(graph.n):
        path, cursor = ([root], [starts[root]]) if index[root] < 0 else ([], [])
        while path:
            node = path[-1]
            if index[node] < 0:
                index[node] = low[node] = visited
                visited += 1
                stack.append(node)
            if cursor[-1] < starts[node + 1]:
                target = targets[cursor[-1]]
                cursor[-1] += 1
                if index[target] < 0:
                    path.append(target)
                    cursor.append(starts[target])
                elif label[target] < 0:
                    low[node] = min(low[node], index[target])
                continue
            path.pop()
            cursor.pop()
            if path:
                low[path[-1]] = min(low[path[-1]], low[node])
            if low[node] == index[node]:
                while label[node] < 0:
                    label[stack.pop()] = count
                count += 1
    return np.array(label, dtype=np.int64)


def layers(graph: Csr, order: Sequence[int] | IntArray) -> IntArray:
    """Return for every node the length of the longest path that ends there, shape (n,); ``order`` is topological."""
    depth = [0] * graph.n
    starts, targets = graph.starts.tolist(), graph.targets.tolist()
    for node in np.asarray(order).tolist():
        for target in targets[starts[node] : starts[node + 1]]:
            depth[target] = max(depth[target], depth[node] + 1)
    return np.array(depth, dtype=np.int64)


def component_of(n: int, sources: IntArray, targets: IntArray) -> IntArray:
    """Return the number of each node's connected component, edges taken in both directions, shape (n,).

    >>> component_of(4, np.array([2, 1]), np.array([0, 3])).tolist()
    [0, 1, 0, 1]
    """
    labels = np.empty(n, dtype=np.int64)
    join(np.ascontiguousarray(sources, dtype=np.int64), np.ascontiguousarray(targets, dtype=np.int64), labels)
    return labels
