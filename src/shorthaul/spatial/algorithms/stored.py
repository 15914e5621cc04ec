"""The virtual tree as its nodes know it: parent, slot and children, stored with the tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.graphs.tree_kernels import depths, heavy_children, ranks_and_layers, sorted_by, subtree_sizes
from shorthaul.spatial.computer.machine import Machine
from shorthaul.spatial.computer.operators import Operator
from shorthaul.spatial.computer.registers import Nodes, Register
from shorthaul.spatial.layout.stored_tree import VirtualTree

Index = npt.NDArray[np.int32]
NONE = np.int32(-1)


@dataclass(frozen=True, slots=True)
class HeavyPaths:
    """The heavy paths, stored with a tree: each node's rank on its path, layer, and heavy child (-1: none)."""

    rank: Register
    layer: Register
    heavy: Register


@dataclass(slots=True)
class TreeNodes:
    """What the nodes of a tree know: their ``parent``, which child of it they are, and their ``kids`` (-1: none).

    The first nodes stand for the ``vertices``, of which a processor holds one, or several on a machine with that.
    Where ``slot`` is None, nobody has more than one child. ``kids`` is loaded when a program asks for it first.
    """

    vertices: Nodes
    nodes: Nodes
    parent: Register
    slot: Register | None
    processor: Index | None = None
    loaded: tuple[Register, ...] | None = None
    paths: HeavyPaths | None = None
    stored: tuple[Machine, VirtualTree] | None = None

    @property
    def kids(self) -> tuple[Register, ...]:
        """The children of every node, -1 for none."""
        if self.loaded is None:
            assert self.stored is not None
            machine, tree = self.stored
            kids = np.full((3, tree.nodes), NONE, np.int32)
            inner = np.flatnonzero(tree.parent >= 0).astype(np.int32)
            kids[tree.slot[inner], tree.parent[inner]] = inner
            self.loaded = tuple(machine.load("virtual tree: children", kid, self.nodes) for kid in kids)
        return self.loaded

    def family(self) -> Register:
        """Return the number of children of every node."""
        assert self.stored is not None
        machine, tree = self.stored
        count = np.bincount(tree.parent[tree.parent >= 0], minlength=tree.nodes).astype(np.int8)
        return machine.load("virtual tree: number of children", count, self.nodes)

    def beside(self, machine: Machine, vertices: Index, name: str) -> Nodes:
        """Return nodes on the processors of these vertices."""
        return machine.nodes(vertices if self.processor is None else self.processor[vertices], name)

    def of_vertices(self, held: Register, fill: object = 0) -> Register:
        """Return a register of the nodes with what the vertices hold; added nodes hold ``fill``."""
        vertices = self.nodes.all.where(self.nodes.all.number < self.vertices.count)
        value = held[vertices.number]
        register = self.nodes.register(fill, value.dtype, width=value.width, name="value")
        register[vertices] = value
        return register


def stored_nodes(
    machine: Machine, tree: VirtualTree, *, processor: Index | None = None, paths: bool = False
) -> TreeNodes:
    """Return the nodes of the virtual tree on a machine, with its heavy paths if wanted; what they know is given.

    ``processor`` names that of every vertex, if not each has its own.
    """
    vertices = machine.processors if processor is None else machine.nodes(processor, "vertices")
    nodes = machine.nodes(tree.host if processor is None else processor[tree.host], "nodes of the virtual tree")
    return TreeNodes(
        vertices,
        nodes,
        machine.load("virtual tree: parent", tree.parent, nodes),
        machine.load("virtual tree: slot", tree.slot.astype(np.int8), nodes),
        processor=processor,
        paths=_heavy_paths(machine, nodes, tree) if paths else None,
        stored=(machine, tree),
    )


def _heavy_paths(machine: Machine, nodes: Nodes, tree: VirtualTree) -> HeavyPaths:
    """Return the heavy-path decomposition of the virtual tree (Baumann et al., Section VI-A)."""
    depth, _ = depths(tree.parent)
    order = sorted_by(depth, int(depth.max()))
    heavy = heavy_children(tree.parent, subtree_sizes(tree.parent, order))
    rank, layer = ranks_and_layers(tree.parent, order, heavy)
    return HeavyPaths(
        machine.load("heavy paths: rank", rank, nodes),
        machine.load("heavy paths: layer", layer.astype(np.int8), nodes),
        machine.load("heavy paths: heavy child", heavy, nodes),
    )


def to_vertices(tree: TreeNodes, held: Register) -> Register:
    """Return a register of the vertices with what their nodes, the first ones, hold."""
    value = held[tree.vertices.all.number]
    register = tree.vertices.register(0, value.dtype, width=value.width, name="result")
    register[tree.vertices.all] = value
    return register


def neutral(operator: Operator, kind: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return the operator's identity as a number of type ``kind``."""
    return np.asarray(operator.identity).astype(kind) if operator.words == 1 else np.asarray(operator.identity)
