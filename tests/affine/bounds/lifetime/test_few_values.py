"""Coordinates of few values and sums over several loops: small filters, several summed indices, ``--small``."""

from __future__ import annotations

import pytest
import sympy
from tests.affine.derived import kernel

from shorthaul.affine.bounds.best import AffineBound, lower_bound
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.integer_sets.quasi_polynomial import symbol
from shorthaul.affine.options import BoundOptions
from shorthaul.affine.verbs.bound import bound as affine_bound
from shorthaul.affine.verbs.oracle import examine
from shorthaul.core.search import Search

root = sympy.sqrt(symbol("S"))
C, K, H, W, n = (symbol(name) for name in ("C", "K", "H", "W", "n"))
LAYER = (
    "void f(int C, int K, int H, int W, double in[C][%d * H + 3][W + 2], double w[K][C][%d][2], double out[K][H][W]) {\n"
    "#pragma scop\nfor (int k = 0; k < K; k++) for (int y = 0; y < H; y++) for (int x = 0; x < W; x++)\n"
    "for (int c = 0; c < C; c++) for (int r = 0; r < %d; r++) for (int s = 0; s < 2; s++)\n"
    "out[k][y][x] += in[c][%d * y + r][x + s] * w[k][c][r][s];\n#pragma endscop\n}\n"
)
CONTRACTION = (
    "void f(int n, double a[n][n][n], double b[n][n][n], double c[n][n]) {\n#pragma scop\n"
    "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { c[i][j] = 0.0;\n"
    "for (int k = 0; k < n; k++) for (int l = n - 1; l >= 0; l--) c[i][j] += a[i][k][l] * b[l][k][j]; }\n"
    "#pragma endscop\n}\n"
)
BATCH = (
    "void f(int C, int K, int W, double in[5][C][W + 2], double w[K][C][2], double out[5][K][W]) {\n#pragma scop\n"
    "for (int b = 0; b < 5; b++) for (int k = 0; k < K; k++) for (int x = 0; x < W; x++) for (int c = 0; c < C; c++)\n"
    "for (int r = 0; r < 2; r++) out[b][k][x] += in[b][c][x + r] * w[k][c][r];\n#pragma endscop\n}\n"
)
#: Source, leading term, sizes for the oracle. That of a batch is 5 times the one of an image: nothing is reused over it.
PROGRAMS = {
    "filter": (LAYER % (1, 2, 2, 1), 2 * 4 * C * K * H * W / (2 * root), ((2, 2, 1, 2),)),
    "strided": (LAYER % (2, 3, 3, 2), 2 * 6 * C * K * H * W / (2 * root), ((1, 2, 1, 1), (2, 1, 2, 2))),
    "batch": (BATCH, 2 * 10 * C * K * W / (sympy.sqrt(2) * root), ((2, 1, 2), (1, 3, 1))),
    "two summed indices": (CONTRACTION, 2 * n**4 / root, ((2,), (3,))),
}


def checked(text: str, choices: tuple[tuple[int, ...], ...]) -> AffineBound:
    """Return the bound, which no play and no part of a small graph may beat."""
    program = program_from_text(text)
    flow = flow_dependences(program)
    bound = lower_bound(program, flow=flow, search=Search(effort=0.7))
    sizes = [dict(zip(program.parameters, values, strict=True)) for values in choices]
    findings = examine(flow, bound, sizes, Search())
    assert not findings.violations
    assert any("values of U(K)" in remark for remark in findings.remarks)
    return bound


def test_a_batch_of_few_costs_nothing() -> None:
    """Nothing is reused over a batch: that it has few values is no use, but that the filter has."""
    text, leading, _ = PROGRAMS["batch"]
    assert sympy.simplify(lower_bound(program_from_text(text), search=Search(effort=0.7)).leading - leading) == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_leading_terms_and_the_oracle(name: str) -> None:
    text, leading, choices = PROGRAMS[name]
    bound = checked(text, choices)
    assert sympy.simplify(bound.leading - leading) == 0


def test_a_sum_in_a_scalar() -> None:
    """A sum over several loops that is kept in a scalar is the same sum: the same bound, the terms of low order too."""
    text = CONTRACTION.replace("c[i][j] = 0.0", "double s = 0.0").replace("c[i][j] +=", "s +=")
    own, other = (
        lower_bound(program_from_text(item)) for item in (CONTRACTION, text.replace("; }", "; c[i][j] = s; }"))
    )
    assert own.formula == other.formula
    sizes = {"n": 60, "S": 256}
    assert own.value(sizes) > 2 * 2 * 60**3


@pytest.mark.slow
def test_the_proof_names_the_coordinates_of_few_values() -> None:
    proof = lower_bound(program_from_text(PROGRAMS["filter"][0])).proof.text()
    assert "the coordinates 4, 5 (from 0) take 4 values at most" in proof
    assert "in up to 4 classes of phi" in proof
    assert "chain of a sum over several loops" in proof


@pytest.mark.slow
def test_small_parameters_choose_the_arguments() -> None:
    """Filters of R x Q places, small against S: 2 R Q / sqrt(R Q) per output, where by default 9 R Q / (4 S) is known."""
    B, R, Q = (symbol(name) for name in "BRQ")
    bound = lower_bound(kernel("convolution"), BoundOptions(small="R,Q"))
    assert sympy.simplify(bound.leading - 2 * B * C * H * K * W * sympy.sqrt(R * Q) / root) == 0
    assert "(from 0) take Q*R values" in bound.proof.text()


@pytest.mark.slow
def test_filters_whose_sides_are_parameters_unasked() -> None:
    """At sizes where the filter is small, the value is that of the argument for small filters."""
    text = (
        "void f(int C, int K, int P, int Q, int R, int T, double in[C][P + R][Q + T], double w[K][C][R][T], double out[K][P][Q]) {\n"
        "#pragma scop\nfor (int k = 0; k < K; k++) for (int p = 0; p < P; p++) for (int q = 0; q < Q; q++)\n"
        "for (int c = 0; c < C; c++) for (int r = 0; r < R; r++) for (int t = 0; t < T; t++)\n"
        "out[k][p][q] += in[c][p + r][q + t] * w[k][c][r][t];\n#pragma endscop\n}\n"
    )
    program = program_from_text(text)
    bound, small = lower_bound(program), lower_bound(program, BoundOptions(small="R,T"))
    sizes = {"C": 8, "K": 8, "P": 12, "Q": 12, "R": 3, "T": 3, "S": 48}
    assert bound.value(sizes) == small.value(sizes) == 7968
    large = {"C": 8, "K": 8, "P": 40, "Q": 40, "R": 40, "T": 40, "S": 48}
    assert bound.value(large) > 1.5 * small.value(large)


@pytest.mark.costly
@pytest.mark.parametrize(("small", "leading"), [("NI,NJ", "NK*(NI + NJ)"), ("NI,NJ,NK", "NI*NJ + NI*NK + NJ*NK + 2")])
def test_several_small_parameters(small: str, leading: str) -> None:
    made = affine_bound(kernel("gemm"), small=small, upper=False).bound
    assert made is not None
    assert made.details["leading"] == leading
