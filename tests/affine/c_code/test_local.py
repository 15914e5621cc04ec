"""Data that an iteration computes for itself: emitted C has a place for each, whatever the order of iterations is."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from tests.affine.c_code.test_code import SANITIZED, assert_agrees, made, needs_compiler, run

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
@pytest.mark.parametrize(("above", "word"), [("", "double "), ("double x, y, p, q;", "")])
def test_scalars_of_an_iteration_do_not_keep_the_order(above: str, word: str, tmp_path: Path) -> None:
    found = made(PRODUCT.format(above, *[word] * 4), "n=14,S=60", 0.5)
    assert found["tiles"]
    assert found["loads_words"] < 0.7 * 14**3  # all of c is loaded n times otherwise
    inner = re.findall(r"\n( *)double x = 0;", found["code"])
    assert inner
    assert min(map(len, inner)) > 2
    assert_agrees(run(found["code"], tmp_path, *SANITIZED))


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
@pytest.mark.parametrize("seed", range(6))
def test_programs_with_temporaries_agree(seed: int, tmp_path: Path) -> None:
    assert_agrees(run(made(random_text(random.Random(seed)), "n=9,m=11,S=24", 0.3)["code"], tmp_path, *SANITIZED))
