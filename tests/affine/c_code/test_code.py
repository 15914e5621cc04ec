"""The derived order as C: it compiles without a warning, computes what the program computes, in an order that is one."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from pathlib import Path

import islpy as isl
import numpy as np
import pytest
from tests.affine.derived import flow_of, kernel, quick, upper_of
from tests.commands import shorthaul as command
from tests.samples import ALL

import shorthaul
from shorthaul.affine import effort
from shorthaul.affine.c_code import loops
from shorthaul.affine.c_code.legal import legal_order
from shorthaul.affine.c_code.legality import broken_between, examined
from shorthaul.affine.c_code.parts import nest_of
from shorthaul.affine.check.plan_check import check_plan
from shorthaul.affine.effort import OutOfEffortError
from shorthaul.affine.integer_sets.dependences import Conflicts
from shorthaul.affine.model import Program
from shorthaul.affine.orders.boxes.storage import Storage
from shorthaul.affine.plan import CodeExtra, Plan
from shorthaul.affine.verbs import coding
from shorthaul.affine.workloads.cases import FURTHER, POLYBENCH

COMPILER = shutil.which("gcc") or shutil.which("cc")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler")
WARNINGS = ("-std=c11", "-Wall", "-Wextra", "-Werror")
#: Without optimisation, compiling takes half the time; SHAPED are for what has a form of its own, and may get a warning.
SANITIZED = ("-O1" if ALL else "-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover")
SHAPED = ("-O1", *SANITIZED[1:])


def made(program: Program | str, size: str, work: float = 2 if ALL else 0.1) -> CodeExtra:
    return shorthaul.affine.code(program, size=size, effort=work).extra


def sizes_of(name: str, least: int, fast_memory: int) -> str:
    few = {"R": 3, "Q": 2, "B": 2}
    found = {
        item: few.get(item, least + 3 * at) if name == "convolution" else least + 3 * at
        for at, item in enumerate(kernel(name).parameters)
    }
    return ",".join(f"{item}={value}" for item, value in [*found.items(), ("S", fast_memory)])


def run(text: str, folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    assert COMPILER is not None
    source, program = folder / "tiled.c", folder / "compare"
    source.write_text(text)
    done = subprocess.run(
        [COMPILER, *WARNINGS, *flags, str(source), "-lm", "-o", str(program)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return subprocess.run([str(program)], capture_output=True, text=True, check=False)


def assert_agrees(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 not finite, 0 wrong" in done.stdout


QUICK = ("gemm",)


@needs_compiler
@pytest.mark.parametrize("name", quick((*POLYBENCH, *FURTHER), QUICK))
def test_both_programs_agree(name: str, tmp_path: Path) -> None:
    text = made(name, sizes_of(name, 11, 60))["code"]
    assert_agrees(run(text, tmp_path, *SHAPED))


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("name", POLYBENCH)
def test_all_tiles_and_sizes_are_legal(name: str, tmp_path: Path) -> None:
    found = made(name, sizes_of(name, 11, 60))
    draw = random.Random(name)
    for _ in range(3):
        tiles = [f"-D{tile}={draw.randint(1, 9)}" for tile in found["tiles"]]
        sizes = [f"-DSIZE_{item}={draw.randint(1, 14)}" for item in kernel(name).parameters]
        done = run(found["code"], tmp_path, "-O1", *tiles, *sizes)
        assert done.returncode == 0, (tiles, sizes, done.stdout)


def random_nest(draw: random.Random) -> str:
    """Return three loops whose statements read what other iterations of any direction write.

    Some have statements before or after the innermost loop.
    """

    def access(array: str) -> str:
        names = draw.sample("ijk", 2)
        return array + "".join(f"[{name} + {draw.randint(0, 2)}]" for name in names)

    target = (
        access("A") if draw.random() < 0.4 else draw.choice(("B[i][j]", "B[i][k]", "B[j][i]", "B[k][0]", "B[j + 1][k]"))
    )
    arrays = ", ".join(f"double {name}[n + 3][n + 3]" for name in "ABC")
    value = " + ".join([f"0.125 * {access(draw.choice('ACCC'))}" for _ in range(draw.randint(1, 2))])
    sides = [
        side and draw.choice(("", f"{side};", f"if (i > 2) {side};")) for side in SIDES[draw.randrange(len(SIDES))]
    ]
    return f"""void f(int n, {arrays}) {{
#pragma scop
  for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) {{
    {sides[0]}
    for (int k = 0; k < {draw.choice(("n", "j + 1"))}; k++) {target} = 0.5 * {target} + {value};
    {sides[1]}
  }}
#pragma endscop
}}"""


#: What stands before and after the innermost loop: nothing, the first and last values of sums, what others wait for.
SIDES = (
    ("", ""),
    ("B[i][j] = 0.25 * B[i][j]", "B[i][j] = 0.5 * B[i][j]"),
    ("C[i][j] = 0.5 * B[i][j]", "B[i][j] = 0.5 * C[i][j]"),
    ("B[i][j] = 0", "C[i + 1][j] = 0.25 * B[i][j]"),
    ("C[i][j] = 0.5 * B[j][0]", ""),
    ("A[i][j + 1] = 0.5 * A[i][j]", "B[i][j] = 0.5 * A[i + 1][j]"),
)


@needs_compiler
@pytest.mark.parametrize("seed", [56, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(56))])
def test_strips_keep_every_dependence(seed: int, tmp_path: Path) -> None:
    found = made(random_nest(random.Random(seed)), "n=21,S=40")["code"]
    assert_agrees(run(found, tmp_path, *SANITIZED))


def test_a_sum_is_kept_in_registers() -> None:
    found = made("gemm", "NI=40,NJ=40,NK=40,S=400")["code"]
    assert re.search(r"S1\(c\d+, \(c\d+ \+ 7\), c\d+\);", found)  # one element of C for eight values of k


@pytest.mark.slow
def test_a_strip_gathers_no_column() -> None:
    """Eight of C's row at once would take eight rows of B; eight of its column share one."""
    source = """void f(int n, double A[n][n], double B[n][n], double C[n][n]) {
#pragma scop
      for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < n; k++) C[i][j] += A[i][k] * B[j][k];
#pragma endscop
    }"""
    found = made(source, "n=100,S=1500", 0.05)["code"]
    assert re.search(r"S0\(\(c\d+ \+ 7\), c\d+, c\d+\);", found)


#: A filter and sums over channels, as users write them: what follows one another is innermost, a row of memory is not.
CHANNELS = """void f(int n, int m, float x[m][n + 2][n + 2], float w[m][3][3], float p[m][m], float t[m][n][n], float y[m][n][n]) {
  for (int c = 0; c < m; c++) for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) {
    float s = 0;
    for (int r = 0; r < 3; r++) for (int q = 0; q < 3; q++) s += x[c][i + r][j + q] * w[c][r][q];
    t[c][i][j] = s;
  }
  for (int k = 0; k < m; k++) for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) {
    y[k][i][j] = 0;
    for (int c = 0; c < m; c++) y[k][i][j] += t[c][i][j] * p[k][c];
  }
}"""


@needs_compiler
def test_a_row_of_memory_is_innermost_where_a_sum_is(tmp_path: Path) -> None:
    """Terms of a sum follow one another; nine of a filter and four of a long one are for a whole row at once."""
    found = made(CHANNELS, "n=22,m=16,S=2600", 0.05)["code"]
    assert re.search(r"VECTOR\n *for \(long (c\d+) .*\n(?: *(?:float s|S0).*\n)* *S1\(.*\b\1, 0, 0\);\n", found)
    assert re.search(r"VECTOR\n *for \(long (c\d+) .*\n *S4\(.*\b\1, c\d+\);\n *S4\(.*\b\1, \(c\d+ \+ 1\)\);\n", found)
    assert_agrees(run(found, tmp_path, *SHAPED))


@needs_compiler
def test_a_filter_may_be_walked_downwards(tmp_path: Path) -> None:
    """Its numbers in the loops of C are negative then, and subscripts turn their sign."""
    source = """void f(int n, float B[2][n], float C[n][n], float D[2][n]) {
#pragma scop
      for (int i = n - 1; i >= 0; i--) for (int j = 0; j < n; j++) {
        C[i][j] = 0;
        for (int k = 1; k >= 0; k--) C[i][j] += D[k][i] * B[k][j];
      }
#pragma endscop
    }"""
    found = made(source, "n=19,S=500")["code"]
    assert "VECTOR\n" in found
    assert_agrees(run(found, tmp_path, *SANITIZED))


@pytest.mark.costly
@pytest.mark.parametrize("words", [100, 900])
def test_strips_are_inside_of_what_a_box_holds(words: int) -> None:
    found = made("gemm", f"NI=100,NJ=100,NK=100,S={words}")
    heads = [line for line in found["code"].splitlines() if line.lstrip().startswith("for (long c")]
    order = [line for line in heads if "first_origin" in line or "+= 8)" in line]
    assert "first_origin" in order[0]
    stripped = [re.findall(r"c\d+", line)[0] for line in order if "+= 8)" in line]
    depth = found["code"].split("/* S0, S1 */")[1].split("for (long ")[1:]
    box = [item.split(" ")[0] for item in depth[:3]]
    assert not {*stripped} & {*box}


@needs_compiler
def test_what_a_program_leaves_empty_or_unused_is_no_warning(tmp_path: Path) -> None:
    source = """void f(int n, unsigned A[n], int B[n], double D[n]) {
#pragma scop
      int t; double T[n]; double U[n];
      for (int64_t i = 0; i < n; i++) {
        if (i < 0) A[i] = D[i];
        if (i > 2) ;
        if (i > 2) if (i < 9) B[i] = A[i]; else B[i] = 2 * A[i];
        if (i < 3) A[i] = A[i] < B[i] ? i : B[i]; else ;
        i + 1;
        T[i] = A[i] >= 0 ? 1 : 0;
      }
#pragma endscop
    }"""
    assert_agrees(run(made(source, "n=21,S=8")["code"], tmp_path, *SHAPED))


@needs_compiler
def test_a_strip_keeps_what_stands_before_a_sum(tmp_path: Path) -> None:
    """The first value of j + 1 is what the loop over k of j made last: eight of them do not come first.

    Names are those of types and tiles in the file.
    """
    source = """void f(int n, double A[n][n], double B[n + 1][n], double t[n][n], double D[n]) {
#pragma scop
      for (int T0_0 = 0; T0_0 < n; T0_0++) for (int j = 0; j < n; j++) {
        t[T0_0][j] = 0.5 * B[j][0];
        for (int k = 0; k < n; k++) B[j + 1][k] = 0.5 * B[j + 1][k] + D[k] * A[T0_0][k];
      }
#pragma endscop
    }"""
    assert_agrees(run(made(source, "n=21,S=400", 0.2)["code"], tmp_path, *SANITIZED))


@needs_compiler
def test_program_order_where_the_search_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def ends(*_: object) -> None:
        raise OutOfEffortError

    monkeypatch.setattr(coding, "legal_order", ends)
    size = "NI=9,NJ=8,NK=7,S=30"
    found, program = made("gemm", size), kernel("gemm")
    report = check_plan(program, executed(program, found["code"], size, tmp_path))
    assert report.cost is not None
    assert found["loads_words"] == report.cost["loads_words"]
    assert "program order" in found["remarks"][0]
    assert_agrees(run(found["code"], tmp_path, *SANITIZED))


def test_program_order_where_its_loops_take_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "LOOPS_OPERATIONS", 100)
    found = made("gemm", "NI=9,NJ=8,NK=7,S=30")
    assert "before the loops of the derived order were made: program order" in found["remarks"][0]
    assert found["is_replayed"]
    assert not found["tiles"]


def test_loops_are_given_up_where_the_search_ends_among_them(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {"NI": 9, "NJ": 8, "NK": 7, "S": 30}
    order = legal_order(upper_of("gemm"), flow_of("gemm"), sizes)
    assert "for" in loops.loops_text(order.nests[-1], kernel("gemm"), order.orders[-1])
    monkeypatch.setattr(effort, "is_out_of_effort", lambda: True)  # as after a signal
    with pytest.raises(isl.Error, match="operations"):
        loops.loops_text(order.nests[-1], kernel("gemm"), order.orders[-1])
    assert isl.Set("{ [i] : 0 <= i < 3 }").intersect(isl.Set("{ [2] }")).is_empty() is False


@needs_compiler
def test_loops_in_parallel(tmp_path: Path) -> None:
    found = made("2mm", sizes_of("2mm", 11, 60))["code"]
    assert "PARALLEL\n" in found
    assert_agrees(run(found, tmp_path, "-O1", "-fopenmp"))
    alone = [str(COMPILER), *WARNINGS, "-DNO_DRIVER", "-fsyntax-only", str(tmp_path / "tiled.c")]
    assert subprocess.run(alone, capture_output=True, check=False).returncode == 0


@needs_compiler
def test_the_driver_sees_a_wrong_order(tmp_path: Path) -> None:
    text = made("seidel-1d", "T=6,N=20,S=16")["code"]
    name, body = re.search(r"void (\w+)_tiled\(.*?\) \{(.*?)\n\}", text, re.DOTALL).groups()  # type: ignore[union-attr]
    assert name
    assert run(text.replace(body, re.sub(r"c(\d) = max\(", r"c\1 = 1 + max(", body)), tmp_path).returncode == 1


def executed(program: Program, text: str, size: str, folder: Path, *flags: str) -> Plan:
    """Return the order in which a C file executes the instances."""
    for number, item in enumerate(program.statements):
        form = " ".join(["%d", *("%ld" for _ in item.iterators)])
        values = ", ".join([f'"@{form}\\n"', str(number), *(f"(long)({at})" for at in item.iterators)])
        text = re.sub(
            rf"#define {item.name}\((.*?)\).*",
            rf"#define {item.name}(\1) printf({values})".replace("\\n", "\\\\n"),
            text,
        )
    lines = [line[1:].split() for line in run(text, folder, *flags).stdout.splitlines() if line.startswith("@")]
    deepest = max(len(item.iterators) for item in program.statements)
    rows = np.array([[*map(int, line[1:]), *(0,) * (deepest + 1 - len(line))] for line in lines], np.int64)
    sizes = {key: int(value) for key, value in (item.split("=") for item in size.split(","))}
    names = tuple(item.name for item in program.statements)
    capacity = sizes.pop("S")
    return Plan(sizes, capacity, names, np.array([int(line[0]) for line in lines], np.int64), rows)


@needs_compiler
@pytest.mark.parametrize("name", quick(("gemm", "lu", "jacobi-2d", "syrk", "cholesky", "heat-1d", "mvt"), ("mvt",)))
def test_the_order_executed_needs_the_loads_said(name: str, tmp_path: Path) -> None:
    size = sizes_of(name, 14, 48)
    found = made(name, size)
    plan = executed(kernel(name), found["code"], size, tmp_path)
    report = check_plan(kernel(name), plan)
    assert report.ok, report.violations
    assert report.cost is not None
    said = found["loads_words"]
    assert said is not None
    assert 0.9 * said <= report.cost["loads_words"] <= 1.1 * said


def test_values_that_share_memory_are_found() -> None:
    program, flow = kernel("symm"), flow_of("symm")
    sizes = {**dict.fromkeys(program.parameters, 50), "S": 100}
    nests = [nest_of(program, step, at, sizes) for at, step in enumerate(upper_of("symm").steps)]
    conflicts = Conflicts(program, Storage(flow).accesses())
    assert broken_between(nests, conflicts) | {name for nest in nests for name in examined(nest, conflicts).broken} == {
        "temp2"
    }
    assert set(legal_order(upper_of("symm"), flow, sizes).storage.buffers) == {"temp2"}


FLAT = """#define ROWS 9
void scan(size_t n, double *a, double x[ROWS][n], int first) {
  int i, j;
  int last = n - 1;
#pragma scop
  for (i = first; i <= last; i++)
    for (j = 0; j < n; j++)
      a[i * n + j] += x[j < 4 ? j : 4][j] * i;
#pragma endscop
}
"""


@needs_compiler
def test_rows_behind_pointers(tmp_path: Path) -> None:
    source = """void f(int n, int m, double ***u, float **w, int *rows[n], double (*z)[7], double *best, int unused) {
      (void)unused;
      for (int i = 1; i < n; i++)
        for (int j = 0; j < m; j++) {
          for (int k = 0; k < n; k++) if (w[j][k] > *best) { *best = w[j][k]; u[i][j][k] += u[i - 1][j][k]; }
          rows[i][j] += 1;
          z[i][3] += w[j][0];
        }
      for (int p = 0; p < n * m; p++) best[0] += p;
    }"""
    assert_agrees(run(made(source, "n=6,m=5,S=20", 0.1)["code"], tmp_path, *SANITIZED, "-Wpedantic"))


@needs_compiler
def test_pointers_macros_and_unsigned_sizes(tmp_path: Path) -> None:
    text = made(FLAT, "n=12,first=1,S=20")["code"]
    assert_agrees(run(text, tmp_path, *SANITIZED, "-Wno-sign-compare"))


@needs_compiler
def test_sizes_without_a_sign_below_where_loops_begin(tmp_path: Path) -> None:
    """Such a size less 3 is no negative number in C; two are too few for the first loop."""
    text = "void f(unsigned n, double *x) { unsigned i; for (i = 0; i + 3 < n; i += 4) x[i] += x[i + 3]; for (; i < n; i++) x[i] = 0; }"
    assert_agrees(run(made(text, "n=2,S=20")["code"], tmp_path, *SANITIZED, "-Wno-sign-compare"))


@needs_compiler
def test_one_axis_walked_as_rows_of_a_matrix(tmp_path: Path) -> None:
    text = "def f(A, y):\n    n, m = A.shape\n    for i in range(n):\n        for j in range(m):\n            y[i * m + j] = A[i, j]\n"
    program = shorthaul.affine.program_from_text(text)
    assert_agrees(run(made(program, "n=5,m=6,S=20")["code"], tmp_path, *SANITIZED))


def test_large_sizes_need_no_list() -> None:
    found = made("gemm", "NI=3000,NJ=3000,NK=3000,S=32768")
    assert found["loads_words"] is not None
    assert len(found["code"]) < 11_000


def test_the_command(tmp_path: Path) -> None:
    target = tmp_path / "tiled.c"
    size = ("--size", "NI=9,NJ=9,NK=9,S=40", "--effort", "0.05")
    done = command("affine", "code", "gemm", *size, "-o", str(target))
    assert done.returncode == 0, done.stderr
    assert target.read_text() == command("affine", "code", "gemm", *size).stdout


@needs_compiler
def test_extents_at_which_no_loop_ends(tmp_path: Path) -> None:
    """A first extent may be any, and is what is accessed; others are arguments of the function."""
    source = """void f(int n, int m, int w, double x[n], double y[n][w], double z[w][n]) {
#pragma scop
      for (int i = 1; i < m; i++) for (int j = 0; j < m; j++) {
        double T[n];
        T[j] = z[i][j]; y[i][j] = x[2 * i] + x[i - 1] + T[j];
      }
#pragma endscop
    }"""
    found = made(source, "m=30,S=60")["code"]
    assert "double *x, double (*y)[w], double (*z)[n]" in found
    assert_agrees(run(found, tmp_path, *SANITIZED))


def test_arrays_of_unknown_extents_have_no_room_for_more_values(tmp_path: Path) -> None:
    source = """void f(int n, double A[n][n][n], double B[n][n], double *w) {
#pragma scop
      for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) {
        for (int k = 0; k < n; k++) {
          w[k] = 0;
          for (int l = 0; l < n; l++) w[k] += A[i][j][l] * B[l][k];
        }
        for (int k = 0; k < n; k++) A[i][j][k] = w[k];
      }
#pragma endscop
    }"""
    found = made(source, "n=9,S=40", 0.2)
    assert "w_values" not in found["code"]
    assert_agrees(run(found["code"], tmp_path, *SANITIZED))


def test_tables_are_no_arguments() -> None:
    source = """enum { DIM = 3 };
    const double w[DIM] = {0.5, 3. / 10, 0.2};
    double t[DIM] = {1, 2, 3};
    void f(int n, double (*x)[DIM], double *y) {
      static const double v[2][2] = {{1, 2}, {3, 4}};
      for (int i = 0; i < n; i++) for (int d = 0; d < DIM; d++) y[i] += t[d] * w[d] * x[i][d] * v[i % 2][d % 2];
    }"""
    program = shorthaul.affine.program_from_text(source)
    assert program.code.tables == (
        "static const double v[2][2] = {{1, 2}, {3, 4}};",
        "static const double w[3] = {0.5, 3. / 10, 0.2};",
    )
    assert program.code.arguments == ("n", "x", "y", "t")
    assert (
        "f_tiled(int n, double (*restrict x)[DIM], double *restrict y, double t[restrict DIM])"
        in shorthaul.affine.code(program, size="n=9,S=30").extra["code"]
    )


def test_a_sum_of_rows_takes_no_strips_of_a_filter() -> None:
    """Strips for the sum of a row, one statement of eleven, cut whole rows, and the filter ran at a third of its speed."""
    source = """void f(int n, int m, double A[n + 2][m + 2], double F[3][3], double B[n][m], double s[n]) {
      for (int i = 0; i < n; i++) {
        s[i] = 0;
        for (int j = 0; j < m; j++) {
          B[i][j] = 0;
          for (int r = 0; r < 3; r++) for (int q = 0; q < 3; q++) B[i][j] += F[r][q] * A[i + r][j + q];
          s[i] += B[i][j];
        }
      }
    }"""
    found = made(source, "n=400,m=1000,S=4096")
    assert not re.search(r"\+ 7\)", found["code"])
    assert found["loads_words"] <= 1.01 * (402 * 1002 + 9)


def test_tiles_go_along_rows_of_memory() -> None:
    """Blocks of 8 of a row load as much as 8 whole rows, and took four times as long."""
    source = """void f(int t, int n, double A[n][n], double x[n], double y[n]) {
      for (int s = 0; s < t; s++) {
        for (int i = 0; i < n; i++) { y[i] = 1; for (int j = 0; j < n; j++) y[i] -= A[i][j] * x[j]; }
        for (int i = 0; i < n; i++) x[i] += y[i] / A[i][i];
      }
    }"""
    found = made(source, "t=50,n=2000,S=4096", 0.2)
    row = re.search(r"for \(long (c\d) = [^;]*; \1 < min\(n, (T0_\d) [^\n]*\n *S1\(c\d, c\d, \1\)", found["code"])
    assert row is not None
    assert found["tiles"][row[2]] >= 64


def test_elements_told_apart_by_a_remainder_go_along_rows() -> None:
    """Skewed tiles walked u[(t + 2) % 3] on a lattice, at an eighth of its speed, or keep the program's order."""
    source = """void f(int t, int n, double u[3][n][n]) {
      for (int s = 0; s < t; s++) for (int i = 1; i < n - 1; i++) for (int j = 1; j < n - 1; j++)
        u[(s + 2) % 3][i][j] = u[s % 3][i][j] + u[(s + 1) % 3][i - 1][j] + u[(s + 1) % 3][i + 1][j]
          + u[(s + 1) % 3][i][j - 1] + u[(s + 1) % 3][i][j + 1];
    }"""
    found = made(source, "t=50,n=300,S=1000")
    assert found["tiles"]
    assert re.search(r"VECTOR\n[^\n]* (c\d) \+= 1\) {\n *S0\(c\d, c\d - c\d, \1\);", found["code"])
