"""S-partition bounds of networks whose dominators are known: butterflies, pyramids, three-point stencils.

Of the nodes first computed in a segment, every path from the inputs meets what is in fast memory at its start or
loaded in it: D words dominate them. How many nodes D words dominate is known for these networks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from shorthaul.core.search import Search
from shorthaul.pebble import tuning
from shorthaul.pebble.bounds.networks import network_numbering
from shorthaul.pebble.bounds.piece import names
from shorthaul.pebble.model import Cdag, IntArray
from shorthaul.pebble.workloads import kernels_as_graphs

#: Loads per segment that are tried, in budgets.
_LENGTHS = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 8.0, 16.0, 32.0)
_ROUNDING = 1e-9
#: From so many nodes read and left on, rows of single cells are no better than others in :func:`most_between`.
_FEWEST_ENDS = 15


def _of_butterfly(words: int) -> float:
    return words * math.log2(max(1, words))


def _of_pyramid(words: int) -> float:
    return words * (words - 1) / 2


def _of_stencil(words: int) -> float:
    return words * words / 4


def _all_of(nodes: int, _words: int) -> int:
    return nodes


def _inner_of(steps: int, cells: int, words: int) -> int:
    return steps * inner_cells(cells, words)


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """A recognised network: ``most(D)`` of the nodes that ``counted(D)`` counts are dominated by D words.

    ``most`` grows at least linearly from 0. ``nodes`` are numbered as the generators number them. Its functions stand
    in the module, as a network goes from one process to another.
    """

    name: str
    nodes: IntArray
    most: Callable[[int], float]
    counted: Callable[[int], int]


def recognised(cdag: Cdag, *, search: Search) -> Network | None:
    """Return the network that ``cdag`` is, its nodes in any order; None if it is none of those known.

    Graphs of more nodes than may be numbered anew have to be numbered layer by layer, as the generators do.

    >>> recognised(kernels_as_graphs.fft(n=16), search=Search()).name
    'butterfly'
    """
    inputs = int(cdag.is_input().sum())
    computed = cdag.n - inputs
    if inputs < 2:
        return None
    steps, rest = divmod(computed, inputs)
    is_power = inputs & (inputs - 1) == 0
    row = network_numbering.along_a_row
    if (
        is_power
        and rest == 0
        and steps == inputs.bit_length() - 1
        and (nodes := _as_network(cdag, kernels_as_graphs.fft(n=inputs), network_numbering.butterfly, search))
        is not None
    ):
        return Network("butterfly", nodes, _of_butterfly, partial(_all_of, computed))
    if (
        2 * computed == inputs * (inputs - 1)
        and (nodes := _as_network(cdag, kernels_as_graphs.pyramid(n=inputs - 1), partial(row, shared=1), search))
        is not None
    ):
        return Network("pyramid", nodes, _of_pyramid, partial(_all_of, computed))
    if (
        rest == 0
        and (nodes := _as_network(cdag, kernels_as_graphs.stencil(n=inputs, t=steps), partial(row, shared=2), search))
        is not None
    ):
        return Network("stencil", nodes, _of_stencil, partial(_inner_of, steps, inputs))
    return None


def inner_cells(cells: int, dominators: int) -> int:
    """Return how many cells of a row of a stencil are so far from its ends that D words dominate D^2 / 4 of them.

    What D words dominate falls into connected pieces. The lowest node of a piece in each column is one of the D, so
    that a piece is no wider than its own dominators. Away from the walls every row of it is two cells shorter than the
    one below, D^2 / 4 in all. At a wall it is one cell shorter, but beyond x columns from the wall only D - x of its
    dominators are left, so that it has (D - x)^2 / 2 nodes there, no more than D^2 / 4 from x = 0.293 D on. As many
    words as cells dominate everything.
    """
    if dominators >= cells:
        return 0
    return max(0, cells - 2 * math.ceil(dominators * (1 - math.sqrt(0.5))))


def most_between(cells: int, steps: int, ends: int) -> tuple[float, int] | None:
    """Return how many of how many inner nodes of a stencil a set has at most that reads and leaves K nodes in all.

    A row b of the set and the row a below it have |N(b) - a| + |a - I(b)| of these nodes, where N(b) is what b reads,
    and all that reads I(b) is in b: 2 |b|' where rows grow by no more than b' cells, one more for every cell beyond.
    There b' is 2, or 1 where b is an interval at a wall, as the set meets at most K / 2 < cells - 1 columns. The first
    and the last row cost their cells, too. So rows of the sizes of a hexagon are best, K^2 / 24 in all; rows at a wall
    are cheaper, but if K / 6 of their cells do not count, nothing is gained.
    """
    ends = max(ends, _FEWEST_ENDS)
    if ends >= 2 * (cells - 1):
        return None
    return ends * ends / 24 + 0.5, steps * max(0, cells - 2 * -(-ends // 6))


def _as_network(
    cdag: Cdag, other: Cdag, numbers_of: Callable[[Cdag, list[IntArray]], IntArray | None], search: Search
) -> IntArray | None:
    """Return the nodes in the order of another graph, up to which the two are the same; None if they are not.

    Graphs of very many nodes have to be in that order.
    """
    if cdag.n != other.n or cdag.edges != other.edges:
        return None
    if _same(cdag, other, np.arange(cdag.n)):
        return np.arange(cdag.n)
    effort = cdag.n / tuning.NUMBERING_RATE
    if cdag.n > tuning.MOST_RENUMBERED or effort > search.left():
        return None
    search.spend(effort)
    rows = network_numbering.levels(cdag)
    if rows is None or [len(row) for row in rows] != [len(row) for row in network_numbering.levels(other) or ()]:
        return None
    numbers = numbers_of(cdag, rows)
    return np.argsort(numbers) if numbers is not None and _same(cdag, other, numbers) else None


def _same(cdag: Cdag, other: Cdag, numbers: IntArray) -> bool:
    sources, targets = cdag.edge_arrays()
    first, second = other.edge_arrays()
    return bool((np.sort(numbers[sources] * cdag.n + numbers[targets]) == np.sort(first * cdag.n + second)).all())


@dataclass(frozen=True, slots=True)
class Segments:
    """What a network moves beyond inputs and outputs, by segments of so many words ``loaded``."""

    excess: int
    loaded: int

    def shown(self, found: Network, cdag: Cdag) -> list[dict[str, Any]]:
        """Return the certificate."""
        cuts = {"inputs": int(cdag.given.sum()), "loaded": self.loaded}
        return [{"kind": "network", "network": found.name, **cuts, "nodes": names(cdag, found.nodes)}]


def excess(cdag: Cdag, found: Network, budget: int) -> Segments:
    """Return a lower bound on the traffic beyond inputs and outputs.

    Segments of T loaded words, cut from the end, compute at most most(D) nodes each, the first one, with r < T words
    and an empty memory, at most most(r) <= most(D) r / T. Here D = budget + T - 1: before its first load a segment has
    room for that value, and all others are less than T words.
    """
    least, inputs = int(cdag.weights.min()), int(cdag.weights[cdag.is_input()].sum())
    loads = (0, 1)
    for length in _LENGTHS:
        words = max(1, int(length * budget))
        dominators = (budget + words - 1) // least
        most, counted = found.most(dominators), found.counted(dominators)
        loads = max(loads, (math.ceil(words * counted / max(most, 1.0) * (1 - _ROUNDING) - inputs), words))
    return Segments(*loads)


def moved_at_least(between: Callable[[int], tuple[float, int] | None], budget: int, least: int) -> tuple[int, int]:
    """Return what nodes of ``least`` weight and more move by what segments of them read and leave.

    And how many words each of these segments moves. ``between`` is as :func:`most_between`. No value is computed twice.
    What a segment moves last is in fast memory at its end, and read by others if it was loaded: it counts once.
    """
    moved, best = 0, 1
    for length in _LENGTHS:
        words = max(1, int(length * budget))
        reach = 2 * budget + words - 1
        found = words * _full_segments(between, reach // least, (reach - budget) // least)
        if found > moved:
            moved, best = found, words
    return moved, best


def _full_segments(between: Callable[[int], tuple[float, int] | None], ends: int, fewer: int) -> int:
    """Return how many segments of so many words moved there are at least, beside one that moves fewer.

    What a segment reads was in fast memory at its start, or loaded; what it leaves is there at its end, or stored:
    ``ends`` nodes at most, ``fewer`` of the first and of the last segment, which begin or end with an empty memory.
    """
    most, outer = between(ends), between(fewer)
    if most is None or outer is None or most[1] <= 2 * most[0]:
        return 0
    return math.ceil((most[1] - 2 * outer[0]) / most[0] * (1 - _ROUNDING)) + 1
