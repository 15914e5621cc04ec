"""The compiled loop of :mod:`driver`: annealing over orders of computation, which may compute values again."""

from __future__ import annotations

from typing import Any

import cython
import numpy as np
from cython.cimports.shorthaul.core.compiled.random_kernels import Random
from cython.cimports.shorthaul.pebble.local_search.order_moves_kernels import (
    Cooling,
    Graph,
    Mover,
    allowance,
    goes_on,
    moves_run,
)
from cython.cimports.shorthaul.pebble.local_search.recomputing_replay_kernels import Frame, Replay, excess

#: The excess of any order is below this.
_ANY = cython.declare(cython.longlong, 1 << 61)
#: How often a move computes a value once more, or once less.
_AGAIN = cython.declare(cython.double, 0.15)


@cython.final
@cython.cclass
class Annealing:
    """An order in ``mover.order``, a changed one in ``replay.order``, and the best one met."""

    graph: Graph
    replay: Replay
    mover: Mover
    count: cython.longlong  # computations of the order
    nodes: cython.longlong  # that are computed at all
    cost: cython.longlong
    position: cython.longlong[::1]  # where each node is computed first
    best: cython.longlong[::1]
    best_count: cython.longlong
    best_cost = cython.declare(cython.longlong, visibility="readonly")

    def __init__(
        self, graph: Graph, frame: Frame, budget: cython.longlong, order: cython.const_longlong[::1]
    ) -> None:  # fmt: skip
        nodes = graph.given.shape[0] - int(np.count_nonzero(np.asarray(graph.given)))
        current = np.zeros(max(order.shape[0], 2 * nodes), np.int64)
        current[: order.shape[0]] = order
        self.graph = graph
        self.replay = Replay(graph, frame, budget, current.copy(), order.shape[0])
        self.mover = Mover(graph, current, self.replay.order)
        self.count = order.shape[0]
        self.nodes = nodes
        self.cost = _ANY
        self.position = np.zeros(graph.weights.shape[0], np.int64)
        self.best = current.copy()
        self.best_count = order.shape[0]
        self.best_cost = _ANY

    def best_order(self) -> Any:
        """Return the best order met."""
        return np.array(self.best[: self.best_count])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _accept(annealing: Annealing, mover: Mover, cost: cython.longlong) -> cython.void:
    """Let the changed order be the order."""
    place: cython.Py_ssize_t
    annealing.count = annealing.replay.count
    annealing.cost = cost
    for place in range(annealing.count - 1, -1, -1):
        mover.order[place] = mover.changed[place]
        annealing.position[mover.order[place]] = place
    if cost < annealing.best_cost:
        annealing.best_cost = cost
        annealing.best_count = annealing.count
        for place in range(annealing.count):
            annealing.best[place] = mover.order[place]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _computes_less(annealing: Annealing, mover: Mover, random: Random) -> cython.bint:
    """Leave one computation out of the changed order; False if none is found that is made elsewhere too."""
    first: cython.longlong = 0
    tries: cython.longlong = 0
    place: cython.Py_ssize_t
    while tries < 20:
        first = random.below(annealing.count)
        if annealing.position[mover.order[first]] != first:
            for place in range(first, annealing.count - 1):
                mover.changed[place] = mover.order[place + 1]
            annealing.replay.count -= 1
            return True
        tries += 1
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _computes_more(annealing: Annealing, mover: Mover, graph: Graph, random: Random) -> cython.bint:
    """Compute an operand of some node once more, before that node; False if there is none, it is given, or no room."""
    first: cython.longlong = random.below(annealing.count)
    node: cython.longlong = mover.order[first]
    place: cython.Py_ssize_t
    if graph.starts[node] == graph.starts[node + 1]:
        return False
    node = graph.parents[graph.starts[node] + random.below(graph.starts[node + 1] - graph.starts[node])]
    if graph.given[node] or annealing.count == mover.order.shape[0]:
        return False
    if random.real() < 0.3:
        first = max(0, first - random.below(4))
    for place in range(first, annealing.count):
        mover.changed[place + 1] = mover.order[place]
    mover.changed[first] = node
    annealing.replay.count += 1
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _moves(annealing: Annealing, mover: Mover, graph: Graph, random: Random) -> cython.bint:
    """Move a run in the changed order; False if it stays as it is."""
    count: cython.longlong = annealing.count
    first: cython.longlong = random.below(count)
    length: cython.longlong = 1
    while first + length < count and length < 12 and random.real() < 0.4:
        length += 1
    kind = random.real()
    node = mover.order[first + length - 1 if kind >= 0.9 else first]
    if 0.5 <= kind < 0.9 and graph.starts[node] == graph.starts[node + 1]:
        return False
    if kind < 0.35:  # a short way
        target = first + random.below(13) - 6
    elif kind < 0.5:
        target = random.below(count - length + 1)
    elif kind < 0.8:  # beside another reader of an operand
        node = graph.parents[graph.starts[node] + random.below(graph.starts[node + 1] - graph.starts[node])]
        target = annealing.position[_reader(graph, random, node)]
        if target < first and random.real() < 0.5:
            target += 1
    elif kind < 0.9:  # behind an operand
        node = graph.parents[graph.starts[node] + random.below(graph.starts[node + 1] - graph.starts[node])]
        target = annealing.position[node] + 1
    else:  # before a reader
        if graph.child_starts[node] == graph.child_starts[node + 1]:
            return False
        target = annealing.position[_reader(graph, random, node)] - length
    target = min(count - length, max(0, target))
    return target != first and moves_run(mover, first, length, target)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _reader(graph: Graph, random: Random, node: cython.longlong) -> cython.longlong:
    """Draw a reader of ``node``, which has some."""
    count: cython.longlong = graph.child_starts[node + 1] - graph.child_starts[node]
    return graph.children[graph.child_starts[node] + random.below(count)]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_changed(annealing: Annealing, mover: Mover, graph: Graph, random: Random) -> cython.bint:
    """Write a changed order; False if it is none."""
    place: cython.Py_ssize_t
    annealing.replay.count = annealing.count
    for place in range(annealing.count):
        mover.changed[place] = mover.order[place]
    if random.real() >= _AGAIN:
        return _moves(annealing, mover, graph, random)
    if annealing.count > annealing.nodes and random.real() < 0.5:
        return _computes_less(annealing, mover, random)
    return _computes_more(annealing, mover, graph, random)


def anneal(annealing: Annealing, cooling: Cooling, most_work: cython.longlong) -> None:
    """Anneal until the round ends or ``most_work`` is done.

    A move takes a run of nodes to another place, with what it needs or what needs it; it often leads beside a relative.
    Sometimes a value is computed once more, just before a reader, or once less.
    """
    with cython.nogil:
        _anneal(annealing, cooling, most_work)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _anneal(annealing: Annealing, cooling: Cooling, most_work: cython.longlong) -> cython.void:
    first: cython.longlong = cooling.work
    before: cython.longlong = annealing.replay.work
    if annealing.cost == _ANY:
        _accept(annealing, annealing.mover, excess(annealing.replay, cooling.penalty, _ANY))
    while goes_on(cooling) and cooling.work < first + most_work:
        if _is_changed(annealing, annealing.mover, annealing.graph, cooling.random):
            limit = annealing.cost + allowance(cooling)
            cost = excess(annealing.replay, cooling.penalty, limit)
            if cost <= limit:
                _accept(annealing, annealing.mover, cost)
        annealing.replay.work += annealing.count // 4 + 4
        cooling.work = first + annealing.replay.work - before
        cooling.step += 1
