"""Branch and bound over mappings: actors on cores one by one, a buffer in a memory as soon as its actors have cores.

Numbers are those of ``mapping_kernels``. Buffers take as many tokens as they hold at first, at least one. Of cores that
are equal, and of tiles that are, the first is used first, so that mappings that differ only in their names come once.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.shorthaul.dataflow.mapping.mapping_kernels import Genotypes, Mapping, Problem, take_genotype

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
    common_tile: cython.bint
    item: cython.const_longlong[::1]
    price: cython.const_longlong[::1]  # per core, in units
    able: cython.const_uchar[:, ::1]  # by core and actor
    core_kind: cython.const_longlong[::1]
    tile_kind: cython.const_longlong[::1]
    work: cython.const_longlong[::1]  # by depth, the least that what is left adds to the sum of priced loads
    most: cython.const_longlong[::1]
    rival: cython.const_longlong[::1]
    place: cython.longlong[::1]  # per buffer, its memory
    core: cython.longlong[::1]  # per actor
    used: cython.longlong[::1]
    load: cython.longlong[::1]
    count: cython.longlong[::1]  # actors per core
    in_tile: cython.longlong[::1]  # actors per tile
    paid = cython.declare(cython.longlong, visibility="readonly")
    priced: cython.longlong  # the sum of the loads of cores by their prices
    depth: cython.Py_ssize_t
    choice: cython.longlong[::1]  # by depth, the next one
    busiest: cython.longlong[::1]  # by depth
    steps = cython.declare(cython.longlong, visibility="readonly")
    checked: cython.longlong  # loads, cores and prices looked at that do not count as steps yet

    def __init__(
        self, problem: Problem, mapping: Mapping, common_tile: cython.bint, item: cython.const_longlong[::1],
        price: cython.const_longlong[::1], able: cython.const_uchar[:, ::1], core_kind: cython.const_longlong[::1],
        tile_kind: cython.const_longlong[::1], work: cython.const_longlong[::1],
    ) -> None:  # fmt: skip
        self.problem = problem
        self.mapping = mapping
        self.common_tile = common_tile
        self.item = item
        self.price = price
        self.able = able
        self.core_kind = core_kind
        self.tile_kind = tile_kind
        self.work = work
        self.most = np.zeros(0, np.int64)
        self.rival = np.zeros(0, np.int64)
        self.place = np.zeros(problem.src.shape[0], np.int64)
        self.core = np.zeros(problem.tau.shape[0], np.int64)
        self.used = np.zeros(problem.limits.shape[0], np.int64)
        self.load = np.zeros(problem.core_tile.shape[0] + problem.ticks.shape[1], np.int64)
        self.count = np.zeros(problem.core_tile.shape[0], np.int64)
        self.in_tile = np.zeros(problem.ticks.shape[1] - 1, np.int64)
        self.paid = 0
        self.priced = 0
        self.depth = 0
        self.choice = np.zeros(item.shape[0] + 1, np.int64)
        self.busiest = np.zeros(item.shape[0] + 1, np.int64)
        self.steps = 0
        self.checked = 0

    def compete(self, most: cython.const_longlong[::1], rival: cython.const_longlong[::1]) -> None:
        """Take note of the points so far: mappings that cannot lead to better ones are left out from here on."""
        self.most = most
        self.rival = rival


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _charge(at: Tree, resource: cython.Py_ssize_t, ticks: cython.longlong) -> cython.void:
    at.load[resource] += ticks
    if resource < at.price.shape[0]:
        at.priced += ticks * at.price[resource]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _foreseen(at: Tree, e: cython.Py_ssize_t, core: cython.longlong) -> cython.longlong:
    """Return the ticks that an access through channel ``e`` takes at least, of the core and of its crossbar."""
    root: cython.Py_ssize_t = at.mapping.root[e]
    if max(1, at.problem.delay[root]) * at.problem.token_bytes[root] <= at.problem.limits[core]:
        return 0
    return at.problem.ticks[e, at.problem.core_tile[core]]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _access(
    at: Tree, e: cython.Py_ssize_t, core: cython.longlong, memory: cython.longlong, sign: cython.longlong
) -> cython.void:
    """Add or take away what an access asks of the core and the interconnects beyond what was foreseen."""
    cores: cython.Py_ssize_t = at.problem.core_tile.shape[0]
    tiles: cython.Py_ssize_t = at.problem.ticks.shape[1] - 1
    here: cython.Py_ssize_t = at.problem.core_tile[core]
    there: cython.Py_ssize_t
    ticks: cython.longlong
    at.steps += 1
    if memory == core:
        return
    ticks = at.problem.ticks[e, here]
    if memory == cores + tiles:
        ticks = max(ticks, at.problem.ticks[e, tiles])
        at.load[cores + tiles] += sign * ticks
    else:
        there = memory - cores if memory >= cores else at.problem.core_tile[memory]
        if there != here:
            ticks = max(ticks, at.problem.ticks[e, tiles], at.problem.ticks[e, there])
            at.load[cores + tiles] += sign * ticks
            at.load[cores + there] += sign * ticks
    ticks -= _foreseen(at, e, core)
    at.load[cores + here] += sign * ticks
    _charge(at, core, sign * ticks)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _foresee(at: Tree, e: cython.Py_ssize_t, core: cython.longlong, sign: cython.longlong) -> cython.void:
    cores: cython.Py_ssize_t = at.problem.core_tile.shape[0]
    ticks = _foreseen(at, e, core)
    at.steps += 1
    at.load[cores + at.problem.core_tile[core]] += sign * ticks
    _charge(at, core, sign * ticks)


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
    at.in_tile[tile] += sign
    if sign < 0:
        at.paid -= at.price[core] if at.count[core] == 0 else 0
    _charge(at, core, sign * at.problem.tau[actor, at.problem.core_type[core]])
    for k in range(at.mapping.writes.starts[actor], at.mapping.writes.starts[actor + 1]):
        _foresee(at, at.mapping.writes.members[k], core, sign)
    for k in range(at.mapping.reads.starts[actor], at.mapping.reads.starts[actor + 1]):
        _foresee(at, at.mapping.reads.members[k], core, sign)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put_buffer(at: Tree, b: cython.Py_ssize_t, memory: cython.longlong, sign: cython.longlong) -> cython.void:
    k: cython.Py_ssize_t
    at.place[b] = memory
    at.used[memory] += sign * max(1, at.problem.delay[b]) * at.problem.token_bytes[b]
    _access(at, b, at.core[at.problem.src[b]], memory, sign)
    for k in range(at.mapping.readers.starts[b], at.mapping.readers.starts[b + 1]):
        e = at.mapping.readers.members[k]
        _access(at, e, at.core[at.problem.dst[e]], memory, sign)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _consumer(at: Tree, b: cython.Py_ssize_t) -> cython.longlong:
    """Return the core that CONS means for a buffer."""
    first: cython.Py_ssize_t = at.mapping.readers.starts[b]
    last: cython.Py_ssize_t = at.mapping.readers.starts[b + 1]
    core: cython.longlong = at.core[at.problem.dst[at.mapping.readers.members[first]]]
    best: cython.longlong = core
    most: cython.longlong = 0
    votes: cython.longlong
    if not at.common_tile:
        return core
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
def _memory(at: Tree, b: cython.Py_ssize_t, decision: cython.longlong) -> cython.longlong:
    """Return the memory that a decision names; -1 if an earlier one names it too, or if it has no room."""
    cores: cython.longlong = at.problem.core_tile.shape[0]
    memory: cython.longlong = at.problem.limits.shape[0] - 1
    writer: cython.longlong = at.core[at.problem.src[b]]
    reader: cython.longlong
    if decision == 0:
        memory = writer
    elif decision == 1:
        memory = cores + at.problem.core_tile[writer]
    elif decision < GLOBAL:
        reader = _consumer(at, b)
        if decision == 2:
            memory = reader
            if reader == writer:
                return -1
        else:
            memory = cores + at.problem.core_tile[reader]
            if at.problem.core_tile[reader] == at.problem.core_tile[writer]:
                return -1
    if at.used[memory] + max(1, at.problem.delay[b]) * at.problem.token_bytes[b] > at.problem.limits[memory]:
        return -1
    return memory


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
    for i in range(at.load.shape[0]):
        most = max(most, at.load[i])
    return most


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _may_lead(at: Tree, load: cython.longlong, work: cython.longlong) -> cython.bint:
    """True if at some price the busiest resource, and all cores together, leave room for a period below the rival's."""
    j: cython.Py_ssize_t
    for j in range(at.most.shape[0]):
        if load >= at.rival[j]:  # these fall
            return False
        at.checked += 1
        if at.paid <= at.most[j] and at.priced + work <= (at.rival[j] - 1) * at.most[j]:
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
    choices: cython.longlong = at.count.shape[0] if item >= 0 else GLOBAL + 1
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
        if _may_lead(at, load, at.work[at.depth]):
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
