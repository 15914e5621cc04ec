"""The CDAG of a triangular solve, from MatrixMarket files and SciPy's sparse matrices.

The reader of MatrixMarket is our own: that of SciPy 1.17 ends the interpreter with a segmentation fault on
damaged files (``benchmarks/parsers.py``: a last line such as ``2 2 1.0-e7`` without its end, a NUL after a number), and
a file may come from anybody.
"""

from __future__ import annotations

import re
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from shorthaul.core.errors import InputError
from shorthaul.pebble.formats.graphs import MOST_ENTRIES, IntArray
from shorthaul.pebble.model import Cdag, build

#: How many numbers the value of an entry is, by the fourth word of the header.
_NUMBERS = {"pattern": 0, "integer": 1, "real": 1, "double": 1, "complex": 2}


def read_matrix_market(text: str, *, file: str | Path | None = None) -> Cdag:
    r"""Return the CDAG of solving L x = b for the lower triangle L of a MatrixMarket coordinate file.

    Inputs are the entries L_ij and the right-hand side b; x_i is computed at once from row i, b_i and the x_j it needs.
    Ids: ``b0``, ``L2,1`` and ``x2`` (rows from 0). Entries above the diagonal are ignored, and so are zeros of a dense
    matrix (``array``); the diagonal must be present unless the matrix is a pattern. Every value weighs 1. Raises
    :class:`InputError` with the line.

    >>> text = "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1.0\n2 1 1.0\n2 2 1.0\n"
    >>> read_matrix_market(text).ids
    ('b0', 'b1', 'L0,0', 'L1,0', 'L1,1', 'x0', 'x1')
    """
    header, *rest = text.splitlines() or [""]
    words = header.lower().split()
    is_known = words[:2] == ["%%matrixmarket", "matrix"] and words[2:3] in (["coordinate"], ["array"])
    if not is_known or words[3:4] == [] or words[3] not in _NUMBERS or words[2:4] == ["array", "pattern"]:
        allowed = f"%%MatrixMarket matrix coordinate (or array), then {', '.join(_NUMBERS)}"
        raise InputError("is no matrix", file=file, place="line 1", value=header, allowed=allowed)
    lines = [(i, line) for i, line in enumerate(rest, 2) if line.strip() and line.lstrip()[0] != "%"]
    if not lines:
        raise InputError("has no size line", file=file, allowed="rows columns entries")
    if words[2] == "array":
        return _dense(lines, words, file)
    sizes = lines[0][1].split()
    if len(sizes) != 3 or sizes[0] != sizes[1] or not all(re.fullmatch(r"[0-9]{1,18}", size) for size in sizes):
        raise InputError(
            "is no square matrix",
            file=file,
            place=f"line {lines[0][0]}",
            value=lines[0][1].strip(),
            allowed="n n entries",
        )
    entries = [_entry(line, _NUMBERS[words[3]], file) for line in lines[1:]]
    n = int(sizes[0])
    if n > MOST_ENTRIES or len(entries) > MOST_ENTRIES:
        raise InputError("is too large", file=file, value=n, allowed=f"up to {MOST_ENTRIES} rows and entries")
    if len(entries) != int(sizes[2]):
        raise InputError(
            "has the wrong number of entries",
            file=file,
            value=len(entries),
            allowed=f"{sizes[2]}, as line {lines[0][0]} says",
        )
    lower: set[tuple[int, int]] = set()
    for (row, column), line in zip(entries, lines[1:], strict=True):
        if not (1 <= row <= n and 1 <= column <= n):
            raise InputError(
                "names no entry", file=file, place=f"line {line[0]}", value=(row, column), allowed=f"1 to {n}"
            )
        if row >= column:
            lower.add((row - 1, column - 1))
        elif "symmetric" in words:
            lower.add((column - 1, row - 1))
    row_of, column_of = np.array(sorted(lower), dtype=np.int64).reshape(-1, 2).T
    return _triangular_solve(row_of, column_of, n, file, needs_diagonal="pattern" not in words)


def _dense(lines: list[tuple[int, str]], words: list[str], file: str | Path | None) -> Cdag:
    """Return the CDAG of a dense matrix, column by column; of a symmetric one the file has the lower triangle only."""
    sizes = lines[0][1].split()
    if len(sizes) != 2 or sizes[0] != sizes[1] or not re.fullmatch(r"[0-9]{1,9}", sizes[0]):
        value, place = lines[0][1].strip(), f"line {lines[0][0]}"
        raise InputError("is no square matrix", file=file, place=place, value=value, allowed="n n")
    n, is_whole = int(sizes[0]), words[4:5] in ([], ["general"])
    first = 1 if "skew-symmetric" in words else 0
    count = n * n if is_whole else (n - first) * (n - first + 1) // 2
    if count > MOST_ENTRIES:
        raise InputError("is too large", file=file, value=n, allowed=f"up to {MOST_ENTRIES} entries")
    if len(lines) - 1 != count:
        raise InputError("has the wrong number of entries", file=file, value=len(lines) - 1, allowed=f"{count}")
    places = [(row, column) for column in range(n) for row in range(0 if is_whole else column + first, n)]
    numbers = [_values(line, 0, _NUMBERS[words[3]], "", file) for line in lines[1:]]
    lower = sorted(at for at, values in zip(places, numbers, strict=True) if at[0] >= at[1] and any(values))
    row_of, column_of = np.array(lower, dtype=np.int64).reshape(-1, 2).T
    return _triangular_solve(row_of, column_of, n, file)


def from_sparse(matrix: Any) -> Cdag:
    """Return the CDAG of solving L x = b for the lower triangle L of a SciPy sparse matrix, as for MatrixMarket.

    Raises :class:`InputError` for a matrix that is not square or lacks an entry of its diagonal.
    """
    rows, columns = matrix.shape if len(matrix.shape) == 2 else (0, 1)
    if rows != columns or rows > MOST_ENTRIES or matrix.nnz > MOST_ENTRIES:
        raise InputError("is no square matrix", value=matrix.shape, allowed=f"n x n, up to {MOST_ENTRIES} entries")
    entries = matrix.tocoo()
    below = entries.row >= entries.col
    row, column = np.unique(np.stack((entries.row[below], entries.col[below])).astype(np.int64), axis=1)
    return _triangular_solve(row, column, rows, None)


def _triangular_solve(
    row: IntArray, column: IntArray, n: int, file: str | Path | None, *, needs_diagonal: bool = True
) -> Cdag:
    """Return the CDAG for the entries of the lower triangle, sorted."""
    missing = np.setdiff1d(np.arange(n), row[row == column])
    if needs_diagonal and len(missing):
        row_number = missing[0] + 1
        raise InputError(
            "has no diagonal entry, by which the triangular solve divides",
            file=file,
            place=f"row {row_number}",
            cure=f"give the entry ({row_number}, {row_number}) a value other than 0",
        )
    first = n + len(row)
    inside = column < row
    starts = np.concatenate((np.arange(first), first + column[inside]))
    stops = np.concatenate((first + np.arange(n), first + row, first + row[inside]))
    pairs = zip(row.tolist(), column.tolist(), strict=True)
    ids = [f"b{i}" for i in range(n)] + [f"L{i},{j}" for i, j in pairs] + [f"x{i}" for i in range(n)]
    return build(np.ones(first + n, dtype=np.int64), starts, stops, ids=ids, name="" if file is None else str(file))


def _entry(line: tuple[int, str], numbers: int, file: str | Path | None) -> tuple[int, int]:
    """Return row and column of an entry, whose value is so many numbers."""
    words = line[1].split()[:2]
    _values(line, 2, numbers, "row column ", file)
    return int(words[0]), int(words[1])


def _values(line: tuple[int, str], before: int, numbers: int, what: str, file: str | Path | None) -> list[float]:
    """Return the value of an entry, so many numbers after so many integers."""
    words = line[1].split()
    try:
        values = [float(word) for word in words[before:]]
        if len(words) != before + numbers or not all(map(isfinite, values)):
            raise ValueError
        for word in words[:before]:
            int(word)
    except ValueError:
        allowed = what + " ".join(("number",) * numbers)
        raise InputError(
            "is no entry", file=file, place=f"line {line[0]}", value=line[1].strip(), allowed=allowed.strip()
        ) from None
    return values
