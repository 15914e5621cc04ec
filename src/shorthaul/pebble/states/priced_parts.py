"""What prices are for: the values of a graph, chains of nodes as one, and parts of it with few computed sets."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shorthaul.pebble.model import BoolArray, Cdag, IntArray

WordArray = npt.NDArray[np.uint64]
ByteArray = npt.NDArray[np.uint8]


class Problem(NamedTuple):
    """The arrays of :class:`lattice_kernels.Problem`."""

    weights: IntArray
    before: WordArray
    touchers: WordArray
    touched: ByteArray
    room: IntArray


class Chains(NamedTuple):
    """The values of a graph, computed ones first, and the ``nodes`` that each of them stands for, in order."""

    nodes: list[list[int]]
    computed: int


def chains_of(cdag: Cdag) -> Chains:
    """Return the values that prices are for: inputs read more than once, and chains of computed nodes.

    A node joins the chain of the one operand that was computed if nothing else reads that, it weighs no more, and
    nothing else reads the inputs that it reads. A plan stays as cheap if all of a chain is computed with its first
    node, in the room of that: what it holds until then in the place of the operand it holds of the result. So what is
    proven with chains as one node holds of the graph.
    """
    readers, given, weights = cdag.children.degrees(), cdag.is_input(), cdag.weights
    chain: dict[int, list[int]] = {}
    for v in cdag.order.tolist():
        if given[v]:
            continue
        operands = cdag.parents.neighbours(v).tolist()
        inner = [p for p in operands if not given[p]]
        others = all(readers[p] == 1 for p in operands)
        if len(inner) == 1 and others and weights[v] <= weights[inner[0]]:
            chain[v] = chain[inner[0]]
            chain[v].append(v)
        else:
            chain[v] = [v]
    computed = [nodes for v, nodes in chain.items() if nodes[0] == v]
    inputs = [[v] for v in np.flatnonzero(given & (readers > 1)).tolist()]
    return Chains(computed + inputs, len(computed))


def part_of(chains: Chains, dropped: set[int]) -> Chains:
    """Return the values without some of the computed ones, numbered anew."""
    nodes = [one for number, one in enumerate(chains.nodes) if number not in dropped]
    return Chains(nodes, chains.computed - len(dropped))


def least_needed(cdag: Cdag, chains: Chains) -> list[int]:
    """Return the computed values in an order to drop them: those with the most incomparable ones per link first.

    Strike the moves of some nodes out of a plan: what is left is one for the others (see :mod:`pattern_databases`), so
    prices of any part are a bound, and of a part with few computed sets they climb in no time.
    """
    before, touched = _before(cdag, chains), _touched(cdag, chains)
    links = touched.sum(axis=0)[: chains.computed] + touched[:, touched.sum(axis=0) > 1].sum(axis=1)
    apart = ~np.eye(chains.computed, dtype=bool)
    for number in range(chains.computed):  # in topological order
        for other in range(number):
            if before[number] >> other & 1:
                before[number] |= before[other]
        for other in range(number):
            if before[number] >> other & 1:
                apart[number, other] = apart[other, number] = False
    order: list[int] = []
    for _ in range(chains.computed - 1):
        score = apart.sum(axis=1) / links
        score[order] = -1
        order.append(int(score.argmax()))
        apart[order[-1], :] = apart[:, order[-1]] = False
    return order


def _touched(cdag: Cdag, chains: Chains) -> BoolArray:
    """Return which values each computed one touches, shape (computed, values)."""
    value = {v: number for number, nodes in enumerate(chains.nodes) for v in nodes}
    touched = np.zeros((chains.computed, len(chains.nodes)), dtype=np.bool_)
    for number in range(chains.computed):
        touched[number, number] = True
        for v in chains.nodes[number]:
            for p in cdag.parents.neighbours(v).tolist():
                if p in value:
                    touched[number, value[p]] = True
    return touched


def _before(cdag: Cdag, chains: Chains) -> list[int]:
    """Return the set of computed values right before each, or by way of nodes that are none."""
    value = {v: number for number, nodes in enumerate(chains.nodes[: chains.computed]) for v in nodes}
    above: dict[int, int] = {}
    before = [0] * chains.computed
    for v in cdag.order.tolist():
        above[v] = 0
        for p in cdag.parents.neighbours(v).tolist():
            above[v] |= 1 << value[p] if p in value else above[p]
        if v in value:
            before[value[v]] |= above[v] & ~(1 << value[v])
    return before


def problem_of(cdag: Cdag, budget: int, chains: Chains) -> Problem:
    """Return the graph, or the part of it that ``chains`` has, as the kernels see it, in units of the divisor."""
    unit = int(np.gcd.reduce(cdag.weights))
    weights = np.array([cdag.weights[nodes[-1]] // unit for nodes in chains.nodes], dtype=np.int64)
    touched = _touched(cdag, chains)
    room = np.empty(chains.computed, dtype=np.int64)
    for number in range(chains.computed):
        first = chains.nodes[number][0]
        room[number] = (budget - int(cdag.weights[[first, *cdag.parents.neighbours(first)]].sum())) // unit
    touchers = [sum(1 << v for v in np.flatnonzero(column).tolist()) for column in touched.T]
    before = np.array(_before(cdag, chains), dtype=np.uint64)
    return Problem(weights, before, np.array(touchers, dtype=np.uint64), touched.astype(np.uint8), room)
