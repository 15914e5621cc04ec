"""What the emitted function takes and returns: as the function of the file, so that it can stand in its place."""

from __future__ import annotations

import re
from pathlib import Path

from tests.affine.c_code.test_code import SANITIZED, assert_agrees, made, needs_compiler, run


def head_of(text: str) -> str:
    (found,) = re.findall(r"^LINKAGE (.*)\{$", text, re.MULTILINE)
    return str(found).strip()


@needs_compiler
def test_arguments_are_those_of_the_file(tmp_path: Path) -> None:
    """Values that the function sets are arguments, what it never names stays one, what it only reads is constant."""
    source = """double last;
    struct point { double x; };
    void f(int flag, const double *x, double a, double W[flag][4], const struct point *p, int n, double *y) {
      a = 2 * a;
      for (int i = 0; i < n; i++) { y[i] += a * x[i] + p->x; a *= 0.5; }
      last = a;
    }"""
    text = made(source, "n=9,S=20")["code"]
    values = "int flag, const double *restrict x, double a, double W[restrict flag][4], int n, double *restrict y"
    assert head_of(text).startswith(f"void f_tiled({values}")
    assert "these names: last." in text
    assert "no argument of these names, as others stand for them: p." in text
    assert_agrees(run(text, tmp_path, *SANITIZED))
