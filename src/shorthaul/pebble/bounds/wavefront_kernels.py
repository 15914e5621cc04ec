"""Wavefronts of a set of nodes: the least charge of what is live while one node is computed."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shorthaul.core.jit import kernel, subroutine
from shorthaul.graphs.mincut_kernels import max_flow

IntArray = npt.NDArray[np.int64]


@subroutine
def wavefront(
    node: int,
    part: IntArray,
    inside: IntArray,
    starts: IntArray,
    parents: IntArray,
    charges: IntArray,
    late: IntArray,
    early: IntArray,
    most: int,
) -> int:
    """Return the least charge of values computed before ``node``, read after it and no operands of it.

    None of the nodes ``late`` is computed before ``node``, but all of the nodes ``early`` are.

    Only the nodes of ``part`` count, and the reads among them; ``inside`` gives their positions in it (-1 elsewhere).
    ``charges`` (shape (n,)) are counted where a value is live. The least is over all closed sets that hold the
    ancestors of ``node`` and none of its descendants: a minimum cut. It stops at ``most``.
    """
    size = len(part)
    arcs = len(late) + len(early)
    for u in part:
        arcs += 2 * (starts[u + 1] - starts[u]) + 3
    tails = np.empty(2 * arcs, dtype=np.int64)
    heads = np.empty(2 * arcs, dtype=np.int64)
    capacities = np.zeros(2 * arcs, dtype=np.int64)
    source, sink = 2 * size, 2 * size + 1
    endless = np.int64(2**60)
    count = 0
    for i in range(size):
        child = part[i]
        for e in range(starts[child], starts[child + 1]):
            p = inside[parents[e]]
            if p < 0:
                continue
            # A computed child has computed parents; a value with a child to come is live.
            tails[count], heads[count], capacities[count] = i, p, endless
            tails[count + 1], heads[count + 1] = p, i
            count += 2
            if child != node:
                tails[count], heads[count], capacities[count] = size + p, i, endless
                tails[count + 1], heads[count + 1] = i, size + p
                count += 2
            else:
                tails[count], heads[count], capacities[count] = source, p, endless
                tails[count + 1], heads[count + 1] = p, source
                count += 2
    is_operand = np.zeros(size, dtype=np.bool_)  # of the node: in fast memory, whatever follows
    for e in range(starts[node], starts[node + 1]):
        if inside[parents[e]] >= 0:
            is_operand[inside[parents[e]]] = True
    for i in range(size):
        if part[i] != node:
            charge = np.int64(0) if is_operand[i] else charges[part[i]]
            tails[count], heads[count], capacities[count] = i, size + i, charge
            tails[count + 1], heads[count + 1] = size + i, i
            count += 2
    own = inside[node]
    tails[count], heads[count], capacities[count] = own, sink, endless
    tails[count + 1], heads[count + 1] = sink, own
    count += 2
    for other in late:
        if other != node and inside[other] >= 0:
            tails[count], heads[count], capacities[count] = inside[other], sink, endless
            tails[count + 1], heads[count + 1] = sink, inside[other]
            count += 2
    for other in early:
        if other != node and inside[other] >= 0:
            tails[count], heads[count], capacities[count] = source, inside[other], endless
            tails[count + 1], heads[count + 1] = inside[other], source
            count += 2
    return max_flow(2 * size + 2, tails[:count], heads[:count], capacities[:count], source, sink, most)


@subroutine
def _charges(weights: IntArray, starts: IntArray) -> IntArray:
    """Return what each value is charged where it is live and not in fast memory, shape (n,)."""
    charges = np.empty(len(weights), dtype=np.int64)
    for v in range(len(weights)):
        charges[v] = weights[v] if starts[v + 1] == starts[v] else 2 * weights[v]
    return charges


@kernel
def wavefront_among(
    node: int,
    group: IntArray,
    is_first: bool,
    times: int,
    weights: IntArray,
    need: int,
    starts: IntArray,
    parents: IntArray,
    budget: int,
    most: int,
) -> int:
    """Return the excess that a wavefront at ``node`` proves if it is the first, or the last, of ``group`` computed.

    ``times`` is how often the room that is left saves its size: once where every value is charged once, else twice.
    What reaches ``most`` need not be exact.
    """
    everything = np.arange(len(weights))
    nothing = np.empty(0, dtype=np.int64)
    late = group if is_first else nothing
    early = nothing if is_first else group
    prices = weights if times == 1 else _charges(weights, starts)
    saved = times * (budget - need)
    return wavefront(node, everything, everything, starts, parents, prices, late, early, most + saved) - saved


@kernel
def best_wavefront(
    part: IntArray,
    chosen: IntArray,
    weights: IntArray,
    needs: IntArray,
    starts: IntArray,
    parents: IntArray,
    budget: int,
) -> tuple[int, int]:
    """Return the largest excess that a wavefront at a node of ``chosen`` proves within ``part``, and the node (-1: 0).

    While the node is computed, budget minus its need is left for what is live. A live value elsewhere is charged its
    weight if it is an input, twice that if not; so the room saves at most twice its size, or at most its size where
    all values are charged once.
    """
    n = len(weights)
    inside = np.full(n, -1, dtype=np.int64)
    for i in range(len(part)):
        inside[part[i]] = i
    charges = _charges(weights, starts)
    nothing = np.empty(0, dtype=np.int64)
    best, where = 0, -1
    for node in chosen:
        if inside[node] < 0 or starts[node + 1] == starts[node]:
            continue
        room = budget - needs[node]
        for times in range(1, 3):
            prices = weights if times == 1 else charges
            bound = wavefront(node, part, inside, starts, parents, prices, nothing, nothing, 2**59) - times * room
            if bound > best:
                best, where = bound, node
    return best, where
