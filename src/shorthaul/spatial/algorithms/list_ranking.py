"""List ranking by contraction of an independent set in every round (Baumann et al., Section IV)."""

from __future__ import annotations

import numpy as np

from shorthaul.spatial.algorithms.rake_compress import coins, contract, expand_down, prepare
from shorthaul.spatial.algorithms.stored import NONE, TreeNodes
from shorthaul.spatial.computer.machine import Machine
from shorthaul.spatial.computer.operators import OPERATORS
from shorthaul.spatial.computer.registers import Nodes, Register


def rank_list(
    machine: Machine,
    elements: Nodes,
    following: Register,
    weight: Register,
    *,
    kind: str = "random-mate",
    seed: int = 0,
) -> Register:
    """Return the summed weight of every element and all before it in its list, in place of ``weight``.

    ``following`` names each element's successor (-1 at an end), ``weight`` what it adds (ones give the rank from 1). A
    list is a path, so this is the top-down contraction: O(n^1.5) energy and O(log n) depth with high probability,
    wherever the elements lie.
    """
    before = elements.register(NONE, np.int32, name="before")
    inner = elements.all.where(following >= 0)
    receivers, (number,) = machine.send(following[inner], inner.number)
    before[receivers] = number
    path = TreeNodes(elements, elements, before, None, loaded=(following,))
    state = prepare(path, weight, OPERATORS["sum"], up=False)
    contract(machine, state, coins(kind, seed), patience=0)
    return expand_down(machine, state)
