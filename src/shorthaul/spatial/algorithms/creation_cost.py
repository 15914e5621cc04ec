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
from shorthaul.spatial.computer.fabric_network import FabricNetwork, taking_part
from shorthaul.spatial.computer.machine import Machine
from shorthaul.spatial.computer.memory import WORD_BYTES
from shorthaul.spatial.computer.network import Network
from shorthaul.spatial.model import Fabric, Grid, Tree

Index = npt.NDArray[np.int32]

#: Words of the longest message of layout creation; the machine refuses longer ones.
MESSAGE_WORDS = 2
#: Up to this many vertices every message is replayed by the checker.
_REPLAYED = 2**14


def creation(
    tree: Tree, place: Index | tuple[Index, Index], where: Grid | Fabric, position: Index, *, search: Search
) -> dict[str, Any]:
    """Run layout creation on vertices stored in their own order and return what it took: cost and other counts.

    Vertex v is at (x[v], y[v]) of a grid, or on processor ``place[v]`` of a machine. At the end that of position p is
    where p was; ``position`` is the light-first order it has to arrive at. Raises :class:`DefectError` if it does not,
    or if the replay counts another cost.

    >>> line = np.arange(4, dtype=np.int32)
    >>> tree = Tree(np.array([-1, 0, 0, 1], np.int32))
    >>> creation(tree, (line, 0 * line), Grid(4, 1), np.array([0, 2, 1, 3]), search=Search())["depth"] > 0
    True
    """
    is_replayed = tree.n <= _REPLAYED
    replay: Replay | MachineReplay | None
    processor: Index | None = None
    if isinstance(where, Grid):
        x, y = place
        replay = Replay(x, y, where) if is_replayed else None
        network = Network(x, y, where, count_links=is_replayed, listener=replay, search=search)
        machine = Machine.over(network, tree.n, message_words=MESSAGE_WORDS)
    else:
        assert isinstance(place, np.ndarray)
        cell, processor, most = taking_part(where, place)
        replay = MachineReplay(where, cell) if is_replayed else None
        words = where.memory_bytes // WORD_BYTES
        network = FabricNetwork(where, cell, most, count_links=is_replayed, listener=replay, search=search)
        machine = Machine.over(network, len(cell), words=words, message_words=min(words, MESSAGE_WORDS))
    linked = links(tree.parent, *children(tree.parent, np.empty(0, np.int32)))
    created = create_layout(machine, linked, processor=processor, seed=search.seed)
    if not (machine.collect(created) == position).all():
        raise DefectError("layout creation by messages arrived at another order")
    cost = machine.cost()
    if replay is not None and dict(replay.cost()) != dict(cost):
        raise DefectError(f"the replay counts {replay.cost()}, the machine {cost}")
    return {**cost, **machine.figures()}
