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
    behind: cython.longlong[::1]  # how many points that are not ranked yet dominate it
    copy: cython.uchar[::1]

    def __init__(
        self,
        points: cython.const_double[:, ::1],
        order: cython.const_longlong[:, ::1],
        rank: cython.longlong[::1],
        crowd: cython.double[::1],
    ) -> None:
        self.points = points
        self.order = order
        self.rank = rank
        self.crowd = crowd
        self.behind = np.zeros(points.shape[0], np.int64)
        self.copy = np.zeros(points.shape[0], np.uint8)


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
def _rank(ranking: Ranking) -> cython.void:
    n: cython.Py_ssize_t = ranking.rank.shape[0]
    left: cython.Py_ssize_t = n
    front: cython.longlong = 0
    for i in range(n):
        ranking.rank[i] = -1
        ranking.crowd[i] = 0.0
        for j in range(i):
            outcome = _compare(ranking.points, i, ranking.points, j)
            if outcome == 0:
                ranking.copy[i] = True
            elif outcome == 1:
                ranking.behind[j] += 1
            elif outcome == 2:
                ranking.behind[i] += 1
    while left:
        for i in range(n):
            if ranking.rank[i] < 0 and ranking.behind[i] == 0:
                ranking.rank[i] = front
                left -= 1
        for i in range(n):
            if ranking.rank[i] == front:
                for j in range(n):
                    if ranking.rank[j] < 0 and _compare(ranking.points, i, ranking.points, j) == 1:
                        ranking.behind[j] -= 1
        _crowd(ranking, front)
        front += 1
    for i in range(n):
        if ranking.copy[i]:
            ranking.rank[i] += front
            ranking.crowd[i] = 0.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _crowd(ranking: Ranking, front: cython.longlong) -> cython.void:
    """Fill the crowding distances of a front: in every objective, how far apart a point's neighbours are."""
    for k in range(ranking.points.shape[1]):
        first = -1
        last = -1
        for i in range(ranking.order.shape[1]):
            if ranking.rank[ranking.order[k, i]] == front:
                last = ranking.order[k, i]
                if first < 0:
                    first = last
        span = ranking.points[last, k] - ranking.points[first, k]
        if ranking.points[last, k] != INF and span > 0:
            before = -1
            here = -1
            for i in range(ranking.order.shape[1]):
                if ranking.rank[ranking.order[k, i]] == front:
                    if before >= 0:
                        ranking.crowd[here] += (
                            ranking.points[ranking.order[k, i], k] - ranking.points[before, k]
                        ) / span
                    before = here
                    here = ranking.order[k, i]
        ranking.crowd[first] = INF
        ranking.crowd[last] = INF


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
