"""Maximum cycle ratios: Howard's policy iteration in floating point, and an exact test of what it finds.

Arcs are stored by the node they lead to. An arc demands that its target starts no earlier than ``ticks`` after its
source less ``delay`` periods.
"""

from __future__ import annotations

import cython
import numpy as np


@cython.final
@cython.cclass
class EventGraph:
    """Arcs by target (the arcs into v are ``starts[v]`` to ``starts[v + 1]``), and what is known of the nodes."""

    starts: cython.const_longlong[::1]
    source: cython.const_longlong[::1]
    ticks: cython.const_longlong[::1]
    delay: cython.const_double[::1]
    distance: cython.double[::1]
    into: cython.longlong[::1]  # per node the arc of its policy, -1: none
    seen: cython.longlong[::1]
    first: cython.longlong[::1]  # the nodes whose policy leads to a node: a linked list
    following: cython.longlong[::1]
    queue: cython.longlong[::1]
    best: cython.longlong[::1]  # the policy that holds the best cycle so far
    ratio: cython.double  # of that cycle
    on_best: cython.longlong  # a node on it, -1: none
    anchor: cython.longlong  # a node on the best cycle of the policy, -1: none
    hopeless: cython.bint  # the best cycle has work and no delay: no period is long enough

    def __init__(
        self, starts: cython.const_longlong[::1], source: cython.const_longlong[::1],
        ticks: cython.const_longlong[::1], delay: cython.const_double[::1],
        distance: cython.double[::1], best: cython.longlong[::1],
    ) -> None:  # fmt: skip
        n = starts.shape[0] - 1
        self.starts, self.source, self.ticks, self.delay = starts, source, ticks, delay
        self.distance, self.best = distance, best
        self.into = np.full(n, -1, np.int64)
        self.seen = np.zeros(n, np.int64)
        self.first = np.zeros(n, np.int64)
        self.following = np.zeros(n, np.int64)
        self.queue = np.zeros(n + 1, np.int64)
        self.ratio = 0.0
        self.on_best = self.anchor = -1
        self.hopeless = False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def best_cycle(graph: EventGraph) -> cython.void:
    """Find the cycle of the policy with the most ticks per delay, or one that has no delay at all."""
    n: cython.longlong = graph.into.shape[0]
    root: cython.longlong
    node: cython.longlong
    arc: cython.longlong
    work: cython.double
    held: cython.double
    most: cython.double = -1
    graph.anchor = -1
    for node in range(n):
        graph.seen[node] = 0
    for root in range(n):
        node = root
        while node >= 0 and graph.seen[node] == 0:
            graph.seen[node] = root + 1
            arc = graph.into[node]
            node = graph.source[arc] if arc >= 0 else -1
        if node < 0 or graph.seen[node] != root + 1:
            continue
        work = held = 0
        start: cython.longlong = node
        while True:
            arc = graph.into[node]
            work += graph.ticks[arc]
            held += graph.delay[arc]
            node = graph.source[arc]
            if node == start:
                break
        if held < 1e-12 and (work > 0 or held < -1e-12):
            graph.on_best = node
            graph.best[:] = graph.into
            graph.hopeless = True
            return
        if work > most * held and held > 1e-12:
            most = work / held
            graph.anchor = node
    if most > graph.ratio:
        graph.ratio = most
        graph.on_best = graph.anchor
        graph.best[:] = graph.into


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def measure(graph: EventGraph) -> cython.void:
    """Set the distances of all nodes whose policy leads to the best cycle."""
    n: cython.longlong = graph.into.shape[0]
    node: cython.longlong
    arc: cython.longlong
    head: cython.longlong = 0
    tail: cython.longlong = 1
    for node in range(n):
        graph.first[node] = -1
    for node in range(n):
        arc = graph.into[node]
        if arc >= 0:
            graph.following[node] = graph.first[graph.source[arc]]
            graph.first[graph.source[arc]] = node
    graph.queue[0] = graph.anchor
    while head < tail:
        above: cython.longlong = graph.queue[head]
        head += 1
        node = graph.first[above]
        while node >= 0:
            if node != graph.anchor:
                arc = graph.into[node]
                graph.distance[node] = graph.distance[above] + graph.ticks[arc] - graph.ratio * graph.delay[arc]
                graph.queue[tail] = node
                tail += 1
            node = graph.following[node]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def improve(graph: EventGraph, slack: cython.double) -> cython.bint:
    """Let every node take the arc that gives it the longest distance; return whether one changed."""
    changed: cython.bint = False
    node: cython.longlong
    arc: cython.longlong
    for node in range(graph.into.shape[0]):
        for arc in range(graph.starts[node], graph.starts[node + 1]):
            there: cython.double = graph.distance[graph.source[arc]] + graph.ticks[arc] - graph.ratio * graph.delay[arc]
            if there > graph.distance[node] + slack:
                graph.distance[node] = there
                graph.into[node] = arc
                changed = True
    return changed


def critical(graph: EventGraph, rounds: cython.longlong) -> int:
    """Look for the cycle of the highest ratio by policy iteration; return a node on it, -1 if none holds a tick.

    ``best`` then holds the arc into every node of it.
    """
    _step: cython.longlong
    node: cython.longlong
    arc: cython.longlong
    most: cython.double = 0
    with cython.nogil:
        for node in range(graph.into.shape[0]):
            for arc in range(graph.starts[node], graph.starts[node + 1]):
                most += graph.ticks[arc]
                if graph.into[node] < 0 or graph.ticks[arc] > graph.ticks[graph.into[node]]:
                    graph.into[node] = arc
        for _step in range(rounds):
            best_cycle(graph)
            if graph.hopeless:
                break
            if graph.anchor >= 0:
                measure(graph)
            if not improve(graph, 1e-13 * most):
                break
    return int(graph.on_best)


@cython.final
@cython.cclass
class Weights:
    """Arcs by target with exact weights, and the longest distances under them."""

    starts: cython.const_longlong[::1]
    source: cython.const_longlong[::1]
    target: cython.const_longlong[::1]
    out: cython.const_longlong[::1]  # arcs by source: numbers of arcs, from out_starts
    out_starts: cython.const_longlong[::1]
    weight: cython.const_longlong[::1]
    distance: cython.longlong[::1]
    into: cython.longlong[::1]
    seen: cython.longlong[::1]
    queue: cython.longlong[::1]
    queued: cython.uchar[::1]
    count: cython.longlong

    def __init__(
        self, starts: cython.const_longlong[::1], source: cython.const_longlong[::1],
        target: cython.const_longlong[::1], out_starts: cython.const_longlong[::1],
        out: cython.const_longlong[::1], weight: cython.const_longlong[::1], distance: cython.longlong[::1],
        into: cython.longlong[::1],
    ) -> None:  # fmt: skip
        n = starts.shape[0] - 1
        self.starts, self.source, self.target, self.weight = starts, source, target, weight
        self.out_starts, self.out = out_starts, out
        self.distance, self.into = distance, into
        self.seen = np.zeros(n, np.int64)
        self.queue = np.zeros(max(n, 1), np.int64)
        self.queued = np.zeros(n, np.uint8)
        self.count = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def on_cycle(state: Weights) -> cython.longlong:
    """Return a node on a cycle of the arcs that were last relaxed, -1 if there is none."""
    n: cython.longlong = state.into.shape[0]
    root: cython.longlong
    node: cython.longlong
    for node in range(n):
        state.seen[node] = 0
    for root in range(n):
        node = root
        while node >= 0 and state.seen[node] == 0:
            state.seen[node] = root + 1
            node = state.source[state.into[node]] if state.into[node] >= 0 else -1
        if node >= 0 and state.seen[node] == root + 1:
            return node
    return -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def push(state: Weights, node: cython.longlong, tail: cython.longlong) -> cython.longlong:
    """Put a node into the queue unless it is there; return the place of the next."""
    if state.queued[node]:
        return tail
    state.queued[node] = 1
    state.queue[tail] = node
    state.count += 1
    return tail + 1 if tail + 1 < state.queue.shape[0] else 0


def settle(state: Weights) -> int:
    """Raise the distances until no arc demands more; return a node on a cycle of positive weight, or -1."""
    n: cython.longlong = state.into.shape[0]
    head: cython.longlong = 0
    tail: cython.longlong = 0
    updates: cython.longlong = 0
    node: cython.longlong
    place: cython.longlong
    arc: cython.longlong
    found: cython.longlong = -1
    with cython.nogil:
        for node in range(n):
            for arc in range(state.starts[node], state.starts[node + 1]):
                if state.distance[state.source[arc]] + state.weight[arc] > state.distance[node]:
                    state.distance[node] = state.distance[state.source[arc]] + state.weight[arc]
                    state.into[node] = arc
                    tail = push(state, node, tail)
        while state.count > 0:
            node = state.queue[head]
            head = head + 1 if head + 1 < state.queue.shape[0] else 0
            state.queued[node] = 0
            state.count -= 1
            for place in range(state.out_starts[node], state.out_starts[node + 1]):
                arc = state.out[place]
                there: cython.longlong = state.target[arc]
                if state.distance[node] + state.weight[arc] > state.distance[there]:
                    state.distance[there] = state.distance[node] + state.weight[arc]
                    state.into[there] = arc
                    tail = push(state, there, tail)
                    updates += 1
            if updates > n:
                updates = 0
                found = on_cycle(state)
                if found >= 0:
                    break
    return int(found)
