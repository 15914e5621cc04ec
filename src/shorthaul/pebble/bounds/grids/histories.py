"""Lower bounds from iterations over grids of cells: what segments of a schedule read and leave.

Let a schedule that computes no value twice be cut after every q-th of the N nodes counted; the last segment takes the
rest as well. What the nodes of a segment read outside it was in fast memory at its start, or is loaded in it, since it
was computed before, or is an input. What others read of them, or is an output, is in fast memory at its end, or is
stored in it. So a segment loads and stores what its nodes read and leave (:mod:`isoperimetry`), but for one memory at
its start and one at its end, which are empty at the start and of no use at the end of the whole schedule. A cut comes
right before a node counted is computed (:func:`~shorthaul.pebble.bounds.piece.most_held`). What is not
counted (a first level that is no input, a last level that is no output) may be computed in the same segment. On a line
of cells, those near its ends need not be counted (:func:`known_networks.most_between`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from shorthaul.core.search import Search
from shorthaul.pebble import tuning
from shorthaul.pebble.bounds.grids import grid_search, isoperimetry
from shorthaul.pebble.bounds.grids.grid_search import History
from shorthaul.pebble.bounds.networks import known_networks
from shorthaul.pebble.bounds.piece import Piece, most_held, names
from shorthaul.pebble.model import Cdag, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A lower bound on the traffic beyond inputs and outputs, and disjoint pieces that it is the sum of."""

    excess: int
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Cuts:
    """An iteration over a box of cells, cut after every ``segment`` nodes, sizes in classes of a ``unit``.

    With ``rows``, after so many words; with ``is_space``, sets are taken to be far from all walls. ``excess`` is what
    it moves beyond inputs and outputs.
    """

    history: History
    excess: int
    unit: int
    segment: int
    rows: bool = False
    is_space: bool = False

    def shown(self, cdag: Cdag) -> list[dict[str, Any]]:
        nodes, cuts = self.history.nodes, {"rows": self.rows, "unit": self.unit, "segment": self.segment}
        box = {"kind": "grid", "sides": list(nodes.shape), "corners": self.history.has_corners}
        links: dict[str, Any] = {}
        if self.history.links:
            links = {"both": self.history.is_two_way, "links": names(cdag, np.concatenate(self.history.links))}
        return [{**box, "space": self.is_space, **cuts, "nodes": names(cdag, nodes), **links}]


def excess(cdag: Cdag, budget: int, *, search: Search) -> Found:
    """Return what the iterations over grids found in a graph move beyond inputs and outputs at least."""
    pieces = []
    for found in grid_search.histories(cdag, search=search):
        cuts = _cut(cdag, _with_one_kind_of_start(cdag, found), budget, search)
        if cuts.excess > 0:
            moved = cuts.history.moved
            pieces.append(Piece(moved, cuts.excess, cuts.shown, len(moved)))
    return Found(sum(piece.excess for piece in pieces), tuple(pieces))


def _with_one_kind_of_start(cdag: Cdag, found: History) -> History:
    """Return the iteration without a first level of inputs and others: first loads are no excess, others may be."""
    given = cdag.given[found.nodes[0]]
    return found.without_first_level() if given.any() and not given.all() else found


def _cut(cdag: Cdag, found: History, budget: int, search: Search) -> _Cuts:
    """Return the bound on what the nodes of an iteration move beyond inputs and outputs, by the best cuts."""
    nodes = found.nodes
    is_open = not cdag.given[nodes[0]].all(), not cdag.is_output()[nodes[-1]].all()
    counted = nodes[1 : len(nodes) - is_open[1]].ravel()
    weights, least = cdag.weights[nodes], int(cdag.weights[found.moved].min())
    moved, best = 0, _Cuts(found, 0, 1, 1)
    is_read = np.zeros(cdag.n, np.bool_)
    is_read[found.moved] = True
    held = most_held(cdag, counted, is_read & ~cdag.given, is_read, budget, least)
    known = int(weights[0].sum()) * (not is_open[0]) + int(weights[-1].sum()) * (not is_open[1])
    for is_space in (False, True):
        more, unit, segment = _segmented(
            found, len(counted), held, is_open, is_space, search.part(tuning.GRID_CUTS_SHARE)
        )
        if more * least > moved:
            moved = more * least
            best = _Cuts(found, max(0, moved - known), unit, segment, is_space=is_space)
    if nodes.ndim == 2 and not any(is_open):
        between = partial(known_networks.most_between, nodes.shape[1], len(nodes) - 1)
        in_rows, words = known_networks.moved_at_least(between, budget, least)
        if in_rows > moved:
            best = _Cuts(found, max(0, in_rows - known), 1, words, rows=True)
    return best


def _segmented(
    found: History, counted: int, held: IntArray, is_open: tuple[bool, bool], is_space: bool, search: Search
) -> tuple[int, int, int]:
    """Return how many nodes are moved at least, with which unit and size of segments; so many are ``held`` at cuts."""
    nodes, moved, cut, between = found.nodes, 0, (1, 1), None
    sides = nodes.shape[1:]
    lost = (len(nodes) - 1) * isoperimetry.lost_at_walls(sides, has_corners=found.has_corners) * is_space
    if found.is_two_way:
        lost += (len(nodes) - 1) * isoperimetry.lost_links(sides) * is_space
    for unit, most in tuning.GRID_LINKED_CLASSES if found.is_two_way else tuning.GRID_CLASSES:
        widest = min(2 * most, -(-nodes[0].size // unit))
        effort = 2 * most * widest * (widest if found.is_two_way else 1) / tuning.GRID_CLASSES_RATE
        effort *= tuning.GRID_LINKED_EFFORT if found.is_two_way else 1.0
        if unit * most > 2 * counted or effort > search.left():
            break
        search.spend(effort)
        known, corners = 2 * unit * most, found.has_corners
        if is_space:
            box = isoperimetry.space(sides, known, has_corners=corners)
        else:
            box = isoperimetry.box(sides, known, search=search, has_corners=corners)
        if box is None:
            break
        if found.is_two_way:
            sizes = len(box.grown) - 1
            between = isoperimetry.links_in_space(len(sides), sizes) if is_space else isoperimetry.links(sides, sizes)
        ends = isoperimetry.least_ends(box, unit, most, is_open=is_open, between=between)[1:]
        segments = counted // (unit * np.arange(1, most + 1))
        values = np.where(segments > 0, segments * ends - held[np.maximum(0, segments - 1)] - lost, 0)
        first = int(values.argmax())
        if values[first] < moved > 0:  # longer segments are no better
            break
        if values[first] > moved:
            moved, cut = int(values[first]), (unit, unit * (first + 1))
    return moved, *cut
