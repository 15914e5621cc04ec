"""Trees as tables: a row per vertex with its parent, and names of columns in the first row."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence

import numpy as np

from shorthaul.core.document import decode_text
from shorthaul.core.errors import InputError
from shorthaul.core.search import Search
from shorthaul.core.searching.deadline import expect_time
from shorthaul.spatial import tuning
from shorthaul.spatial.model import Labels, Tree, tree_from_parents

_LENGTHS = frozenset({"length", "branch_length", "branch length", "edge_length"})
#: What stands in place of a root's parent.
_NOBODY = frozenset({"", "-1", "na", "nan", "none", "null"})


def is_table(data: bytes) -> bool:
    r"""Return whether the first row names a column ``parent`` or ``parent_...``.

    >>> is_table(b"child,parent\nb,a\n"), is_table(b"-1\n0\n")
    (True, False)
    """
    first = _first_line(data[:4096].removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace"))
    return any(_is_parent(cell) for _, row in _rows(first, None) for cell in row)


def tree_of_table(data: bytes, *, forest: bool = False, search: Search | None = None) -> Tree:
    r"""Return the tree; vertices are numbered row by row, then those that are parents only.

    Raises :class:`InputError` with the place of whatever is wrong, :class:`NoPlanError` if ``search`` ends before.

    >>> tree = tree_of_table(b"child,parent,length\nb,a,2\nc,b,0.5\n")
    >>> tree.parent.tolist(), tree.labels.names()
    ([2, 0, -1], ['b', 'c', 'a'])
    """
    rows = _rows(decode_text(data), search)
    _, head = next(rows)
    above = next(at for at, cell in enumerate(head) if _is_parent(cell))
    lengths = next((at for at, cell in enumerate(head) if cell.lower() in _LENGTHS), None)
    name = next((at for at in range(len(head)) if at not in {above, lengths}), None)
    number: dict[str, int] = {}
    cells: list[tuple[int, str, str]] = []
    for line, row in rows:
        if len(row) != len(head):
            raise InputError(
                "has another number of cells", place=f"line {line}", value=len(row), allowed=str(len(head))
            )
        own = str(len(cells)) if name is None else row[name]
        if own in number or not own:
            problem = "has a second row" if own else "is a vertex without a name"
            raise InputError(problem, place=f"line {line}", value=own, cure="give every vertex one row")
        number[own] = len(cells)
        cells.append((line, row[above], "" if lengths is None else row[lengths]))
    parent = []
    for own, (line, cell, length) in zip(list(number), cells, strict=True):
        _expect_length(length, line)
        root = cell == own or (cell not in number and cell.lower() in _NOBODY)
        if not root and cell not in number and name is None:
            raise InputError("is no vertex", place=f"line {line}", value=cell, allowed=f"0 to {len(cells) - 1}, or -1")
        parent.append(-1 if root else number.setdefault(cell, len(number)))
    parent += [-1] * (len(number) - len(parent))
    labels = None if name is None else labels_of(list(number), [length for _, _, length in cells])
    return tree_from_parents(np.array(parent, dtype=np.int64), forest=forest, labels=labels)


def labels_of(names: Sequence[str], lengths: Sequence[str] = ()) -> Labels:
    """Return the names of vertices, and the branch lengths above the first of them, as a Newick file has them."""
    words = [*("'" + name.replace("'", "''") + "'" for name in names), *lengths]
    ends = np.cumsum([len(word.encode()) for word in words], dtype=np.int64)
    spans = np.stack([np.concatenate([[0], ends[:-1]]), ends], axis=1) if words else np.zeros((0, 2), np.int64)
    above = np.zeros((len(names), 2), np.int64)
    above[: len(lengths)] = spans[len(names) :]
    return Labels(np.frombuffer("".join(words).encode(), np.uint8), spans[: len(names)], above)


def _expect_length(cell: str, line: int) -> None:
    try:
        float(cell or 0)
    except ValueError:
        raise InputError(
            "is no branch length", place=f"line {line}", value=cell, allowed="a number, or nothing"
        ) from None


def _is_parent(cell: str) -> bool:
    return cell.lower().replace("_", " ").split(" ")[0] in {"parent", "parentid", "parents"}


def _first_line(text: str) -> str:
    return next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), "")


def _rows(text: str, search: Search | None) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the cells of every line but empty ones and remarks, parted as the first one is."""
    first = _first_line(text)
    parted = next((sign for sign in ",;\t" if sign in first), " ")
    for number, line in enumerate(text.splitlines(), start=1):
        if number % tuning.LINES_AT_ONCE == 1:
            expect_time(search)
        if not line.strip() or line.startswith("#"):
            continue
        try:
            row = next(csv.reader([line], delimiter=parted, skipinitialspace=True), [])
        except csv.Error as error:  # a cell of more than 128 KiB
            raise InputError(f"cannot be read: {error}", place=f"line {number}") from None
        yield number, [cell.strip() for cell in row if parted != " " or cell.strip()]
