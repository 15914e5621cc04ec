"""Layered search over downsets without recomputation: the engine of :mod:`exact` and :mod:`beam`.

Every step computes one more node, so the states after t steps form layer t, and only states of one layer compare. A
layer is complete unless it was cut to a width; then its best states by cost and a guess of the cost to come are kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shorthaul.core.jit import announce
from shorthaul.core.search import Budget
from shorthaul.pebble import downset_kernels as kernels
from shorthaul.pebble.model import BoolArray, Cdag, IntArray
from shorthaul.pebble.plan import Move, Plan, plan_of

WordArray = npt.NDArray[np.uint64]

#: Seconds that the first compilation of the kernels takes.
COMPILE_S = 8
#: A layer may hold at most this many bytes of states before it counts as too large to complete.
LARGEST_LAYER = 600 * 2**20
#: All layers together may hold this many bytes.
LARGEST_HISTORY = 1500 * 2**20
#: States of one computed set that dominance compares with.
_COMPARED = 200
_CHUNK = 4096
#: States that are sorted, compared or entered in one go, between two looks at the clock.
_BATCH = 2**19
#: Sets of values to let go that are looked at per state and node; a beam looks at few, cheapest first.
_EFFORT = 2**24
_BEAM_EFFORT = 256


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """The CDAG as bit sets: row v of ``parents`` and ``children`` is a set of nodes, ``computed`` is one."""

    weights: IntArray
    parents: WordArray
    children: WordArray
    computed: WordArray

    @property
    def words(self) -> int:
        """The number of 64-bit words of a set."""
        return len(self.computed)


def tables(cdag: Cdag) -> Tables:
    """Return the bit sets of ``cdag``."""
    sources, targets = cdag.edge_arrays()
    return Tables(
        cdag.weights,
        _rows(cdag.n, targets, sources, cdag.n),
        _rows(cdag.n, sources, targets, cdag.n),
        _rows(1, np.zeros(cdag.n, dtype=np.int64), np.arange(cdag.n), cdag.n, ~cdag.is_input())[0],
    )


def _rows(rows: int, row: IntArray, member: IntArray, n: int, only: BoolArray | None = None) -> WordArray:
    sets = np.zeros((rows, (n + 63) // 64), dtype=np.uint64)
    if only is not None:
        row, member = row[only], member[only]
    np.bitwise_or.at(sets, (row, member >> 6), np.uint64(1) << (member & 63).astype(np.uint64))
    return sets


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What a layered search found.

    ``plan`` is the best plan below the limit (None if there is none), ``excess`` its cost above inputs and outputs.
    ``complete`` tells that no state was cut: then the plan is optimal, or, without one, every plan costs the limit or
    more. ``finished`` is False if time or memory ran out first.
    """

    plan: Plan | None
    excess: int | None
    complete: bool
    finished: bool


@dataclass(slots=True, eq=False)
class _Layer:
    sets: WordArray
    numbers: IntArray


def layered(
    cdag: Cdag,
    budget: int,
    *,
    limit: int,
    search: Budget,
    width: int | None = None,
    per_set: int = 0,
    greed: float = 0.0,
    noise: float = 0.0,
    generator: np.random.Generator | None = None,
    order: IntArray | None = None,
    given: Tables | None = None,
) -> Outcome:
    """Search for a plan whose excess is below ``limit``.

    ``width`` cuts every layer to its best states by cost plus ``greed`` times the charge of letting all red values
    go, plus noise; ``per_set`` keeps so many of one computed set at most. ``order`` fixes the order of computation.
    """
    announce("shorthaul.pebble.downset_kernels", COMPILE_S)
    sets = tables(cdag) if given is None else given
    words = sets.words
    steps = int((~cdag.is_input()).sum())
    layers = [_Layer(np.zeros((1, 3 * words), dtype=np.uint64), np.array([[0, 0, -1, -1]], dtype=np.int64))]
    complete = True
    held = 0
    for step in range(steps):
        only = -1 if order is None else int(order[step])
        grown = _grow(sets, layers[-1], budget, limit, search, width, only)
        if grown is None:
            return Outcome(None, None, complete=False, finished=False)
        layer = _pruned(sets, grown[0], search)
        if layer is None:
            return Outcome(None, None, complete=False, finished=False)
        complete = complete and not grown[1]
        if width is not None and len(layer.sets) > width:
            layer = _cut(sets, layer, width, per_set, greed, noise, generator)
            complete = False
        if len(layer.sets) == 0:
            return Outcome(None, None, complete=complete, finished=True)
        layers.append(layer)
        held += layer.sets.nbytes + layer.numbers.nbytes
        if held > LARGEST_HISTORY:
            return Outcome(None, None, complete=False, finished=False)
    best = int(layers[-1].numbers[:, kernels.COST].argmin())
    excess = int(layers[-1].numbers[best, kernels.COST])
    return Outcome(_plan(cdag, layers, best), excess, complete=complete, finished=True)


def _grow(
    sets: Tables, layer: _Layer, budget: int, limit: int, search: Budget, width: int | None, only: int
) -> tuple[_Layer, bool] | None:
    """Return the successors of a layer, and whether some were left out; None if time or memory ran out."""
    words = sets.words
    row_bytes = 3 * words * 8 + 32 + 16
    most = LARGEST_LAYER // row_bytes
    room = min(most, max(8 * _CHUNK, (64 if width is None else 16) * len(layer.sets)))
    if width is not None:
        room = min(most, max(room, 8 * width))
    next_sets = np.empty((room, 3 * words), dtype=np.uint64)
    numbers = np.empty((room, 4), dtype=np.int64)
    table = np.full(_table_size(room), -1, dtype=np.int64)
    effort = _EFFORT if width is None else _BEAM_EFFORT
    position = filled = 0
    is_cut = stuck = False
    while position < len(layer.sets):
        if search.expired():
            return None
        stop = min(len(layer.sets), position + _CHUNK)
        reached, filled, unseen, full = kernels.expand(
            layer.sets[:stop], layer.numbers[:stop], position, limit, budget, sets.weights, sets.parents,
            sets.children, sets.computed, next_sets, numbers, table, filled, only, effort,
        )  # fmt: skip
        is_cut = is_cut or unseen > 0
        if full:
            if stuck and reached == position:
                return None  # one state fills all the room
            stuck = reached == position
            small = _pruned(sets, _Layer(next_sets[:filled], numbers[:filled]), search)
            if small is None:
                return None
            if width is not None and len(small.sets) > room // 4:
                small = _cut(sets, small, min(width, room // 4), 0, 0.0, 0.0, None)
                is_cut = True
            kept = len(small.sets)
            if kept > 0.5 * room and room < most:
                room = min(most, 4 * room)
                next_sets = np.empty((room, 3 * words), dtype=np.uint64)
                numbers = np.empty((room, 4), dtype=np.int64)
            elif kept > 0.9 * room:
                return None
            if search.expired():
                return None
            next_sets[:kept], numbers[:kept] = small.sets, small.numbers
            filled = kept
            if search.expired():
                return None
            table = np.full(_table_size(room), -1, dtype=np.int64)
            for first in range(0, filled, _BATCH):
                kernels.insert_all(next_sets, numbers, table, first, min(filled, first + _BATCH))
                if search.expired():
                    return None
        position = reached
    return _Layer(next_sets[:filled], numbers[:filled]), is_cut


def _table_size(room: int) -> int:
    return 1 << (2 * room - 1).bit_length()


def _pruned(sets: Tables, layer: _Layer, search: Budget) -> _Layer | None:
    """Return the states that no other of the same computed set dominates; None if time ran out.

    Large layers are taken apart by hash first, so that Ctrl-C and the time limit are heard.
    """
    count = len(layer.sets)
    hashes = kernels.group_hashes(layer.sets, sets.words, count)
    if count <= _BATCH:
        batches = [np.arange(count)]
    else:
        by_bits = np.argsort((hashes >> np.uint64(56)).astype(np.uint8), kind="stable")
        cuts = np.searchsorted(hashes[by_bits] >> np.uint64(56), np.arange(0, 256, max(1, 256 * _BATCH // count)))
        batches = np.split(by_bits, cuts[1:])
    kept: list[IntArray] = []
    for batch in batches:
        order = batch[np.lexsort((layer.numbers[batch, kernels.COST], hashes[batch]))]
        keep = kernels.undominated(layer.sets, layer.numbers, order, hashes, sets.weights, sets.words, _COMPARED)
        kept.append(order[keep])
        if search.expired() and len(batches) > 1:
            return None
    rows = np.concatenate(kept)
    return _Layer(layer.sets[rows], layer.numbers[rows])


def _cut(
    sets: Tables,
    layer: _Layer,
    width: int,
    per_set: int,
    greed: float,
    noise: float,
    generator: np.random.Generator | None,
) -> _Layer:
    key = layer.numbers[:, kernels.COST].astype(np.float64)
    if greed:
        key += greed * kernels.release_charges(layer.sets, sets.weights, sets.words)
    if noise and generator is not None:
        key += noise * generator.random(len(key))
    if per_set:
        hashes = kernels.group_hashes(layer.sets, sets.words, len(layer.sets))
        order = np.lexsort((key, hashes))
        first = np.concatenate([[True], hashes[order][1:] != hashes[order][:-1]])
        start = np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))
        late = np.empty(len(order), dtype=bool)
        late[order] = np.arange(len(order)) - start >= per_set
        rows = np.lexsort((key, late))[:width]
    else:
        rows = np.argpartition(key, width - 1)[:width]
    rows = np.sort(rows)
    return _Layer(layer.sets[rows], layer.numbers[rows])


def _plan(cdag: Cdag, layers: list[_Layer], last: int) -> Plan:
    """Return the moves along the way to state ``last`` of the last layer."""
    words = (cdag.n + 63) // 64
    path = []
    row = last
    for layer in reversed(layers[1:]):
        path.append((int(layer.numbers[row, kernels.NODE]), _members(layer.sets[row, words : 2 * words])))
        row = int(layer.numbers[row, kernels.ORIGIN])
    path.reverse()
    return emit(cdag, path)


def emit(cdag: Cdag, path: list[tuple[int, set[int]]]) -> Plan:
    """Return the moves of a schedule given as (node computed, values red and live afterwards) per step.

    Values leave before the node's missing operands are loaded, stored then if they are live and unsaved; outputs are
    stored at once.
    """
    starts, targets = cdag.parents.starts.tolist(), cdag.parents.targets.tolist()
    readers = cdag.children.degrees().tolist()
    saved = cdag.is_input().tolist()
    red: set[int] = set()
    moves: list[tuple[int, int]] = []
    for node, after in path:
        operands = targets[starts[node] : starts[node + 1]]
        for value in sorted(red - after - set(operands)):
            if not saved[value]:
                moves.append((Move.STORE, value))
                saved[value] = True
            moves.append((Move.DELETE, value))
            red.discard(value)
        for value in operands:
            if value not in red:
                moves.append((Move.LOAD, value))
                red.add(value)
        moves.append((Move.COMPUTE, node))
        red.add(node)
        if not readers[node]:
            moves.append((Move.STORE, node))
        for value in operands:
            readers[value] -= 1
        for value in sorted(red - after):
            moves.append((Move.DELETE, value))
            red.discard(value)
    return plan_of(moves)


def _members(words: WordArray) -> set[int]:
    bits = np.unpackbits(words.view(np.uint8), bitorder="little")
    return set(np.flatnonzero(bits).tolist())
