"""Compiled loops of :mod:`tiles`: which sums are computed side by side, and in which order."""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shorthaul.core.jit import kernel, subroutine

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


class Reads(NamedTuple):
    """Which group reads which classes of values, both ways, and what a class weighs.

    ``made`` is the class that a group's own value is in, -1 where nobody else reads it.
    """

    starts: IntArray
    classes: IntArray
    reader_starts: IntArray
    readers: IntArray
    weights: IntArray
    made: IntArray


class Growth(NamedTuple):
    """What the tiles hold so far, and what each group still misses."""

    tile: IntArray  # of each group, -1: none
    turn: IntArray
    is_open: BoolArray  # may be put into the tile now
    waiting: IntArray  # groups that have to come before
    absent: IntArray  # classes not read by the tile
    missing: IntArray  # their weight
    which: IntArray  # their indices, combined by exclusive or: the index itself where there is one
    solo: IntArray  # of each class: the open groups touched by the tile that miss it alone
    inside: IntArray  # of each class: the last tile that read it
    taken: IntArray  # the classes read by this tile
    counters: IntArray  # tile, turns, classes taken


_TILE, _TURNS, _TAKEN = 0, 1, 2


@subroutine
def new_growth(is_target: BoolArray, reads: Reads, waiting: IntArray) -> Growth:
    """Return the state before the first tile."""
    n = len(waiting)
    missing = np.zeros(n, np.int64)
    which = np.zeros(n, np.int64)
    for group in range(n):
        for place in range(reads.starts[group], reads.starts[group + 1]):
            which[group] ^= reads.classes[place]
            missing[group] += reads.weights[reads.classes[place]]
    classes = len(reads.weights)
    return Growth(
        np.full(n, -1, np.int64), np.full(n, -1, np.int64), is_target & (waiting == 0), waiting,
        reads.starts[1:] - reads.starts[:-1], missing, which, np.zeros(classes, np.int64),
        np.full(classes, -1, np.int64), np.empty(classes, np.int64), np.zeros(3, np.int64),
    )  # fmt: skip


@subroutine
def wait_alone(reads: Reads, growth: Growth, group: int, more: int, whole: list[tuple[float, int]]) -> None:
    """Count one group more, or less, that misses one class alone."""
    value = growth.which[group]
    growth.solo[value] += more
    if growth.solo[value] > 0:
        heapq.heappush(whole, (-growth.solo[value] / reads.weights[value], value))


@subroutine
def take(
    reads: Reads, growth: Growth, value: int, whole: list[tuple[float, int]], single: list[tuple[int, int]],
    ready: list[int],
) -> None:  # fmt: skip
    """Let the tile read class ``value``: its readers miss one class less."""
    growth.inside[value] = growth.counters[_TILE]
    growth.taken[growth.counters[_TAKEN]] = value
    growth.counters[_TAKEN] += 1
    for edge in range(reads.reader_starts[value], reads.reader_starts[value + 1]):
        group = reads.readers[edge]
        growth.absent[group] -= 1
        growth.missing[group] -= reads.weights[value]
        growth.which[group] ^= value
        if not growth.is_open[group]:
            continue
        if growth.absent[group] == 0:
            ready.append(group)
            continue
        heapq.heappush(single, (growth.missing[group], group))
        if growth.absent[group] == 1:
            wait_alone(reads, growth, group, 1, whole)


@subroutine
def put(
    reads: Reads, growth: Growth, group: int, is_target: BoolArray, child_starts: IntArray, children: IntArray,
    whole: list[tuple[float, int]], single: list[tuple[int, int]], ready: list[int],
) -> None:  # fmt: skip
    """Put ``group`` into the tile, which reads all that it reads from now on, and its own value."""
    growth.tile[group] = growth.counters[_TILE]
    growth.turn[group] = growth.counters[_TURNS]
    growth.counters[_TURNS] += 1
    growth.is_open[group] = False
    if growth.absent[group] == 1 and reads.starts[group + 1] - reads.starts[group] > 1:
        wait_alone(reads, growth, group, -1, whole)
    for edge in range(child_starts[group], child_starts[group + 1]):
        child = children[edge]
        growth.waiting[child] -= 1
        if growth.waiting[child] > 0 or not is_target[child]:
            continue
        growth.is_open[child] = True
        if growth.absent[child] == 0:
            ready.append(child)
        elif growth.absent[child] < reads.starts[child + 1] - reads.starts[child]:
            heapq.heappush(single, (growth.missing[child], child))
            if growth.absent[child] == 1:
                wait_alone(reads, growth, child, 1, whole)
    for place in range(reads.starts[group], reads.starts[group + 1] + 1):
        value = reads.classes[place] if place < reads.starts[group + 1] else reads.made[group]
        if value >= 0 and growth.inside[value] != growth.counters[_TILE]:
            take(reads, growth, value, whole, single, ready)


@subroutine
def choose(
    reads: Reads, growth: Growth, singly: bool, whole: list[tuple[float, int]], single: list[tuple[int, int]],
    ready: list[int],
) -> tuple[int, int]:  # fmt: skip
    """Return (group, -1) for the group to put next, (-1, class) for the class to take, (-1, -1) if none is near."""
    while len(ready) > 0:
        group = ready.pop()
        if growth.is_open[group]:
            return group, -1
    value = -1
    while len(whole) > 0 and value < 0:
        ratio, other = whole[0]
        stale = growth.inside[other] == growth.counters[_TILE] or growth.solo[other] <= 0
        if stale or -growth.solo[other] / reads.weights[other] != ratio:
            heapq.heappop(whole)
        else:
            value = other
    group = -1
    while singly and len(single) > 0 and group < 0:
        missing, other = single[0]
        if growth.is_open[other] and growth.missing[other] == missing:
            group = other
        else:
            heapq.heappop(single)
    if group >= 0 and (value < 0 or growth.solo[value] * growth.missing[group] < reads.weights[value]):
        return group, -1
    return -1, value


@subroutine
def close(reads: Reads, growth: Growth) -> None:
    """End the tile: what it read is absent again."""
    for place in range(growth.counters[_TAKEN]):
        value = growth.taken[place]
        growth.solo[value] = 0
        for edge in range(reads.reader_starts[value], reads.reader_starts[value + 1]):
            group = reads.readers[edge]
            if growth.absent[group] == 1:
                growth.solo[growth.which[group]] = 0
            growth.absent[group] += 1
            growth.missing[group] += reads.weights[value]
            growth.which[group] ^= value
    growth.counters[_TAKEN] = 0
    growth.counters[_TILE] += 1


@kernel
def grown(
    order: IntArray, is_target: BoolArray, reads: Reads, child_starts: IntArray, children: IntArray,
    waiting: IntArray, weights: IntArray, size: int, singly: bool,
) -> tuple[IntArray, IntArray]:  # fmt: skip
    """Return (tile, turn) of every target, -1 for the others, both of shape (groups,).

    Tiles grow up to a weight of ``size``: first come targets all of whose operands the tile reads already, then the
    class of values is taken that completes most targets per weight, or with ``singly`` the target that misses least;
    else the tile is closed, and the next target of ``order`` starts another. ``waiting`` counts for each group the
    groups that have to come before it; ``children`` are the groups that wait for it.
    """
    growth = new_growth(is_target, reads, waiting)
    for start in order:
        if growth.tile[start] >= 0 or not is_target[start]:
            continue
        whole = [(0.0, 0)]
        whole.pop()
        single = [(0, 0)]
        single.pop()
        ready = [start]
        held = 0
        while True:
            group, value = choose(reads, growth, singly, whole, single, ready)
            if group >= 0:
                if held > 0 and held + weights[group] > size:
                    break
                held += weights[group]
                put(reads, growth, group, is_target, child_starts, children, whole, single, ready)
            elif value >= 0:
                take(reads, growth, value, whole, single, ready)
            else:
                break
        close(reads, growth)
    return growth.tile, growth.turn


@kernel
def levels(
    order: IntArray, starts: IntArray, parents: IntArray, tile: IntArray, backwards: bool
) -> IntArray:  # fmt: skip
    """Return the longest path to every node inside its own tile, or minus the longest one from it, shape (n,)."""
    level = np.zeros(len(tile), np.int64)
    if not backwards:
        for node in order:
            for place in range(starts[node], starts[node + 1]):
                parent = parents[place]
                if tile[parent] == tile[node]:
                    level[node] = max(level[node], level[parent] + 1)
        return level
    for place in range(len(order) - 1, -1, -1):
        node = order[place]
        for edge in range(starts[node], starts[node + 1]):
            parent = parents[edge]
            if tile[parent] == tile[node]:
                level[parent] = min(level[parent], level[node] - 1)
    return level


@kernel
def earliest(order: IntArray, starts: IntArray, parents: IntArray, values: IntArray) -> None:
    """Give every node the least of its own value and its children's; negative values are none."""
    for place in range(len(order) - 1, -1, -1):
        node = order[place]
        for edge in range(starts[node], starts[node + 1]):
            parent = parents[edge]
            if values[parent] < 0 or values[node] < values[parent]:
                values[parent] = values[node]
