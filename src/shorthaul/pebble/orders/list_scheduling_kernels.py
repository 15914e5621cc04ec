"""Compiled loops of :mod:`list_scheduling`: a list scheduler that computes where most is done per weight moved."""

from __future__ import annotations

import heapq

import numpy as np
import numpy.typing as npt

from shorthaul.core.jit import kernel, subroutine
from shorthaul.pebble.orders.list_scheduling_memory_kernels import (
    DIRTY,
    ROOM,
    STAMP,
    WORK,
    Graph,
    Rules,
    State,
    compute,
    new_state,
)

IntArray = npt.NDArray[np.int64]


@subroutine
def demand(graph: Graph, state: State, node: int, most: int) -> int:
    """Write ``node`` and its ancestors not computed to ``queue``, operands first; return how many, or -1 above most."""
    state.counters[STAMP] += 1
    stamp = state.counters[STAMP]
    top = 0
    state.stack[0] = node
    count = 0
    while top >= 0:
        here = state.stack[top]
        if state.seen[here] == stamp:
            top -= 1
            continue
        ready = True
        for edge in range(graph.starts[here], graph.starts[here + 1]):
            parent = graph.parents[edge]
            if not state.done[parent] and state.seen[parent] != stamp:
                ready = False
                top += 1
                if top >= most + 64 or top >= len(state.stack):
                    return -1
                state.stack[top] = parent
        if ready:
            top -= 1
            state.seen[here] = stamp
            state.queue[count] = here
            count += 1
            if count >= most:
                return -1
    return count


@subroutine
def less(seen: IntArray, by: IntArray, node: int, stamp: int) -> int:
    """Count one more in ``by`` and return it; counts of another stamp are void."""
    if seen[node] != stamp:
        seen[node] = stamp
        by[node] = 0
    by[node] += 1
    return int(by[node])


@subroutine
def look_ahead(graph: Graph, state: State, rules: Rules, node: int) -> float:
    """Return how much is computed per weight moved if ``node`` is made next, with all that is free thereafter."""
    count = demand(graph, state, node, rules.longest)
    if count < 0:
        return -1.0
    stamp = state.counters[STAMP]
    room = state.counters[ROOM]
    loads = 0
    held = 0
    wanted = count
    for number in range(wanted):
        here = state.queue[number]
        for edge in range(graph.starts[here], graph.starts[here + 1]):
            parent = graph.parents[edge]
            if not state.red[parent] and state.seen[parent] != stamp:
                state.seen[parent] = stamp
                loads += graph.weights[parent]
                held += graph.weights[parent]
                state.queue[count] = parent
                count += 1
    gain = 0
    first = 0
    for number in range(wanted):
        held += settled(graph, state, state.queue[number], stamp)
        gain += 1
    while first < count < min(8 * rules.longest, len(state.queue) - 1):
        here = state.queue[first]
        first += 1
        stop = min(graph.child_starts[here + 1], state.cursor[here] + 256)
        state.counters[WORK] += stop - state.cursor[here]
        for edge in range(state.cursor[here], stop):
            child = graph.children[edge]
            if state.done[child] or state.seen[child] == stamp:
                continue
            if state.absent[child] > less(state.absent_seen, state.absent_less, child, stamp):
                continue
            if state.net[child] > 0 and held + state.net[child] > room:
                continue
            state.seen[child] = stamp
            held += settled(graph, state, child, stamp)
            gain += 1
            state.queue[count] = child
            count += 1
            if count >= len(state.queue) - 1:
                break
    value: float = gain / (loads + rules.growth * max(0, held) + rules.overflow * max(0, held - room) + 1e-3)
    return value


@subroutine
def settled(graph: Graph, state: State, node: int, stamp: int) -> int:
    """Return by how much the memory grows when the look-ahead computes ``node``."""
    held = graph.weights[node] if state.left[node] > 0 else 0
    state.counters[WORK] += graph.starts[node + 1] - graph.starts[node]
    for edge in range(graph.starts[node], graph.starts[node + 1]):
        parent = graph.parents[edge]
        if state.left[parent] == less(state.left_seen, state.left_less, parent, stamp):
            held -= graph.weights[parent]
    return held


@subroutine
def goal_of(graph: Graph, state: State, wanted: int) -> int:
    """Return the node to compute so that ``wanted`` is in fast memory and used; -1 if nothing wants it any more."""
    if state.solo[wanted] <= 0 or state.red[wanted]:
        return -1
    if not state.done[wanted]:
        return wanted
    for edge in range(state.cursor[wanted], graph.child_starts[wanted + 1]):
        child = graph.children[edge]
        if not state.done[child] and state.absent[child] == 1:
            return int(child)
    return -1


@subroutine
def next_goal(
    graph: Graph, state: State, rules: Rules, start: int, heap: list[tuple[float, int, int]], recent: list[int],
    growing: list[int],
) -> int:  # fmt: skip
    """Return the best node to compute next of some that use what is in fast memory, and of the first in order."""
    best = start
    best_score = look_ahead(graph, state, rules, start)
    last = graph.rank[start] + rules.window
    while len(growing) > 0:
        child = growing[-1]
        if not state.done[child] and state.absent[child] == 0 and graph.rank[child] <= last:
            score = look_ahead(graph, state, rules, child)
            if score > best_score:
                best_score = score
                best = child
            break
        growing.pop()
    kept = [heap[0]]
    kept.pop()
    tried = 0
    while tried < rules.by_score and len(heap) > 0:
        entry = heapq.heappop(heap)
        other = entry[2]
        if len(kept) > 0 and kept[-1][2] == other:
            continue
        goal = goal_of(graph, state, other)
        if goal < 0:
            continue
        actual = -state.solo[other] / graph.weights[other]
        if actual != entry[0]:
            heapq.heappush(heap, (actual, entry[1], other))
            continue
        kept.append(entry)
        tried += 1
        if graph.rank[goal] > last:
            continue
        score = look_ahead(graph, state, rules, goal)
        if score > best_score:
            best_score = score
            best = goal
    for entry in kept:
        heapq.heappush(heap, entry)
    tried = 0
    place = len(recent) - 1
    while tried < rules.by_recency and place >= 0:
        other = recent[place]
        goal = goal_of(graph, state, other)
        if goal < 0 and place == len(recent) - 1:
            recent.pop()
        elif goal >= 0 and graph.rank[goal] <= last:
            score = look_ahead(graph, state, rules, goal)
            if score > best_score:
                best_score = score
                best = goal
        tried += 1 if goal >= 0 or place < len(recent) - 1 else 0
        place -= 1
    return best


@kernel
def greedy_order(graph: Graph, rules: Rules, capacity: int, most_work: int, seed: int) -> IntArray:
    """Return a topological order of the nodes that are no inputs."""
    np.random.seed(seed)
    state = new_state(graph, capacity)
    n = len(graph.weights)
    total = 0
    for node in range(n):
        if not state.done[node]:
            total += 1
    found = np.empty(total, np.int64)
    count = 0
    heap = [(0.0, 0, 0)]
    recent = [0]
    shrinking = [0]
    growing = [0]
    heap.pop()
    recent.pop()
    shrinking.pop()
    growing.pop()
    start = 0
    limit = int(rules.live * capacity)
    goals = np.empty(rules.longest + 1, np.int64)
    while count < total:
        if state.counters[WORK] > most_work:
            break
        while start < total and state.done[graph.order[start]]:
            start += 1
        last = start + rules.window
        node = -1
        while len(shrinking) > 0 and node < 0:
            candidate = shrinking.pop()
            if not state.done[candidate] and state.absent[candidate] == 0:
                node = candidate
        while len(growing) > 0 and node < 0:
            candidate = growing[-1]
            if state.done[candidate] or state.absent[candidate] > 0 or graph.rank[candidate] > last:
                growing.pop()
            elif (
                state.counters[ROOM] >= graph.weights[candidate]
                and state.counters[DIRTY] + graph.weights[candidate] <= limit
            ):
                growing.pop()
                node = candidate
            else:
                break
        if node >= 0:
            compute(graph, state, rules, node, heap, recent, shrinking, growing)
            found[count] = node
            count += 1
            continue
        goal = graph.order[start]
        if len(heap) > 0:
            goal = next_goal(graph, state, rules, goal, heap, recent, growing)
        steps = demand(graph, state, goal, rules.longest)
        for place in range(steps):
            goals[place] = state.queue[place]
        for number in range(steps):
            node = goals[number]
            if not state.done[node]:
                compute(graph, state, rules, node, heap, recent, shrinking, growing)
                found[count] = node
                count += 1
    for node in graph.order:
        if not state.done[node]:
            found[count] = node
            count += 1
    return found
