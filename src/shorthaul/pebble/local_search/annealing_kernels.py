"""Compiled loops of :mod:`annealing`: the moves proposed to a schedule, each replayed, and accepted or taken back."""

from __future__ import annotations

import cython
from cython.cimports.libc.math import exp
from cython.cimports.shorthaul.core.compiled.random_kernels import Random
from cython.cimports.shorthaul.pebble.local_search.incremental_replay_kernels import State, accept, attempt
from cython.cimports.shorthaul.pebble.local_search.order_moves_kernels import (
    Cooling,
    Mover,
    allowance,
    goes_on,
    moves_run,
)

#: The longest stretch that one move may change.
LONGEST = cython.declare(cython.longlong, 1000)
#: Logarithms of the longest run, and of the longest way, that are drawn from a wide range.
_LONGEST_RUN = cython.declare(cython.double, 4.852)
_FARTHEST = cython.declare(cython.double, 5.545)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _run(state: State, random: Random) -> tuple[cython.longlong, cython.longlong]:
    """Draw a run of the order: return (its first place, its length)."""
    count: cython.longlong = state.order.shape[0]
    first: cython.longlong = random.below(count)
    length: cython.longlong = 1
    kind: cython.double = random.real()
    if kind < 0.3:  # a node and what only it needs
        while first > 0:
            before = state.order[first - 1]
            reader = -1
            if state.child_starts[before + 1] - state.child_starts[before] == 1:
                reader = state.position[state.children[state.child_starts[before]]]
            if not first <= reader < first + length:
                break
            first -= 1
            length += 1
    elif kind < 0.35:
        length = min(count - first, cython.cast(cython.longlong, exp(_LONGEST_RUN * random.real())))
    else:
        while first + length < count and length < 12 and random.real() < 0.4:
            length += 1
    return first, length


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _operand(state: State, random: Random, node: cython.longlong) -> cython.longlong:
    """Draw an operand of ``node``, which has some."""
    return state.parents[state.starts[node] + random.below(state.starts[node + 1] - state.starts[node])]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _reader(state: State, random: Random, node: cython.longlong) -> cython.longlong:
    """Draw a reader of ``node``, which has some."""
    count: cython.longlong = state.child_starts[node + 1] - state.child_starts[node]
    return state.children[state.child_starts[node] + random.below(count)]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _target(
    state: State, random: Random, first: cython.longlong, length: cython.longlong
) -> cython.longlong:  # fmt: skip
    """Draw where the run of ``length`` from ``first`` goes."""
    node: cython.longlong = state.order[first + random.below(length)]
    kind: cython.double = random.real()
    target: cython.longlong = first
    reads: cython.bint = state.starts[node] < state.starts[node + 1]
    if kind < 0.25:  # a short way
        target = first + random.below(13) - 6
    elif kind < 0.4:
        far = cython.cast(cython.longlong, exp(_FARTHEST * random.real()))
        target = first + far if random.real() < 0.5 else first - far
    elif reads and kind < 0.75:  # beside another reader of an operand
        target = state.position[_reader(state, random, _operand(state, random, node))]
        target = target + random.below(2) if target < first else target - length + 1
    elif reads and kind < 0.88:  # behind an operand
        target = state.position[_operand(state, random, node)] + 1
    elif state.child_starts[node] < state.child_starts[node + 1]:  # before a reader
        target = state.position[_reader(state, random, node)] - length
    return min(state.order.shape[0] - length, max(0, target))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _propose(state: State, mover: Mover, random: Random) -> tuple[cython.longlong, cython.longlong]:
    """Write a changed order; return where it begins and ends to differ, (0, 0) if it does not."""
    run: tuple[cython.longlong, cython.longlong] = _run(state, random)
    first: cython.longlong = run[0]
    length: cython.longlong = run[1]
    target: cython.longlong = _target(state, random, first, length)
    low: cython.longlong = min(first, target)
    high: cython.longlong = max(first, target) + length
    place: cython.Py_ssize_t
    state.work += 16
    if target == first or high - low > LONGEST:
        return 0, 0
    state.work += high - low
    if not moves_run(mover, first, length, target):
        for place in range(low, high):
            state.changed[place] = state.order[place]
        return 0, 0
    while state.order[low] == state.changed[low]:
        low += 1
    while state.order[high - 1] == state.changed[high - 1]:
        high -= 1
    return low, high


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _try_move(state: State, mover: Mover, cooling: Cooling) -> cython.longlong:
    """Try one move; return the change in traffic."""
    stretch: tuple[cython.longlong, cython.longlong] = _propose(state, mover, cooling.random)
    low: cython.longlong = stretch[0]
    high: cython.longlong = stretch[1]
    time: cython.Py_ssize_t
    if high == 0:
        return 0
    for time in range(low, high):
        state.changed_position[state.changed[time]] = time
    limit = allowance(cooling)
    outcome = attempt(state, low, high, cooling.penalty, limit)
    if outcome[1] >= 0 and outcome[0] <= limit:
        accept(state, high, outcome[1])
        return outcome[0]
    for time in range(low, high):
        state.changed[time] = state.order[time]
        state.changed_position[state.order[time]] = time
    return 0


def anneal(state: State, mover: Mover, cooling: Cooling, most_work: cython.longlong) -> int:
    """Anneal in place until the round ends or ``most_work`` is done; return the change in traffic (negative: better).

    ``mover`` moves runs of the order of ``state`` itself.
    """
    with cython.nogil:
        change = _anneal(state, mover, cooling, most_work)
    return int(change)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _anneal(
    state: State, mover: Mover, cooling: Cooling, most_work: cython.longlong
) -> cython.longlong:  # fmt: skip
    total: cython.longlong = 0
    first: cython.longlong = cooling.work
    while goes_on(cooling) and cooling.work < first + most_work:
        before = state.work
        total += _try_move(state, mover, cooling)
        cooling.work += state.work - before
        cooling.step += 1
    return total
