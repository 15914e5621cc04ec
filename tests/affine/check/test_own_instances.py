"""A vertex of one instance's paths alone is none of the instances that are counted: their chains lead to it."""

from __future__ import annotations

from typing import Any

from shorthaul.affine import program_from_text
from shorthaul.affine.check.data_flow import ProgramReads
from shorthaul.affine.check.partition_argument import argument_of, wrong_for_all_sizes

TEXT = """void f(int N, double X[N][N], double Y[N][N], double T[N][N][N + 1], double Q[N][N]) {
#pragma scop
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      for (int k = 0; k < N; k++) T[i][j][k + 1] = T[i][j][k] + X[i][k] * Y[k][j];
      for (int k = N; k < 2 * N; k++) Q[i][j] += T[i][j][k - N + 1];
    }
#pragma endscop
}"""
BOX = "0 <= i < N and 0 <= j < N"
FIRST, SECOND = f"{BOX} and 0 <= k < N", f"{BOX} and N <= k < 2N"


def relation(*pieces: str) -> str:
    return f"[N] -> {{ {'; '.join(pieces)} }}"


def part(name: str, inside: str, chain: list[str], levels: list[list[str]]) -> dict[str, Any]:
    """Return a part with one family of chains and two of broadcasts."""
    paths = [[relation(f"{name}[i, j, k] -> {level} : {inside}") for level in path] for path in levels]
    families = [[relation(*(f"{name}[i, j, k] -> {piece}" for piece in chain))], *paths]
    domain = relation(f"{name}[i, j, k] : {inside}")
    return {
        "statement": name,
        "domain": domain,
        "order": [0, 1, 2],
        "families": families,
        "chains": [True, False, False],
    }


def certificate() -> dict[str, Any]:
    """Return both sums as one product, with the terms of the second one, sums of the first one, as own vertices."""
    term = "S0[i, j, k - N]"
    later = [f"S1[i, j, k - 1] : {BOX} and N < k < 2N", f"Q[i, j] : {BOX} and k = N"]
    sooner = [f"S0[i, j, k - 1] : {BOX} and 0 < k < N", f"T[i, j, k] : {BOX} and k = 0"]
    inputs = [f"{name} : {BOX}" for name in ("Q[i, j]", "T[i, j, 0]", "X[i, j]", "Y[i, j]")]
    return {
        "parts": [
            part("S1", SECOND, later, [[term, "X[i, k - N]"], [term, "Y[k - N, j]"]]),
            part("S0", FIRST, sooner, [["X[i, k]"], ["Y[k, j]"]]),
        ],
        "own": ["S0"],
        "kernels": [[[0, 0, 1]], [[0, 1, 0]], [[1, 0, 0]]],
        "chains": [True, False, False],
        "folds": [1, 2, 2],
        "moved": None,
        "sources": relation(*inputs),
        "spill": relation(*inputs, f"S1[i, j, k] : {BOX} and N <= k < 2N - 1", f"S0[i, j, k] : {FIRST}"),
        "cliques": [[0, 1, 2]],
        "symmetry": None,
    }


def test_an_own_vertex_is_no_instance_that_is_counted() -> None:
    """T[k] in memory would be the cut of Q at k and of T at k + 1, so count twice."""
    reads = ProgramReads(program_from_text(TEXT))
    wrong = list(wrong_for_all_sizes(argument_of(certificate(), reads), reads))
    assert wrong == ["an own vertex is a source, or an instance that is counted"]
