"""Parts of a CDAG: what a schedule of the whole does to some nodes is a schedule of these nodes alone.

Strike every move of other nodes out of a schedule. What is left keeps the rules on the nodes of the part, so that it
moves at least what the cheapest schedule of the part does, and every load and store belongs to one node.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from shorthaul.core.search import Search
from shorthaul.graphs.csr import distinct
from shorthaul.pebble.model import Cdag, IntArray, build
from shorthaul.pebble.states import recomputation
from shorthaul.pebble.states.layered_search import Cut, layered

#: How narrow the search is that looks for a cheap schedule of a part before the complete one.
_CUT = Cut(64, per_set=4, greed=0.5)


def restriction(cdag: Cdag, nodes: Iterable[int]) -> tuple[Cdag, IntArray] | None:
    """Return the CDAG of some nodes and the edges among them, and which node each of its nodes is; None without edges.

    A node that reads others outside the part gets one input of their weight that nothing else reads, node -1: it takes
    their room while the node is computed, and is moved once. Nodes without edges are left out.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import fft
    >>> part, nodes = restriction(fft(n=4, word=1), [4, 8])
    >>> part.weights.tolist(), nodes.tolist()
    ([1, 1, 2, 1], [4, 8, -1, -1])
    """
    chosen = distinct(np.fromiter(nodes, dtype=np.int64))
    number = np.full(cdag.n, -1, dtype=np.int64)
    number[chosen] = np.arange(len(chosen))
    degrees = cdag.parents.degrees()[chosen]
    heads = np.repeat(np.arange(len(chosen), dtype=np.int64), degrees)
    first = cdag.parents.starts[chosen] - np.concatenate([[0], np.cumsum(degrees)[:-1]])
    operands = cdag.parents.targets[np.repeat(first, degrees) + np.arange(len(heads))]
    inner = number[operands] >= 0
    if not inner.any():
        return None
    outside = np.zeros(len(chosen), dtype=np.int64)
    np.add.at(outside, heads[~inner], cdag.weights[operands[~inner]])
    gated = np.flatnonzero(outside > 0)
    weights = np.concatenate([cdag.weights[chosen], outside[gated]])
    given = np.concatenate([cdag.given[chosen], np.ones(len(gated), dtype=np.bool_)])
    sources = np.concatenate([number[operands[inner]], len(chosen) + np.arange(len(gated))])
    targets = np.concatenate([heads[inner], gated])
    used = distinct(np.concatenate([sources, targets]))
    members = np.concatenate([chosen, np.full(len(gated), -1)])[used]
    if len(used) < len(weights):
        place = np.cumsum(np.isin(np.arange(len(weights)), used)) - 1
        weights, given, sources, targets = weights[used], given[used], place[sources], place[targets]
    return build(weights, sources, targets, given=given), members


def recomputing(cdag: Cdag, nodes: Iterable[int]) -> recomputation.Game | None:
    """Return the part in which values may be computed again; None if there are no edges.

    What a node reads outside the part takes its room, and may be had for nothing: it can have been computed again.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import fft
    >>> recomputing(fft(n=4, word=1), [0, 4, 8]).outside.tolist()
    [0, 1, 1]
    """
    chosen = distinct(np.fromiter(nodes, dtype=np.int64))
    inside = np.zeros(cdag.n, dtype=np.bool_)
    inside[chosen] = True
    sources, targets = cdag.edge_arrays()
    inner = inside[sources] & inside[targets]
    used = distinct(np.concatenate([sources[inner], targets[inner]]))
    if len(used) == 0:
        return None
    number = np.full(cdag.n, -1, dtype=np.int64)
    number[used] = np.arange(len(used))
    room = cdag.needs() - cdag.weights
    np.subtract.at(room, targets[inner], cdag.weights[sources[inner]])
    given = cdag.given[used]
    outside = np.where(given, 0, room[used])
    part = build(cdag.weights[used], number[sources[inner]], number[targets[inner]], given=given)
    return recomputation.Game(part, outside)


def excess(part: Cdag, budget: int, *, search: Search) -> int | None:
    """Return the least traffic of a part beyond its inputs and outputs if no value is computed twice.

    None if the time was too short to tell.
    """
    found = layered(part, budget, limit=2**60, search=search, cut=_CUT)
    if found.excess is None or found.complete or found.excess == 0:
        return found.excess
    proof = layered(part, budget, limit=found.excess, search=search)
    if not (proof.finished and proof.complete):
        return None
    return found.excess if proof.excess is None else proof.excess


def excess_recomputing(game: recomputation.Game, budget: int, *, search: Search) -> int:
    """Return a lower bound on the traffic of a part beyond its inputs and outputs if values may be computed again."""
    return recomputation.least_excess(game, budget, search=search)
