"""Vertices with many subtrees: the nearest few of each need room around it, however unlike the subtrees are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shorthaul.spatial import tuning

Index = npt.NDArray[np.int32]
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Hub:
    """A vertex, those below it that are ``kept``, up to ``cap`` in the subtree of a child, and what they prove."""

    top: int
    cap: int
    kept: list[int]
    value: float


def best_hubs(
    starts: Index, kids: Index, parent: Index, sums: Counts, gain: Callable[[Index], float]
) -> tuple[list[Hub], Index]:
    """Return hubs that prove more together, with ``gain`` of all other edges, than that alone; and the parents there.

    Those kept below a vertex are ``sums[k]`` hops or more from it if they are k. An edge to a child is on the ways to
    ``cap`` of them at most, so that 1 / cap of what these hops are more than the levels is spared by the edges above
    those kept. ``gain`` is of trees without these: parents before children, of which vertex v has
    kids[starts[v]:starts[v + 1]].
    """
    parent, hubs, proven = parent.copy(), list[Hub](), 0.0
    degree = np.diff(starts)[: len(parent)]
    tried = np.argsort(-degree, kind="stable")[: tuning.MOST_HUBS]
    best: float | None = None
    for v in tried[degree[tried] >= tuning.HUB_CHILDREN].tolist():
        near = [_nearest(starts, kids, parent, k) for k in kids[starts[v] : starts[v + 1]].tolist() if parent[k] == v]
        hub = max((_hub(v, cap, near, sums) for cap in tuning.HUB_CAPS), key=lambda one: one.value)
        if hub.value <= sums[len(near)] - len(near):  # as its star proves
            continue
        best = gain(parent) if best is None else best
        without = parent.copy()
        without[hub.kept] = -1
        if (found := proven + hub.value + gain(without)) > best:
            parent, best, proven = without, found, proven + hub.value
            hubs.append(hub)
    return hubs, parent


def _nearest(starts: Index, kids: Index, parent: Index, top: int) -> list[tuple[int, int]]:
    """Return the vertices nearest to the parent of ``top`` in its subtree, with their levels below that."""
    found = [(top, 1)]
    for v, level in found:
        if len(found) >= tuning.HUB_CAPS[-1]:
            break
        found += [(k, level + 1) for k in kids[starts[v] : starts[v + 1]].tolist() if parent[k] == v]
    return found[: tuning.HUB_CAPS[-1]]


def _hub(v: int, cap: int, near: list[list[tuple[int, int]]], sums: Counts) -> Hub:
    kept = [one for subtree in near for one in subtree[:cap]]
    spared = int(sums[len(kept)]) - sum(level for _, level in kept)
    return Hub(v, cap, [u for u, _ in kept], spared / cap)
