"""Steps through a neck: Gram-Schmidt and reflections for a fast memory of a column or more, against plays."""

from __future__ import annotations

import itertools
from itertools import pairwise

import numpy as np
import pytest
from tests.affine.bounds.test_random_study import least_known
from tests.affine.derived import flow_of, kernel, quick

from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.bounds.hourglass import hourglasses, sub_bound
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.integer_sets.quasi_polynomial import number_at
from shorthaul.affine.replay.cdag import concrete_cdag
from shorthaul.core.search import Search

HEAD = "void f(int M, int N, double A[M][N], double B[M][N], double R[N][N], double w[N], double v[M],\n double C[N][M + N], double D[M + N][N]) {\ndouble norm, norm2;\n#pragma scop\n%s\n#pragma endscop\n}"
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
#: Householder's QR (LAPACK's GEQR2, with the reflectors below the diagonal), and Q from these (ORG2R).
VECTORS = """for (int k = 0; k < N; k++) {
  norm2 = 0.0;
  for (int i = k + 1; i < M; i++) norm2 += A[i][k] * A[i][k];
  norm = sqrt(A[k][k] * A[k][k] + norm2);
  A[k][k] = A[k][k] + norm;
  w[k] = 2.0 / (1.0 + norm2 / (A[k][k] * A[k][k]));
  for (int i = k + 1; i < M; i++) A[i][k] /= A[k][k];
  A[k][k] = -norm;
  for (int j = k + 1; j < N; j++) {
    w[j] = A[k][j];
    for (int i = k + 1; i < M; i++) w[j] += A[i][k] * A[i][j];
    w[j] = w[k] * w[j];
    A[k][j] -= w[j];
    for (int i = k + 1; i < M; i++) A[i][j] -= A[i][k] * w[j];
  }
}"""
QUOTIENT = """for (int k = N - 1; k > -1; k--) {
  for (int j = k + 1; j < N; j++) {
    w[j] = 0.0;
    for (int i = k + 1; i < M; i++) w[j] += A[i][k] * A[i][j];
    w[j] *= w[k];
    A[k][j] = -w[j];
    for (int i = k + 1; i < M; i++) A[i][j] -= A[i][k] * w[j];
  }
  A[k][k] = 1.0 - w[k];
  for (int i = k + 1; i < M; i++) A[i][k] = -A[i][k] * w[k];
}"""
#: Reduction to two diagonals (GEBD2), and to Hessenberg form (GEHD2): reflections from both sides.
DIAGONALS = (
    VECTORS[: VECTORS.rindex("}")]
    + """  norm2 = 0.0;
  for (int j = k + 2; j < N; j++) norm2 += A[k][j] * A[k][j];
  for (int j = k + 2; j < N; j++) A[k][j] /= norm2;
  for (int i = k + 1; i < M; i++) {
    v[i] = 0.0;
    for (int j = k + 2; j < N; j++) v[i] += A[k][j] * A[i][j];
    v[i] = v[i] * norm2;
    for (int j = k + 2; j < N; j++) A[i][j] -= A[k][j] * v[i];
  }
}"""
)
HESSENBERG = """for (int k = 0; k < N - 2; k++) {
  norm2 = 0.0;
  for (int i = k + 2; i < N; i++) norm2 += A[i][k] * A[i][k];
  norm = sqrt(A[k + 1][k] * A[k + 1][k] + norm2);
  A[k + 1][k] = A[k + 1][k] + norm;
  for (int i = k + 2; i < N; i++) A[i][k] /= A[k + 1][k];
  A[k + 1][k] = norm;
  for (int j = k + 1; j < N; j++) {
    w[j] = A[k + 1][j];
    for (int i = k + 2; i < N; i++) w[j] += A[i][k] * A[i][j];
    w[j] = norm2 * w[j];
    A[k + 1][j] -= w[j];
    for (int i = k + 2; i < N; i++) A[i][j] -= A[i][k] * w[j];
  }
  for (int i = 0; i < N; i++) {
    v[i] = A[i][k + 1];
    for (int j = k + 2; j < N; j++) v[i] += A[i][j] * A[j][k];
    v[i] = norm2 * v[i];
    A[i][k + 1] -= v[i];
    for (int j = k + 2; j < N; j++) A[i][j] -= v[i] * A[j][k];
  }
}"""
#: Rows of a band that moves on: all steps have the same width, no two the same places.
BAND = """for (int k = 0; k < N; k++) for (int j = 0; j < N; j++) {
  R[k][j] = 0;
  for (int i = k; i < k + M; i++) R[k][j] += C[k][i] * D[i][j];
  for (int i = k; i < k + M; i++) D[i][j] -= C[k][i] * R[k][j];
}"""
#: No neck: the factor is an input, or a sum over another matrix; a neck of all rows but one.
GIVEN = "for (int k = 0; k < N; k++) for (int j = k + 1; j < N; j++) for (int i = 0; i < M; i++) " + UPDATE
PARTLY = SPLIT.replace("i < M; i++) for (int j = k + 1", "i < M - 1; i++) for (int j = k + 1")
OTHER = SPLIT.replace("A[i][k] * A[i][j]", "A[i][k] * B[i][j]")
ALL = (SPLIT, REFLECTIONS, VECTORS, QUOTIENT, PARTLY, BAND)
SIZES = ((2, 9), (4, 20), (6, 40), (12, 60), (20, 12), (60, 40))


def found_in(body: str) -> int:
    return len(list(hourglasses(flow_dependences(program_from_text(HEAD % body)))))


def weighed(places: list[set[int]], columns: list[tuple[int, int, set[int], set[int]]]) -> tuple[int, int]:
    """Return classes of both families and the weight: columns go from step to step, whole in all between."""
    classes, weight = 0, 0
    of_steps: list[set[int]] = [set() for _ in places]
    for first, last, begun, ended in columns:
        held: set[int] = set()
        for at in range(first, last + 1):
            here = places[at] & (begun if at == first else ended if at == last else places[at])
            weight += len(places[at]) * len(here)
            of_steps[at] |= here
            held |= here
        classes += len(held)
    return classes + sum(map(len, of_steps)), weight


def drawn_column(rng: np.random.Generator, places: list[set[int]]) -> tuple[int, int, set[int], set[int]]:
    """Return a first and a last step, and some of their places."""
    first, last = sorted(rng.integers(0, len(places), size=2).tolist())
    share = rng.choice([0.4, 1.0])
    begun, ended = ({place for place in places[at] if rng.random() < share} for at in (first, last))
    return first, last, begun, ended


@pytest.mark.costly
@pytest.mark.parametrize("kind", ["equal", "narrower", "wider", "other places", "any"])
def test_what_columns_weigh(kind: str) -> None:
    """Annealed sets of instances weigh no more than the lemma says, and come near it."""
    rng = np.random.default_rng(len(kind))
    nearest = 0.0
    for _ in range(6):
        steps, most = int(rng.integers(3, 6)), int(rng.integers(2, 6))
        widths = {"narrower": range(most + steps, most, -1), "wider": range(most, most + steps)}.get(
            kind, [most] * steps
        )
        places = [set(range(width)) for width in widths]
        if kind == "other places":
            places = [{place + at for place in found} for at, found in enumerate(places)]
        elif kind == "any":
            places = [set(range(int(width))) for width in rng.integers(1, most + 1, size=steps)]
        sizes = [len(found) for found in places]
        delta = sum(max(0, *(a - b for a, b in pairs)) for pairs in (pairwise(sizes), pairwise(sizes[::-1])))

        columns, best = [drawn_column(rng, places)], 0.0
        for _ in range(300):
            changed = [
                *columns[: rng.integers(len(columns) + 1)],
                drawn_column(rng, places),
                *columns[rng.integers(len(columns)) :],
            ]
            K, weight = weighed(places, changed)
            U = max((K + delta) ** 2 / 4, 2 * max(sizes) * K)
            assert weight <= U
            if weight >= best * U > 0 or rng.random() < 0.02:
                columns, best = changed[-12:], weight / U
            nearest = max(nearest, weight / U if U else 0.0)
    assert nearest > 0.5


def test_gram_schmidt_for_tall_matrices() -> None:
    bound = lower_bound(kernel("gramschmidt"), flow=flow_of("gramschmidt"), search=Search(effort=0.4))
    for m, n, capacity in ((1_000, 1_200, 4_096), (10_000, 500, 32_768), (2_000, 2_000, 131_072)):
        published = m**2 * n**2 / (8 * (capacity + m))
        assert bound.value({"M": m, "N": n, "S": capacity}) > published


def of_reflections(m: int, n: int, capacity: int) -> float:
    """W |D| / 4 (S + W) for |D| updates in steps of W rows or more, the published form (SPAA 2024)."""
    return (m - n) * n**2 * (3 * m - n) / 6 / (4 * (capacity + m - n))


@pytest.mark.slow
@pytest.mark.parametrize("body", quick([VECTORS, QUOTIENT], [QUOTIENT]))
def test_reflections_for_all_shapes(body: str) -> None:
    """More than published for tall matrices, where it is more than the inputs, and not only 0 for square ones."""
    bound = lower_bound(program_from_text(HEAD % body), search=Search(effort=0.7))
    for n, capacity in itertools.product((500, 800, 1_200), (1_024, 4_096, 32_768, 131_072)):
        value = bound.value({"M": 1_000, "N": n, "S": capacity})
        assert value >= of_reflections(1_000, min(n, 1_000), capacity)
        assert value > 500_000 or (n, capacity) == (500, 131_072)
    assert bound.value({"M": 1_000, "N": 1_000, "S": 4_096}) > 25 * 10**6


@pytest.mark.slow
@pytest.mark.parametrize("body", [DIAGONALS, HESSENBERG])
def test_reflections_from_both_sides(body: str) -> None:
    """All of what is left passes through one number every step, which says more than necks do."""
    bound = lower_bound(program_from_text(HEAD % body))
    left = 1_000 * 1_200 - 131_072
    assert bound.value({"M": 1_000, "N": 1_200, "S": 131_072}) > 200 * left


def test_what_has_no_neck() -> None:
    assert all(found_in(body) for body in ALL)
    assert [found_in(body) for body in (GIVEN, OTHER)] == [0, 0]


@pytest.mark.costly
@pytest.mark.parametrize(("body", "m", "n"), quick([(body, m, n) for body in ALL for m, n in SIZES],
    [(SPLIT, 4, 20), (REFLECTIONS, 60, 40), (VECTORS, 20, 12), (QUOTIENT, 12, 60)]))  # fmt: skip
def test_no_play_beats_it(body: str, m: int, n: int) -> None:
    program = program_from_text(HEAD % body)
    flow = flow_dependences(program)
    arguments = [sub_bound(item, flow) for item in hourglasses(flow)]
    cdag = concrete_cdag(program, {"M": m, "N": n}, flow)
    active = 0
    for capacity in sorted({4, 5, max(4, m), m + 2, 2 * m + 2, 4 * m}):
        given = {"M": m, "N": n, "S": capacity}
        least = least_known(cdag, capacity, np.random.default_rng(m))
        for argument in arguments:
            for made in filter(None, (argument, argument.tuned and argument.tuned(given))):
                value = number_at(made.value, given)
                assert cdag.inputs + value <= least
                active += value > 0
    assert active or body != SPLIT or n < 20
