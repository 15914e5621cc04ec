"""The load that a mapping puts on cores and interconnects, kept up to date move by move, and annealing on it.

The busiest resource bounds the period of the mapping from below. Numbers are those of ``mapping_kernels``. Buffers
take as many tokens as they hold at first, at least one, and ``extra`` more.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import exp
from cython.cimports.shorthaul.core.compiled.random_kernels import Random
from cython.cimports.shorthaul.dataflow.exploration.loads_kernels import Loads
from cython.cimports.shorthaul.dataflow.mapping.mapping_kernels import Genotypes, take_genotype

GLOBAL = cython.declare(cython.longlong, 4)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _access(
    at: Loads, e: cython.Py_ssize_t, core: cython.longlong, memory: cython.longlong, sign: cython.longlong
) -> cython.void:
    """Add or take away what an access through channel ``e`` asks of the core and the interconnects on its route."""
    cores: cython.Py_ssize_t = at.problem.core_tile.shape[0]
    tiles: cython.Py_ssize_t = at.problem.ticks.shape[1] - 1
    here: cython.Py_ssize_t
    there: cython.Py_ssize_t
    ticks: cython.longlong
    at.steps += 1
    if memory == core:
        return
    here = at.problem.core_tile[core]
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
    at.load[cores + here] += sign * ticks
    at.load[core] += sign * ticks


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_buffer(at: Loads, b: cython.Py_ssize_t, sign: cython.longlong) -> cython.void:
    """Add or take away all accesses to a buffer, and the bytes that it takes of its memory."""
    k: cython.Py_ssize_t
    tokens: cython.longlong = max(1, at.problem.delay[b]) + at.extra
    at.used[at.place[b]] += sign * tokens * at.problem.token_bytes[b]
    _access(at, b, at.one.binding[0, at.problem.src[b]], at.place[b], sign)
    for k in range(at.mapping.readers.starts[b], at.mapping.readers.starts[b + 1]):
        e = at.mapping.readers.members[k]
        _access(at, e, at.one.binding[0, at.problem.dst[e]], at.place[b], sign)


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
    need: cython.longlong = (max(1, at.problem.delay[b]) + at.extra) * at.problem.token_bytes[b]
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
def _take_out(at: Loads, b: cython.Py_ssize_t) -> cython.void:
    if not at.is_out[b]:
        at.is_out[b] = True
        at.old_place[b] = at.place[b]
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
def _move(at: Loads, actor: cython.Py_ssize_t, core: cython.longlong) -> cython.void:
    """Take an actor's buffers out of the loads and move it to another core."""
    k: cython.Py_ssize_t
    for k in range(at.mapping.writes.starts[actor], at.mapping.writes.starts[actor + 1]):
        _take_out(at, at.mapping.writes.members[k])
    for k in range(at.mapping.reads.starts[actor], at.mapping.reads.starts[actor + 1]):
        _take_out(at, at.mapping.root[at.mapping.reads.members[k]])
    at.moved[at.moved_count] = actor
    at.moved_from[at.moved_count] = at.one.binding[0, actor]
    at.moved_count += 1
    _settle(at, actor, at.one.binding[0, actor], -1)
    at.one.binding[0, actor] = core
    _settle(at, actor, core, 1)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put_back(at: Loads) -> cython.bint:
    """Put the buffers that were taken out into memories and loads again; False if one fits none."""
    fits: cython.bint = True
    i: cython.Py_ssize_t
    for i in range(at.out_count):
        fits = _choose_memory(at, at.out[i]) and fits
        _add_buffer(at, at.out[i], 1)
    return fits


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _undo(at: Loads) -> cython.void:
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
        _add_buffer(at, at.out[i], 1)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _forget(at: Loads) -> cython.void:
    i: cython.Py_ssize_t
    for i in range(at.out_count):
        at.is_out[at.out[i]] = False
    at.out_count = 0
    at.moved_count = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _rebuild(at: Loads) -> cython.bint:
    """Work everything out anew from the genotype; False if the buffers do not fit the memories."""
    fits: cython.bint = True
    _forget(at)
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
def _busiest(at: Loads) -> cython.longlong:
    most: cython.longlong = 0
    for i in range(at.load.shape[0]):
        most = max(most, at.load[i])
    return most


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _energy(at: Loads, most: cython.longlong, weight: cython.double) -> cython.double:
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
def _note(at: Loads, most: cython.longlong) -> cython.void:
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


def begin(at: Loads, genotypes: Genotypes, number: cython.Py_ssize_t, extra: cython.longlong) -> bool:
    """Start from an individual with ``extra`` tokens in every buffer; False if its buffers fit no memories."""
    fits: cython.bint
    with cython.nogil:
        at.extra = extra
        fits = _begin(at, genotypes, number)
    return bool(fits)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _begin(at: Loads, genotypes: Genotypes, number: cython.Py_ssize_t) -> cython.bint:
    fits: cython.bint
    for i in range(at.one.xi.shape[1]):
        at.one.xi[0, i] = genotypes.xi[number, i]
    for i in range(at.one.decision.shape[1]):
        at.one.decision[0, i] = genotypes.decision[number, i]
    for i in range(at.one.binding.shape[1]):
        at.one.binding[0, i] = genotypes.binding[number, i]
    at.best_load = -1
    fits = _rebuild(at)
    if fits:
        _note(at, _busiest(at))
    return fits


def anneal(
    at: Loads,
    random: Random,
    moves: cython.longlong,
    budget: cython.longlong,
    most_bytes: cython.longlong,
    hot: cython.double,
    cold: cython.double,
    weight: cython.double,
    noted_weight: cython.double,
) -> int:
    """Change the mapping move by move; return the load of the best seen on the way within price and bytes, -1 if none.

    The temperature falls from ``hot`` to ``cold``, shares of the load. What is noted as best keeps within ``budget``
    and ``most_bytes``; a mapping beyond them may only come closer to them. The mean square of the loads counts
    ``weight`` beside the largest, and ``noted_weight`` in what is best.
    """
    done: cython.longlong = 0
    heat: cython.double = hot
    fall: cython.double = exp(_log_ratio(hot, cold) / max(1, moves))
    with cython.nogil:
        at.best_load = -1
        energy = _energy(at, _busiest(at), weight)
        while done < moves:
            energy = _try_move(at, random, budget, most_bytes, energy, heat, weight, noted_weight)
            heat *= fall
            done += 1
    return int(at.best_load)


def _log_ratio(hot: float, cold: float) -> float:
    return float(np.log(cold / hot))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _try_move(
    at: Loads, random: Random, budget: cython.longlong, most_bytes: cython.longlong, energy: cython.double,
    heat: cython.double, weight: cython.double, noted_weight: cython.double,
) -> cython.double:  # fmt: skip
    """Make one random move, or undo it; return the energy after it."""
    paid: cython.longlong = at.paid
    size: cython.longlong = at.bytes
    kind: cython.double = random.real()
    flipped: cython.Py_ssize_t = -1
    changed: cython.Py_ssize_t = -1
    before: cython.longlong = 0
    fits: cython.bint
    if kind < 0.03 and at.flips and at.one.xi.shape[1] > 0:
        flipped = random.below(at.one.xi.shape[1])
        at.one.xi[0, flipped] = 1 - at.one.xi[0, flipped]
        fits = _rebuild(at)
    else:
        if kind < 0.25 and at.one.decision.shape[1] > 0:
            changed = at.mapping.root[random.below(at.one.decision.shape[1])]
            before = at.one.decision[0, changed]
            at.one.decision[0, changed] = random.below(5)
            _take_out(at, changed)
        elif kind < 0.75:
            _move_one(at, random, budget)
        elif kind < 0.95:
            _swap(at, random)
        else:
            _move_core(at, random)
        fits = _put_back(at)
    if fits and (at.paid <= budget or at.paid <= paid) and (at.bytes <= most_bytes or at.bytes <= size):
        most = _busiest(at)
        after = _energy(at, most, weight)
        if after <= energy or random.real() < exp((energy - after) / (heat * energy + 1e-9)):
            if at.paid <= budget and at.bytes <= most_bytes:
                worth = _energy(at, most, noted_weight)
                if at.best_load < 0 or worth <= at.best_energy:
                    _note(at, most)
                    at.best_energy = worth
            _forget(at)
            return after
    if flipped >= 0:
        at.one.xi[0, flipped] = 1 - at.one.xi[0, flipped]
        _rebuild(at)
        return _energy(at, _busiest(at), weight)
    if changed >= 0:
        at.one.decision[0, changed] = before
    _undo(at)
    _forget(at)
    return energy


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _drawn(at: Loads, random: Random) -> cython.Py_ssize_t:
    """Return an actor that is there and may move, or -1 if a few draws found none."""
    _turn: cython.Py_ssize_t
    actor: cython.Py_ssize_t
    for _turn in range(8):
        actor = random.below(at.one.binding.shape[1])
        if at.mapping.live[actor] and not at.fixed[actor]:
            return actor
    return -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _runs(at: Loads, actor: cython.Py_ssize_t, core: cython.longlong) -> cython.bint:
    return at.problem.tau[actor, at.problem.core_type[core]] >= 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _move_one(at: Loads, random: Random, budget: cython.longlong) -> cython.void:
    """Move an actor to a core of another's, or to any that the budget allows."""
    actor: cython.Py_ssize_t = _drawn(at, random)
    other: cython.Py_ssize_t = random.below(at.one.binding.shape[1])
    if actor < 0:
        return
    if at.mapping.live[other] and random.real() < 0.6:
        core = at.one.binding[0, other]
    else:
        core = at.able[actor, random.below(at.able_count[actor])]
        if at.count[core] == 0 and at.paid + at.price[core] > budget and at.count[at.one.binding[0, actor]] > 1:
            return
    if core != at.one.binding[0, actor] and _runs(at, actor, core):
        _move(at, actor, core)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _swap(at: Loads, random: Random) -> cython.void:
    """Let two actors change places."""
    actor: cython.Py_ssize_t = _drawn(at, random)
    other: cython.Py_ssize_t = _drawn(at, random)
    if actor < 0 or other < 0:
        return
    here = at.one.binding[0, actor]
    there = at.one.binding[0, other]
    if here != there and _runs(at, actor, there) and _runs(at, other, here):
        _move(at, actor, there)
        _move(at, other, here)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _move_core(at: Loads, random: Random) -> cython.void:
    """Move all that may leave a core to another one, which may be empty; half of the time the other way round too."""
    actor: cython.Py_ssize_t = _drawn(at, random)
    exchange: cython.bint = random.real() < 0.5
    if actor < 0:
        return
    source = at.one.binding[0, actor]
    target = at.able[actor, random.below(at.able_count[actor])]
    if source == target:
        return
    for a in range(at.one.binding.shape[1]):
        if at.mapping.live[a] and not at.fixed[a]:
            core = at.one.binding[0, a]
            if core == source and _runs(at, a, target):
                _move(at, a, target)
            elif exchange and core == target and _runs(at, a, source):
                _move(at, a, source)


def evaluate(at: Loads) -> int:
    """Work the loads out anew and return the busiest resource's; -1 if the buffers fit no memories."""
    most: cython.longlong = -1
    with cython.nogil:
        if _rebuild(at):
            most = _busiest(at)
    return int(most)
