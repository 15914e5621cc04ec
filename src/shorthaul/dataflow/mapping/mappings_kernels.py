"""Branch and bound over mappings: actors on cores one by one, a buffer in a memory as soon as its actors have cores.

Numbers are those of ``mapping_kernels``. Buffers take as many tokens as they hold at first, at least one. Of cores that
are equal, and of tiles that are, the first is used first, so that mappings that differ only in their names come once.

An actor without a core is in one tile in the end: what it shares with actors in others crosses the network, and is
carried by crossbars more than foreseen. So over all such actors, what each shares with others than those of the tile
with which it shares most is a lower bound. All crossbars of tiles in use, some of which the price left may add, carry
no more than a period each.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.shorthaul.dataflow.mapping.mapping_kernels import (
    Genotypes,
    Mapping,
    Problem,
    charge_access,
    take_genotype,
)

GLOBAL = cython.declare(cython.longlong, 4)
#: Loads, cores and prices that are looked at in the time of an access.
CHECKS_PER_STEP = cython.declare(cython.longlong, 16)


@cython.final
@cython.cclass
class Tree:
    """Where the branch and bound stands: what has been decided, and the loads that it makes for certain.

    An item is an actor, or a buffer after the last of its actors: ``item`` holds a, or -1 - b. Points are of interest
    whose cores cost up to ``most[j]`` units if their period is below ``rival[j]``, for some j.
    """

    problem: Problem
    mapping: Mapping
    consumer: cython.bint  # whose memory a buffer may be in, beside its writer's: 0 first reader, 1 common tile, 2 any
    item: cython.const_longlong[::1]
    price: cython.const_longlong[::1]  # per core, in units
    able: cython.const_uchar[:, ::1]  # by core and actor
    largest: cython.const_longlong[::1]  # per core, of the buffers that its memory may hold
    first: cython.Py_ssize_t  # of the loads that bound the period
    core_kind: cython.const_longlong[::1]
    tile_kind: cython.const_longlong[::1]
    left: cython.const_longlong[:, ::1]  # least that what is left adds: to priced loads, to all crossbars; by depth
    link: cython.const_longlong[:, ::1]  # of buffers of two actors: each, the other, and ticks between their tiles
    link_at: cython.const_longlong[::1]  # where those of an actor begin
    more: cython.double  # by how many ticks crossbars carry more then, over those of the network
    cheapest: cython.longlong
    most: cython.const_longlong[::1]
    most_held: cython.longlong  # bytes in memories of cores, at most
    held: cython.longlong
    rival: cython.const_longlong[::1]
    place: cython.longlong[::1]  # per buffer, its memory
    core: cython.longlong[::1]  # per actor
    used: cython.longlong[::1]
    load: cython.longlong[::1]
    count: cython.longlong[::1]  # actors per core
    in_tile: cython.longlong[::1]  # actors per tile
    shared: cython.longlong[:, ::1]  # per actor without a core, ticks of what it shares with a tile, and with all
    is_placed: cython.uchar[::1]
    apart: cython.longlong  # ticks of the network for what such actors share with tiles in which they are not
    tiles: cython.longlong  # in use
    paid = cython.declare(cython.longlong, visibility="readonly")
    depth: cython.Py_ssize_t
    choice: cython.longlong[::1]  # by depth, the next one
    busiest: cython.longlong[::1]  # by depth
    steps = cython.declare(cython.longlong, visibility="readonly")
    checked: cython.longlong  # loads, cores and prices looked at that do not count as steps yet

    def __init__(
        self, problem: Problem, mapping: Mapping, consumer: cython.longlong, item: cython.const_longlong[::1],
        price: cython.const_longlong[::1], able: cython.const_uchar[:, ::1], largest: cython.const_longlong[::1],
        kind: cython.const_longlong[::1],
        left: cython.const_longlong[:, ::1], link: cython.const_longlong[:, ::1], more: cython.double,
    ) -> None:  # fmt: skip
        self.problem = problem
        self.mapping = mapping
        self.consumer = consumer
        self.item = item
        self.price = price
        self.able = able
        self.largest = largest
        self.first, self.most_held = 0, 1 << 60
        self.core_kind = kind[: price.shape[0]]
        self.tile_kind = kind[price.shape[0] :]
        self.left = left
        self.link = link
        actors = problem.tau.shape[0]
        self.link_at = np.searchsorted(np.asarray(link)[:, 0], np.arange(actors + 1)).astype(np.int64)
        self.more = more
        self.cheapest = int(np.asarray(price).min())
        self.most = np.zeros(0, np.int64)
        self.rival = np.zeros(0, np.int64)
        self.place = np.zeros(problem.src.shape[0], np.int64)
        self.core = np.zeros(problem.tau.shape[0], np.int64)
        self.used = np.zeros(problem.limits.shape[0], np.int64)
        self.load = np.zeros(problem.core_tile.shape[0] + problem.ticks.shape[1], np.int64)
        self.count = np.zeros(problem.core_tile.shape[0], np.int64)
        self.in_tile = np.zeros(problem.ticks.shape[1] - 1, np.int64)
        self.shared = np.zeros((problem.tau.shape[0], problem.ticks.shape[1]), np.int64)
        self.is_placed = np.zeros(problem.tau.shape[0], np.uint8)
        self.held = self.apart = self.tiles = self.paid = 0
        self.depth = 0
        self.choice = np.zeros(item.shape[0] + 1, np.int64)
        self.busiest = np.zeros(item.shape[0] + 1, np.int64)
        self.steps = 0
        self.checked = 0

    def compete(self, most: cython.const_longlong[::1], rival: cython.const_longlong[::1]) -> None:
        """Take note of the points so far: mappings that cannot lead to better ones are left out from here on."""
        self.most = most
        self.rival = rival

    def loosen(self, most_held: cython.longlong) -> None:
        """Let cores be those of a tile together: any load, and so many bytes in the memories of all at most."""
        self.first, self.most_held = self.price.shape[0], most_held


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _foreseen(at: Tree, e: cython.Py_ssize_t, core: cython.longlong) -> cython.longlong:
    """Return the ticks that an access through channel ``e`` takes at least, of the core and of its crossbar."""
    root: cython.Py_ssize_t = at.mapping.root[e]
    if max(1, at.problem.delay[root]) * at.problem.token_bytes[root] <= at.largest[core]:
        return 0
    return at.problem.ticks[e, at.problem.core_tile[core]]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _access(
    at: Tree, e: cython.Py_ssize_t, core: cython.longlong, memory: cython.longlong, sign: cython.longlong
) -> cython.void:
    """Add or take away what an access asks of the core and the interconnects beyond what was foreseen."""
    charge_access(at.problem, at.load, e, core, memory, sign)
    _foresee(at, e, core, -sign)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _foresee(at: Tree, e: cython.Py_ssize_t, core: cython.longlong, sign: cython.longlong) -> cython.void:
    ticks = sign * _foreseen(at, e, core)
    at.steps += 1
    at.load[at.price.shape[0] + at.problem.core_tile[core]] += ticks
    at.load[core] += ticks


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _apart(at: Tree, actor: cython.Py_ssize_t) -> cython.longlong:
    """Return the ticks of what an actor shares with others than those of one tile, at least."""
    most: cython.longlong = 0
    tiles: cython.Py_ssize_t = at.in_tile.shape[0]
    for tile in range(tiles):
        most = max(most, at.shared[actor, tile])
    return at.shared[actor, tiles] - most


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _note_shared(at: Tree, actor: cython.Py_ssize_t, tile: cython.Py_ssize_t, sign: cython.longlong) -> cython.void:
    """Let actors without a core know that one that they share with is in a tile, or is not any more."""
    k: cython.Py_ssize_t
    if sign > 0:
        at.apart -= _apart(at, actor)
        at.is_placed[actor] = True
    for k in range(at.link_at[actor], at.link_at[actor + 1]):
        other: cython.Py_ssize_t = at.link[k, 1]
        if not at.is_placed[other]:
            at.apart -= _apart(at, other)
            at.shared[other, tile] += sign * at.link[k, 2]
            at.shared[other, at.in_tile.shape[0]] += sign * at.link[k, 2]
            at.apart += _apart(at, other)
    if sign < 0:
        at.is_placed[actor] = False
        at.apart += _apart(at, actor)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put_actor(at: Tree, actor: cython.Py_ssize_t, core: cython.longlong, sign: cython.longlong) -> cython.void:
    """Put an actor on a core, or take it away: its execution, and what its accesses take at least."""
    k: cython.Py_ssize_t
    tile: cython.Py_ssize_t = at.problem.core_tile[core]
    if sign > 0:
        at.core[actor] = core
        at.paid += at.price[core] if at.count[core] == 0 else 0
    at.count[core] += sign
    at.tiles -= at.in_tile[tile] > 0
    at.in_tile[tile] += sign
    at.tiles += at.in_tile[tile] > 0
    _note_shared(at, actor, tile, sign)
    if sign < 0:
        at.paid -= at.price[core] if at.count[core] == 0 else 0
    at.load[core] += sign * at.problem.tau[actor, at.problem.core_type[core]]
    for k in range(at.mapping.writes.starts[actor], at.mapping.writes.starts[actor + 1]):
        _foresee(at, at.mapping.writes.members[k], core, sign)
    for k in range(at.mapping.reads.starts[actor], at.mapping.reads.starts[actor + 1]):
        _foresee(at, at.mapping.reads.members[k], core, sign)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put_buffer(at: Tree, b: cython.Py_ssize_t, memory: cython.longlong, sign: cython.longlong) -> cython.void:
    k: cython.Py_ssize_t
    size: cython.longlong = max(1, at.problem.delay[b]) * at.problem.token_bytes[b]
    at.place[b] = memory
    at.used[memory] += sign * size
    at.held += sign * size if memory < at.price.shape[0] else 0
    _access(at, b, at.core[at.problem.src[b]], memory, sign)
    for k in range(at.mapping.readers.starts[b], at.mapping.readers.starts[b + 1]):
        e = at.mapping.readers.members[k]
        _access(at, e, at.core[at.problem.dst[e]], memory, sign)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _end(at: Tree, b: cython.Py_ssize_t, number: cython.Py_ssize_t) -> cython.longlong:
    """Return the core of a buffer's writer (number 0), of a reader, or of the one that CONS means (1)."""
    first: cython.Py_ssize_t = at.mapping.readers.starts[b]
    last: cython.Py_ssize_t = at.mapping.readers.starts[b + 1]
    most: cython.longlong = 0
    votes: cython.longlong
    if number == 0:
        return at.core[at.problem.src[b]]
    core: cython.longlong = at.core[at.problem.dst[at.mapping.readers.members[first + number - 1]]]
    if at.consumer != 1:
        return core
    best: cython.longlong = core
    for k in range(first, last):
        core = at.core[at.problem.dst[at.mapping.readers.members[k]]]
        votes = 0
        for i in range(first, last):
            other = at.core[at.problem.dst[at.mapping.readers.members[i]]]
            votes += at.problem.core_tile[other] == at.problem.core_tile[core]
        if votes > most:
            most = votes
            best = core
    return best


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _memory(at: Tree, b: cython.Py_ssize_t, choice: cython.longlong) -> cython.longlong:
    """Return the memory of a choice: of the core and the tile of each end, then the global one.

    -1 if an earlier one is the same, or if it has no room.
    """
    cores: cython.longlong = at.problem.core_tile.shape[0]
    memory: cython.longlong = at.problem.limits.shape[0] - 1
    if choice + 1 < _choices(at, b):
        memory = _end(at, b, choice // 2)
        for other in range(choice // 2):
            core = _end(at, b, other)
            if core == memory or (choice % 2 and at.problem.core_tile[core] == at.problem.core_tile[memory]):
                return -1
        if choice % 2:
            memory = cores + at.problem.core_tile[memory]
    size: cython.longlong = max(1, at.problem.delay[b]) * at.problem.token_bytes[b]
    if memory < cores and (size > at.largest[memory] or at.held + size > at.most_held):
        return -1
    return memory if at.used[memory] + size <= at.problem.limits[memory] else -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _choices(at: Tree, b: cython.Py_ssize_t) -> cython.longlong:
    """Return the number of choices of a memory."""
    if at.consumer != 2:
        return GLOBAL + 1
    return 2 * (at.mapping.readers.starts[b + 1] - at.mapping.readers.starts[b]) + 3


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_first(at: Tree, core: cython.Py_ssize_t) -> cython.bint:
    """True for a core in use, and for the first of those that are equal to it as long as they are not."""
    tile: cython.longlong = at.problem.core_tile[core]
    other: cython.Py_ssize_t
    if at.count[core] > 0:
        return True
    for other in range(core):
        if at.count[other] == 0 and at.core_kind[other] == at.core_kind[core] and at.problem.core_tile[other] == tile:
            return False
    if at.in_tile[tile] == 0:
        for other in range(tile):
            if at.in_tile[other] == 0 and at.tile_kind[other] == at.tile_kind[tile]:
                return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _busiest(at: Tree) -> cython.longlong:
    most: cython.longlong = 0
    for i in range(at.first, at.load.shape[0]):
        most = max(most, at.load[i])
    return most


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _may_lead(at: Tree, load: cython.longlong, work: cython.longlong) -> cython.bint:
    """True if at some price the busiest resource, and all cores together, leave room for a period below the rival's."""
    j: cython.Py_ssize_t
    i: cython.Py_ssize_t
    carried: cython.longlong = at.left[1, at.depth] + cython.cast(cython.longlong, at.more * at.apart)
    for i in range(at.in_tile.shape[0]):
        carried += at.load[at.price.shape[0] + i]
    for i in range(at.price.shape[0]):
        work += at.load[i] * at.price[i]
    load = max(load, at.load[at.load.shape[0] - 1] + at.apart)
    for j in range(at.most.shape[0]):
        if load >= at.rival[j]:  # these fall
            return False
        at.checked += 1
        if at.paid > at.most[j] or work > (at.rival[j] - 1) * at.most[j]:
            continue
        tiles: cython.longlong = at.in_tile.shape[0]
        if at.cheapest > 0:
            tiles = min(tiles, at.tiles + (at.most[j] - at.paid) // at.cheapest)
        if carried <= (at.rival[j] - 1) * tiles:
            return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _undo(at: Tree) -> cython.void:
    """Take back the last item that was decided."""
    at.depth -= 1
    item: cython.longlong = at.item[at.depth]
    if item >= 0:
        _put_actor(at, item, at.core[item], -1)
    else:
        _put_buffer(at, -1 - item, at.place[-1 - item], -1)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _decide(at: Tree) -> cython.bint:
    """Decide the next item in the next way that may lead somewhere; False if there is none."""
    item: cython.longlong = at.item[at.depth]
    choices: cython.longlong = at.count.shape[0] if item >= 0 else _choices(at, -1 - item)
    choice: cython.longlong
    while at.choice[at.depth] < choices:
        choice = at.choice[at.depth]
        at.choice[at.depth] += 1
        at.checked += at.count.shape[0] if item >= 0 else 1
        if item >= 0:
            if not at.able[choice, item] or not _is_first(at, choice):
                continue
            _put_actor(at, item, choice, 1)
        else:
            choice = _memory(at, -1 - item, choice)
            if choice < 0:
                continue
            _put_buffer(at, -1 - item, choice, 1)
        at.depth += 1
        at.checked += at.load.shape[0]
        load = _busiest(at)
        if _may_lead(at, load, at.left[0, at.depth]):
            at.busiest[at.depth] = load
            at.choice[at.depth] = 0
            return True
        _undo(at)
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _next(at: Tree, steps: cython.longlong) -> cython.longlong:
    """Go on to the next mapping: 1 if there is one, 0 if there is none left, -1 after so many steps."""
    if at.depth == at.item.shape[0]:
        _undo(at)
    while at.steps < steps:
        decided = _decide(at)
        at.steps += at.checked // CHECKS_PER_STEP
        at.checked %= CHECKS_PER_STEP
        if decided:
            if at.depth == at.item.shape[0]:
                return 1
        elif at.depth == 0:
            return 0
        else:
            _undo(at)
    return -1


def next_mapping(at: Tree, steps: cython.longlong) -> int:
    """Go on to the next mapping that may lead to a better point: 1 if there is one, 0 if not, -1 after some steps."""
    found: cython.longlong
    with cython.nogil:
        found = _next(at, at.steps + steps)
    return int(found)


def begin_again(at: Tree) -> None:
    """Go back to the root, where all is to be looked at."""
    with cython.nogil:
        while at.depth > 0:
            _undo(at)
        at.choice[0] = 0


def first_branch(at: Tree) -> int:
    """Return the number of the branch after the one that the tree is in at its root."""
    return int(at.choice[0])


def mapping_of(at: Tree, one: Genotypes) -> int:
    """Write the mapping that was found into a genotype, its buffers where they are; return its busiest load."""
    with cython.nogil:
        _write(at, one)
    return int(at.busiest[at.depth])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _write(at: Tree, one: Genotypes) -> cython.void:
    cores: cython.longlong = at.problem.core_tile.shape[0]
    for a in range(at.core.shape[0]):
        one.binding[0, a] = at.core[a]
    for b in range(at.place.shape[0]):
        one.decision[0, b] = 0
        if at.mapping.root[b] != b:
            continue
        writer = at.core[at.problem.src[b]]
        memory = at.place[b]
        if memory == at.problem.limits.shape[0] - 1:
            one.decision[0, b] = GLOBAL
        elif memory < cores:
            one.decision[0, b] = 0 if memory == writer else 2
        else:
            one.decision[0, b] = 1 if memory - cores == at.problem.core_tile[writer] else 3


def layout(problem: Problem, mapping: Mapping, genotypes: Genotypes) -> None:
    """Lay out the buffers of a genotype: which channels are one, who writes and reads them."""
    with cython.nogil:
        take_genotype(problem, mapping, genotypes, 0)
