"""Data that an iteration computes for itself: emitted C has a place for each, whatever the order of iterations is."""

from __future__ import annotations

import random
import re
import subprocess
from pathlib import Path

import pytest
from tests.affine.c_code.test_code import COMPILER, SANITIZED, assert_agrees, made, needs_compiler, run

from shorthaul.affine import flow_dependences, program_from_text
from shorthaul.affine.c_code.legality import conflicts_with, examined
from shorthaul.affine.c_code.parts import program_nest
from shorthaul.affine.orders.boxes.storage import Storage

#: A product of complex matrices as users write it: all but the sums is read in the iteration that computes it.
PRODUCT = """void f(int n, double a[n][n], double b[n][n], double c[n][n], double d[n][n], double e[n][n]) {{
  {}
  for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) {{
    double re = 0, im = 0;
    for (int k = 0; k < n; k++) {{
      {}x = a[i][k]; {}y = c[k][j];
      {}p = x * y - b[i][k]; {}q = x + y * b[i][k];
      re += p; im += q;
    }}
    d[i][j] = re; e[i][j] = im;
  }}
}}"""


@needs_compiler
@pytest.mark.parametrize(
    ("above", "word"), [("", "double "), pytest.param("double x, y, p, q;", "", marks=pytest.mark.slow)]
)
def test_scalars_of_an_iteration_do_not_keep_the_order(above: str, word: str, tmp_path: Path) -> None:
    found = made(PRODUCT.format(above, *[word] * 4), "n=14,S=60", 0.05)
    assert found["tiles"]
    assert found["loads_words"] < 0.7 * 14**3  # all of c is loaded n times otherwise
    inner = re.findall(r"\n( *)double x = 0;", found["code"])
    assert inner
    assert min(map(len, inner)) > 2
    assert_agrees(run(found["code"], tmp_path, *SANITIZED))


def test_scalars_above_the_loops_are_emitted_as_those_in_them() -> None:
    """All but the program as it was written, which the driver compares."""
    inside, above = (
        made(PRODUCT.format(first, *[word] * 4), "n=14,S=60", 0.02)["code"].partition("#ifndef NO_DRIVER")
        for first, word in (("", "double "), ("double x, y, p, q;", ""))
    )
    assert inside[:2] == above[:2]
    assert inside[1]


def test_only_values_within_one_block_need_no_order() -> None:
    """A value that goes from one iteration to the next, or is an input, has one place for all."""
    text = """void f(int n, double a[n], double b[n]) {
      double before = 0, unset;
      for (int i = 0; i < n; i++) { double now = a[i]; b[i] = now - before + unset; before = now; unset = now; }
    }"""
    program = program_from_text(text)
    conflicts = conflicts_with(Storage(flow_dependences(program)))
    assert {*conflicts.local} == {"now", "before"}
    nest = program_nest(program, [item.name for item in program.statements])
    order = examined(nest, conflicts)
    assert not order.broken
    assert order.local["now"] > order.local.get("before", 0)
    last = next(item.name for item in program.statements if item.write.array == "before" and item.iterators)
    alone = program_nest(program, [name for name in nest.names if name != last])
    assert "before" not in examined(alone, conflicts).local  # it is set elsewhere


def random_text(draw: random.Random) -> str:
    """Return loops with temporaries, some declared above, some read later than in their iteration."""
    kept = draw.choice(["t", "u", "0.5"])
    above = draw.choice(["double t, u;", "double w[3];"])
    first = "double t = " if "t" not in above else "t = "
    second = "double u = " if "u;" not in above else "u = "
    small = "w[{0}] = a[i][j] + {0}; w[1] = w[{0}] * b[j][i];".format(draw.choice("02")) if "w[3]" in above else ""
    last = draw.choice(["u", "t * u", "w[1] + u" if small else "u + 1"])
    return f"""void f(int n, int m, double a[n][m], double b[m][n], double c[n][m], double s[n]) {{
      {above} double keep = 0;
      for (int i = 0; i < n; i++) {{
        double sum = {draw.choice(["0", "keep"])};
        for (int j = {draw.choice("01")}; j < m; j++) {{
          {first}a[i][j] * b[j][i]; {small} {second}t - {draw.choice(["t", "c[i][j]", "keep"])};
          if (u < {draw.choice(["0", "t"])}) {{ u = -u; }}
          c[i][j] = {last}; sum += {draw.choice("tu")};
        }}
        s[i] = sum; keep = {"sum" if kept == "t" else "s[i] * 0.5" if kept == "u" else kept};
      }}
    }}"""


@needs_compiler
@pytest.mark.parametrize("seed", [0, 4, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3, 5))])
def test_programs_with_temporaries_agree(seed: int, tmp_path: Path) -> None:
    assert_agrees(run(made(random_text(random.Random(seed)), "n=9,m=11,S=24", 0.15)["code"], tmp_path, *SANITIZED))


@needs_compiler
def test_variables_from_outside_are_those_of_the_program(tmp_path: Path) -> None:
    """They were variables of the emitted file, so that the function alone never saw their values."""
    text = """double kept;
    void f(int n, double a[n]) { for (int i = 0; i < n; i++) { double t = kept; kept = a[i]; a[i] = t; } }"""
    user = "double kept = 2; void f_tiled(int, double *); "
    user += "int main(void) { double a[2] = {3, 4}; f_tiled(2, a); return a[0] != 2 || a[1] != 3 || kept != 4; }"
    found = made(text, "n=9,S=8")["code"]
    assert "by these names: kept." in found
    assert_agrees(run(found, tmp_path, *SANITIZED))
    (tmp_path / "user.c").write_text(user)
    files = [str(tmp_path / name) for name in ("tiled.c", "user.c")]
    made_of = [str(COMPILER), "-DNO_DRIVER", *files, "-lm", "-o", str(tmp_path / "both")]
    subprocess.run(made_of, check=True)
    assert subprocess.run([str(tmp_path / "both")], check=False).returncode == 0


@needs_compiler
def test_rooms_of_empty_loops_have_an_extent(tmp_path: Path) -> None:
    """The length of an inner extent is negative where its loop is empty: calloc had no such room."""
    text = """void f(int n, int m, double a[n][n], double b[n][m], double c[n][m]) {
      for (int i = 1; i < n - 1; i++) for (int j = 1; j < m - 1; j++) {
        double d = 0; for (int k = 0; k < n; k++) d += a[i][k] * b[k][j];
        c[i][j] = d;
      }
    }"""
    found = made(text, "n=47,m=29,S=100", 0.3)["code"]
    assert "[max(1, " in found
    assert_agrees(run(found, tmp_path, *SANITIZED, "-DSIZE_n=5", "-DSIZE_m=1"))


@needs_compiler
@pytest.mark.parametrize("last", ["m - 1", *(pytest.param(last, marks=pytest.mark.slow) for last in "05")])
def test_values_read_where_isl_leaves_a_statement_out_of_the_loop(last: str, tmp_path: Path) -> None:
    """What only the last iteration executes follows all others, so that isl puts it behind their loop."""
    text = f"""void f(int n, int m, double a[n][m], double b[n][m], double x[n]) {{
      double kept = 0;
      for (int i = 0; i < n; i++) {{
        double s = kept;
        for (int j = 0; j < m; j++) {{
          double t = a[i][j]; s = s * 0.5 + t; b[i][j] = t * s;
          if (j == {last}) kept = t;
        }}
        x[i] = s - kept;
      }}
    }}"""
    plain = text.replace("s * 0.5", "0").replace("t * s", "t * 2").replace("s - kept", "kept")
    for each, size in ((text, "n=23,m=31,S=60"), (plain, "n=9,m=11,S=300")):
        assert_agrees(run(made(each, size, 0.1)["code"], tmp_path, *SANITIZED, "-fopenmp"))


@needs_compiler
@pytest.mark.parametrize("flag", [pytest.param("-O1", marks=pytest.mark.slow), "-O3"])
def test_local_arrays_read_behind_their_loop_are_no_warning(flag: str, tmp_path: Path) -> None:
    text = """void f(int n, int m, double a[n][m], double b[n][m], double x[n]) {
      for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) {
        double d[2]; d[0] = a[i][j]; d[1] = d[0] * 2; b[i][j] = d[1];
        if (j == m - 1) x[i] = d[0] * d[1];
      }
    }"""
    assert_agrees(run(made(text, "n=23,m=31,S=60", 0.3)["code"], tmp_path, flag, "-fopenmp"))
