"""One mapping with the loads that it puts on cores and interconnects, kept up to date move by move.

Numbers are those of ``mapping_kernels``. Buffers take as many tokens as they hold at first, at least one.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.shorthaul.core.compiled.random_kernels import Random
from cython.cimports.shorthaul.dataflow.mapping.mapping_kernels import (
    Genotypes,
    Mapping,
    Problem,
    charge_access,
    take_genotype,
)

GLOBAL = cython.declare(cython.longlong, 4)
#: How often a buffer with ends in two tiles looks for no room in near memories, where buffers exchange places.
AWAY = cython.declare(cython.double, 0.3)


@cython.final
@cython.cclass
class Loads:
    """One mapping with its loads, the best one since the last look, and what undoing a move takes."""

    def __init__(
        self, problem: Problem, able: cython.const_longlong[:, ::1],
        able_count: cython.const_longlong[::1], fixed: cython.const_uchar[::1], flips: cython.bint,
        common_tile: cython.bint, exchanges: cython.bint = False,
    ) -> None:  # fmt: skip
        actors, channels = problem.tau.shape[0], problem.src.shape[0]
        self.problem = problem
        self.mapping = Mapping(problem)
        self.common_tile = common_tile
        self.price = np.rint(np.asarray(problem.core_cost) * 1e6).astype(np.int64)
        self.able = able
        self.able_count = able_count
        self.flips = flips
        self.exchanges = exchanges
        self.fixed = fixed
        shapes = ((1,), (1, problem.feeding.shape[0]), (1, channels))
        self.one = Genotypes(*(np.zeros(shape, np.int8) for shape in shapes), np.zeros((1, actors), np.int64))
        self.best = Genotypes(*(np.zeros(shape, np.int8) for shape in shapes), np.zeros((1, actors), np.int64))
        self.best_load = -1
        self.best_energy = 0.0
        self.best_bytes = 0
        self.best_price = 0
        self.place = np.zeros(channels, np.int64)
        self.used = np.zeros(problem.limits.shape[0], np.int64)
        self.load = np.zeros(problem.core_tile.shape[0] + problem.ticks.shape[1], np.int64)
        self.count = np.zeros(problem.core_tile.shape[0], np.int64)
        self.paid = 0
        self.bytes = 0
        self.steps = 0
        self.out = np.zeros(channels, np.int64)
        self.out_count = 0
        self.is_out = np.zeros(channels, np.uint8)
        self.old_place = np.zeros(channels, np.int64)
        self.old_decision = np.zeros(channels, np.int8)
        self.moved = np.zeros(actors, np.int64)
        self.moved_from = np.zeros(actors, np.int64)
        self.moved_count = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_buffer(at: Loads, b: cython.Py_ssize_t, sign: cython.longlong) -> cython.void:
    """Add or take away all accesses to a buffer, and the bytes that it takes of its memory."""
    k: cython.Py_ssize_t
    tokens: cython.longlong = max(1, at.problem.delay[b])
    at.used[at.place[b]] += sign * tokens * at.problem.token_bytes[b]
    at.steps += 1 + at.mapping.readers.starts[b + 1] - at.mapping.readers.starts[b]
    charge_access(at.problem, at.load, b, at.one.binding[0, at.problem.src[b]], at.place[b], sign)
    for k in range(at.mapping.readers.starts[b], at.mapping.readers.starts[b + 1]):
        e = at.mapping.readers.members[k]
        charge_access(at.problem, at.load, e, at.one.binding[0, at.problem.dst[e]], at.place[b], sign)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _consumer(at: Loads, b: cython.Py_ssize_t) -> cython.longlong:
    """Return the core that CONS means for a buffer."""
    first: cython.Py_ssize_t = at.mapping.readers.starts[b]
    last: cython.Py_ssize_t = at.mapping.readers.starts[b + 1]
    core: cython.longlong = at.one.binding[0, at.problem.dst[at.mapping.readers.members[first]]]
    best: cython.longlong = core
    most: cython.longlong = 0
    votes: cython.longlong
    if not at.common_tile:
        return core
    for k in range(first, last):
        core = at.one.binding[0, at.problem.dst[at.mapping.readers.members[k]]]
        votes = 0
        for i in range(first, last):
            votes += (
                at.problem.core_tile[at.one.binding[0, at.problem.dst[at.mapping.readers.members[i]]]]
                == at.problem.core_tile[core]
            )
        if votes > most:
            most = votes
            best = core
    return best


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _choose_memory(at: Loads, b: cython.Py_ssize_t) -> cython.bint:
    """Put a buffer where its decision says, or falls through to where there is no room; False if nowhere."""
    cores: cython.longlong = at.problem.core_tile.shape[0]
    last: cython.longlong = at.problem.limits.shape[0] - 1
    need: cython.longlong = max(1, at.problem.delay[b]) * at.problem.token_bytes[b]
    decision: cython.longlong = at.one.decision[0, b]
    at.place[b] = last
    if decision != GLOBAL:
        core = at.one.binding[0, at.problem.src[b]] if decision < 2 else _consumer(at, b)
        tile = cores + at.problem.core_tile[core]
        if decision % 2 == 0 and at.used[core] + need <= at.problem.limits[core]:
            at.place[b] = core
        elif at.used[tile] + need <= at.problem.limits[tile]:
            at.place[b] = tile
    return at.used[at.place[b]] + need <= at.problem.limits[at.place[b]]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def near_memory(at: Loads, b: cython.Py_ssize_t, decision: cython.longlong) -> cython.longlong:
    """Return the memory of a core or tile that a decision means for a buffer."""
    core: cython.longlong = at.one.binding[0, at.problem.src[b]] if decision < 2 else _consumer(at, b)
    return core if decision % 2 == 0 else at.problem.core_tile.shape[0] + at.problem.core_tile[core]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _find_room(at: Loads, random: Random, b: cython.Py_ssize_t) -> cython.bint:
    """Put a buffer into a near memory that has room, in random order, or else the global one; False if nowhere.

    One whose ends are in two tiles, and which saves half as much there, may be put into the global one at once.
    """
    last: cython.longlong = at.problem.limits.shape[0] - 1
    need: cython.longlong = max(1, at.problem.delay[b]) * at.problem.token_bytes[b]
    first: cython.longlong = random.below(4)
    is_away: cython.bint = near_memory(at, b, 1) != near_memory(at, b, 3) and random.real() < AWAY
    for turn in range(0 if is_away else 4):
        memory = near_memory(at, b, first ^ turn)
        if at.used[memory] + need <= at.problem.limits[memory]:
            at.one.decision[0, b] = first ^ turn
            at.place[b] = memory
            return True
    at.one.decision[0, b] = GLOBAL
    at.place[b] = last
    return at.used[last] + need <= at.problem.limits[last]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def take_out(at: Loads, b: cython.Py_ssize_t) -> cython.void:
    """Take a buffer out of its memory and of the loads, unless it is out."""
    if not at.is_out[b]:
        at.is_out[b] = True
        at.old_place[b] = at.place[b]
        at.old_decision[b] = at.one.decision[0, b]
        at.out[at.out_count] = b
        at.out_count += 1
        _add_buffer(at, b, -1)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _settle(at: Loads, actor: cython.Py_ssize_t, core: cython.longlong, sign: cython.longlong) -> cython.void:
    """Add or take away an actor's execution on a core, and the core's price if it is the only one there."""
    at.load[core] += sign * at.problem.tau[actor, at.problem.core_type[core]]
    if sign > 0:
        at.paid += at.price[core] if at.count[core] == 0 else 0
    at.count[core] += sign
    if sign < 0:
        at.paid -= at.price[core] if at.count[core] == 0 else 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def move(at: Loads, actor: cython.Py_ssize_t, core: cython.longlong) -> cython.void:
    """Take an actor's buffers out of the loads and move it to another core."""
    k: cython.Py_ssize_t
    for k in range(at.mapping.writes.starts[actor], at.mapping.writes.starts[actor + 1]):
        take_out(at, at.mapping.writes.members[k])
    for k in range(at.mapping.reads.starts[actor], at.mapping.reads.starts[actor + 1]):
        take_out(at, at.mapping.root[at.mapping.reads.members[k]])
    at.moved[at.moved_count] = actor
    at.moved_from[at.moved_count] = at.one.binding[0, actor]
    at.moved_count += 1
    _settle(at, actor, at.one.binding[0, actor], -1)
    at.one.binding[0, actor] = core
    _settle(at, actor, core, 1)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_back(at: Loads, random: Random, decided: cython.longlong) -> cython.bint:
    """Put the buffers that were taken out into memories and loads again; False if one fits none.

    The first ``decided`` of them go where their decisions say, the others where there is room.
    """
    fits: cython.bint = True
    i: cython.Py_ssize_t
    for i in range(at.out_count):
        fits = (_choose_memory(at, at.out[i]) if i < decided else _find_room(at, random, at.out[i])) and fits
        _add_buffer(at, at.out[i], 1)
    return fits


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def undo(at: Loads) -> cython.void:
    """Put everything back where it was before the move under way."""
    i: cython.Py_ssize_t
    actor: cython.Py_ssize_t
    for i in range(at.out_count):
        _add_buffer(at, at.out[i], -1)
    for i in range(at.moved_count - 1, -1, -1):
        actor = at.moved[i]
        _settle(at, actor, at.one.binding[0, actor], -1)
        at.one.binding[0, actor] = at.moved_from[i]
        _settle(at, actor, at.moved_from[i], 1)
    for i in range(at.out_count):
        at.place[at.out[i]] = at.old_place[at.out[i]]
        at.one.decision[0, at.out[i]] = at.old_decision[at.out[i]]
        _add_buffer(at, at.out[i], 1)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def forget(at: Loads) -> cython.void:
    """Let the move under way be done."""
    i: cython.Py_ssize_t
    for i in range(at.out_count):
        at.is_out[at.out[i]] = False
    at.out_count = 0
    at.moved_count = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def rebuild(at: Loads) -> cython.bint:
    """Work everything out anew from the genotype; False if the buffers do not fit the memories."""
    fits: cython.bint = True
    forget(at)
    take_genotype(at.problem, at.mapping, at.one, 0)
    for i in range(at.used.shape[0]):
        at.used[i] = 0
    for i in range(at.load.shape[0]):
        at.load[i] = 0
    for i in range(at.count.shape[0]):
        at.count[i] = 0
    at.paid = 0
    at.bytes = 0
    for i in range(at.mapping.live.shape[0]):
        if at.mapping.live[i]:
            _settle(at, i, at.one.binding[0, i], 1)
    for i in range(at.mapping.root.shape[0]):
        if at.mapping.root[i] == i:
            fits = _choose_memory(at, i) and fits
            _add_buffer(at, i, 1)
            at.bytes += max(1, at.problem.delay[i]) * at.problem.token_bytes[i]
    return fits


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def busiest(at: Loads) -> cython.longlong:
    """Return the load of the busiest resource."""
    most: cython.longlong = 0
    for i in range(at.load.shape[0]):
        most = max(most, at.load[i])
    return most


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def energy_of(at: Loads, most: cython.longlong, weight: cython.double) -> cython.double:
    """Return the busiest resource's load, and a little for the others: how evenly all are loaded shows the way."""
    squares: cython.double = 0.0
    if most == 0:
        return 0.0
    for i in range(at.load.shape[0]):
        share = at.load[i] / cython.cast(cython.double, most)
        squares += share * share
    return most * (1.0 + weight * squares / at.load.shape[0])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def note(at: Loads, most: cython.longlong) -> cython.void:
    """Take the mapping for the best so far, with decisions that name the memories where its buffers are."""
    cores: cython.longlong = at.problem.core_tile.shape[0]
    last: cython.longlong = at.problem.limits.shape[0] - 1
    decision: cython.longlong
    at.best_load = most
    at.best_bytes = at.bytes
    at.best_price = at.paid
    for i in range(at.one.xi.shape[1]):
        at.best.xi[0, i] = at.one.xi[0, i]
    for i in range(at.one.binding.shape[1]):
        at.best.binding[0, i] = at.one.binding[0, i]
    for i in range(at.one.decision.shape[1]):
        decision = at.one.decision[0, i]
        if at.mapping.root[i] == i:
            if at.place[i] == last:
                decision = GLOBAL
            elif at.place[i] >= cores:
                decision |= 1
        at.best.decision[0, i] = decision
