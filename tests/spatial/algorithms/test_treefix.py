from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from tests.reference import spatial_twins as twins
from tests.reference.flits import heard
from tests.samples import samples

import shorthaul.spatial as engine
from shorthaul.core.errors import InfeasibleError, InputError
from shorthaul.core.search import Search
from shorthaul.spatial.algorithms.stored import stored_nodes
from shorthaul.spatial.check.replay import CODES, check_lca, check_treefix
from shorthaul.spatial.computer.operators import OPERATORS, Operator
from shorthaul.spatial.formats.files import arrays_document, layout_bytes, tree_from_file
from shorthaul.spatial.layout.stored_tree import store
from shorthaul.spatial.model import Tree, tree_from_parents
from shorthaul.spatial.options import METHODS, PlacingOptions
from shorthaul.spatial.options import OPERATORS as NAMES
from shorthaul.spatial.verbs.planning import place
from shorthaul.spatial.verbs.treefix import run_treefix
from shorthaul.spatial.workloads import generators

RUNS = [("rake-compress", "local-maximum"), ("rake-compress", "random-mate"), ("convergecast", ""), ("heavy-path", "")]

#: Enough refinement to mix the vertices.
LITTLE = 0.005


def combine(op: str):
    operator = OPERATORS[op]
    return lambda a, b: operator.combine(np.asarray(a), np.asarray(b))


def random_values(rng: np.random.Generator, n: int, op: str) -> np.ndarray:
    return rng.integers(0, 2**31 - 1, (n, 2)) if op == "affine" else rng.integers(-100, 100, n)


def run_on(stored, held: np.ndarray, op: str, *, listener=None, **how) -> np.ndarray:
    machine = heard(stored.x, stored.y, stored.grid, listener)
    tree = stored_nodes(machine, stored.virtual(), paths=how["method"] == "heavy-path")
    return machine.collect(run_treefix(machine, tree, machine.load("values", held), OPERATORS[op], **how))


@pytest.mark.costly
@pytest.mark.parametrize(("method", "coins"), RUNS)
def test_random_trees(method: str, coins: str) -> None:
    # Spec section 1: literal readings of the treefix section give wrong sums on 2 000 random trees.
    rng = np.random.default_rng(len(method) + len(coins))
    for turn in samples(60):
        tree = twins.random_tree(rng, 24)
        op = NAMES[turn % 7]
        values = random_values(rng, tree.n, op)
        for direction, fold, chosen in (("up", twins.subtree_fold, op), ("down", twins.path_fold, "affine")):
            given = values if chosen == op else random_values(rng, tree.n, chosen)
            stored = store(tree, place(tree, PlacingOptions(), Search())[0])
            held = np.empty_like(given)
            held[stored.position] = given
            sums = run_on(stored, held, chosen, direction=direction, method=method, kind=coins, seed=turn)
            expected = fold(tree.parent.tolist(), list(given), combine(chosen))
            assert (sums[stored.position] == np.array(expected)).all(), tree.parent


@pytest.mark.costly
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("direction", ["up", "down"])
def test_large_trees_and_every_message_replayed(method: str, direction: str) -> None:
    trees = [
        generators.yule(1501, 1),
        generators.path(900),
        generators.star(1000),
        generators.caterpillar(900),
        generators.preferential_attachment(1200, 2),
        generators.random_recursive(1200, 2),
        generators.random_path(700, 1),
    ]
    rng = np.random.default_rng(0)
    for tree in trees:
        op = "sum" if direction == "up" else "affine"
        values = random_values(rng, tree.n, op)
        result = engine.treefix(tree, values, op=op, direction=direction, method=method, refine=LITTLE)
        assert result.check.ok
        assert result.check.details["messages_replayed"]
        assert result.gap >= 0
        assert 0 < result.bound.details["distance_hops"] <= result.cost["distance_hops"]


def test_forests_and_rectangles_and_curves() -> None:
    rng = np.random.default_rng(1)
    for _ in samples(16):
        tree = twins.random_forest(rng)
        for method in METHODS:
            for direction in ("up", "down"):
                result = engine.treefix(
                    tree, grid="6x5", method=method, direction=direction, curve="snake", refine=LITTLE
                )
                assert result.check.ok
                assert result.bound.details["distance_hops"] <= result.cost["distance_hops"]


def test_any_associative_operator() -> None:
    # 2 x 2 integer matrices: not commutative, not built in.
    def multiply(a, b):
        pairs = ((row, column) for row in (0, 2) for column in (0, 1))
        return np.stack([a[..., i] * b[..., j] + a[..., i + 1] * b[..., j + 2] for i, j in pairs], axis=-1)

    matrices = Operator("matrices", multiply, (1, 0, 0, 1), commutative=False, words=4)
    rng = np.random.default_rng(2)
    for _ in samples(16):
        tree = twins.random_tree(rng, 30)
        values = rng.integers(-2, 3, (tree.n, 4))
        expected = twins.path_fold(tree.parent.tolist(), list(values), multiply)
        for method in METHODS:
            result = engine.treefix(tree, values, operator=matrices, direction="down", method=method, refine=LITTLE)
            assert (result.plan.arrays["value"] == np.array(expected)).all()
    lengths = Operator("longest", np.maximum, -np.inf)
    tree = generators.yule(201, 1)
    heights = np.random.default_rng(3).random(tree.n)
    expected = twins.subtree_fold(tree.parent.tolist(), heights.tolist(), max)
    for method in METHODS:
        result = engine.treefix(tree, heights, operator=lengths, method=method, refine=LITTLE)
        assert (result.plan.arrays["value"] == expected).all()


def test_an_operator_of_ones_own_costs_what_a_built_in_one_costs() -> None:
    mine = Operator("mine", np.maximum, np.int64(-(2**63)))
    rng = np.random.default_rng(7)
    for tree in (generators.path(700), generators.star(300), generators.yule(501, 1), twins.random_forest(rng)):
        values = rng.integers(-(2**62), 2**62, tree.n)
        for method in METHODS[1:]:
            for direction in ("up", "down"):
                how = {"op": "max", "method": method, "direction": direction, "refine": 0}
                runs = [engine.treefix(tree, values, operator=operator, **how) for operator in (None, mine)]
                assert dict(runs[0].cost) == dict(runs[1].cost)
                for name in ("rounds", "words_per_processor", "messages"):
                    assert runs[0].extra[name] == runs[1].extra[name]
                assert (runs[0].plan.arrays["value"] == runs[1].plan.arrays["value"]).all()


def test_auto_is_the_best_method() -> None:
    for turn, tree in enumerate((generators.path(600), generators.uniform_binary(801, 1), generators.star(900))):
        options = {"direction": ("up", "down")[turn % 2], "refine": LITTLE}
        found = {m: engine.treefix(tree, method=m, **options).extra["cycles"] for m in METHODS[1:]}
        best = engine.treefix(tree, **options)
        assert best.extra["cycles"] == min(found.values()) == found[best.extra["method"]]
        assert best.extra["cycles_by_method"] == found
    # The wave alone fits into few words; and a program that fits nowhere is refused.
    assert engine.treefix(tree, words=12, refine=0).extra["method"] == "convergecast"


def test_siblings_relay_along_the_grid() -> None:
    # Swaps that cost nothing mix the leaves of a star; the relays follow where they are now.
    assert engine.treefix(generators.star(5000), method="convergecast", refine=0).extra["energy_per_vertex"] < 2.4


def test_any_layout_can_be_run_on(tmp_path: Path) -> None:
    tree = generators.yule(301, 1)
    planned = engine.plan(tree, order="random", refine=0)
    file = tmp_path / "layout.npz"
    file.write_bytes(layout_bytes(planned.plan))
    given = engine.treefix(tree, layout=file, method="convergecast")
    assert given.check.ok
    assert engine.treefix(tree, layout=planned, method="convergecast").cost == given.cost
    assert given.cost["energy_hops"] == planned.extra["virtual_tree"]["energy_hops"]
    better = engine.treefix(tree, layout=file, method="convergecast", refine=0.05)
    assert better.cost["energy_hops"] < 0.5 * given.cost["energy_hops"]
    with pytest.raises(InputError, match="no layout of this tree"):
        engine.lca(generators.yule(301, 2), [[1, 2]], layout=planned.plan)


def test_queries_name_vertices(tmp_path: Path) -> None:
    tree = engine.tree_from_newick("((a,b)c,(d,b)'e f')r;")
    file = tmp_path / "queries.csv"
    file.write_text("a,d\na,c\n5,e f\n")
    assert engine.lca(tree, file).plan.arrays["ancestor"].tolist() == [0, 1, 4]
    for text in ("a,b\n", "a,x\n", "a\n", "a,c,d\n", "a,99\n", ""):
        file.write_text(text)
        with pytest.raises(InputError):
            engine.lca(tree, file)


def test_sums_over_subtrees_need_a_commutative_operator() -> None:
    for method in METHODS:
        with pytest.raises(InputError, match="not commutative"):  # before a layout is sought: there is none here
            engine.treefix([-1, 0], op="affine", direction="up", method=method, grid="1x1")


@pytest.mark.parametrize(
    ("values", "op", "says"),
    [
        ([1], "sum", "does not match"),
        ([[1, 2], [3, 4]], "sum", "does not match"),
        ([1.5, 2], "xor", "not integers"),
        (["a", "b"], "sum", "not integers or real"),
        ([1, None], "sum", "not integers or real"),
        (np.ones(2, np.longdouble), "sum", "not integers or real"),
        ([2**63, -1], "max", "as the others do"),
        ([2**64, 1], "max", "as the others do"),
        ([2**62, 2**62], "sum", "does not fit"),
        ([-(2**62), -(2**62) - 1], "sum", "does not fit"),
        (np.array([2**63, 2**63], np.uint64), "sum", "does not fit"),
        ([2**32, 2**31], "product", "does not fit"),
        ([1e308, 1e308], "sum", "does not fit"),
        ([1e200, -1e200], "product", "does not fit"),
        ([1.0, np.inf], "product", "not finite"),
    ],
)
def test_wrong_values(values, op: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        engine.treefix([-1, 0], values, op=op)


def test_values_from_text(tmp_path: Path) -> None:
    (tmp_path / "tree.nwk").write_text("((a,b)c,d)r;")
    file = tmp_path / "values.csv"

    def run(text: str, **options) -> list:
        file.write_text(text)
        tree = tree_from_file(tmp_path / "tree.nwk", (tmp_path / "tree.nwk").read_bytes())
        result = engine.treefix(tree, file, refine=0, **options)
        assert result.check.ok
        return arrays_document(result.plan.arrays)["value"]

    assert run("name,value\nr,1\nc,2\na,3\nb,4\nd,18446744073709551615\n", op="max")[0] == 2**64 - 1
    assert run("# in order\n1\n2\n3\n\n4\n5\n") == [15, 9, 3, 4, 5]
    assert run("r\t1.5\nc\tinf\n2\t1\nb\t2\nd\tnan\n") == ["nan", "inf", 1.0, 2.0, "nan"]
    assert run("1 2\n" * 5, op="affine", direction="down")[1] == [1, 4]
    (tmp_path / "junk.npy").write_bytes(b"\x00\xff\x81 junk")
    with pytest.raises(InputError, match=r"junk.npy: is not a NumPy file"):
        engine.treefix("path:n=5", tmp_path / "junk.npy")
    with pytest.raises(InputError, match=r"junk.npy: is not a NumPy file"):
        engine.lca("path:n=5", queries=tmp_path / "junk.npy")
    for text, says in (
        ("a,1\nb,2\n", "too few"),
        ("a,1\na,2\n", "second value"),
        ("x,1\n", "no vertex"),
        ("1\n" * 6, "too many"),
        ("1\nzz\n", "no value"),
        ("1,2,3\n", "no value"),
        ("99999999999999999999\n1\n1\n1\n1\n", "64 bits"),
    ):
        with pytest.raises(InputError, match=says):
            run(text)


def test_affine_maps_out_of_range() -> None:
    with pytest.raises(InputError, match="out of range"):
        engine.treefix([-1, 0], [[1, -1], [0, 0]], op="affine", direction="down")


def exact(tree: Tree, values: list[int], op: str, direction: str) -> list[int]:
    """The folds as Python's integers of any size."""
    combine = {"sum": int.__add__, "product": int.__mul__, "max": max, "min": min, "xor": int.__xor__}[op]
    fold = twins.subtree_fold if direction == "up" else twins.path_fold
    return fold(tree.parent.tolist(), values, combine)


@pytest.mark.costly
@pytest.mark.parametrize("op", ["sum", "product", "max", "min", "xor"])
def test_integers_are_exact_or_refused(op: str) -> None:
    rng = np.random.default_rng(8)
    answered = 0
    for turn in samples(100):
        tree = twins.random_tree(rng, 12)
        unsigned = bool(turn % 2)
        bits = rng.integers(1, 64 + unsigned, tree.n)
        if op == "product":
            bits = bits * (rng.random(tree.n) < 0.3) // 2 + 1
        values = [int(rng.integers(0, 2**63)) * 2 + int(rng.integers(0, 2)) >> (64 - int(bit)) for bit in bits]
        if not unsigned:
            values = [value * int(rng.choice([-1, 1])) for value in values]
        direction, method = ("up", "down")[turn % 3 == 0], METHODS[1 + turn % 3]
        expected = exact(tree, values, op, direction)
        low, high = (0, 2**64) if unsigned else (-(2**63), 2**63)
        given = np.array(values, np.uint64 if unsigned else np.int64)
        if all(low <= value < high for value in expected):
            result = engine.treefix(tree, given, op=op, direction=direction, method=method, refine=LITTLE)
            assert result.check.ok
            assert result.plan.arrays["value"].tolist() == expected
            answered += 1
        else:
            with pytest.raises(InputError, match="does not fit"):
                engine.treefix(tree, given, op=op, direction=direction, method=method, refine=LITTLE)
    assert answered > 10


@pytest.mark.costly
@pytest.mark.parametrize("op", ["sum", "product", "max", "min"])
def test_real_numbers(op: str) -> None:
    rng = np.random.default_rng(9)
    function = {"sum": math.fsum, "product": math.prod, "max": np.max, "min": np.min}[op]
    for turn in samples(60):
        tree = twins.random_tree(rng, 20)
        kind = (np.float32, np.float64)[turn % 2]
        values = (rng.normal(size=tree.n) * 10.0 ** rng.integers(-5, 5, tree.n)).astype(kind)
        if turn % 5 == 0 and op != "product":
            values[rng.integers(tree.n, size=2)] = rng.choice([np.inf, -np.inf, np.nan], 2)
        direction = ("up", "down")[turn % 3 == 0]
        fold = twins.subtree_fold if direction == "up" else twins.path_fold
        gathered = fold(tree.parent.tolist(), [[float(value)] for value in values], list.__add__)
        result = engine.treefix(tree, values, op=op, direction=direction, method=METHODS[1 + turn % 3], refine=0)
        assert result.check.ok
        for found, terms in zip(result.plan.arrays["value"].tolist(), gathered, strict=True):
            special = [term for term in terms if not math.isfinite(term)]
            if op == "sum" and special:
                assert found == sum(special) or (math.isnan(found) and math.isnan(sum(special)))
            elif any(math.isnan(term) for term in terms):
                assert math.isnan(found)
            else:
                assert found == pytest.approx(function(terms), rel=1e-13, abs=1e-13 * sum(map(abs, terms)))


def test_wrong_real_numbers_are_found() -> None:
    tree = generators.yule(99, 1)
    values = np.random.default_rng(0).random((99, 1))
    for op, direction in itertools.product(("sum", "product", "max"), ("up", "down")):
        right = (
            engine.treefix(tree, values[:, 0], op=op, direction=direction, refine=0).plan.arrays["value"].reshape(-1, 1)
        )
        assert check_treefix(tree, values, op, direction, right).ok
        for wrong in (right * (1 + 1e-12), right + 1e-9, np.where(right == right[0], np.nan, right)):
            assert not check_treefix(tree, values, op, direction, wrong).ok


def test_a_program_over_its_words_is_refused() -> None:
    with pytest.raises(InfeasibleError, match="memory of a processor"):
        engine.treefix(generators.yule(101, 1), method="rake-compress", words=4, refine=0)


def test_the_same_seed_gives_the_same_run_and_another_the_same_sums() -> None:
    tree = generators.uniform_binary(2001, 1)
    runs = [engine.treefix(tree, method="rake-compress", refine=LITTLE, search=Search(seed=seed)) for seed in (1, 1, 2)]
    assert dict(runs[0].cost) == dict(runs[1].cost) != dict(runs[2].cost)
    assert (runs[0].plan.arrays["value"] == runs[2].plan.arrays["value"]).all()


def test_memory_does_not_grow_with_the_tree() -> None:
    for method in METHODS[1:]:
        for direction in ("up", "down"):
            words = {
                engine.treefix(shape(n), method=method, direction=direction, refine=0).extra["words_per_processor"]
                for n in (200, 800)
                for shape in (generators.star, generators.path, lambda n: generators.preferential_attachment(n, 1))
            }
            assert max(words) <= 64


class Influence:
    """Follows which processors a change at one of them can have reached through the messages."""

    def __init__(self, n: int, start: int) -> None:
        self.reached = np.zeros(n, bool)
        self.reached[start] = True

    def round(self, sender: np.ndarray, receiver: np.ndarray, words: int) -> None:  # noqa: ARG002
        self.reached[receiver[self.reached[sender]]] = True


@pytest.mark.costly
@pytest.mark.parametrize(("method", "coins"), RUNS)
@pytest.mark.parametrize("direction", ["up", "down"])
def test_nothing_is_read_but_by_messages(method: str, coins: str, direction: str) -> None:
    # A value changed at one processor may change only what messages from there can have reached.
    rng = np.random.default_rng(4)
    for turn in samples(60):
        tree = twins.random_tree(rng)
        stored = store(tree, place(tree, PlacingOptions(), Search())[0])
        values = rng.integers(0, 1000, tree.n)
        changed = values.copy()
        start = int(rng.integers(tree.n))
        changed[start] += 1
        sums = []
        for given in (values, changed):
            influence = Influence(tree.n, start)
            how = {"direction": direction, "method": method, "kind": coins, "seed": turn}
            sums.append(run_on(stored, given, "sum", listener=influence, **how))
        assert not ((sums[0] != sums[1]) & ~influence.reached).any()


def test_the_checker_finds_wrong_sums_and_ancestors() -> None:
    tree = tree_from_parents([-1, 0, 0])
    ones = np.ones((3, 1), np.int64)
    assert check_treefix(tree, ones, "sum", "up", np.array([[3], [1], [1]])).ok
    wrong = check_treefix(tree, ones, "sum", "up", np.array([[3], [1], [2]]))
    assert [violation.place for violation in wrong.violations] == ["vertex 2"]
    queries = np.array([[1, 2], [0, 1]], np.int32)
    assert check_lca(tree, queries, np.array([0, 0], np.int32)).ok
    assert [v.rule for v in check_lca(tree, queries, np.array([1, 0], np.int32)).violations] == ["wrong-ancestor"]
    assert set(CODES) == set(OPERATORS) == set(NAMES)


def test_the_checkers_own_folds_against_the_twins() -> None:
    rng = np.random.default_rng(5)
    for turn in samples(100):
        tree = twins.random_tree(rng, 20)
        op = NAMES[turn % 7]
        values = random_values(rng, tree.n, op)
        for direction, fold in (("up", twins.subtree_fold), ("down", twins.path_fold)):
            expected = np.array(fold(tree.parent.tolist(), list(values), combine(op)))
            assert check_treefix(tree, values.reshape(-1, 1), op, direction, expected.reshape(-1, 1)).ok
        maps = random_values(rng, tree.n, "affine")
        expected = np.array(twins.path_fold(tree.parent.tolist(), list(maps), combine("affine")))
        assert check_treefix(tree, maps, "affine", "down", expected).ok


@pytest.mark.costly
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("barriers", [False, True])
def test_lowest_common_ancestors(method: str, barriers: bool) -> None:
    rng = np.random.default_rng(6)
    for turn in samples(30):
        tree = twins.random_tree(rng) if turn % 5 else twins.random_forest(rng)
        queries = rng.integers(0, tree.n, (30, 2))
        result = engine.lca(tree, queries, method=method, barriers=barriers, refine=LITTLE)
        expected = [twins.lca(tree.parent.tolist(), u, v) for u, v in queries.tolist()]
        assert result.plan.arrays["ancestor"].tolist() == expected
        assert result.check.ok


def test_lca_on_large_trees_and_repeated_queries() -> None:
    for tree in (generators.yule(1001, 1), generators.star(600), generators.path(500)):
        result = engine.lca(tree, random=1500, refine=LITTLE, search=Search(seed=3))
        assert result.check.ok
        assert result.check.details["messages_replayed"]
    same = engine.lca(generators.yule(101, 1), np.tile([[3, 90]], (50, 1)), refine=0)
    assert len(set(same.plan.arrays["ancestor"].tolist())) == 1


def test_wrong_queries() -> None:
    for queries, says in (
        ([[0, 5]], "names no vertex"),
        ([[0]], "pairs"),
        ([[0.5, 1]], "numbers of vertices"),
        ([0, 1], "pairs"),
        ([[-1, 0]], "names no vertex"),
    ):
        with pytest.raises(InputError, match=says):
            engine.lca([-1, 0, 0], np.array(queries))
    with pytest.raises(InputError, match="no queries"):
        engine.lca([-1, 0])
