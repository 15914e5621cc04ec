"""What a new user gets wrong, and what the engine answers: file, place, value and cure."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from tests.commands import shorthaul, shorthaul_json

import shorthaul.spatial as engine
from shorthaul.core.errors import InputError
from shorthaul.spatial.model import grid_from_text
from shorthaul.spatial.options import LcaOptions


def npy(values: object, **kind: object) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.array(values, **kind))
    return buffer.getvalue()


def npz(**arrays: object) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


WRONG_TREES = {
    "floats.npy": (npy([-1.0, 0]), ("parent[0]", "is not an integer", "-1.0", "astype(int)")),
    "nan.npy": (npy([np.nan, 0]), ("parent[0]", "nan")),
    "truths.npy": (npy([True, False]), ("parent[0]", "is not an integer", "True")),
    "negative.npy": (npy([-1, 0, -5]), ("parent[2]", "-5", "0 to 2, or -1 for the root")),
    "roots.npy": (npy([-1, -1, 0]), ("several roots", "vertices 0 and 1", "--forest")),
    "cycle.csv": (b"child,parent\na,b\nb,a\nc,a\n", ("has a cycle", "a -> b -> a")),
    "roots.csv": (b"child,parent\na,b\nc,q\n", ("several roots", "vertices b and q", "one vertex without a parent")),
    "edges.txt": (b"1 2\n1 3\n", ("line 1", "is not a number", "first row is child,parent")),
    "matrix.npy": (npy([[-1, 0]]), ("one dimension", "shape (1, 2)")),
    "empty.npy": (npy([], dtype=int), ("has no vertex",)),
    "objects.npy": (npy([None, 1], dtype=object), ("objects.npy", "of another type")),
    "other.npz": (npz(a=np.array([1])), ("no array 'parent'", "'a'")),
    "huge.npy": (npy([2**63, 0], dtype=np.uint64), ("parent[0]", "9223372036854775808")),
    "cut.json": (b"[-1,0,", ("line 1 column 7", "is not JSON")),
    "half.json": (b'{"parent": [-1, 0, 0.5]}', ("parent[2]", "0.5")),
    "header.csv": (b"vertex\n-1\n0\n", ("line 1", "is not a number", "one vertex number per line")),
    "one-line.txt": (b"-1,0,0\n", ("line 1", "is not a number", "one vertex number per line")),
    "empty.csv": (b"", ("has no vertex",)),
    "empty.nwk": (b"", ("offset 0", "holds no tree")),
    "utf16.nwk": ("(a,b)c;".encode("utf-16"), ("offset 0", "is not UTF-8 text")),
    "comment.nwk": (b"(a[x,b);", ("line 1 column 3 (offset 2)", "a comment is never closed")),
    "quote.nwk": (b"('a,b);", ("offset 1", "quoted name is never closed")),
    "unclosed.nwk": (b"((a,b),c;", ("offset 0", "never closed")),
    "unopened.nwk": (b"(a,b)\n);", ("line 2 column 1 (offset 6)", "never opened")),
    "no-length.nwk": (b"(a:,b:2);", ("offset 3", "a branch length is missing")),
    "two-points.nwk": (b"(a:1.2.3,b);", ("offset 3", "a branch length is missing", "1.2.3")),
    "half-exponent.nwk": (b"(a:1e+,b);", ("offset 3", "a branch length is missing", "1e+")),
    "inner-sign.nwk": (b"(a:1-2,b);", ("offset 3", "a branch length is missing", "1-2")),
    "open-comment.nwk": (b"(a:[x 1,b);", ("offset 3", "comment")),
    "bad-length.nwk": (b"(a:xx,b);", ("offset 3", "a branch length is missing", "xx,b")),
    "blank.nwk": (b"(a b,c);", ("offset 3", "names with blanks in quotes")),
    "notes.md": (b"shopping\n", ("is not Newick: no parenthesis", "shopping", "(a,b)c;", ".txt (a parent a line")),
    "bytes.nwk": (bytes(range(256)), ("bytes.nwk", "is not Newick")),
}


@pytest.mark.parametrize("name", WRONG_TREES)
def test_trees(name: str, tmp_path: Path) -> None:
    data, says = WRONG_TREES[name]
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError) as raised:
        engine.case(str(tmp_path / name))
    assert all(part in str(raised.value) for part in (name, *says)), str(raised.value)


def test_trees_that_look_odd_but_are_right(tmp_path: Path) -> None:
    for name, data, parent in (
        ("bytes.npy", npy([-1, 0, 0], dtype=np.int8), [-1, 0, 0]),
        ("own.npy", npy([0, 0, 1], dtype=np.uint8), [-1, 0, 1]),
        ("list.json", b"[-1, 0, 0]", [-1, 0, 0]),
        ("notes.txt", b"# parents\n-1\n\n0\n", [-1, 0]),
        ("newick.txt", b"[a tree] (a,b);", [-1, 0, 0]),
        ("comments.nwk", b"[c](a[x]:1,'b ''q, ('[y]:2,(,)c)[end]r;", [-1, 0, 0, 0, 3, 3]),
        ("exponents.nwk", b"(a:1e-5,b:-2.5E+3)r:0;\n\n", [-1, 0, 0]),
        ("no-end.nwk", b"(a,b)", [-1, 0, 0]),
        ("one.nwk", b"a", [-1]),
        ("one", b"a;", [-1]),
    ):
        (tmp_path / name).write_bytes(data)
        assert engine.case(str(tmp_path / name)).workload.parent.tolist() == parent, name


WRONG_QUERIES = {
    "outside.txt": (b"0 1\n2 99\n", ("line 2", "names no vertex", "99")),
    "one-column.txt": (b"1\n2\n", ("line 1", "is not a query", "two vertices")),
    "words.txt": (b"u v\na b\n", ("line 2", "names no vertex", "'a'", "allowed: 0 to 4")),
    "heading.csv": (b"u,v\n", ("holds no query", "line 1 of heading.csv is taken for names of columns: u, v")),
    "fractions.txt": (b"1.5 2\n", ("line 1", "names no vertex", "1.5")),
    "endless.txt": (b"0 " + b"1" * 200_000, ("line 1", "cannot be read")),
    "empty.txt": (b"", ("holds no query", "two vertices per line")),
    "outside.npy": (npy([[0, 1], [2, 5]]), ("queries[1]", "0 to 4")),
    "floats.npy": (npy([[0.0, 1]]), ("are no numbers of vertices", "float64")),
    "column.npy": (npy([0, 1]), ("are not pairs of vertices", "shape (2,)")),
    "other.npz": (npz(q=np.array([[0, 1]])), ("no array 'queries'", "'q'")),
    "broken.npy": (b"\x93NUMPY", ("is not a NumPy array",)),
}


@pytest.mark.parametrize("name", WRONG_QUERIES)
def test_queries(name: str, tmp_path: Path) -> None:
    data, says = WRONG_QUERIES[name]
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError) as raised:
        engine.lca([-1, 0, 0, 1, 1], options=LcaOptions(queries=str(tmp_path / name)))
    assert all(part in str(raised.value) for part in (name, *says)), str(raised.value)


def test_grids() -> None:
    for text in ("999999999x999999999", "99999x99999", "0x5", "5x-1", "5", "axb", "1x1x1", "99999999999x1"):
        with pytest.raises(InputError) as raised:
            grid_from_text(text)
        assert "--grid" in str(raised.value)
        assert repr(text) in str(raised.value)


def test_layouts_and_answers_as_json(tmp_path: Path) -> None:
    document = shorthaul_json("spatial", "plan", "star:n=9", "--refine", "0.01", "-o", "layout.json", cwd=tmp_path)
    layout = json.loads((tmp_path / "layout.json").read_text())
    assert {name: layout[name] for name in ("x", "y", "grid")} == {n: document["plan"][n] for n in ("x", "y", "grid")}
    assert shorthaul("spatial", "check", "star:n=9", "layout.json", cwd=tmp_path).returncode == 0
    shorthaul_json("spatial", "lca", "star:n=9", "--random", "5", "-o", "found.npz", cwd=tmp_path)
    again = shorthaul_json("spatial", "lca", "star:n=9", "--queries", "found.npz", "-o", "again.json", cwd=tmp_path)
    assert json.loads((tmp_path / "again.json").read_text()) == again["plan"]


def test_forests_where_trees_go(tmp_path: Path) -> None:
    parent = [-1, 0, 0, -1, 3, -1]
    tree = engine.tree_from_parents(parent, forest=True)
    assert engine.plan(tree, create=True).check.ok
    for method in ("rake-compress", "convergecast", "heavy-path", "auto"):
        assert engine.treefix(tree, method=method).plan.arrays["value"].tolist() == [3, 1, 1, 2, 1, 1]
        down = engine.treefix(tree, method=method, direction="down")
        assert down.plan.arrays["value"].tolist() == [1, 2, 2, 1, 2, 1]
        found = engine.lca(tree, [[1, 2], [1, 4], [4, 3], [5, 5]], method=method)
        assert found.plan.arrays["ancestor"].tolist() == [0, -1, 3, 5]


@pytest.mark.parametrize(
    ("parent", "says"),
    [
        ([-1, 0.5], "parent[1]: is not an integer"),
        ([-1, "a"], "parent[1]"),
        ([-1.0, 0.0], "parent[0]"),
        ([-1, 7], "parent[1]: is no vertex"),
    ],
)
def test_parents_in_memory(parent: list[object], says: str) -> None:
    with pytest.raises(InputError) as raised:
        engine.plan(parent)  # type: ignore[arg-type]
    assert says in str(raised.value)


def test_queries_in_memory() -> None:
    for queries, says in (
        ([["a", "b"]], "numbers of vertices"),
        ([[0.5, 1]], "integers"),
        ([[0, 1, 1]], "shape (1, 3)"),
    ):
        with pytest.raises(InputError) as raised:
            engine.lca([-1, 0, 0], queries)
        assert says in str(raised.value)


NAMED = "((Pongo_pygmaeus,Pan_paniscus)great,(twin,twin)small,'Homo sapiens')root;"
LIKE_A_NAME = ("line 1", "names no vertex", "did you mean 'Homo sapiens'", "put # before names of columns")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("great,small\nHomo_sapins,root\n", ("line 2", "names no vertex", "did you mean 'Homo sapiens'")),
        ("Homo_sapins,somebody\n0,1\n", LIKE_A_NAME),
        ("first,great\n0,1\n", ("line 1", "names no vertex", "'first'", "put # before names of columns")),
        ("first,7\n", ("line 1", "names no vertex", "'first'")),
        ("twin,root\n", ("line 1", "is the name of several vertices", "'twin'")),
        ("first,second\n0,1\nfirst,second\n", ("line 3", "names no vertex", "'first'")),
    ],
)
def test_names_that_are_misspelt(text: str, says: tuple[str, ...], tmp_path: Path) -> None:
    tree = engine.tree_from_newick(NAMED)
    (tmp_path / "pairs.csv").write_text(text)
    with pytest.raises(InputError) as raised:
        engine.lca(tree, queries=tmp_path / "pairs.csv", refine=0)
    assert all(part in str(raised.value) for part in ("pairs.csv", *says)), str(raised.value)


def test_misspelt_names_of_values_and_headings(tmp_path: Path) -> None:
    tree, values = engine.tree_from_newick(NAMED), tmp_path / "values.csv"
    rows = [f"{v},{v}" for v in range(tree.n - 1)]
    values.write_text("\n".join(["# weights", "vertex,weight", *rows, "Homo_sapien,5"]))
    with pytest.raises(InputError, match=r"(?s)line 10: names no vertex.*did you mean 'Homo sapiens'"):
        engine.treefix(tree, values=values, refine=0)
    values.write_text(values.read_text().replace("sapien", "sapiens"))
    assert engine.treefix(tree, values=values, refine=0).plan is not None
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("# asked\nfirst,second\ngreat,small\n2,3\n")
    asked = engine.lca(tree, queries=pairs, refine=0)
    assert asked.check is not None
    assert asked.plan is not None
    assert asked.plan.arrays["queries"].tolist() == [[1, 4], [2, 3]]
    assert asked.check.remarks == ("line 2 of pairs.csv is taken for names of columns: first, second",)
    pairs.write_text("great,small\n")  # both are names: a query
    assert engine.lca(tree, queries=pairs, refine=0).check.remarks == ()
