"""Self-timed execution: cores begin what is most urgent as soon as they can, for some iterations.

A firing keeps its core from its first access to its last. It begins once its tokens are there, and the firings that
make room for what it writes have begun: so none waits for a core that is kept waiting. After some iterations nothing
begins sooner than a period after it began last, which makes iterations alike.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.shorthaul.dataflow.modulo.selection_kernels import Graph

BEGIN = cython.declare(cython.longlong, 0)
READ = cython.declare(cython.longlong, 1)
WRITE = cython.declare(cython.longlong, 3)
#: Later than any time.
NEVER = cython.declare(cython.longlong, 1 << 60)


@cython.final
@cython.cclass
class Execution:
    """What runs, what has ended how often, and the times of all nodes in every iteration, which are filled in."""

    graph: Graph
    period: cython.longlong
    free: cython.longlong  # iterations that nothing holds back
    now: cython.longlong
    wake: cython.longlong  # when the next node that is held back may begin
    time: cython.longlong[:, ::1]  # per iteration and node
    done: cython.longlong[::1]  # per node, how often it has ended
    begun: cython.longlong[::1]  # per firing, how often
    urgency: cython.longlong[::1]  # per firing, the time that all takes that waits for it
    core: cython.longlong[::1]  # per core, the firing that has it
    running: cython.longlong[::1]  # per core, the node, and until when
    until: cython.longlong[::1]
    order: cython.longlong[::1]  # cores, the most urgent first
    arc_at: cython.longlong[::1]  # per node, where its arcs begin in ``arc``
    arc: cython.longlong[::1]
    out_at: cython.longlong[::1]  # the same of arcs that leave a node
    out: cython.longlong[::1]
    needs_end: cython.const_uchar[::1]  # per arc, whether a firing begins after the end of what it comes from, or begin
    missing: cython.longlong[::1]  # per firing, arcs that its next one waits for to begin
    route_at: cython.longlong[::1]  # per node, the interconnects that it takes
    route: cython.longlong[::1]
    busy: cython.longlong[::1]  # per interconnect, until when
    steps = cython.declare(cython.longlong, visibility="readonly")

    def __init__(self, graph: Graph, time: cython.longlong[:, ::1], free: int) -> None:
        nodes, firings, cores = graph.duration.shape[0], graph.first.shape[0], graph.core_at.shape[0] - 1
        self.graph = graph
        self.free = free
        self.period, self.now, self.wake, self.steps = 0, 0, NEVER, 0
        self.time = time
        self.done = np.zeros(nodes, np.int64)
        self.begun = np.zeros(firings, np.int64)
        self.urgency = np.zeros(firings, np.int64)
        self.core, self.running, self.until = (np.full(cores, -1, np.int64) for _ in range(3))
        self.order = np.arange(cores)
        source, target = np.asarray(graph.tokens)[:, 0], np.asarray(graph.tokens)[:, 1]
        self.arc = np.argsort(target, kind="stable").astype(np.int64)
        self.arc_at = np.searchsorted(target[np.asarray(self.arc)], np.arange(nodes + 1)).astype(np.int64)
        self.out = np.argsort(source, kind="stable").astype(np.int64)
        self.out_at = np.searchsorted(source[np.asarray(self.out)], np.arange(nodes + 1)).astype(np.int64)
        kind = np.asarray(graph.kind)
        needs_end = (kind[source] == WRITE) | (kind[target] == READ) | (kind[target] == BEGIN)
        self.needs_end = needs_end.astype(np.uint8)
        self.missing = np.zeros(firings, np.int64)
        on, on_at = np.asarray(graph.on), np.asarray(graph.on_at)
        taken = np.argsort(on, kind="stable")
        self.route = np.repeat(np.arange(len(on_at) - 1), np.diff(on_at))[taken].astype(np.int64)
        self.route_at = np.searchsorted(on[taken], np.arange(nodes + 1)).astype(np.int64)
        self.busy = np.zeros(max(1, len(on_at) - 1), np.int64)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _rank(at: Execution) -> cython.void:
    """Find how urgent firings are: the longest way that waits for one, at the period."""
    f: cython.Py_ssize_t
    k: cython.Py_ssize_t
    node: cython.Py_ssize_t
    _turn: cython.Py_ssize_t
    for f in range(at.graph.first.shape[0]):
        at.urgency[f] = 0
        for node in range(at.graph.first[f], at.graph.stop[f]):
            at.urgency[f] += at.graph.duration[node]
        at.begun[f] = at.urgency[f]
    for _turn in range(at.graph.first.shape[0]):
        changed: cython.bint = False
        for k in range(at.graph.tokens.shape[0]):
            f = at.graph.firing[at.graph.tokens[k, 0]]
            way = at.begun[f] + at.urgency[at.graph.firing[at.graph.tokens[k, 1]]] - at.graph.tokens[k, 3] * at.period
            if way > at.urgency[f]:
                at.urgency[f] = way
                changed = True
        at.steps += at.graph.tokens.shape[0]
        if not changed:
            break
    for f in range(at.graph.first.shape[0]):
        at.begun[f] = 0
    for f in range(at.graph.first.shape[0]):
        _count_missing(at, f)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _due(at: Execution, node: cython.Py_ssize_t, i: cython.longlong) -> cython.longlong:
    """Return when a node may begin in an iteration; note it if that is later."""
    if i < at.free:
        return 0
    due: cython.longlong = at.time[i - 1, node] + at.period
    if at.now < due < at.wake:
        at.wake = due
    return due


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_free(at: Execution, node: cython.Py_ssize_t) -> cython.bint:
    k: cython.Py_ssize_t
    for k in range(at.route_at[node], at.route_at[node + 1]):
        if at.busy[at.route[k]] > at.now:
            return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _has_tokens(at: Execution, node: cython.Py_ssize_t, i: cython.longlong) -> cython.bint:
    """Return whether what a node waits for has ended."""
    k: cython.Py_ssize_t
    for k in range(at.arc_at[node], at.arc_at[node + 1]):
        if at.done[at.graph.tokens[at.arc[k], 0]] <= i - at.graph.tokens[at.arc[k], 3]:
            return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _may_begin(at: Execution, f: cython.Py_ssize_t) -> cython.bint:
    """Return whether a firing may begin: nothing is missing, and one of its reads, or its execution, can at once."""
    node: cython.Py_ssize_t
    i: cython.longlong = at.begun[f]
    middle: cython.longlong = at.graph.execution[f]
    if at.missing[f] > 0 or i >= at.time.shape[0]:
        return False
    at.steps += middle - at.graph.first[f]
    if middle == at.graph.first[f] + 1:
        return at.now >= _due(at, middle, i)
    for node in range(at.graph.first[f] + 1, middle):
        if at.now >= _due(at, node, i) and _is_free(at, node):
            return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _count_missing(at: Execution, f: cython.Py_ssize_t) -> cython.void:
    """Count what the next firing of an actor waits for to begin."""
    k: cython.Py_ssize_t
    at.missing[f] = 0
    for k in range(at.arc_at[at.graph.first[f]], at.arc_at[at.graph.stop[f]]):
        source = at.graph.tokens[at.arc[k], 0]
        there = at.done[source] if at.needs_end[at.arc[k]] else at.begun[at.graph.firing[source]]
        at.missing[f] += there <= at.begun[f] - at.graph.tokens[at.arc[k], 3]
    at.steps += at.arc_at[at.graph.stop[f]] - at.arc_at[at.graph.first[f]]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _tell(at: Execution, node: cython.Py_ssize_t, times: cython.longlong, is_end: cython.bint) -> cython.void:
    """Tell those that wait for the end of a node, or the begin of its firing, that it is there so many times now."""
    k: cython.Py_ssize_t
    for k in range(at.out_at[node], at.out_at[node + 1]):
        f = at.graph.firing[at.graph.tokens[at.out[k], 1]]
        if at.needs_end[at.out[k]] == is_end and times == at.begun[f] - at.graph.tokens[at.out[k], 3] + 1:
            at.missing[f] -= 1
    at.steps += at.out_at[node + 1] - at.out_at[node]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _next_node(at: Execution, f: cython.Py_ssize_t, low: cython.Py_ssize_t, high: cython.Py_ssize_t) -> cython.longlong:
    """Return the access that goes next, of many interconnects and long; -1 where all have to wait, -2 at the end."""
    node: cython.Py_ssize_t
    best: cython.longlong = -2
    i: cython.longlong = at.begun[f] - 1
    routes: cython.longlong = -1
    for node in range(low, high):
        if at.done[node] > i:
            continue
        best = max(best, -1)
        length = at.route_at[node + 1] - at.route_at[node]
        is_later: cython.bint = length < routes or (
            length == routes and at.graph.duration[node] <= at.graph.duration[best]
        )
        if is_later or at.now < _due(at, node, i) or not _is_free(at, node) or not _has_tokens(at, node, i):
            continue
        best = node
        routes = length
    at.steps += high - low
    return best


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _go_on(at: Execution, c: cython.Py_ssize_t) -> cython.bint:
    """Begin the next node of the firing that has a core, or let it go; return whether anything changed."""
    k: cython.Py_ssize_t
    f: cython.Py_ssize_t = at.core[c]
    i: cython.longlong = at.begun[f] - 1
    middle: cython.Py_ssize_t = at.graph.execution[f]
    node: cython.longlong
    if at.done[middle] <= i:
        node = _next_node(at, f, at.graph.first[f] + 1, middle)
        if node == -2 and at.now >= _due(at, middle, i) and _has_tokens(at, middle, i):
            node = middle
    else:
        node = _next_node(at, f, middle + 1, at.graph.stop[f] - 1)
        if node == -2:
            at.time[i, at.graph.stop[f] - 1] = at.now
            at.done[at.graph.stop[f] - 1] = i + 1
            _tell(at, at.graph.stop[f] - 1, i + 1, True)
            at.core[c] = -1
            return True
    if node < 0:
        return False
    at.time[i, node] = at.now
    at.running[c] = node
    at.until[c] = at.now + at.graph.duration[node]
    for k in range(at.route_at[node], at.route_at[node + 1]):
        at.busy[at.route[k]] = at.until[c]
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _urgent(at: Execution, f: cython.longlong, i: cython.longlong) -> cython.longlong:
    return i * at.period - at.urgency[f]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sort(at: Execution) -> cython.void:
    """Put cores whose firings are most urgent first, those that are free last."""
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    for j in range(at.order.shape[0]):
        c = at.order[j]
        f = at.core[c]
        key = NEVER if f < 0 else _urgent(at, f, at.begun[f] - 1)
        k = j
        while k > 0:
            other = at.core[at.order[k - 1]]
            if other >= 0 and _urgent(at, other, at.begun[other] - 1) <= key:
                break
            if other < 0 and f < 0:
                break
            at.order[k] = at.order[k - 1]
            k -= 1
        at.order[k] = c
    at.steps += at.order.shape[0]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _begin(at: Execution, c: cython.Py_ssize_t) -> cython.bint:
    """Give a core to the most urgent firing that may begin; return whether there is one."""
    k: cython.Py_ssize_t
    best: cython.longlong = -1
    for k in range(at.graph.core_at[c], at.graph.core_at[c + 1]):
        f = at.graph.at_core[k]
        is_later: cython.bint = best >= 0 and _urgent(at, f, at.begun[f]) >= _urgent(at, best, at.begun[best])
        if not is_later and _may_begin(at, f):
            best = f
    at.steps += at.graph.core_at[c + 1] - at.graph.core_at[c]
    if best < 0:
        return False
    at.time[at.begun[best], at.graph.first[best]] = at.now
    at.begun[best] += 1
    for k in range(at.graph.first[best], at.graph.stop[best]):
        _tell(at, k, at.begun[best], False)
    _count_missing(at, best)
    at.core[c] = best
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _run(at: Execution, iterations: cython.longlong) -> cython.bint:
    """Execute until all firings have ended so often; return whether they have."""
    c: cython.Py_ssize_t
    j: cython.Py_ssize_t
    f: cython.Py_ssize_t
    left: cython.longlong
    while True:
        at.wake = NEVER
        changed: cython.bint = True
        while changed:
            changed = False
            for c in range(at.core.shape[0]):
                if at.running[c] >= 0 and at.until[c] <= at.now:
                    at.done[at.running[c]] += 1
                    _tell(at, at.running[c], at.done[at.running[c]], True)
                    at.running[c] = -1
            _sort(at)
            for j in range(at.order.shape[0]):
                c = at.order[j]
                if at.running[c] >= 0:
                    continue
                if at.core[c] >= 0 and _go_on(at, c):
                    changed = True
                if at.core[c] < 0 and _begin(at, c):
                    _go_on(at, c)
                    changed = True
        left = 0
        for f in range(at.begun.shape[0]):
            left += at.done[at.graph.stop[f] - 1] < iterations
        if left == 0:
            return True
        after: cython.longlong = at.wake
        for c in range(at.core.shape[0]):
            if at.running[c] >= 0 and at.until[c] < after:
                after = at.until[c]
        if after == NEVER:
            return False
        at.now = after


def execute(at: Execution, low: cython.longlong, slack: cython.double) -> int:
    """Execute all iterations; return the period of the last ones, 0 where firings wait for one another in a circle.

    Firings are as urgent as with a period of ``low``; they are held back by what the free iterations took in the end,
    and a share of ``slack`` more.
    """
    done: cython.bint
    with cython.nogil:
        at.period = low
        _rank(at)
        done = _run(at, at.free)
        if done and at.time.shape[0] > at.free:
            at.period = max(low, cython.cast(cython.longlong, slack * _mean(at, at.free >> 1, at.free - 1)))
            done = _run(at, at.time.shape[0])
    if not done:
        return 0
    return max(int(low), int(_mean(at, max(0, at.time.shape[0] - 4), at.time.shape[0] - 1)))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _mean(at: Execution, first: cython.Py_ssize_t, last: cython.Py_ssize_t) -> cython.double:
    """Return the mean ticks from one execution of an actor to the next between two iterations."""
    f: cython.Py_ssize_t
    ticks: cython.double = 0
    for f in range(at.begun.shape[0]):
        ticks += at.time[last, at.graph.execution[f]] - at.time[first, at.graph.execution[f]]
    return ticks / max(1, at.begun.shape[0] * (last - first))
