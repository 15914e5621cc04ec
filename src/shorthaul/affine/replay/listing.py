"""List scheduling: an order made from another one, in which operations that ask for little room come earlier."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shorthaul.affine.replay.cdag import ConcreteCdag
from shorthaul.graphs.csr import from_arrays

IntArray = npt.NDArray[np.int64]


def listed_order(cdag: ConcreteCdag, order: IntArray, capacity: int, window: int, weight: int) -> IntArray:
    """Return the computed vertices so that next of the first ``window`` ones left is a ready one with least to ask.

    It asks for ``weight`` words for each operand that is not in a fast memory of ``capacity`` words, less one for each
    that nothing else reads any more. What is evicted is what ``order`` reads last. Every operation has to fit.

    >>> from shorthaul.affine.workloads.cases import kernel
    >>> from shorthaul.affine.replay.cdag import concrete_cdag
    >>> cdag = concrete_cdag(kernel("trisolv"), {"N": 3})
    >>> sorted(listed_order(cdag, cdag.program_order, 4, 8, 1).tolist()) == cdag.program_order.tolist()
    True
    """
    from shorthaul.affine.replay.tiling_kernels import Edges, Listing, listed

    given = np.concatenate([np.arange(cdag.inputs), order])
    number = np.empty(cdag.n, np.int64)
    number[given] = np.arange(cdag.n)
    reads = np.diff(cdag.starts)[given]
    starts = np.concatenate([[0], np.cumsum(reads)])
    slots = np.repeat(cdag.starts[given] - starts[:-1], reads) + np.arange(starts[-1])
    operands = number[cdag.operands[slots]]
    users = from_arrays(cdag.n, operands, np.repeat(np.arange(cdag.n), reads))
    found = np.empty(len(order), np.int64)
    edges = Edges(starts, operands, users.starts, users.targets, cdag.inputs)
    listed(Listing(edges), capacity, window, weight, found)
    return given[found]
