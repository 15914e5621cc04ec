"""A* over positions (red set, saved set) of the game with recomputation, for graphs of up to 64 nodes."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.shorthaul.core.compiled.bits import bit, complement, lowest, wrapped_product
from cython.dataclasses import dataclass

#: Sets of values looked at after which a search returns to look at the clock.
_MOST_WORK = cython.declare(cython.longlong, 200_000)


@dataclass(frozen=True, eq=False, repr=False, match_args=False)
@cython.final
@cython.cclass
class Game:
    """A graph of up to 64 nodes in topological order.

    ``outside`` is what computing each node takes beside itself and its operands.
    """

    weights: cython.const_longlong[::1]
    parents: cython.const_ulonglong[::1]
    outside: cython.const_longlong[::1]
    outputs: cython.ulonglong
    inputs: cython.ulonglong
    budget: cython.longlong


@cython.final
@cython.cclass
class Positions:
    """Positions reached below a limit, in buckets by what a plan through them costs at least.

    Of each: what is red and what is saved, the cost so far, the row before, the node computed last, and the next in
    its bucket.
    """

    game: Game
    limit: cython.longlong
    red: cython.ulonglong[::1]
    saved: cython.ulonglong[::1]
    cost: cython.longlong[::1]
    origin: cython.longlong[::1]
    node: cython.longlong[::1]
    following: cython.longlong[::1]
    table: cython.longlong[::1]
    buckets: cython.longlong[::1]
    found = cython.declare(cython.longlong, visibility="readonly")  # the row where all outputs are saved, -1: none yet
    is_done = cython.declare(cython.bint, visibility="readonly")  # no position is left, or one was found
    is_full = cython.declare(cython.bint, visibility="readonly")
    filled: cython.longlong
    bucket = cython.declare(cython.longlong, visibility="readonly")  # the first that may hold a position
    work = cython.declare(cython.longlong, visibility="readonly")  # sets of values looked at so far
    row: cython.longlong  # the position whose turn it is, -1: none
    turn: cython.longlong  # the node to compute in it
    matter: cython.ulonglong
    held: cython.longlong
    is_open: cython.bint  # some of the sets of values that leave for it were looked at
    price: cython.longlong
    excess: cython.longlong
    candidates: cython.longlong[::1]
    size: cython.longlong
    chosen: cython.longlong[::1]
    depth: cython.longlong
    index: cython.longlong
    weight: cython.longlong
    gone: cython.ulonglong  # one set that leaves, what of it is unsaved, and what of that is stored, one after another
    unsaved: cython.ulonglong
    stored: cython.ulonglong
    is_storing: cython.bint

    def __init__(self, game: Game, room: cython.longlong, limit: cython.longlong) -> None:
        n = game.weights.shape[0]
        self.game = game
        self.limit = limit
        self.red = np.empty(room, np.uint64)
        self.saved = np.empty(room, np.uint64)
        self.cost = np.empty(room, np.int64)
        self.origin = np.empty(room, np.int64)
        self.node = np.empty(room, np.int64)
        self.following = np.empty(room, np.int64)
        self.table = np.full(2 * room, -1, np.int64)
        self.buckets = np.full(limit + 1, -1, np.int64)
        self.found = -1
        self.is_done = False
        self.is_full = False
        self.filled = 0
        self.bucket = limit
        self.work = 0
        self.row = -1
        self.turn = 0
        self.matter = 0
        self.held = 0
        self.is_open = False
        self.price = 0
        self.excess = 0
        self.candidates = np.empty(n, np.int64)
        self.size = 0
        self.chosen = np.empty(n, np.int64)
        self.depth = 0
        self.index = 0
        self.weight = 0
        self.gone = 0
        self.unsaved = 0
        self.stored = 0
        self.is_storing = False
        _add(self, 0, game.inputs, 0, -1, -1)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _weight_of(game: Game, members: cython.ulonglong) -> cython.longlong:
    weight: cython.longlong = 0
    while members:
        weight += game.weights[lowest(members)]
        members &= members - 1
    return weight


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _slot(p: Positions, red: cython.ulonglong, saved: cython.ulonglong) -> cython.longlong:
    """Return the slot of a position, or the free one where it goes."""
    mask: cython.longlong = p.table.shape[0] - 1
    value: cython.ulonglong = red ^ wrapped_product(saved, 0x9E37_79B9_7F4A_7C15)
    value = wrapped_product(value, 0xFF51_AFD7_ED55_8CCD)
    value ^= value >> 31
    slot = cython.cast(cython.longlong, value >> 1) & mask
    while p.table[slot] >= 0 and (p.red[p.table[slot]] != red or p.saved[p.table[slot]] != saved):
        slot = (slot + 1) & mask
    return slot


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _to_come(
    game: Game, red: cython.ulonglong, saved: cython.ulonglong
) -> tuple[cython.longlong, cython.ulonglong]:  # fmt: skip
    """Return a lower bound on the cost to come, and the values that can still matter.

    Outputs to come are stored; whatever is neither red nor saved on the way to them is computed, and inputs read then
    that are not red are loaded. A value matters if an output to come is reached from it.
    """
    must: cython.ulonglong = game.outputs & complement(saved)
    matter: cython.ulonglong = must
    cost: cython.longlong = _weight_of(game, must)
    for v in range(game.weights.shape[0] - 1, -1, -1):  # nodes are in topological order
        if must & bit(v):
            if game.inputs & bit(v):
                cost += game.weights[v]
            elif not red & bit(v):
                must |= game.parents[v] & complement(red) & (complement(saved) | game.inputs)
        if matter & bit(v):
            matter |= game.parents[v]
    return cost, matter


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add(
    p: Positions,
    red: cython.ulonglong,
    saved: cython.ulonglong,
    cost: cython.longlong,
    origin: cython.longlong,
    node: cython.longlong,
) -> cython.void:
    """Enter a position unless it is known at no greater cost or cannot lead to a plan below the limit."""
    row: cython.longlong = p.filled
    whole, matter = _to_come(p.game, red, saved)
    whole += cost
    if whole >= p.limit:
        return
    red &= matter
    slot = _slot(p, red, saved)
    if p.table[slot] >= 0 and p.cost[p.table[slot]] <= cost:
        return
    p.filled += 1
    p.table[slot] = row  # a dearer entry of the same position stays in its bucket, and is passed over there
    p.red[row] = red
    p.saved[row] = saved
    p.cost[row] = cost
    p.origin[row] = origin
    p.node[row] = node
    p.following[row] = p.buckets[whole]
    p.buckets[whole] = row
    p.bucket = min(p.bucket, whole)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _opens(p: Positions, v: cython.longlong) -> cython.bint:
    """Begin to compute v in the position whose turn it is; False if that is impossible or leads nowhere."""
    outputs: cython.ulonglong = p.game.outputs
    red: cython.ulonglong = p.red[p.row]
    saved: cython.ulonglong = p.saved[p.row]
    parents: cython.ulonglong = p.game.parents[v]
    if (p.game.inputs | red | complement(p.matter)) & bit(v) or parents & complement(red | saved):
        return False
    if outputs & saved & bit(v):
        return False
    loaded = _weight_of(p.game, parents & complement(red))
    rest = red & complement(parents)
    spare = _weight_of(p.game, rest)
    p.excess = p.held + loaded + p.game.weights[v] + p.game.outside[v] - p.game.budget
    p.price = p.cost[p.row] + loaded + (p.game.weights[v] if outputs & bit(v) else 0)
    p.size = 0
    while rest:
        p.candidates[p.size] = lowest(rest)
        p.size += 1
        rest &= rest - 1
    p.depth = 0
    p.index = 0
    p.weight = 0
    p.is_storing = False
    return spare >= p.excess


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _begins_to_store(p: Positions) -> cython.bint:
    """Take the chosen values as what leaves; False if fewer would do."""
    d: cython.Py_ssize_t
    p.gone = 0
    for d in range(p.depth):
        a = p.candidates[p.chosen[d]]
        if p.weight - p.game.weights[a] >= p.excess:
            return False
        p.gone |= bit(a)
    p.unsaved = p.gone & complement(p.saved[p.row])
    p.stored = p.unsaved
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _release(p: Positions, v: cython.longlong, most_work: cython.longlong) -> cython.bint:
    """Add a position for every inclusion-minimal set that makes room, depth first; True when there is no more.

    Each of its unsaved values is stored or given up.
    """
    while p.work < most_work and p.filled < p.red.shape[0]:
        p.work += 1
        if p.is_storing:
            red = (p.red[p.row] & complement(p.gone)) | p.game.parents[v] | bit(v)
            saved = p.saved[p.row] | (p.game.outputs & bit(v)) | p.stored
            _add(p, red, saved, p.price + _weight_of(p.game, p.stored), p.row, v)
            p.is_storing = p.stored != 0
            p.stored = (p.stored - 1) & p.unsaved if p.stored else 0
            continue
        if p.weight >= p.excess and p.index <= p.size:
            p.index = p.size + 1
            p.is_storing = _begins_to_store(p)
            continue
        if p.index < p.size and p.weight < p.excess:
            p.chosen[p.depth] = p.index
            p.weight += p.game.weights[p.candidates[p.index]]
            p.depth += 1
            p.index += 1
            continue
        if p.depth == 0:
            return True
        p.depth -= 1
        p.weight -= p.game.weights[p.candidates[p.chosen[p.depth]]]
        p.index = p.chosen[p.depth] + 1
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _take_next(p: Positions) -> cython.void:
    """Take the position of the least estimate, if there is room for what follows."""
    while p.bucket < p.limit and p.buckets[p.bucket] < 0:
        p.bucket += 1
    if p.bucket >= p.limit:
        p.is_done = True
        return
    if 5 * p.filled > 3 * p.red.shape[0]:
        p.is_full = True
        return
    row = p.buckets[p.bucket]
    p.buckets[p.bucket] = p.following[row]
    p.work += 1
    if p.table[_slot(p, p.red[row], p.saved[row])] != row:
        return
    if not p.game.outputs & complement(p.saved[row]):
        p.found = row
        p.is_done = True
        return
    p.row = row
    p.turn = 0
    p.is_open = False
    p.matter = _to_come(p.game, p.red[row], p.saved[row])[1]
    p.held = _weight_of(p.game, p.red[row])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _search(p: Positions, most_work: cython.longlong) -> cython.void:
    while p.work < most_work and not (p.is_done or p.is_full):
        if p.row < 0:
            _take_next(p)
        elif p.turn == p.game.weights.shape[0]:
            p.row = -1
        elif not p.is_open and not _opens(p, p.turn):
            p.turn += 1
        elif _release(p, p.turn, most_work):
            p.turn += 1
            p.is_open = False
        else:
            p.is_open = True
            p.is_full = p.filled == p.red.shape[0]


def search(p: Positions) -> None:
    """Look at positions for a while, cheapest estimate first."""
    with cython.nogil:
        _search(p, p.work + _MOST_WORK)


def path_to(p: Positions, row: cython.longlong) -> list[tuple[int, int, int]]:
    """Return the way to a position: the node computed last, the red set and the saved set of each."""
    path = []
    while row >= 0:
        path.append((int(p.node[row]), int(p.red[row]), int(p.saved[row])))
        row = p.origin[row]
    return path[::-1]


def cost_of(p: Positions, row: cython.longlong) -> int:
    """Return the cost of a position."""
    return int(p.cost[row])
