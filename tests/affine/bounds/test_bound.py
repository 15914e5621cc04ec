"""Bounds hold: below Belady's misses on the program order at random small sizes, below exact play on tiny graphs."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from tests.affine.derived import bound_of, flow_of, quick

from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.replay.cdag import ConcreteCdag, concrete_cdag
from shorthaul.affine.verbs.oracle import examine
from shorthaul.affine.workloads.cases import FURTHER, POLYBENCH
from shorthaul.core.errors import InputError
from shorthaul.core.search import Search
from shorthaul.graphs.replay import belady_loads, least_loads


def random_sizes(names: tuple[str, ...], rng: np.random.Generator, low: int, high: int) -> dict[str, int]:
    return {name: int(rng.integers(low, high)) for name in names}


def high_of(depth: int) -> int:
    return {1: 40, 2: 24, 3: 12}.get(depth, 7)


#: Kernels with CDAGs that are small enough for exact play at sizes 2 or 3, and derived quickly.
TINY = ("gemm", "atax", "cholesky", "jacobi-1d", "trisolv", "durbin", "lu", "syrk")


@pytest.mark.costly
@pytest.mark.parametrize(
    "name", quick([*POLYBENCH, *FURTHER], ("gemm", "atax", "cholesky", "jacobi-1d", "trisolv", "mttkrp"))
)
def test_no_schedule_in_program_order_beats_the_bound(name: str) -> None:
    bound = bound_of(name)
    program = bound.program
    depth = max(len(item.iterators) for item in program.statements)
    rng = np.random.default_rng(7)
    for _ in range(3):
        sizes = random_sizes(program.parameters, rng, 1, high_of(depth))
        cdag = concrete_cdag(program, sizes)
        if cdag.n == cdag.inputs:
            continue
        least = int(np.diff(cdag.starts).max(initial=0)) + 1
        for capacity in (least, least + 2, 3 * least):
            loads = int(belady_loads(cdag.program_order, cdag.starts, cdag.operands, capacity).sum())
            assert bound.value({**sizes, "S": capacity}) <= loads, (sizes, capacity)


@pytest.mark.costly
@pytest.mark.parametrize("name", quick(POLYBENCH, ("gemm", "cholesky", "trisolv")))
def test_no_exact_play_beats_the_bound(name: str) -> None:
    bound = bound_of(name)
    program = bound.program
    for size in (3, 2):
        sizes = dict.fromkeys(program.parameters, size)
        cdag = concrete_cdag(program, sizes)
        if not cdag.n - cdag.inputs > 0 or cdag.n > 30:
            continue
        least = int(np.diff(cdag.starts).max(initial=0)) + 1
        for capacity in (least, least + 1):
            exact = least_loads(cdag.operand_lists(), capacity, most_states=10_000)
            if exact.proven:
                assert bound.value({**sizes, "S": capacity}) <= exact.loads, (sizes, capacity)


#: the two scans of a row, and how many times its length they load again
SCANS = {
    "direct reads": ("f[i][j] = f[i][j-1] + a[i][j];", "b[i][j] = b[i][j+1] + a[i][j];", 2),
    "forward reads behind": ("f[i][j] = f[i][j-1] + a[i][j-1];", "b[i][j] = b[i][j+1] + a[i][j];", 2),
    "both read behind": ("f[i][j] = f[i][j-1] + a[i][j-1];", "b[i][j] = b[i][j+1] + a[i][j+1];", 2),
    "in one direction": ("f[i][j] = f[i][j-1] + a[i][j];", "b[i][j] = b[i][j+1] + a[i][n-1-j];", 1),
    "no shared input": ("f[i][j] = f[i][j-1] + a[i][j];", "b[i][j] = b[i][j+1] + 1.0;", 1),
    "two shared inputs": ("f[i][j] = f[i][j-1] + a[i][j] * c[i][j];", "b[i][j] = b[i][j+1] + a[i][j] - c[i][j];", 3),
    "shared by all rows": ("f[i][j] = f[i][j-1] + c[0][j];", "b[i][j] = b[i][j+1] + c[0][j];", 1),
}
FRAME = """void scans(int m, int n, double a[m][n], double b[m][n], double c[m][n], double f[m][n], double o[m][n]) {
#pragma scop
for (int i = 0; i < m; i++) {
  for (int j = 1; j < n - 1; j++) %s
  for (int j = n - 2; j > 0; j--) %s
  for (int j = 1; j < n - 1; j++) o[i][j] = f[i][j] * b[i][j];
}
#pragma endscop
}
"""


@pytest.mark.costly
@pytest.mark.parametrize("name", quick(SCANS, {"both read behind", "two shared inputs"}))
def test_crossing_of_two_scans(name: str) -> None:
    """Every line of n - 2 places counts once per scan value and per value that both scans read."""
    forward, backward, factor = SCANS[name]
    program = program_from_text(FRAME % (forward, backward))
    flow = flow_dependences(program)
    bound = lower_bound(program, flow=flow)
    more = bound.value({"m": 50, "n": 1000, "S": 20}) - bound.value({"m": 50, "n": 1000, "S": 10**6})
    assert more == pytest.approx(50 * factor * 1000, rel=0.04)
    assert any(part.method == "crossing of two scans" for part in bound.proof.parts)
    choices = [{"m": m, "n": n} for m, n in ((1, 3), (1, 4), (1, 5), (2, 4), (1, 6), (3, 7), (2, 12), (4, 20))]
    findings = examine(flow, bound, choices, Search())
    assert not findings.violations
    assert any(item.proven for item in findings.comparisons)
    assert any(item.bound > 0.5 * item.loads for item in findings.comparisons if not item.proven)


def test_scans_in_the_same_direction_do_not_cross() -> None:
    program = program_from_text(FRAME % (SCANS["direct reads"][0], "b[i][n-1-j] = b[i][n-j] + a[i][n-1-j];"))
    same = program_from_text(
        FRAME.replace("int j = n - 2; j > 0; j--", "int j = 1; j < n - 1; j++")
        % (SCANS["direct reads"][0], "b[i][j] = b[i][j-1] + a[i][j];")
    )
    for item in (program, same):
        assert all(part.method != "crossing of two scans" for part in lower_bound(item).proof.parts)


@pytest.mark.slow
def test_deriche_beside_a_good_order() -> None:
    """Each row's backward scan fused with the sum of the row, then the same for columns: 6 W H loads to the bound's 5."""
    bound = bound_of("deriche")
    flow = flow_of("deriche")
    for W, H in ((1, 1), (1, 2), (2, 1), (2, 2), (3, 4), (7, 3), (20, 24)):
        tiny = concrete_cdag(bound.program, {"W": W, "H": H}, flow)
        for capacity in (12, 13, 16, 24):
            order = tiny.program_order
            loads = int(belady_loads(order, tiny.starts, tiny.operands, capacity).sum())
            assert bound.value({"W": W, "H": H, "S": capacity}) <= loads
    cdag = concrete_cdag(bound.program, {"W": 60, "H": 50}, flow)
    order = sorted(cdag.program_order.tolist(), key=lambda vertex: fused_scans(cdag, vertex))
    for capacity in (16, 20, 40, 80):
        loads = int(belady_loads(np.array(order), cdag.starts, cdag.operands, capacity).sum())
        value = bound.value({"W": 60, "H": 50, "S": capacity})
        assert value <= loads
        assert capacity > 20 or loads <= 1.5 * value


def fused_scans(cdag: ConcreteCdag, vertex: int) -> tuple[int, ...]:
    """Return when a vertex of deriche is computed: constants, rows, columns; a line forward, then backward with sums."""
    number = int(cdag.names[cdag.owner[vertex]][1:])
    first, second = (int(at) for at in cdag.coordinates[vertex, :2])
    line, place = (second, first) if number == 46 else (first, second)
    half = (number > 12) + (number > 29)
    backward = half and number >= (20 if half == 1 else 37)
    scanned = cdag.widths[cdag.owner[vertex]] == 2
    return half, line, int(backward), int(scanned), (-place if backward else place), vertex


@pytest.mark.parametrize("name", ["S", "x0", "x12"])
def test_parameters_that_bear_a_name_of_the_proof(name: str) -> None:
    text = f"void f(int {name}, double a[{name}]) {{\n#pragma scop\nfor (int i = 0; i < {name}; i++) a[i] = a[i] + 1;\n#pragma endscop\n}}"
    with pytest.raises(InputError) as caught:
        lower_bound(program_from_text(text))
    for part in (f"'{name}'", "parameter", "bounds use themselves", "rename the parameter"):
        assert part in str(caught.value), str(caught.value)


@pytest.mark.slow
def test_a_wavefront_by_one_of_two_references() -> None:
    """Householder QR: the column updated waits at every inner product; the reflected column, shared by all, does not."""
    program = program_from_text("""
void f(int n, int m, double A[m][n], double tau[n]) {
#pragma scop
  for (int k = 0; k < n; k++) {
    double s = 0.0;
    for (int i = k; i < m; i++) s += A[i][k] * A[i][k];
    tau[k] = sqrt(s);
    A[k][k] = A[k][k] + tau[k];
    for (int j = k + 1; j < n; j++) {
      double w = 0.0;
      for (int i = k; i < m; i++) w += A[i][k] * A[i][j];
      for (int i = k; i < m; i++) A[i][j] -= w * A[i][k] / tau[k];
    }
  }
#pragma endscop
}
""")
    bound = lower_bound(program)
    n, m = (sympy.Symbol(name, integer=True, positive=True) for name in "nm")
    assert sympy.simplify(bound.leading.subs(n, m) - m**3 / 3) == 0
    for sizes in ({"n": 5, "m": 7}, {"n": 9, "m": 4}):
        cdag = concrete_cdag(program, sizes)
        for capacity in (6, 8, 12, 20):
            loads = int(belady_loads(cdag.program_order, cdag.starts, cdag.operands, capacity).sum())
            assert bound.value({**sizes, "S": capacity}) <= loads


@pytest.mark.costly
@pytest.mark.parametrize(("body", "leading"), [
    ("for (int i = 0; i < n; i++) { y[i] = a[n - 1]; for (int j = n - 2; j >= 0; j--) y[i] = y[i] * x[i] + a[j]; }",
     "2*n**2/S"),
    (("for (int l = 1; l < n; l++) for (int i = 0; i < n - l; i++) { M[i][i + l] = 1e30; for (int k = i; k < i + l; k++) "
     "M[i][i + l] = fmin(M[i][i + l], M[i][k] + M[k + 1][i + l] + a[i] * a[k + 1] * a[i + l + 1]); }"), "n**3/6"),
], ids=["two values for each line", "a reference that gives one vertex"])  # fmt: skip
def test_leading_terms_by_hand(body: str, leading: str) -> None:
    """Horner's rule reads y[i] and x[i] along a line; chains of matrix products reread a column of the table."""
    head = "void f(int n, double a[n + 1], double x[n], double y[n], double M[n][n]) {\n#pragma scop\n"
    program = program_from_text(f"{head}{body}\n#pragma endscop\n}}\n")
    assert str(lower_bound(program, search=Search(effort=0.3)).leading) == leading
