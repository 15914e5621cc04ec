"""Messages from parents to children of any degree over the virtual tree (Baumann et al., Theorem 3)."""

from __future__ import annotations

from functools import reduce

from shorthaul.spatial.algorithms.stored import TreeNodes
from shorthaul.spatial.computer.machine import Machine
from shorthaul.spatial.computer.registers import Register, Selection


def local_broadcast(machine: Machine, tree: TreeNodes, *registers: Register) -> None:
    """Replace what every vertex holds by what its parent holds; roots keep their own.

    The registers are those of the nodes; what added nodes hold at first does not matter. O(n) energy and
    O(log(largest degree)) depth.
    """
    nodes = tree.nodes.all
    relays = nodes.number >= tree.vertices.count
    senders = nodes.where(~relays)
    held = [register[nodes] for register in registers]
    while senders:
        reached = []
        for kids in tree.kids:
            node = senders.where(kids[senders] >= 0)
            receivers, received = machine.send(kids[node], *(values[node] for values in held))
            for register, values in zip(registers, received, strict=True):
                register[receivers] = values
            reached.append(receivers)
        senders = reduce(Selection.__or__, reached)
        senders = senders.where(relays[senders])
        held = [register[senders] for register in registers]
