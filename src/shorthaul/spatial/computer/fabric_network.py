"""The network of a machine file: shortest ways around what is dead, on meshes, tori, layers and dies."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shorthaul.core.search import Search
from shorthaul.spatial.computer.machine_kernels import Messages, Traffic
from shorthaul.spatial.computer.network import MOST_MESSAGES, Listener, Network
from shorthaul.spatial.layout.fabric import Routes
from shorthaul.spatial.model import Fabric

Index = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.intp]


def taking_part(fabric: Fabric, place: Index) -> tuple[Index, Index, int]:
    """Return the processors that hold vertices, which of these every vertex is on, and the most vertices of one."""
    count = np.bincount(place, minlength=fabric.cells)
    number = np.cumsum(count > 0, dtype=np.int32) - np.int32(1)
    return np.flatnonzero(count).astype(np.int32), number[place], int(count.max())


class FabricNetwork(Network):
    """Processors of a machine, each with several vertices, and its links; a link takes as many cycles as it has hops.

    Parameters
    ----------
    fabric : Fabric
        The machine.
    cell : array of int32
        The number on the machine of every processor that takes part.
    vertices : int
        Vertices of a processor: it may send, and receive, :data:`MOST_MESSAGES` for each of them in a round.
    """

    def __init__(
        self,
        fabric: Fabric,
        cell: Index,
        vertices: int,
        *,
        count_links: bool,
        listener: Listener | None,
        search: Search | None,
    ) -> None:
        self.grid = fabric.grid
        self.count_links = count_links
        self.rounds = 0
        self.most_messages = MOST_MESSAGES * vertices
        nowhere = np.zeros(len(cell), np.int32)
        self._traffic = Traffic(nowhere, nowhere, 1, fabric.links.size, fabric.links.ravel(), count_links)
        self._listener = listener
        self._search = search
        self._cell = cell
        self._routes = Routes(fabric)

    def deliver(
        self, sender: Numbers, receiver: Numbers, host: Index, words: int, *, crowd: int = 0, wave: bool = False
    ) -> None:
        """Do so with the messages that leave their processor: with many vertices on each, most do not."""
        apart = np.flatnonzero(host[sender] != host[receiver])
        super().deliver(sender[apart], receiver[apart], host, words, crowd=crowd, wave=wave)

    def _routed(self, sender: Numbers, receiver: Numbers, host: Index, words: int) -> Messages:
        starts, trail = self._routes.between(self._cell[host[sender]], self._cell[host[receiver]])
        return Messages(sender, receiver, host, words, starts, trail)

    def link_loads(self) -> Index:
        """Return the words over every link so far, shape (6, cells), ways as in :class:`Fabric`."""
        return self._traffic.loads().reshape(6, -1)
