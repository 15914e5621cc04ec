"""Orders of operators, consumers before producers, in which few tensors are open at a time: annealed."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import exp, log
from cython.cimports.shorthaul.core.compiled.random_kernels import Random

#: The first temperature, and the last one, of the logarithm of the number of fronts.
HOTTEST = cython.declare(cython.double, 0.5)
COLDEST = cython.declare(cython.double, 0.002)


@cython.final
@cython.cclass
class Fronts:
    """A graph and an order of its operators, as it changes; ``weight`` by tensor is added to a front where it is open.

    ``user`` are the consumers of tensor ``t`` from ``first_user[t]`` on, ``taken`` the producers of the inputs of
    operator ``i`` from ``first_taken[i]`` on; ``maker`` is -1 for graph inputs.
    """

    first_user: cython.const_longlong[::1]
    user: cython.const_longlong[::1]
    first_taken: cython.const_longlong[::1]
    taken: cython.const_longlong[::1]
    maker: cython.const_longlong[::1]
    output: cython.const_longlong[::1]
    weight: cython.const_double[::1]
    order: cython.longlong[::1]
    best: cython.longlong[::1]
    place: cython.longlong[::1]
    change: cython.double[::1]

    def __init__(
        self,
        first_user: cython.const_longlong[::1],
        user: cython.const_longlong[::1],
        first_taken: cython.const_longlong[::1],
        taken: cython.const_longlong[::1],
        maker: cython.const_longlong[::1],
        output: cython.const_longlong[::1],
        weight: cython.const_double[::1],
        order: cython.longlong[::1],
    ) -> None:
        self.first_user = first_user
        self.user = user
        self.first_taken = first_taken
        self.taken = taken
        self.maker = maker
        self.output = output
        self.weight = weight
        self.order = order
        self.best = np.array(order)
        self.place = np.zeros(order.shape[0], np.int64)
        self.change = np.zeros(order.shape[0] + 1)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _fronts(made: Fronts) -> cython.double:
    """Return the logarithm of the number of fronts in all; ``place`` is the order's inverse then."""
    i: cython.Py_ssize_t
    for i in range(made.order.shape[0]):
        made.place[made.order[i]] = i
        made.change[i] = 0.0
    t: cython.Py_ssize_t
    for t in range(made.maker.shape[0]):
        if made.first_user[t] == made.first_user[t + 1]:
            continue
        first: cython.longlong = made.order.shape[0]
        last: cython.longlong = 0
        u: cython.Py_ssize_t
        for u in range(made.first_user[t], made.first_user[t + 1]):
            first = min(first, made.place[made.user[u]])
            last = max(last, made.place[made.user[u]])
        if made.maker[t] >= 0:
            last = made.place[made.maker[t]]
        made.change[first] += made.weight[t]
        made.change[last] -= made.weight[t]
    width: cython.double = 0.0
    total: cython.double = 0.0
    for i in range(made.order.shape[0]):
        width += made.change[i]
        total += exp(width)
    return log(total)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _move(made: Fronts, source: cython.Py_ssize_t, target: cython.Py_ssize_t) -> cython.void:
    """Move the operator at a place to another one."""
    moved: cython.longlong = made.order[source]
    i: cython.Py_ssize_t
    if source < target:
        for i in range(source, target):
            made.order[i] = made.order[i + 1]
    else:
        for i in range(source, target, -1):
            made.order[i] = made.order[i - 1]
    made.order[target] = moved


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _anneal(made: Fronts, random: Random, moves: cython.longlong) -> cython.void:
    count: cython.longlong = made.order.shape[0]
    here: cython.double = _fronts(made)
    best: cython.double = here
    move: cython.longlong
    for move in range(moves):
        temperature: cython.double = HOTTEST * (COLDEST / HOTTEST) ** (cython.cast(cython.double, move) / moves)
        source: cython.longlong = random.below(count)
        operator = made.order[source]
        low: cython.longlong = 0
        high: cython.longlong = count - 1
        u: cython.Py_ssize_t
        for u in range(made.first_user[made.output[operator]], made.first_user[made.output[operator] + 1]):
            low = max(low, made.place[made.user[u]] + 1)
        for u in range(made.first_taken[operator], made.first_taken[operator + 1]):
            high = min(high, made.place[made.taken[u]] - 1)
        if low >= high:
            continue
        target: cython.longlong = low + random.below(high - low + 1)
        _move(made, source, target)
        after: cython.double = _fronts(made)
        if after <= here or random.real() < exp((here - after) / temperature):
            here = after
            if here < best:
                best = here
                made.best[:] = made.order
        else:
            _move(made, target, source)
            _fronts(made)
    made.order[:] = made.best


def anneal(made: Fronts, random: Random, moves: cython.longlong) -> None:
    """Anneal the order with so many moves; the best one met is left."""
    with cython.nogil:
        _anneal(made, random, moves)
