"""Groups of accesses with one linear part, and how many cells a box of them touches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
import numpy.typing as npt

from shorthaul.affine.orders.boxes.regions import Region

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Cells:
    """Accesses with one linear part: ``factors`` per subscript and coordinate, ``spread`` of their constants.

    ``fresh`` is the number of cells whose first access is a write: none or all. ``where`` are the regions of the
    accesses, none where they fill a box.
    """

    array: str
    factors: tuple[tuple[int, ...], ...]
    spread: tuple[int, ...]
    fresh: int = 0
    where: tuple[Region, ...] = ()

    @cached_property
    def loops(self) -> frozenset[int]:
        """The coordinates that matter."""
        return frozenset(at for row in self.factors for at, factor in enumerate(row) if factor)

    def count(self, edges: Sequence[FloatArray] | Sequence[int]) -> FloatArray | int:
        """Return F: the most cells held in a box of these edges."""
        total: FloatArray | int = 1
        for row, spread in zip(self.factors, self.spread, strict=True):
            total = total * sum((abs(factor) * (edges[at] - 1) for at, factor in enumerate(row) if factor), 1 + spread)
        return np.minimum(total, prod(edges[at] for at in self.loops)) if self.is_injective else total

    @cached_property
    def is_injective(self) -> bool:
        """True if there is one cell for every point of the loops that matter: boxes share none then.

        Otherwise a cell may come back after boxes without it, so all cells between the outermost ones are held.
        """
        rank = np.linalg.matrix_rank(np.array(self.factors)) if self.loops else 0
        return not self.fresh and not any(self.spread) and int(rank) == len(self.loops)
