from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from tests.reference import spatial_twins as twins
from tests.samples import samples

import shorthaul.spatial as engine
from shorthaul.core.errors import InputError
from shorthaul.spatial.formats.decision_trees import tree_from_sklearn
from shorthaul.spatial.formats.files import newick_from_tree, table_of, tree_from_file, tree_from_newick
from shorthaul.spatial.layout.orders import positions, sizes
from shorthaul.spatial.model import tree_from_parents
from shorthaul.spatial.workloads import generators
from shorthaul.spatial.workloads.cases import CASES

WOL = Path(__file__).parents[4] / "shared/data/spatial/wol_10575_astral_collapsed.nwk"


def test_trees_made_by_hand_are_checked_and_sorted() -> None:
    rng = np.random.default_rng(3)
    for parent in ([2, 2, -1, 0], [1, 2, 3, -1], [-1, -1, 5, 0, 1, 4]):
        for given in (
            parent,
            np.array(parent),
            np.array(parent, np.int32),
            np.repeat(np.array(parent, np.int32), 2)[::2],
        ):
            tree = engine.Tree(given)  # type: ignore[arg-type]
            place = np.argsort(tree.parents_first)
            assert all(p < 0 or place[p] < place[v] for v, p in enumerate(parent))
            assert engine.plan(tree, refine=0).check.ok
            assert engine.bound(tree, grid="4x4").bound.value >= tree.n - len(tree.roots())
    for wrong in ([5, -1], [1, 0], [0], [-1, -2], [[-1, 0]], [], [0.5, -1]):
        with pytest.raises(InputError, match="parent"):
            engine.Tree(wrong)  # type: ignore[arg-type]
    tree = generators.uniform_binary(41, 1)
    numbers = rng.permutation(tree.n)
    for order in (numbers, [0, *range(tree.n - 1)], range(1, tree.n + 1), range(tree.n - 1)):
        with pytest.raises(InputError, match="once, after its parent"):
            engine.Tree(tree.parent, np.array(order, np.int32))


def test_newick_keeps_names_and_lengths() -> None:
    tree = tree_from_newick(" ( ('it''s':1e-2 , b_c [a (comment;]) x:2,\n d)root ; ")
    assert tree.parent.tolist() == [-1, 0, 1, 1, 0]
    assert tree.labels is not None
    assert tree.labels.names() == ["root", "x", "it's", "b c", "d"]
    assert tree.labels.lengths()[[1, 2]].tolist() == [2.0, 0.01]
    assert np.isnan(tree.labels.lengths()[[0, 3, 4]]).all()
    assert newick_from_tree(tree) == b"(('it''s':1e-2,b_c)x:2,d)root;\n"


def test_newick_with_double_quotes_and_nested_comments() -> None:
    tree = tree_from_newick("""("A, b":1,"say \"\"it's\"\"\":2,5"[a [nested [one]] (x;] )'say "no"';""")
    assert tree.labels is not None
    assert tree.labels.names() == ['say "no"', "A, b", 'say "it\'s"', '5"']
    assert newick_from_tree(tree) == b"""("A, b":1,"say \"\"it's\"\"\":2,5")'say "no"';\n"""


def test_networks_in_extended_newick_are_refused() -> None:
    with pytest.raises(InputError, match="several parents"):
        tree_from_newick("((a,(b)y#H1)c,(y#H1,d)e)f;")
    assert tree_from_newick("((a#1,(b)#H1)c,(a#1,d)e)f;").n == 8


@pytest.mark.parametrize("text", ["a;", "(,);", "((,),(,));", "(a)b;", "((((a))));", "(a,b)", "(:1,:2):3;"])
def test_newick_comes_back(text: str) -> None:
    tree = tree_from_newick(text)
    assert tree_from_newick(newick_from_tree(tree)).parent.tolist() == tree.parent.tolist()


def test_directed_trees_of_networkx() -> None:
    networkx = pytest.importorskip("networkx")
    for seed in samples(20):
        tree = generators.yule(41, seed)
        graph = networkx.DiGraph()
        graph.add_nodes_from(f"it's {v}" for v in range(tree.n))
        graph.add_edges_from(
            (f"it's {tree.parent[v]}", f"it's {v}") for v in range(tree.n - 1, -1, -1) if tree.parent[v] >= 0
        )
        layout = engine.plan(graph, refine=0, baselines=False).plan
        assert layout is not None
        assert np.array_equal(layout.parent, tree.parent)
    asked = engine.lca(networkx.DiGraph([("r", "b"), ("r", "c"), ("c", "a")]), [[1, 3]], refine=0)
    assert asked.plan is not None
    assert asked.plan.arrays["ancestor"].tolist() == [0]
    both = networkx.DiGraph([(0, 2), (1, 2)])
    circle = networkx.DiGraph([(0, 1), (1, 2), (2, 1)])
    two = networkx.DiGraph([(0, 1), (2, 3)])
    for wrong, says in (
        (graph.to_undirected(), "not directed"),
        (both, "two parents"),
        (circle, "two parents|cycle"),
        (two, "root"),
    ):
        with pytest.raises(InputError, match=says):
            engine.plan(wrong, refine=0)
    assert engine.plan(two, refine=0, forest=True).cost["energy_hops"] == 2
    with pytest.raises(InputError):
        engine.plan(networkx.DiGraph())


def test_newick_of_random_trees_comes_back() -> None:
    rng = np.random.default_rng(0)
    for _ in samples(200):
        tree = twins.random_tree(rng)
        again = tree_from_newick(newick_from_tree(tree))
        assert again.labels is not None
        old = np.array([int(name) for name in again.labels.names()])
        assert [tree.parent[v] for v in old] == [-1 if p < 0 else old[p] for p in again.parent]


def test_several_newick_trees_are_a_forest() -> None:
    assert tree_from_newick("(a,b);(c,d);", forest=True).parent.tolist() == [-1, 0, 0, -1, 3, 3]
    with pytest.raises(InputError, match="several roots"):
        tree_from_newick("(a,b);(c,d);")


@pytest.mark.parametrize(
    ("text", "says", "place"),
    [
        ("((a,b);", "a parenthesis is never closed", "offset 0"),
        ("(a,b));", "closed that was never opened", "offset 5"),
        ("(a,\n(b,c;", "a parenthesis is never closed", "line 2 column 1 (offset 4)"),
        ("(a b);", "two names", "offset 3"),
        ("(a,'b);", "quoted name is never closed", "offset 3"),
        ("(a,[b);", "comment is never closed", "offset 3"),
        ("(a,[b[c]);", "comment is never closed", "offset 3"),
        ('(a,"b);', "quoted name is never closed", "offset 3"),
        ("a,b;", "comma outside", "offset 1"),
        ("(a:,b);", "length is missing", "offset 3"),
        ("(a,b)(c);", "comma is missing", "offset 5"),
        ("", "holds no tree", "offset 0"),
        (";", "holds no tree", "offset 0"),
        ("(a:1:2);", "two names or two lengths", "offset 5"),
    ],
)
def test_wrong_newick_is_placed(text: str, says: str, place: str) -> None:
    with pytest.raises(InputError) as caught:
        tree_from_newick(text)
    assert says in str(caught.value)
    assert place in str(caught.value)


@pytest.mark.parametrize(
    ("parent", "says"),
    [
        ([], "no vertex"),
        ([-1, 5], "parent[1]: is no vertex"),
        ([-1, -3], "is no vertex"),
        ([1, 2, 0], "has a cycle"),
        ([-1, 2, 1], "1 -> 2 -> 1"),
        ([-1, -1], "several roots"),
        ([0.5, 1.0], "is not an integer"),
        ([[0, 1]], "one dimension"),
        (np.array([-1, 2**40]), "is no vertex"),
    ],
)
def test_wrong_parents(parent: list, says: str) -> None:
    with pytest.raises(InputError) as caught:
        tree_from_parents(np.array(parent))
    assert says in str(caught.value)


def test_files_of_every_kind(tmp_path: Path) -> None:
    parent = np.array([-1, 0, 0, 1])
    buffer, archive = io.BytesIO(), io.BytesIO()
    np.save(buffer, parent)
    np.savez(archive, parent=parent)
    for name, data in {
        "t.npy": buffer.getvalue(),
        "t.npz": archive.getvalue(),
        "t.json": b'{"parent": [-1, 0, 0, 1]}',
        "l.json": b"[-1, 0, 0, 1]",
        "t.txt": b"-1\n0\n0\n1\n",
    }.items():
        assert tree_from_file(Path(name), data).parent.tolist() == parent.tolist(), name
    assert tree_from_file(Path("t.nwk"), b"((a)b,c);").n == 4


TABLES = {
    "id\tparent_id\n9606\t9605\n# no row\n9605\t207598\n10\t207598\n": (
        [1, 3, 3, -1],
        ["9606", "9605", "10", "207598"],
    ),
    'Parent; name\nNA;r\n"r";"a; b"\n': ([-1, 0], ["r", "a; b"]),
    "name parent length\nr r 0\nx r 2\n": ([-1, 0], ["r", "x"]),
    "parent\n-1\n0\n0\n": ([-1, 0, 0], None),
}


@pytest.mark.parametrize("text", TABLES)
def test_tables_with_names_of_columns(text: str) -> None:
    tree = tree_from_file(Path("tree.csv"), text.encode())
    assert (tree.parent.tolist(), tree.labels and tree.labels.names()) == TABLES[text]


def test_lengths_in_tables() -> None:
    tree = tree_from_file(Path("tree.tsv"), b"length\tname\tparent\n2\ta\tr\n\tb\ta\n")
    assert tree.labels is not None
    assert tree.labels.lengths()[0] == 2
    assert np.isnan(tree.labels.lengths()[1:]).all()
    assert newick_from_tree(tree) == b"(('b')'a':2)'r';\n"


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("t.npy", b"\x93NUMPY\x01\x00", "is not a NumPy array"),
        ("t.npy", b"hello", "is not a NumPy file"),
        ("t.npz", b"PK\x03\x04", "is a damaged archive"),
        ("t.json", b'{"parents": []}', "no entry 'parent'"),
        ("t.json", b'{"parent": [0, "x"]}', "parent[1]"),
        ("t.txt", b"-1\nzero\n", "line 2"),
        ("t.txt", b"-1\n7\n", "parent[1]: is no vertex"),
        ("t.nwk", b"(\xff", "never closed"),
        ("t.csv", b"id,parent\na,r\na,q\n", "line 3: has a second row"),
        ("t.csv", b"id,parent\na\n", "line 2: has another number of cells"),
        ("t.csv", b"id,parent\n,r\n", "line 2: is a vertex without a name"),
        ("t.csv", b"parent\n-1\n7\n", "line 3: is no vertex"),
        ("t.csv", b"id,parent,length\na,r,x\n", "line 2: is no branch length"),
    ],
)
def test_wrong_files(name: str, data: bytes, says: str) -> None:
    with pytest.raises(InputError) as caught:
        tree_from_file(Path(name), data)
    assert says in str(caught.value)
    assert name in str(caught.value)


def test_archives_without_the_array() -> None:
    archive = io.BytesIO()
    np.savez(archive, other=np.arange(3))
    with pytest.raises(InputError, match="no array 'parent'"):
        tree_from_file(Path("t.npz"), archive.getvalue())
    pickled = io.BytesIO()
    np.save(pickled, np.array([{}]), allow_pickle=True)
    with pytest.raises(InputError, match="of another type"):
        tree_from_file(Path("t.npy"), pickled.getvalue())


def test_generators_have_their_shapes() -> None:
    assert (generators.path(5).parent == [-1, 0, 1, 2, 3]).all()
    assert (generators.star(4).parent == [-1, 0, 0, 0]).all()
    assert generators.perfect_binary(20).n == 15
    for name in ("yule", "uniform_binary"):
        tree = getattr(generators, name)(1001, 3)
        assert tree.n == 1001
        assert set(np.unique(tree.degrees())) == {0, 2}
    for case in CASES:
        values = {name: parameter.default for name, parameter in case.parameters.items()}
        for n in (1, 2, 3, 10):
            tree = case.build(**{**values, "n": n})
            assert 1 <= tree.n <= n
            assert len(tree.roots()) == 1


def test_uniform_binary_trees_are_uniform() -> None:
    # Three inner vertices: 5 shapes, each as likely.
    counts: dict[tuple, int] = {}
    for seed in range(2000):
        shape = tuple(generators.uniform_binary(7, seed).parent.tolist())
        counts[shape] = counts.get(shape, 0) + 1
    assert len(counts) == 5
    assert all(330 < count < 470 for count in counts.values())


def test_large_degrees_and_depths_do_not_recurse() -> None:
    deep = generators.random_path(10**6, 0)
    assert sizes(deep).max() == 10**6
    assert sorted(positions(deep, "light-first")[:3].tolist())
    text = b"(" * 300_000 + b"a" + b")" * 300_000 + b";"
    assert newick_from_tree(tree_from_newick(text)) == text + b"\n"
    wide = generators.star(200_000)
    assert (np.sort(positions(wide, "light-first")) == np.arange(200_000)).all()


def test_orders_against_the_twin() -> None:
    rng = np.random.default_rng(1)
    for turn in samples(300):
        tree = twins.random_tree(rng) if turn % 3 else twins.random_forest(rng)
        parent = tree.parent.tolist()
        size = twins.sizes(parent)
        assert sizes(tree).tolist() == size
        for order, key in {
            "light-first": size.__getitem__,
            "heavy-first": [-s for s in size].__getitem__,
            "dfs": int,
        }.items():
            expected = twins.preorder(parent, key)
            assert np.argsort(positions(tree, order)).tolist() == expected, order
        depth = [len(twins.root_path(parent, v)) for v in range(tree.n)]
        breadth = np.argsort(positions(tree, "bfs"))
        assert (np.diff(np.array(depth)[breadth]) >= 0).all()
        above = [positions(tree, "bfs")[p] if p >= 0 else -1 for p in tree.parent[breadth]]
        assert (np.diff(above) >= 0).all()


def test_light_first_positions_follow_the_formula() -> None:
    # Spec 1.6: position = 1 + that of the parent + the sizes of lighter siblings.
    tree = twins.random_tree(np.random.default_rng(5), 200)
    position, size = positions(tree, "light-first"), sizes(tree)
    for v, kids in enumerate(twins.children_lists(tree.parent.tolist())):
        free = position[v] + 1
        for kid in sorted(kids, key=lambda k: size[k]):
            assert position[kid] == free
            free += size[kid]


def test_scikit_learn_trees_and_forests() -> None:
    ensemble = pytest.importorskip("sklearn.ensemble")
    rng = np.random.default_rng(0)
    x, y = rng.random((60, 3)), rng.integers(0, 2, 60)
    forest = ensemble.RandomForestClassifier(n_estimators=4, random_state=0).fit(x, y)
    tree = tree_from_sklearn(forest)
    assert len(tree.roots()) == 4
    assert tree.n == sum(inner.tree_.node_count for inner in forest.estimators_)
    boosted = ensemble.GradientBoostingClassifier(n_estimators=3, random_state=0).fit(x, y)
    assert len(tree_from_sklearn(boosted).roots()) == 3
    with pytest.raises(InputError, match="no fitted tree"):
        tree_from_sklearn(ensemble.RandomForestClassifier())
    with pytest.raises(InputError, match="allowed: decision trees, forests"):  # fitted, but no tree of scikit-learn's
        tree_from_sklearn(pytest.importorskip("sklearn.dummy").DummyClassifier().fit(x, y))


@pytest.mark.skipif(not WOL.exists(), reason="the shared phylogeny is not here")
def test_a_real_phylogeny() -> None:
    data = WOL.read_bytes()
    tree = tree_from_newick(data)
    assert tree.n == 20603
    assert newick_from_tree(tree).strip() == data.strip()


def test_tables_have_names_where_the_tree_has_them() -> None:
    tree = tree_from_newick("((A,B),C_1)root;")
    columns, rows = table_of({"parent": tree.parent, "value": np.arange(5)}, tree.labels)
    assert columns == ("vertex", "parent", "value", "name")
    assert [row[-1] for row in rows] == ["root", "", "A", "B", "C 1"]
    asked = {"queries": np.array([[2, 4]]), "ancestor": np.array([0])}
    columns, rows = table_of(asked, tree.labels)
    assert (columns, [*rows]) == (("query", "first", "second", "ancestor", "name"), [[0, 2, 4, 0, "root"]])
    columns, rows = table_of(asked, None)
    assert (columns, [*rows]) == (("query", "first", "second", "ancestor"), [[0, 2, 4, 0]])
