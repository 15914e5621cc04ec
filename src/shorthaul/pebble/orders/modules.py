"""Decompositions of a CDAG into modules that can be computed one after another, and which modules are alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from shorthaul.core.search import Search
from shorthaul.graphs.csr import component_of, distinct
from shorthaul.pebble import tuning
from shorthaul.pebble.model import Cdag, IntArray, build
from shorthaul.pebble.orders.order_kernels import levels

#: Modules compared between two looks at the clock.
_CALL = 1000
#: Rounds in which nodes learn of their neighbours before modules are compared.
_ROUNDS = 4


@dataclass(frozen=True, slots=True, eq=False)
class Decomposition:
    """Modules 0 to ``count`` - 1: ``of`` is the module of every computed node, -1 for inputs; shape (n,).

    The graph of modules has no cycle, so they can be computed one after another.
    """

    name: str
    of: IntArray
    count: int


@dataclass(frozen=True, slots=True, eq=False)
class Alike:
    """Modules of one shape: ``part`` is the CDAG of any of them, whose first nodes are the members, then the operands.

    ``modules`` are the numbers of the modules, ``members`` their nodes, shape (modules, size): columns correspond.
    """

    part: Cdag
    modules: IntArray
    members: IntArray


def components(cdag: Cdag, *, shared: bool = False) -> Decomposition:
    """Return the parts that share inputs only, or with ``shared`` those that share nothing.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import matmul
    >>> components(matmul(m=2, n=3, k=4)).count
    6
    """
    return _connected(cdag, np.zeros(cdag.n, dtype=np.int64), "components", shared=shared)


def bands(cdag: Cdag, level: IntArray, height: int, *, shared: bool = False) -> Decomposition:
    """Return the connected parts of every ``height`` levels; ``level`` grows along every edge and is 0 for inputs.

    With ``shared``, reading the same value from below connects too.

    >>> from shorthaul.graphs.csr import layers
    >>> from shorthaul.pebble.workloads.kernels_as_graphs import fft
    >>> cdag = fft(n=16)
    >>> bands(cdag, layers(cdag.children, cdag.order), 2, shared=True).count
    8
    """
    return _connected(cdag, (level - 1) // height, f"bands of {height} levels", shared=shared)


def segments(cdag: Cdag, order: IntArray, size: int) -> Decomposition:
    """Return stretches of ``order`` (computed nodes only) of about ``size`` nodes, cut where little is live.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import pyramid
    >>> cdag = pyramid(n=6)
    >>> segments(cdag, cdag.order[~cdag.is_input()], 10).count
    2
    """
    place = np.full(cdag.n, -1, dtype=np.int64)
    place[order] = np.arange(len(order))
    sources, targets = cdag.edge_arrays()
    last = place.copy()
    np.maximum.at(last, sources, place[targets])
    change = np.zeros(len(order) + 1, dtype=np.int64)
    change[: len(order)] += cdag.weights[order]
    np.subtract.at(change, np.maximum(last[order], place[order]), cdag.weights[order])
    live = np.cumsum(change)
    of = np.full(cdag.n, -1, dtype=np.int64)
    first = count = 0
    while first < len(order):
        stop = len(order)
        if first + 3 * size // 2 < len(order):
            low = first + max(1, size // 2)
            stop = low + int(live[low - 1 : first + 3 * size // 2].argmin())
        of[order[first:stop]] = count
        first, count = stop, count + 1
    return Decomposition(f"segments of {size} nodes", of, count)


def _connected(cdag: Cdag, band: IntArray, name: str, *, shared: bool) -> Decomposition:
    sources, targets = cdag.edge_arrays()
    is_input = cdag.is_input()
    inside = ~is_input[sources] & (band[sources] == band[targets])
    above, below = sources[inside], targets[inside]
    vertices = cdag.n
    if shared:  # one more vertex per value and band that reads it from elsewhere
        height = int(band.max()) + 1
        pairs, which = np.unique(sources[~inside] * height + band[targets[~inside]], return_inverse=True)
        above = np.concatenate([above, cdag.n + which])
        below = np.concatenate([below, targets[~inside]])
        vertices += len(pairs)
    label = component_of(vertices, above, below)
    _, numbered = np.unique(label[: cdag.n][~is_input], return_inverse=True)
    of = np.full(cdag.n, -1, dtype=np.int64)
    of[~is_input] = numbered
    return Decomposition(name, of, int(numbered.max()) + 1)


def decompositions(cdag: Cdag, order: IntArray) -> Iterator[Decomposition]:
    """Yield the decompositions worth looking at; ``order`` is a good order of the computed nodes."""
    for shared in (False, True):
        whole = components(cdag, shared=shared)
        if whole.count > 1:
            yield whole
    level = levels(cdag.order, cdag.parents.starts, cdag.parents.targets)
    # levels counted from the outputs
    below = levels(cdag.order[::-1].copy(), cdag.children.starts, cdag.children.targets)
    late = np.where(cdag.is_input(), 0, below.max() + 1 - below)
    for constant in cdag.constants().tolist():  # with what reads it first
        level[constant] = level[cdag.children.neighbours(constant)].min(initial=int(level.max()))
    height, highest = 1, int(level.max())
    while height < highest:
        for one in (level,) if np.array_equal(level, late) else (level, late):
            for shared in (False, True):
                found = bands(cdag, one, height, shared=shared)
                if 1 < found.count < len(order):
                    yield found
        height += 1 if height < 4 else height // 2
    for size in (40, 120, 360):
        if len(order) > 2 * size:
            yield segments(cdag, order, size)


def quotient(cdag: Cdag, modules: Decomposition) -> Cdag:
    """Return the graph of modules: node m + 1 is module m and weighs what others read of it; node 0 is read by all."""
    sources, targets = cdag.edge_arrays()
    above, below = modules.of[sources], modules.of[targets]
    crosses = (above >= 0) & (above != below)
    weights = np.ones(modules.count + 1, dtype=np.int64)
    shared = distinct(sources[crosses])
    np.add.at(weights, modules.of[shared] + 1, cdag.weights[shared])
    every = np.arange(modules.count) + 1
    return build(
        weights,
        np.concatenate([np.zeros(modules.count, np.int64), above[crosses] + 1]),
        np.concatenate([every, below[crosses] + 1]),
    )


def alike(cdag: Cdag, modules: Decomposition, search: Search) -> list[Alike]:
    """Return the modules by shape, until ``search`` expires.

    Two modules are alike if their nodes, sorted by what surrounds them and then by index, have the same weights and
    edges: so one is certainly the image of the other, though not every such pair is found.
    """
    colour = _colours(cdag, modules)
    computed = np.flatnonzero(modules.of >= 0)
    ranked = computed[np.lexsort((computed, colour[computed], modules.of[computed]))]
    bounds = np.searchsorted(modules.of[ranked], np.arange(modules.count + 1))
    local = np.full(cdag.n, -1, dtype=np.int64)
    found: dict[bytes, tuple[Cdag, list[int], list[IntArray]]] = {}
    for number in range(modules.count):
        if number % _CALL == 0:
            if search.expired():
                break
            search.spend(_CALL / tuning.MODULES_RATE)
        members = ranked[bounds[number] : bounds[number + 1]]
        local[members] = np.arange(len(members))
        weights, sources, targets = _part(cdag, members, local)
        local[members] = -1
        given = np.arange(len(weights)) >= len(members)
        key = b"|".join(array.tobytes() for array in (weights, given, sources, targets))
        if key not in found:
            found[key] = build(weights, sources, targets, given=given), [], []
        found[key][1].append(number)
        found[key][2].append(members)
    return [Alike(part, np.array(numbers), np.array(members)) for part, numbers, members in found.values()]


def _part(cdag: Cdag, members: IntArray, local: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return weights and edges of a module with its operands, which follow in the order in which they are read."""
    counts = cdag.parents.starts[members + 1] - cdag.parents.starts[members]
    inside = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    read = cdag.parents.targets[np.repeat(cdag.parents.starts[members], counts) + inside]
    sources = local[read]
    outside = read[sources < 0]
    operands, first, which = np.unique(outside, return_index=True, return_inverse=True)
    rank = np.empty(len(operands), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(operands))
    sources[sources < 0] = len(members) + rank[which]
    weights = np.concatenate([cdag.weights[members], cdag.weights[operands[np.argsort(first)]]])
    return weights, sources, np.repeat(np.arange(len(members)), counts)


def _colours(cdag: Cdag, modules: Decomposition) -> IntArray:
    """Return a number per node that equal surroundings within the module make equal (Weisfeiler and Leman)."""
    sources, targets = cdag.edge_arrays()
    inside = (modules.of[sources] == modules.of[targets]) & (modules.of[sources] >= 0)
    sources, targets = sources[inside], targets[inside]
    with np.errstate(over="ignore"):
        colour = _mixed(cdag.weights * 31 + cdag.parents.degrees())
        for _ in range(_ROUNDS):
            above, below = np.zeros(cdag.n, np.int64), np.zeros(cdag.n, np.int64)
            np.add.at(above, targets, colour[sources])
            np.add.at(below, sources, colour[targets])
            colour = _mixed(colour + 3 * _mixed(above) + 5 * _mixed(below + 1))
    return colour


def _mixed(values: IntArray) -> IntArray:
    mixed = values * np.int64(-7046029254386353131)
    mixed ^= mixed >> 29
    return mixed * np.int64(-4658895280553007687)
