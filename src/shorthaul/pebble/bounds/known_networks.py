"""S-partition bounds of networks whose dominators are known: butterflies, pyramids, three-point stencils.

Of the nodes first computed in a segment, every path from the inputs meets what is in fast memory at its start or
loaded in it: D words dominate them. How many nodes D words dominate is known for these networks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from shorthaul.core.search import Search
from shorthaul.pebble import tuning
from shorthaul.pebble.bounds import network_numbering
from shorthaul.pebble.model import Cdag, IntArray
from shorthaul.pebble.workloads import kernels_as_graphs

#: Loads per segment that are tried, in budgets.
_LENGTHS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 8.0, 16.0, 32.0)
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """A recognised network: ``most(D)`` of the nodes that ``counted(D)`` counts are dominated by D words.

    ``most`` grows at least linearly from 0. ``is_reversible`` tells that it holds with all edges turned round too.
    """

    name: str
    most: Callable[[int], float]
    counted: Callable[[int], int]
    is_reversible: bool


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
        and _is_network(cdag, kernels_as_graphs.fft(n=inputs), network_numbering.butterfly, search)
    ):
        return Network("butterfly", lambda d: d * math.log2(max(1, d)), lambda _: computed, is_reversible=True)
    if 2 * computed == inputs * (inputs - 1) and _is_network(
        cdag, kernels_as_graphs.pyramid(n=inputs - 1), partial(row, shared=1), search
    ):
        return Network("pyramid", lambda d: d * (d - 1) / 2, lambda _: computed, is_reversible=False)
    if rest == 0 and _is_network(cdag, kernels_as_graphs.stencil(n=inputs, t=steps), partial(row, shared=2), search):
        return Network("stencil", lambda d: d * d / 4, lambda d: steps * inner_cells(inputs, d), is_reversible=True)
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


def _is_network(
    cdag: Cdag, other: Cdag, numbers_of: Callable[[Cdag, list[IntArray]], IntArray | None], search: Search
) -> bool:
    """True if the graphs are the same, up to the order of nodes where there are not too many."""
    if cdag.n != other.n or cdag.edges != other.edges:
        return False
    if _same(cdag, other, np.arange(cdag.n)):
        return True
    effort = cdag.n / tuning.NUMBERING_RATE
    if cdag.n > tuning.MOST_RENUMBERED or effort > search.left():
        return False
    search.spend(effort)
    rows = network_numbering.levels(cdag)
    if rows is None or [len(row) for row in rows] != [len(row) for row in network_numbering.levels(other) or ()]:
        return False
    numbers = numbers_of(cdag, rows)
    return numbers is not None and _same(cdag, other, numbers)


def _same(cdag: Cdag, other: Cdag, numbers: IntArray) -> bool:
    sources, targets = cdag.edge_arrays()
    first, second = other.edge_arrays()
    return bool((np.sort(numbers[sources] * cdag.n + numbers[targets]) == np.sort(first * cdag.n + second)).all())


def excess(cdag: Cdag, found: Network, budget: int, *, recompute: bool) -> int:
    """Return a lower bound on the traffic beyond inputs and outputs.

    Segments of T loads, cut from the end, compute at most most(budget + T) nodes each, the first one, with r < T loads
    and an empty memory, at most most(r) <= most(budget + T) r / T. Without ``recompute`` the stores are bounded in the
    same way with all edges turned round: what a segment computes and does not store or keep is dominated from above.
    """
    least, widest = int(cdag.weights.min()), int(cdag.weights.max())
    loads = stores = 0.0
    for length in _LENGTHS:
        words = max(1, int(length * budget))
        dominators = (budget + words + widest - 1) // least
        most, counted = found.most(dominators), found.counted(dominators)
        loads = max(loads, words * counted / max(most, 1.0))
        if found.is_reversible and not recompute:
            stores = max(stores, words * counted / (most + dominators))
    inputs, outputs = (int(cdag.weights[chosen].sum()) for chosen in (cdag.is_input(), cdag.is_output()))
    beyond = [math.ceil(moved * (1 - _ROUNDING) - base) for moved, base in ((loads, inputs), (stores, outputs))]
    return sum(max(0, one) for one in beyond)
