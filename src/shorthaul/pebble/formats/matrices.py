"""The CDAG of a triangular solve, from MatrixMarket files and SciPy's sparse matrices."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from shorthaul.core.errors import InputError
from shorthaul.pebble.formats.graphs import MOST_ENTRIES
from shorthaul.pebble.model import Cdag, build


def read_matrix_market(text: str, *, file: str | Path | None = None) -> Cdag:
    r"""Return the CDAG of solving L x = b for the lower triangle L of a MatrixMarket coordinate file.

    Inputs are the entries L_ij and the right-hand side b; x_i is computed at once from row i, b_i and the x_j it needs.
    Ids: ``b0``, ``L2,1`` and ``x2`` (rows from 0). Entries above the diagonal are ignored; the diagonal must be
    present unless the matrix is a pattern. Every value weighs 1. Raises :class:`InputError` with the line.

    >>> text = "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1.0\n2 1 1.0\n2 2 1.0\n"
    >>> read_matrix_market(text).ids
    ('b0', 'b1', 'L0,0', 'L1,0', 'L1,1', 'x0', 'x1')
    """
    from scipy.io import mminfo, mmread

    data = text.encode("utf-8", "replace")
    try:
        rows, columns, entries, layout, field, _ = mminfo(io.BytesIO(data))
        if layout == "coordinate" and max(rows, columns, entries) <= MOST_ENTRIES:
            return from_sparse(mmread(io.BytesIO(data)), file=file, needs_diagonal=field != "pattern")
    except (ValueError, OverflowError) as error:
        raise InputError(f"cannot be read: {error}", file=file, allowed="a MatrixMarket coordinate file") from None
    if layout != "coordinate":
        raise InputError("is no sparse matrix", file=file, value=layout, allowed="%%MatrixMarket matrix coordinate")
    raise InputError(
        "is too large", file=file, value=(rows, columns, entries), allowed=f"up to {MOST_ENTRIES} rows and entries"
    )


def from_sparse(matrix: Any, *, file: str | Path | None = None, needs_diagonal: bool = True) -> Cdag:
    """Return the CDAG of solving L x = b for the lower triangle L of a SciPy sparse matrix, as for MatrixMarket.

    Raises :class:`InputError` for a matrix that is not square or lacks an entry of its diagonal (it may, unless it
    ``needs_diagonal``).
    """
    rows, columns = matrix.shape if len(matrix.shape) == 2 else (0, 1)
    if rows != columns or rows > MOST_ENTRIES or matrix.nnz > MOST_ENTRIES:
        allowed = f"n x n, up to {MOST_ENTRIES} entries"
        raise InputError("is no square matrix", file=file, value=matrix.shape, allowed=allowed)
    entries = matrix.tocoo()
    below = entries.row >= entries.col
    row, column = np.unique(np.stack((entries.row[below], entries.col[below])).astype(np.int64), axis=1)
    if needs_diagonal:
        missing = np.setdiff1d(np.arange(rows), row[row == column])
        if len(missing):
            cure = "the system has no solution"
            raise InputError("has no diagonal entry", file=file, place=f"row {missing[0]} (from 0)", cure=cure)
    first = rows + len(row)
    inside = column < row
    starts = np.concatenate((np.arange(first), first + column[inside]))
    stops = np.concatenate((first + np.arange(rows), first + row, first + row[inside]))
    pairs = zip(row.tolist(), column.tolist(), strict=True)
    ids = [f"b{i}" for i in range(rows)] + [f"L{i},{j}" for i, j in pairs] + [f"x{i}" for i in range(rows)]
    return build(np.ones(first + rows, dtype=np.int64), starts, stops, ids=ids, name="" if file is None else str(file))
