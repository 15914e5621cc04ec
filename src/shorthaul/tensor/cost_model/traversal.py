"""Orders in which the tiles of a subgraph are visited.

Between two tiles only slices that the last step of the first one used can be reused. A move along a row keeps what
does not depend on the column, a move along a column what does not depend on the row, any other move only what depends
on neither. A serpentine makes no other moves, and as many of the better kind as any order can: what remains to choose
is its direction and, where the last row or column is clipped, at which tiles it starts and turns. Where nothing is kept
at the turns, lines that do not turn are as good, and let the clipped tile of every line come first. Where slices
coincide by chance the side from which a tile is entered counts too.
"""

from __future__ import annotations

from itertools import product
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

#: Lines, and tiles within a line, are visited ascending, descending, or with the last one second, so that neither end
#: of the walk is clipped. The codes are those of the kernels.
ASCENDING: Final = 0
DESCENDING: Final = 1
INNER: Final = 2


class Traversal(NamedTuple):
    """The tiles row by row, or (``by_columns``) column by column, to and fro if it ``turns``."""

    by_columns: bool
    turns: bool = True
    lines: int = ASCENDING
    within: int = ASCENDING

    def order(self, rows: int, columns: int) -> Integers:
        """Return the permutation of the tiles, numbered row by row.

        >>> Traversal(by_columns=False).order(2, 3).tolist()
        [0, 1, 2, 5, 4, 3]
        """
        count, length = (columns, rows) if self.by_columns else (rows, columns)
        along = np.tile(_places(self.within, length), (count, 1))
        if self.turns:
            along[1::2] = along[1::2, ::-1]
        across = np.repeat(_places(self.lines, count), length)
        row, column = (along.ravel(), across) if self.by_columns else (across, along.ravel())
        tiles: Integers = row * columns + column
        return tiles


#: The plain serpentines, enough where no tile is clipped.
PLAIN: Final = (Traversal(by_columns=False), Traversal(by_columns=True))
#: All orders worth trying where tiles are clipped, or slices coincide by chance.
ALL: Final = tuple(
    Traversal(by_columns, turns, *kinds)
    for turns, by_columns, kinds in product(
        (True, False), (False, True), product((ASCENDING, DESCENDING, INNER), repeat=2)
    )
)


def _places(kind: int, length: int) -> Integers:
    numbers = np.arange(length, dtype=np.int64)
    if kind == DESCENDING:
        return numbers[::-1].copy()
    if kind == INNER and length > 2:
        return np.concatenate([numbers[:1], numbers[-1:], numbers[1:-1]])
    return numbers
