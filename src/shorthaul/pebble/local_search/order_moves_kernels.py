"""What both annealings of orders share: the graph, the falling temperature, and runs that move with their relatives."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import exp, log
from cython.cimports.shorthaul.core.compiled.random_kernels import Random
from cython.dataclasses import dataclass


@dataclass(frozen=True, eq=False, repr=False, match_args=False)
@cython.final
@cython.cclass
class Graph:
    """A CDAG: the operands and the readers of each node, the weights, and which nodes are not computed."""

    starts: cython.const_longlong[::1]
    parents: cython.const_longlong[::1]
    child_starts: cython.const_longlong[::1]
    children: cython.const_longlong[::1]
    weights: cython.const_longlong[::1]
    given: cython.const_uchar[::1]


@cython.final
@cython.cclass
class Cooling:
    """A round of annealing: ``steps`` moves, or ``most_work``, while the temperature falls from ``hot`` to ``cold``.

    It falls geometrically, in the unit of the weights. ``work`` counts the nodes, edges and values looked at.
    """

    def __init__(
        self, random: Random, steps: cython.longlong, hot: cython.double, cold: cython.double, penalty: cython.double
    ) -> None:
        self.random = random
        self.step = 0
        self.steps = steps
        self.work = 0
        self.most_work = float("inf")
        self.hot = hot
        self.cold = cold
        self.penalty = penalty

    def is_over(self) -> bool:
        """True if the round has come to its end."""
        return not goes_on(self)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def goes_on(cooling: Cooling) -> cython.bint:
    """True before the end of the round."""
    return cooling.step < cooling.steps and cooling.work < cooling.most_work


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def allowance(cooling: Cooling) -> cython.longlong:
    """Draw by how much the cost may rise in this move."""
    progress: cython.double = cooling.step / cython.cast(cython.double, cooling.steps)
    progress = max(progress, cooling.work / cooling.most_work)
    heat: cython.double = cooling.hot * exp(log(cooling.cold / cooling.hot) * progress)
    return cython.cast(cython.longlong, heat * -log(1.0 - cooling.random.real()))


@cython.final
@cython.cclass
class Mover:
    """Moves runs of ``order``; ``changed`` receives the order after a move."""

    def __init__(self, graph: Graph, order: cython.longlong[::1], changed: cython.longlong[::1]) -> None:
        self.graph = graph
        self.order = order
        self.changed = changed
        self.mark = np.full(graph.weights.shape[0], -1, np.int64)
        self.held = np.empty(order.shape[0], np.int64)
        self.stamp = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def moves_run(
    mover: Mover, first: cython.longlong, length: cython.longlong, target: cython.longlong
) -> cython.bint:  # fmt: skip
    """Write the order with the run of ``length`` from ``first`` moved to ``target``; False if it stays as it is.

    What the run needs moves earlier with it, what needs the run moves later with it.
    """
    mover.stamp += 1
    if target < first:
        return _moves_earlier(mover, mover.graph, first, length, target)
    return _moves_later(mover, mover.graph, first, length, target)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _moves_earlier(
    mover: Mover, graph: Graph, first: cython.longlong, length: cython.longlong, target: cython.longlong
) -> cython.bint:
    place: cython.Py_ssize_t
    edge: cython.Py_ssize_t
    stay: cython.longlong = first + length
    waiting: cython.longlong = 0
    for place in range(first, first + length):
        node = mover.order[place]
        for edge in range(graph.starts[node], graph.starts[node + 1]):
            mover.mark[graph.parents[edge]] = mover.stamp
    for place in range(first + length - 1, target - 1, -1):
        node = mover.order[place]
        if place >= first:
            mover.held[waiting] = node
            waiting += 1
        elif mover.mark[node] == mover.stamp:
            for edge in range(graph.starts[node], graph.starts[node + 1]):
                mover.mark[graph.parents[edge]] = mover.stamp
            mover.held[waiting] = node
            waiting += 1
        else:
            stay -= 1
            mover.changed[stay] = node
    if stay == first + length or waiting == first + length - target:
        return False
    for place in range(waiting):
        mover.changed[stay - 1 - place] = mover.held[place]
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _moves_later(
    mover: Mover, graph: Graph, first: cython.longlong, length: cython.longlong, target: cython.longlong
) -> cython.bint:
    place: cython.Py_ssize_t
    edge: cython.Py_ssize_t
    put: cython.longlong = first
    waiting: cython.longlong = 0
    moves: cython.bint
    for place in range(first, first + length):
        mover.mark[mover.order[place]] = mover.stamp
    for place in range(first, target + length):
        node = mover.order[place]
        moves = mover.mark[node] == mover.stamp
        if not moves:
            for edge in range(graph.starts[node], graph.starts[node + 1]):
                if mover.mark[graph.parents[edge]] == mover.stamp:
                    moves = True
                    break
        if moves:
            mover.mark[node] = mover.stamp
            mover.held[waiting] = node
            waiting += 1
        else:
            mover.changed[put] = node
            put += 1
    if put == first:
        return False
    for place in range(waiting):
        mover.changed[put + place] = mover.held[place]
    return True
