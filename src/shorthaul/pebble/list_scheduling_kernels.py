"""Compiled loops of :mod:`list_scheduling`: a list scheduler that computes where most is done per weight moved."""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shorthaul.core.jit import kernel

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]

#: Values looked at when one has to give way, if there are more.
SAMPLE = 48
#: Places in State.counters.
ROOM, RESIDENTS, STAMP, CLOCK, WORK, DIRTY = 0, 1, 2, 3, 4, 5


class Graph(NamedTuple):
    """A CDAG as arrays; ``order`` is topological, ``rank`` its inverse."""

    starts: IntArray
    parents: IntArray
    child_starts: IntArray
    children: IntArray
    weights: IntArray
    order: IntArray
    rank: IntArray


class Rules(NamedTuple):
    """What the scheduler prefers: see :func:`greedy_order`."""

    growth: float
    overflow: float
    dirty: float
    live: float
    by_score: int
    by_recency: int
    longest: int
    window: int


class State(NamedTuple):
    """The scheduler's model of the memories, and what each node still waits for."""

    done: BoolArray  # computed, or an input
    red: BoolArray  # in fast memory
    saved: BoolArray  # in slow memory
    absent: IntArray  # parents not in fast memory
    which: IntArray  # their indices, combined by exclusive or: the index itself where there is one
    left: IntArray  # children not computed
    final: IntArray  # their indices, combined by exclusive or
    net: IntArray  # by how much computing the node makes the fast memory fuller
    solo: IntArray  # children for which only this parent is absent
    cursor: IntArray  # the first child that may not be computed
    residents: IntArray
    place: IntArray  # in residents
    pinned: IntArray  # stamp of the last pin
    touched: IntArray  # when it was last read or made
    seen: IntArray  # stamps of the look-ahead, with its differences to absent and left
    absent_seen: IntArray
    absent_less: IntArray
    left_seen: IntArray
    left_less: IntArray
    queue: IntArray
    stack: IntArray
    sample: IntArray
    counters: IntArray


@kernel
def new_state(graph: Graph, capacity: int) -> State:
    """Return the state before the first move: all inputs in slow memory."""
    n = len(graph.weights)
    absent = graph.starts[1:] - graph.starts[:-1]
    left = graph.child_starts[1:] - graph.child_starts[:-1]
    which = np.zeros(n, np.int64)
    final = np.zeros(n, np.int64)
    solo = np.zeros(n, np.int64)
    net = graph.weights.copy()
    for node in range(n):
        for edge in range(graph.starts[node], graph.starts[node + 1]):
            parent = graph.parents[edge]
            which[node] ^= parent
            final[parent] ^= node
            if left[parent] == 1:
                net[node] -= graph.weights[parent]
        if absent[node] == 1:
            solo[which[node]] += 1
        if left[node] == 0:
            net[node] -= graph.weights[node]
    counters = np.zeros(8, np.int64)
    counters[ROOM] = capacity
    return State(
        absent == 0, np.zeros(n, np.bool_), absent == 0, absent, which, left, final, net, solo,
        graph.child_starts[:-1].copy(), np.empty(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64),
        np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64),
        np.zeros(n, np.int64), np.zeros(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64),
        np.empty(64, np.int64), counters,
    )  # fmt: skip


@kernel
def enter(
    graph: Graph, state: State, node: int, heap: list[tuple[float, int, int]], recent: list[int],
    shrinking: list[int], growing: list[int],
) -> None:  # fmt: skip
    """Put ``node`` into fast memory: its children wait for one parent less."""
    state.red[node] = True
    count = state.counters[RESIDENTS]
    state.residents[count] = node
    state.place[node] = count
    state.counters[RESIDENTS] = count + 1
    state.counters[ROOM] -= graph.weights[node]
    if not state.saved[node]:
        state.counters[DIRTY] += graph.weights[node]
    state.counters[WORK] += graph.child_starts[node + 1] - state.cursor[node]
    for edge in range(state.cursor[node], graph.child_starts[node + 1]):
        child = graph.children[edge]
        if state.done[child]:
            continue
        state.absent[child] -= 1
        state.which[child] ^= node
        if state.absent[child] == 0:
            state.solo[node] -= 1
            if state.net[child] <= 0:
                shrinking.append(child)
            else:
                growing.append(child)
        elif state.absent[child] == 1:
            other = state.which[child]
            state.solo[other] += 1
            heapq.heappush(heap, (-state.solo[other] / graph.weights[other], graph.rank[other], other))
            recent.append(other)


@kernel
def leave(graph: Graph, state: State, node: int) -> None:
    """Take ``node`` out of fast memory without telling its children."""
    state.red[node] = False
    count = state.counters[RESIDENTS] - 1
    other = state.residents[count]
    state.residents[state.place[node]] = other
    state.place[other] = state.place[node]
    state.counters[RESIDENTS] = count
    state.counters[ROOM] += graph.weights[node]
    if not state.saved[node]:
        state.counters[DIRTY] -= graph.weights[node]


@kernel
def evict(graph: Graph, state: State, node: int, heap: list[tuple[float, int, int]]) -> None:
    """Drop ``node``, storing it if need be: its children wait for one parent more."""
    leave(graph, state, node)
    state.saved[node] = True
    state.counters[WORK] += graph.child_starts[node + 1] - state.cursor[node]
    for edge in range(state.cursor[node], graph.child_starts[node + 1]):
        child = graph.children[edge]
        if state.done[child]:
            continue
        if state.absent[child] == 0:
            state.solo[node] += 1
        elif state.absent[child] == 1:
            state.solo[state.which[child]] -= 1
        state.absent[child] += 1
        state.which[child] ^= node
    if state.solo[node] > 0:
        heapq.heappush(heap, (-state.solo[node] / graph.weights[node], graph.rank[node], node))


@kernel
def use_distance(graph: Graph, state: State, node: int) -> tuple[int, int]:
    """Return (absent parents, rank) of the child of ``node`` that is nearest to being computed, of the first few."""
    edge = state.cursor[node]
    last = graph.child_starts[node + 1]
    while edge < last and state.done[graph.children[edge]]:
        edge += 1
    state.cursor[node] = edge
    least = 1 << 40
    rank = 1 << 40
    for look in range(edge, min(last, edge + 12)):
        child = graph.children[look]
        if not state.done[child]:
            absent = state.absent[child]
            if absent < least or (absent == least and graph.rank[child] < rank):
                least = absent
                rank = graph.rank[child]
    return least, rank


@kernel
def victim_of(graph: Graph, state: State, rules: Rules, pin: int) -> int:
    """Return the value whose next use seems farthest, of all or of some drawn at random; -1 if all are pinned."""
    count = state.counters[RESIDENTS]
    best = -1
    best_score = -1.0
    for number in range(SAMPLE + count):
        if number < SAMPLE and count > SAMPLE:
            other = state.residents[np.random.randint(0, count)]
        elif number < SAMPLE or best >= 0:  # enough drawn, or few enough to look at all
            if number >= count:
                break
            other = state.residents[number]
            if number >= SAMPLE:
                break
        else:
            other = state.residents[number - SAMPLE]
        if state.pinned[other] == pin:
            continue
        absent, rank = use_distance(graph, state, other)
        score = absent + rank / len(graph.rank)
        if not state.saved[other]:
            score /= rules.dirty
        if score > best_score:
            best_score = score
            best = other
    return best


@kernel
def compute(
    graph: Graph, state: State, rules: Rules, node: int, heap: list[tuple[float, int, int]], recent: list[int],
    shrinking: list[int], growing: list[int],
) -> None:  # fmt: skip
    """Compute ``node``, all of whose parents are computed: load those absent, evict what has to give way."""
    state.counters[CLOCK] += 1
    pin = state.counters[CLOCK]
    need = graph.weights[node]
    for edge in range(graph.starts[node], graph.starts[node + 1]):
        parent = graph.parents[edge]
        state.pinned[parent] = pin
        if not state.red[parent]:
            need += graph.weights[parent]
    while state.counters[ROOM] < need:
        victim = victim_of(graph, state, rules, pin)
        if victim < 0:
            break
        evict(graph, state, victim, heap)
    for edge in range(graph.starts[node], graph.starts[node + 1]):
        parent = graph.parents[edge]
        if not state.red[parent]:
            enter(graph, state, parent, heap, recent, shrinking, growing)
    state.done[node] = True
    for edge in range(graph.starts[node], graph.starts[node + 1]):
        parent = graph.parents[edge]
        state.left[parent] -= 1
        state.final[parent] ^= node
        if state.left[parent] == 0:
            leave(graph, state, parent)
        elif state.left[parent] == 1:
            child = state.final[parent]
            before = state.net[child]
            state.net[child] -= graph.weights[parent]
            if before > 0 and state.net[child] <= 0 and state.absent[child] == 0:
                shrinking.append(child)
    if state.left[node] > 0:
        enter(graph, state, node, heap, recent, shrinking, growing)


@kernel
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


@kernel
def less(seen: IntArray, by: IntArray, node: int, stamp: int) -> int:
    """Count one more in ``by`` and return it; counts of another stamp are void."""
    if seen[node] != stamp:
        seen[node] = stamp
        by[node] = 0
    by[node] += 1
    return int(by[node])


@kernel
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


@kernel
def settled(graph: Graph, state: State, node: int, stamp: int) -> int:
    """Return by how much the memory grows when the look-ahead computes ``node``."""
    held = graph.weights[node] if state.left[node] > 0 else 0
    state.counters[WORK] += graph.starts[node + 1] - graph.starts[node]
    for edge in range(graph.starts[node], graph.starts[node + 1]):
        parent = graph.parents[edge]
        if state.left[parent] == less(state.left_seen, state.left_less, parent, stamp):
            held -= graph.weights[parent]
    return held


@kernel
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


@kernel
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
        goals[:steps] = state.queue[:steps]
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
