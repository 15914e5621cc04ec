"""Batched lowest common ancestors by a cover of the tree with subtrees (Baumann et al., Section VI)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shorthaul.spatial.algorithms.local_messaging import local_broadcast
from shorthaul.spatial.algorithms.query_kernels import split
from shorthaul.spatial.algorithms.stored import TreeNodes
from shorthaul.spatial.computer.collectives import all_reduce, spread
from shorthaul.spatial.computer.machine import Machine
from shorthaul.spatial.computer.operators import OPERATORS
from shorthaul.spatial.computer.registers import Register, Selection, Values

Index = npt.NDArray[np.int32]
Treefix = Callable[[Register], Register]

#: Queries that a processor holds at a time; more are answered in further batches.
QUERIES_HELD = 16


@dataclass(frozen=True, slots=True)
class Cover:
    """What every vertex knows of the cover: the ranges of its own subtree and of its parent's, its path's layer.

    A subtree is a range of processors. ``light``: it is the first of its path, and not a root.
    """

    end: Register
    parent_begin: Register
    parent_end: Register
    light: Register
    layer: Register


def lowest_common_ancestors(
    machine: Machine, tree: TreeNodes, queries: Index, *, up: Treefix, down: Treefix, barriers: bool
) -> Index:
    """Return the lowest common ancestor of every pair of vertices, -1 in different trees; shape (q,).

    ``up`` and ``down`` run the treefix sums that give sizes and layers. The first vertex x of every path but the
    roots' broadcasts within its subtree the range of its parent w and its own. Who is in x's subtree and has a query
    with a vertex in w's but not in x's knows w to be the answer.
    """
    cover = _cover(machine, tree, up, down)
    first, second = np.ascontiguousarray(queries[:, 0]), np.ascontiguousarray(queries[:, 1])
    batch = np.full(len(queries), -1, np.int32)
    split(first, second, QUERIES_HELD, batch, np.empty(tree.vertices.count, np.int32))
    found, outputs = np.full(len(queries), -1, np.int32), []
    for turn in range(int(batch.max(initial=-1)) + 1):
        asked = np.flatnonzero(batch == turn)
        twice = asked[first[asked] != second[asked]]  # queries with two ends
        ends = np.concatenate([first[asked], second[twice]])
        partners = np.concatenate([second[asked], first[twice]])
        answers = _answers(machine, tree, cover, (ends, partners), barriers=barriers)
        outputs.append((np.concatenate([asked, twice]), machine.emit(answers)))
    for asked, output in outputs:
        np.maximum.at(found, asked, machine.collect(output))
    return found


def _cover(machine: Machine, tree: TreeNodes, up: Treefix, down: Treefix) -> Cover:
    vertices, nodes = tree.vertices, tree.nodes.all
    everybody = vertices.all
    size = up(vertices.register(1, np.int32, name="one"))
    end, layer = (vertices.register(0, np.int32, name=name) for name in ("end", "layer"))
    end[everybody] = everybody.number + size[everybody]
    del size
    begins, ends = (tree.nodes.register(0, np.int32, name=name) for name in ("begins", "ends"))
    first = nodes.where(nodes.number < vertices.count)
    begins[first], ends[first] = first.number, end[first.number]
    local_broadcast(machine, tree, begins, ends)
    parent_begin, parent_end = (vertices.register(0, np.int32, name=name) for name in ("parent", "parent's end"))
    parent_begin[everybody], parent_end[everybody] = begins[everybody.number], ends[everybody.number]
    del begins, ends
    # The heaviest child is the last one of its parent, whose range it has been told; roots hold their own.
    light, one = vertices.register(False, np.bool_, name="light"), vertices.register(0, np.int32, name="light")
    light[everybody] = end != parent_end
    one[everybody] = light[everybody].astype(np.int32)
    layer[everybody] = down(one)[everybody]
    return Cover(end, parent_begin, parent_end, light, layer)


def _answers(
    machine: Machine, tree: TreeNodes, cover: Cover, queries: tuple[Index, Index], *, barriers: bool
) -> Register:
    """Return the answers as far as the ends of the queries, vertices, know them, -1 where one does not."""
    everybody = tree.vertices.all
    ends = tree.beside(machine, queries[0], "ends of queries")
    own, partner = (machine.load("queries", numbers, ends) for numbers in queries)
    answer = ends.register(-1, np.int32, name="answer")
    below = ends.all.where(own <= partner)
    below = below.where(partner[below] < cover.end[own[below]])
    answer[below] = own[below]
    told = tree.vertices.register(False, np.bool_, name="told")
    begin, end, parent, parent_end = held = [
        tree.vertices.register(0, np.int32, name=f"{name} of the cover")
        for name in ("begin", "end", "parent", "its end")
    ]
    level = 1
    while everybody.where(cover.light & (cover.layer >= level)):
        head = everybody.where(cover.light & (cover.layer == level))
        begin[head], end[head] = head.number, cover.end[head]
        parent[head], parent_end[head] = cover.parent_begin[head], cover.parent_end[head]

        def place(nodes: Selection) -> Values:
            return nodes.number - begin[nodes]

        def size(nodes: Selection) -> Values:
            return end[nodes] - begin[nodes]

        told[everybody] = False
        told[spread(machine, head, place, size, held)] = True
        asking = ends.all.where(answer < 0)
        asking = asking.where(told[own[asking]])
        inside = asking.where(partner[asking] >= parent[own[asking]])
        inside = inside.where(partner[inside] < parent_end[own[inside]])
        outside = partner[inside] < begin[own[inside]]
        outside |= partner[inside] >= end[own[inside]]
        knowing = inside.where(outside)
        answer[knowing] = parent[own[knowing]]
        if barriers:
            all_reduce(machine, machine.register(1, np.int64, name="barrier"), OPERATORS["and"])
        level += 1
    return answer
