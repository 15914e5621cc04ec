"""Treefix sums by scans along heavy paths, layer by layer: every second node of a path is merged at a time."""

from __future__ import annotations

from shorthaul.spatial.algorithms.rake_compress import Contracted, expand_down, expand_up, merge, prepare
from shorthaul.spatial.algorithms.stored import HeavyPaths, TreeNodes
from shorthaul.spatial.computer.machine import Machine
from shorthaul.spatial.computer.operators import Operator
from shorthaul.spatial.computer.registers import Register, Selection, Values


def scan_up(machine: Machine, tree: TreeNodes, values: Register, operator: Operator) -> Register:
    """Return the sum over every subtree, by node; layers from the leaves up, O(log^2 n) depth."""
    everybody = tree.nodes.all
    state = prepare(tree, values, operator, up=True)
    raked, slots, paths = state.raked, tree.slot, tree.paths
    assert paths is not None
    assert raked is not None
    assert slots is not None
    state.kid[everybody] = paths.heavy[everybody]
    for layer in range(tree.vertices.count.bit_length(), -1, -1):  # every path above halves the size
        nodes = everybody.where(paths.layer == layer)
        state.path[nodes] = values[nodes].combined(operator, raked[nodes])
        _merge_paths(machine, state, nodes, paths)
        heads = nodes.where((paths.rank[nodes] == 0) & (state.parent[nodes] >= 0))
        for place in range(len(tree.kids)):
            head = heads.where(slots[heads] == place)
            parents, (total,) = machine.send(state.parent[head], state.path[head])
            raked[parents] = raked[parents].combined(operator, total)
    return expand_up(machine, state)


def scan_down(machine: Machine, tree: TreeNodes, values: Register, operator: Operator) -> Register:
    """Return the sum along the path from the root to every node: all paths are merged at once, then undone."""
    everybody = tree.nodes.all
    state = prepare(tree, values, operator, up=False)
    paths = tree.paths
    assert paths is not None
    assert state.spared is not None
    assert state.rakes is not None
    assert state.before_merge is not None
    state.kid[everybody] = state.spared[everybody] = paths.heavy[everybody]
    state.rakes[everybody] = True
    inner = everybody.where(paths.heavy >= 0)
    receivers, (path,) = machine.send(paths.heavy[inner], state.path[inner])
    state.before_merge[receivers] = path
    _merge_paths(machine, state, everybody, paths)
    return expand_down(machine, state)


def _merge_paths(machine: Machine, state: Contracted, nodes: Selection, paths: HeavyPaths) -> None:
    """Merge every path into its first node: in step k the nodes whose rank is an odd multiple of 2^k."""

    def going_on(nodes: Selection) -> Selection:
        return nodes.where((paths.rank[nodes] > 0) | (state.kid[nodes] >= 0))

    alive, step = going_on(nodes), 0
    while alive:

        def merged_next(node: Selection, step: int = step) -> Values:
            """Whether its child, 2^step further on, is merged next: of the notices a node gets, only that matters."""
            rank: Values = (paths.rank[node] + 2**step) >> (step + 1)
            return rank & 1 == 1

        odd = (paths.rank[alive] >> step) & 1 == 1
        merge(machine, state, alive.where(odd), merged_next)
        alive, step = going_on(alive.where(~odd)), step + 1
