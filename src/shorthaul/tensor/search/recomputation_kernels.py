"""Random changes of a sequence that compute an operator in several groups, or in fewer of them."""

from __future__ import annotations

import cython
from cython.cimports.shorthaul.tensor.search.change_kernels import (
    Moves,
    open_change,
    place_before,
    pointwise_unit,
    put,
    put_group,
    put_unit,
    takes,
    with_above,
)

#: Groups that one move changes, at most.
MOST_CHANGES = cython.declare(cython.longlong, 8)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def duplicate(moves: Moves, source: cython.longlong, consumer: cython.longlong, tensor: cython.longlong) -> cython.bint:
    """Let a group recompute an input itself: alone, with its Pointwise chain, or with all that it takes."""
    place: cython.longlong
    operator: cython.int = moves.sequences.groups.graph.producer[tensor]
    units: cython.longlong
    if moves.random.real() < 0.4:
        units = with_above(moves, source, operator)
    else:
        units = pointwise_unit(moves, source, operator)
    open_change(moves, consumer)
    put_group(moves, consumer, 0)
    put_unit(moves, units)
    if moves.random.real() < 0.3:
        for i in range(
            moves.sequences.groups.graph.first_consumer[tensor], moves.sequences.groups.graph.first_consumer[tensor + 1]
        ):
            place = moves.where[moves.sequences.groups.graph.consumers[i]]
            if place == source or not takes(moves, place, tensor) or _is_changed(moves, place):
                continue
            if moves.changes + 1 >= MOST_CHANGES:
                return False
            open_change(moves, place)
            put_group(moves, place, 0)
            put_unit(moves, units)
        open_change(moves, source)
        put_group(moves, source, units if moves.random.below(2) == 0 else 1)
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_changed(moves: Moves, place: cython.longlong) -> cython.bint:
    for c in range(moves.changes):
        if moves.changed[c] == place:
            return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def repeat(moves: Moves, consumer: cython.longlong, source: cython.longlong, tensor: cython.longlong) -> cython.bint:
    """Make an input again in a group right before the one that takes it, so that fast memory may keep it for that one.

    The new group is the operator alone, with all that it depends on in its group, or all of that group.
    """
    choice: cython.longlong = moves.random.below(3)
    units: cython.longlong = 1
    if source + 1 == consumer or moves.sequences.groups.graph.size[tensor] > moves.sequences.groups.graph.capacity:
        return False
    moves.unit[0] = moves.sequences.groups.graph.producer[tensor]
    if choice == 0:
        units = with_above(moves, source, moves.unit[0])
    open_change(moves, consumer)
    if choice == 1:
        put_group(moves, source, 0)
    else:
        put_unit(moves, units)
    open_change(moves, consumer)
    put_group(moves, consumer, 0)
    moves.keeps_repeated = True
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _recomputed(moves: Moves) -> cython.longlong:
    """Return an operator that several groups compute, -1 if there is none."""
    operators: cython.longlong = moves.cover.shape[0]
    begin: cython.longlong = moves.random.below(operators)
    for i in range(operators):
        operator = (begin + i) % operators
        if moves.cover[operator] > 1:
            return operator
    return -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def gather(moves: Moves) -> cython.bint:
    """Compute an operator that several groups compute in one only: the first of them, or that of one of its inputs."""
    operator: cython.longlong = _recomputed(moves)
    if operator < 0:
        return False
    place: cython.longlong = moves.where[operator]
    target: cython.longlong = place
    moves.unit[0] = cython.cast(cython.int, operator)
    while place > 0:
        if moves.changes + 2 >= MOST_CHANGES:
            return False
        target = place
        open_change(moves, place)
        put_group(moves, place, 1)
        place = place_before(moves, place, operator)
    begin: cython.longlong = moves.sequences.groups.graph.first_input[operator]
    some: cython.longlong = moves.random.below(moves.sequences.groups.graph.first_input[operator + 1] - begin)
    source: cython.longlong = moves.sequences.groups.graph.producer[moves.sequences.groups.graph.inputs[begin + some]]
    if source >= 0 and moves.random.below(3) > 0:
        place = moves.where[source] if moves.cover[source] == 1 else place_before(moves, target, source)
        if place > 0 and not _is_changed(moves, place):
            open_change(moves, place)
            put_group(moves, place, 0)
            put(moves, moves.unit[0])
            return True
    # What is put last goes into the last change, that of the first group.
    put(moves, moves.unit[0])
    return True
