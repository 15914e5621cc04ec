"""Tables of what every state of a part of the graph still costs, for bounds on what states of the whole still cost.

Strike the moves of all nodes outside a part out of what follows a state: what is left is a way on from the part's share
of that state, with what is read from outside taking its room. So the cheapest way on, which a table holds for every
state of the part, bounds what its nodes are still charged; tables add up with shares that give no node away twice
(Culberson and Schaeffer's pattern databases, with the cost partitioning of Katz and Domshlak).

The same holds against time, where readers come before what they read: a way on of the whole leaves one of the part, in
which a value that only others have touched waits, fresh as at first, until the part touches it. Whatever the whole pays
for it until then comes on top, and where it then pays for one store and one load less, it has paid for them before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shorthaul.core.search import Search
from shorthaul.pebble import tuning
from shorthaul.pebble.model import BoolArray, Cdag, IntArray
from shorthaul.pebble.states import pattern_database_kernels as kernels
from shorthaul.pebble.states.pattern_database_kernels import Parts, Patterns, SetTable

WordArray = npt.NDArray[np.uint64]
SmallArray = npt.NDArray[np.int32]

#: Parts have at most this many nodes, and their computed sets are at most this many.
MOST_MEMBERS = 40
_MOST_SETS = 2**15
#: Charges of a part may add up to this much, in 32 bits.
_LARGEST_COST = 2**29


def _nothing() -> Patterns:
    none, first = np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64)
    bits, small = np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int32)
    parts = Parts(first, none, bits, bits, first, none, none)
    return Patterns(
        parts, SetTable(bits, none), first, none, small.reshape(0, 1), small, none, 1
    )  # fmt: skip


#: No tables: the heuristic is 0.
NO_PATTERNS = _nothing()


@dataclass(frozen=True, slots=True, eq=False)
class PartTable:
    """The table of one part, in units of the weights' divisor; see :class:`Patterns` for the arrays.

    ``members`` are the nodes of the part in topological order, ``given`` the bits of those that are inputs, ``late`` of
    those that others may touch first; ``start`` is what the part costs from the start.
    """

    members: IntArray
    given: int
    late: int
    start: int
    keys: WordArray
    ranks: IntArray
    offsets: IntArray
    steps: SmallArray
    costs: SmallArray


def table_of(
    cdag: Cdag, nodes: Sequence[int], budget: int, *, most: int, search: Search, from_end: bool = False
) -> PartTable | None:
    """Return the table of some nodes; None if it would have more than ``most`` entries.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import fft
    >>> table_of(fft(n=4, word=1), range(12), 3, most=10**6, search=Search()).start
    6
    """
    unit = int(np.gcd.reduce(cdag.weights))
    search.spend(tuning.TABLE_EFFORT)
    size = len(nodes)
    position = np.empty(cdag.n, dtype=np.int64)
    position[cdag.order] = np.arange(cdag.n)
    chosen = np.array(nodes, dtype=np.int64)
    members = chosen[np.argsort(position[chosen])]
    weights = cdag.weights[members] // unit
    if size > MOST_MEMBERS or 4 * size * int(weights.sum()) > _LARGEST_COST:
        return None
    given = cdag.is_input()[members]
    touched, touchers, before, outside, late = _links(cdag, members, unit, from_end=from_end)
    most_sets = min(_MOST_SETS, most)
    sets = np.empty(most_sets, dtype=np.uint64)
    slots = 1 << (2 * most_sets - 1).bit_length()
    keys, ranks = np.zeros(slots, dtype=np.uint64), np.full(slots, -1, dtype=np.int64)
    offsets, steps = np.zeros(most_sets + 1, dtype=np.int64), np.zeros((most_sets, size), dtype=np.int32)
    part = kernels.Part(
        touched, touchers, before, given.view(np.uint8), late.view(np.uint8), weights, outside,
        sets, SetTable(keys, ranks), offsets, steps,
    )  # fmt: skip
    count = kernels.enumerate_sets(part, most)
    if count < 0:
        return None
    costs = np.zeros(int(offsets[count]), dtype=np.int32)
    search.spend(size * len(costs) / tuning.TABLE_RATE)
    kernels.tabulate(part, count, budget // unit, costs)
    start = int(costs[3 * steps[0, late].sum()])
    used = np.flatnonzero(ranks >= 0)
    slots = 1 << (2 * len(used) - 1).bit_length()  # no larger than it has to be
    small_keys, small_ranks = np.zeros(slots, dtype=np.uint64), np.full(slots, -1, dtype=np.int64)
    kernels.enter_all(SetTable(small_keys, small_ranks), keys[used], ranks[used])
    return PartTable(
        members, _bits(given), _bits(late), start, small_keys, small_ranks, offsets[:count], steps[:count], costs
    )  # fmt: skip


def _links(
    cdag: Cdag, members: IntArray, unit: int, *, from_end: bool
) -> tuple[WordArray, WordArray, WordArray, IntArray, BoolArray]:
    """Return what members touch, what touches them, what comes before, what they read outside, and which are late."""
    size, given = len(members), cdag.is_input()[members].tolist()
    place = {int(v): i for i, v in enumerate(members)}
    touched, touchers, before = [0] * size, [0] * size, [0] * size
    outside, late = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.bool_)
    for i, v in enumerate(members.tolist()):
        if given[i]:
            continue
        touched[i] |= 1 << i
        touchers[i] |= 1 << i
        late[i] = from_end and any(reader not in place for reader in cdag.children.neighbours(v).tolist())
        for p in cdag.parents.neighbours(v).tolist():
            j = place.get(p)
            if j is None:
                outside[i] += int(cdag.weights[p]) // unit
                continue
            touched[i] |= 1 << j
            touchers[j] |= 1 << i
            if not given[j]:
                first, then = (i, j) if from_end else (j, i)
                before[then] |= 1 << first
    rows = [np.array(sets, dtype=np.uint64) for sets in (touched, touchers, before)]
    return rows[0], rows[1], rows[2], outside, late


def _bits(members: BoolArray) -> int:
    return sum(1 << i for i in np.flatnonzero(members).tolist())


def assembled(n: int, tables: Sequence[PartTable], shares: Sequence[int], whole: int) -> Patterns:
    """Return the tables put together for the search; of each its share counts, in parts of ``whole``."""
    widest = max(len(one.members) for one in tables)
    ends = [np.cumsum([0, *(len(array) for array in arrays)]) for arrays in (
        [one.members for one in tables], [one.keys for one in tables], [one.offsets for one in tables],
        [one.costs for one in tables],
    )]  # fmt: skip
    nodes = np.concatenate([one.members for one in tables])
    parts = np.repeat(np.arange(len(tables)), [len(one.members) for one in tables])
    places = np.concatenate([np.arange(len(one.members)) for one in tables])
    by_node = np.argsort(nodes, kind="stable")
    ranks = np.concatenate([np.where(one.ranks < 0, -1, one.ranks + ends[2][i]) for i, one in enumerate(tables)])
    return Patterns(
        Parts(
            ends[0],
            nodes,
            np.array([one.given for one in tables], dtype=np.uint64),
            np.array([one.late for one in tables], dtype=np.uint64),
            np.searchsorted(nodes[by_node], np.arange(n + 1)),
            parts[by_node],
            places[by_node],
        ),
        SetTable(np.concatenate([one.keys for one in tables]), ranks),
        ends[1],
        np.concatenate([one.offsets + ends[3][i] for i, one in enumerate(tables)]),
        np.concatenate([np.pad(one.steps, ((0, 0), (0, widest - one.steps.shape[1]))) for one in tables]),
        np.concatenate([one.costs for one in tables]),
        np.array(shares, dtype=np.int64),
        whole,
    )
