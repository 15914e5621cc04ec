"""Event sequences of the game with prices: annealed, and played as plans."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shorthaul.core.compiled.random_kernels import Random
from shorthaul.core.search import Search
from shorthaul.pebble import tuning
from shorthaul.pebble.local_search import sequence_kernels as kernels
from shorthaul.pebble.local_search.sequence_state_kernels import Annealer, Board, Sequence
from shorthaul.pebble.model import Cdag, IntArray, Terms
from shorthaul.pebble.plan import Move, Plan, plan_of

FlagArray = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class Events:
    """Events in order: event i brings ``nodes[i]`` into fast memory, loaded where ``loads[i]``, else computed."""

    nodes: IntArray
    loads: FlagArray


@dataclass(frozen=True, slots=True, eq=False)
class Game:
    """A graph as plans see it under ``terms``, and what they may do within ``budget``."""

    cdag: Cdag
    budget: int
    recompute: bool
    terms: Terms


def events_of(game: Game, plan: Plan) -> Events:
    """Return the loads and computations of ``plan``; where values cannot be loaded, they are computed or kept."""
    entering = (plan.kinds == Move.LOAD) | (plan.kinds == Move.COMPUTE)
    if not (game.terms.offloads or game.recompute):
        entering &= (plan.kinds == Move.COMPUTE) | game.cdag.given[plan.nodes]
    nodes = plan.nodes[entering]
    loads = (plan.kinds[entering] == Move.LOAD) & (game.terms.offloads | game.cdag.given[nodes])
    return Events(nodes, loads.astype(np.uint8))


def in_order(game: Game) -> Events:
    """Return every value once, in the graph's own order."""
    order = game.cdag.order
    return Events(order, game.cdag.given[order].astype(np.uint8))


def played(game: Game, events: Events) -> Plan:
    """Return the plan: values are stored when first computed, if that is wanted, and dropped after their last use.

    >>> from shorthaul.pebble.model import from_pairs
    >>> chain = Game(from_pairs([1, 1], [(0, 1)]), 2, False, Terms(store=None))
    >>> [kind.name for kind, _ in played(chain, in_order(chain))]
    ['LOAD', 'COMPUTE', 'DELETE', 'DELETE']
    """
    cdag, terms = game.cdag, game.terms
    nodes, loads = events.nodes.tolist(), events.loads.tolist()
    starts, parents = cdag.parents.starts.tolist(), cdag.parents.targets.tolist()
    wanted = cdag.is_output() if terms.store is not None else np.zeros(cdag.n, dtype=np.bool_)
    loaded = np.zeros(cdag.n, dtype=np.bool_)
    loaded[events.nodes[events.loads > 0]] = True
    stored = (wanted | (loaded & ~cdag.given)).tolist()
    latest: dict[int, int] = {}
    last_use = list(range(len(nodes)))
    for at, (node, is_load) in enumerate(zip(nodes, loads, strict=True)):
        if not is_load:
            for parent in parents[starts[node] : starts[node + 1]]:
                last_use[latest[parent]] = at
        latest[node] = at
    leaving: list[list[int]] = [[] for _ in nodes]
    for made, at in enumerate(last_use):
        leaving[at].append(nodes[made])
    moves: list[tuple[int, int]] = []
    weight = cdag.weights.tolist()
    for at, (node, is_load) in enumerate(zip(nodes, loads, strict=True)):
        moves.append((Move.LOAD if is_load else Move.COMPUTE, node))
        gone = leaving[at]
        if terms.in_place:  # the result takes the room of the widest operand that goes, before it is stored
            gone.sort(key=lambda other: (other == node, -weight[other]))
            if gone and gone[0] != node:
                moves.append((Move.DELETE, gone.pop(0)))
        if stored[node] and not is_load:
            moves.append((Move.STORE, node))
            stored[node] = False
        moves.extend((Move.DELETE, other) for other in gone)
    return plan_of(moves)


def improve(game: Game, start: Events, *, search: Search, goal: int) -> tuple[Events, int] | None:
    """Return the best sequence met that fits, with its price, when annealing from ``start``; None if none fits.

    Rounds grow while they fail; each begins with the best so far, or goes on while none fits. What does not fit is
    charged for each step and unit of weight above the budget; the charge rises in every round, after it until the
    sequence fits, and from round to round while rounds end with one that does not.
    """
    annealer, names = _annealer(game, start, search)
    if not kernels.set_up(annealer):
        raise AssertionError("a sequence breaks its rules")
    weights = game.cdag.weights
    unit = max(1.0, game.terms.least(game.cdag) / len(start.nodes))
    penalty = tuning.FIRST_PENALTY * unit / float(np.median(weights))
    size, idle = 1, 0
    while not search.expired() and not (annealer.has_best and annealer.best.price <= goal):
        before = annealer.best.price if annealer.has_best else None
        kernels.restart(annealer)
        work = size * tuning.PRICED_WORK * len(start.nodes)
        _round(annealer, unit, penalty, work, search)
        if annealer.now.excess:
            _squeeze(annealer, unit, penalty * tuning.PENALTY_RISE, tuning.SQUEEZED_WORK * work, search)
            penalty *= tuning.PENALTY_GROWTH
        after = annealer.best.price if annealer.has_best else None
        if after is not None and after != before:
            search.report(best=after, bound=goal, what="annealing events")
        idle = idle + 1 if after == before else 0
        size = min(tuning.MOST_PRICED_ROUNDS, 2 * size) if idle else size
        if search.is_unlimited and idle >= tuning.PRICED_PATIENCE:
            break
    if not annealer.has_best:
        return None
    best = annealer.best
    nodes = names[np.asarray(best.nodes)[: best.size]]
    return Events(nodes, np.asarray(best.loads)[: best.size].copy()), best.price


def _round(annealer: Annealer, unit: float, penalty: float, work: float, search: Search) -> None:
    """Anneal once from hot to cold, some work at a time."""
    work = max(1.0, min(work, search.left() * tuning.PRICED_RATE))
    hot, cold = (tuning.PRICED_REHEAT if annealer.has_best else tuning.PRICED_HOT) * unit, tuning.PRICED_COLD * unit
    done = 0.0
    while done < work and not search.expired():
        part = min(tuning.ANNEALING_CALL, int(work / tuning.PRICED_CALLS) + 1, int(work - done) + 1)
        before = annealer.work
        charge = penalty * tuning.PENALTY_RISE ** (done / work)
        kernels.anneal(annealer, hot, cold, charge, min(1.0, done / work), min(1.0, (done + part) / work), part)
        search.spend((annealer.work - before) / tuning.PRICED_RATE)
        done += annealer.work - before


def _squeeze(annealer: Annealer, unit: float, charge: float, work: float, search: Search) -> None:
    """Go on at the lowest temperature while the charge doubles, until the sequence fits."""
    cold, part = tuning.PRICED_COLD * unit, min(tuning.ANNEALING_CALL, int(work / tuning.PRICED_CALLS) + 1)
    last = annealer.work + work
    while annealer.work < last and annealer.now.excess and not search.expired():
        before = annealer.work
        charge *= tuning.PENALTY_GROWTH
        kernels.anneal(annealer, cold, cold, charge, 0.0, 1.0, part)
        search.spend((annealer.work - before) / tuning.PRICED_RATE)


def _annealer(game: Game, start: Events, search: Search) -> tuple[Annealer, IntArray]:
    """Return the annealer at ``start``, its nodes numbered along the graph's order, and their names."""
    cdag, terms = game.cdag, game.terms
    names = cdag.order
    number = np.empty(cdag.n, dtype=np.int64)
    number[names] = np.arange(cdag.n)
    sources, targets = cdag.edge_arrays()
    order = np.argsort(number[targets], kind="stable")
    starts = np.concatenate([[0], np.cumsum(cdag.parents.degrees()[names])])
    board = Board(
        starts, number[sources][order], cdag.weights[names], cdag.compute[names],
        cdag.given[names].view(np.uint8), cdag.is_output()[names].view(np.uint8), game.budget,
        (-1 if terms.load is None else terms.load, -1 if terms.store is None else terms.store),
        game.recompute, terms.in_order, terms.in_place,
    )  # fmt: skip
    room = len(start.nodes) + tuning.MOST_REPEATS * cdag.n + 64
    now, best = (Sequence(number[start.nodes], start.loads, room, cdag.n) for _ in range(2))
    return Annealer(board, Random(search.seed), now, best), names
