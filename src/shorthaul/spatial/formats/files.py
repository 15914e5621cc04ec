"""Files: trees as Newick or NEXUS text, NumPy arrays, JSON, plain integers or models; layouts as NumPy archives."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.core.arguments import public
from shorthaul.core.document import (
    UTF16,
    decode_text,
    json_text,
    parse_json,
    read_bytes,
    suffix_of,
    write_bytes,
)
from shorthaul.core.errors import InputError
from shorthaul.core.files.arrays import Column, is_archive, read_archive, read_array
from shorthaul.core.files.columns import (
    MOST_JSON_ENTRIES,
    columns_digest,
    columns_path,
    companion,
    expect_digest,
    write_head,
)
from shorthaul.core.result import Rows
from shorthaul.core.search import Search
from shorthaul.core.searching.deadline import expect_time
from shorthaul.graphs.tree_kernels import children
from shorthaul.spatial import tuning
from shorthaul.spatial.formats import newick_constants as problems
from shorthaul.spatial.formats.estimators import SUFFIXES, tree_from_model
from shorthaul.spatial.formats.newick_kernels import Reader, parse, write
from shorthaul.spatial.formats.nexus import is_nexus, newick_of_nexus, renamed
from shorthaul.spatial.formats.tables import is_table, tree_of_table
from shorthaul.spatial.model import Grid, Labels, Tree, tree_from_parents
from shorthaul.spatial.plan import Layout

#: A text file with one of these is Newick, whatever its suffix.
_NEWICK_SIGNS = frozenset(b"();")

#: What the name of a vertex ends with that occurs once below each of its parents.
_HYBRID = re.compile(r"#(?:H|LGT|R)\d+$")

_PROBLEMS = {
    problems.UNOPENED: ("a parenthesis is closed that was never opened", "as many '(' as ')'"),
    problems.UNCLOSED: ("a parenthesis is never closed", "as many '(' as ')'"),
    problems.COMMENT: ("a comment is never closed", "'[' ... ']'"),
    problems.QUOTE: ("a quoted name is never closed", "'...' with '' for a quote inside, or \"...\" with \"\""),
    problems.COMMA: ("a comma is missing before this parenthesis", "siblings separated by ','"),
    problems.OUTSIDE: ("a comma outside every parenthesis", "one root per tree"),
    problems.TWICE: (
        "a vertex has two names or two lengths",
        "siblings separated by ',', names with blanks in quotes",
    ),
    problems.NUMBER: ("a branch length is missing after ':'", "a number"),
    problems.EMPTY: ("holds no tree", "Newick text as in (a,b)c;"),
}


def tree_from_file(path: Path, data: bytes, *, forest: bool = False, search: Search | None = None) -> Tree:
    """Return the tree in ``data``: Newick, NEXUS, .npy, .npz, JSON, one parent a line, a table, a scikit-learn model.

    The content tells the format, but for a model, which the suffix of ``path`` tells.

    Raises :class:`InputError` with the place of whatever is wrong, :class:`NoPlanError` if ``search`` ends before.
    """
    try:
        suffix, head = suffix_of(path), data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
        if is_numpy(data, path):
            return tree_from_parents(array_from_bytes(data, "parent", file=path), forest=forest)
        if suffix in SUFFIXES:
            return tree_from_model(data, search)
        if data[:2] in UTF16:
            decode_text(data)  # says so
        if is_nexus(data):
            text, names = newick_of_nexus(data, search)
            return renamed(tree_from_newick(text, forest=forest, search=search), names)
        newick = suffix in {".nwk", ".newick", ".tree", ".tre"} or _NEWICK_SIGNS & set(head)
        if suffix == ".json" or (head[:1] in {b"{", b"["} and not newick):
            return tree_from_parents(_json_parents(data, search), forest=forest)
        if suffix in {".txt", ".csv", ".tsv", ".parents"} and is_table(data):
            return tree_of_table(data, forest=forest, search=search)
        if suffix in {".txt", ".csv", ".tsv", ".parents"} and not newick:
            return tree_from_parents(_text_parents(data, search), forest=forest)
        if head and not newick and _NEWICK_SIGNS.isdisjoint(data):
            value = head[:30].decode(errors="replace")
            cure = (
                "give other formats their suffix: .txt (a parent a line, -1 for the root),"
                " .csv (a table of child,parent), .json, .npy"
            )
            allowed = "as in (a,b)c; (one vertex: a;)"
            raise InputError("is not Newick: no parenthesis and no ';'", value=value, allowed=allowed, cure=cure)
        return tree_from_newick(data, forest=forest, search=search)
    except InputError as error:
        raise error.in_file(path) from None


def _json_parents(data: bytes, search: Search | None) -> Any:
    document = parse_json(decode_text(data))
    if isinstance(document, dict):
        if "parent" not in document:
            raise InputError("has no entry 'parent'", value=", ".join(document), allowed="an entry 'parent'")
        document = document["parent"]
    if not isinstance(document, list):
        raise InputError("is not a list", place="parent", value=document, allowed="a list of vertex numbers")
    for position, value in enumerate(document):
        if position % tuning.LINES_AT_ONCE == 0:
            expect_time(search)
        if not isinstance(value, int) or isinstance(value, bool) or abs(value) > 2**62:
            allowed = "vertex numbers, -1 for the root"
            raise InputError("is not a vertex number", place=f"parent[{position}]", value=value, allowed=allowed)
    return np.array(document, dtype=np.int64)


def _text_parents(data: bytes, search: Search | None) -> npt.NDArray[np.int64]:
    values = []
    for number, line in enumerate(decode_text(data).splitlines(), start=1):
        if number % tuning.LINES_AT_ONCE == 0:
            expect_time(search)
        cell = line.strip()
        if not cell or cell.startswith("#"):
            continue
        try:
            values.append(int(cell))
        except ValueError:
            allowed = "one vertex number per line, -1 for the root; or a table whose first row names a column parent"
            cure = "" if cell.isalnum() else "write edges as a table whose first row is child,parent"
            place = f"line {number}"
            raise InputError("is not a number", place=place, value=cell, allowed=allowed, cure=cure) from None
        if abs(values[-1]) > 2**62:
            raise InputError("is no vertex", place=f"line {number}", value=values[-1])
    return np.array(values, dtype=np.int64)


@public
def tree_from_newick(data: bytes | str, *, forest: bool = False, search: Search | None = None) -> Tree:
    """Return the tree that Newick text describes, vertices in preorder; names and lengths are kept as ``labels``.

    Parameters
    ----------
    data : bytes | str
        Newick text.
    forest : bool, default False
        Whether several trees are allowed.
    search : Search | None
        What limits the time.

    Returns
    -------
    Tree
        The tree.

    Raises
    ------
    InputError
        If the text is not Newick: line, column and offset.
    NoPlanError
        If ``search`` ends before.

    Examples
    --------
    >>> tree_from_newick("((a,b)c,d)e;").parent.tolist()
    [-1, 0, 1, 1, 0]
    """
    raw = data.encode() if isinstance(data, str) else data.removeprefix(b"\xef\xbb\xbf")
    text = np.frombuffer(raw, np.uint8)
    most = raw.count(b"(") + raw.count(b",") + raw.count(b";") + 2
    parent, name, length = np.empty(most, np.int32), np.zeros((most, 2), np.int64), np.zeros((most, 2), np.int64)
    reader, problem = Reader(text, parent, name, length), problems.UNFINISHED
    while problem == problems.UNFINISHED:
        expect_time(search)
        problem, offset, n = parse(reader, tuning.BYTES_AT_ONCE)
    if problem != problems.FINE:
        what, allowed = _PROBLEMS[problem]
        line = raw.count(b"\n", 0, offset) + 1
        column = offset - raw.rfind(b"\n", 0, offset)
        found = raw[offset : offset + 30].decode("utf-8", "replace") or "the end of the file"
        place = f"line {line} column {column} (offset {offset})"
        raise InputError(f"is not Newick: {what}", place=place, value=found, allowed=allowed)
    labels = Labels(text, name[:n], length[:n])
    if b"#" in raw:
        _refuse_networks(labels)
    return tree_from_parents(parent[:n].copy(), forest=forest, labels=labels)


def _refuse_networks(labels: Labels) -> None:
    """Raise an error for extended Newick (Cardona, Rossello, Valiente 2008), in which a vertex has several parents."""
    tags = Counter(found[0] for found in map(_HYBRID.search, labels.names()) if found)
    twice = [tag for tag, count in tags.items() if count > 1]
    if twice:
        allowed = "a tree: every vertex once"
        raise InputError("is a network: a vertex has several parents", value=twice[0], allowed=allowed)


@public
def newick_from_tree(tree: Tree) -> bytes:
    r"""Return the tree as Newick text, children in stored order; without labels, vertices are named by number.

    Parameters
    ----------
    tree : Tree
        The tree, or a forest.

    Returns
    -------
    bytes
        The text, one tree per line.

    Examples
    --------
    >>> newick_from_tree(tree_from_newick("((a,b)c,d:2)e;"))
    b'((a,b)c,d:2)e;\n'
    """
    labels = tree.labels or _numbered(tree.n)
    starts, kids = children(tree.parent, np.empty(0, np.int32))
    room = int(np.diff(labels.name).sum() + np.diff(labels.length).sum()) + 4 * tree.n + 2
    out = np.empty(room, np.uint8)
    return out[: write(starts, kids, labels.text, labels.name, labels.length, out)].tobytes()


def _numbered(n: int) -> Labels:
    names = [b"%d" % v for v in range(n)]
    ends = np.cumsum([len(name) for name in names])
    spans = np.stack([np.concatenate([[0], ends[:-1]]), ends], axis=1).astype(np.int64)
    return Labels(np.frombuffer(b"".join(names), np.uint8), spans, np.zeros((n, 2), np.int64))


def save_tree(path: Path, tree: Tree) -> None:
    """Write the tree to ``path``: NumPy for ``.npy`` and ``.npz`` (array ``parent``), else Newick text."""
    if path.suffix.lower() == ".npy":
        buffer = io.BytesIO()
        np.save(buffer, tree.parent)
        write_bytes(path, buffer.getvalue())
    elif path.suffix.lower() == ".npz":
        write_bytes(path, archive(parent=tree.parent))
    else:
        write_bytes(path, newick_from_tree(tree))


def archive(**arrays: npt.ArrayLike) -> bytes:
    """Return the arrays as the bytes of a NumPy archive."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def layout_arrays(layout: Layout) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of a layout by vertex: ``parent``, ``x``, ``y``, and ``z`` where there are layers."""
    arrays = {"parent": layout.parent, "x": layout.x, "y": layout.y}
    return arrays if layout.z is None else {**arrays, "z": layout.z}


def layout_bytes(layout: Layout) -> bytes:
    """Return the layout as the bytes of a NumPy archive: its arrays, and ``grid``."""
    return archive(**layout_arrays(layout), grid=np.array([layout.grid.width, layout.grid.height]))


def layout_document(layout: Layout) -> dict[str, Any]:
    """Return the layout as JSON: its grid, and its arrays as :func:`arrays_document` does."""
    head = {"grid": [layout.grid.width, layout.grid.height], "n": len(layout.x)}
    return {**head, **arrays_document(layout_arrays(layout))}


def arrays_document(arrays: Mapping[str, npt.NDArray[Any]]) -> dict[str, Any]:
    """Return arrays as JSON, which knows no "inf", "-inf" and "nan": these become text. Large ones by their digest."""
    if sum(array.size for array in arrays.values()) > MOST_JSON_ENTRIES:
        return {"digest": columns_digest(arrays.values())}
    return {name: _listed(array) for name, array in arrays.items()}


def _listed(array: npt.NDArray[Any]) -> list[Any]:
    cells: list[Any] = array.tolist()
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        return [cell if np.isfinite(cell) else str(cell) for cell in cells]
    return cells


def save_arrays(path: Path, document: Mapping[str, Any], columns: Callable[[], bytes]) -> None:
    """Write the document, or the columns: for a name in ``.npz``, and beside a document that has a digest alone."""
    if path.suffix.lower() == ".npz" or "digest" in document:
        write_bytes(columns_path(path), columns())
        write_head(path, document)
    else:
        write_bytes(path, json_text(document, indent=None).encode())


def table_of(arrays: Mapping[str, npt.NDArray[Any]], labels: Labels | None) -> Rows:
    """Return the columns, and a row per vertex or query with its number, and with the vertex's or answer's name."""
    columns: dict[str, list[Any]] = {}
    for name, array in arrays.items():
        pair = ("first", "second") if array.ndim == 2 else (name,)
        columns |= zip(pair, np.atleast_2d(array.T).tolist(), strict=True)
    if labels is not None:
        names = labels.names()
        columns["name"] = names if "parent" in arrays else [names[vertex] for vertex in columns["ancestor"]]
    rows = enumerate(zip(*columns.values(), strict=True))
    return ("vertex" if "parent" in arrays else "query", *columns), ([number, *row] for number, row in rows)


def is_numpy(data: bytes, file: Path) -> bool:
    """True if ``data`` is of NumPy, False if ``file`` is named as text is; raises :class:`InputError` for junk."""
    if data[:6] == b"\x93NUMPY" or is_archive(data):
        return True
    if suffix_of(file) in {".npy", ".npz"}:
        raise InputError("is not a NumPy file", file=file, allowed="what numpy.save or numpy.savez writes")
    return False


def array_from_bytes(data: bytes, name: str, *, file: Path) -> npt.NDArray[Any]:
    """Return the array in a .npy file, or the one of this name in a .npz file; raises :class:`InputError`."""
    whole = Column("iufbU", None, finite=False)
    try:
        return read_archive(data, {name: whole})[name] if is_archive(data) else read_array(data, whole)
    except InputError as error:
        raise error.in_file(file) from None


def load_layout(path: Path) -> Layout:
    """Return the layout in ``path``, or in the file that the document there names.

    Raises :class:`InputError` for a file that holds none, or is not the one that was written with the document.
    """
    data = read_bytes(path)
    if data[:1] != b"{":
        return layout_from_bytes(data, file=path)
    document = parse_json(decode_text(data, file=path), file=path)
    plan = document.get("plan", document)
    if not isinstance(plan, dict) or "parent" in plan:
        return layout_from_bytes(data, file=path)
    try:
        found = companion(path, plan)
    except InputError as error:
        raise error.in_file(path) from None
    if found is None:
        cure = "plan again with -o layout.npz, and check that file"
        raise InputError("the layout was too large for the document", file=path, place="plan.file", cure=cure)
    layout = layout_from_bytes(found[1], file=found[0])
    expect_digest(plan, columns_digest(layout_arrays(layout).values()), found[0])
    return layout


def layout_from_bytes(data: bytes, *, file: Path | None = None) -> Layout:
    """Return the layout in ``data``: a NumPy archive, or JSON with the same entries.

    Raises :class:`InputError` for a file that is neither or lacks an array. Whether the layout is right is for the
    checker to say.
    """
    try:
        whole = Column(shape=None)
        three = dict.fromkeys(("parent", "x", "y"), whole)
        arrays = read_archive(data, three, {"grid": whole, "z": whole}) if is_archive(data) else _json_arrays(data)
        for name in ("parent", "x", "y"):
            if name not in arrays:
                raise InputError(f"has no array {name!r}", value=", ".join(arrays), allowed="parent, x, y (and grid)")
        parent, x, y = (_column(name, arrays[name]) for name in ("parent", "x", "y"))
        z = _column("z", arrays["z"]) if arrays.get("z") is not None else None
        if not len(parent) == len(x) == len(y) == len(parent if z is None else z):
            lengths = f"lengths {len(parent)}, {len(x)}, {len(y)}" + ("" if z is None else f", {len(z)}")
            raise InputError("arrays differ in length", place="parent, x, y", value=lengths, allowed="one per vertex")
        return Layout(parent, x, y, _grid(arrays.get("grid"), x, y), z)
    except InputError as error:
        raise (error if file is None else error.in_file(file)) from None


def _json_arrays(data: bytes) -> dict[str, Any]:
    if not data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        value = "a NumPy array" if data[:6] == b"\x93NUMPY" else data[:30].decode(errors="replace")
        allowed = "an archive (.npz) or a JSON object with parent, x, y, as plan -o writes them"
        raise InputError("is not a layout", value=value, allowed=allowed, cure="check takes the tree, then the layout")
    document = parse_json(decode_text(data))
    plan = document.get("plan")
    return plan if isinstance(plan, dict) else document


def _column(name: str, value: Any) -> npt.NDArray[np.int32]:
    try:
        column = np.asarray(value)
    except ValueError:
        raise InputError("is not an array of integers", place=name) from None
    if column.ndim != 1 or column.dtype.kind not in "iu" or len(column) == 0:
        shown = f"shape {column.shape} of {column.dtype}"
        raise InputError("is not an array of integers", place=name, value=shown, allowed="shape (n,), integers")
    if column.dtype == np.uint64 and int(column.max()) > 2**62:
        raise InputError("is too large", place=name, value=int(column.max()))
    return np.asarray(np.clip(column, -(2**31), 2**31 - 1), np.int32)


def _grid(value: Any, x: npt.NDArray[np.int32], y: npt.NDArray[np.int32]) -> Grid:
    if value is None:
        return Grid(max(1, int(x.max()) + 1), max(1, int(y.max()) + 1))
    try:
        sides = np.asarray(value)
    except ValueError:  # lists of different lengths
        raise InputError("is not a grid", place="grid", value=value, allowed="width and height") from None
    if sides.shape != (2,) or sides.dtype.kind not in "iu":
        raise InputError("is not a grid", place="grid", value=value, allowed="width and height")
    return Grid(int(sides[0]), int(sides[1]))
