"""The inner loops of NSGA-II: ranking, survival, variation, the archive."""

from __future__ import annotations

from typing import Any

import numpy as np

from shorthaul.core.jit import kernel

Array = Any


@kernel
def dominates(a: Array, b: Array) -> bool:
    """Return True if ``a`` is nowhere worse than ``b`` and somewhere better."""
    better = False
    for k in range(len(a)):
        if a[k] > b[k]:
            return False
        if a[k] < b[k]:
            better = True
    return better


@kernel
def rank_and_crowd(points: Array, rank: Array, crowd: Array) -> None:
    """Fill the front (from 0) and the crowding distance of every point; copies of a point rank behind everything."""
    n, m = points.shape
    behind = np.zeros(n, np.int64)
    copy = np.zeros(n, np.bool_)
    for i in range(n):
        for j in range(i):
            if dominates(points[j], points[i]):
                behind[i] += 1
            elif dominates(points[i], points[j]):
                behind[j] += 1
            else:
                same = True
                for k in range(m):
                    same = same and points[i, k] == points[j, k]
                copy[i] = copy[i] or same
    rank[:] = -1
    left = n
    front = 0
    while left:
        chosen = np.zeros(n, np.bool_)
        for i in range(n):
            chosen[i] = rank[i] < 0 and behind[i] == 0
        for i in range(n):
            if chosen[i]:
                rank[i] = front
                left -= 1
                for j in range(n):
                    if rank[j] < 0 and not chosen[j] and dominates(points[i], points[j]):
                        behind[j] -= 1
        _crowding(points, chosen, crowd)
        front += 1
    for i in range(n):
        if copy[i]:
            rank[i] += front
            crowd[i] = 0.0


@kernel
def _crowding(points: Array, chosen: Array, crowd: Array) -> None:
    members = np.flatnonzero(chosen)
    for i in members:
        crowd[i] = 0.0
    for k in range(points.shape[1]):
        values = points[members, k]
        order = members[np.argsort(values, kind="mergesort")]
        low, high = points[order[0], k], points[order[-1], k]
        crowd[order[0]] = np.inf
        crowd[order[-1]] = np.inf
        if high <= low or not np.isfinite(high):
            continue
        for position in range(1, len(order) - 1):
            step = points[order[position + 1], k] - points[order[position - 1], k]
            crowd[order[position]] += step / (high - low)


@kernel
def survivors(rank: Array, crowd: Array, keep: Array) -> None:
    """Fill ``keep`` with the numbers of the best individuals: by front, then by crowding distance."""
    order = np.argsort(-crowd, kind="mergesort")
    order = order[np.argsort(rank[order], kind="mergesort")]
    keep[:] = order[: len(keep)]


@kernel
def _tournament(first: float, second: float, rank: Array, crowd: Array) -> int:
    a, b = int(first * len(rank)), int(second * len(rank))
    if rank[a] != rank[b]:
        return a if rank[a] < rank[b] else b
    return a if crowd[a] >= crowd[b] else b


@kernel
def vary(
    draws: Array,
    crossover: float,
    rank: Array,
    crowd: Array,
    compact: Array,
    xi: Array,
    decision: Array,
    binding: Array,
    able: Array,
    able_count: Array,
    new_compact: Array,
    new_xi: Array,
    new_decision: Array,
    new_binding: Array,
) -> None:
    """Fill the offspring: binary tournaments, uniform crossover, mutation, and whole cores vacated or moved.

    ``draws`` holds 16 + 3 * genes uniform numbers per child; which gene evolves is not decided here.
    """
    multicasts, channels, actors = xi.shape[1], decision.shape[1], binding.shape[1]
    genes = 1 + multicasts + channels + actors
    for child in range(len(draws)):
        draw = draws[child]
        mother = _tournament(draw[0], draw[1], rank, crowd)
        father = _tournament(draw[2], draw[3], rank, crowd) if draw[4] < crossover else mother
        # most children change a gene or two, some many
        rate = (1.0 if draw[5] < 0.7 else 4.0) / genes
        at = 16
        for gene in range(genes):
            parent = mother if draw[at] < 0.5 else father
            mutate = draw[at + 1] < rate
            value = draw[at + 2]
            at += 3
            if gene == 0:
                new_compact[child] = compact[parent] if not mutate else 1 - compact[parent]
            elif gene <= multicasts:
                i = gene - 1
                new_xi[child, i] = xi[parent, i] if not mutate else 1 - xi[parent, i]
            elif gene <= multicasts + channels:
                i = gene - 1 - multicasts
                new_decision[child, i] = decision[parent, i] if not mutate else int(value * 5)
            else:
                i = gene - 1 - multicasts - channels
                new_binding[child, i] = binding[parent, i] if not mutate else able[i, int(value * able_count[i])]
        if draw[6] < 0.2:  # vacate a core into another that is used, or move it to any core
            source = new_binding[child, int(draw[7] * actors)]
            other = int(draw[8] * actors)
            if draw[9] < 0.5:
                target = new_binding[child, other]
            else:
                target = able[other, int(draw[10] * able_count[other])]
            for a in range(actors):
                if new_binding[child, a] == source:
                    for k in range(able_count[a]):
                        if able[a, k] == target:
                            new_binding[child, a] = target
        elif draw[6] < 0.25:  # one decision for all channels of one actor's choosing
            value = int(draw[8] * 5)
            span = 1 + int(draw[9] * channels * 0.25)
            for c in range(channels):
                if c >= int(draw[7] * channels) and c < int(draw[7] * channels) + span:
                    new_decision[child, c] = value


@kernel
def entering(points: Array, count: int, candidates: Array, kept: Array, entered: Array) -> None:
    """Fill which of the first ``count`` archived points stay and which candidates enter the archive."""
    kept[:] = True
    n = len(candidates)
    for i in range(n):
        entered[i] = np.isfinite(candidates[i, 0])
        if not entered[i]:
            continue
        for j in range(count):
            worse = True
            for k in range(points.shape[1]):
                worse = worse and points[j, k] <= candidates[i, k]
            if worse:
                entered[i] = False
                break
        for j in range(n):
            if not entered[i]:
                break
            if j == i or not np.isfinite(candidates[j, 0]):
                continue
            same = True
            for k in range(points.shape[1]):
                same = same and candidates[j, k] == candidates[i, k]
            if (same and j < i) or dominates(candidates[j], candidates[i]):
                entered[i] = False
        if entered[i]:
            for j in range(count):
                if dominates(candidates[i], points[j]):
                    kept[j] = False
