"""Independent check of a layout on a machine: who is dead, how full memory is, what the messages travel."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shorthaul.core.amounts import Cost
from shorthaul.core.check import CheckReport, Violation
from shorthaul.spatial.check.fabric_kernels import Machine, replay
from shorthaul.spatial.check.replay import differing_parents
from shorthaul.spatial.model import Fabric, Load, Tree
from shorthaul.spatial.plan import Layout

Index = npt.NDArray[np.int32]

_MOST = 50


def check_on_machine(layout: Layout, tree: Tree, fabric: Fabric, load: Load) -> CheckReport:
    """Return every violation of ``layout`` on a machine, and its cost as recounted on the links that are not dead.

    Rules: ``wrong-size``, ``wrong-parent``, ``outside-grid``, ``dead-processor``, ``memory-exceeded``, ``no-way``. At
    most fifty violations of each rule are listed.
    """
    violations = differing_parents(layout, tree)
    if violations and violations[0].rule == "wrong-size":
        return CheckReport(tuple(violations))
    x, y = layout.x, layout.y
    z = np.zeros_like(x) if layout.z is None else layout.z
    outside = (x < 0) | (y < 0) | (z < 0) | (x >= fabric.width) | (y >= fabric.height) | (z >= fabric.layers)
    violations += [
        Violation("outside-grid", f"vertex {v}", f"({x[v]}, {y[v]}, {z[v]}) lies outside the machine {fabric}")
        for v in np.flatnonzero(outside)[:_MOST].tolist()
    ]
    if violations:
        return CheckReport(tuple(violations))
    place = (x + fabric.width * (y + fabric.height * z.astype(np.int64))).astype(np.int32)
    violations += [
        Violation("dead-processor", f"vertex {v}", f"processor ({x[v]}, {y[v]}, {z[v]}) is dead")
        for v in np.flatnonzero(~fabric.living[place])[:_MOST].tolist()
    ]
    used = np.bincount(place, weights=load.bytes, minlength=fabric.cells).astype(np.int64)
    violations += [
        Violation(
            "memory-exceeded",
            f"processor ({p % fabric.width}, {p // fabric.width % fabric.height}, {p // fabric.grid.cells})",
            f"{used[p]} bytes of vertices, {used[p] - fabric.memory_bytes} too many",
            fabric.memory_bytes,
            int(used[p]),
        )
        for p in np.flatnonzero(used > fabric.memory_bytes)[:_MOST].tolist()
    ]
    if violations:
        return CheckReport(tuple(violations))
    child = np.flatnonzero(tree.parent >= 0)
    child = child[np.argsort(place[tree.parent[child]], kind="stable")]
    loads = np.zeros((6, fabric.cells), np.int64)
    machine = Machine(fabric.links, neighbours(fabric), loads)
    far = int(fabric.links.max()) * fabric.cells
    replay(machine, place[tree.parent[child]], place[child], load.weight[child], far)
    if machine.missing >= 0:
        v = int(child[machine.missing])
        message = f"no way leads from the processor of its parent {tree.parent[v]} to its own"
        return CheckReport((Violation("no-way", f"vertex {v}", message),))
    return CheckReport(
        cost=Cost(
            energy_hops=int(machine.energy),
            depth=int(len(child) > 0),
            distance_hops=int(machine.longest),
            link_load=int(loads.max()),
        )
    )


class MachineReplay:
    """Plays a log of messages between processors of a machine, of which ``cell`` has the numbers; recounts the cost."""

    def __init__(self, fabric: Fabric, cell: Index, *, links: bool = True) -> None:
        self._cell = cell
        self._loads = np.zeros((6, fabric.cells), np.int64)
        self._machine = Machine(fabric.links, neighbours(fabric), self._loads)
        self._far = int(fabric.links.max()) * fabric.cells
        self._clock, self._reached = np.zeros((2, len(cell)), np.int64)
        self._counts_links = links

    def round(self, sender: Index, receiver: Index, words: int = 1) -> None:
        """Send one message of so many words from every ``sender[i]`` to ``receiver[i]`` (processors), all at once."""
        order = np.argsort(sender, kind="stable")
        a, b = sender[order], receiver[order]
        weight = np.full(len(a), words, np.int32)
        hops = replay(self._machine, self._cell[a], self._cell[b], weight, self._far)
        clock, reached = self._clock[a] + 1, self._reached[a] + hops
        np.maximum.at(self._clock, b, clock)
        np.maximum.at(self._reached, b, reached)

    def cost(self) -> Cost:
        """Return energy, depth (longest chain of messages), distance (longest chain in hops) and link load."""
        chains = {"depth": int(self._clock.max()), "distance_hops": int(self._reached.max())}
        loads = {"link_load": int(self._loads.max())} if self._counts_links else {}
        return Cost(energy_hops=int(self._machine.energy), **chains, **loads)


def neighbours(fabric: Fabric) -> Index:
    """Return where the links up, down, south, north, east and west of every processor lead, shape (6, cells)."""
    p = np.arange(fabric.cells)
    x, y, z = p % fabric.width, p // fabric.width % fabric.height, p // fabric.grid.cells
    steps = ((0, 0, 1), (0, 0, -1), (0, 1, 0), (0, -1, 0), (1, 0, 0), (-1, 0, 0))
    rows = [
        ((z + up) % fabric.layers * fabric.height + (y + down) % fabric.height) * fabric.width
        + (x + across) % fabric.width
        for across, down, up in steps
    ]
    return np.array(rows, np.int32)
