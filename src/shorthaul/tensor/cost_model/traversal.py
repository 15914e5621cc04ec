"""Orders in which the tiles of a subgraph are visited, and how often each kind of move occurs in them.

Between two tiles only slices that the last step of the first one used can be reused. A move along a row keeps what
does not depend on the column, a move along a column what does not depend on the row, any other move only what depends
on neither. A serpentine makes no other moves, and as many of the better kind as any order can: what remains to choose
is its direction and, where the last row or column is clipped, at which tiles it starts and turns.
"""

from __future__ import annotations

from itertools import product
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

#: How a tile is entered: first of all, from a tile of another row and column, of the same row, of the same column.
START: Final = 0
JUMP: Final = 1
ALONG_ROW: Final = 2
ALONG_COLUMN: Final = 3


class Serpentine(NamedTuple):
    """A boustrophedon over the tiles, row by row or (``by_columns``) column by column.

    The lines, and the tiles within a line, are visited ascending (``"ascending"``), descending (``"descending"``) or
    with the last one taken second (``"inner"``), so that neither end of the walk is clipped.
    """

    by_columns: bool
    lines: str = "ascending"
    within: str = "ascending"

    def order(self, rows: int, columns: int) -> Integers:
        """Return the permutation of the tiles, numbered row by row.

        >>> Serpentine(by_columns=False).order(2, 3).tolist()
        [0, 1, 2, 5, 4, 3]
        """
        if self.by_columns:
            flipped = Serpentine(by_columns=False, lines=self.lines, within=self.within).order(columns, rows)
            column, row = np.divmod(flipped, rows)
            turned: Integers = row * columns + column
            return turned
        within = _sequence(self.within, columns)
        tiles = _sequence(self.lines, rows)[:, None] * columns + within[None, :]
        tiles[1::2] = tiles[1::2, ::-1]
        return tiles.ravel()


#: The plain serpentines, enough where no tile is clipped.
PLAIN: Final = (Serpentine(by_columns=False), Serpentine(by_columns=True))
#: All serpentines worth trying where tiles are clipped.
ALL: Final = tuple(
    Serpentine(by_columns, lines, within)
    for by_columns, lines, within in product(
        (False, True), ("ascending", "descending", "inner"), ("ascending", "descending", "inner")
    )
)


def _sequence(kind: str, length: int) -> Integers:
    numbers = np.arange(length, dtype=np.int64)
    if kind == "descending":
        return numbers[::-1].copy()
    if kind == "inner" and length > 2:
        return np.concatenate([numbers[:1], numbers[-1:], numbers[1:-1]])
    return numbers


def moves_of(order: Integers, rows: int, columns: int) -> Floats:
    """Count the moves of an order: entry [m, i, j] is how many tiles of class (i, j) are entered by move m.

    Class i is 1 for the last row, j is 1 for the last column, as in
    :class:`shorthaul.tensor.cost_model.cost.StepCosts`.
    """
    row, column = np.divmod(order, columns)
    move = np.full(len(order), JUMP)
    move[1:][row[1:] == row[:-1]] = ALONG_ROW
    move[1:][column[1:] == column[:-1]] = ALONG_COLUMN
    move[0] = START
    counts = np.zeros((4, 2, 2))
    np.add.at(counts, (move, (row == rows - 1).astype(int), (column == columns - 1).astype(int)), 1)
    return counts
