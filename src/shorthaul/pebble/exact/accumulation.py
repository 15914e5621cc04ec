"""Plans of the game in which values are accumulated operand by operand: annealed orders of accumulations."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shorthaul.core.compiled.random_kernels import Random
from shorthaul.core.search import Search
from shorthaul.pebble import tuning
from shorthaul.pebble.exact import accumulation_kernels as kernels
from shorthaul.pebble.local_search.sequences import Game
from shorthaul.pebble.model import IntArray
from shorthaul.pebble.plan import Move, Plan, plan_of

_NEVER = 2**62


def improve(game: Game, *, search: Search, goal: int) -> tuple[Plan, int] | None:
    """Return the cheapest plan met and what it pays beside computing; None where all orders need what cannot come back.

    ``goal`` is what no plan pays less than. Rounds grow as those of :mod:`sequences` do.
    """
    annealers = [_annealer(game, order, search) for order in _starts(game)]
    annealer = min(annealers, key=lambda one: one.price)
    if annealer.price >= _NEVER:
        return None
    unit = max(1.0, annealer.price / max(1, game.cdag.edges))
    size, idle = 1, 0
    while annealer.least > goal and not search.expired() and game.cdag.edges > 1:
        before = annealer.least
        kernels.restart(annealer)
        _round(annealer, unit, size * tuning.PRICED_WORK / 4, search)
        if annealer.least < before:
            search.report(best=annealer.least + _paid_alone(game), bound=goal, what="annealing accumulations")
        idle = 0 if annealer.least < before else idle + 1
        size = min(tuning.MOST_PRICED_ROUNDS, 2 * size) if idle else size
        if search.is_unlimited and idle >= tuning.PRICED_PATIENCE:
            break
    moves = kernels.moves_of_best(annealer)
    return plan_of([*moves, *_alone(game)]), annealer.least + _paid_alone(game)


def _round(annealer: kernels.Annealer, unit: float, work: float, search: Search) -> None:
    """Anneal once from hot to cold, some work at a time."""
    work = max(1.0, min(work, search.left() * tuning.PRICED_RATE))
    done = 0.0
    while done < work and not search.expired():
        part = min(tuning.ANNEALING_CALL, int(work - done) + 1)
        before = annealer.work
        heat = tuning.PRICED_HOT * unit, tuning.PRICED_COLD * unit
        kernels.anneal(annealer, *heat, min(1.0, done / work), min(1.0, (done + part) / work), part)
        search.spend((annealer.work - before) / tuning.PRICED_RATE)
        done += annealer.work - before


def _annealer(game: Game, order: IntArray, search: Search) -> kernels.Annealer:
    cdag, terms = game.cdag, game.terms
    sources, targets = (np.ascontiguousarray(side) for side in cdag.edge_arrays())
    load, store = (-1 if price is None else price for price in (terms.load, terms.store))
    operands = np.ascontiguousarray(cdag.parents.degrees())
    given = cdag.given.view(np.uint8)
    board = kernels.Board(sources, targets, cdag.weights, given, operands, game.budget, load, store)
    return kernels.Annealer(board, Random(search.seed), order)


def _starts(game: Game) -> Iterator[IntArray]:
    """Yield orders of all accumulations: value by value, and operand by operand."""
    cdag = game.cdag
    place = np.empty(cdag.n, dtype=np.int64)
    place[cdag.order] = np.arange(cdag.n)
    sources, targets = cdag.edge_arrays()
    yield np.lexsort((place[sources], place[targets]))
    yield np.lexsort((place[targets], place[sources]))


def _alone(game: Game) -> list[tuple[int, int]]:
    """Return the moves of values that are computed from nothing and read by nobody."""
    kinds = [Move.COMPUTE, Move.STORE, Move.DELETE] if game.terms.store is not None else [Move.COMPUTE, Move.DELETE]
    cdag = game.cdag
    alone = np.flatnonzero((cdag.parents.degrees() == 0) & (cdag.children.degrees() == 0)).tolist()
    return [(kind, node) for node in alone for kind in kinds]


def _paid_alone(game: Game) -> int:
    weights = game.cdag.weights
    return (game.terms.store or 0) * sum(int(weights[node]) for kind, node in _alone(game) if kind == Move.COMPUTE)
