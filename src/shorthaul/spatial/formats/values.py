"""The values of a treefix sum: one per vertex, from a sequence, a NumPy file, or lines of text."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.core.document import decode_text, read_bytes
from shorthaul.core.errors import InputError, nearest_name
from shorthaul.core.files.arrays import as_array
from shorthaul.core.search import Search
from shorthaul.core.searching.deadline import expect_time
from shorthaul.spatial import tuning
from shorthaul.spatial.formats.files import array_from_bytes, is_numpy
from shorthaul.spatial.model import Tree

Values = npt.NDArray[Any]

#: Values of the operators that need integers; the others take real numbers as well.
_INTEGERS_ONLY = {"xor", "or", "and", "affine"}
_LARGEST = 2**64 - 1


def read_values(
    values: object, file: Path | None, tree: Tree, operator: str | None, words: int, search: Search | None = None
) -> Values:
    """Return the values by vertex, shape (n,) or (n, words): int64, uint64 where they are given so, or float64.

    From ``values``, else from ``file``, else all 1. ``operator`` is a built-in one; for None the values stay as they
    are. Raises :class:`InputError` for what is not one number per vertex, or no number that the operator takes.
    """
    place = "values"
    if values is None and file is not None:
        data = read_bytes(file)
        is_array = is_numpy(data, file)
        values = array_from_bytes(data, "value", file=file) if is_array else _from_text(data, file, tree, words, search)
    elif values is None:
        return np.ones(tree.n if words == 1 else (tree.n, words), np.int64)
    else:
        file = None
    array = _exact(values)
    shape = (tree.n,) if words == 1 else (tree.n, words)
    if array.shape != shape:
        shown = f"shape {array.shape}"
        raise InputError("does not match the tree", file=file, place=place, value=shown, allowed=f"shape {shape}")
    return array if operator is None else _of_kind(array, operator, file)


def branch_lengths(tree: Tree) -> npt.NDArray[np.float64]:
    """Return the length of the branch above every vertex, 0 where a root has none.

    Raises :class:`InputError` where another vertex has none, or one that no float64 holds.
    """
    found = np.full(tree.n, np.nan) if tree.labels is None else tree.labels.lengths()
    roots = tree.roots()
    found[roots] = np.nan_to_num(found[roots], nan=0.0)
    missing = np.flatnonzero(np.isnan(found))
    if len(missing):
        name = tree.labels.names()[missing[0]] if tree.labels is not None else ""
        allowed = "Newick or NEXUS text with a length for every vertex, as in ((a:1,b:2):0.5,c:3);"
        shown = f"{len(missing)} of {tree.n} vertices have none"
        raise InputError(
            "has no branch length", place=f"vertex {missing[0]} {name}".strip(), value=shown, allowed=allowed
        )
    wrong = np.flatnonzero(np.isinf(found))
    if len(wrong):
        allowed = f"up to {np.finfo(np.float64).max:.4g}"
        raise InputError("has a branch length that is too large", place=f"vertex {wrong[0]}", allowed=allowed)
    return found


def _exact(values: object) -> Values:
    """Return an array of ``values``; integers stay exact where NumPy would round them."""
    if np.ma.is_masked(values):
        raise InputError("are missing where masked", place="values", cure="fill them in: values.filled(0)")
    array = as_array(values, "values")
    if hasattr(values, "__array__") or array.dtype.kind not in "fO":
        return array
    cells = np.array(values, dtype=object).ravel().tolist()
    if not all(isinstance(cell, int | np.integer) for cell in cells):
        return array
    low, high = min(cells, default=0), max(cells, default=0)
    if low < -(2**63) or high > _LARGEST or (low < 0 and high >= 2**63):
        wrong = next(i for i, cell in enumerate(cells) if cell in {low, high} and not -(2**63) <= cell < 2**63)
        raise InputError(
            "does not fit in 64 bits, as the others do",
            place=f"values[{wrong}]",
            value=cells[wrong],
            allowed="all from -2^63 to 2^63 - 1, or all from 0 to 2^64 - 1",
            cure="give real numbers, which are rounded",
        )
    return np.array(values, dtype=np.int64 if high < 2**63 else np.uint64)


def _of_kind(array: Values, operator: str, file: Path | None) -> Values:
    """Return the values as int64, uint64 or float64; raises :class:`InputError` for others."""
    kinds = "iub" if operator in _INTEGERS_ONLY else "iubf"
    allowed = "integers" if operator in _INTEGERS_ONLY else "integers or real numbers"
    if array.dtype.kind not in kinds or array.dtype.itemsize > 8:
        problem, shown = f"are not {allowed}", f"array of {array.dtype}"
        if array.dtype.kind == "f" and array.dtype.itemsize > 8:
            allowed = "numbers of 64 bits or fewer"
        raise InputError(problem, file=file, place="values", value=shown, allowed=f"{allowed} for --op {operator}")
    if array.dtype.kind == "f":
        array = array.astype(np.float64)
        wrong = np.flatnonzero(~np.isfinite(array))
        if operator == "product" and len(wrong):
            where, found = f"values[{wrong[0]}]", float(array[wrong[0]])
            raise InputError("is not finite", file=file, place=where, value=found, allowed="finite factors")
    elif array.dtype != np.uint64:
        array = array.astype(np.int64)
    if operator == "affine" and ((array < 0) | (array >= 2**31 - 1)).any():
        raise InputError("are out of range", file=file, place="values", allowed="0 to 2^31 - 2 for affine maps")
    return array.astype(np.int64) if operator == "affine" else array


def _from_text(data: bytes, file: Path, tree: Tree, words: int, search: Search | None) -> Values:
    """Return the numbers in lines of text: a vertex' own, in order, or after its number or name."""
    cells: list[Any] = [None] * tree.n
    names: dict[str, int] | None = None
    count = 0
    for at, (number, row) in enumerate(rows_of_text(data, file, search)):
        place = f"line {number}"
        numbers = [_number(cell) for cell in row[-words:]]
        if len(row) not in {words, words + 1} or None in numbers:
            if at == 0 and all(_number(cell) is None for cell in row):
                continue  # the names of the columns
            allowed = f"{words} number{'s' if words > 1 else ''} per line, or a vertex before them"
            raise InputError("is no value", file=file, place=place, value=" ".join(row), allowed=allowed)
        vertex = count
        if len(row) > words:
            if names is None:
                names = vertices_by_name(tree)
            vertex = names.get(row[0], -1)
        if vertex < 0:
            raise no_vertex(row[0], tree, names or {}, file=file, place=place)
        if vertex >= tree.n:
            raise InputError("is one value too many", file=file, place=place, value=row[0], allowed=f"{tree.n} values")
        if cells[vertex] is not None:
            raise InputError("is a second value of a vertex", file=file, place=place, value=row[0])
        cells[vertex] = numbers[0] if words == 1 else numbers
        count += 1
    if count < tree.n:
        missing = f"none of vertex {cells.index(None)}"
        cure = "" if names is None else "give vertices without a name by their numbers, as in `0,2.5`"
        raise InputError("has too few values", file=file, place="values", value=missing, allowed=f"{tree.n}", cure=cure)
    try:
        return _exact(cells)
    except InputError as error:
        raise error.in_file(file) from None


def rows_of_text(data: bytes, file: Path, search: Search | None) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the cells of every line but empty ones and remarks; `,`, tabs, `;` or blanks part them."""
    for number, line in enumerate(decode_text(data, file=file).splitlines(), start=1):
        if number % tuning.LINES_AT_ONCE == 1:
            expect_time(search)
        parted = next((sign for sign in ",\t;" if sign in line), " ")
        try:
            row = next(csv.reader([line], delimiter=parted), [])
        except csv.Error as error:  # a cell of more than 128 KiB
            raise InputError(f"cannot be read: {error}", file=file, place=f"line {number}") from None
        cells = [cell.strip() for cell in row if cell.strip()]
        if cells and not cells[0].startswith("#"):
            yield number, cells


def _number(cell: str) -> int | float | None:
    for kind in (int, float):
        try:
            found = kind(cell)
        except ValueError:
            continue
        # A number that no float holds is not infinity.
        return None if found in {math.inf, -math.inf} and "inf" not in cell.lower() else found
    return None


def no_vertex(name: str, tree: Tree, known: Mapping[str, int], *, file: Path, place: str, cure: str = "") -> InputError:
    """Return the error for a name that is not one vertex' alone, with the nearest one; ``known`` as by name."""
    problem = "is the name of several vertices" if name in known else "names no vertex of the tree"
    by_name = "" if tree.labels is None else ", or a name that only one vertex has"
    nearest = None if name in known else nearest_vertex(name, tree)
    allowed = f"0 to {tree.n - 1}{by_name}"
    return InputError(problem, file=file, place=place, value=name, allowed=allowed, nearest=nearest, cure=cure)


def nearest_vertex(name: str, tree: Tree) -> str | None:
    """Return the name of a vertex that is spelled most like ``name``; None if none is, or there are too many names."""
    if tree.labels is None or tree.n > tuning.MOST_NAMES_COMPARED:
        return None
    return nearest_name(name, filter(None, tree.labels.names()))


def is_heading(row: list[str], tree: Tree) -> bool:
    """Return whether cells, none of which names a vertex, are names of columns: no number, nor like a name in the tree.

    Where there are too many names to compare, no.
    """
    if tree.labels is not None and tree.n > tuning.MOST_NAMES_COMPARED:
        return False
    return all(_number(cell) is None and nearest_vertex(cell, tree) is None for cell in row)


def vertices_by_name(tree: Tree) -> dict[str, int]:
    """Return the vertex of every number and of every name; names come first, and one that is shared means -1.

    A blank in a name may be written as an underscore.
    """
    found = {str(v): v for v in range(tree.n)}
    if tree.labels is not None:
        names = tree.labels.names()
        found |= {name: v for v, name in enumerate(names) if name}
        seen: set[str] = set()
        for name in names:
            if name and name in seen:
                found[name] = -1
            seen.add(name)
        for name in seen - {""}:  # Newick writes blanks as underscores, and so will who copies names from a file
            found.setdefault(name.replace(" ", "_"), found[name])
    return found
