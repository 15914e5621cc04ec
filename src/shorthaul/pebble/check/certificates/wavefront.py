"""Wavefronts, verified: what is live while a node is computed, whatever was computed before it.

When a node ``of`` is computed (``turn``: "at"), or the first or the last of such nodes ("first", "last"), some of
``nodes`` (null: of all nodes) were computed before, with all that they need. What was, and is read later by one of
``nodes``, is in the room that the node and its operands leave, or pays: an input its next load, another value its
store, too (``times``: 2), or each its next load (1). The least over all sets that may have been computed is a cut in a
network, and any flow through that is no more; SciPy finds the largest. The least over all nodes that may be the first
or the last holds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from shorthaul.pebble.check.certificates.part import Game, Proven, WrongError, whole
from shorthaul.pebble.model import IntArray

#: Capacities are 32-bit numbers in SciPy.
_MOST_CHARGED = 2**29


def proven(game: Game, part: Mapping[str, Any]) -> Proven:
    """Return what a part of the kind ``wavefront`` proves; raises :class:`WrongError`."""
    nodes = np.arange(game.cdag.n) if part.get("nodes") is None else np.sort(game.different(part, "nodes"))
    group, turn, times = game.different(part, "of"), part.get("turn"), whole(part, "times", 1, 2)
    if turn not in ("at", "first", "last"):
        raise WrongError("turn must be at, first, or last")
    if game.cdag.given[group].any() or not np.isin(group, nodes).all():
        raise WrongError("of: must be computed nodes among the others")
    front = _Front(game, nodes, times)
    late, early = (group if turn == key else group[:0] for key in ("first", "last"))
    if turn == "at" and len(group) != 1:
        raise WrongError("of: must be one node")
    return Proven(max(0, min(front.at(int(node), late, early) for node in group)), nodes)


class _Front:
    """The network of some nodes: a value follows its node, a reader its operands, what is live a reader to come."""

    def __init__(self, game: Game, nodes: IntArray, times: int) -> None:
        cdag = game.cdag
        self._times, self._size = times, len(nodes)
        self._place = np.full(cdag.n, -1, dtype=np.int64)
        self._place[nodes] = np.arange(len(nodes))
        sources, targets = cdag.edge_arrays()
        inner = (self._place[sources] >= 0) & (self._place[targets] >= 0)
        self._operand, self._reader = self._place[sources[inner]], self._place[targets[inner]]
        self._rooms = game.budget - cdag.needs()
        self._unit = math.gcd(*cdag.weights[nodes].tolist())
        self._charge = cdag.weights[nodes] // self._unit * np.where(cdag.given[nodes], 1, times)
        self._far = int(self._charge.sum()) + 1
        if self._far > _MOST_CHARGED:
            raise WrongError("weights are too large")

    def at(self, node: int, late: IntArray, early: IntArray) -> int:
        """Return what is paid beyond the room at a node, while some are not computed yet, and some others are."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import maximum_flow

        size, own = self._size, int(self._place[node])
        start, source, sink = 2 * size, 2 * size + 1, 2 * size + 2
        computed, live = np.arange(size), np.arange(size, 2 * size)
        held = self._operand[self._reader == own]
        sure = np.union1d(held, self._place[early])
        sure = sure[sure != own]
        never = np.union1d([own], self._place[late])
        charge = self._charge.copy()
        charge[held] = charge[own] = 0
        onwards = self._reader != own  # what only this node reads is not live
        tails = [computed, self._reader, live[self._operand[onwards]], np.full(len(sure), source), never, [start]]
        heads = [live, self._operand, self._reader[onwards], sure, np.full(len(never), sink), [source]]
        far = sum(map(len, tails)) - size
        capacities = np.concatenate([charge, np.full(far, self._far)])
        rows, columns = np.concatenate(tails), np.concatenate(heads)
        network = csr_array((capacities.astype(np.int32), (rows, columns)), shape=(2 * size + 3, 2 * size + 3))
        flow = int(maximum_flow(network, start, sink).flow_value)
        return flow * self._unit - self._times * int(self._rooms[node])
