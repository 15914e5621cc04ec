"""Layered search over downsets without recomputation: the engine of :mod:`solver` and :mod:`beam`.

Every step computes one more node, so the states after t steps form layer t, and only states of one layer compare. A
layer is complete unless it was cut to a width; then its best states by cost and a guess of the cost to come are kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shorthaul.core.errors import DefectError
from shorthaul.core.search import Search
from shorthaul.graphs.csr import from_arrays
from shorthaul.pebble import tuning
from shorthaul.pebble.model import Cdag, IntArray
from shorthaul.pebble.plan import Move, Plan, plan_of
from shorthaul.pebble.states import layered_search_kernels as kernels
from shorthaul.pebble.states.automorphism_kernels import Group, turn
from shorthaul.pebble.states.automorphisms import NO_GROUP, group_of
from shorthaul.pebble.states.dominance_kernels import (
    Comparison,
    States,
    group_hashes,
    insert_all,
    release_charges,
    undominated,
)
from shorthaul.pebble.states.expansion_kernels import Expansion, Graph
from shorthaul.pebble.states.layer_constants import COLUMNS, COST, NODE, ORIGIN, WHOLE
from shorthaul.pebble.states.pattern_database_kernels import Patterns
from shorthaul.pebble.states.pattern_databases import NO_PATTERNS
from shorthaul.pebble.states.potential_kernels import Potential
from shorthaul.pebble.states.potentials import NO_POTENTIAL

WordArray = npt.NDArray[np.uint64]

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
_MOST_STEPS = 2**24
_MOST_STEPS_OF_BEAM = 256


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """The CDAG as bit sets of ``words`` 64-bit words; ``weights`` are in units of their divisor ``unit``.

    ``from_end``: it is searched against the order of time.
    """

    unit: int
    weights: IntArray
    words: int
    touchers: WordArray
    later: WordArray
    graph: Graph
    from_end: bool


def tables(cdag: Cdag, *, from_end: bool = False) -> Tables:
    """Return the bit sets of ``cdag``.

    A schedule read from its end is one of the same kind: computing a node touches it and its operands, which all have
    to be in fast memory, a value stays between two touches or is charged, and readers come before what they read.
    """
    sources, targets = cdag.edge_arrays()
    unit = int(np.gcd.reduce(cdag.weights))
    weights, nodes, computed = cdag.weights // unit, np.arange(cdag.n), ~cdag.is_input()
    own = nodes[computed]
    touched = _rows(cdag.n, np.concatenate([targets, own]), np.concatenate([sources, own]), cdag.n)
    touchers = _rows(cdag.n, np.concatenate([sources, own]), np.concatenate([targets, own]), cdag.n)
    inner = computed[sources]
    first, then = (targets[inner], sources[inner]) if from_end else (sources[inner], targets[inner])
    before = _rows(cdag.n, then, first, cdag.n)
    later, following = _rows(cdag.n, nodes, nodes, cdag.n), from_arrays(cdag.n, first, then)
    for v in (cdag.order if from_end else cdag.order[::-1]).tolist():
        for w in following.neighbours(v).tolist():
            later[v] |= later[w]
    every = _rows(1, np.zeros(len(own), dtype=np.int64), own, cdag.n)[0]
    graph = Graph(weights, touched.ravel(), touchers.ravel(), before.ravel(), later.ravel(), every)
    return Tables(unit, weights, len(every), touchers.ravel(), later.ravel(), graph, from_end)


def _rows(rows: int, row: IntArray, member: IntArray, n: int) -> WordArray:
    sets = np.zeros((rows, (n + 63) // 64), dtype=np.uint64)
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


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """How layers are cut: to ``width`` states by cost plus ``greed`` times the charge of all red values, plus noise.

    At most ``per_set`` states of one computed set are kept (0: any number). If ``is_guided``, the least cost of a
    plan through a state, as far as it is known, stands for its cost.
    """

    width: int
    per_set: int = 0
    greed: float = 0.0
    noise: float = 0.0
    generator: np.random.Generator | None = None
    is_guided: bool = False


def layered(
    cdag: Cdag,
    budget: int,
    *,
    limit: int,
    search: Search,
    cut: Cut | None = None,
    given: Tables | None = None,
    patterns: Patterns = NO_PATTERNS,
    potential: Potential = NO_POTENTIAL,
    automorphisms: IntArray | None = None,
) -> Outcome:
    """Search for a plan whose excess is below ``limit``.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import fft
    >>> layered(fft(n=4, word=1), 3, limit=99, search=Search()).excess
    6
    """
    sets = tables(cdag) if given is None else given
    return Layers(
        cdag,
        budget,
        limit,
        sets,
        cut=cut,
        patterns=patterns,
        potential=potential,
        automorphisms=automorphisms,
    ).run(search)


class Layers:
    """One layered search, which can be run in several turns.

    ``limit`` may be lowered between them. ``proven`` is a lower bound on the excess of every plan, even before the
    search ends: all plans below the limit lead through states that are kept, and a state tells what a plan through it
    costs at least.
    """

    def __init__(
        self,
        cdag: Cdag,
        budget: int,
        limit: int,
        sets: Tables,
        *,
        cut: Cut | None = None,
        patterns: Patterns = NO_PATTERNS,
        potential: Potential = NO_POTENTIAL,
        automorphisms: IntArray | None = None,
    ) -> None:
        self._cdag, self._sets, self._cut = cdag, sets, cut
        self._patterns, self._potential = patterns, potential
        self._automorphisms = np.zeros((0, cdag.n), dtype=np.int64) if automorphisms is None else automorphisms
        self._group = group_of(self._automorphisms)
        self._room = budget // sets.unit
        self._limit = -(-limit // sets.unit)
        self._steps = int((~cdag.is_input()).sum())
        self._complete = True
        self._held = 0
        first = np.array([[0, 0, -1, -1, 0]], dtype=np.int64)
        self._layers = [_Layer(np.zeros((1, 3 * sets.words), dtype=np.uint64), first)]
        self._growth: _Growth | None = None
        self.outgrown = False

    @property
    def depth(self) -> int:
        """The number of complete layers."""
        return len(self._layers)

    @property
    def states(self) -> int:
        """The number of states kept in complete layers."""
        return sum(len(layer.sets) for layer in self._layers)

    def lower(self, limit: int) -> None:
        """Look for plans whose excess is below ``limit`` from now on."""
        self._limit = min(self._limit, -(-limit // self._sets.unit))

    @property
    def is_from_end(self) -> bool:
        """True if it goes against the order of time."""
        return self._sets.from_end

    def guide(self, patterns: Patterns, potential: Potential) -> None:
        """Take other tables and another potential for the layers to come: what these cut off ends there as well."""
        self._patterns, self._potential = patterns, potential

    @property
    def proven(self) -> int:
        """A lower bound on the excess of every plan if no state was cut."""
        if not self._complete:
            return 0
        layer = self._layers[-1]
        if self._growth is None:
            least = int(layer.numbers[:, WHOLE].min(initial=self._limit))
        else:
            least = self._growth.least_whole(self._limit)
        return min(least, self._limit) * self._sets.unit

    def run(self, search: Search) -> Outcome:
        """Go on until the end, or until time or memory run out."""
        while len(self._layers) <= self._steps and len(self._layers[-1].sets):
            layer = None if self.outgrown else self._next(search)
            if layer is None:
                return Outcome(None, None, complete=False, finished=False)
            self._growth = None
            self._layers.append(layer)
            self._held += layer.sets.nbytes + layer.numbers.nbytes
            self.outgrown = self._held > LARGEST_HISTORY
        last = self._layers[-1]
        if len(last.sets) == 0:
            return Outcome(None, None, complete=self._complete, finished=True)
        best = int(last.numbers[:, COST].argmin())
        excess = int(last.numbers[best, COST]) * self._sets.unit
        return Outcome(self._plan(best), excess, complete=self._complete, finished=True)

    def _plan(self, last: int) -> Plan:
        """Return the moves along the way to state ``last`` of the last layer."""
        rows = [last]
        for layer in reversed(self._layers[1:]):
            rows.append(int(layer.numbers[rows[-1], ORIGIN]))
        rows.reverse()
        words = self._sets.words
        name = np.arange(self._cdag.n)  # what a node of the state reached is called in the plan
        path = []
        for step, row in enumerate(rows[1:]):
            layer = self._layers[step + 1]
            if len(self._automorphisms):
                turned = self._turned(self._layers[step], rows[step], layer, row)
                computed = name[layer.numbers[row, NODE]]
                name = name[turned]
            else:
                computed = layer.numbers[row, NODE]
            red = _members(layer.sets[row, words : 2 * words])
            path.append((int(computed), {int(name[v]) for v in red}))
        if self._sets.from_end:  # what is red after the last computation so far is red before it
            path = [(node, red) for (node, _), (_, red) in zip(path, [(-1, set()), *path], strict=False)][::-1]
        return emit(self._cdag, path)

    def _turned(self, source: _Layer, origin: int, layer: _Layer, row: int) -> IntArray:
        """Return which node of the successor as it was made each node of the state at ``row`` was."""
        single = _Layer(source.sets[origin : origin + 1], source.numbers[origin : origin + 1])
        node = int(layer.numbers[row, NODE])
        growth = _Growth(self._sets, single, self._room, None, node, NO_PATTERNS, NO_POTENTIAL, NO_GROUP)
        growth.run(int(layer.numbers[row, COST]) + 1, Search())
        for state, cost in zip(growth.layer().sets, growth.layer().numbers[:, COST], strict=True):
            small = state.copy()
            trail = turn(self._group, small)
            if cost == layer.numbers[row, COST] and (small == layer.sets[row]).all():
                turned = np.arange(self._cdag.n)
                for number in trail:
                    turned = turned[np.argsort(self._automorphisms[number])]
                return turned
        raise DefectError("no successor is the state that was reached")

    def _next(self, search: Search) -> _Layer | None:
        """Return the next layer; None if time or memory ran out."""
        if self._growth is None:
            width = None if self._cut is None else self._cut.width
            self._growth = _Growth(
                self._sets, self._layers[-1], self._room, width, -1, self._patterns, self._potential, self._group
            )
        growth = self._growth
        search.spend(tuning.LAYER_EFFORT)
        if not growth.run(self._limit, search):
            self.outgrown = growth.outgrown
            return None
        layer = _pruned(self._sets, growth.layer(), search)
        if layer is None:
            return None
        self._complete = self._complete and not growth.is_cut
        if self._cut is not None and len(layer.sets) > self._cut.width:
            layer = _cut_down(self._sets, layer, self._cut)
            self._complete = False
        return layer


class _Growth:
    """The successors of one layer, as far as they are made."""

    def __init__(
        self,
        sets: Tables,
        layer: _Layer,
        budget: int,
        width: int | None,
        only: int,
        patterns: Patterns,
        potential: Potential,
        group: Group,
    ) -> None:
        self._sets, self._source, self._width = sets, layer, width
        most_steps = _MOST_STEPS if width is None else _MOST_STEPS_OF_BEAM
        self._expansion = Expansion(
            sets.graph, layer.sets.ravel(), layer.numbers, budget, only, most_steps, patterns, potential, group
        )
        self._most = LARGEST_LAYER // (3 * sets.words * 8 + 8 * COLUMNS + 16)
        room = min(self._most, max(8 * _CHUNK, (64 if width is None else 16) * len(layer.sets)))
        self._resize(room if width is None else min(self._most, max(room, 8 * width)))
        self._stuck = self._full = self._is_narrowed = False
        self.outgrown = False

    @property
    def is_cut(self) -> bool:
        """True if not all successors were looked at or kept."""
        return self._is_narrowed or bool(self._expansion.is_cut)

    def layer(self) -> _Layer:
        """Return the states made so far."""
        filled = self._states.filled
        return _Layer(self._next[:filled], self._numbers[:filled])

    def least_whole(self, limit: int) -> int:
        """Return the least cost of a plan through any state made or still to be expanded."""
        made = self._numbers[: self._states.filled, WHOLE].min(initial=limit)
        return int(self._source.numbers[self._expansion.position :, WHOLE].min(initial=made))

    def _resize(self, room: int) -> None:
        self._next = np.empty((room, 3 * self._sets.words), dtype=np.uint64)
        self._numbers = np.empty((room, COLUMNS), dtype=np.int64)
        table = np.full(1 << (2 * room - 1).bit_length(), -1, dtype=np.int64)
        self._states = States(self._next.reshape(-1), self._numbers, table)

    def run(self, limit: int, search: Search) -> bool:
        """Expand what is left of the layer; False if time or memory ran out."""
        expansion, count = self._expansion, len(self._source.sets)
        while expansion.position < count:
            if search.expired() or (self._full and not self._make_room(search)):
                return False
            reached = expansion.position
            work, is_done = kernels.expand(expansion, self._states, min(count, reached + _CHUNK), limit)
            search.spend(work / tuning.EXPANSION_RATE)
            self._full = not is_done
            if self._full and self._stuck and reached == expansion.position:
                self.outgrown = True  # one state fills all the room
                return False
            self._stuck = self._full and reached == expansion.position
        return True

    def _make_room(self, search: Search) -> bool:
        """Drop dominated states, and take more room if few were; False if time ran out or there is none."""
        small = _pruned(self._sets, self.layer(), search)
        if small is None:
            return False
        if self._width is not None and len(small.sets) > len(self._next) // 4:
            small = _cut_down(self._sets, small, Cut(min(self._width, len(self._next) // 4)))
            self._is_narrowed = True
        kept, room = len(small.sets), len(self._next)
        self.outgrown = kept > 0.9 * self._most
        self._resize(min(self._most, 4 * room) if kept > 0.5 * room else room)
        self._next[:kept], self._numbers[:kept] = small.sets, small.numbers
        self._full = False
        for first in range(0, kept, _BATCH):
            insert_all(self._states, min(kept, first + _BATCH))
        return not self.outgrown


def _pruned(sets: Tables, layer: _Layer, search: Search) -> _Layer | None:
    """Return the states that no other of the same computed set dominates; None if time ran out.

    Large layers are taken apart by hash first, so that Ctrl-C and the time limit are heard.
    """
    count = len(layer.sets)
    hashes = _group_hashes(sets, layer)
    states = Comparison(
        layer.sets.ravel(), layer.numbers, hashes, sets.weights, sets.touchers, sets.later, sets.words, _COMPARED
    )
    if count <= _BATCH:
        batches = [np.arange(count)]
    else:
        by_bits = np.argsort((hashes >> np.uint64(56)).astype(np.uint8), kind="stable")
        cuts = np.searchsorted(hashes[by_bits] >> np.uint64(56), np.arange(0, 256, max(1, 256 * _BATCH // count)))
        batches = np.split(by_bits, cuts[1:])
    kept: list[IntArray] = []
    for batch in batches:
        order = batch[np.lexsort((layer.numbers[batch, COST], hashes[batch]))]
        keep = np.empty(len(order), dtype=np.bool_)
        compared = undominated(states, order, keep.view(np.uint8))
        search.spend((len(order) + compared) / tuning.PRUNING_RATE)
        kept.append(order[keep])
        if search.expired() and len(batches) > 1:
            return None
    rows = np.concatenate(kept)
    return _Layer(layer.sets[rows], layer.numbers[rows])


def _group_hashes(sets: Tables, layer: _Layer) -> WordArray:
    hashes = np.empty(len(layer.sets), dtype=np.uint64)
    group_hashes(layer.sets.ravel(), layer.sets.shape[1], sets.words, hashes)
    return hashes


def _cut_down(sets: Tables, layer: _Layer, cut: Cut) -> _Layer:
    key = layer.numbers[:, WHOLE if cut.is_guided else COST].astype(np.float64)
    if cut.greed:
        charges = np.empty(len(key), dtype=np.int64)
        release_charges(layer.sets.ravel(), sets.weights, sets.words, charges)
        key += cut.greed * charges
    if cut.noise and cut.generator is not None:
        key += cut.noise / sets.unit * cut.generator.random(len(key))
    if cut.per_set:
        hashes = _group_hashes(sets, layer)
        order = np.lexsort((key, hashes))
        first = np.concatenate([[True], hashes[order][1:] != hashes[order][:-1]])
        start = np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))
        late = np.empty(len(order), dtype=bool)
        late[order] = np.arange(len(order)) - start >= cut.per_set
        rows = np.lexsort((key, late))[: cut.width]
    else:
        rows = np.argpartition(key, cut.width - 1)[: cut.width]
    rows = np.sort(rows)
    return _Layer(layer.sets[rows], layer.numbers[rows])


def emit(cdag: Cdag, path: list[tuple[int, set[int]]]) -> Plan:
    """Return the moves of a schedule given as (node computed, values red and live afterwards) per step.

    Values leave before the node's missing operands are loaded, or after it if it reads them, stored then if they are
    live and unsaved; outputs are stored at once.
    """
    starts, targets = cdag.parents.starts.tolist(), cdag.parents.targets.tolist()
    readers = cdag.children.degrees().tolist()
    saved = cdag.is_input().tolist()
    red: set[int] = set()
    moves: list[tuple[int, int]] = []

    def let_go(values: set[int]) -> None:
        for value in sorted(values):
            if readers[value] and not saved[value]:
                moves.append((Move.STORE, value))
                saved[value] = True
            moves.append((Move.DELETE, value))
            red.discard(value)

    for node, after in path:
        operands = targets[starts[node] : starts[node + 1]]
        let_go(red - after - set(operands))
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
        let_go(red - after)
    return plan_of(moves)


def _members(words: WordArray) -> set[int]:
    bits = np.unpackbits(words.view(np.uint8), bitorder="little")
    return set(np.flatnonzero(bits).tolist())
