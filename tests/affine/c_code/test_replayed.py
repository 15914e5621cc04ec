"""What emitted loops load by replay, beside an order written out and a cache that sees their accesses."""

from __future__ import annotations

import islpy as isl
import numpy as np
import pytest

from shorthaul.affine import code, program_from_text, tuning
from shorthaul.affine.effort import OutOfEffortError
from shorthaul.affine.orders.searching import SizedSearch
from shorthaul.affine.replay.cdag import concrete_cdag
from shorthaul.affine.replay.nest_order import NestReplay, TimedPart
from shorthaul.affine.verbs import coding
from shorthaul.graphs.replay import belady_loads

N, T, S = 5, 2, 9
PRODUCT = program_from_text("""void f(int n, double A[n][n], double B[n][n], double C[n][n]) {
  for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < n; k++) C[i][j] += A[i][k] * B[k][j];
}""")


def test_tiles_are_replayed_as_they_are_walked() -> None:
    sizes, (statement,) = {"n": N}, PRODUCT.statements
    cdag = concrete_cdag(PRODUCT, sizes)
    name = statement.name
    time = isl.Map(
        f"[T] -> {{ {name}[o, p, i, j, k] -> [o, p, k, i, j] : o <= i < o + T and p <= j < p + T and"
        f" 0 <= i, j, k < {N} }}"
    )
    made = NestReplay(PRODUCT, cdag, {**sizes, "T": T}).of([[TimedPart(name, time, (T, T))]], [])
    i, j, k = cdag.coordinates[cdag.program_order].T
    order = cdag.program_order[np.lexsort((j, i, k, j // T, i // T))]
    assert made.order.tolist() == order.tolist()
    assert made.loads(S) == int(belady_loads(order, cdag.starts, cdag.operands, S).sum())


def test_copies_read_what_an_array_has_at_the_end() -> None:
    sizes, (statement,) = {"n": N}, PRODUCT.statements
    cdag = concrete_cdag(PRODUCT, sizes)
    part = TimedPart(statement.name, statement.schedule, ())
    made = NestReplay(PRODUCT, cdag, sizes).of([[part]], [statement.write.array])
    last = cdag.coordinates[made.operands[made.starts[-1] - N * N :]]
    assert last.tolist() == [[i, j, N - 1] for i in range(N) for j in range(N)]
    alone = NestReplay(PRODUCT, cdag, sizes).of([[part]], [])
    assert made.loads(S) - alone.loads(S) in range(N * N - S, N * N + 1)


def test_loops_of_few_instances_are_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    size = f"n=9,S={S}"
    found = code(PRODUCT, size=size, effort=0.4)
    assert found.bound is not None
    assert found.extra["is_replayed"]
    monkeypatch.setattr(tuning, "LARGEST_CODE_REPLAY", 100)
    by_formula = code(PRODUCT, size=size, effort=0.4).extra
    assert not by_formula["is_replayed"]
    assert found.bound.value <= (found.extra["loads_words"] or 0) <= (by_formula["loads_words"] or 0)


def test_program_order_is_emitted_where_it_loads_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SizedSearch, "is_poor", lambda *_: False)  # the search would find better boxes
    program = program_from_text("""void f(int n, int m, double A[n], double B[m], double C[m][n], double D[m][n]) {
      for (int t = 0; t < n; t++) for (int i = 0; i < m; i++) {
        double sum = 0; A[t] *= B[i];
        for (int j = 0; j < i; j++) sum += B[j] * D[j][t];
        C[i][t] = sum;
      }
    }""")
    made = code(program, size="n=7,m=4,S=9", effort=0.2)
    cdag = concrete_cdag(program, {"n": 7, "m": 4})
    loads = int(belady_loads(cdag.program_order, cdag.starts, cdag.operands, 9).sum())
    assert made.extra["loads_words"] == loads
    assert f"the program's {loads}: program order" in made.extra["code"]


def test_the_least_effort_has_an_order_that_loads_less_than_program_order() -> None:
    made = code(PRODUCT, size=f"n={N},S={S}", effort=0.002)
    cdag = concrete_cdag(PRODUCT, {"n": N})
    loads = int(belady_loads(cdag.program_order, cdag.starts, cdag.operands, S).sum())
    assert (made.extra["loads_words"] or loads) < loads
    assert made.extra["is_replayed"]
    assert not made.extra["remarks"]


def test_program_order_is_emitted_where_the_search_ends_before_an_order_is_known_to_be_legal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def ended(*_: object) -> None:
        raise OutOfEffortError

    monkeypatch.setattr(coding, "legal_order", ended)
    made = code(PRODUCT, size=f"n={N},S={S}", effort=0.1)
    cdag = concrete_cdag(PRODUCT, {"n": N})
    assert made.extra["loads_words"] == int(belady_loads(cdag.program_order, cdag.starts, cdag.operands, S).sum())
    assert "the search ended before an order was derived" in made.extra["remarks"][0]


@pytest.mark.slow
def test_skewed_tiles_of_a_stencil_copied_back_are_emitted() -> None:
    program = program_from_text("""void f(int T, int N, double a[N][N], double b[N][N], double k[N][N]) {
      for (int t = 0; t < T; t++) {
        for (int i = 1; i < N - 1; i++) for (int j = 1; j < N - 1; j++)
          b[i][j] = a[i][j] + k[i][j] * (a[i-1][j] + a[i+1][j] + a[i][j-1] + a[i][j+1]);
        for (int i = 1; i < N - 1; i++) for (int j = 1; j < N - 1; j++) a[i][j] = b[i][j];
      }
    }""")
    made = code(program, size="T=8,N=26,S=300", effort=1.4).extra
    assert not made["remarks"]
    cdag = concrete_cdag(program, {"T": 8, "N": 26})
    loads = int(belady_loads(cdag.program_order, cdag.starts, cdag.operands, 300).sum())
    assert (made["loads_words"] or loads) < loads / 3


@pytest.mark.slow
def test_parts_of_panels_are_emitted() -> None:
    program = program_from_text("""void f(int N, int M, double A[N][N], double B[N][M]) {
      for (int k = 0; k < N; k++) for (int i = 0; i < N; i++) if (i != k) {
        double f = A[i][k] / A[k][k];
        for (int j = k + 1; j < N; j++) A[i][j] -= f * A[k][j];
        for (int j = 0; j < M; j++) B[i][j] -= f * B[k][j];
      }
    }""")
    made = code(program, size="N=16,M=3,S=200", effort=0.3)
    assert made.bound is not None
    assert made.bound.value <= (made.extra["loads_words"] or 0)


@pytest.mark.parametrize(("read", "told"), [("Q[i][j]", True), ("Q[i][k]", False)])
def test_blocks_of_left_looking_loops_are_not_emitted_and_it_says_so(
    read: str, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "WORTH_BLOCKS", 0.5)  # orders of programs this short are near that of tiles
    program = program_from_text(f"""void f(int M, int N, double A[M][N], double Q[M][N], double R[N][N]) {{
      for (int k = 0; k < N; k++) {{
        for (int j = 0; j < k; j++) for (int i = 0; i < M; i++) A[i][k] -= R[j][k] * {read};
        for (int i = 0; i < M; i++) Q[i][k] = 2 * A[i][k];
      }}
    }}""")
    made = code(program, size="M=300,N=200,S=400", effort=0.02)
    assert any("in blocks of a loop" in item for item in made.extra["remarks"]) is told
