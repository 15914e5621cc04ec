"""List ranking, by it the Euler tour of a tree, and subtree sizes from that (Baumann et al., Section IV)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shorthaul.spatial.algorithms.rake_compress import coins, contract, expand_down, prepare
from shorthaul.spatial.algorithms.stored import NONE, TreeNodes
from shorthaul.spatial.computer.machine import Machine
from shorthaul.spatial.computer.operators import OPERATORS
from shorthaul.spatial.computer.registers import Nodes, Register, Values

Index = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Links:
    """Neighbours of every vertex: parent, first child, next sibling; -1 where there is none."""

    parent: Index
    first_child: Index
    next_sibling: Index


def links(parent: Index, starts: Index, kids: Index) -> Links:
    """Return the links of a tree whose children are listed in ``starts`` and ``kids`` (roots under n)."""
    n = len(parent)
    first = np.full(n, -1, np.int32)
    has = starts[1 : n + 1] > starts[:n]
    first[has] = kids[starts[:n][has]]
    following = np.full(n, -1, np.int32)
    same = parent[kids[:-1]] == parent[kids[1:]]
    following[kids[:-1][same]] = kids[1:][same]
    return Links(parent, first, following)


@dataclass(frozen=True, slots=True)
class LinkRegisters:
    """The links as every vertex knows its own, and the ``processor`` of each (None: its own)."""

    vertices: Nodes
    parent: Register
    first_child: Register
    next_sibling: Register
    processor: Index | None = None


def loaded(machine: Machine, tree: Links, processor: Index | None = None) -> LinkRegisters:
    """Return the links on a machine, as given; ``processor`` names that of every vertex, if not each has its own."""
    vertices = machine.processors if processor is None else machine.nodes(processor, "vertices")
    return LinkRegisters(
        vertices,
        machine.load("links: parent", tree.parent, vertices),
        machine.load("links: first child", tree.first_child, vertices),
        machine.load("links: next sibling", tree.next_sibling, vertices),
        processor,
    )


def rank_list(
    machine: Machine,
    elements: Nodes,
    following: Register,
    weight: Register,
    *,
    kind: str = "random-mate",
    seed: int = 0,
) -> Register:
    """Return the summed weight of every element and all before it in its list, in place of ``weight``.

    ``following`` names each element's successor (-1 at an end), ``weight`` what it adds (ones give the rank from 1). A
    list is a path, so this is the top-down contraction: O(n^1.5) energy and O(log n) depth with high probability,
    wherever the elements lie.
    """
    before = elements.register(NONE, np.int32, name="before")
    inner = elements.all.where(following >= 0)
    receivers, (number,) = machine.send(following[inner], inner.number)
    before[receivers] = number
    path = TreeNodes(elements, elements, before, None, loaded=(following,))
    state = prepare(path, weight, OPERATORS["sum"], up=False)
    contract(machine, state, coins(kind, seed), patience=0)
    return expand_down(machine, state)


def tour_ranks(
    machine: Machine, tree: LinkRegisters, *, weights: tuple[int, int] = (1, 1), seed: int = 0
) -> tuple[Values, Values]:
    """Return the summed weight of the tour up to the step into every vertex, and up to the step out of it.

    Each vertex hosts both steps; ``weights`` are those of a step in and of a step out. With (1, 1) the sums are the
    indices in the tour, from 1; with (1, 0) the first is the preorder number, from 1.
    """
    vertices, n = tree.vertices.all, tree.vertices.count
    host = np.arange(n, dtype=np.int32) if tree.processor is None else tree.processor
    steps = machine.nodes(np.tile(host, 2), "steps of the tour")
    following = steps.register(-1, np.int32, name="following")
    weight = steps.register(weights[1], np.int32, name="weight")
    into = steps.all.where(steps.all.number < n)
    out = steps.all.where(steps.all.number >= n)
    weight[into] = weights[0]
    child = tree.first_child[into.number]
    following[into] = np.where(child >= 0, child, into.number + n)
    vertex = out.number - n
    sibling, parent = tree.next_sibling[vertex], tree.parent[vertex]
    following[out] = np.where(sibling >= 0, sibling, np.where(parent >= 0, parent + n, -1))
    del child, vertex, sibling, parent
    sums = rank_list(machine, steps, following, weight, seed=seed)
    return sums[vertices.number], sums[vertices.number + n]


def subtree_sizes_by_tour(machine: Machine, tree: LinkRegisters, *, seed: int = 0) -> Register:
    """Return the number of descendants of every vertex, itself included: (last - first + 1) / 2 in the tour."""
    into, out = tour_ranks(machine, tree, seed=seed)
    size = tree.vertices.register(0, np.int32, name="size")
    size[tree.vertices.all] = (out - into + 1) // 2
    return size
