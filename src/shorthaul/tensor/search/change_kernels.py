"""Random changes of a sequence of groups: fuse, split, move, compute in several groups or in fewer of them."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.shorthaul.core.compiled.random_kernels import Random
from cython.cimports.shorthaul.tensor.search.sequence_kernels import Sequences

#: Groups that one move changes, at most.
MOST_CHANGES = cython.declare(cython.longlong, 8)


@cython.final
@cython.cclass
class Moves:
    """An annealing: the sequences, and the candidate as a list of changes to the current one.

    ``changed`` has the places of the groups that a move replaces, by the operators ``items[first[c]:first[c + 1]]``;
    ``cover`` says how many groups an operator is in, ``where`` the last of them.
    """

    def __init__(self, sequences: Sequences, seed: cython.ulonglong) -> None:
        graph = sequences.groups.graph
        room = sequences.room
        self.sequences = sequences
        self.random = Random(seed)
        self.limit = 0.0
        self.is_pending = False
        self.steps = self.accepted = 0
        self.best = float("inf")
        self.best_groups = np.zeros(room, np.int32)
        self.best_length = 0
        self.cover, self.where = np.zeros(graph.operators, np.int32), np.zeros(graph.operators, np.int32)
        self.twice = 0
        self.items = np.zeros(16 * graph.operators + 64, np.int32)
        self.first = np.zeros(MOST_CHANGES + 2, np.int64)
        self.changed = np.zeros(MOST_CHANGES + 2, np.int64)
        self.changes = 0
        self.keeps_repeated = False
        self.by_place, self.mark = np.zeros(room, np.int32), np.zeros(graph.operators, np.int32)
        self.stamp = 0
        self.unit = np.zeros(graph.operators, np.int32)
        self.missing, self.heap, self.order = (np.zeros(room, np.int32) for _ in range(3))
        self.waiting = np.zeros(graph.tensors, np.int32)
        waiters = 4 * (room + graph.inputs.shape[0])
        self.following, self.waiter = np.zeros(waiters, np.int32), np.zeros(waiters, np.int32)
        self.reserve()

    def reserve(self) -> None:
        """Make room in all tables."""
        self.sequences.reserve()
        graph = self.sequences.groups.graph
        self.sequences.groups.reserve(2 * graph.operators + 16, self.items.shape[0] + 1)
        if self.stamp >= 1_000_000_000:
            self.stamp = 0
            self.mark = np.zeros(graph.operators, np.int32)

    def best_sequence(self) -> list[int]:
        """Return the groups of the best sequence."""
        return [int(self.best_groups[place]) for place in range(self.best_length)]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def base_of(moves: Moves) -> cython.longlong:
    """Return where the current sequence begins in the arrays."""
    return moves.sequences.side * moves.sequences.room


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def length_of(moves: Moves) -> cython.longlong:
    """Return how many groups the current sequence has."""
    return moves.sequences.length[moves.sequences.side]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _holds(moves: Moves, place: cython.longlong, operator: cython.longlong) -> cython.bint:
    """True if the group at a place has this operator."""
    g = moves.sequences.group[base_of(moves) + place]
    low: cython.longlong = moves.sequences.groups.members.begin[g]
    high: cython.longlong = moves.sequences.groups.members.begin[g + 1]
    while low < high:
        middle = (low + high) // 2
        if moves.sequences.groups.members.items[middle] < operator:
            low = middle + 1
        else:
            high = middle
    return low < moves.sequences.groups.members.begin[g + 1] and moves.sequences.groups.members.items[low] == operator


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def place_before(moves: Moves, place: cython.longlong, operator: cython.longlong) -> cython.longlong:
    """Return the last place before ``place`` that has this operator, 0 if there is none."""
    if moves.cover[operator] == 1:
        return moves.where[operator] if moves.where[operator] < place else 0
    place -= 1
    while place > 0 and not _holds(moves, place, operator):
        place -= 1
    return place


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def some_needed(moves: Moves, place: cython.longlong) -> cython.longlong:
    """Return a random tensor that the group at a place takes from another, -1 if there is none."""
    g = moves.sequences.group[base_of(moves) + place]
    begin: cython.longlong = moves.sequences.groups.first_taken[g]
    count: cython.longlong = 0
    for i in range(begin, moves.sequences.groups.first_made[g]):
        count += moves.sequences.groups.facts[i] & 1
    if count == 0:
        return -1
    count = moves.random.below(count)
    for i in range(begin, moves.sequences.groups.first_made[g]):
        if moves.sequences.groups.facts[i] & 1:
            if count == 0:
                return moves.sequences.groups.facts[i] >> 1
            count -= 1
    return -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def open_change(moves: Moves, place: cython.longlong) -> cython.void:
    """Begin a change: the group at a place becomes what is added from now on."""
    moves.changed[moves.changes] = place
    moves.changes += 1
    moves.first[moves.changes] = moves.first[moves.changes - 1]
    moves.stamp += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put(moves: Moves, operator: cython.int) -> cython.void:
    """Add an operator to the change under way, once."""
    if moves.mark[operator] != moves.stamp:
        moves.mark[operator] = moves.stamp
        moves.items[moves.first[moves.changes]] = operator
        moves.first[moves.changes] += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_group(moves: Moves, place: cython.longlong, units: cython.longlong) -> cython.void:
    """Add the operators of the group at a place, but for the first ``units`` of the unit."""
    n: cython.Py_ssize_t
    without: cython.bint
    g = moves.sequences.group[base_of(moves) + place]
    for i in range(moves.sequences.groups.members.begin[g], moves.sequences.groups.members.begin[g + 1]):
        without = False
        for n in range(units):
            without = without or moves.unit[n] == moves.sequences.groups.members.items[i]
        if not without:
            put(moves, moves.sequences.groups.members.items[i])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_unit(moves: Moves, units: cython.longlong) -> cython.void:
    """Add so many operators of the unit to the change under way."""
    for n in range(units):
        put(moves, moves.unit[n])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def with_above(moves: Moves, place: cython.longlong, operator: cython.int) -> cython.longlong:
    """Make a unit of an operator and all it depends on in the group at a place."""
    count: cython.longlong = 1
    at: cython.longlong = 0
    moves.stamp += 1
    moves.unit[0] = operator
    moves.mark[operator] = moves.stamp
    while at < count:
        operator = moves.unit[at]
        at += 1
        for i in range(
            moves.sequences.groups.graph.first_input[operator], moves.sequences.groups.graph.first_input[operator + 1]
        ):
            source = moves.sequences.groups.graph.producer[moves.sequences.groups.graph.inputs[i]]
            if source >= 0 and moves.mark[source] != moves.stamp and _holds(moves, place, source):
                moves.mark[source] = moves.stamp
                moves.unit[count] = source
                count += 1
    return count


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_to_unit(
    moves: Moves, place: cython.longlong, operator: cython.longlong, count: cython.longlong
) -> cython.longlong:
    if operator < 0 or moves.mark[operator] == moves.stamp or not moves.sequences.groups.graph.pointwise[operator]:
        return count
    if not _holds(moves, place, operator):
        return count
    moves.mark[operator] = moves.stamp
    moves.unit[count] = cython.cast(cython.int, operator)
    return count + 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def pointwise_unit(moves: Moves, place: cython.longlong, operator: cython.int) -> cython.longlong:
    """Make a unit of an operator, half of the time with the Pointwise chain or diamond it is in, within its group."""
    count: cython.longlong = 1
    at: cython.longlong = 0
    moves.unit[0] = operator
    if not moves.sequences.groups.graph.pointwise[operator] or moves.random.below(2) == 0:
        return 1
    moves.stamp += 1
    moves.mark[operator] = moves.stamp
    while at < count:
        operator = moves.unit[at]
        at += 1
        for i in range(
            moves.sequences.groups.graph.first_input[operator], moves.sequences.groups.graph.first_input[operator + 1]
        ):
            source = moves.sequences.groups.graph.producer[moves.sequences.groups.graph.inputs[i]]
            count = _add_to_unit(moves, place, source, count)
        tensor = moves.sequences.groups.graph.output[operator]
        for i in range(
            moves.sequences.groups.graph.first_consumer[tensor], moves.sequences.groups.graph.first_consumer[tensor + 1]
        ):
            count = _add_to_unit(moves, place, moves.sequences.groups.graph.consumers[i], count)
    return count


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def takes(moves: Moves, place: cython.longlong, tensor: cython.longlong) -> cython.bint:
    """True if the group at a place takes this tensor from outside."""
    g = moves.sequences.group[base_of(moves) + place]
    for i in range(moves.sequences.groups.first_taken[g], moves.sequences.groups.first_made[g]):
        if moves.sequences.groups.facts[i] >> 1 == tensor:
            return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def fuse_all(moves: Moves, source: cython.longlong, consumer: cython.longlong, tensor: cython.longlong) -> cython.bint:
    """Fuse a group with all that produce its inputs, or with all that take one of its outputs."""
    place: cython.longlong
    target: cython.longlong = consumer
    others: cython.longlong = 0
    open_change(moves, consumer)
    if moves.random.below(2) == 0:
        put_group(moves, consumer, 0)
        g = moves.sequences.group[base_of(moves) + consumer]
        for i in range(moves.sequences.groups.first_taken[g], moves.sequences.groups.first_made[g]):
            if moves.sequences.groups.facts[i] & 1:
                producer = moves.sequences.groups.graph.producer[moves.sequences.groups.facts[i] >> 1]
                place = place_before(moves, consumer, producer)
                if place > 0 and _note(moves, others, place):
                    others += 1
                if others > 5:
                    return False
    else:
        target = source
        moves.changed[0] = source
        put_group(moves, source, 0)
        for i in range(
            moves.sequences.groups.graph.first_consumer[tensor], moves.sequences.groups.graph.first_consumer[tensor + 1]
        ):
            place = moves.where[moves.sequences.groups.graph.consumers[i]]
            if place > source and takes(moves, place, tensor) and _note(moves, others, place):
                others += 1
            if others > 5:
                return False
    for i in range(others):
        put_group(moves, moves.unit[i], 0)
    for i in range(others):
        moves.changed[moves.changes] = moves.unit[i]
        moves.changes += 1
        moves.first[moves.changes] = moves.first[moves.changes - 1]
    return others > 0 and target > 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _note(moves: Moves, count: cython.longlong, place: cython.longlong) -> cython.bint:
    """Note a place in the unit's list unless it is there."""
    for i in range(count):
        if moves.unit[i] == place:
            return False
    moves.unit[count] = cython.cast(cython.int, place)
    return count < moves.unit.shape[0]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def shift(moves: Moves, source: cython.longlong, consumer: cython.longlong, tensor: cython.longlong) -> cython.bint:
    """Move an operator, or the Pointwise chain it is in, across the border of two linked groups."""
    operator: cython.int = moves.sequences.groups.graph.producer[tensor]
    origin: cython.longlong = source
    target: cython.longlong = consumer
    if moves.random.below(2) == 0:
        origin = consumer
        target = source
        count: cython.longlong = 0
        for i in range(
            moves.sequences.groups.graph.first_consumer[tensor], moves.sequences.groups.graph.first_consumer[tensor + 1]
        ):
            user = moves.sequences.groups.graph.consumers[i]
            if _holds(moves, consumer, user):
                count += 1
                if moves.random.below(count) == 0:
                    operator = user
        if count == 0:
            return False
    units: cython.longlong = pointwise_unit(moves, origin, operator)
    open_change(moves, origin)
    put_group(moves, origin, units)
    open_change(moves, target)
    put_group(moves, target, 0)
    put_unit(moves, units)
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def split(moves: Moves, place: cython.longlong) -> cython.bint:
    """Cut a group in two: what one of its operators depends on, and the rest."""
    g = moves.sequences.group[base_of(moves) + place]
    begin: cython.longlong = moves.sequences.groups.members.begin[g]
    count: cython.longlong = moves.sequences.groups.members.begin[g + 1] - begin
    units: cython.longlong = 1
    if count == 1:
        return False
    operator: cython.int = moves.sequences.groups.members.items[begin + moves.random.below(count)]
    moves.unit[0] = operator
    if moves.random.real() < 0.8:
        units = with_above(moves, place, operator)
        if units == count:
            moves.unit[0] = moves.unit[units - 1]
            moves.unit[units - 1] = operator
            units -= 1
    # Both parts stand at one place: they are not connected in one list, so two changes are made of it.
    open_change(moves, place)
    put_unit(moves, units)
    open_change(moves, place)
    put_group(moves, place, units)
    return True


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
