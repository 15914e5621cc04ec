"""Sets of operators executed together, and of tensors passed on, each worked out once and known by a number."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.shorthaul.core.compiled.bits import wrapped_product, wrapped_sum

EMPTY = cython.declare(cython.int, -1)


@cython.final
@cython.cclass
class Sets:
    """Sets of numbers; number 0 is the empty set. ``items[begin[n]:begin[n + 1]]``, ascending, is set ``n``."""

    def __init__(self) -> None:
        self.items = np.zeros(256, np.int32)
        self.begin = np.zeros(64, np.int64)
        self.hashes = np.zeros(64, np.uint64)
        self.slots = np.full(128, -1, np.int32)
        self.count = 1
        self.slots[0] = 0

    def reserve(self, sets: int, items: int) -> None:
        """Make room for so many more sets, with so many items in all."""
        while self.begin.shape[0] < self.count + sets + 2:
            self.begin = np.concatenate([self.begin, np.zeros(self.begin.shape[0], np.int64)])
            self.hashes = np.concatenate([self.hashes, np.zeros(self.hashes.shape[0], np.uint64)])
        while self.items.shape[0] < self.begin[self.count] + items:
            self.items = np.concatenate([self.items, np.zeros(self.items.shape[0], np.int32)])
        if self.slots.shape[0] < 2 * (self.count + sets):
            size = self.slots.shape[0]
            while size < 2 * (self.count + sets):
                size *= 2
            self.slots = np.full(size, -1, np.int32)
            for number in range(self.count):
                _enter(self, number)

    def find(self, numbers: cython.int[::1]) -> int:
        """Return the number of a set, which is made if it is new; ``numbers`` are put in order."""
        self.reserve(1, len(numbers))
        return int(intern(self, numbers, 0, len(numbers)))

    def get(self, number: int) -> list[int]:
        """Return the items of a set."""
        return [int(self.items[place]) for place in range(self.begin[number], self.begin[number + 1])]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _enter(sets: Sets, number: cython.longlong) -> cython.void:
    mask: cython.ulonglong = sets.slots.shape[0] - 1
    at: cython.ulonglong = sets.hashes[number] & mask
    while sets.slots[at] != EMPTY:
        at = (at + 1) & mask
    sets.slots[at] = cython.cast(cython.int, number)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _mixed(item: cython.ulonglong) -> cython.ulonglong:
    """Return a number that looks random."""
    word: cython.ulonglong = wrapped_product(wrapped_sum(item, 0x9E37_79B9_7F4A_7C15), 0xBF58_476D_1CE4_E5B9)
    word = wrapped_product(word ^ (word >> 29), 0x94D0_49BB_1331_11EB)
    return word ^ (word >> 32)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def intern(sets: Sets, buffer: cython.int[::1], first: cython.longlong, count: cython.longlong) -> cython.longlong:
    """Return the number of the set of ``count`` different items, which are put in order; there must be room."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    total: cython.ulonglong = 0
    same: cython.bint
    if count == 0:
        return 0
    for i in range(count):
        total = wrapped_sum(total, _mixed(cython.cast(cython.ulonglong, buffer[first + i])))
    for i in range(1, count):  # mostly in order already
        item = buffer[first + i]
        j = i
        while j > 0 and buffer[first + j - 1] > item:
            buffer[first + j] = buffer[first + j - 1]
            j -= 1
        buffer[first + j] = item
    mask: cython.ulonglong = sets.slots.shape[0] - 1
    at: cython.ulonglong = total & mask
    while sets.slots[at] != EMPTY:
        number = sets.slots[at]
        if sets.hashes[number] == total and sets.begin[number + 1] - sets.begin[number] == count:
            same = True
            for i in range(count):
                if sets.items[sets.begin[number] + i] != buffer[first + i]:
                    same = False
                    break
            if same:
                return number
        at = (at + 1) & mask
    sets.slots[at] = cython.cast(cython.int, sets.count)
    sets.hashes[sets.count] = total
    for i in range(count):
        sets.items[sets.begin[sets.count] + i] = buffer[first + i]
    sets.begin[sets.count + 1] = sets.begin[sets.count] + count
    sets.count += 1
    return sets.count - 1


@cython.final
@cython.cclass
class Graph:
    """An operator graph: inputs by operator (each once), consumers by tensor, sizes in elements, shapes by number.

    ``least`` is a lower bound on the time that an operator takes, whatever group it is in.
    """

    def __init__(
        self,
        first_input: cython.const_int[::1],
        inputs: cython.const_int[::1],
        first_consumer: cython.const_int[::1],
        consumers: cython.const_int[::1],
        output: cython.const_int[::1],
        producer: cython.const_int[::1],
        shape: cython.const_int[::1],
        pointwise: cython.const_uchar[::1],
        size: cython.const_double[::1],
        least: cython.const_double[::1],
        machine: cython.const_double[::1],
    ) -> None:
        """``first_...``: where the inputs of an operator begin, and one more; ``machine``: capacity, bandwidth."""
        self.first_input, self.inputs = first_input, inputs
        self.first_consumer, self.consumers = first_consumer, consumers
        self.output, self.producer, self.shape = output, producer, shape
        self.pointwise, self.size, self.least = pointwise, size, least
        self.operators, self.tensors = output.shape[0], size.shape[0]
        self.capacity, self.bandwidth = machine[0], machine[1]
        self.most_inputs = max(1, int(np.diff(np.asarray(first_input)).max()))


@cython.final
@cython.cclass
class Groups:
    """Groups of operators, by the number of their set, and what each takes and makes.

    ``facts`` holds, from ``first_taken[g]``, the tensors that the group takes from outside, as 2 t + 1 where an
    operator produces t, 2 t else; from ``first_made[g]`` to ``first_taken[g + 1]`` those it makes and some operator
    consumes, as 2 t + 1 where one inside does. ``shape[g]`` is that of all its sinks, -1 if they differ.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.members = Sets()
        self.known = 1
        self.facts = np.zeros(256, np.int32)
        self.first_taken, self.first_made = np.zeros(64, np.int64), np.zeros(64, np.int64)
        self.compute, self.taken_size, self.stored_size = np.zeros(64), np.zeros(64), np.zeros(64)
        self.shape = np.zeros(64, np.int32)
        self.buffer = np.zeros(graph.operators, np.int32)
        self.queue = np.zeros(graph.operators, np.int32)
        self.mark = np.zeros(graph.operators, np.int32)
        self.mark_tensor = np.zeros(graph.tensors, np.int32)
        self.stamp = 0

    def reserve(self, groups: int, operators: int) -> None:
        """Make room for so many more groups, with so many operators in all."""
        self.members.reserve(groups, operators)
        if self.shape.shape[0] < self.known + groups + 2:
            more = self.shape.shape[0] + groups + 2
            self.first_taken = np.concatenate([self.first_taken, np.zeros(more, np.int64)])
            self.first_made = np.concatenate([self.first_made, np.zeros(more, np.int64)])
            self.compute = np.concatenate([self.compute, np.zeros(more)])
            self.taken_size = np.concatenate([self.taken_size, np.zeros(more)])
            self.stored_size = np.concatenate([self.stored_size, np.zeros(more)])
            self.shape = np.concatenate([self.shape, np.zeros(more, np.int32)])
        # An operator takes each of its inputs at most, and makes one tensor.
        items = operators * (1 + self.graph.most_inputs)
        if self.facts.shape[0] < self.first_taken[self.known] + items:
            self.facts = np.concatenate([self.facts, np.zeros(self.facts.shape[0] + items, np.int32)])
        if self.stamp >= 1_000_000_000:
            self.stamp = 0
            self.mark = np.zeros(self.graph.operators, np.int32)
            self.mark_tensor = np.zeros(self.graph.tensors, np.int32)

    def find(self, operators: cython.int[::1]) -> int:
        """Return the number of a connected group, which is made if it is new."""
        self.reserve(1, len(operators))
        return int(made(self, operators, 0, len(operators)))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def part(groups: Groups, operators: cython.int[::1], first: cython.longlong, count: cython.longlong) -> cython.longlong:
    """Put the connected part of the first of these operators to the front, and return how many they are."""
    i: cython.Py_ssize_t
    groups.stamp += 2
    inside: cython.int = groups.stamp - 1  # marked so: among the operators and not found yet
    for i in range(count):
        groups.mark[operators[first + i]] = inside
    size: cython.longlong = 1
    at: cython.longlong = 0
    groups.queue[0] = operators[first]
    groups.mark[operators[first]] = groups.stamp
    while at < size:
        operator = groups.queue[at]
        at += 1
        for i in range(groups.graph.first_input[operator], groups.graph.first_input[operator + 1]):
            source = groups.graph.producer[groups.graph.inputs[i]]
            if source >= 0 and groups.mark[source] == inside:
                groups.mark[source] = groups.stamp
                groups.queue[size] = source
                size += 1
        tensor = groups.graph.output[operator]
        for i in range(groups.graph.first_consumer[tensor], groups.graph.first_consumer[tensor + 1]):
            user = groups.graph.consumers[i]
            if groups.mark[user] == inside:
                groups.mark[user] = groups.stamp
                groups.queue[size] = user
                size += 1
    if size < count:
        place = size
        for i in range(count):
            if groups.mark[operators[first + i]] == inside:
                groups.queue[place] = operators[first + i]
                place += 1
        for i in range(count):
            operators[first + i] = groups.queue[i]
    return size


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def made(groups: Groups, operators: cython.int[::1], first: cython.longlong, count: cython.longlong) -> cython.longlong:
    """Return the number of a connected group of ``count`` operators; there must be room."""
    g: cython.longlong = intern(groups.members, operators, first, count)
    if g < groups.known:
        return g
    i: cython.Py_ssize_t
    n: cython.Py_ssize_t
    groups.known = g + 1
    groups.stamp += 2
    consumed: cython.int = groups.stamp - 1
    produced: cython.int = groups.stamp
    groups.compute[g] = 0.0
    for n in range(count):
        operator = operators[first + n]
        groups.mark[operator] = groups.stamp
        groups.compute[g] += groups.graph.least[operator]
        for i in range(groups.graph.first_input[operator], groups.graph.first_input[operator + 1]):
            groups.mark_tensor[groups.graph.inputs[i]] = consumed
    place: cython.longlong = groups.first_taken[g]
    groups.taken_size[g] = 0.0
    for n in range(count):
        operator = operators[first + n]
        for i in range(groups.graph.first_input[operator], groups.graph.first_input[operator + 1]):
            tensor = groups.graph.inputs[i]
            source = groups.graph.producer[tensor]
            if groups.mark_tensor[tensor] == consumed and (source < 0 or groups.mark[source] != groups.stamp):
                groups.mark_tensor[tensor] = produced  # listed
                groups.facts[place] = 2 * tensor + (1 if source >= 0 else 0)
                groups.taken_size[g] += groups.graph.size[tensor]
                place += 1
    groups.first_made[g] = place
    is_inner: cython.bint = False
    groups.stored_size[g] = 0.0
    groups.shape[g] = -2
    for n in range(count):
        tensor = groups.graph.output[operators[first + n]]
        is_inner = groups.mark_tensor[tensor] == consumed
        if groups.graph.first_consumer[tensor + 1] > groups.graph.first_consumer[tensor]:
            groups.facts[place] = 2 * tensor + (1 if is_inner else 0)
            place += 1
        if not is_inner:
            groups.stored_size[g] += groups.graph.size[tensor]
            if groups.shape[g] == -2:
                groups.shape[g] = groups.graph.shape[tensor]
            elif groups.shape[g] != groups.graph.shape[tensor]:
                groups.shape[g] = -1
    groups.first_taken[g + 1] = place
    return g
