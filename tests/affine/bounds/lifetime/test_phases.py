"""Phases between events that follow one another: durbin, and programs of the same kind, against plays."""

from __future__ import annotations

import json

import islpy as isl
import numpy as np
import pytest
from tests.affine.derived import bound_of, quick
from tests.reference.affine_rewritings import split

from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.bounds.lifetime.phases import meeting
from shorthaul.affine.check.certificate import verify
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.integer_sets.quasi_polynomial import symbol
from shorthaul.affine.replay.cdag import ConcreteCdag, IntArray, concrete_cdag
from shorthaul.affine.verbs.deriving import bound_of as as_bound
from shorthaul.affine.workloads.cases import kernel_text
from shorthaul.core.search import Search
from shorthaul.graphs.replay import belady_loads, least_loads

FRAME = "void f(int N, int M, double x[N], double y[N], double z[N], double u[M][N], double s) {\n#pragma scop\n%s\n#pragma endscop\n}\n"
#: programs, and what a step of one size n loads again at least (S small)
PROGRAMS = {
    "a norm, then a division": (
        (
            "for (int t = 0; t < M; t++) { s = 0.0; for (int i = 0; i < N; i++) s += x[i] * x[i];"
            " for (int i = 0; i < N; i++) x[i] = x[i] / s; }"
        ),
        1,
    ),
    "two vectors, one read backwards": (
        (
            "for (int t = 0; t < M; t++) { s = 0.0; for (int i = 0; i < N; i++) s += x[i] * y[N - 1 - i];"
            " for (int i = 0; i < N; i++) x[i] = x[i] + s * y[i]; }"
        ),
        2,
    ),
    "a vector mirrored in each step": (
        (
            "for (int t = 0; t < M; t++) { s = 0.0; for (int i = 0; i < N; i++) s += x[i] * y[i];"
            " for (int i = 0; i < N; i++) z[i] = x[i] + s * x[N - 1 - i]; for (int i = 0; i < N; i++) x[i] = z[i]; }"
        ),
        2,
    ),
}


#: A vector that is mirrored in every step by its product with another one, in place of the equation solved by durbin.
LEVINSON = (
    "for (int k = 1; k < N; k++) { s = 0.0; for (int i = 0; i < k; i++) s += x[k - i - 1] * y[i];"
    " for (int i = 0; i < k; i++) z[i] = y[i] + s * y[k - i - 1]; for (int i = 0; i < k; i++) y[i] = z[i]; y[k] = s; }"
)


def compare(bound, choices) -> int:
    """Compare the bound with Belady's replacement on the program order, and exact play; return how often it was near."""
    program, flow = bound.program, flow_dependences(bound.program)
    near = 0
    for sizes in choices:
        cdag = concrete_cdag(program, sizes, flow)
        least = int(np.diff(cdag.starts).max(initial=0)) + 1
        for capacity in (least, least + 1, 2 * least, 4 * least):
            value = bound.value({**sizes, "S": capacity})
            loads = int(belady_loads(cdag.program_order, cdag.starts, cdag.operands, capacity).sum())
            assert value <= loads, (sizes, capacity)
            near += value > 0.4 * loads
            if cdag.n <= 24:
                exact = least_loads(cdag.operand_lists(), capacity, most_states=20_000)
                assert not exact.proven or value <= exact.loads, (sizes, capacity)
    return near


@pytest.mark.parametrize("name", quick(PROGRAMS, ("a norm, then a division",)))
def test_steps_that_reduce_a_vector_and_change_it(name: str) -> None:
    text, factor = PROGRAMS[name]
    bound = lower_bound(program_from_text(FRAME % text))
    assert compare(bound, [{"N": n, "M": m} for n, m in ((1, 1), (1, 3), (2, 2), (3, 2), (2, 4), (9, 5), (40, 12))])
    more = bound.value({"N": 2000, "M": 100, "S": 8}) - bound.value({"N": 2000, "M": 100, "S": 10**6})
    assert more >= 0.95 * factor * 100 * 2000


@pytest.mark.slow
def test_durbin() -> None:
    assert compare(bound_of("durbin"), [{"N": n} for n in (1, 2, 3, 4, 6, 9, 25, 60)])


@pytest.mark.slow
@pytest.mark.parametrize("name", quick(["durbin", "Levinson alone"], ["Levinson alone"]))
def test_products_over_a_temporary(name: str) -> None:
    text = kernel_text("durbin") if name == "durbin" else FRAME % LEVINSON
    bounds = [lower_bound(program_from_text(how)) for how in (text, split(text))]
    assert bounds[0].leading == bounds[1].leading
    program = bounds[1].program
    assert compare(bounds[1], [{"N": n, "M": 1} for n in (1, 2, 3, 4, 6, 9, 25)])
    document = as_bound(program, bounds[1], None, flow_dependences(program)).document()
    violations, remarks = verify(program, json.loads(json.dumps(document)), None)
    assert not violations
    assert all(remark.endswith(": verified") for remark in remarks)


@pytest.mark.slow
def test_lines_that_share_vertices_are_not_added() -> None:
    """The rows of u go through s one after the other: events of two rows are in sequence, not side by side."""
    text = (
        "for (int t = 0; t < M; t++) for (int k = 0; k < M; k++) { s = u[t][k];"
        " for (int i = 0; i < N; i++) s += x[i]; for (int i = 0; i < N; i++) x[i] = x[i] / s; }"
    )
    program = program_from_text(FRAME % text)
    assert compare(lower_bound(program), [{"N": 3, "M": 1}, {"N": 8, "M": 4}])


RECURRENT = "void f(int T, int N, double W[N][N], double h[T + 1][N], double b[N], double x[N], double y[N], double s) {\n#pragma scop\n%s\n#pragma endscop\n}\n"
#: Recurrent products of a matrix and a vector: program, words of the matrix loaded again in every step.
PRODUCTS = {
    # what is on the diagonal or right of it passes in each step, all of it in every two
    "a recurrence": (
        ("for (int t = 0; t < T; t++) for (int i = 0; i < N; i++) { h[t + 1][i] = b[i];"
        " for (int j = 0; j < N; j++) h[t + 1][i] += W[i][j] * h[t][j]; }"),
        0.75,
    ),
    "through a function, in place": (
        ("for (int t = 0; t < T; t++) { for (int i = 0; i < N; i++) { y[i] = 0.0;"
        " for (int j = 0; j < N; j++) y[i] += W[i][j] * x[j]; } for (int i = 0; i < N; i++) x[i] = tanh(y[i]); }"),
        0.75,
    ),
    "Gauss and Seidel": (
        ("for (int t = 0; t < T; t++) for (int i = 0; i < N; i++) { s = b[i]; for (int j = 0; j < i; j++) s -= W[i][j] * x[j];"
        " for (int j = i + 1; j < N; j++) s -= W[i][j] * x[j]; x[i] = s / W[i][i]; }"),
        1,
    ),
    "Jacobi": (
        ("for (int t = 0; t < T; t++) { for (int i = 0; i < N; i++) { y[i] = b[i];"
        " for (int j = 0; j < N; j++) if (j < i || j > i) y[i] -= W[i][j] * x[j]; y[i] /= W[i][i]; }"
        " for (int i = 0; i < N; i++) x[i] = y[i]; }"),
        0.5,
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", quick(PRODUCTS, ("a recurrence",)))
def test_recurrent_products_of_a_matrix(name: str) -> None:
    text, factor = PRODUCTS[name]
    bound = lower_bound(program_from_text(RECURRENT % text), search=Search(effort=0.4))
    assert compare(bound, [{"N": n, "T": t} for n, t in ((1, 2), (2, 1), (2, 3), (3, 4), (9, 5), (20, 7))])
    assert float(bound.leading.subs({symbol("N"): 1000, symbol("T"): 1})) == factor * 10**6
    assert "from each event to the next but one" in bound.proof.text() or factor == 1


def test_paths_of_one_family_that_meet() -> None:
    """Ends one step apart, whose paths go back one step and two: the same vertices at different levels."""
    ends = isl.UnionSet("{ S0[i] : 0 <= i < 9 }")
    levels = [isl.UnionMap(f"{{ S0[i] -> S0[i - {length}] }}") for length in (1, 2)]
    assert meeting(levels[:1], isl.UnionSet("{ S0[0]; S0[5] }")).is_empty()
    found = meeting(levels, ends)
    assert found.is_equal(isl.UnionMap("{ S0[i] -> S0[j] : 0 <= i, j < 9 and j != i and -2 <= i - j <= 2 }"))


STEPS = (
    "void f(int T, int N, double x[N], double s[T + 1], double W[T + 1][N]) {\n#pragma scop\n%s\n#pragma endscop\n}\n"
)
STEP = "{ s[t + 1] = 0.0; for (int i = 0; i < N; i++) s[t + 1] += %s * s[t]; }"
#: Which steps there are, what they read, and how many times the N values at S = 8 and T = 21, N = 40 at least.
GAPS = {
    "halves": ("if (t != 10)", "x[i]", 8),
    "a short side behind": ("if (t < T - 7 || t > T - 5)", "x[i]", 10),
    "a short side before": ("if (t < 3 || t > 5)", "x[i]", 11),
    "many gaps": ("if (t % 4 < 3)", "x[i]", 1),
    "halves that share nothing": ("if (t != 10)", "(W[t][i] + W[t + 1][i])", 24),
    "no gap": ("", "x[i]", 15),
}


@pytest.mark.parametrize("name", quick(GAPS, ("halves",)))
def test_events_on_both_sides_of_a_gap(name: str) -> None:
    """Steps behind a gap need nothing of those before it: played side by side, both use one load of a value."""
    where, read, least = GAPS[name]
    program = program_from_text(STEPS % f"for (int t = 0; t < T; t++) {where} {STEP % read}")
    flow = flow_dependences(program)
    sizes = {"T": 21, "N": 40}
    bound, cdag = lower_bound(program, flow=flow), concrete_cdag(program, sizes, flow)
    orders = (cdag.program_order, side_by_side(cdag))
    for capacity in (6, 8, 12, 20):
        loads = [int(belady_loads(order, cdag.starts, cdag.operands, capacity).sum()) for order in orders]
        assert bound.value({**sizes, "S": capacity}) <= min(loads), capacity
    assert bound.value({**sizes, "S": 8}) >= least * 40
    document = as_bound(program, bound, {**sizes, "S": 8}, flow).document()
    assert not verify(program, json.loads(json.dumps(document)), {**sizes, "S": 8})[0]


def side_by_side(cdag: ConcreteCdag) -> IntArray:
    """Return an order with the first steps of all runs together, i by i, then the second ones, and so on."""
    steps, inner = cdag.coordinates[:, 0], cdag.coordinates[:, 1]
    run = np.zeros(cdag.n, dtype=np.int64)
    for vertex in cdag.program_order:
        read = cdag.operands[cdag.starts[vertex] : cdag.starts[vertex + 1]]
        read = read[read >= cdag.inputs]
        run[vertex] = (run[read] + (steps[read] != steps[vertex])).max(initial=0)
    order = np.lexsort((np.arange(cdag.n), inner, run))
    return order[order >= cdag.inputs]
