"""Simulated annealing over sequences of groups."""

from __future__ import annotations

import cython
from cython.cimports.libc.math import log
from cython.cimports.shorthaul.tensor.search.change_kernels import (
    Moves,
    base_of,
    duplicate,
    fuse_all,
    gather,
    length_of,
    open_change,
    place_before,
    put_group,
    repeat,
    shift,
    some_needed,
    split,
)
from cython.cimports.shorthaul.tensor.search.group_kernels import made, part
from cython.cimports.shorthaul.tensor.search.path_kernels import accept, evaluate, link, trace

#: What came of a candidate, as in the kernels of sequences.
DONE = cython.declare(cython.int, 0)
IMPOSSIBLE = cython.declare(cython.int, 1)
MISSING = cython.declare(cython.int, 2)
FULL = cython.declare(cython.int, 3)
#: Groups that are fused at once, at most.
MOST_FUSED = cython.declare(cython.longlong, 6)
#: The moves, and how often each is tried: the sums of the weights so far.
FUSE = cython.declare(cython.longlong, 5)
FUSE_ALL = cython.declare(cython.longlong, 6)
DUPLICATE = cython.declare(cython.longlong, 9)
GATHER = cython.declare(cython.longlong, 11)
SHIFT = cython.declare(cython.longlong, 15)
SPLIT = cython.declare(cython.longlong, 18)
REORDER = cython.declare(cython.longlong, 22)
REPEAT = cython.declare(cython.longlong, 25)


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
            g = moves.sequences.group[base_of(moves) + moves.changed[c]]
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
    """Make the candidate: the current sequence with all changes, every group in connected parts.

    None that is new stands twice, unless the move is to compute something again.
    """
    length: cython.longlong = 0
    base: cython.longlong = (1 - moves.sequences.side) * moves.sequences.room
    c: cython.Py_ssize_t
    is_new: cython.bint
    fresh: cython.longlong = 0  # new groups, noted in the heap
    if not _is_covered(moves):
        return False
    for c in range(moves.changes):
        moves.by_place[moves.changed[c]] = 1
    for place in range(1, length_of(moves) + 1):
        if not moves.by_place[place]:
            g = moves.sequences.group[base_of(moves) + place]
            is_new = True
            for n in range(0 if moves.keeps_repeated else fresh):
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
                for n in range(1, 1 if moves.keeps_repeated else min(length + 1, moves.sequences.room - 1)):
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
    length: cython.longlong = length_of(moves)
    source: cython.longlong = 1 + moves.random.below(length)
    target: cython.longlong = 1 + moves.random.below(length)
    base: cython.longlong = (1 - moves.sequences.side) * moves.sequences.room
    if moves.random.real() < 0.7:
        tensor = some_needed(moves, source)
        if tensor < 0:
            return False
        before = place_before(moves, source, moves.sequences.groups.graph.producer[tensor])
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
        moves.sequences.group[base + place] = moves.sequences.group[base_of(moves) + old]
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
    length: cython.longlong = length_of(moves)
    choice: cython.longlong = moves.random.below(REPEAT)
    consumer: cython.longlong = 1 + moves.random.below(length)
    moves.changes = 0
    moves.first[0] = 0
    moves.keeps_repeated = False
    if moves.twice == 0 and DUPLICATE <= choice < GATHER:
        choice = 0
    if SPLIT <= choice < REORDER:
        return _reorder(moves) and (_is_in_order(moves) or _put_in_order(moves))
    if SHIFT <= choice < SPLIT:
        if not split(moves, consumer):
            return False
    elif DUPLICATE <= choice < GATHER:
        if not gather(moves):
            return False
    else:
        tensor: cython.longlong = some_needed(moves, consumer)
        if tensor < 0:
            return False
        source: cython.longlong = place_before(moves, consumer, moves.sequences.groups.graph.producer[tensor])
        if source == 0:
            return False
        if choice < FUSE:
            open_change(moves, source)
            if moves.random.below(2) == 0:
                put_group(moves, source, 0)
                put_group(moves, consumer, 0)
                open_change(moves, consumer)
            else:
                open_change(moves, consumer)
                put_group(moves, source, 0)
                put_group(moves, consumer, 0)
        elif choice < FUSE_ALL:
            if not fuse_all(moves, source, consumer, tensor):
                return False
        elif choice < DUPLICATE:
            if not duplicate(moves, source, consumer, tensor):
                return False
        elif choice < SHIFT:
            if not shift(moves, source, consumer, tensor):
                return False
        elif not repeat(moves, consumer, source, tensor):
            return False
    return _build(moves) and (_is_in_order(moves) or _put_in_order(moves))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _note_current(moves: Moves) -> cython.void:
    """Note which groups of the current sequence compute which operator, and whether it is the best one."""
    base: cython.longlong = base_of(moves)
    length: cython.longlong = length_of(moves)
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
    known: cython.longlong = moves.sequences.groups.known + 2 * moves.cover.shape[0] + 16
    return (
        known < moves.sequences.groups.shape.shape[0]
        and known + 1 < moves.sequences.groups.members.begin.shape[0]
        and 2 * known <= moves.sequences.groups.members.slots.shape[0]
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


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _weigh(moves: Moves, operators: cython.const_int[::1]) -> cython.int:
    place: cython.longlong
    latest: cython.longlong = 0
    is_fresh: cython.bint
    status: cython.int
    moves.changes = 0
    moves.first[0] = 0
    moves.keeps_repeated = False
    if not _has_room(moves):
        return FULL
    for n in range(operators.shape[0]):
        latest = max(latest, moves.where[operators[n]])
    open_change(moves, latest)
    for n in range(operators.shape[0]):
        put_group(moves, moves.where[operators[n]], 0)
    for n in range(operators.shape[0]):
        place = moves.where[operators[n]]
        is_fresh = True
        for c in range(moves.changes):
            is_fresh = is_fresh and moves.changed[c] != place
        if is_fresh:
            if moves.changes == MOST_FUSED:
                return IMPOSSIBLE
            open_change(moves, place)
    if moves.changes == 1 or not _build(moves):
        return IMPOSSIBLE
    if not _is_in_order(moves) and not _put_in_order(moves):
        return IMPOSSIBLE
    status = link(moves.sequences)
    if status == DONE:
        status = evaluate(moves.sequences)
    if status == DONE and moves.sequences.latency < moves.sequences.total:
        status = trace(moves.sequences)
    return status


def weigh(moves: Moves, operators: cython.const_int[::1]) -> int:
    """Make a candidate of the current sequence with the groups of these operators fused, and evaluate it.

    ``sequences.latency`` is then what it takes; more than is known where that is not below the current ``total``.
    """
    status: cython.int
    with cython.nogil:
        status = _weigh(moves, operators)
    return int(status)


def take(moves: Moves) -> None:
    """Make the candidate that was weighed, and found better, the current sequence."""
    with cython.nogil:
        accept(moves.sequences)
        _note_current(moves)
