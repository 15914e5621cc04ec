"""Compiled loops of :mod:`annealing`: the moves proposed to a schedule, each replayed, and accepted or taken back."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from shorthaul.core.jit import kernel, subroutine
from shorthaul.pebble.local_search.incremental_replay_kernels import CHANGED, POSITION, State, accept, attempt
from shorthaul.pebble.local_search.recomputing_kernels import moved

IntArray = npt.NDArray[np.int64]

#: The longest stretch that one move may change.
LONGEST = 1000


@subroutine
def proposed(state: State, held: IntArray, mark: IntArray, step: int) -> tuple[int, int]:
    """Write a changed order to ``state.changed``; return where it begins and ends to differ, (0, 0) if it does not."""
    order, changed, nodes = state.order, state.changed, state.node
    count = len(order)
    first = np.random.randint(0, count)
    length = 1
    kind = np.random.random()
    if kind < 0.3:  # a node and what only it needs
        while first > 0:
            before = order[first - 1]
            alone = state.child_starts[before + 1] - state.child_starts[before] == 1
            reader = nodes[state.children[state.child_starts[before]], POSITION] if alone else -1
            if not first <= reader < first + length:
                break
            first -= 1
            length += 1
    elif kind < 0.35:
        length = min(count - first, int(2.0 ** (7.0 * np.random.random())))
    else:
        while first + length < count and length < 12 and np.random.random() < 0.4:
            length += 1
    node = order[first + np.random.randint(0, length)]
    kind = np.random.random()
    target = first
    if kind < 0.25:  # a short way
        target = first + np.random.randint(-6, 7)
    elif kind < 0.4:
        far = int(2.0 ** (8.0 * np.random.random()))
        target = first + (far if np.random.random() < 0.5 else -far)
    elif kind < 0.75:  # beside another reader of an operand
        parent = state.parents[np.random.randint(state.starts[node], state.starts[node + 1])]
        child = state.children[np.random.randint(state.child_starts[parent], state.child_starts[parent + 1])]
        target = nodes[child, POSITION]
        if target < first:
            target += np.random.randint(0, 2)
        else:
            target -= length - 1
    elif kind < 0.88:  # behind an operand
        target = nodes[state.parents[np.random.randint(state.starts[node], state.starts[node + 1])], POSITION] + 1
    elif state.child_starts[node] < state.child_starts[node + 1]:  # before a reader
        child = state.children[np.random.randint(state.child_starts[node], state.child_starts[node + 1])]
        target = nodes[child, POSITION] - length
    target = min(count - length, max(0, target))
    low, high = min(first, target), max(first, target) + length
    if target == first or high - low > LONGEST:
        return 0, 0
    if not moved(order, first, length, target, state.starts, state.parents, mark, step, held, changed):
        for place in range(low, high):
            changed[place] = order[place]
        return 0, 0
    while order[low] == changed[low]:
        low += 1
    while order[high - 1] == changed[high - 1]:
        high -= 1
    return low, high


@kernel
def anneal(
    state: State, held: IntArray, mark: IntArray, budget: int, penalty: float, steps: int, hot: float, cold: float,
    seed: int,
) -> int:  # fmt: skip
    """Anneal the schedule in place by so many moves; return by how much weight it moves more.

    The temperature falls geometrically from ``hot`` to ``cold``, in weights.
    """
    np.random.seed(seed)
    total = 0
    for value in range(len(mark)):
        mark[value] = -1
    for step in range(steps):
        heat = hot * (cold / hot) ** (step / steps)
        low, high = proposed(state, held, mark, step)
        if high == 0:
            continue
        for time in range(low, high):
            state.node[state.changed[time], CHANGED] = time
        limit = int(heat * -math.log(1.0 - np.random.random()))
        change, end = attempt(state, low, high, budget, penalty, limit)
        if end >= 0 and change <= limit:
            accept(state, high, end)
            total += change
        else:
            for time in range(low, high):
                state.changed[time] = state.order[time]
                state.node[state.order[time], CHANGED] = time
    return total
