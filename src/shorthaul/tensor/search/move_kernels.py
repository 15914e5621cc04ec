"""Random changes of a sequence of groups, and simulated annealing with them: fuse, split, move, recompute, reorder."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import log
from cython.cimports.shorthaul.core.compiled.random_kernels import Random
from cython.cimports.shorthaul.tensor.search.group_kernels import made, part
from cython.cimports.shorthaul.tensor.search.sequence_kernels import Sequences, accept, evaluate, link, trace

#: What came of a candidate, as in the kernels of sequences.
DONE = cython.declare(cython.int, 0)
IMPOSSIBLE = cython.declare(cython.int, 1)
MISSING = cython.declare(cython.int, 2)
FULL = cython.declare(cython.int, 3)
#: Groups that one move changes, at most.
MOST_CHANGES = cython.declare(cython.longlong, 8)
#: The moves, and how often each is tried: the sums of the weights so far.
FUSE = cython.declare(cython.longlong, 5)
FUSE_ALL = cython.declare(cython.longlong, 6)
DUPLICATE = cython.declare(cython.longlong, 9)
DROP = cython.declare(cython.longlong, 11)
GATHER = cython.declare(cython.longlong, 13)
SHIFT = cython.declare(cython.longlong, 17)
SPLIT = cython.declare(cython.longlong, 20)
REORDER = cython.declare(cython.longlong, 24)


@cython.final
@cython.cclass
class Moves:
    """An annealing: the sequences, and the candidate as a list of changes to the current one.

    ``changed`` has the places of the groups that a move replaces, by the operators ``items[first[c]:first[c + 1]]``;
    ``cover`` says how many groups an operator is in, ``where`` the last of them.
    """

    sequences: Sequences
    random: Random
    temperature: cython.double
    limit: cython.double
    is_pending: cython.bint
    steps = cython.declare(cython.longlong, visibility="readonly")
    accepted = cython.declare(cython.longlong, visibility="readonly")
    best = cython.declare(cython.double, visibility="readonly")
    best_groups: cython.int[::1]
    best_length: cython.longlong
    cover: cython.int[::1]
    where: cython.int[::1]
    twice: cython.longlong
    items: cython.int[::1]
    first: cython.longlong[::1]
    changed: cython.longlong[::1]
    changes: cython.longlong
    by_place: cython.int[::1]  # the change at a place, plus 1
    mark: cython.int[::1]  # by operator
    stamp: cython.int
    unit: cython.int[::1]
    missing: cython.int[::1]  # by place
    heap: cython.int[::1]
    order: cython.int[::1]
    waiting: cython.int[::1]  # by tensor, the first of a list
    following: cython.int[::1]
    waiter: cython.int[::1]

    def __init__(self, sequences: Sequences, seed: cython.ulonglong) -> None:
        graph = sequences.groups.graph
        room = sequences.room
        self.sequences = sequences
        self.random = Random(seed)
        self.temperature = self.limit = 0.0
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
def _base(moves: Moves) -> cython.longlong:
    return moves.sequences.side * moves.sequences.room


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _length(moves: Moves) -> cython.longlong:
    return moves.sequences.length[moves.sequences.side]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _holds(moves: Moves, place: cython.longlong, operator: cython.longlong) -> cython.bint:
    """True if the group at a place has this operator."""
    g = moves.sequences.group[_base(moves) + place]
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
def _before(moves: Moves, place: cython.longlong, operator: cython.longlong) -> cython.longlong:
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
def _needed(moves: Moves, place: cython.longlong) -> cython.longlong:
    """Return a random tensor that the group at a place takes from another, -1 if there is none."""
    g = moves.sequences.group[_base(moves) + place]
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
def _open(moves: Moves, place: cython.longlong) -> cython.void:
    """Begin a change: the group at a place becomes what is added from now on."""
    moves.changed[moves.changes] = place
    moves.changes += 1
    moves.first[moves.changes] = moves.first[moves.changes - 1]
    moves.stamp += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put(moves: Moves, operator: cython.int) -> cython.void:
    """Add an operator to the change under way, once."""
    if moves.mark[operator] != moves.stamp:
        moves.mark[operator] = moves.stamp
        moves.items[moves.first[moves.changes]] = operator
        moves.first[moves.changes] += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put_group(moves: Moves, place: cython.longlong, units: cython.longlong) -> cython.void:
    """Add the operators of the group at a place, but for the first ``units`` of the unit."""
    n: cython.Py_ssize_t
    without: cython.bint
    g = moves.sequences.group[_base(moves) + place]
    for i in range(moves.sequences.groups.members.begin[g], moves.sequences.groups.members.begin[g + 1]):
        without = False
        for n in range(units):
            without = without or moves.unit[n] == moves.sequences.groups.members.items[i]
        if not without:
            _put(moves, moves.sequences.groups.members.items[i])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put_unit(moves: Moves, units: cython.longlong) -> cython.void:
    for n in range(units):
        _put(moves, moves.unit[n])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _with_above(moves: Moves, place: cython.longlong, operator: cython.int) -> cython.longlong:
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
def _pointwise_unit(moves: Moves, place: cython.longlong, operator: cython.int) -> cython.longlong:
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
def _takes(moves: Moves, place: cython.longlong, tensor: cython.longlong) -> cython.bint:
    g = moves.sequences.group[_base(moves) + place]
    for i in range(moves.sequences.groups.first_taken[g], moves.sequences.groups.first_made[g]):
        if moves.sequences.groups.facts[i] >> 1 == tensor:
            return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _fuse_all(moves: Moves, source: cython.longlong, consumer: cython.longlong, tensor: cython.longlong) -> cython.bint:
    """Fuse a group with all that produce its inputs, or with all that take one of its outputs."""
    place: cython.longlong
    target: cython.longlong = consumer
    others: cython.longlong = 0
    _open(moves, consumer)
    if moves.random.below(2) == 0:
        _put_group(moves, consumer, 0)
        g = moves.sequences.group[_base(moves) + consumer]
        for i in range(moves.sequences.groups.first_taken[g], moves.sequences.groups.first_made[g]):
            if moves.sequences.groups.facts[i] & 1:
                producer = moves.sequences.groups.graph.producer[moves.sequences.groups.facts[i] >> 1]
                place = _before(moves, consumer, producer)
                if place > 0 and _note(moves, others, place):
                    others += 1
                if others > 5:
                    return False
    else:
        target = source
        moves.changed[0] = source
        _put_group(moves, source, 0)
        for i in range(
            moves.sequences.groups.graph.first_consumer[tensor], moves.sequences.groups.graph.first_consumer[tensor + 1]
        ):
            place = moves.where[moves.sequences.groups.graph.consumers[i]]
            if place > source and _takes(moves, place, tensor) and _note(moves, others, place):
                others += 1
            if others > 5:
                return False
    for i in range(others):
        _put_group(moves, moves.unit[i], 0)
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
def _duplicate(
    moves: Moves, source: cython.longlong, consumer: cython.longlong, tensor: cython.longlong
) -> cython.bint:
    """Let a group recompute an input itself: alone, with its Pointwise chain, or with all that it takes."""
    place: cython.longlong
    operator: cython.int = moves.sequences.groups.graph.producer[tensor]
    units: cython.longlong
    if moves.random.real() < 0.4:
        units = _with_above(moves, source, operator)
    else:
        units = _pointwise_unit(moves, source, operator)
    _open(moves, consumer)
    _put_group(moves, consumer, 0)
    _put_unit(moves, units)
    if moves.random.real() < 0.3:
        for i in range(
            moves.sequences.groups.graph.first_consumer[tensor], moves.sequences.groups.graph.first_consumer[tensor + 1]
        ):
            place = moves.where[moves.sequences.groups.graph.consumers[i]]
            if place == source or not _takes(moves, place, tensor) or _is_changed(moves, place):
                continue
            if moves.changes + 1 >= MOST_CHANGES:
                return False
            _open(moves, place)
            _put_group(moves, place, 0)
            _put_unit(moves, units)
        _open(moves, source)
        _put_group(moves, source, units if moves.random.below(2) == 0 else 1)
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
def _drop(moves: Moves) -> cython.bint:
    """Take an operator that several groups compute out of one of them."""
    operator: cython.longlong = _recomputed(moves)
    if operator < 0:
        return False
    left: cython.longlong = moves.random.below(moves.cover[operator])
    place: cython.longlong = moves.where[operator]
    while left > 0 and place > 0:
        place = _before(moves, place, operator)
        left -= 1
    if place == 0:
        return False
    moves.unit[0] = cython.cast(cython.int, operator)
    _open(moves, place)
    _put_group(moves, place, 1)
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _gather(moves: Moves) -> cython.bint:
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
        _open(moves, place)
        _put_group(moves, place, 1)
        place = _before(moves, place, operator)
    begin: cython.longlong = moves.sequences.groups.graph.first_input[operator]
    some: cython.longlong = moves.random.below(moves.sequences.groups.graph.first_input[operator + 1] - begin)
    source: cython.longlong = moves.sequences.groups.graph.producer[moves.sequences.groups.graph.inputs[begin + some]]
    if source >= 0 and moves.random.below(3) > 0:
        place = moves.where[source] if moves.cover[source] == 1 else _before(moves, target, source)
        if place > 0 and not _is_changed(moves, place):
            _open(moves, place)
            _put_group(moves, place, 0)
            _put(moves, moves.unit[0])
            return True
    # What is put last goes into the last change, that of the first group.
    _put(moves, moves.unit[0])
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _shift(moves: Moves, source: cython.longlong, consumer: cython.longlong, tensor: cython.longlong) -> cython.bint:
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
    units: cython.longlong = _pointwise_unit(moves, origin, operator)
    _open(moves, origin)
    _put_group(moves, origin, units)
    _open(moves, target)
    _put_group(moves, target, 0)
    _put_unit(moves, units)
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _split(moves: Moves, place: cython.longlong) -> cython.bint:
    """Cut a group in two: what one of its operators depends on, and the rest."""
    g = moves.sequences.group[_base(moves) + place]
    begin: cython.longlong = moves.sequences.groups.members.begin[g]
    count: cython.longlong = moves.sequences.groups.members.begin[g + 1] - begin
    units: cython.longlong = 1
    if count == 1:
        return False
    operator: cython.int = moves.sequences.groups.members.items[begin + moves.random.below(count)]
    moves.unit[0] = operator
    if moves.random.real() < 0.8:
        units = _with_above(moves, place, operator)
        if units == count:
            moves.unit[0] = moves.unit[units - 1]
            moves.unit[units - 1] = operator
            units -= 1
    # Both parts stand at one place: they are not connected in one list, so two changes are made of it.
    _open(moves, place)
    _put_unit(moves, units)
    _open(moves, place)
    _put_group(moves, place, units)
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _append(moves: Moves, length: cython.longlong, g: cython.longlong) -> cython.longlong:
    """Add a group to the candidate, and return its length."""
    base: cython.longlong = (1 - moves.sequences.side) * moves.sequences.room
    if length + 2 < moves.sequences.room:
        moves.sequences.group[base + length + 1] = cython.cast(cython.int, g)
    return length + 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_covered(moves: Moves) -> cython.bint:
    """True if the changes leave every operator in some group."""
    covered: cython.bint = True
    c: cython.Py_ssize_t
    for c in range(moves.changes):
        for i in range(moves.first[c], moves.first[c + 1]):
            moves.cover[moves.items[i]] += 1
    for turn in range(2):
        for c in range(moves.changes):
            if c > 0 and moves.changed[c] == moves.changed[c - 1]:
                continue  # one group cut in two
            g = moves.sequences.group[_base(moves) + moves.changed[c]]
            for i in range(moves.sequences.groups.members.begin[g], moves.sequences.groups.members.begin[g + 1]):
                operator = moves.sequences.groups.members.items[i]
                moves.cover[operator] += -1 if turn == 0 else 1
                covered = covered and (turn == 1 or moves.cover[operator] > 0)
    for c in range(moves.changes):
        for i in range(moves.first[c], moves.first[c + 1]):
            moves.cover[moves.items[i]] -= 1
    return covered


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _build(moves: Moves) -> cython.bint:
    """Make the candidate: the current sequence with all changes, every group in connected parts, none twice."""
    length: cython.longlong = 0
    base: cython.longlong = (1 - moves.sequences.side) * moves.sequences.room
    c: cython.Py_ssize_t
    is_new: cython.bint
    fresh: cython.longlong = 0  # new groups, noted in the heap
    if not _is_covered(moves):
        return False
    for c in range(moves.changes):
        moves.by_place[moves.changed[c]] = 1
    for place in range(1, _length(moves) + 1):
        if not moves.by_place[place]:
            g = moves.sequences.group[_base(moves) + place]
            is_new = True
            for n in range(fresh):
                is_new = is_new and moves.heap[n] != g
            if is_new:
                length = _append(moves, length, g)
            continue
        moves.by_place[place] = 0
        for c in range(moves.changes):
            begin = moves.first[c]
            if moves.changed[c] != place:
                continue
            while begin < moves.first[c + 1]:
                size = part(moves.sequences.groups, moves.items, begin, moves.first[c + 1] - begin)
                g = made(moves.sequences.groups, moves.items, begin, size)
                begin += size
                is_new = True
                for n in range(1, min(length + 1, moves.sequences.room - 1)):
                    is_new = is_new and moves.sequences.group[base + n] != g
                if is_new:
                    length = _append(moves, length, g)
                    moves.heap[fresh] = cython.cast(cython.int, g)
                    fresh += 1
    moves.sequences.length[1 - moves.sequences.side] = length
    return length + 2 < moves.sequences.room


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _reorder(moves: Moves) -> cython.bint:
    """Make the candidate: a group right after the one that makes an input of it, or anywhere else."""
    length: cython.longlong = _length(moves)
    source: cython.longlong = 1 + moves.random.below(length)
    target: cython.longlong = 1 + moves.random.below(length)
    base: cython.longlong = (1 - moves.sequences.side) * moves.sequences.room
    if moves.random.real() < 0.7:
        tensor = _needed(moves, source)
        if tensor < 0:
            return False
        before = _before(moves, source, moves.sequences.groups.graph.producer[tensor])
        if before == 0 or before + 1 == source:
            return False
        if moves.random.below(2) == 0:
            target = before + 1
        else:
            target = source - 1
            source = before
    if source == target:
        return False
    for place in range(1, length + 1):
        old = place
        if place == target:
            old = source
        elif source < target and source <= place < target:
            old = place + 1
        elif source > target and target < place <= source:
            old = place - 1
        moves.sequences.group[base + place] = moves.sequences.group[_base(moves) + old]
    moves.sequences.length[1 - moves.sequences.side] = length
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _push(moves: Moves, count: cython.longlong, item: cython.longlong) -> cython.longlong:
    at: cython.longlong = count
    while at > 0 and moves.heap[(at - 1) // 2] > item:
        moves.heap[at] = moves.heap[(at - 1) // 2]
        at = (at - 1) // 2
    moves.heap[at] = cython.cast(cython.int, item)
    return count + 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _pop(moves: Moves, count: cython.longlong) -> cython.longlong:
    """Take the smallest item, which is left behind the others, and return how many there are then."""
    least: cython.int = moves.heap[0]
    item: cython.int = moves.heap[count - 1]
    at: cython.longlong = 0
    child: cython.longlong = 1
    while child < count - 1:
        if child + 1 < count - 1 and moves.heap[child + 1] < moves.heap[child]:
            child += 1
        if moves.heap[child] >= item:
            break
        moves.heap[at] = moves.heap[child]
        at = child
        child = 2 * at + 1
    moves.heap[at] = item
    moves.heap[count - 1] = least
    return count - 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put_in_order(moves: Moves) -> cython.bint:
    """Put the groups of the candidate in an order in which every input is there, as close to theirs as it gets.

    What a tensor has been made for is marked by 2, what waits for it by 1.
    """
    base: cython.longlong = (1 - moves.sequences.side) * moves.sequences.room
    length: cython.longlong = moves.sequences.length[1 - moves.sequences.side]
    ready: cython.longlong = 0
    done: cython.longlong = 0
    k: cython.longlong = 0
    place: cython.longlong
    moves.sequences.stamp += 2
    there: cython.int = moves.sequences.stamp
    for place in range(1, length + 1):
        g = moves.sequences.group[base + place]
        moves.missing[place] = 0
        moves.order[place] = moves.sequences.group[base + place]
        for i in range(moves.sequences.groups.first_taken[g], moves.sequences.groups.first_made[g]):
            if not moves.sequences.groups.facts[i] & 1:
                continue
            tensor = moves.sequences.groups.facts[i] >> 1
            if moves.sequences.mark[tensor] != there - 1:
                moves.sequences.mark[tensor] = there - 1
                moves.waiting[tensor] = -1
            if k == moves.following.shape[0]:
                return False
            moves.following[k] = moves.waiting[tensor]
            moves.waiter[k] = cython.cast(cython.int, place)
            moves.waiting[tensor] = cython.cast(cython.int, k)
            k += 1
            moves.missing[place] += 1
        if moves.missing[place] == 0:
            ready = _push(moves, ready, place)
    while ready > 0:
        ready = _pop(moves, ready)
        g = moves.order[moves.heap[ready]]
        done += 1
        moves.sequences.group[base + done] = cython.cast(cython.int, g)
        for i in range(moves.sequences.groups.first_made[g], moves.sequences.groups.first_taken[g + 1]):
            tensor = moves.sequences.groups.facts[i] >> 1
            if moves.sequences.mark[tensor] != there - 1:
                continue  # nobody waits for it, or it was made before
            moves.sequences.mark[tensor] = there
            k = moves.waiting[tensor]
            while k >= 0:
                moves.missing[moves.waiter[k]] -= 1
                if moves.missing[moves.waiter[k]] == 0:
                    ready = _push(moves, ready, moves.waiter[k])
                k = moves.following[k]
    return done == length


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_in_order(moves: Moves) -> cython.bint:
    base: cython.longlong = (1 - moves.sequences.side) * moves.sequences.room
    moves.sequences.stamp += 1
    for place in range(1, moves.sequences.length[1 - moves.sequences.side] + 1):
        g = moves.sequences.group[base + place]
        for i in range(moves.sequences.groups.first_taken[g], moves.sequences.groups.first_made[g]):
            if moves.sequences.groups.facts[i] & 1:
                if moves.sequences.mark[moves.sequences.groups.facts[i] >> 1] != moves.sequences.stamp:
                    return False
        for i in range(moves.sequences.groups.first_made[g], moves.sequences.groups.first_taken[g + 1]):
            moves.sequences.mark[moves.sequences.groups.facts[i] >> 1] = moves.sequences.stamp
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _move(moves: Moves) -> cython.bint:
    """Make a candidate by one random move; False if it led nowhere."""
    length: cython.longlong = _length(moves)
    choice: cython.longlong = moves.random.below(REORDER)
    consumer: cython.longlong = 1 + moves.random.below(length)
    moves.changes = 0
    moves.first[0] = 0
    if moves.twice == 0 and DUPLICATE <= choice < GATHER:
        choice = 0
    if choice >= SPLIT:
        return _reorder(moves) and (_is_in_order(moves) or _put_in_order(moves))
    if choice >= SHIFT:
        if not _split(moves, consumer):
            return False
    elif DUPLICATE <= choice < DROP:
        if not _drop(moves):
            return False
    elif DROP <= choice < GATHER:
        if not _gather(moves):
            return False
    else:
        tensor: cython.longlong = _needed(moves, consumer)
        if tensor < 0:
            return False
        source: cython.longlong = _before(moves, consumer, moves.sequences.groups.graph.producer[tensor])
        if source == 0:
            return False
        if choice < FUSE:
            _open(moves, source)
            if moves.random.below(2) == 0:
                _put_group(moves, source, 0)
                _put_group(moves, consumer, 0)
                _open(moves, consumer)
            else:
                _open(moves, consumer)
                _put_group(moves, source, 0)
                _put_group(moves, consumer, 0)
        elif choice < FUSE_ALL:
            if not _fuse_all(moves, source, consumer, tensor):
                return False
        elif choice < DUPLICATE:
            if not _duplicate(moves, source, consumer, tensor):
                return False
        elif not _shift(moves, source, consumer, tensor):
            return False
    return _build(moves) and (_is_in_order(moves) or _put_in_order(moves))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _note_current(moves: Moves) -> cython.void:
    """Note which groups of the current sequence compute which operator, and whether it is the best one."""
    base: cython.longlong = _base(moves)
    length: cython.longlong = _length(moves)
    moves.twice = 0
    for i in range(moves.cover.shape[0]):
        moves.cover[i] = 0
    for place in range(1, length + 1):
        g = moves.sequences.group[base + place]
        for i in range(moves.sequences.groups.members.begin[g], moves.sequences.groups.members.begin[g + 1]):
            operator = moves.sequences.groups.members.items[i]
            moves.twice += 1 if moves.cover[operator] == 1 else 0
            moves.cover[operator] += 1
            moves.where[operator] = cython.cast(cython.int, place)
    if moves.sequences.total < moves.best * (1 - 1e-12):
        moves.best = moves.sequences.total
        moves.best_length = length
        for place in range(length):
            moves.best_groups[place] = moves.sequences.group[base + place + 1]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _judge(moves: Moves) -> cython.int:
    """Evaluate the candidate and take it, if it is within the limit."""
    status: cython.int = link(moves.sequences)
    if status == DONE:
        status = evaluate(moves.sequences)
    if status != DONE:
        return status
    if not moves.sequences.latency <= moves.limit:
        return IMPOSSIBLE
    status = trace(moves.sequences)
    if status == DONE:
        if not moves.sequences.latency <= moves.limit:
            return IMPOSSIBLE
        accept(moves.sequences)
        moves.accepted += 1
        _note_current(moves)
    return status


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _run(moves: Moves, steps: cython.longlong, temperature: cython.double) -> cython.int:
    last: cython.longlong = moves.steps + steps
    status: cython.int
    while moves.is_pending or moves.steps < last:
        if not moves.is_pending:
            moves.steps += 1
            if not _has_room(moves):
                moves.steps -= 1
                return FULL
            if not _move(moves):
                continue
            moves.limit = moves.sequences.total - temperature * log(1.0 - moves.random.real())
            moves.is_pending = True
        status = _judge(moves)
        if status == MISSING or status == FULL:
            return status
        moves.is_pending = False
    return DONE


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _has_room(moves: Moves) -> cython.bint:
    """True if the groups of one more move can be noted."""
    items: cython.longlong = moves.items.shape[0]
    return (
        moves.sequences.groups.known + 2 * moves.cover.shape[0] + 16 < moves.sequences.groups.shape.shape[0]
        and moves.stamp < 1_000_000_000
        and moves.sequences.stamp < 1_000_000_000
        and moves.sequences.groups.stamp < 1_000_000_000
        and moves.sequences.groups.members.begin[moves.sequences.groups.members.count] + items
        < moves.sequences.groups.members.items.shape[0]
        and moves.sequences.groups.first_taken[moves.sequences.groups.known]
        + items * (1 + moves.sequences.groups.graph.most_inputs)
        < moves.sequences.groups.facts.shape[0]
    )


def begin(moves: Moves, sequence: list[int]) -> int:
    """Make these groups the current sequence, whatever they cost; return what is missing, if anything is.

    To be called again once it is not.
    """
    moves.sequences.place(sequence)
    moves.sequences.length[moves.sequences.side] = 0
    moves.limit = 1e300
    moves.is_pending = False
    moves.best = float("inf")
    return int(_judge(moves))


def run(moves: Moves, steps: cython.longlong, temperature: cython.double) -> int:
    """Make so many moves, or fewer if prices are missing or tables full: then to be called again once they are not.

    ``temperature`` is in units of latency.
    """
    status: cython.int
    with cython.nogil:
        status = _run(moves, steps, temperature)
    return int(status)
