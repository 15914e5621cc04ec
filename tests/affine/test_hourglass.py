"""Steps through a neck: Gram-Schmidt and reflections for a fast memory of a column or more, against plays."""

from __future__ import annotations

import numpy as np
import pytest
from tests.affine.derived import bound_of, quick
from tests.affine.test_random_study import least_known

from shorthaul.affine.bounds.hourglass import hourglasses, sub_bound
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.replay.cdag import concrete_cdag

HEAD = "void f(int M, int N, double A[M][N], double B[M][N], double R[N][N], double w[N]) {\n%s\n}"
SUM = "for (int i = k; i < M; i++) R[k][j] += A[i][k] * A[i][j];"
UPDATE = "A[i][j] -= A[i][k] * R[k][j];"
#: Columns updated by reflections: rows from k on.
REFLECTIONS = (
    "for (int k = 0; k < N; k++) for (int j = k + 1; j < N; j++) { R[k][j] = 0; "
    f"{SUM} for (int i = k; i < M; i++) {UPDATE} }}"
)
#: The same with all rows, every statement in a loop over columns of its own, columns last.
SPLIT = """for (int k = 0; k < N; k++) {
  for (int j = k + 1; j < N; j++) R[k][j] = 0;
  for (int i = 0; i < M; i++) for (int j = k + 1; j < N; j++) R[k][j] += A[i][k] * A[i][j];
  for (int i = 0; i < M; i++) for (int j = N - 1; j > k; j--) A[i][j] -= A[i][k] * R[k][j];
}"""
#: No neck: the factor is an input, or a sum over some rows, or one element decides.
GIVEN = "for (int k = 0; k < N; k++) for (int j = k + 1; j < N; j++) for (int i = 0; i < M; i++) " + UPDATE
PARTLY = SPLIT.replace("i < M; i++) for (int j = k + 1", "i < M - 1; i++) for (int j = k + 1")
OTHER = SPLIT.replace("A[i][k] * A[i][j]", "A[i][k] * B[i][j]")
SIZES = ((2, 9), (4, 20), (6, 40), (12, 60), (20, 12), (60, 40))


def found_in(body: str) -> int:
    return len(list(hourglasses(flow_dependences(program_from_text(HEAD % body)))))


def test_gram_schmidt_for_tall_matrices() -> None:
    for m, n, capacity in ((1_000, 1_200, 4_096), (10_000, 500, 32_768), (2_000, 2_000, 131_072)):
        published = m**2 * n**2 / (8 * (capacity + m))
        assert bound_of("gramschmidt").value({"M": m, "N": n, "S": capacity}) > published


def test_what_has_no_neck() -> None:
    assert [found_in(body) for body in (SPLIT, REFLECTIONS)] == [1, 1]
    assert [found_in(body) for body in (GIVEN, PARTLY, OTHER)] == [0, 0, 0]


@pytest.mark.parametrize(("body", "m", "n"), quick([(body, m, n) for body in (SPLIT, REFLECTIONS) for m, n in SIZES],
    [(SPLIT, 4, 20), (REFLECTIONS, 60, 40)]))  # fmt: skip
def test_no_play_beats_it(body: str, m: int, n: int) -> None:
    program = program_from_text(HEAD % body)
    flow = flow_dependences(program)
    (item,) = hourglasses(flow)
    argument = sub_bound(item, flow).value
    cdag = concrete_cdag(program, {"M": m, "N": n}, flow)
    active = 0
    for capacity in sorted({4, 5, max(4, m), m + 2, 2 * m + 2, 4 * m}):
        given = {"M": m, "N": n, "S": capacity}
        value = int(argument.subs({name: given[str(name)] for name in argument.free_symbols}))
        assert cdag.inputs + value <= least_known(cdag, capacity, np.random.default_rng(m))
        active += value > 0
    assert active or body != SPLIT or n < 20
