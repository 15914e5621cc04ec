"""Plans of the game in which values are accumulated operand by operand: annealed orders of accumulations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from shorthaul.core.compiled.random_kernels import Random
from shorthaul.core.search import Search
from shorthaul.pebble import tuning
from shorthaul.pebble.exact import accumulation_kernels as kernels
from shorthaul.pebble.local_search.sequences import Game
from shorthaul.pebble.model import Cdag, IntArray, build
from shorthaul.pebble.plan import Move, Plan, plan_of

_NEVER = 2**62


def improve(game: Game, known: Sequence[Plan], *, search: Search, goal: int) -> tuple[Plan, int] | None:
    """Return the cheapest plan met and what it pays beside computing; None where all orders need what cannot come back.

    ``known`` are plans whose orders are starts too, ``goal`` what no plan pays less than. Rounds grow as those of
    :mod:`sequences` do.
    """
    starts = [*_starts(game), *(plan.nodes[plan.kinds == Move.ACCUMULATE] for plan in known)]
    annealers = [_annealer(game, order, search) for order in starts]
    annealer = min(annealers, key=lambda one: one.price)
    if annealer.price >= _NEVER:
        return None
    unit = max(1.0, annealer.price / max(1, game.cdag.edges))
    size, idle = 1, 0
    while annealer.least > goal and not search.expired() and game.cdag.edges > 1:
        before = annealer.least
        kernels.restart(annealer)
        _round(annealer, unit, size * tuning.ACCUMULATION_WORK, search)
        if annealer.least < before:
            search.report(best=annealer.least + _paid_alone(game), bound=goal, what="annealing accumulations")
        idle = 0 if annealer.least < before else idle + 1
        size = min(tuning.MOST_ACCUMULATION_ROUNDS, 2 * size) if idle else size
        if search.is_unlimited and idle >= tuning.ACCUMULATION_PATIENCE:
            break
    moves = kernels.moves_of_best(annealer)
    return plan_of([*moves, *_alone(game)]), annealer.least + _paid_alone(game)


def accumulated(cdag: Cdag, plan: Plan) -> Plan:
    """Return a plan in which every value is computed at once as one that adds its operands one after the other.

    >>> from shorthaul.pebble.model import from_pairs
    >>> plan = accumulated(from_pairs([1, 1, 1], [(0, 2), (1, 2)]), plan_of([(0, 0), (0, 1), (2, 2)]))
    >>> [(kind.name, node) for kind, node in plan]
    [('LOAD', 0), ('LOAD', 1), ('ACCUMULATE', 0), ('ACCUMULATE', 1)]
    """
    into = np.argsort(cdag.edge_arrays()[1], kind="stable")
    starts = np.concatenate([[0], np.cumsum(cdag.parents.degrees())])
    moves: list[tuple[int, int]] = []
    for kind, node in zip(plan.kinds.tolist(), plan.nodes.tolist(), strict=True):
        edges = into[starts[node] : starts[node + 1]].tolist() if kind == Move.COMPUTE else []
        moves += [(int(Move.ACCUMULATE), edge) for edge in edges] or [(kind, node)]
    return plan_of(moves)


def chained(cdag: Cdag) -> tuple[Cdag, IntArray]:
    """Return a graph whose computed nodes are accumulations, each of which reads an operand and the one before it.

    The second array says by node which edge is accumulated there, -1 where none is, shape (n,). Operands go in as they
    stand in ``cdag.order``. A plan there that has room for one value more tells an order in which to accumulate.

    >>> from shorthaul.pebble.model import from_pairs
    >>> graph, edges = chained(from_pairs([1, 1, 1], [(0, 2), (1, 2)]))
    >>> [ends.tolist() for ends in graph.edge_arrays()], edges.tolist()
    ([[0, 1, 2], [2, 3, 3]], [-1, -1, 0, 1])
    """
    place = np.empty(cdag.n, dtype=np.int64)
    place[cdag.order] = np.arange(cdag.n)
    sources, targets = cdag.edge_arrays()
    edges = np.lexsort((place[sources], targets))
    sources, targets = sources[edges], targets[edges]
    roots = np.flatnonzero(cdag.parents.degrees() == 0)
    node = len(roots) + np.arange(cdag.edges)
    goes_on = targets[1:] == targets[:-1]
    complete = np.empty(cdag.n, dtype=np.int64)
    complete[roots] = np.arange(len(roots))
    complete[targets] = node  # the last of several assignments stays
    graph = build(
        cdag.weights[np.concatenate([roots, targets])],
        np.concatenate([complete[sources], node[:-1][goes_on]]),
        np.concatenate([node, node[1:][goes_on]]),
        given=np.concatenate([cdag.given[roots], np.zeros(cdag.edges, dtype=np.bool_)]),
    )
    return graph, np.concatenate([np.full(len(roots), -1), edges])


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
