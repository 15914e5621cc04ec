"""A CDAG in which values read only once are computed together with their reader: smaller, with the same schedules."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shorthaul.graphs.csr import Csr, distinct, from_arrays
from shorthaul.pebble.model import BoolArray, Cdag, IntArray
from shorthaul.pebble.orders import fusion_kernels


@dataclass(frozen=True, slots=True, eq=False)
class Fused:
    """Groups of nodes that are computed at once, each named after its last node, its head.

    ``group_of`` gives every node's group, shape (n,). ``parents`` and ``children`` are the edges between groups,
    ``weights`` the weights of the heads, shape (groups,). Inputs are groups of their own, which ``given`` tells.
    """

    group_of: IntArray
    heads: IntArray
    parents: Csr
    children: Csr
    weights: IntArray
    given: BoolArray

    def order_of_groups(self, order: IntArray) -> IntArray:
        """Return the groups that are no inputs by the places of their heads in ``order``, a topological order."""
        group = self.group_of[order]
        is_head = (self.heads[group] == order) & ~self.given[group]
        groups: IntArray = group[is_head]
        return groups

    def expanded(self, groups: IntArray, order: IntArray) -> IntArray:
        """Return the nodes of ``groups`` one group after another, those of one group as in ``order``."""
        place = np.full(len(self.heads), -1, np.int64)
        place[groups] = np.arange(len(groups))
        places = place[self.group_of[order]]
        inside = places >= 0
        found: IntArray = order[inside][np.argsort(places[inside], kind="stable")]
        return found


def fuse(cdag: Cdag, most: int, *, with_largest: bool = False) -> Fused:
    """Return ``cdag`` with every value that one node reads, and what it is computed from alone, fused to that reader.

    Up to ``most`` nodes of such a subtree are fused; of a reader's operands the largest such subtree is left out, so
    that a chain of additions stays a chain and each product goes with its addition; ``with_largest`` takes it too, for
    whole sums. ``most`` = 0 fuses nothing.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import mvm
    >>> product = mvm(m=1, n=3, word=1)
    >>> product.n, len(fuse(product, 3).heads)
    (11, 9)
    """
    children, given = cdag.children, cdag.given.view(np.uint8)
    head = fusion_kernels.fused_heads(cdag.order, given, children.starts, children.targets, most, with_largest)
    heads = np.flatnonzero(head == np.arange(cdag.n))
    group = np.empty(cdag.n, np.int64)
    group[heads] = np.arange(len(heads))
    group = group[head]
    sources, targets = cdag.edge_arrays()
    start, stop = group[sources], group[targets]
    if len(heads) < cdag.n:
        keys = distinct((stop * len(heads) + start)[start != stop])
        start, stop = keys % len(heads), keys // len(heads)
    return Fused(
        group,
        heads,
        from_arrays(len(heads), stop, start),
        from_arrays(len(heads), start, stop),
        cdag.weights[heads],
        cdag.given[heads],
    )
