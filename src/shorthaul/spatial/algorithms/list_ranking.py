"""List ranking by contraction of an independent set in every round (Baumann et al., Section IV)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shorthaul.spatial.algorithms.rake_compress import coins, contract, expand_down, prepare
from shorthaul.spatial.computer.machine import SpatialComputer
from shorthaul.spatial.computer.operators import OPERATORS
from shorthaul.spatial.layout.virtual_tree import VirtualTree

Index = npt.NDArray[np.int32]
Values = npt.NDArray[np.int64]


def rank_list(
    computer: SpatialComputer,
    following: Index,
    host: Index,
    weight: Values,
    *,
    kind: str = "random-mate",
    seed: int = 0,
) -> Values:
    """Return the summed weight of every element and all before it in its list.

    ``following`` names each element's successor (-1 at an end), ``host`` its processor (at most two elements each),
    ``weight`` what it adds (ones give the rank from 1). A list is a path, so this is the top-down contraction:
    O(n^1.5) energy and O(log n) depth with high probability, wherever the elements lie.
    """
    inner = np.flatnonzero(following >= 0).astype(np.int32)
    before = np.full(len(following), -1, np.int32)
    computer.hosting(host)
    computer.send(inner, following[inner])
    before[following[inner]] = inner
    path = VirtualTree(before, host, np.zeros(len(following), np.int32))
    operator = OPERATORS["sum"]
    state = prepare(computer, path, weight, operator, up=False)
    contract(computer, state, operator, coins(kind, seed), up=False)
    return np.asarray(expand_down(computer, state, path, operator), np.int64)
