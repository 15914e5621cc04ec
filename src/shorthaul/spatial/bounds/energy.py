"""Lower bounds on the energy of any layout of a tree, and on its longest edge."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from shorthaul.core.amounts import Bound
from shorthaul.spatial.layout.orders import sizes
from shorthaul.spatial.model import Grid, Tree
from shorthaul.spatial.tree_kernels import depths

Counts = npt.NDArray[np.int64]


def energy_bound(tree: Tree, grid: Grid) -> Bound:
    """Return the largest known lower bound on the energy of one message from every parent to each child on ``grid``.

    Three arguments are tried: every edge is at least 1 long; the neighbours of a vertex are on distinct processors;
    and a line across the grid that parts the vertices k : n - k is crossed by as many edges as that cut needs.
    ``details`` holds each argument's value and the bound on the longest edge.
    """
    edges = tree.n - len(tree.roots())
    values = {"edges": edges, "stars": _star_bound(tree), "cuts": _cut_bound(tree, grid)}
    method = max(values, key=lambda name: (values[name], name == "edges"))
    proofs = {
        "edges": f"{edges} edges join distinct processors, each at least 1 hop long.",
        "stars": (
            "Every edge belongs to one vertex's star; the d leaves of a star sit on distinct processors, of which "
            "only 4k lie k hops away; summed over all stars."
        ),
        "cuts": (
            "Removing e edges parts off at most the e largest subtrees (rooted at a centroid), so a line with k "
            "vertices on its smaller side is crossed by at least the number of largest subtrees that sum to k; a "
            "column holds at most as many vertices as the grid is high, which says how many lines have such a k."
        ),
    }
    longest = distance_bound(tree)
    return Bound(
        of="energy_hops",
        value=values[method],
        method=method,
        proof=proofs[method],
        details={"values": values, "distance_hops": longest},
    )


def _star_sum(leaves: Counts) -> int:
    """Return the least distance of a star's leaves to its centre, of which 4k lie k away; summed over stars."""
    number = np.bincount(leaves)
    leaves = np.flatnonzero(number)
    shells = ((np.sqrt(2.0 * leaves + 1) - 1) / 2).astype(np.int64)
    shells += 2 * (shells + 1) * (shells + 2) <= leaves
    shells -= 2 * shells * (shells + 1) > leaves
    inside = 2 * shells * (shells + 1)
    full = 2 * shells * (shells + 1) * (2 * shells + 1) // 3
    return int(((full + (leaves - inside) * (shells + 1)) * number[leaves]).sum())


def _star_bound(tree: Tree) -> int:
    children = tree.degrees()
    below = _star_sum(children)
    if tree.n == 1:
        return below
    # Every edge has one end at an even depth and one at an odd depth, so either half's full stars share no edge.
    depth, _ = depths(tree.parent)
    even = depth % 2 == 0
    near = children + (tree.parent >= 0)
    return max(below, _star_sum(near[even]), _star_sum(near[~even]))


def _cut_bound(tree: Tree, grid: Grid) -> int:
    if len(tree.roots()) > 1 or tree.n < 2:
        return 0
    size = sizes(tree)[tree.parent >= 0].astype(np.int64)
    apart = np.sort(np.minimum(size, tree.n - size))[::-1]
    # A cut with e edges has at most the e largest on its smaller side: edge e is needed beyond the first e - 1.
    needed_from = np.concatenate([[0], np.cumsum(apart)[:-1]]) + 1
    room = np.maximum(tree.n - 2 * needed_from + 1, 0)
    return int((room // grid.height).sum() + (room // grid.width).sum())


def distance_bound(tree: Tree) -> int:
    """Return a lower bound on the longest edge: all vertices within k edges of one lie within k times it in hops."""
    if tree.n < 2 or int(tree.degrees().max()) == 0:
        return 0
    longest = 1
    degree = int((tree.degrees() + (tree.parent >= 0)).max())
    longest = max(longest, _radius(degree + 1))
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
