"""Bounds belong to the computation: kernels rewritten in other words, or several times over, and copied values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import sympy
from tests.affine.bounds.test_random_study import least_known
from tests.affine.derived import bound_of, quick
from tests.reference.affine_rewritings import ALWAYS, TRIED, rewritten, split
from tests.reference.affine_transformations import SAME, in_copies, with_copied_results

from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.bounds.graphs import Graph, graphs, without_copied_values
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.integer_sets.quasi_polynomial import symbol
from shorthaul.affine.replay.cdag import concrete_cdag
from shorthaul.affine.workloads.cases import FURTHER, POLYBENCH, kernel_text

KERNELS = (*POLYBENCH, *FURTHER)
QUICK = [("trisolv", item) for item in SAME] + [("lcs", "once")]


REWRITINGS = (*ALWAYS, *TRIED)
QUICKLY = [("trisolv", how) for how in REWRITINGS]


@pytest.mark.costly
@pytest.mark.parametrize(("name", "how"), quick([(name, how) for name in KERNELS for how in SAME], QUICK))
def test_other_words_for_one_computation(name: str, how: str) -> None:
    found = lower_bound(program_from_text(SAME[how](kernel_text(name))))
    assert sympy.simplify(found.leading - bound_of(name).leading) == 0


@pytest.mark.costly
@pytest.mark.parametrize(("name", "how"), quick([(name, how) for name in KERNELS for how in REWRITINGS], QUICKLY))
def test_other_loops_and_statements(name: str, how: str) -> None:
    """No more and no less to leading order; the kernel beside itself has the bound twice."""
    sizes = dict.fromkeys(bound_of(name).program.parameters, 5 if len(bound_of(name).program.parameters) < 5 else 3)
    found = lower_bound(program_from_text(rewritten(kernel_text(name), how, sizes))).leading
    wanted = bound_of(name).leading * (2 if how == "beside itself" else 1)
    assert sympy.simplify(found - wanted) == 0


@pytest.mark.costly
@pytest.mark.parametrize("name", quick(KERNELS, ("lcs", "trisolv")))
def test_copies_add_up(name: str) -> None:
    several = lower_bound(program_from_text(in_copies(kernel_text(name))))
    assert sympy.simplify(several.leading - symbol("COPIES") * bound_of(name).leading) == 0


HEAD = "void f(int T, int N, int P, double A[P + N][N + 2][N], double B[P + N][N + 2][N], double w[N + 2]) {\n#pragma scop\n%s\n#pragma endscop\n}\n"
STEP = "for (int i = 1; i < N; i++) B[0][i][0] = A[0][i - 1][0] + A[0][i][0] + A[0][i + 1][0];"
BACK = "for (int i = 1; i < N; i++) A[0][i][0] = B[0][i][0];"


def graphs_of(body: str) -> list[str]:
    """Return the notes of the last graph of a program that is for all arguments."""
    found = graphs(Graph(flow_dependences(program_from_text(HEAD % body))))
    return list([graph for graph in found if not graph.only_waits][-1].notes)


@pytest.mark.parametrize("body", [
    "for (int p = 0; p < P; p++) for (int i = 1; i < N; i++) A[p][i][0] = A[p][i - 1][0] + w[i];",
    "for (int p = 1; p < P; p++) for (int i = 1; i < N; i++) A[p][i][0] = A[p - 1][i - 1][0] + 1.0;",
    "for (int p = 0; p < P; p++) for (int i = p; i < N; i++) A[p][i][0] = A[p][i][0] + A[p][i + 1][0];",
    "for (int p = 0; p < P; p++) for (int i = 0; i < P; i++) A[p][i][0] = A[p][i][1] + A[i][p][1];",
    "for (int p = 0; p < P; p++) for (int i = 0; i < N; i++) A[p][i][0] = B[p][i + p][0] + B[p][i][0];",
], ids=["a shared input", "a flow between them", "of unequal size", "one array in two ways", "another one in each"])  # fmt: skip
def test_what_is_no_copy(body: str) -> None:
    assert not graphs_of(body)


def test_copies_within_copies_and_copied_values() -> None:
    body = "for (int p = 0; p < P; p++) for (int q = 0; q < N; q++) for (int i = 1; i < 9; i++) %s"
    notes = graphs_of(body % "{ B[p][q][i] = A[p][q][i - 1] + A[p][q][i]; A[p][q][i] = B[p][q][i]; }")
    assert [note.split()[0] for note in notes] == ["The", "The", "S1:"]


def test_a_batch_in_tiles_falls_into_copies() -> None:
    body = "for (int pp = 0; pp < P; pp += 4) for (int t = 0; t < T; t++) for (int p = pp; p < min(pp + 4, P); p++) %s"
    notes = graphs_of(body % "for (int i = 1; i < N; i++) A[p][i][0] = A[p][i - 1][0] + A[p][i][0];")
    assert "copies without common vertices, by p of S0" in notes[0]


POWERS = "for (int t = 0; t < T; t++) { for (int i = 0; i < N; i++) { A[0][i][0] = 0.0; for (int j = 0; j < N; j++) A[0][i][0] += B[i][j][0] * w[j]; } for (int i = 0; i < N; i++) w[i] = A[0][i][0] * 0.5; }"


@pytest.mark.slow
@pytest.mark.parametrize("how", [lambda text: text, with_copied_results, split], ids=["as it is", "copied", "split"])
def test_every_step_reads_the_matrix_again(how: Callable[[str], str]) -> None:
    """Half of it in every step, and half of the rest in every second one, whatever stands between."""
    bound = lower_bound(program_from_text(how((HEAD % POWERS).replace("int P, ", "").replace("P + N", "N"))))
    assert bound.leading == 3 * symbol("N") ** 2 * symbol("T") / 4


def test_a_sum_is_read_where_its_copy_reads_it() -> None:
    """S0 reads the element that it writes, but the value comes from another line: no chain of one sum."""
    body = "for (int t = 0; t < T; t++) { for (int i = 0; i < N; i++) A[0][i][0] += 1.0; for (int i = 0; i < N; i++) B[0][i][0] = A[0][i + 1][0]; for (int i = 0; i < N; i++) A[0][i][0] = B[0][i][0]; }"
    found = without_copied_values(flow_dependences(program_from_text(HEAD % body)))
    assert found is not None
    merged, _ = found
    (own,) = (item for item in merged.flows if item.source == item.sink == "S0")
    assert not own.reference.relation.is_equal(merged.program.by_name["S0"].write.relation)


@pytest.mark.slow
def test_a_step_that_is_copied_back() -> None:
    """As much as the same steps between two arrays, and no order found beats it."""
    program = program_from_text(HEAD % f"for (int t = 0; t < T; t++) {{ {STEP} {BACK} }}")
    bound = lower_bound(program)
    N, T, S = (symbol(name) for name in "NTS")
    assert bound.leading == 3 * N * T / (2 * S)
    active = 0
    for steps, n in ((4, 6), (9, 24)):
        cdag = concrete_cdag(program, {"T": steps, "N": n})
        for capacity in (4, 5, 7):
            value = bound.value({"T": steps, "N": n, "S": capacity})
            assert value <= least_known(cdag, capacity, np.random.default_rng(n))
            active += value > cdag.inputs
    assert active


def test_a_step_that_is_copied_back_beside_deeper_loops() -> None:
    """What is deep elsewhere, even where it reads the last step, does not matter: the graph without copies is there."""
    deeper = "for (int t = 0; t < T; t++) for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) %s"
    for what in ("w[i] += w[j];", "B[t][i][1] += A[0][j][0] * w[j];"):
        notes = graphs_of(f"for (int t = 0; t < T; t++) {{ {STEP} {BACK} }} {deeper % what}")
        assert [note.split()[0] for note in notes] == ["S1:"]


@pytest.mark.slow
def test_steps_that_take_turns_need_not_stand_side_by_side() -> None:
    """What stands between the two steps of a sweep, and is read by nobody, does not change the bound."""
    again = "for (int i = 1; i < N; i++) A[0][i][0] = B[0][i - 1][0] + B[0][i][0] + B[0][i + 1][0];"
    unread = "for (int i = 1; i < N; i++) w[i] = B[0][i][0];"
    text = HEAD % f"for (int t = 0; t < T; t++) {{ {STEP} {unread} {again} }}"
    assert lower_bound(program_from_text(text)).leading == 3 * symbol("N") * symbol("T") / symbol("S")


@pytest.mark.slow
def test_a_right_side_is_one_more_projection() -> None:
    """Red and black points with a right side: a partition by projections is better than levels, split or not."""
    red = "for (int i = 1; i < N; i++) A[0][2*i][0] = (A[0][2*i - 1][0] + A[0][2*i + 1][0]) * 0.5 + w[2*i];"
    black = (
        red.replace("2*i - 1", "2*i - 0").replace("2*i + 1", "2*i + 2").replace("A[0][2*i][0] =", "A[0][2*i + 1][0] =")
    )
    body = f"for (int t = 0; t < T; t++) {{ {red} {black.replace('w[2*i]', 'w[2*i + 1]')} }}"
    text = HEAD.replace("w[N + 2]", "w[2*N + 2]").replace("[N + 2][N]", "[2*N + 2][N]") % body
    bound = lower_bound(program_from_text(text))
    assert (
        bound.leading
        == lower_bound(program_from_text(split(text))).leading
        == 2 * symbol("N") * symbol("T") / symbol("S")
    )
    cdag = concrete_cdag(bound.program, {"T": 30, "N": 40})
    value = bound.value({"T": 30, "N": 40, "S": 4})
    assert cdag.inputs < value <= least_known(cdag, 4, np.random.default_rng(1))


MIN = "#define MIN(a, b) ((a) < (b) ? (a) : (b))\n"
PRODUCT = (
    "for (int ii = 0; ii < %s; ii++) for (int j = 0; j < N; j++) for (int k = 0; k < N; k++)\n"
    "for (int i = %s; i < MIN(%s, N); i++) A[0][i][j] += A[1][i][k] * B[0][k][j] / TS;"
)


def product(low: str, start: str, end: str) -> str:
    text = HEAD % (PRODUCT % (low, start, end))
    return str(lower_bound(program_from_text(f"#define TS 16\n{MIN}{text}")).leading)


def test_the_edge_of_tiles_as_a_macro() -> None:
    assert product("N / 16 + 1", "16 * ii", "16 * ii + 16") == "2*N**3/sqrt(S)"
    assert product("N / TS + 1", "TS * ii", "(ii + 1) * TS") == "2*N**3/sqrt(S)"
