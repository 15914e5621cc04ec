"""Products that share a factor are one product in a wider space."""

from __future__ import annotations

import pytest
import sympy
from tests.affine.bounds.lifetime.test_few_values import checked
from tests.affine.derived import quick

from shorthaul.affine.integer_sets.quasi_polynomial import symbol

N = symbol("N")
NAMES = "int N, double A[N][N], double B[N][N], double C[N][N], double D[N][N], double E[N][N], double F[N][N], double G[N][N]"
FRAME = "void f(%s) {\n#pragma scop\n%s\n#pragma endscop\n}\n"
LOOPS = "for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) for (int k = 0; k < N; k++)"
PROGRAMS = {
    "two products": (f"{LOOPS} C[i][j] += A[i][k] * B[k][j]; {LOOPS} E[i][j] += A[i][k] * D[k][j];", 4),
    "three products": (
        f"{LOOPS} C[i][j] += A[i][k] * B[k][j]; {LOOPS} E[i][j] += A[i][k] * D[k][j]; {LOOPS} F[i][j] += A[i][k] * G[k][j];",
        6,
    ),
    "a common right factor": (f"{LOOPS} C[i][j] += A[i][k] * B[k][j]; {LOOPS} E[i][j] += D[i][k] * B[k][j];", 4),
    "complex numbers": (
        f"{LOOPS} {{ E[i][j] += A[i][k] * C[k][j] - B[i][k] * D[k][j]; F[i][j] += A[i][k] * D[k][j] + B[i][k] * C[k][j]; }}",
        4 * sympy.sqrt(2),
    ),
    "both sides of one factor, again and again": (
        (
            "for (int t = 0; t < N; t++) { for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) { C[i][j] = 0; "
            "for (int k = 0; k < N; k++) C[i][j] += A[i][k] * B[k][j]; } for (int i = 0; i < N; i++) "
            "for (int j = 0; j < N; j++) { B[i][j] = D[i][j]; for (int k = 0; k < N; k++) B[i][j] += C[i][k] * A[j][k]; } }"
        ),
        4 * N,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", quick(PROGRAMS, ("two products",)))
def test_leading_terms_and_the_oracle(name: str) -> None:
    body, factor = PROGRAMS[name]
    bound = checked(FRAME % (NAMES, body), ((3,),))
    assert sympy.simplify(bound.leading - factor * N**3 / sympy.sqrt(symbol("S"))) == 0
    assert bound.proof.parts[0].method == "K-partition, statements merged"
