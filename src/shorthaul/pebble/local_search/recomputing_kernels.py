"""The compiled loop of :mod:`driver`: annealing over orders of computation, which may compute values again."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from shorthaul.core.jit import kernel, subroutine

IntArray = npt.NDArray[np.int64]

#: The next use of a value that is not used again, as in :mod:`belady_kernels`.
NEVER = 1 << 62
#: The excess of an order that reads a value before it is computed.
BROKEN = 1 << 61

#: Rows of the scratch array per node: next read, place in the list of red values (-1: not red), time of the last pin,
#: where the value is (0: nowhere in slow memory, 1: in slow memory, 2: an input that was not loaded yet), the list.
_UPCOMING, _PLACE, _PINNED, _STATE, _RED, _OUT = 0, 1, 2, 3, 4, 5
ROWS = 6

#: Rows of ``frame``, what lies before and after the order, per node: where the value is at first (as above), whether it
#: is red then, when it is read after the order (steps after its end, or ``NEVER``), whether it is to be red at the end,
#: whether it is to be in slow memory then.
FIRST_STATE, FIRST_RED, AFTER, LAST_RED, LAST_SAVED = 0, 1, 2, 3, 4
FRAME_ROWS = 5


@subroutine
def excess(
    order: IntArray, count: int, starts: IntArray, parents: IntArray, weights: IntArray, frame: IntArray,
    budget: int, penalty: float, limit: int, scratch: IntArray, read: IntArray, made: IntArray,
) -> int:  # fmt: skip
    """Return what :func:`belady_kernels.replay` moves beyond inputs and outputs, or any number above ``limit``.

    ``order[:count]`` are the nodes computed, repeats allowed. They may be a stretch of a longer order: ``frame`` tells
    what lies around it, and what has to be loaded or stored after it to be as the frame asks counts too. ``scratch``
    has shape (ROWS, n); ``read`` holds as many numbers as there are operands in the order, ``made`` as many as there
    are computations.
    """
    n = len(weights)
    upcoming, spot, pinned = scratch[_UPCOMING], scratch[_PLACE], scratch[_PINNED]
    state, red, out = scratch[_STATE], scratch[_RED], scratch[_OUT]
    for node in range(n):
        upcoming[node] = NEVER if frame[AFTER, node] == NEVER else count + frame[AFTER, node]
        spot[node] = -1
        pinned[node] = -1
        state[node] = frame[FIRST_STATE, node]
    total = 0
    for time in range(count):
        total += starts[order[time] + 1] - starts[order[time]]
    for time in range(count - 1, -1, -1):
        node = order[time]
        made[time] = upcoming[node]
        upcoming[node] = NEVER
        for place in range(starts[node + 1] - 1, starts[node] - 1, -1):
            total -= 1
            read[total] = upcoming[parents[place]]
            upcoming[parents[place]] = time
    room = budget
    size = 0
    cost = 0
    reads = 0
    for node in range(n):
        if frame[FIRST_RED, node] == 1 and upcoming[node] < NEVER:
            red[size] = node
            spot[node] = size
            size += 1
            room -= weights[node]
    for time in range(count):
        node = order[time]
        need = weights[node]
        for place in range(starts[node], starts[node + 1]):
            parent = parents[place]
            pinned[parent] = time
            if spot[parent] < 0:
                need += weights[parent]
                if state[parent] == 1:
                    cost += weights[parent]
                elif state[parent] == 0:
                    return BROKEN
        if cost > limit:
            return cost
        chosen = 0
        freed = room
        while freed < need:
            victim = -1
            farthest = -1.0
            for place in range(size):
                other = red[place]
                if pinned[other] == time:
                    continue
                far = float(upcoming[other] - time)
                if state[other] == 0:
                    far /= penalty
                if far < farthest:
                    continue
                if far == farthest:  # those in slow memory first, then by index
                    ranks = (state[other] == 0, other) < (state[victim] == 0, victim)
                    if not ranks:
                        continue
                farthest = far
                victim = other
            if victim < 0:
                return BROKEN
            freed += weights[victim]
            size -= 1
            last = red[size]
            red[spot[victim]] = last
            spot[last] = spot[victim]
            spot[victim] = -1
            out[chosen] = victim
            chosen += 1
        # those used soonest stay after all, if the others make enough room
        for place in range(chosen - 1, -1, -1):
            victim = out[place]
            if freed - weights[victim] >= need:
                freed -= weights[victim]
                red[size] = victim
                spot[victim] = size
                size += 1
            elif state[victim] == 0:
                state[victim] = 1
                cost += weights[victim]
        room = freed
        for place in range(starts[node], starts[node + 1]):
            parent = parents[place]
            upcoming[parent] = read[reads]
            if spot[parent] < 0:
                if state[parent] == 2:
                    state[parent] = 1
                if read[reads] < NEVER:
                    red[size] = parent
                    spot[parent] = size
                    size += 1
                    room -= weights[parent]
            elif read[reads] == NEVER:
                size -= 1
                last = red[size]
                red[spot[parent]] = last
                spot[last] = spot[parent]
                spot[parent] = -1
                room += weights[parent]
            reads += 1
        if made[time] < NEVER:
            upcoming[node] = made[time]
            red[size] = node
            spot[node] = size
            size += 1
            room -= weights[node]
    for node in range(n):
        if frame[LAST_RED, node] == 1 and spot[node] < 0 and state[node] == 1:
            cost += weights[node]
        if frame[LAST_SAVED, node] == 1 and state[node] == 0:
            cost += weights[node]
    return cost


@subroutine
def moved(
    order: IntArray, first: int, length: int, target: int, starts: IntArray, parents: IntArray,
    mark: IntArray, stamp: int, held: IntArray, result: IntArray,
) -> bool:  # fmt: skip
    """Write ``order`` with the run of ``length`` from ``first`` moved to ``target`` into ``result``; False if it stays.

    What the run needs moves earlier with it, what needs the run moves later with it.
    """
    if target < first:
        for place in range(first, first + length):
            node = order[place]
            for edge in range(starts[node], starts[node + 1]):
                mark[parents[edge]] = stamp
        stay = first + length
        waiting = 0
        for place in range(first + length - 1, target - 1, -1):
            node = order[place]
            if place >= first:
                held[waiting] = node
                waiting += 1
            elif mark[node] == stamp:
                for edge in range(starts[node], starts[node + 1]):
                    mark[parents[edge]] = stamp
                held[waiting] = node
                waiting += 1
            else:
                stay -= 1
                result[stay] = node
        if stay == first + length or waiting == first + length - target:
            return False
        for place in range(waiting):
            result[stay - 1 - place] = held[place]
        return True
    for place in range(first, first + length):
        mark[order[place]] = stamp
    put = first
    waiting = 0
    for place in range(first, target + length):
        node = order[place]
        moves = mark[node] == stamp
        if not moves:
            for edge in range(starts[node], starts[node + 1]):
                if mark[parents[edge]] == stamp:
                    moves = True
                    break
        if moves:
            mark[node] = stamp
            held[waiting] = node
            waiting += 1
        else:
            result[put] = node
            put += 1
    if put == first:
        return False
    for place in range(waiting):
        result[put + place] = held[place]
    return True


@kernel
def upcoming_reads(order: IntArray, first: int, starts: IntArray, parents: IntArray) -> IntArray:
    """Return in how many steps from ``first`` each value is read, ``NEVER`` if it is not, or computed before."""
    upcoming = np.full(len(starts) - 1, NEVER, np.int64)
    for time in range(len(order) - 1, first - 1, -1):
        node = order[time]
        upcoming[node] = NEVER
        for place in range(starts[node], starts[node + 1]):
            upcoming[parents[place]] = time - first
    return upcoming


@kernel
def anneal(
    order: IntArray, starts: IntArray, parents: IntArray, child_starts: IntArray, children: IntArray,
    weights: IntArray, frame: IntArray, budget: int, penalty: float, steps: int, hot: float, cold: float,
    again: float, seed: int,
) -> tuple[IntArray, int, IntArray]:  # fmt: skip
    """Return the best order met in ``steps`` moves, its excess, and the last order.

    ``order`` holds the nodes that are no inputs, some more than once if ``again`` is above 0. A move takes a run of
    nodes to another place, with what it needs or what needs it; it often leads beside a relative. With probability
    ``again`` a value is computed once more, just before a reader, or once less. The temperature falls geometrically
    from ``hot`` to ``cold``, in weights.
    """
    np.random.seed(seed)
    n = len(weights)
    nodes = n
    degree = 0
    for node in range(n):
        degree = max(degree, starts[node + 1] - starts[node])
        if starts[node] == starts[node + 1]:
            nodes -= 1
    most = max(len(order), 2 * nodes) if again > 0 else nodes
    operands = len(parents) + (most - nodes) * degree
    scratch = np.empty((ROWS, n), np.int64)
    read = np.empty(operands, np.int64)
    made = np.empty(most, np.int64)
    mark = np.full(n, -1, np.int64)
    held = np.empty(most, np.int64)
    position = np.zeros(n, np.int64)
    current = np.empty(most, np.int64)
    candidate = np.empty(most, np.int64)
    best = np.empty(most, np.int64)
    count = len(order)
    for place in range(count):
        current[place] = order[place]
        best[place] = order[place]
        position[order[place]] = place
    cost = excess(current, count, starts, parents, weights, frame, budget, penalty, BROKEN, scratch, read, made)
    best_cost = cost
    best_count = count
    for step in range(steps):
        heat = hot * (cold / hot) ** (step / steps)
        for place in range(count):
            candidate[place] = current[place]
        length = 1
        grown = count
        first = np.random.randint(0, count)
        if again > 0 and np.random.random() < again:
            if count > nodes and np.random.random() < 0.5:  # one repeat less
                for _ in range(20):
                    first = np.random.randint(0, count)
                    if position[current[first]] != first:
                        break
                node = current[first]
                twice = False
                for place in range(count):
                    twice = twice or (place != first and current[place] == node)
                if not twice:
                    continue
                for place in range(first, count - 1):
                    candidate[place] = current[place + 1]
                grown = count - 1
            else:  # one more, before a reader
                reader = current[first]
                node = parents[np.random.randint(starts[reader], starts[reader + 1])]
                if starts[node] == starts[node + 1] or count == most:
                    continue
                if np.random.random() < 0.3:
                    first = max(0, first - np.random.randint(0, 4))
                candidate[first] = node
                for place in range(first, count):
                    candidate[place + 1] = current[place]
                grown = count + 1
        else:
            while first + length < count and length < 12 and np.random.random() < 0.4:
                length += 1
            kind = np.random.random()
            target = -1
            if kind < 0.35:  # a short way
                target = first + np.random.randint(-6, 7)
            elif kind < 0.5:
                target = np.random.randint(0, count - length + 1)
            elif kind < 0.8:  # beside another reader of an operand
                node = current[first]
                parent = parents[np.random.randint(starts[node], starts[node + 1])]
                child = children[np.random.randint(child_starts[parent], child_starts[parent + 1])]
                target = position[child]
                if target < first and np.random.random() < 0.5:
                    target += 1
            elif kind < 0.9:  # behind an operand
                node = current[first]
                target = position[parents[np.random.randint(starts[node], starts[node + 1])]] + 1
            else:  # before a reader
                node = current[first + length - 1]
                if child_starts[node] == child_starts[node + 1]:
                    continue
                target = position[children[np.random.randint(child_starts[node], child_starts[node + 1])]] - length
            target = min(count - length, max(0, target))
            if target == first:
                continue
            if not moved(current, first, length, target, starts, parents, mark, step, held, candidate):
                continue
        limit = cost + int(heat * -math.log(1.0 - np.random.random()))
        found = excess(candidate, grown, starts, parents, weights, frame, budget, penalty, limit, scratch, read, made)
        if found <= limit:
            current, candidate = candidate, current
            count = grown
            for place in range(count - 1, -1, -1):
                position[current[place]] = place
            cost = found
            if cost < best_cost:
                best_cost = cost
                best_count = count
                for place in range(count):
                    best[place] = current[place]
    return best[:best_count].copy(), best_cost, current[:count].copy()
