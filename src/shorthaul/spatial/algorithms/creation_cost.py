"""What creating the light-first order costs on the machine itself, beside a lower bound (Baumann et al., Theorem 4)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.core.amounts import Bound
from shorthaul.core.errors import DefectError
from shorthaul.core.search import Search
from shorthaul.spatial.algorithms.euler_tour import Links, links
from shorthaul.spatial.algorithms.layout_creation import create_layout
from shorthaul.spatial.check.replay import Replay
from shorthaul.spatial.computer.machine import SpatialComputer
from shorthaul.spatial.model import Grid, Tree
from shorthaul.spatial.tree_kernels import children

Index = npt.NDArray[np.int32]

#: Words of the longest message of layout creation; the machine refuses longer ones.
MESSAGE_WORDS = 4
#: Up to this many vertices every message is replayed by the checker.
_REPLAYED = 2**14
#: From this many vertices on, of those that a vertex is not linked to (n - 4 or more) all but one can form a path that
#: is heavier than the four of them.
_UNSURE = 10


def creation(tree: Tree, x: Index, y: Index, grid: Grid, position: Index, *, search: Search) -> dict[str, Any]:
    """Run layout creation on vertices stored in their own order, v at (x[v], y[v]), and return what it took.

    The cost, the machine's other counts, and ``bound``, the bound on ``energy_hops``. ``position`` is the light-first
    order it has to arrive at. Raises :class:`DefectError` if it does not, or if the replay counts another cost.

    >>> line = np.arange(4, dtype=np.int32)
    >>> tree = Tree(np.array([-1, 0, 0, 1], np.int32))
    >>> creation(tree, line, 0 * line, Grid(4, 1), np.array([0, 2, 1, 3]), search=Search())["bound"]["value"]
    1
    """
    replay = Replay(x, y, grid) if tree.n <= _REPLAYED else None
    computer = SpatialComputer(x, y, grid, message_words=MESSAGE_WORDS, listener=replay, search=search)
    linked = links(tree.parent, *children(tree.parent, np.empty(0, np.int32)))
    if not (create_layout(computer, linked, seed=search.seed) == position).all():
        raise DefectError("layout creation by messages arrived at another order")
    cost = computer.cost()
    if replay is not None and dict(replay.cost()) != dict(cost):
        raise DefectError(f"the replay counts {replay.cost()}, the computer {cost}")
    bound = creation_bound(linked, x, y, position)
    if bound.value > cost["energy_hops"]:
        raise DefectError(f"layout creation beats its bound: {cost['energy_hops']} against {bound.value}")
    return {**cost, **computer.figures(), "bound": bound.document()}


def creation_bound(linked: Links, x: Index, y: Index, position: Index) -> Bound:
    """Return the larger of two lower bounds on the energy of telling every vertex its light-first position.

    ``messages``: whoever has to hear something, one hop each. ``names``: every vertex' name, which is copied but not
    computed, has to come from a holder to its position. ``details`` has both values.
    """
    n = len(x)
    hops = np.abs(x - x[position]) + np.abs(y - y[position])
    for name in (linked.first_child, linked.next_sibling, linked.parent):
        holder = np.flatnonzero(name >= 0)
        target = position[name[holder]]
        np.minimum.at(hops, name[holder], np.abs(x[holder] - x[target]) + np.abs(y[holder] - y[target]))
    carried = int(hops.sum(dtype=np.int64))
    inner = int((linked.parent >= 0).sum())
    values = {"messages": inner if n >= _UNSURE else 0, "names": -(-carried // MESSAGE_WORDS)}
    method = max(values, key=values.__getitem__)
    proofs = {
        "messages": (
            f"{inner} vertices are no root. None can tell its position from its links alone: the vertices it is not "
            "linked to may all stand above its parent in a path, or one of them there and the others in a path below "
            "that one, which then comes later. So each receives a message."
        ),
        "names": (
            "Every vertex has to be known where it is to be stored. Its name is at first held by itself, by those that "
            f"link to it and by its children; the nearest of them are {carried} hops away, summed over all vertices; a "
            f"message carries at most {MESSAGE_WORDS} names."
        ),
    }
    return Bound("energy_hops", values[method], method, proofs[method], {"values": values})
