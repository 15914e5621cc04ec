"""Treefix sums by one wave over the virtual tree: the least energy, a depth of the tree's height."""

from __future__ import annotations

from shorthaul.spatial.algorithms.stored import TreeNodes
from shorthaul.spatial.computer.machine import Machine
from shorthaul.spatial.computer.operators import Operator
from shorthaul.spatial.computer.registers import Register


def convergecast(machine: Machine, tree: TreeNodes, values: Register, operator: Operator) -> Register:
    """Leave the sum over its subtree at every node, and return it: each reports once all its children have."""
    machine.converge(values, tree.parent, tree.family(), operator)
    return values


def broadcast_down(machine: Machine, tree: TreeNodes, values: Register, operator: Operator) -> Register:
    """Leave the sum along the path from the root at every node, and return it: each tells its children its own."""
    machine.flood(values, tree.kids, operator)
    return values
