"""Orders derived for the program's memory: what is copied back every step needs no second place."""

from __future__ import annotations

from pathlib import Path

from tests.affine.c_code.test_code import SANITIZED, assert_agrees, executed, needs_compiler, run

import shorthaul
from shorthaul.affine.check.plan_check import check_plan
from shorthaul.affine.frontend.scop import program_from_text

COPIED_BACK = """void f(int T, int n, double A[n], double B[n]) {
#pragma scop
  for (int t = 0; t < T; t++) {
    for (int i = 1; i < n - 1; i++) B[i] = 0.3 * (A[i - 1] + A[i] + A[i + 1]);
    for (int i = 1; i < n - 1; i++) A[i] = B[i];
  }
#pragma endscop
}"""


@needs_compiler
def test_copies_back_keep_the_derived_order(tmp_path: Path) -> None:
    found = shorthaul.affine.code(COPIED_BACK, size="T=20,n=60,S=40", effort=0.2).extra
    assert_agrees(run(found["code"], tmp_path, *SANITIZED))
    program = program_from_text(COPIED_BACK)
    report = check_plan(program, executed(program, found["code"], "T=20,n=60,S=40", tmp_path))
    assert report.ok
    assert report.cost is not None
    said = found["loads_words"]
    assert said is not None
    assert report.cost["loads_words"] <= 1.1 * said <= 0.5 * 20 * 60
