"""Lower bounds from tables: what segments of a schedule read and leave of places that read those before them.

Let the nodes of a table be at different places of Z^d, d = 2 or 3, and let a schedule that computes no value twice be
cut after every q-th of the N nodes that are computed; the last segment takes the rest as well. A is the set of places
of a segment, R(A) the places outside it that are one step before one of A along an axis, L(A) the places of A with one
outside A a step after them.

**What is moved.** A place of R(A) whose value a node of A reads was computed before the segment, or is an input: the
value is in fast memory at its start, or loaded in it. So is a link of it, if the node reads that: on the way from the
value to the node one has been computed before the segment, and is read in it. Likewise a place of L(A) that is read
from outside A is in fast memory at the end of the segment, or stored in it, itself or a link of it; so is an output.
Links have one owner, so different places have different values. A cut comes right before a node of the table is
computed: the memory has room for it, and what that node reads outside the table, letters too, is left by no segment.
It holds so many values at both ends of a segment (:func:`~shorthaul.pebble.bounds.piece.most_held`), none at the start
of the first one, and what it holds at the end of the last is of no use. A step before a node
where there is no place, or one that it does not read, is a read less; a node that is no output is left once less if
there is no place, or one that does not read it, a step after it on some axis. No node is in two segments, so all of
this is lost once. First loads of inputs and stores of outputs are no excess.

**Sets of places.** Let A have b places of a level (places with one sum) and a of the level before. Places that are a
step before one of those b are n(b) at least. On a line (d = 2), n(b) = b + 1, in a plane n(b) = b + (1 + sqrt(1 + 8 b))
/ 2: let the growth be g, and a(k) the k-th largest row; of the k largest rows take the last one in the direction in
which rows are read. Each row up to it grows by one at least, and from it on those that follow come down to nothing, so
k + a(k) <= g, and b <= g (g - 1) / 2. So what A reads and leaves is as of iterations over grids (:mod:`isoperimetry`),
with this n. On a line it is sqrt(12 q - 3) at least for q places: let levels b_1, ..., b_h follow one another, so they
cost C = b_1 + 1 + sum of steps + b_h at least, a step max(2, |b_(k+1) - b_k| + 1). Then b_k <= b_1 + the steps up to k,
less one each, = p_k, and b_k <= C - h - p_k alike. The p_k are different integers, so the sum of all min(p_k, C - h -
p_k) is h (C - h) / 2 - (h^2 - 1) / 4 at most, which is C^2 / 12 + 1 / 4 at most. Levels that do not follow one another
add up to more.

**Letters.** Where all nodes of a place along an axis read one value, a letter, and those along the other axis too, A
meets R such lines and C, R C >= q, so R + C >= 2 sqrt(q) letters are read. They are in fast memory at the start of the
segment, loaded or computed in it, once each. A node that does not read the letter of its line may meet it alone. It may
read letters by way of helpers, nodes that serve no other node: x of them that were computed before the segment are read
in it, and x + 2 sqrt(q - x) is 2 sqrt(q) at least if q is 4 or more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from shorthaul.core.search import Search
from shorthaul.pebble import tuning
from shorthaul.pebble.bounds.grids import isoperimetry
from shorthaul.pebble.bounds.piece import Piece, most_held, names
from shorthaul.pebble.bounds.tables import lanes
from shorthaul.pebble.bounds.tables.table_search import Table, tables
from shorthaul.pebble.model import BoolArray, Cdag, IntArray

_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A lower bound on the traffic beyond inputs and outputs, and disjoint pieces that it is the sum of."""

    excess: int
    pieces: tuple[Piece, ...]


def excess(cdag: Cdag, budget: int, *, search: Search) -> Found:
    """Return what the tables found in a graph move beyond inputs and outputs at least.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import pyramid
    >>> excess(pyramid(n=150, word=1), 6, search=Search()).excess > 0
    True
    """
    pieces = []
    for table in tables(cdag, search=search):
        tried = [table] if not len(table.letters) else [table, table.without_letters()]
        if table.axes == 2 and len(table.links):
            tried += [replace(one, has_lanes=True) for one in tried]
        cuts = [_cut(cdag, one, budget, search) for one in tried]
        moved, one = max((cut.moved, -index) for index, cut in enumerate(cuts))
        if moved > 0:
            best = tried[-one]
            size = best.places.size + len(best.moved) + len(best.links) + len(best.helpers) + 2 * len(best.letters)
            pieces.append(Piece(best.moved, moved, partial(shown, best, cuts[-one]), size))
    return Found(sum(piece.excess for piece in pieces), tuple(pieces))


class Cut(NamedTuple):
    """What a table moves beyond inputs and outputs, cut after every ``segment`` nodes, with sizes in a ``unit``."""

    moved: int
    unit: int
    segment: int


def shown(table: Table, cut: Cut, cdag: Cdag) -> list[dict[str, Any]]:
    """Return the certificate of a table that is cut so."""
    letters = zip(table.letters[:, :2].tolist(), names(cdag, table.letters[:, 2]), strict=True)
    return [
        {
            "kind": "table",
            "unit": cut.unit,
            "segment": cut.segment,
            "nodes": names(cdag, table.nodes),
            "places": table.places.tolist(),
            "links": [names(cdag, pair) for pair in table.links],
            "letters": [[*line, value] for line, value in letters],
            "helpers": [names(cdag, pair) for pair in table.helpers],
            **({"lanes": True} if table.has_lanes else {}),
        }
    ]


def _cut(cdag: Cdag, table: Table, budget: int, search: Search) -> Cut:
    """Return what a table moves beyond inputs and outputs by the best cuts."""
    counted = ~cdag.given[table.nodes]
    total, least = int(counted.sum()), int(cdag.weights[table.moved].min())
    ends = cdag.weights[table.nodes[~counted | cdag.is_output()[table.nodes]]]
    known = int(ends.sum()) + int(cdag.weights[table.letters[:, 2]].sum())
    without = _without_letters(cdag, table, counted)
    lost, is_helped = lanes.lost(cdag, table) if table.has_lanes else (_lost(cdag, table), False)
    lost += without
    room = held(cdag, table, budget, least)
    best = Cut(0, 1, 1)
    for unit, most in ((1, total),) if table.axes == 2 else tuning.GRID_CLASSES:
        sizes = unit * np.arange(4 if len(table.helpers) else 1, most + 1)
        sizes = sizes[sizes <= total]
        effort = 4 * most * most / tuning.GRID_CLASSES_RATE if table.axes == 3 else 0.0
        if len(sizes) == 0 or effort > search.left():
            break
        search.spend(effort)
        if table.has_lanes:
            read = lanes.least_ends(sizes, has_letters=len(table.letters) > 0, is_helped=is_helped)
        elif table.axes == 2:
            read = np.ceil(np.sqrt(12 * sizes - 3) - _ROUNDING)
            read += np.ceil(2 * np.sqrt(sizes) - _ROUNDING) * (len(table.letters) > 0)
        else:
            both = isoperimetry.least_ends(_space(2 * unit * most), unit, most, is_open=(False, False))
            read = both[1 : len(sizes) + 1].astype(np.float64)
        count = total // sizes
        values = (count * read).astype(np.int64) - room[count - 1]
        first = int(values.argmax())
        if best.moved > 0 and (int(values[first]) - lost) * least - known < best.moved:  # longer ones are no better
            break
        best = max(best, Cut((int(values[first]) - lost) * least - known, unit, int(sizes[first])))
    return best


def held(cdag: Cdag, table: Table, budget: int, least: int) -> IntArray:
    """Return what the memory holds at most at so many cuts; on lanes, what helpers say of the table may be left."""
    is_left, is_read = np.zeros((2, cdag.n), np.bool_)
    is_left[table.nodes] = is_left[table.links[:, 0]] = True
    is_left[table.helpers[:, 0]] = table.has_lanes
    is_left[cdag.given] = False
    is_read[table.moved] = True
    return most_held(cdag, table.nodes[~cdag.given[table.nodes]], is_left, is_read, budget, least)


def _space(most: int) -> isoperimetry.Box:
    """Return what sets of up to so many places of a plane have a step before them, far from all walls."""
    sizes = np.arange(most + 1)
    grown = sizes + np.ceil((1 + np.sqrt(1 + 8 * sizes)) / 2 - _ROUNDING).astype(np.int64)
    grown[0] = 0
    return isoperimetry.Box(2**40, grown, np.searchsorted(grown, sizes, side="right") - 1)


def _lost(cdag: Cdag, table: Table) -> int:
    """Return how many values less are read and left than of a table all of whose places read those before them."""
    place = np.full(cdag.n, -1, np.int64)  # of a node or of the one that it links
    place[table.nodes] = np.arange(len(table.nodes))
    place[table.links[:, 0]] = place[table.links[:, 1]]
    size, is_place = len(table.nodes), np.zeros(cdag.n, np.bool_)
    is_place[table.nodes] = True
    sources, targets = cdag.edge_arrays()
    between = (place[sources] >= 0) & is_place[targets]
    are_read = np.unique(place[sources[between]] * size + place[targets[between]])
    low = table.places.min(axis=0) - 1
    span = table.places.max(axis=0) - low + 2
    keys = np.ravel_multi_index(tuple((table.places - low).T), tuple(span))
    order = np.argsort(keys)
    counted = ~cdag.given[table.nodes]
    lost, is_left = 0, np.ones(size, np.bool_)
    for axis in range(table.axes):
        step = int(np.prod(span[axis + 1 :]))
        at = order[np.minimum(np.searchsorted(keys[order], keys + step), size - 1)]
        is_there = (keys[at] == keys + step) & counted[at]
        wanted = np.arange(size) * size + at
        found = are_read[np.minimum(np.searchsorted(are_read, wanted), len(are_read) - 1)] == wanted
        is_there &= found
        lost += int(counted.sum()) - int(is_there.sum())
        is_left &= is_there
    lost += int((counted & ~is_left & ~cdag.is_output()[table.nodes]).sum())
    return lost


def _without_letters(cdag: Cdag, table: Table, counted: BoolArray) -> int:
    """Return how many nodes do not read the letter of their place, by axis, all of them together."""
    if not len(table.letters):
        return 0
    sources, targets = cdag.edge_arrays()
    reader = np.full(cdag.n, -1, np.int64)
    reader[table.helpers[:, 0]] = table.helpers[:, 1]
    helped = reader[targets] >= 0
    edges = np.unique(np.append(sources * cdag.n + targets, sources[helped] * cdag.n + reader[targets[helped]]))
    lost = 0
    for axis in range(table.axes):
        letter = {place: value for along, place, value in table.letters.tolist() if along == axis}
        values = np.array([letter.get(place, -1) for place in table.places[counted, axis].tolist()])
        lost += int((~np.isin(values * cdag.n + table.nodes[counted], edges) | (values < 0)).sum())
    return lost
