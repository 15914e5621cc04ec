"""What creating the light-first order costs on the machine itself (Baumann et al., Theorem 4)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.core.errors import DefectError
from shorthaul.core.search import Search
from shorthaul.graphs.tree_kernels import children
from shorthaul.spatial.algorithms.euler_tour import links
from shorthaul.spatial.algorithms.layout_creation import create_layout
from shorthaul.spatial.check.machine_replay import MachineReplay
from shorthaul.spatial.check.replay import Replay
from shorthaul.spatial.computer.fabric_network import FabricNetwork
from shorthaul.spatial.computer.machine import Machine
from shorthaul.spatial.computer.memory import WORD_BYTES
from shorthaul.spatial.computer.network import Network
from shorthaul.spatial.model import Fabric, Grid, Tree

Index = npt.NDArray[np.int32]

#: Words of the longest message of layout creation; the machine refuses longer ones.
MESSAGE_WORDS = 2
#: Up to this many vertices every message is replayed by the checker.
_REPLAYED = 2**14


def creation(tree: Tree, x: Index, y: Index, grid: Grid, position: Index, *, search: Search) -> dict[str, Any]:
    """Run layout creation on vertices stored in their own order, v at (x[v], y[v]), and return what it took.

    The cost and the machine's other counts. ``position`` is the light-first order it has to arrive
    at. Raises :class:`DefectError` if it does not, or if the replay counts another cost.

    >>> line = np.arange(4, dtype=np.int32)
    >>> tree = Tree(np.array([-1, 0, 0, 1], np.int32))
    >>> creation(tree, line, 0 * line, Grid(4, 1), np.array([0, 2, 1, 3]), search=Search())["depth"] > 0
    True
    """
    replay = Replay(x, y, grid) if tree.n <= _REPLAYED else None
    network = Network(x, y, grid, count_links=tree.n <= _REPLAYED, listener=replay, search=search)
    machine = Machine.over(network, tree.n, message_words=MESSAGE_WORDS)
    return _run(machine, replay, tree, position, search.seed)


def creation_on_machine(tree: Tree, fabric: Fabric, place: Index, position: Index, *, search: Search) -> dict[str, Any]:
    """Do so on a machine, with the vertices stored in their own order, v on processor ``place[v]``.

    At the end the vertex of position p is there, too: on processor ``place[p]``.
    """
    cell, processor, count = np.unique(place, return_inverse=True, return_counts=True)
    is_replayed = tree.n <= _REPLAYED
    replay = MachineReplay(fabric, cell) if is_replayed else None
    network = FabricNetwork(fabric, cell, int(count.max()), count_links=is_replayed, listener=replay, search=search)
    words = fabric.memory_bytes // WORD_BYTES
    machine = Machine.over(network, len(cell), words=words, message_words=min(words, MESSAGE_WORDS))
    return _run(machine, replay, tree, position, search.seed, processor.astype(np.int32))


def _run(
    machine: Machine,
    replay: Replay | MachineReplay | None,
    tree: Tree,
    position: Index,
    seed: int,
    processor: Index | None = None,
) -> dict[str, Any]:
    linked = links(tree.parent, *children(tree.parent, np.empty(0, np.int32)))
    if not (machine.collect(create_layout(machine, linked, processor=processor, seed=seed)) == position).all():
        raise DefectError("layout creation by messages arrived at another order")
    cost = machine.cost()
    if replay is not None and dict(replay.cost()) != dict(cost):
        raise DefectError(f"the replay counts {replay.cost()}, the machine {cost}")
    return {**cost, **machine.figures()}
