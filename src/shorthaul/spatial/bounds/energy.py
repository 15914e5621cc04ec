"""Lower bounds on the energy of any layout of a tree, and on its longest edge."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.core.amounts import Bound
from shorthaul.core.search import Search
from shorthaul.core.searching.memory import room
from shorthaul.graphs.tree_kernels import children, depths, heavy_children, renumbered
from shorthaul.spatial import tuning
from shorthaul.spatial.bounds import certificates
from shorthaul.spatial.bounds.cut_kernels import fewest_cuts
from shorthaul.spatial.bounds.growth_kernels import weights_of_growth
from shorthaul.spatial.bounds.hubs import Hub, best_hubs
from shorthaul.spatial.bounds.prices import Part, best_parts
from shorthaul.spatial.bounds.star_kernels import best_stars
from shorthaul.spatial.bounds.volume_kernels import gains_of_volume
from shorthaul.spatial.layout.orders import positions, sizes
from shorthaul.spatial.model import Fabric, Grid, Load, Tree

Index = npt.NDArray[np.int32]
Counts = npt.NDArray[np.int64]
#: Children as :func:`parents_before` numbers them, the vertices, and the parents.
Numbered = tuple[Index, Index, Index, Index]
#: Hops beyond one of every edge, the trees left without what stands apart, and that.
Grown = tuple[float, Numbered, certificates.Apart]
Parts = certificates.Parts
Subtrees = certificates.Subtrees
#: What sums of weights may be off by, as a part of them and in hops.
_ROUNDING = 1e-9
_OF_GROWTH = (
    "Few processors lie k hops away from one, 4k at most. So the k vertices below one are so many hops from it "
    "together, which the edges on the ways to them take; where more vertices are t, t - 2, ... levels below one than "
    "processors as many hops away, an edge is longer than a hop; and the neighbours of a vertex, the edges shared out "
    "among these stars, are as far away as there is room, and so are the nearest few vertices of each subtree below "
    "one. Parts of the tree need room too: within t hops of a processor are 2 t^2 + 2 t + 1. Let every vertex of a "
    "part reach the processors within some hops of it. A child with a reach b below its parent's adds none while the "
    "edge is of one hop, and at most 2 b + 1 with each further hop; with the same or a larger reach it adds some at "
    "once; and what the children in a star reach overlaps, so that only hops beyond those that it needs count. A part "
    "with more vertices than it reaches so takes longer edges. All of this is given weights so that no edge counts "
    "more than once: the best ones, by linear programming. Which vertex is the root does not change the energy: the "
    "centroid is tried, and unless the tree is "
    "large the root as given."
)


@dataclass(frozen=True, slots=True)
class Ground:
    """Processors of a grid, of so many layers, which hold up to ``each`` vertices."""

    grid: Grid
    layers: int = 1
    each: int = 1


def energy_bound(tree: Tree, grid: Grid, names: Index | None = None, *, search: Search | None = None) -> Bound:
    """Return the largest known lower bound on the energy of one message from every parent to each child on ``grid``.

    Every edge is at least 1 long; and subtrees, stars and parts of the tree outgrow the cells around them. ``details``
    holds what each argument proves and the bounds on the longest edge and on the link load, and of trees that are not
    too large a certificate, in which vertex v is called ``names[v]`` (v itself, if there are none). What there is no
    time or memory for before ``search`` ends is left out, of large trees only: small ones take next to none.
    """
    edges = tree.n - len(tree.roots())
    proofs = {
        "edges": f"{edges} edges join distinct processors, each at least 1 hop long.",
        "growth": _OF_GROWTH,
    }
    details: dict[str, Any] = {"values": {"edges": edges}, "distance_hops": min(1, edges), "link_load": min(1, edges)}
    if tree.n > tuning.NEVER_LATE and (
        (search is not None and search.remaining_s() <= 0) or room() < tuning.BOUND_BYTES * tree.n
    ):
        return Bound("energy_hops", edges, "edges", proofs["edges"], details)
    ground = Ground(grid)
    grown = _grown(tree, ground, names, search)
    values = {"edges": edges, "growth": edges + _whole(grown[0])}
    method = max(values, key=lambda name: (values[name], name == "edges"))
    degrees = tree.degrees()
    longest, load = distance_bound(tree, degrees), _load_bound(grid, int(degrees.max()))
    details = {"values": values, "distance_hops": longest, "link_load": load}
    if _is_certified(tree, search):
        details["certificate"] = _certificate(grown, ground, names) if method == "growth" else {"kind": method}
    return Bound("energy_hops", values[method], method, proofs[method], details)


def _grown(tree: Tree, ground: Ground, names: Index | None = None, search: Search | None = None) -> Grown:
    """Return what ``growth`` proves of edges on the ground, whose vertices are called ``names``, and by what."""
    numbered = parents_before(centred(tree))
    gain = _gain(numbered, ground)
    if tree.n <= tuning.MOST_TWICE:
        as_given = parents_before(tree)
        if (more := _gain(as_given, ground)) > gain:
            gain, numbered = more, as_given
    if not _is_certified(tree, search):
        return gain, numbered, certificates.Apart()
    return _with_apart(gain, numbered, ground, names, search)


def _is_certified(tree: Tree, search: Search | None) -> bool:
    """Return whether the bound gets a certificate, and arguments that would be hard to find again without one."""
    is_in_time = search is None or search.remaining_s() > tuning.CERTIFY_VERTEX_S * tree.n
    return tree.n <= certificates.MOST_CERTIFIED and (tree.n <= tuning.NEVER_LATE or is_in_time)


def _certificate(grown: Grown, ground: Ground, names: Index | None) -> dict[str, Any]:
    _, numbered, apart = grown
    order = numbered[2] if names is None else names[numbered[2]]
    parts = _parts(numbered, ground)
    return certificates.of_growth(*_subtrees(numbered, ground, parts), parts, order, apart)


def _gain(numbered: Numbered, ground: Ground) -> float:
    """Return how many hops beyond one each the edges take together."""
    return weights_of_growth(*_subtrees(numbered, ground, _parts(numbered, ground))[0])[0]


def _whole(gain: float) -> int:
    return max(0, math.ceil(gain * (1 - _ROUNDING) - _ROUNDING))


def _with_apart(gain: float, numbered: Numbered, ground: Ground, names: Index | None, search: Search | None) -> Grown:
    """Return the gain with the best parts and hubs, the trees left without these, and both by the names of vertices."""
    starts, kids, order, parent = numbered

    def left(parent: Index) -> Numbered:
        return parents_before(centred(Tree(parent)))

    def gain_of(parent: Index) -> float:
        return _gain(left(parent), ground)

    sums, _ = room_around(ground, len(parent))
    parts, cut = list[Part](), parent
    if ground.each == ground.layers == 1:
        parts, cut = best_parts(parent, gain_of, search)
    hubs, cut = best_hubs(starts, kids, cut, sums, gain_of)
    found = sum(part.value for part in parts) + sum(hub.value for hub in hubs) + gain_of(cut)
    if not (parts or hubs) or found <= gain:
        return gain, numbered, certificates.Apart()
    name = order if names is None else names[order]
    apart = certificates.Apart(
        [Part(int(name[part.top]), name[part.kept].tolist(), part.prices, part.value) for part in parts],
        [Hub(int(name[hub.top]), hub.cap, name[hub.kept].tolist(), hub.value) for hub in hubs],
    )
    starts, kids, again, parent = left(cut)
    return found, (starts, kids, order[again], parent), apart


def centred(tree: Tree) -> Tree:
    """Return the trees with the centroid of each as root, below which no subtree has more than half of the vertices."""
    parent, size = tree.parent.copy(), sizes(tree)
    heavy = heavy_children(tree.parent, size)
    turned: list[int] = []  # upwards
    roots = tree.roots()
    for root in roots[size[roots] > 2].tolist():
        path, below = [root], int(heavy[root])
        while below >= 0 and 2 * size[below] > size[root]:
            parent[path[-1]] = below
            path.append(below)
            below = int(heavy[below])
        parent[path[-1]] = -1
        turned += path[::-1]
    order = tree.parents_first if len(tree.parents_first) else np.arange(tree.n, dtype=np.int32)
    stays = np.ones(tree.n, bool)
    stays[turned] = False
    return Tree(parent, np.concatenate([np.array(turned, np.int32), order[stays[order]]]))


def _subtrees(numbered: Numbered, ground: Ground, parts: Parts) -> tuple[Subtrees, Counts]:
    """Return what subtrees are weighed by, their parts alone among it, and what the stars of their roots need then.

    These are without the edge above, which counts as the parent's where the subtree is large.
    """
    starts, kids, _, parent = numbered
    room, above, alone = room_around(ground, len(parent)), parts[3], gains_of_volume(*parts)
    none = np.empty(0)
    if not parts[2].any():
        return (parent, *room, none, none, above, alone), parts[2]
    size = sizes(Tree(parent))
    longer = np.diff(_spare(ground, _degree(starts, kids) + 2)).astype(np.float64)  # by leaf
    count = np.bincount(parent[above == 0] + 1, minlength=len(parent) + 1)[1:]
    lost = longer[count] * (above & (size > tuning.MOST_UPWARD))
    above = above & (size <= tuning.MOST_UPWARD)
    own = kids[: starts[len(parent)]]
    own = own[above[own] == 0]  # by their parents, the smallest first
    count = np.bincount(parent[own], minlength=len(parent))
    leaf = longer[np.arange(len(own)) - (np.cumsum(count) - count)[parent[own]]]
    last = longer[count] * above
    star = np.bincount(parent[own], leaf, len(parent)) + last
    borne = np.bincount(parent[own], leaf * size[own], len(parent)) + last * size
    return (parent, *room, star, borne, above, alone - lost), parts[2] - lost.astype(np.int64)


def _parts(numbered: Numbered, ground: Ground) -> Parts:
    """Return the parents, what fits within so many hops, and what the star of each vertex needs with which edges."""
    starts, kids, _, parent = numbered
    longer = _spare(ground, _degree(starts, kids) + 1)
    if not longer.any():
        own, above = np.zeros(len(parent), np.int64), np.zeros(len(parent), np.uint8)
    else:
        own, above = best_stars(starts, kids, longer)
    fan = np.bincount(parent[(above == 0) & (parent >= 0)], minlength=len(parent))
    if ground.layers > 1:  # how many cells come with a hop is known of planes: parts have room for all
        return parent, np.full(tuning.MOST_REACH + 1, len(parent)), own, above, ground.each, fan, 0
    radius = (min(ground.grid.width, ground.grid.height) - 1) // 2
    widest = ground.each * (2 * radius * (radius + 1) + 1) - 1
    return parent, cells_within(ground, tuning.MOST_REACH), own, above, ground.each, fan, widest


def cells_within(ground: Ground, most: int) -> Counts:
    """Return how many processors a processor has within 0, 1, ..., most hops, at most, itself included."""
    within = np.cumsum(_in_the_middle(ground))[: most + 1]
    return np.append(within, np.full(most + 1 - len(within), within[-1]))


def _in_the_middle(ground: Ground) -> Counts:
    """Return how many processors are 0, 1, ... hops from one in the middle, which has the most within any distance."""
    across, down, deep = _lines(ground)
    return np.convolve(np.convolve(across, down), deep)


def _lines(ground: Ground) -> list[Counts]:
    """Return how many columns, rows and layers are 0, 1, ... from one in the middle."""
    sides = ground.grid.width, ground.grid.height, ground.layers
    return [np.bincount(np.abs(np.arange(side) - (side - 1) // 2)) for side in sides]


def room_around(ground: Ground, most: int) -> tuple[Counts, Counts]:
    """Return least sums of the distances from a vertex to 0, 1, ..., most - 1 others.

    Beside them is how many there can be, by t, on processors t, t - 2, ... hops away, the own one included, or, with
    several on each or in layers, up to t hops; it ends with ``most``.
    """
    across, down, _ = _lines(ground)
    room = ground.each * _in_the_middle(ground)
    far = int(np.searchsorted(np.cumsum(room), most)) + 1  # so many find room within this many hops
    distance = np.repeat(np.arange(far), room[:far])
    alternate = np.append(np.minimum(np.cumsum(room)[:far], most), most)
    sides = ((down, ground.grid.width), (across, ground.grid.height))
    for lines, side in sides if ground.each == ground.layers == 1 else ():
        on_line = np.minimum(np.arange(1, far + 1), (side + 1) // 2)  # every second cell of a line, as far as it goes
        alternate[:far] = np.minimum(alternate[:far], np.convolve(lines, on_line)[:far])
    return np.cumsum(distance)[:most], alternate


def _spare(ground: Ground, most: int) -> Counts:
    """Return how many hops beyond one each 0, 1, ..., most leaves of a star take; no more than there is room for."""
    sums, _ = room_around(ground, min(most + 1, ground.each * ground.layers * ground.grid.cells))
    beyond = np.cumsum(np.maximum(np.diff(sums, prepend=0) - 1, 0))
    return np.append(beyond, np.full(most + 1 - len(beyond), beyond[-1]))


def _degree(starts: Index, kids: Index) -> int:
    """Return the most children of a vertex."""
    return int(np.diff(starts[: len(kids) + 1]).max())


def parents_before(tree: Tree) -> Numbered:
    """Return the vertices numbered one subtree after the other: children, the vertices in this order, and parents.

    Parents come before their children, of whose subtrees the largest is last, and what is near in the tree is near in
    memory.
    """
    none = np.empty(0, np.int32)
    parent, order = renumbered(tree.parent, positions(tree, "light-first"))
    return *children(parent, none), order, parent


def machine_bound(tree: Tree, load: Load, fabric: Fabric, most: int) -> Bound:
    """Return a lower bound on the energy of one message per edge with up to ``most`` vertices on each processor.

    Parts of the tree on one processor are limited, which takes cuts; and beyond a hop edges take what they do on a grid
    with so many vertices on a processor. Of twice the sides, which holds what a ring becomes as it is unrolled: no way
    gets longer, and who was apart stays so.
    """
    lightest = np.sort(load.weight[tree.parent >= 0])
    starts, kids, order, _ = parents_before(tree)
    part = np.zeros(tree.n, np.int64)
    cuts = max(
        fewest_cuts(starts, kids, np.ones(tree.n, np.int32), most, part),
        fewest_cuts(starts, kids, load.bytes[order], fabric.memory_bytes, part),
    )
    values, grown = {"cuts": int(lightest[:cuts].sum())}, None
    layers = 1 if fabric.layers == 1 else 2 * fabric.layers
    ground = Ground(Grid(2 * fabric.width, 2 * fabric.height), layers, most)
    if cuts and room() >= tuning.BOUND_BYTES * tree.n:
        grown = _grown(tree, ground)
        values["growth"] = values["cuts"] + int(lightest[0]) * _whole(grown[0])
    method = max(values, key=lambda name: (values[name], name == "cuts"))
    proof = (
        f"Vertices joined by edges of no hops share a processor, which holds at most {most} of them and "
        f"{fabric.memory_bytes} bytes; at least {cuts} edges have to go until no part of the tree is larger. Each of "
        "them takes at least one hop, times the sizes of the smallest messages."
    )
    if method == "growth":
        proof = f"{proof} Hops beyond one, times the smallest size, with {most} times the room: {_OF_GROWTH}"
    details: dict[str, Any] = {"values": values, "per_processor": most}
    if tree.n <= certificates.MOST_CERTIFIED:
        certificate = (
            _certificate(grown, ground, None) if grown is not None and method == "growth" else {"kind": "cuts"}
        )
        details["certificate"] = certificate
    return Bound("energy_hops", values[method], method, proof, details)


def _load_bound(grid: Grid, children: int) -> int:
    """Return a lower bound on the link load where a vertex has so many children.

    A message goes along its row, then along its column. The d messages from a vertex to its children leave its
    processor over four links at most. All but those to children in its column, which has room for ``height`` - 1 of
    them, leave over the two along its row. On one side of it there are at least half of the other columns; of their
    cells all hold children but n - 1 - d at most, which hold other vertices, and those that hold none.
    """
    across, down = min(grid.width - 1, 2), min(grid.height - 1, 2)
    along_row = -(-(children - grid.height + 1) // max(across, 1))
    one_side = grid.width // 2 * grid.height - (grid.cells - 1 - children)
    return max(-(-children // max(across + down, 1)), along_row, one_side)


def distance_bound(tree: Tree, degrees: Counts | None = None) -> int:
    """Return a lower bound on the longest edge: all vertices within k edges of one lie within k times it in hops."""
    degree = int(((tree.degrees() if degrees is None else degrees) + (tree.parent >= 0)).max())
    if degree == 0:
        return 0
    longest = _radius(degree + 1)
    depth, _ = depths(tree.parent)
    root = tree.roots()[0]
    if len(tree.roots()) == 1 and root >= 0:
        within = np.cumsum(np.bincount(depth))
        # Only the first levels can force a long edge: k L >= radius of within[k] <= radius of n.
        for k in range(1, min(len(within), math.isqrt(tree.n) + 2)):
            longest = max(longest, -(-_radius(int(within[k])) // k))
    return longest


def _radius(cells: int) -> int:
    """Return the radius of the smallest L1 ball with at least ``cells`` cells: 2 r^2 + 2 r + 1 >= cells."""
    radius = max(0, (math.isqrt(max(2 * cells - 1, 0)) - 1) // 2)
    while 2 * radius * (radius + 1) + 1 < cells:
        radius += 1
    return radius
