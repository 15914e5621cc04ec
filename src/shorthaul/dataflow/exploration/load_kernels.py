"""Annealing on the loads of cores and interconnects; the busiest one bounds the period of a mapping from below."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import exp
from cython.cimports.shorthaul.core.compiled.random_kernels import Random
from cython.cimports.shorthaul.dataflow.mapping.loads_kernels import (
    Loads,
    busiest,
    energy_of,
    forget,
    move,
    near_memory,
    note,
    put_back,
    rebuild,
    take_out,
    undo,
)
from cython.cimports.shorthaul.dataflow.mapping.mapping_kernels import Genotypes

#: Where buffers exchange places: how often those of actors that moved look for room, and how often an actor that moves
#: goes to the tile of one that it shares a buffer with.
FREE = cython.declare(cython.double, 0.8)
NEIGHBOUR = cython.declare(cython.double, 0.8)


def begin(at: Loads, genotypes: Genotypes) -> bool:
    """Start from the first individual; False if its buffers fit no memories."""
    fits: cython.bint
    with cython.nogil:
        fits = _begin(at, genotypes)
    return bool(fits)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _begin(at: Loads, genotypes: Genotypes) -> cython.bint:
    fits: cython.bint
    for i in range(at.one.xi.shape[1]):
        at.one.xi[0, i] = genotypes.xi[0, i]
    for i in range(at.one.decision.shape[1]):
        at.one.decision[0, i] = genotypes.decision[0, i]
    for i in range(at.one.binding.shape[1]):
        at.one.binding[0, i] = genotypes.binding[0, i]
    at.best_load = -1
    fits = rebuild(at)
    if fits:
        note(at, busiest(at))
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
    and ``most_bytes``; a mapping beyond them may only come closer to them, and every step closer is taken. The mean
    square of the loads counts ``weight`` beside the largest, and ``noted_weight`` in what is best.
    """
    done: cython.longlong = 0
    heat: cython.double = hot
    fall: cython.double = exp(_log_ratio(hot, cold) / max(1, moves))
    with cython.nogil:
        at.best_load = -1
        energy = energy_of(at, busiest(at), weight)
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
    changed: cython.Py_ssize_t
    decided: cython.longlong = at.is_out.shape[0]
    fits: cython.bint
    if kind < 0.03 and at.flips and at.one.xi.shape[1] > 0:
        flipped = random.below(at.one.xi.shape[1])
        at.one.xi[0, flipped] = 1 - at.one.xi[0, flipped]
        fits = rebuild(at)
    else:
        if kind < 0.25 and at.one.decision.shape[1] > 0:
            if at.exchanges and kind > 0.1:
                _displace(at, random)
                decided = 1
            else:
                changed = at.mapping.root[random.below(at.one.decision.shape[1])]
                take_out(at, changed)
                at.one.decision[0, changed] = random.below(5)
        else:
            if kind < 0.75:
                _move_one(at, random, budget)
            elif kind < 0.95:
                _swap(at, random)
            else:
                _move_core(at, random)
            if at.exchanges and random.real() < FREE:
                decided = 0
        fits = put_back(at, random, decided)
    if fits and (at.paid <= budget or at.paid <= paid) and (at.bytes <= most_bytes or at.bytes <= size):
        most = busiest(at)
        after = energy_of(at, most, weight)
        nearer: cython.bint = budget < paid > at.paid or most_bytes < size > at.bytes
        if nearer or after <= energy or random.real() < exp((energy - after) / (heat * energy + 1e-9)):
            if at.paid <= budget and at.bytes <= most_bytes:
                worth = energy_of(at, most, noted_weight)
                if at.best_load < 0 or worth <= at.best_energy:
                    note(at, most)
                    at.best_energy = worth
            forget(at)
            return after
    if flipped >= 0:
        at.one.xi[0, flipped] = 1 - at.one.xi[0, flipped]
        rebuild(at)
        return energy_of(at, busiest(at), weight)
    undo(at)
    forget(at)
    return energy


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _displace(at: Loads, random: Random) -> cython.void:
    """Decide on a near memory for a buffer in the global one, and take out others there until it has room."""
    channels: cython.Py_ssize_t = at.one.decision.shape[1]
    last: cython.longlong = at.problem.limits.shape[0] - 1
    b: cython.Py_ssize_t = at.mapping.root[random.below(channels)]
    _turn: cython.Py_ssize_t
    i: cython.Py_ssize_t
    for _turn in range(8):
        if at.place[b] == last:
            break
        b = at.mapping.root[random.below(channels)]
    take_out(at, b)
    decision = random.below(4)
    memory = near_memory(at, b, decision)
    need = max(1, at.problem.delay[b]) * at.problem.token_bytes[b]
    if need > at.problem.limits[memory]:
        return
    at.one.decision[0, b] = decision
    first = random.below(channels)
    for i in range(channels):
        if at.used[memory] + need <= at.problem.limits[memory]:
            break
        other = first + i if first + i < channels else first + i - channels
        if at.mapping.root[other] == other and at.place[other] == memory:
            take_out(at, other)


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
def _can_pay(
    at: Loads, actor: cython.Py_ssize_t, core: cython.longlong, budget: cython.longlong
) -> cython.bint:  # fmt: skip
    """True if the budget allows a core, or the actor leaves an empty one for it."""
    return at.count[core] > 0 or at.paid + at.price[core] <= budget or at.count[at.one.binding[0, actor]] == 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _move_one(at: Loads, random: Random, budget: cython.longlong) -> cython.void:
    """Move an actor to a core of another's, or to any that the budget allows."""
    actor: cython.Py_ssize_t = _drawn(at, random)
    other: cython.Py_ssize_t = random.below(at.one.binding.shape[1])
    _turn: cython.Py_ssize_t
    if actor < 0:
        return
    if at.exchanges and at.problem.src.shape[0] > 0 and random.real() < NEIGHBOUR:
        channel = random.below(at.problem.src.shape[0])
        actor = at.problem.src[channel]
        other = at.problem.dst[channel]
        if random.real() < 0.5:
            actor = other
            other = at.problem.src[channel]
        if at.fixed[actor] or not at.mapping.live[actor] or not at.mapping.live[other]:
            return
        core = at.one.binding[0, other]
        for _turn in range(8):
            near = at.able[actor, random.below(at.able_count[actor])]
            if at.problem.core_tile[near] == at.problem.core_tile[core] and _can_pay(at, actor, near, budget):
                core = near
                break
    elif at.mapping.live[other] and random.real() < 0.6:
        core = at.one.binding[0, other]
    else:
        core = at.able[actor, random.below(at.able_count[actor])]
        if not _can_pay(at, actor, core, budget):
            return
    if core != at.one.binding[0, actor] and _runs(at, actor, core):
        move(at, actor, core)


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
        move(at, actor, there)
        move(at, other, here)


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
                move(at, a, target)
            elif exchange and core == target and _runs(at, a, source):
                move(at, a, source)


def evaluate(at: Loads) -> int:
    """Work the loads out anew and return the busiest resource's; -1 if the buffers fit no memories."""
    most: cython.longlong = -1
    with cython.nogil:
        if rebuild(at):
            most = busiest(at)
    return int(most)
