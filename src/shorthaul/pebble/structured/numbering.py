"""Numbers of the nodes of a CDAG that follow from its structure alone, not from how its nodes happen to be numbered.

Cells of nodes that look alike are refined until all nodes differ (McKay 1981, along one path of the search): where only
automorphisms leave a choice, the same graph gets the same numbers however it was shuffled. Ties of all other
orders are broken by them. The second step lays the graph out along a line: nodes that are near stand near.
"""

from __future__ import annotations

import numpy as np

from shorthaul.core.search import Search
from shorthaul.graphs.csr import component_of, layers
from shorthaul.pebble import tuning
from shorthaul.pebble.model import Cdag, IntArray, build
from shorthaul.pebble.structured import numbering_kernels as kernels


def renumbered(cdag: Cdag, *, search: Search) -> tuple[Cdag, IntArray] | None:
    """Return the graph with its nodes numbered by structure, level by level, and which node each was, shape (n,).

    The operands of each node are in ascending order. None if ``search`` expires before.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import pyramid
    >>> again, was = renumbered(pyramid(n=2, word=1), search=Search())
    >>> again.parents.neighbours(5).tolist(), int(was[5])
    ([3, 4], 5)
    """
    effort = (cdag.n + cdag.edges) / tuning.RENUMBERING_RATE
    nodes = _canonical(cdag, search) if effort < search.left() else None
    if nodes is None:
        return None
    search.spend(effort)
    first = permuted(cdag, nodes)
    order = by_levels(first)
    return permuted(first, order), nodes[order]


def permuted(cdag: Cdag, nodes: IntArray) -> Cdag:
    """Return the graph whose node i is ``nodes[i]`` of ``cdag``, operands in ascending order, with its name."""
    number = np.empty(cdag.n, dtype=np.int64)
    number[nodes] = np.arange(cdag.n)
    sources, targets = (number[ends] for ends in cdag.edge_arrays())
    sequence = np.lexsort((sources, targets))
    return build(
        cdag.weights[nodes], sources[sequence], targets[sequence], given=cdag.given[nodes],
        kept=None if cdag.kept is None else cdag.kept[nodes], compute=cdag.compute[nodes],
        ids=[cdag.id_of(node) for node in nodes.tolist()], name=cdag.name,
    )  # fmt: skip


def _canonical(cdag: Cdag, search: Search) -> IntArray | None:
    """Return the nodes in an order that follows from the structure alone; None if ``search`` expires before."""
    kept = np.zeros(cdag.n, dtype=np.bool_) if cdag.kept is None else cdag.kept
    kinds = np.stack([cdag.weights, cdag.given, cdag.compute, kept], axis=1)
    colours = np.unique(kinds, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
    parents, children = cdag.parents, cdag.children
    nodes = np.argsort(colours, kind="stable")
    cells = kernels.Cells(parents.starts, parents.targets, children.starts, children.targets, colours, nodes)
    work, done = 0, False
    while not done:
        if search.expired():
            return None
        done = kernels.advance(cells, tuning.ORDER_CALL)
        search.spend((cells.work - work) / tuning.REFINING_RATE)
        work = cells.work
    return np.asarray(cells.nodes)


def by_levels(cdag: Cdag) -> IntArray:
    """Return the nodes level by level, each level along the line, shape (n,)."""
    depth = layers(cdag.children, cdag.order)
    return np.lexsort((along(cdag), depth))


def along(cdag: Cdag) -> IntArray:
    """Return the places of the nodes on a line on which neighbours are near, shape (n,); components come one by one.

    A node stands between two nodes that are far apart, nearer to the one that it is fewer edges from, and then moves
    towards the mean of its neighbours. Values that very many read are neighbours of nobody.
    """
    from scipy.sparse import csr_array

    sources, targets = cdag.edge_arrays()
    degrees = cdag.parents.degrees() + cdag.children.degrees()
    is_near = degrees <= tuning.HUB_DEGREES * max(1.0, 2 * cdag.edges / cdag.n)
    links = cdag.parents.starts, cdag.parents.targets, cdag.children.starts, cdag.children.targets
    passed = is_near.view(np.uint8)
    _, ends = kernels.distances(*links, passed, np.arange(cdag.n))
    from_one, others = kernels.distances(*links, passed, ends)
    from_other, _ = kernels.distances(*links, passed, others)
    spot = (from_one - from_other).astype(np.float64)
    kept = is_near[sources] & is_near[targets]
    near = csr_array((np.ones(int(kept.sum())), (sources[kept], targets[kept])), shape=(cdag.n, cdag.n))
    near = near + near.T
    count = np.maximum(np.asarray(near.sum(axis=1)), 1.0)
    for _ in range(tuning.SMOOTHING_ROUNDS):
        spot = 0.5 * spot + 0.5 * (near @ spot) / count
    component = component_of(cdag.n, sources, targets)
    place = np.empty(cdag.n, dtype=np.int64)
    place[np.lexsort((spot, component))] = np.arange(cdag.n)
    return place
