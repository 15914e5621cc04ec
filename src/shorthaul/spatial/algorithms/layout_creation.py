"""Light-first order computed on the machine itself, from vertices stored anywhere (Baumann et al., Theorem 4)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.spatial.algorithms.euler_tour import LinkRegisters, Links, loaded, subtree_sizes_by_tour, tour_ranks
from shorthaul.spatial.computer.machine import Machine
from shorthaul.spatial.computer.registers import Nodes, Register, Selection, Values

Index = npt.NDArray[np.int32]


def create_layout(machine: Machine, tree: Links, *, processor: Index | None = None, seed: int = 0) -> Register:
    """Return the light-first position of every vertex; vertex v starts in place v and ends in that of its position.

    ``processor`` names that of every place, if not each has its own. Sizes by an Euler tour, siblings sorted by size, a
    second tour in that order, and a permutation: O(n^1.5) energy; O(log^2 n) depth, from the sorting network.
    """
    given = loaded(machine, tree, processor)
    vertices, n, everybody = given.vertices, given.vertices.count, given.vertices.all
    size = subtree_sizes_by_tour(machine, given, seed=seed)
    key, vertex = vertices.register(0, name="key"), vertices.register(0, np.int32, name="vertex")
    above = given.parent[everybody].astype(np.int64)
    key[everybody] = np.where(above >= 0, above, n) * (n + 1) + size[everybody]
    vertex[everybody] = everybody.number
    del size, above
    sort_network(machine, key, vertex, vertices)
    lighter_first = _relink(machine, given, key, vertex)
    del key, vertex
    preorder, _ = tour_ranks(machine, lighter_first, weights=(1, 0), seed=seed + 1)
    position = vertices.register(0, np.int32, name="position")
    position[everybody] = preorder - 1
    machine.send(position[everybody], position[everybody])
    return position


def sort_network(machine: Machine, key: Register, item: Register, nodes: Nodes | None = None) -> None:
    """Sort (key, item) over the processors, or nodes, in place by Batcher's odd-even merge sort: O(n^1.5) energy."""
    nodes = machine.processors if nodes is None else nodes
    n, everybody = nodes.count, nodes.all
    upper = nodes.register(False, np.bool_, name="is the upper of a pair")
    block = 1
    while block < n:
        step = block
        while step >= 1:
            number = everybody.number
            lower = _is_lower(number, step, block, n)
            upper[everybody] = (number >= step) & _is_lower(number - step, step, block, n)
            pairs = everybody.where(lower | upper)
            del number, lower
            _exchange(machine, pairs, step, upper, key, item)
            step //= 2
        block *= 2


def _is_lower(number: Values, step: int, block: int, n: int) -> Values:
    """Return whether a processor is compared with the one ``step`` further on."""
    first = step % block
    within = number // (2 * block) == (number + step) // (2 * block)
    return within & (number >= first) & (((number - first) // step) % 2 == 0) & (number + step < n)


def _exchange(machine: Machine, pairs: Selection, step: int, upper: Register, key: Register, item: Register) -> None:
    partner: Any = np.where(upper[pairs], pairs.number - step, pairs.number + step)
    receivers, (other, thing) = machine.send(partner, key[pairs], item[pairs])
    own, kept = key[receivers], item[receivers]
    larger = (own > other) | ((own == other) & (kept > thing))
    swap = receivers.where(larger ^ upper[receivers])
    key[swap], item[swap] = other, thing


def _relink(machine: Machine, tree: LinkRegisters, key: Register, vertex: Register) -> LinkRegisters:
    """Return the links in sorted order: neighbours in it tell each other, then the vertices and their parents."""
    vertices, n, everybody = tree.vertices, tree.vertices.count, tree.vertices.all
    above = vertices.register(0, np.int32, name="parent in this place")
    above[everybody] = key[everybody] // (n + 1)
    first, following = (vertices.register(-1, np.int32, name=name) for name in ("first child", "next sibling"))
    followed, leads = (vertices.register(value, np.bool_, name="neighbours") for value in (False, True))
    next_one = vertices.register(0, np.int32, name="vertex in the next place")
    number = everybody.number
    later, earlier = everybody.where(number > 0), everybody.where(number < n - 1)
    receivers, (parent, thing) = machine.send(later.number - 1, above[later], vertex[later])
    followed[receivers], next_one[receivers] = above[receivers] == parent, thing
    receivers, (parent,) = machine.send(earlier.number + 1, above[earlier])
    leads[receivers] = above[receivers] != parent
    same = everybody.where(followed)
    receivers, (thing,) = machine.send(vertex[same], next_one[same])
    following[receivers] = thing
    head = everybody.where(leads & (above < n))
    receivers, (thing,) = machine.send(above[head], vertex[head])
    first[receivers] = thing
    return replace(tree, first_child=first, next_sibling=following)
