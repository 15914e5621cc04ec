"""Files: round trips, other tools' formats, and what is wrong with broken ones."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.io import mmwrite
from scipy.sparse import csr_array
from tests.samples import samples

from shorthaul.core.errors import InputError, ShorthaulError
from shorthaul.pebble.formats import documents as formats
from shorthaul.pebble.formats.documents import cdag_document, cdag_from_document, load_cdag, load_plan, save_plan
from shorthaul.pebble.formats.dot import read_dot
from shorthaul.pebble.formats.graphs import from_dependencies, read_hyperdag
from shorthaul.pebble.formats.matrices import from_sparse, read_matrix_market
from shorthaul.pebble.model import Cdag, build
from shorthaul.pebble.plan import Plan, plan_of
from shorthaul.pebble.structured import tree_recursion
from shorthaul.pebble.workloads import kernels_as_graphs

DATA = Path(__file__).parents[3].parent / "shared" / "data" / "pebble"


def named_edges(cdag: Cdag) -> list[tuple[str, str]]:
    starts, stops = cdag.edge_arrays()
    return sorted((str(cdag.ids[a]), str(cdag.ids[b])) for a, b in zip(starts, stops, strict=True))


def same(a: Cdag, b: Cdag) -> bool:
    return (
        a.weights.tolist() == b.weights.tolist()
        and [x.tolist() for x in a.edge_arrays()] == [x.tolist() for x in b.edge_arrays()]
        and [a.id_of(v) for v in range(a.n)] == [b.id_of(v) for v in range(b.n)]
    )


@settings(max_examples=len(samples(50)))
@given(seed=st.integers(0, 1000), named=st.booleans())
def test_documents_come_back(seed: int, named: bool) -> None:
    cdag = kernels_as_graphs.random_cdag(n=12, degree=3, window=6, most=9, seed=seed)
    if named:
        cdag = build(cdag.weights, *cdag.edge_arrays(), ids=[f"v{i}" for i in range(cdag.n)])
    assert same(cdag, cdag_from_document(json.loads(json.dumps(cdag_document(cdag)))))


@pytest.mark.parametrize("name", ["plan.json", "plan.npz"])
@pytest.mark.parametrize("ids", [None, "text", "mixed"])
def test_plans_come_back(name: str, ids: str | None, tmp_path: Path) -> None:
    cdag = kernels_as_graphs.dwt(n=8, d=3)
    if ids:
        names = [f"v{i}" if ids == "text" or i % 2 else i for i in range(cdag.n)]
        cdag = build(cdag.weights, *cdag.edge_arrays(), ids=names)
    plan = tree_recursion.plan(cdag, 48)
    save_plan(tmp_path / name, plan, cdag)
    assert list(load_plan(tmp_path / name, cdag)) == list(plan)


def test_long_plans_go_to_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "MOST_JSON_ENTRIES", 10)
    cdag = kernels_as_graphs.dwt(n=8, d=3)
    plan = tree_recursion.plan(cdag, 48)
    path = tmp_path / "plan.json"
    save_plan(path, plan, cdag)
    document = json.loads(path.read_text())
    assert document["moves"] == len(plan)
    assert document["file"] == "plan.json.npz"
    assert document["digest"].startswith("sha256:")
    assert list(load_plan(path, cdag)) == list(plan)
    save_plan(tmp_path / "plan.json.npz", Plan(plan.kinds[1:], plan.nodes[1:]), cdag)
    with pytest.raises(InputError, match="is not the file that was written with the plan"):
        load_plan(path, cdag)
    with pytest.raises(InputError, match="is a plan of another graph"):
        load_plan(tmp_path / "plan.json.npz", kernels_as_graphs.dwt(n=4, d=2))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"moves": [7]}, "moves: is too large"),
        ({"nodes": [99]}, "names a node that does not exist"),
        ({"nodes": [0, 1]}, "must be of equal length"),
        ({"kind": "other"}, "is of another kind"),
    ],
)
def test_broken_columns(columns: dict[str, object], message: str, tmp_path: Path) -> None:
    cdag = kernels_as_graphs.dwt(n=2, d=1)
    arrays = {"kind": formats.PLAN_KIND, "version": 1, "moves": [0], "nodes": [0], "ids": range(4)} | columns
    np.savez(tmp_path / "p.npz", **{name: np.array(value) for name, value in arrays.items()})
    with pytest.raises(InputError, match=message):
        load_plan(tmp_path / "p.npz", cdag)


def test_dependency_dictionaries() -> None:
    tasks = {"x": 1, "y": 2, "s": (sum, ["x", "y"]), "t": (max, "s", ("f", "x"), 5)}
    cdag = from_dependencies(tasks, weights={"s": 4})
    assert cdag.ids == ("x", "y", "s", "t")
    assert [list(pair) for pair in zip(*(side.tolist() for side in cdag.edge_arrays()), strict=True)] == [
        [0, 2],
        [1, 2],
        [2, 3],
        [0, 3],
    ]
    assert cdag.weights.tolist() == [1, 1, 4, 1]
    with pytest.raises(InputError, match="names a node that does not exist"):
        from_dependencies(tasks, weights={"z": 4})
    with pytest.raises(InputError, match="must be a positive integer"):
        from_dependencies(tasks, weights={"s": 0})


def test_a_dependency_dictionary_is_a_file_too(tmp_path: Path) -> None:
    path = tmp_path / "tasks.json"
    path.write_text('{"c": ["a", "b"], "d": ["c"], "a": [], "b": []}')
    assert load_cdag(path).ids == ("c", "d", "a", "b")


def test_dot_files(tmp_path: Path) -> None:
    path = tmp_path / "g.dot"
    path.write_text(
        'strict digraph "my graph" {\n  rankdir=LR; node [shape=box]; // comment\n  a [label="A -> B", weight=3];\n'
        '  "b c":p:n [weight="5"]\n  subgraph cluster_1 { a -> "b c" -> d [color=red] }\n  /* no */ a -> d;\n}\n'
    )
    cdag = load_cdag(path)
    assert cdag.ids == ("a", "b c", "d")
    assert cdag.weights.tolist() == [3, 5, 1]
    assert cdag.edges == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("graph { a -- b }", "is no directed graph"),
        ("digraph { a -> b", "its braces do not match"),
        ("digraph { a -- b }", "cannot be read"),
        ("digraph { a -> ; }", "cannot be read"),
        ("digraph { a -> b } digraph { a -> b }", "cannot be read"),
        ("digraph { a [label=<b] }", "is not closed"),
        ("digraph " + "{" * 200 + "}" * 200, "nested too deeply"),
        (
            "digraph { {"
            + " ".join(f"a{i}" for i in range(2500))
            + "} -> {"
            + " ".join(f"b{i}" for i in range(2500))
            + "} }",
            "is too large",
        ),
        ("digraph { a [weight=2 -> b }", "an attribute list is not closed"),
        ("digraph { a [weight=1.5]; a -> b }", "must be a positive integer"),
        ("digraph { a [weight=1e3]; a -> b }", "cannot be read"),
        ("digraph { a -> 2b }", "cannot be read"),
        ("digraph { a -> b; b -> a }", "the graph has a cycle"),
        ("digraph { a; c }", r"has no nodes[\s\S]*read or computed"),
        ("digraph { ! -> b }", "cannot be read"),
        ("digraph { " + "1" * 200_000 + "a -> b }", "cannot be read"),  # by its length, not the square of it
    ],
)
def test_broken_dot(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_dot(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 2\n", "is no header"),
        ("1 2 2\n0 1\n", "has the wrong number of lines"),
        ("1 2 2\n0 0\n0 1\n1 1\n0 0\n0 1\n", "a weight must be positive"),
        ("1 2 2\n0 1\n0 1\n1 1\n0 0\n0 5\n", "names no vertex"),
        ("1 2 2\n0 1\n0 1\n1 1\n3 0\n0 1\n", "names no hyperedge"),
        ("1 2 2\n0 1\n0 1\n1 1\n0\n0 1\n", "is no pin"),
        ("1 2 2\n0 1\n0 1\n1 1\n0 x\n0 1\n", "is no line of integers"),
        ("2 2 3\n0 1\n0 1\n0 1\n1 1\n0 0\n0 1\n1 1\n", "a hyperedge is given twice"),
        ("2 2 4\n0 1\n1 1\n0 1\n1 1\n0 0\n0 1\n1 1\n1 0\n", "the graph has a cycle"),
        ("-1 2 2\n", "is no header"),
        ("1 99999999999999999999 2\n", "is no line of integers"),
        ("1 999999999999 2\n", "is too large"),
    ],
)
def test_broken_hyperdag(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_hyperdag(text)


def test_hyperdag_drops_isolated_vertices_and_keeps_numbers() -> None:
    cdag = read_hyperdag("%% comment\n1 4 2\n0 9 2 % last number\n0 1\n1 1\n2 1\n3 1\n0 1\n0 3\n")
    assert cdag.ids == (1, 3)
    assert cdag.weights.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("%%MatrixMarket matrix array real general\n2 2\n", "wrong number of entries.*\n.*0\n.*4"),
        ("%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n4\n", "wrong number of entries.*\n.*4\n.*3"),
        ("%%MatrixMarket matrix array real general\n2 1\n1\n2\n", "is no square matrix"),
        ("%%MatrixMarket matrix array real general\n1 1\nx\n", "(?s)is no entry.*allowed: number"),
        ("%%MatrixMarket matrix array complex general\n1 1\n1\n", "allowed: number number"),
        ("%%MatrixMarket matrix array real general\n2 2\n0\n1\n1\n1\n", "row 1: has no diagonal entry"),
        ("%%MatrixMarket matrix array pattern general\n1 1\n1\n", "is no matrix"),
        ("%%MatrixMarket matrix coordinate real general\n", "has no size line"),
        ("%%MatrixMarket matrix coordinate real general\n2 3 1\n1 1 1\n", "is no square matrix"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 5\n1 1 1\n", "has the wrong number of entries"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n3 1 1\n", "names no entry"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n", "has no diagonal entry"),
        (
            "%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n1 1 1 0\n2 1 1 1\n",
            r"give the entry \(2, 2\) a value",
        ),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\nx 1 1\n", "is no entry"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1.0-e7", "(?s)is no entry.*row column number"),
        ("%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 1 1.0", "row column number number"),
        ("%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 1 1.0", "is no entry"),
        ("%%MatrixMarket matrix coordinate quaternion general\n2 2 1\n1 1 1.0", "pattern, integer, real"),
    ],
)
def test_broken_matrix_market(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_matrix_market(text)


def test_matrix_market_uses_the_lower_triangle(tmp_path: Path) -> None:
    path = tmp_path / "a.mtx"
    path.write_text("%%MatrixMarket matrix coordinate pattern symmetric\n% c\n2 2 3\n1 1\n2 1\n2 2\n")
    cdag = load_cdag(path)
    assert len(cdag.outputs()) == 1
    assert cdag.parents.degrees().tolist()[-1] == 4  # b1, L10, x0, L11


@pytest.mark.parametrize("symmetry", ["general", "symmetric", "hermitian"])
def test_dense_matrices_are_read_as_scipy_reads_them(symmetry: str) -> None:
    """Files of SciPy's writer, zeros left out; the graph is that of the sparse matrix."""
    rng = np.random.default_rng(len(symmetry))
    matrix = rng.integers(1, 9, (5, 5)) * (rng.random((5, 5)) < 0.5) + 9.0 * np.eye(5)
    matrix = matrix if symmetry == "general" else matrix + matrix.T
    matrix = matrix * (1 + 0j) if symmetry == "hermitian" else matrix
    file = io.BytesIO()
    mmwrite(file, matrix, symmetry=symmetry)
    text = file.getvalue().decode()
    assert text.startswith("%%MatrixMarket matrix array")
    assert same(read_matrix_market(text), from_sparse(csr_array(matrix)))


@pytest.mark.skipif(not DATA.is_dir(), reason="the shared instances are not there")
@pytest.mark.parametrize(
    ("name", "nodes", "least"),
    [("CG_N2_K2_nzP0d75", 65, 3), ("kNN_N5_K3_nzP0d3", 57, 5), ("pregel", 57, 7), ("spmv_N6_nzP0d4", 48, 6)],
)
def test_instances_of_other_projects(name: str, nodes: int, least: int) -> None:
    cdag = load_cdag(DATA / "osp_tiny" / f"instance_{name}.hdag")
    assert (cdag.n, cdag.least_budget()) == (nodes, least)


SAMPLES = (
    json.dumps(cdag_document(kernels_as_graphs.dwt(n=4, d=1))),
    "1 4 2\n0 9 2\n0 1\n1 1\n2 1\n3 1\n0 1\n0 3\n",
    'digraph g { a [weight=2]; a -> "b" -> c; }',
    "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1.0\n2 1 1.0\n2 2 1.0\n",
)


@settings(max_examples=len(samples(200)))
@given(data=st.data(), sample=st.sampled_from(SAMPLES))
def test_corrupted_files_end_in_a_message(data: st.DataObject, sample: str) -> None:
    raw = bytearray(sample.encode())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(raw) - 1))
        raw[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
        raw = raw or bytearray(b"x")
    message = "given"
    try:
        load_cdag(Path("given"), bytes(raw))
    except ShorthaulError as error:
        message = str(error)
    assert message.startswith("given")


@settings(max_examples=len(samples(100)))
@given(data=st.data())
def test_corrupted_plans_end_in_a_message(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    cdag = kernels_as_graphs.dwt(n=2, d=1)
    path = tmp_path_factory.mktemp("plans") / "plan.json"
    save_plan(path, plan_of([(0, 0), (0, 1), (2, 2)]), cdag)
    raw = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(raw) - 1))
    raw[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    path.write_bytes(bytes(raw))
    message = str(path)
    try:
        load_plan(path, cdag)
    except ShorthaulError as error:
        message = str(error)
    assert message.startswith(str(path))


@pytest.mark.parametrize(
    ("text", "edges"),
    [
        ("strict digraph { a -> {b c} -> d }", ["ab", "ac", "bd", "cd"]),
        ("digraph x { subgraph cluster_0 { label=<x<b>y</b>>; a; b } -> c }", ["ac", "bc"]),
        (
            'digraph "g" { rankdir=LR; node [shape=box]; edge [style=dotted]; a:n -> "b"; b -> c:s:e [len=2] }',
            ["ab", "bc"],
        ),
        ('digraph { "a" + "" -> b; /* x */ b -> c // y\n# z\n }', ["ab", "bc"]),
        ("DIGRAPH { a -> subgraph { b -> c } }", ["ab", "ac", "bc"]),
        (
            "digraph { subgraph s { a b } subgraph s -> c; subgraph s { d } e -> subgraph s }",
            ["ac", "bc", "ea", "eb", "ed"],
        ),
        ("digraph { a [label=<<b>x<!-- > --></b>>]; <<i>c</i>> -> a }", ["<i>c</i>a"]),
        ("digraph { a -> b; alone; subgraph left }", ["ab"]),
    ],
)
def test_the_grammar_of_dot(text: str, edges: list[str]) -> None:
    cdag = read_dot(text)
    assert ["".join(pair) for pair in named_edges(cdag)] == edges


def test_nodes_of_dot_come_as_they_are_named() -> None:
    """In that order ``--order given`` computes them."""
    assert read_dot("digraph { a -> b -> {c d} -> e }").ids == tuple("abcde")
    assert read_dot("digraph { node [weight=2]; a -> {node [weight=3] b -> {c}} -> d }").weights.tolist() == [
        2,
        3,
        3,
        2,
    ]


def test_dot_in_latin_1(tmp_path: Path) -> None:
    path = tmp_path / "a.dot"
    path.write_bytes('digraph { charset="ISO-8859-1"; é -> b }'.encode("latin-1"))
    assert load_cdag(path).ids == ("é", "b")
    path.write_bytes("digraph { é -> b }".encode("latin-1"))
    with pytest.raises(InputError, match="is not UTF-8 text"):
        load_cdag(path)


def test_attributes_of_all_nodes_in_dot() -> None:
    cdag = read_dot("digraph { a; node [weight=3]; subgraph { node [weight=5]; b }; c [weight=7]; {a b} -> c -> d }")
    assert dict(zip(cdag.ids, cdag.weights.tolist(), strict=True)) == {"a": 1, "b": 5, "c": 7, "d": 3}


@pytest.mark.parametrize("weight", [2**46 + 1, 2**63])
def test_sizes_that_are_too_large_say_how_large_they_may_be(weight: int) -> None:
    document = {"nodes": [{"id": 0, "weight": weight}, {"id": 1, "weight": 1}], "edges": [[0, 1]]}
    for read in (
        lambda: cdag_from_document({"kind": "shorthaul/cdag", "version": 1, **document}),
        lambda: read_dot(f"digraph {{ a [weight={weight}]; a -> b }}"),
    ):
        with pytest.raises(InputError) as error:
            read()
        assert error.value.allowed == f"integers from 1 to {2**46}"
