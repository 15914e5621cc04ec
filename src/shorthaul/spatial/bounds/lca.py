"""A lower bound on the energy of answering queries for lowest common ancestors on a given layout.

It holds for every program that

- begins with what :class:`StoredTree` stores: the processor of a vertex knows its number, which is its light-first
  position, those of its parent, siblings and children, and those of the vertices it shares a query with;
- leaves the answer of a query at one of its two vertices;
- treats the numbers of vertices as names, to be copied and compared but not computed (as lower bounds on permuting
  do), in messages of at most :data:`MESSAGE_WORDS` words;
- learns nothing from a message that does not come (it may be late).

The **reach** of a query is how far news has to come to one of its ends: from the first holders of the answer's name,
and at least one hop if that end cannot tell the answer from others (:func:`uncertain`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.core.amounts import Bound
from shorthaul.spatial.algorithms.query_kernels import Packing, packed_queries
from shorthaul.spatial.layout.stored_tree import StoredTree
from shorthaul.spatial.tree_kernels import children

Index = npt.NDArray[np.int32]
Counts = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

#: Words of the longest message of the programs that the bound speaks of; the machine refuses longer ones.
MESSAGE_WORDS = 4

_PROOFS = {
    "ends": (
        "{count} queries are chosen of which no two share a vertex. Neither end of any of them can answer by itself: "
        "it does not know the answer's name, or a tree in which it has the same parent, siblings and children gives "
        "another answer. So one of the ends receives a message, from a processor at least 1 hop away."
    ),
    "balls": (
        "{count} queries are chosen whose answer's name starts {radius} or more hops from both ends, and whose ends "
        "are {apart} or more hops from those of the others. The name reaches an end by a chain of messages that comes "
        "closer over {radius} links, from distance {radius} to 0; links that lead closer to ends so far apart differ, "
        "so the chosen queries add up."
    ),
    "cuts": (
        "Across every line between two rows or columns at least as many names have to pass, each way, as there are "
        "answers all of whose first holders lie on one side and both ends of one of whose queries on the other; a "
        f"message carries at most {MESSAGE_WORDS}. Summed over all lines."
    ),
}


def lca_bound(stored: StoredTree, queries: Index, answers: Index) -> Bound:
    """Return the largest of three lower bounds on the energy; ``queries`` (q, 2) and ``answers`` are processors.

    Queries between different trees (answer -1) count nothing. ``details`` holds all three, and a bound on the longest
    chain in hops.

    >>> from shorthaul.spatial.model import Grid
    >>> line = np.arange(5, dtype=np.int32)
    >>> tree = StoredTree(np.array([-1, 0, 1, 0, 3], np.int32), line, 0 * line, Grid(5, 1), line, line)
    >>> lca_bound(tree, np.array([[2, 4]]), np.array([0])).value
    1
    """
    asked = answers >= 0
    first, second = (np.ascontiguousarray(queries[asked, end], np.int32) for end in (0, 1))
    answer = answers[asked]
    boxes = {
        axis: _holder_box(stored.parent, place, first, second) for axis, place in (("x", stored.x), ("y", stored.y))
    }
    unsure = uncertain(stored.parent, np.minimum(first, second), np.maximum(first, second))
    earlier = first <= second
    reach = np.minimum(
        np.maximum(_distance(stored, boxes, answer, first, second), np.where(earlier, *unsure)),
        np.maximum(_distance(stored, boxes, answer, second, first), np.where(earlier, *unsure[::-1])),
    ).astype(np.int32)
    ends, (count, radius) = _packed(stored, first, second, reach, 1), _balls(stored, first, second, reach)
    cuts = [
        _cut_sum(boxes[axis], place[first], place[second], answer, side)
        for axis, place, side in (("x", stored.x, stored.grid.width), ("y", stored.y, stored.grid.height))
    ]
    values = {"ends": ends, "balls": count * radius, "cuts": sum(cuts)}
    method = max(values, key=values.__getitem__)
    proof = _PROOFS[method].format(count=ends if method == "ends" else count, radius=radius, apart=2 * radius - 1)
    details: dict[str, Any] = {"values": values, "distance_hops": int(reach.max(initial=0))}
    return Bound("energy_hops", values[method], method, proof, details)


def uncertain(parent: Index, earlier: Index, later: Index) -> tuple[Flags, Flags]:
    """Return for the earlier and for the later vertex of every query whether it cannot tell the answer by itself.

    ``parent`` is in light-first order. Two trees are compared in which the vertex has the same parent p, siblings and
    children. Let [p, e) be the subtree of p, or the least that it can be. What follows it, if anything, is not lighter
    and can hang under the parent of p.

    - The later vertex, with the earlier one u in 1..p-1: u may lie on the path 0, 1, ..., p, or be a leaf under 0.
    - The earlier one, u: it knows its children, hence the sizes of all their subtrees but that of the last, which is
      no less than the one before it; the same holds for its siblings. If the other vertex lies at e or beyond, and
      n - e >= e - p, the subtree of p may end at e, or go on to n.
    - If u is a leaf and the last child, the subtree of p ends behind it, and what follows may hang under vertex 0 or
      under p - 1.
    """
    n = len(parent)
    starts, kids = children(parent, np.empty(0, np.int32))
    count = np.diff(starts)[:n]
    last = np.where(count > 0, kids[starts[1 : n + 1] - 1], -1).astype(np.int64)
    before = np.where(count > 1, kids[np.maximum(starts[1 : n + 1] - 2, 0)], -1).astype(np.int64)
    least_end = np.where(count > 1, 2 * last - before, np.where(count > 0, last, np.arange(n)) + 1)
    above = parent[earlier].astype(np.int64)
    is_last = last[above] == earlier
    own_end = np.maximum(least_end[earlier], np.where(before[above] >= 0, 2 * earlier - before[above], 0))
    end = np.where(is_last, own_end, least_end[above])
    open_end = (above >= 1) & (later >= end) & (n - end >= end - above)
    of_earlier = np.where(is_last & (count[earlier] == 0), above >= 2, open_end) & (earlier < later)
    return of_earlier, (earlier >= 1) & (earlier < parent[later])


def _holder_box(parent: Index, place: Index, first: Index, second: Index) -> tuple[Index, Index]:
    """Return the least and the largest coordinate of the first holders of every vertex' name, each of shape (n,)."""
    child = np.flatnonzero(parent >= 0)
    above = parent[child]
    sides = []
    for extreme in (np.minimum, np.maximum):
        family = place.copy()  # a vertex and its children
        extreme.at(family, above, place[child])
        side = family.copy()
        side[child] = extreme(side[child], family[above])  # and its parent and siblings
        extreme.at(side, first, place[second])
        extreme.at(side, second, place[first])
        sides.append(side)
    return sides[0], sides[1]


def _distance(
    stored: StoredTree, boxes: dict[str, tuple[Index, Index]], answer: Index, end: Index, other: Index
) -> Counts:
    """Return for every query how far its vertex ``end`` is at least from the first holders of the answer's name."""
    hops = np.zeros(len(end), np.int64)
    for (low, high), place in ((boxes["x"], stored.x), (boxes["y"], stored.y)):
        hops += np.maximum(np.maximum(low[answer] - place[end], place[end] - high[answer]), 0)
    above, higher = stored.parent[end], stored.parent[answer]
    holds = (end == answer) | (above == answer) | (end == higher) | ((above == higher) & (above >= 0))
    in_query = np.zeros(stored.n, np.bool_)
    in_query[end] = in_query[other] = True
    maybe = np.flatnonzero(in_query[answer] & ~holds)  # those who may share a query with the answer
    pairs = [a.astype(np.int64) * stored.n + b for a, b in ((end[maybe], answer[maybe]), (end, other), (other, end))]
    holds[maybe] = np.isin(pairs[0], np.concatenate(pairs[1:]), kind="sort")
    return np.asarray(np.where(holds, 0, np.maximum(hops, 1)))


def _packed(stored: StoredTree, first: Index, second: Index, reach: Index, radius: int) -> int:
    apart = 2 * radius - 1
    squares = ((stored.grid.height - 1) // apart + 1, (stored.grid.width - 1) // apart + 1)
    packing = Packing(stored.x, stored.y, apart, np.full((*squares, 2), -1, np.int32))
    return packed_queries(packing, first, second, reach, radius)


def _balls(stored: StoredTree, first: Index, second: Index, reach: Index) -> tuple[int, int]:
    """Return the number of chosen queries and the radius whose product is largest, over doubling radii above 1."""
    most = int(reach.max(initial=0))
    radii = sorted({min(2**k, most) for k in range(1, most.bit_length() + 1)} - {0, 1})
    found = [(_packed(stored, first, second, reach, radius), radius) for radius in radii]
    return max(found, key=lambda pair: pair[0] * pair[1], default=(0, 0))


def _cut_sum(box: tuple[Index, Index], first: Index, second: Index, answer: Index, side: int) -> int:
    """Return the messages that have to cross the lines of one axis, both ways, summed over the lines."""
    low, high = box
    total = 0
    for sign, start in ((1, high), (-1, -low)):
        # The least that a name must travel to serve the query farthest beyond its holders, in this direction.
        end = start.copy()
        np.maximum.at(end, answer, np.minimum(sign * first, sign * second))
        moved = end > start
        marks = np.zeros(2 * side + 1, np.int64)
        np.add.at(marks, start[moved] + side, 1)
        np.subtract.at(marks, end[moved] + side, 1)
        total += int((-(-np.cumsum(marks) // MESSAGE_WORDS)).sum())
    return total
