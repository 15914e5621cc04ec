"""Orders block by block: strips of a table, blocks of a grid at several levels, whatever their nodes are numbered.

Nodes are at places, and what a node reads is nowhere after it along any axis. Places are cut into blocks along all
axes but one, along which each block is computed from end to end: what goes on along that axis stays in fast memory, and
what crosses the sides of a block is stored and loaded once. What is at no place is computed right before it is needed,
or as soon as it can be, or so where its reader is the next place along the axis that blocks go: then it takes the room
of what it reads. Shapes are raced: of all tables and products alike, or of one of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import Final

import numpy as np

from shorthaul.core.search import Search
from shorthaul.pebble import tuning
from shorthaul.pebble.model import Cdag, IntArray
from shorthaul.pebble.orders import order_kernels
from shorthaul.pebble.orders.blocks.product_places import Piece
from shorthaul.pebble.orders.tiles import raced
from shorthaul.pebble.plan import Plan

#: Axes of a place at most.
_MOST_AXES: Final = 4
#: When nodes at no place are computed.
WHEN: Final = ("early along", "late", "early")


@dataclass(frozen=True, slots=True)
class Shape:
    """How to cut into blocks.

    ``axes`` are the axes from the one along which blocks come last to the one that they go along, ``sides`` the sides
    of a block by axis. ``when`` is one of ``WHEN``.
    """

    axes: tuple[int, ...]
    sides: tuple[int, ...]
    when: str


#: A shape for each piece. When nodes at no place are computed is as the first one tells.
Shapes = tuple[Shape, ...]


class Blocks:
    """Orders of one graph by blocks of its pieces."""

    def __init__(self, cdag: Cdag, found: list[Piece]) -> None:
        position = np.empty(cdag.n, np.int64)
        position[cdag.order] = np.arange(cdag.n)
        self._cdag = cdag
        self._pieces = sorted(found, key=lambda piece: int(position[piece[0]].min()))
        self._backwards = cdag.order[::-1].copy()
        self.pieces = len(found)
        self.axes = max(places.shape[1] for _, places in found)

    def order(self, shapes: Shapes, search: Search) -> IntArray:
        """Return the nodes of the graph in the order of the shapes, shape (n,)."""
        cdag, count = self._cdag, self._cdag.n
        search.spend((cdag.n + cdag.edges) / tuning.PASS_RATE)
        rank, rows = np.full(count, -1), []
        placed, when = 0, shapes[0].when
        for number, ((nodes, places), shape) in enumerate(zip(self._pieces, shapes, strict=True)):
            axes = [axis for axis in shape.axes if axis < places.shape[1]]
            order = _by_blocks(places, axes, shape.sides)
            rank[nodes[order]] = placed + np.arange(len(order))
            placed += len(order)
            rows.append(np.full((len(order), _MOST_AXES + 1), number))
            rows[-1][:, : places.shape[1]] = places[order]
            rows[-1][:, axes[-1]] = 0
        late = np.where(rank < 0, count, rank)
        order_kernels.lower_to_children(cdag.order, cdag.parents.starts, cdag.parents.targets, late)
        early = self._raised(rank)
        key = np.where((late == count) | ((rank < 0) & (early >= 0) & (when == "early")), early, late)
        if when == "early along":
            free = np.flatnonzero((rank < 0) & (early >= 0) & (late < count))
            row = np.concatenate(rows)
            along = free[(row[early[free]] == row[late[free]]).all(axis=1)]
            key[along] = early[along]
        key = self._raised(key)[cdag.order]
        return cdag.order[np.argsort(key, kind="stable")]

    def _raised(self, keys: IntArray) -> IntArray:
        """Return for each node the largest key of what it is computed from and its own; -1 is none."""
        count, children = self._cdag.n, self._cdag.children
        turned = count - keys
        order_kernels.lower_to_children(self._backwards, children.starts, children.targets, turned)
        return count - turned


def _by_blocks(places: IntArray, axes: list[int], sides: tuple[int, ...]) -> IntArray:
    """Return the numbers of places, block by block."""
    columns = [places[:, axis] for axis in axes]
    blocks = [column // sides[axis] for column, axis in zip(columns[:-1], axes[:-1], strict=True)]
    return np.lexsort([*columns[-2::-1], columns[-1], *blocks[::-1]])


def first_shapes(axes: int, room: float) -> list[Shape]:
    """Return the shapes tried first in a memory for so many values: small blocks, and some up to twice as long as wide.

    The wide ones are squares of sums that fit in with a column of operands, an operand and the next sum.
    """
    side = max(1, int((math.sqrt(max(0.0, 4 * room - 7)) - 1) / 2))
    found = []
    for both in dict.fromkeys(((max(2, side), 2 * max(2, side)), tuning.BLOCK_SIDES)):
        for blocked, along in product(product(both, repeat=axes - 1), reversed(range(axes))):
            sides = (*blocked[:along], 1, *blocked[along:])
            found.append(Shape((*(axis for axis in range(axes) if axis != along), along), sides, WHEN[0]))
    return found


def drawn(best: Shapes, random: np.random.Generator) -> Shapes:
    """Return shapes where one piece has another one than in ``best``, or all have that one, as often."""
    number = int(random.integers(len(best)))
    other = _drawn(best[number], random)
    if random.random() < 0.5:
        return (other,) * len(best)
    return (*best[:number], other, *best[number + 1 :])


def _drawn(best: Shape, random: np.random.Generator) -> Shape:
    """Return a shape near ``best``, or one from anywhere as often as ``tuning.BLOCKS_ANYWHERE`` tells."""
    count = len(best.axes)
    if random.random() < tuning.BLOCKS_ANYWHERE:
        axes = tuple(random.permutation(count).tolist())
        sides = tuple(int(2**by) for by in random.uniform(0, tuning.BLOCKS_WIDEST, count))
        return Shape(axes, sides, str(random.choice(WHEN)))
    changed = list(best.sides)
    for axis in np.flatnonzero(random.random(count) < 0.5):
        changed[axis] = max(1, round(changed[axis] * random.uniform(0.5, 1.5) + random.uniform(-0.5, 0.5)))
    when = str(random.choice(WHEN)) if random.random() < tuning.BLOCKS_OTHERWISE else best.when
    return Shape(best.axes, tuple(changed), when)


def plan(
    cdag: Cdag, budget: int, found: list[Piece], shapes: list[Shapes] | None = None, *, search: Search, goal: int = 0
) -> Plan | None:
    """Return the best schedule that the race of blocks finds until ``search`` expires, None if there is time for none.

    It ends early at a traffic of ``goal`` (a lower bound), and after some shapes without success. The same seed gives
    the same plan when it ends by itself. ``shapes`` are those to begin with, if any; then the best is all it holds.

    >>> from shorthaul.pebble.orders.blocks.places import pieces
    >>> from shorthaul.pebble.workloads.kernels_as_graphs import pyramid
    >>> cells = pyramid(n=40, word=1)
    >>> best = plan(cells, 8, pieces(cells, search=Search()), search=Search())
    >>> best is not None and best.traffic(cells.weights) < 600
    True
    """
    blocks, search = Blocks(cdag, found), search.part(1.0, unlimited=tuning.AUTO_EFFORT)
    shapes = [] if shapes is None else shapes
    if not shapes:
        first = first_shapes(blocks.axes, budget / float(np.median(cdag.weights)))
        shapes += [(shape,) * blocks.pieces for shape in first]
    return raced(
        cdag, budget, shapes, drawn, blocks.order, search=search, goal=goal,
        patience=tuning.BLOCKS_PATIENCE, what="blocks",
    )  # fmt: skip
