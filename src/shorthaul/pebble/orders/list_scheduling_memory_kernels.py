"""What the scheduler of :mod:`list_scheduling` knows of the memories: what is where, and what each node waits for."""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shorthaul.core.jit import subroutine

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

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
    counters: IntArray


@subroutine
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
        counters,
    )  # fmt: skip


@subroutine
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


@subroutine
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


@subroutine
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


@subroutine
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


@subroutine
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


@subroutine
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
