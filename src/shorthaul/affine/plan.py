"""A plan: an order of all statement instances, to be run with Belady's replacement in a fast memory of S words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Plan:
    """The instances in execution order: ``names[statements[k]]`` at ``iterations[k]`` is the k-th.

    ``iterations`` has shape (instances, deepest nest), rows padded with zeros; ``sizes`` are the parameters' values,
    ``fast_memory`` is S in words. ``tiling`` says in words how the order was made.
    """

    sizes: Mapping[str, int]
    fast_memory: int
    names: tuple[str, ...]
    statements: IntArray
    iterations: IntArray
    tiling: str = ""

    def __len__(self) -> int:
        return len(self.statements)
