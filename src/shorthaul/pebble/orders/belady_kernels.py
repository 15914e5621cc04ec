"""Compiled loops of :mod:`belady`: topological orders, and the replay of an order with Belady's replacement."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shorthaul.core.jit import subroutine, tiered

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

#: The next use of a value that is not used again.
NEVER = 1 << 62


@tiered(seconds=3)
def depth_first_order(starts: IntArray, parents: IntArray, roots: IntArray, rank: IntArray) -> IntArray:
    """Return the nodes in postorder from ``roots`` upwards through ``parents``, shape (n,).

    The parents of a node are visited by descending ``rank``; equal ranks in the order given.
    """
    n = len(starts) - 1
    state = np.zeros(n, np.int8)
    order = np.empty(n, np.int64)
    found = 0
    stack = np.empty(n + len(parents) + len(roots), np.int64)
    for root in roots:
        top = 0
        stack[0] = root
        while top >= 0:
            node = stack[top]
            if state[node] == 2:
                top -= 1
                continue
            if state[node] == 1:
                state[node] = 2
                order[found] = node
                found += 1
                top -= 1
                continue
            state[node] = 1
            first = top + 1
            for place in range(starts[node + 1] - 1, starts[node] - 1, -1):
                parent = parents[place]
                if state[parent] == 0:
                    # insertion keeps the highest rank on top of the stack
                    spot = top + 1
                    top += 1
                    while spot > first and rank[stack[spot - 1]] > rank[parent]:
                        stack[spot] = stack[spot - 1]
                        spot -= 1
                    stack[spot] = parent
    return order[:found]


@tiered(seconds=3)
def recent_first_order(
    parent_starts: IntArray, child_starts: IntArray, children: IntArray, inputs: IntArray
) -> IntArray:
    """Return a topological order of all nodes that always takes the node made ready last, shape (n,)."""
    n = len(parent_starts) - 1
    missing = np.empty(n, np.int64)
    for node in range(n):
        missing[node] = parent_starts[node + 1] - parent_starts[node]
    order = np.empty(n, np.int64)
    stack = np.empty(n, np.int64)
    found = 0
    for node in inputs:
        top = 0
        stack[0] = node
        while top >= 0:
            here = stack[top]
            top -= 1
            order[found] = here
            found += 1
            for place in range(child_starts[here + 1] - 1, child_starts[here] - 1, -1):
                child = children[place]
                missing[child] -= 1
                if missing[child] == 0:
                    top += 1
                    stack[top] = child
    return order


@subroutine
def sort_by_slack(nodes: IntArray, count: int, need: IntArray, weights: IntArray) -> None:
    """Sort ``nodes[:count]`` by descending need less weight, equal ones by number (Shell's method)."""
    gap = count // 2
    while gap > 0:
        for place in range(gap, count):
            node = nodes[place]
            slack = need[node] - weights[node]
            spot = place
            while spot >= gap:
                other = nodes[spot - gap]
                ahead = need[other] - weights[other]
                if ahead > slack or (ahead == slack and other < node):
                    break
                nodes[spot] = other
                spot -= gap
            nodes[spot] = node
        gap //= 2


@tiered(seconds=3)
def register_need(order: IntArray, starts: IntArray, parents: IntArray, weights: IntArray) -> IntArray:
    """Return for every node the fast memory that its ancestors need if they were a tree, shape (n,).

    Sethi and Ullman's numbers for weights: parents are evaluated by descending need less weight, as stored.
    """
    need = np.empty(len(weights), np.int64)
    by_slack = np.empty(len(weights), np.int64)
    for node in order:
        first, count = starts[node], starts[node + 1] - starts[node]
        for place in range(count):
            by_slack[place] = parents[first + place]
        sort_by_slack(by_slack, count, need, weights)
        held = 0
        peak = 0
        for place in range(count):
            parent = by_slack[place]
            peak = max(peak, held + need[parent])
            held += weights[parent]
        need[node] = max(peak, held + weights[node])
    return need


@tiered(seconds=3)
def levels(order: IntArray, starts: IntArray, before: IntArray) -> IntArray:
    """Return the length of the longest path to each node, shape (n,); ``before`` lists what comes right before each."""
    level = np.zeros(len(starts) - 1, np.int64)
    for node in order:
        for place in range(starts[node], starts[node + 1]):
            level[node] = max(level[node], level[before[place]] + 1)
    return level


@subroutine
def next_reads(order: IntArray, starts: IntArray, parents: IntArray) -> tuple[IntArray, IntArray]:
    """Return when values are read next: after each computation of ``order``, and after each operand read there.

    The first array has shape (len(order),), the second one entry per operand, in order. A value that is computed again
    before it is read again is not read: ``NEVER``.
    """
    n = len(starts) - 1
    total = 0
    for node in order:
        total += starts[node + 1] - starts[node]
    made = np.empty(len(order), np.int64)
    read = np.empty(total, np.int64)
    upcoming = np.full(n, NEVER, np.int64)
    for time in range(len(order) - 1, -1, -1):
        node = order[time]
        made[time] = upcoming[node]
        upcoming[node] = NEVER
        for place in range(starts[node + 1] - 1, starts[node] - 1, -1):
            total -= 1
            read[total] = upcoming[parents[place]]
            upcoming[parents[place]] = time
    return made, read


@subroutine
def push(heap: IntArray, size: int, key: int) -> int:
    """Add ``key`` to the binary max-heap of ``size`` keys; return the new size."""
    at = size
    while at > 0 and heap[(at - 1) // 2] < key:
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at] = key
    return size + 1


@subroutine
def pop(heap: IntArray, size: int) -> int:
    """Remove the largest key; return the new size."""
    size -= 1
    key = heap[size]
    at = 0
    while 2 * at + 1 < size:
        below = 2 * at + 1
        if below + 1 < size and heap[below + 1] > heap[below]:
            below += 1
        if heap[below] <= key:
            break
        heap[at] = heap[below]
        at = below
    heap[at] = key
    return size


@tiered(seconds=3)
def replay(
    order: IntArray, starts: IntArray, parents: IntArray, weights: IntArray, is_output: BoolArray,
    budget: int, penalty: float,
) -> tuple[npt.NDArray[np.uint8], IntArray]:  # fmt: skip
    """Return the moves (kinds, nodes) that compute ``order`` within ``budget``.

    Whenever room is short, the value whose next use is farthest gives way; one that would have to be stored counts as
    ``penalty`` times nearer. A value is stored only when it gives way. Every node must fit (with its operands). A node
    that ``order`` lists again is computed again.
    """
    n = len(weights)
    made, read = next_reads(order, starts, parents)
    reads = 0
    upcoming = np.full(n, NEVER, np.int64)
    red = np.zeros(n, np.bool_)
    saved = np.zeros(n, np.bool_)
    pinned = np.zeros(n, np.bool_)
    for node in range(n):
        saved[node] = starts[node] == starts[node + 1]
    room = budget
    kinds = np.empty(4 * len(order) + 16, np.uint8)
    nodes = np.empty(len(kinds), np.int64)
    moves = 0
    # one heap for values that are in slow memory too, one for those that are not; the farthest next use is on top, of
    # equal ones the value of the lowest number
    clean = np.empty(len(read) + len(order), np.int64)
    dirty = np.empty(len(read) + len(order), np.int64)
    cleans = 0
    dirties = 0
    victims = np.empty(n, np.int64)
    for time, node in enumerate(order):
        need = weights[node]
        for place in range(starts[node], starts[node + 1]):
            parent = parents[place]
            if not pinned[parent]:
                pinned[parent] = True
                if not red[parent]:
                    need += weights[parent]
        chosen = 0
        freed = room
        while freed < need:
            while cleans > 0:
                use, other = clean[0] // n, n - 1 - clean[0] % n
                if red[other] and saved[other] and not pinned[other] and upcoming[other] == use:
                    break
                cleans = pop(clean, cleans)
            while dirties > 0:
                use, other = dirty[0] // n, n - 1 - dirty[0] % n
                if red[other] and not saved[other] and not pinned[other] and upcoming[other] == use:
                    break
                dirties = pop(dirty, dirties)
            far_clean = float(clean[0] // n - time) if cleans > 0 else -1.0
            far_dirty = float(dirty[0] // n - time) / penalty if dirties > 0 else -1.0
            if far_clean < 0 and far_dirty < 0:
                return kinds[:0], nodes[:0]
            if far_clean >= far_dirty:
                victim = n - 1 - clean[0] % n
                cleans = pop(clean, cleans)
            else:
                victim = n - 1 - dirty[0] % n
                dirties = pop(dirty, dirties)
            red[victim] = False
            freed += weights[victim]
            victims[chosen] = victim
            chosen += 1
        # those used soonest stay after all, if the others make enough room
        for place in range(chosen - 1, -1, -1):
            victim = victims[place]
            if freed - weights[victim] >= need:
                freed -= weights[victim]
                red[victim] = True
                key = upcoming[victim] * n + n - 1 - victim
                if saved[victim]:
                    cleans = push(clean, cleans, key)
                else:
                    dirties = push(dirty, dirties, key)
                victims[place] = -1
        most = moves + 2 * chosen + 2 * (starts[node + 1] - starts[node]) + 4
        if most > len(kinds):
            grown = np.empty(2 * most, np.uint8)
            longer = np.empty(2 * most, np.int64)
            for move in range(moves):
                grown[move] = kinds[move]
                longer[move] = nodes[move]
            kinds = grown
            nodes = longer
        for place in range(chosen):
            victim = victims[place]
            if victim < 0:
                continue
            if not saved[victim]:
                saved[victim] = True
                kinds[moves] = 1
                nodes[moves] = victim
                moves += 1
            kinds[moves] = 3
            nodes[moves] = victim
            moves += 1
        room = freed
        for place in range(starts[node], starts[node + 1]):
            parent = parents[place]
            if not red[parent]:
                red[parent] = True
                room -= weights[parent]
                kinds[moves] = 0
                nodes[moves] = parent
                moves += 1
        red[node] = True
        room -= weights[node]
        kinds[moves] = 2
        nodes[moves] = node
        moves += 1
        for place in range(starts[node], starts[node + 1]):
            parent = parents[place]
            upcoming[parent] = read[reads]
            reads += 1
            pinned[parent] = False
            if upcoming[parent] == NEVER:
                red[parent] = False
                room += weights[parent]
                kinds[moves] = 3
                nodes[moves] = parent
                moves += 1
            elif saved[parent]:
                cleans = push(clean, cleans, upcoming[parent] * n + n - 1 - parent)
            else:
                dirties = push(dirty, dirties, upcoming[parent] * n + n - 1 - parent)
        upcoming[node] = made[time]
        if made[time] < NEVER:
            if saved[node]:
                cleans = push(clean, cleans, made[time] * n + n - 1 - node)
            else:
                dirties = push(dirty, dirties, made[time] * n + n - 1 - node)
            continue
        if is_output[node] and not saved[node]:
            saved[node] = True
            kinds[moves] = 1
            nodes[moves] = node
            moves += 1
        kinds[moves] = 3
        nodes[moves] = node
        moves += 1
        red[node] = False
        room += weights[node]
    return kinds[:moves], nodes[:moves]
