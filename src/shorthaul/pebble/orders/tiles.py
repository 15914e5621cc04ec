"""Orders by tiles: sums that read the same values are computed side by side, whatever the graph they stand in.

Values read once go with their reader, so that whole sums become one group (:mod:`fusion`), and values with the same
readers become one class. A tile grows from the first group left: next comes what reads nothing new, then the class that
completes most groups per weight, or the group that misses least, up to a size; that gives squares of a matrix product
and blocks of a convolution. Inside a tile, computation goes level by level: all sums advance together, and the operands
stream by. Sizes and shapes are raced, every order judged by its replay with Belady's replacement.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from shorthaul.core.compiled.random_kernels import Random
from shorthaul.core.search import Search
from shorthaul.graphs.csr import distinct, from_arrays
from shorthaul.pebble import tuning
from shorthaul.pebble.model import Cdag, IntArray
from shorthaul.pebble.orders import belady, tile_kernels
from shorthaul.pebble.orders.fusion import Fused, fuse
from shorthaul.pebble.plan import Plan

AnyShape = TypeVar("AnyShape")


@dataclass(frozen=True, slots=True)
class Shape:
    """How to tile.

    ``base`` names an order of :mod:`belady`. ``size`` is the weight of results in a tile. ``late`` computes everything
    in a tile as late as possible instead of as early. With a ``seed``, groups change tiles once these are grown.
    """

    base: str
    size: int
    late: bool
    seed: int | None = None


class Tiler:
    """Tilings of one CDAG; sums, classes and base orders are made once."""

    def __init__(self, cdag: Cdag, sums: Fused, steps: Fused) -> None:
        self._cdag = cdag
        self._sums = sums
        self._steps = steps
        self._reads, self._weights = _classes(sums)
        self._orders: dict[str, IntArray] = {}

    def order(self, shape: Shape, search: Search) -> IntArray | None:
        """Return the order in which ``shape`` computes the nodes that are no inputs, shape (computed nodes,).

        Return None if ``search`` expires before.
        """
        cdag, sums, steps = self._cdag, self._sums, self._steps
        if shape.base not in self._orders:
            order = belady.ORDERS[shape.base](cdag)
            self._orders[shape.base] = order[~cdag.is_input()[order]]
        base = self._orders[shape.base]
        search.spend((cdag.n + cdag.edges) / tuning.PASS_RATE)
        tiles = self.tiles(shape, sums.order_of_groups(base), search)
        if tiles is None or search.expired():
            return None
        tile, turn = tiles
        order = steps.order_of_groups(base)
        group = sums.group_of[steps.heads]
        level = tile_kernels.levels(order, steps.parents.starts, steps.parents.targets, tile[group], shape.late)
        tile, turn = tile[group][order], turn[group][order]
        return steps.expanded(order[np.lexsort((turn, level[order], tile))], base)

    def tiles(self, shape: Shape, order: IntArray, search: Search) -> tuple[IntArray, IntArray] | None:
        """Return the number of the tile that every sum belongs to, and its turn in it, both of shape (sums,).

        Return None if ``search`` expires before.
        """
        sums = self._sums
        computed = ~sums.given
        children = sums.children
        readers = np.repeat(computed, children.degrees())
        waiting = np.bincount(children.targets[readers], minlength=len(computed)).astype(np.int64)
        growth = tile_kernels.Growth(
            order, computed.view(np.uint8), self._reads, children.starts, children.targets, waiting, sums.weights,
            shape.size,
        )  # fmt: skip
        done, work = False, 0
        while not done:
            if search.expired():
                return None
            done = tile_kernels.advance(growth, tuning.ORDER_CALL)
            search.spend((growth.work - work) / tuning.TILES_RATE)
            work = growth.work
        if shape.seed is not None and growth.tiles * len(self._weights) <= tuning.MOST_COUNTS:
            steps = min(tuning.EXCHANGES_OF_ONE * int(computed.sum()), tuning.EXCHANGES)
            heat = float(np.median(self._weights))
            parents, random = sums.parents, Random(shape.seed)
            exchange = tile_kernels.Exchange(growth, parents.starts, parents.targets, random)
            exchange.anneal(steps, tuning.EXCHANGE_HOT * heat, tuning.EXCHANGE_COLD * heat)
            search.spend(steps / tuning.TILES_RATE)
        return np.asarray(growth.tile), np.asarray(growth.turn)


def tiler_of(cdag: Cdag, search: Search) -> Tiler | None:
    """Return the tiler of ``cdag``, None if ``search`` expires before it is made."""
    cost = (cdag.n + cdag.edges) / tuning.PASS_RATE
    sums = fuse(cdag, cdag.n, with_largest=True)
    search.spend(cost)
    if search.expired():
        return None
    steps = fuse(cdag, tuning.FUSED)
    search.spend(cost)
    if search.expired():
        return None
    search.spend(cost)
    return Tiler(cdag, sums, steps)


def _classes(sums: Fused) -> tuple[tile_kernels.Reads, IntArray]:
    """Return which sum reads which class of values, and the weights of the classes.

    Values with the same readers are one class.
    """
    n = len(sums.heads)
    codes = np.random.default_rng(0).integers(1, 2**62, n)  # a class is known by the sum of its readers' codes
    children = sums.children
    running = np.concatenate([[0], np.cumsum(codes[children.targets])])
    _, first, of = np.unique(
        running[children.starts[1:]] - running[children.starts[:-1]], return_index=True, return_inverse=True
    )
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))  # classes are numbered by their first value
    of = rank[of]
    weights = np.bincount(of, weights=sums.weights).astype(np.int64)
    keys = distinct(children.targets * len(first) + np.repeat(of, children.degrees()))
    group, value = keys // len(first), keys % len(first)
    shared = np.bincount(value, minlength=len(first)) > 1  # what one group reads alone says nothing about others
    group, value = group[shared[value]], value[shared[value]]
    reads, readers = from_arrays(n, group, value), from_arrays(len(first), value, group)
    made = np.where(shared[of], of, -1)
    return tile_kernels.Reads(reads.starts, reads.targets, readers.starts, readers.targets, made, weights), weights


def first_shapes(budget: int) -> list[Shape]:
    """Return the shapes tried first."""
    return [
        Shape(base, max(1, int(share * budget)), late)
        for share in tuning.TILES_SIZES
        for base, late in (("given", False), ("depth-first", True))
    ]


def drawn(best: Shape, random: np.random.Generator) -> Shape:
    """Return a shape near ``best``."""
    change = random.random(2) < 0.2
    return Shape(
        base=str(random.choice(["given", "depth-first", "recent-first"])) if change[0] else best.base,
        size=max(1, round(best.size * float(random.uniform(0.75, 1.25)))),
        late=best.late != bool(change[1]),
        seed=int(random.integers(2**31)),
    )


def plan(
    cdag: Cdag,
    budget: int,
    *,
    search: Search,
    incumbent: Plan,
    goal: int = 0,
    patience: int | None = tuning.TILES_PATIENCE,
) -> Plan:
    """Return the best schedule that the race of tilings finds until ``search`` expires, never worse than ``incumbent``.

    It ends early at a traffic of ``goal`` (a lower bound), and after ``patience`` shapes without success (None: never).
    The same seed gives the same plan when it ends by itself.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import matmul
    >>> product = matmul(m=8, n=8, k=8, word=1)
    >>> first = belady.plan(product, 24)
    >>> plan(product, 24, search=Search(), incumbent=first).traffic(product.weights) < first.traffic(product.weights)
    True
    """
    search = search.part(1.0, unlimited=tuning.AUTO_EFFORT)
    is_met = incumbent.traffic(cdag.weights) <= max(goal, cdag.algorithmic_bound())
    if is_met or search.left() < (cdag.n + cdag.edges) / tuning.TILES_RUN_RATE:
        return incumbent
    tiler = tiler_of(cdag, search)
    if tiler is None:
        return incumbent
    best = raced(
        cdag, budget, first_shapes(budget), drawn, tiler.order, search=search, goal=goal, patience=patience,
        what="tiles", incumbent=incumbent,
    )  # fmt: skip
    return incumbent if best is None else best


def raced(
    cdag: Cdag,
    budget: int,
    shapes: list[AnyShape],
    near: Callable[[AnyShape, np.random.Generator], AnyShape],
    order_of: Callable[[AnyShape, Search], IntArray | None],
    *,
    search: Search,
    goal: int,
    patience: int | None,
    what: str,
    incumbent: Plan | None = None,
) -> Plan | None:
    """Return the best schedule of ``shapes``, of others drawn ``near`` the best of them, and ``incumbent``, if any.

    A shape's order is judged by its replay with the penalty that is best so far, with others only if that comes near.
    The race ends at a traffic of ``goal``, when ``search`` expires, and after ``patience`` shapes without a better one
    (None: never). Then the best is all that ``shapes`` holds.
    """
    best = incumbent
    goal = max(goal, cdag.algorithmic_bound())
    random = search.generator()
    waiting = list(shapes)
    leading: tuple[int, AnyShape] | None = None  # of these shapes alone: they may all be worse than the incumbent
    idle, cost, liked = 0, 0.0, belady.PENALTIES[0]
    while (patience is None or idle < patience) and search.left() >= cost:
        if best is not None and best.traffic(cdag.weights) <= goal:
            break
        before = search.spent()
        shape = waiting.pop(0) if waiting or leading is None else near(leading[1], random)
        idle += 1
        order = order_of(shape, search)
        if order is None:
            break
        for penalty in sorted(belady.PENALTIES, key=lambda one: one != liked):
            found = belady.replay_within(cdag, budget, order, penalty=penalty, search=search)
            if found is None:
                break
            moved = found.traffic(cdag.weights)
            if leading is None or moved < leading[0]:
                leading, idle, liked = (moved, shape), 0, penalty
            if best is None or moved < best.traffic(cdag.weights):
                best = found
            if search.expired() or moved > tuning.HOPELESS * leading[0]:
                break
        cost = max(cost, search.spent() - before)
        if best is not None:
            search.keep(best.traffic(cdag.weights), best)
            search.report(best=best.traffic(cdag.weights), bound=goal, what=what)
    shapes[:] = waiting if leading is None else [leading[1]]
    return best
