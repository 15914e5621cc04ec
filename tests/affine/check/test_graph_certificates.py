"""Certificates of arguments on graphs that stand for a program's: copies, copied values, other names, sums in any order."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import islpy as isl
import pytest
from tests.affine.check.test_certificate import means_the_same
from tests.affine.derived import quick
from tests.reference.affine_rewritings import ALWAYS
from tests.reference.affine_transformations import in_copies
from tests.reference.falsified import changed_numbers, put

from shorthaul.affine.bounds.best import fitted, lower_bound
from shorthaul.affine.bounds.graphs import Graph, graphs
from shorthaul.affine.check.certificate import verify
from shorthaul.affine.check.data_flow import ProgramReads
from shorthaul.affine.check.execution import execute
from shorthaul.affine.check.graphs.stages import Stage, derived
from shorthaul.affine.check.lifetime_points import Graph as Executed
from shorthaul.affine.check.partition_points import operands_of
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.model import Program
from shorthaul.affine.options import BoundOptions
from shorthaul.affine.verbs.deriving import bound_of
from shorthaul.affine.workloads.cases import kernel_text
from shorthaul.core.search import Search

FRAME = "void f(int T, int N, double A[N + 2][N + 9], double B[N + 2][N + 9], double w[N + 9], double C[N + 9][N + 9]) {\n#pragma scop\n%s\n#pragma endscop\n}\n"
LINE = "for (int i = 1; i < N; i++)"
BODIES = {
    "copied back": f"for (int t = 0; t < T; t++) {{ {LINE} B[0][i] = A[0][i - 1] + A[0][i] + A[0][i + 1]; {LINE} A[0][i] = B[0][i]; }}",
    "copies of copies": f"for (int t = 0; t < T; t++) {{ {LINE} B[0][i] = A[0][i - 1] + A[0][i]; {LINE} B[1][i] = B[0][i]; {LINE} A[0][i] = B[1][i]; }}",
    "a batch": f"for (int p = 1; p < N; p++) for (int t = 0; t < T; t++) {{ {LINE} B[p][i] = A[p][i - 1] + A[p][i]; {LINE} A[p][i] = B[p][i - 1] + B[p][i]; }}",
    "two batches": f"for (int p = 0; p < N; p++) {LINE} for (int k = 0; k < 5; k++) {{ w[i] = A[p][i]; A[p][i] = C[p][i] + w[i]; }}",
    "halves": "for (int h = 0; h < 2; h++) for (int i = h; i < N; i += 2) for (int k = 0; k < N; k++) A[0][i] = A[0][i] + C[i][k];",
    "skewed": f"{LINE} for (int k = i; k < N + i; k++) A[i][k - i] = A[i - 1][k - i] + C[i][k - i];",
}
ANY_ORDER = {
    "product": "for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) for (int k = 0; k < N; k++) C[i][j] += A[i][k] * B[k][j];",
    "mirrored": "for (int i = 0; i < N; i++) for (int j = 0; j < i; j++) { for (int k = 0; k < j; k++) C[i][j] -= C[i][k] * C[j][k]; C[i][j] = C[i][j] / C[j][j]; }",
    "waits": "for (int i = 0; i < N; i++) { w[i] = 0.0; for (int k = 0; k < N; k++) w[i] += C[i][k] * A[0][k]; for (int k = 0; k < N; k++) B[0][k] += C[i][k] * w[i]; }",
}


@cache
def document(text: str, *, any_order: bool = False, size: int = 900, capacity: int = 100) -> tuple[Program, str, Any]:
    program = program_from_text(text)
    flow = flow_dependences(program)
    sizes = {**dict.fromkeys(program.parameters, size), "S": capacity}
    found = lower_bound(program, BoundOptions(reassociate=any_order), flow=flow)
    found = fitted(found, sizes, Search()) if any_order else found
    return program, json.dumps(bound_of(program, found, sizes, flow).document()), sizes


def verified(text: str, **how: Any) -> dict[str, Any]:
    """Return the document of a bound of which every argument has a certificate that holds."""
    program, made, sizes = document(text, **how)
    found: dict[str, Any] = json.loads(made)
    violations, remarks = verify(program, found, sizes)
    assert not violations
    assert remarks
    assert all(item.endswith(": verified") for item in remarks)
    return found


@pytest.mark.parametrize("name", quick(("copied back", "copies of copies", "a batch"), ()))
def test_arguments_on_other_graphs_are_verified(name: str) -> None:
    found = verified(FRAME % BODIES[name])
    assert any(item.get("graph") for item in found["certificate"]["parts"])


@pytest.mark.parametrize("name", quick(("gemm", "trisolv", "jacobi-1d", "durbin"), ()))
def test_arguments_on_one_copy_are_verified(name: str) -> None:
    verified(in_copies(kernel_text(name)))


@pytest.mark.parametrize("name", quick(("lu", "jacobi-1d", "symm"), ()))
def test_arguments_on_skewed_loops_are_verified(name: str) -> None:
    verified(ALWAYS["skewed"](kernel_text(name)))


@pytest.mark.costly
@pytest.mark.parametrize("name", quick(ANY_ORDER, ("product", "waits")))
def test_arguments_on_sums_in_any_order_are_verified(name: str) -> None:
    verified(FRAME % ANY_ORDER[name], any_order=True)


@pytest.mark.parametrize(
    ("name", "step"), quick([("copied back", 31), ("product", 3), ("waits", 7)], [("product", 11)])
)
def test_a_changed_number_of_a_graph_is_found(name: str, step: int) -> None:
    text, any_order = FRAME % {**BODIES, **ANY_ORDER}[name], name in ANY_ORDER
    found = verified(text, any_order=any_order)
    program, _, sizes = document(text, any_order=any_order)
    changes = [
        (("certificate", "parts", at, "graph", *path), before, value)
        for at, part in enumerate(found["certificate"]["parts"])
        for path, value in changed_numbers(part.get("graph", []))
        for before in [_at(part["graph"], path)]
        if not means_the_same(before, value, is_bound=False)
    ]
    assert changes
    for path, before, value in changes[::step]:
        assert verify(program, put(found, path, value), sizes)[0], (path, before, value)


def _at(document: Any, path: tuple[str | int, ...]) -> Any:
    for key in path:
        document = document[key]
    return document


def wrong(found: dict[str, Any], at: int, **changes: Any) -> list[str]:
    """Return what is wrong with an argument after changes in the first step of its graph."""
    program, _, sizes = document(FRAME % ANY_ORDER["product"], any_order=True)
    part = found["certificate"]["parts"][at]
    step = {**part["graph"][0], **changes}
    changed = put(found, ("certificate", "parts", at, "graph"), [step, *part["graph"][1:]])
    return [item.message for item in verify(program, changed, sizes)[0]]


def test_what_is_no_sum() -> None:
    """Two sums as one, a sum as two, results that share a vertex, in-order arguments for any order."""
    found = verified(FRAME % ANY_ORDER["product"], any_order=True)
    first = found["certificate"]["parts"][0]["graph"][0]
    partial, results = isl.UnionMap(first["partial"]), isl.UnionMap(first["results"])
    assert not wrong(found, 0)
    joined = partial.apply_range(isl.UnionMap("{ S0_partial[i, j, k] -> S0_partial[i, 0, k] }"))
    assert any("two sums are one" in item for item in wrong(found, 0, partial=str(joined)))
    cut = partial.intersect_domain(isl.UnionSet("{ S0[i, j, k] : k < 5 }"))
    assert any("follow one another" in item for item in wrong(found, 0, partial=str(cut)))
    same = results.apply_range(isl.UnionMap("{ S0_sum[i, j, k] -> S0_sum[i, i, k] }"))
    assert any("one for each sum" in item for item in wrong(found, 0, results=str(same)))
    assert any("does not hold on this graph" in item for item in wrong(found, 0, kind="order"))
    program, _, sizes = document(FRAME % ANY_ORDER["product"], any_order=True)
    own = json.loads(document(FRAME % ANY_ORDER["product"])[1])
    claimed = put(own, ("certificate", "any_order"), True)
    assert any("sums in order" in item.message for item in verify(program, claimed, sizes)[0])


def steps_of(name: str) -> tuple[list[dict[str, Any]], Stage]:
    """Return the steps to the last graph of a program, and the program's own."""
    program = program_from_text(FRAME % BODIES[name])
    steps = list(graphs(Graph(flow_dependences(program))))[-1].derived
    executed = tuple((at, Executed(operands_of(execute(program, at)))) for at in ({"T": 2, "N": 3}, {"T": 3, "N": 5}))
    return json.loads(json.dumps(steps)), Stage(ProgramReads(program), executed)


SIZES = ({"T": 1, "N": 1}, {"T": 2, "N": 4}, {"T": 7, "N": 2}, {"T": 6, "N": 9})


@pytest.mark.parametrize("name", BODIES)
def test_graphs_and_wrong_ones(name: str) -> None:
    """Every step holds, and none with a number changed, but where that changes nothing."""
    steps, whole = steps_of(name)
    assert steps
    assert not derived(steps, whole, SIZES)[1]
    for path, value in [*changed_numbers(steps)][::9]:
        before = _at(steps, path)
        changed = put(steps, path, value)
        if not means_the_same(before, value, is_bound=False) and not is_renaming(before, value, path):
            assert derived(changed, whole, SIZES)[1], (path, before, value)


def is_renaming(before: Any, value: Any, path: tuple[str | int, ...]) -> bool:
    """True if two relations are the same up to names of places or slices, which may be any."""
    if path[-1] not in {"place", "slices"}:
        return False
    one, other = isl.UnionMap(before), isl.UnionMap(value)
    turned = one.reverse().apply_range(other)
    return bool(one.domain().is_equal(other.domain()) and turned.is_bijective())


@pytest.mark.costly
@pytest.mark.parametrize(("name", "entry", "by"), [
    ("a batch", "slices", "{ [p] -> [0] }"),
    ("a batch", "slices", "{ [p] -> [floor(p / 2)] }"),
    ("a batch", "place", "{ S0[t, i] -> S0[t, 1] }"),
    ("copied back", "place", "{ S0[t, i] -> S0[0, i] }"),
], ids=["one slice", "two slices as one", "one place", "one place for all steps"])  # fmt: skip
def test_what_is_no_graph(name: str, entry: str, by: str) -> None:
    steps, whole = steps_of(name)
    relation, change = isl.UnionMap(steps[0][entry]), isl.UnionMap(by)
    changed = relation.subtract_range(change.domain()).union(relation.apply_range(change))
    assert derived([{**steps[0], entry: str(changed)}], whole, SIZES)[1]


@pytest.mark.costly
@pytest.mark.parametrize(("name", "entry", "value"), [
    ("a batch", "times", "N"), ("copied back", "copies", "{ }"), ("copied back", "copies", "[T, N] -> { S0[t, i] }"),
    ("skewed", "times", "2"),
])  # fmt: skip
def test_other_entries_of_a_graph(name: str, entry: str, value: str) -> None:
    steps, whole = steps_of(name)
    assert derived([{**steps[0], entry: value}], whole, SIZES)[1]
