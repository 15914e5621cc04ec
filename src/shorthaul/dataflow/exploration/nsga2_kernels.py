"""The inner loops of NSGA-II: ranking, variation, the archive."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.shorthaul.dataflow.mapping.mapping_kernels import Genotypes

INF = cython.declare(cython.double, float("inf"))


@cython.final
@cython.cclass
class Ranking:
    """Points, their fronts and crowding distances, and what finding those takes."""

    points: cython.const_double[:, ::1]
    order: cython.const_longlong[:, ::1]  # by objective, the numbers of the points from low to high
    rank: cython.longlong[::1]
    crowd: cython.double[::1]
    sequence: cython.longlong[::1]  # the numbers by all objectives, the first one first, equal ones by rising number
    latest: cython.longlong[::1]  # per front, its last point so far, and per point the one before it
    before: cython.longlong[::1]
    first: cython.longlong[::1]  # per front, its first point in an objective
    copy: cython.uchar[::1]

    def __init__(
        self,
        points: cython.const_double[:, ::1],
        order: cython.const_longlong[:, ::1],
        rank: cython.longlong[::1],
        crowd: cython.double[::1],
    ) -> None:
        n = points.shape[0]
        self.points = points
        self.order = order
        self.rank = rank
        self.crowd = crowd
        self.sequence, self.latest, self.before, self.first = np.full((4, n), -1, np.int64)
        self.copy = np.zeros(n, np.uint8)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _compare(
    points: cython.const_double[:, ::1], i: cython.Py_ssize_t, others: cython.const_double[:, ::1], j: cython.Py_ssize_t
) -> cython.longlong:
    """Return 0 if the points are equal, 1 if the first dominates the second, 2 the other way round, 3 otherwise."""
    outcome: cython.longlong = 0
    for k in range(points.shape[1]):
        if points[i, k] < others[j, k]:
            outcome |= 1
        elif points[i, k] > others[j, k]:
            outcome |= 2
        if outcome == 3:
            break
    return outcome


def rank_and_crowd(
    points: cython.const_double[:, ::1],
    order: cython.const_longlong[:, ::1],
    rank: cython.longlong[::1],
    crowd: cython.double[::1],
) -> None:
    """Fill the front (from 0) and the crowding distance of every point; copies of a point rank behind everything.

    ``order[k]`` are the numbers of the points by rising objective k, equal ones by rising number.
    """
    ranking = Ranking(points, order, rank, crowd)
    with cython.nogil:
        _rank(ranking)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _comes_later(points: cython.const_double[:, ::1], i: cython.longlong, j: cython.longlong) -> cython.bint:
    """True if point ``i`` comes after point ``j`` by all objectives, the first one first, then by number."""
    for k in range(points.shape[1]):
        if points[i, k] != points[j, k]:
            return points[i, k] > points[j, k]
    return i > j


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_behind(ranking: Ranking, i: cython.longlong, front: cython.longlong) -> cython.bint:
    """True if a point of a front, the last one first, dominates point ``i``; notes whether one equals it."""
    j: cython.longlong = ranking.latest[front]
    while j >= 0:
        outcome = _compare(ranking.points, j, ranking.points, i)
        if outcome == 1:
            return True
        if outcome == 0:
            ranking.copy[i] = True
            return False
        j = ranking.before[j]
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _rank(ranking: Ranking) -> cython.void:
    """Fill ranks: from the first point by all objectives on, each joins the first front without one ahead of it.

    Zhang and others, *An efficient approach to nondominated sorting*, 2015.
    """
    n: cython.Py_ssize_t = ranking.rank.shape[0]
    place: cython.Py_ssize_t
    fronts: cython.longlong = 0
    front: cython.longlong
    for i in range(n):  # equal first objectives are few
        place = i
        while place and _comes_later(ranking.points, ranking.sequence[place - 1], ranking.order[0, i]):
            ranking.sequence[place] = ranking.sequence[place - 1]
            place -= 1
        ranking.sequence[place] = ranking.order[0, i]
    for i in range(n):
        front = 0
        while front < fronts and _is_behind(ranking, ranking.sequence[i], front):
            front += 1
        fronts = max(fronts, front + 1)
        ranking.rank[ranking.sequence[i]] = front
        ranking.before[ranking.sequence[i]] = ranking.latest[front]
        ranking.latest[front] = ranking.sequence[i]
    _crowd(ranking, fronts)
    for i in range(n):
        if ranking.copy[i]:
            ranking.rank[i] += fronts
            ranking.crowd[i] = 0.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _crowd(ranking: Ranking, fronts: cython.longlong) -> cython.void:
    """Fill the crowding distances: in every objective, how far apart a point's neighbours in its front are."""
    i: cython.Py_ssize_t
    front: cython.longlong
    for i in range(ranking.crowd.shape[0]):
        ranking.crowd[i] = 0.0
    for k in range(ranking.points.shape[1]):
        for front in range(fronts):
            ranking.first[front] = -1
            ranking.latest[front] = -1
        for i in range(ranking.order.shape[1]):
            p = ranking.order[k, i]
            front = ranking.rank[p]
            if ranking.first[front] < 0:
                ranking.first[front] = p
            ranking.before[p] = ranking.latest[front]
            ranking.latest[front] = p
        for i in range(ranking.order.shape[1]):
            p = ranking.order[k, i]
            front = ranking.rank[p]
            here = ranking.before[p]
            span = ranking.points[ranking.latest[front], k] - ranking.points[ranking.first[front], k]
            if here >= 0 and ranking.before[here] >= 0 and ranking.points[ranking.latest[front], k] != INF and span > 0:
                ranking.crowd[here] += (ranking.points[p, k] - ranking.points[ranking.before[here], k]) / span
        for front in range(fronts):
            ranking.crowd[ranking.first[front]] = INF
            ranking.crowd[ranking.latest[front]] = INF


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _tournament(
    first: cython.double, second: cython.double, rank: cython.const_longlong[::1], crowd: cython.const_double[::1]
) -> cython.Py_ssize_t:
    a: cython.Py_ssize_t = cython.cast(cython.longlong, first * rank.shape[0])
    b: cython.Py_ssize_t = cython.cast(cython.longlong, second * rank.shape[0])
    if rank[a] != rank[b]:
        return a if rank[a] < rank[b] else b
    return a if crowd[a] >= crowd[b] else b


@cython.final
@cython.cclass
class Variation:
    """One generation of parents and children, and the random numbers that make these from those."""

    draws: cython.const_double[:, ::1]
    crossover: cython.double
    rank: cython.const_longlong[::1]
    crowd: cython.const_double[::1]
    parents: Genotypes
    children: Genotypes
    able: cython.const_longlong[:, ::1]  # the cores that can run each actor
    able_count: cython.const_longlong[::1]

    def __init__(
        self,
        draws: cython.const_double[:, ::1],
        crossover: cython.double,
        rank: cython.const_longlong[::1],
        crowd: cython.const_double[::1],
        parents: Genotypes,
        children: Genotypes,
        able: cython.const_longlong[:, ::1],
        able_count: cython.const_longlong[::1],
    ) -> None:
        self.draws = draws
        self.crossover = crossover
        self.rank = rank
        self.crowd = crowd
        self.parents = parents
        self.children = children
        self.able = able
        self.able_count = able_count


def vary(variation: Variation) -> None:
    """Fill the children: binary tournaments, uniform crossover, mutation, and whole cores vacated or moved.

    ``draws`` holds 16 + 3 * genes uniform numbers per child; which gene evolves is not decided here.
    """
    with cython.nogil:
        for child in range(variation.draws.shape[0]):
            _recombine(variation, variation.parents, variation.children, child)
            if variation.draws[child, 6] < 0.2:
                _move_core(variation, variation.children, child)
            elif variation.draws[child, 6] < 0.25:
                _decide_alike(variation, variation.children, child)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _recombine(
    variation: Variation, parents: Genotypes, children: Genotypes, child: cython.Py_ssize_t
) -> cython.void:  # fmt: skip
    """Take every gene from one of two parents, or change it: in most children a gene or two, in some many."""
    multicasts: cython.Py_ssize_t = parents.xi.shape[1]
    channels: cython.Py_ssize_t = parents.decision.shape[1]
    actors: cython.Py_ssize_t = parents.binding.shape[1]
    genes: cython.Py_ssize_t = 1 + multicasts + channels + actors
    mutate: cython.bint
    mother = _tournament(variation.draws[child, 0], variation.draws[child, 1], variation.rank, variation.crowd)
    father = mother
    if variation.draws[child, 4] < variation.crossover:
        father = _tournament(variation.draws[child, 2], variation.draws[child, 3], variation.rank, variation.crowd)
    rate = (1.0 if variation.draws[child, 5] < 0.7 else 4.0) / genes
    for gene in range(genes):
        parent = mother if variation.draws[child, 16 + 3 * gene] < 0.5 else father
        mutate = variation.draws[child, 17 + 3 * gene] < rate
        value = variation.draws[child, 18 + 3 * gene]
        if gene == 0:
            children.compact[child] = 1 - parents.compact[parent] if mutate else parents.compact[parent]
        elif gene <= multicasts:
            i = gene - 1
            children.xi[child, i] = 1 - parents.xi[parent, i] if mutate else parents.xi[parent, i]
        elif gene <= multicasts + channels:
            i = gene - 1 - multicasts
            children.decision[child, i] = parents.decision[parent, i]
            if mutate:
                children.decision[child, i] = cython.cast(cython.longlong, value * 5)
        else:
            i = gene - 1 - multicasts - channels
            children.binding[child, i] = parents.binding[parent, i]
            if mutate:
                children.binding[child, i] = _able_core(variation, i, value)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _able_core(variation: Variation, actor: cython.Py_ssize_t, value: cython.double) -> cython.longlong:
    return variation.able[actor, cython.cast(cython.longlong, value * variation.able_count[actor])]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _move_core(variation: Variation, children: Genotypes, child: cython.Py_ssize_t) -> cython.void:
    """Vacate a core into another that is used, or move it to any core."""
    actors: cython.Py_ssize_t = children.binding.shape[1]
    source: cython.longlong = children.binding[child, cython.cast(cython.longlong, variation.draws[child, 7] * actors)]
    other: cython.Py_ssize_t = cython.cast(cython.longlong, variation.draws[child, 8] * actors)
    k: cython.Py_ssize_t
    if variation.draws[child, 9] < 0.5:
        target = children.binding[child, other]
    else:
        target = _able_core(variation, other, variation.draws[child, 10])
    for a in range(actors):
        if children.binding[child, a] == source:
            for k in range(variation.able_count[a]):
                if variation.able[a, k] == target:
                    children.binding[child, a] = target


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _decide_alike(variation: Variation, children: Genotypes, child: cython.Py_ssize_t) -> cython.void:
    """Give a run of channels, up to a quarter of all, the same decision."""
    channels: cython.Py_ssize_t = children.decision.shape[1]
    first: cython.Py_ssize_t = cython.cast(cython.longlong, variation.draws[child, 7] * channels)
    span: cython.Py_ssize_t = 1 + cython.cast(cython.longlong, variation.draws[child, 9] * channels * 0.25)
    for c in range(first, min(first + span, channels)):
        children.decision[child, c] = cython.cast(cython.longlong, variation.draws[child, 8] * 5)


def entering(
    points: cython.const_double[:, ::1],
    candidates: cython.const_double[:, ::1],
    kept: cython.uchar[::1],
    entered: cython.uchar[::1],
) -> None:
    """Fill which of the archived points stay and which candidates enter the archive."""
    with cython.nogil:
        for i in range(points.shape[0]):
            kept[i] = True
        for i in range(candidates.shape[0]):
            entered[i] = _enters(points, candidates, i)
            if entered[i]:
                _discard(points, candidates, i, kept)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _enters(
    points: cython.const_double[:, ::1], candidates: cython.const_double[:, ::1], i: cython.Py_ssize_t
) -> cython.bint:
    """True if no archived point is as good as candidate ``i``, and no other candidate better or the same before it."""
    if candidates[i, 0] == INF:
        return False
    for j in range(points.shape[0]):
        if _compare(points, j, candidates, i) < 2:
            return False
    for j in range(candidates.shape[0]):
        outcome = _compare(candidates, j, candidates, i)
        if outcome == 1 or (outcome == 0 and j < i):
            return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _discard(
    points: cython.const_double[:, ::1],
    candidates: cython.const_double[:, ::1],
    i: cython.Py_ssize_t,
    kept: cython.uchar[::1],
) -> cython.void:
    """Mark the archived points that candidate ``i`` dominates as not kept."""
    for j in range(points.shape[0]):
        if _compare(candidates, i, points, j) == 1:
            kept[j] = False
