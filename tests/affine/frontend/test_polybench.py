"""Files in the style of PolyBench/C 4.2.1, with its macros, headers and harness around the kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from shorthaul.affine.frontend.scop import load, program_from_text
from shorthaul.affine.integer_sets.counting import card
from shorthaul.affine.workloads.cases import kernel

SYRK = r"""/**
 * A test file in the style of PolyBench: comments, includes, harness.
 */
/* syrk.c: this file is part of nothing */

#include <stdio.h>
#include <unistd.h>
#include <string.h>
#include <math.h>

/* Include polybench common header. */
#include <polybench.h>

/* Include benchmark-specific header. */
#include "syrk.h"

/* Array initialization. */
static
void init_array(int n, int m,
        DATA_TYPE *alpha,
        DATA_TYPE *beta,
        DATA_TYPE POLYBENCH_2D(C,N,N,n,n),
        DATA_TYPE POLYBENCH_2D(A,N,M,n,m))
{
  int i, j;

  *alpha = 1.5;
  *beta = 1.2;
  for (i = 0; i < n; i++)
    for (j = 0; j < m; j++)
      A[i][j] = (DATA_TYPE) ((i*j+1)%n) / n;
}

/* DCE code. Must scan the entire live-out data. */
static
void print_array(int n,
         DATA_TYPE POLYBENCH_2D(C,N,N,n,n))
{
  int i, j;

  POLYBENCH_DUMP_START;
  POLYBENCH_DUMP_BEGIN("C");
  for (i = 0; i < n; i++)
    for (j = 0; j < n; j++) {
        if ((i * n + j) % 20 == 0) fprintf (POLYBENCH_DUMP_TARGET, "\n");
        fprintf (POLYBENCH_DUMP_TARGET, DATA_PRINTF_MODIFIER, C[i][j]);
    }
  POLYBENCH_DUMP_END("C");
}

/* Main computational kernel. The whole function will be timed,
   including the call and return. */
static
void kernel_syrk(int n, int m,
         DATA_TYPE alpha,
         DATA_TYPE beta,
         DATA_TYPE POLYBENCH_2D(C,N,N,n,n),
         DATA_TYPE POLYBENCH_2D(A,N,M,n,m))
{
  int i, j, k;

//BLAS PARAMS
//TRANS = 'N'
#pragma scop
  for (i = 0; i < _PB_N; i++) {
    for (j = 0; j <= i; j++)
      C[i][j] *= beta;
    for (k = 0; k < _PB_M; k++) {
      for (j = 0; j <= i; j++)
        C[i][j] += alpha * A[i][k] * A[j][k];
    }
  }
#pragma endscop

}

int main(int argc, char** argv)
{
  /* Retrieve problem size. */
  int n = N;
  int m = M;

  /* Variable declaration/allocation. */
  DATA_TYPE alpha;
  DATA_TYPE beta;
  POLYBENCH_2D_ARRAY_DECL(C,DATA_TYPE,N,N,n,n);
  POLYBENCH_2D_ARRAY_DECL(A,DATA_TYPE,N,M,n,m);

  init_array (n, m, &alpha, &beta, POLYBENCH_ARRAY(C), POLYBENCH_ARRAY(A));
  polybench_start_instruments;
  kernel_syrk (n, m, alpha, beta, POLYBENCH_ARRAY(C), POLYBENCH_ARRAY(A));
  polybench_stop_instruments;
  polybench_print_instruments;
  polybench_prevent_dce(print_array(n, POLYBENCH_ARRAY(C)));
  POLYBENCH_FREE_ARRAY(C);
  return 0;
}
"""

HEADER = r"""#ifndef _SYRK_H
# define _SYRK_H

/* Default to LARGE_DATASET. */
# if !defined(MINI_DATASET) && !defined(SMALL_DATASET) && !defined(LARGE_DATASET)
#  define LARGE_DATASET
# endif

# if !defined(N) && !defined(M)
/* Define sample dataset sizes. */
#  ifdef MINI_DATASET
#   define M 20
#   define N 30
#  endif
#  ifdef LARGE_DATASET
#   define M 1000
#   define N 1200
#  endif
#endif /* !(N M) */

# define _PB_M POLYBENCH_LOOP_BOUND(M,m)
# define _PB_N POLYBENCH_LOOP_BOUND(N,n)

/* Default data type */
# if !defined(DATA_TYPE_IS_INT) && !defined(DATA_TYPE_IS_FLOAT) && !defined(DATA_TYPE_IS_DOUBLE)
#  define DATA_TYPE_IS_DOUBLE
# endif
#ifdef DATA_TYPE_IS_DOUBLE
#  define DATA_TYPE double
#  define DATA_PRINTF_MODIFIER "%0.2lf "
#  define SCALAR_VAL(x) x
#  define SQRT_FUN(x) sqrt(x)
#endif

#endif /* !_SYRK_H */
"""


def domains(program: object) -> list[str]:
    return [str(item.domain) for item in program.statements]  # type: ignore[attr-defined]


def test_a_polybench_file_without_its_header() -> None:
    program = program_from_text(SYRK)
    assert program.name == "kernel_syrk"
    assert program.parameters == ("N", "M")
    assert domains(program) == domains(kernel("syrk"))
    assert program.arrays["A"].extents == ("N", "M")


def test_a_polybench_file_beside_its_header(tmp_path: Path) -> None:
    (tmp_path / "syrk.h").write_text(HEADER)
    path = tmp_path / "syrk.c"
    program = load(path, SYRK.encode())
    assert domains(program) == domains(kernel("syrk"))
    assert dict(program.defaults) == {"N": 1200, "M": 1000}


@pytest.mark.parametrize("line_end", ["\r\n", "\r"])
def test_other_line_ends(line_end: str) -> None:
    assert domains(program_from_text(SYRK.replace("\n", line_end))) == domains(kernel("syrk"))


def test_polybench_macros_in_the_region() -> None:
    body = """
void kernel_x(int n, DATA_TYPE POLYBENCH_1D(a,N,n), DATA_TYPE float_n)
{
  int j;
  DATA_TYPE eps = SCALAR_VAL(0.1);
#pragma scop
  for (j = 0; j < _PB_N; j++)
    {
      a[j] = SQRT_FUN(a[j]) / (DATA_TYPE)_PB_N;
      a[j] = a[j] <= eps ? SCALAR_VAL(1.0) : a[j] + EXP_FUN(-float_n) * POW_FUN(a[j], SCALAR_VAL(2.0));
    }
#pragma endscop
}
"""
    program = program_from_text(body)
    assert program.parameters == ("N",)
    assert set(program.arrays) == {"a", "eps", "float_n"}


def test_dynamic_arrays_and_pointers_to_rows() -> None:
    text = "void f(int n, float (*a)[n], float **b) {\n#pragma scop\nfor (int i = 0; i < n; i++) a[i][0] = b[0][i];\n#pragma endscop\n}"
    assert {name: item.dimensions for name, item in program_from_text(text).arrays.items()} == {"a": 2, "b": 2}


def test_other_pragmas_are_skipped() -> None:
    text = "void f(int n, double *a) {\n#pragma scop\n#pragma omp parallel for\nfor (int i = 0; i < n; i++)\n#pragma ivdep\n a[i] = 0;\n#pragma endscop\n}"
    assert len(program_from_text(text).statements) == 1


def test_globals_typedefs_and_multi_line_macros() -> None:
    text = (
        "#define N 64\n#define STEP(a, i) \\\n  a[i] = a[i - 1] + \\\n    w\n"
        "typedef float real;\nreal w, field[N];\nstatic inline void f(const real * restrict unused)\n{\n#pragma scop\n"
        "  for (int i = 1; i < N; i++)\n    STEP(field, i);\n#pragma endscop\n}\n"
    )
    program = program_from_text(text)
    assert program.arrays["field"].element_bytes == 4
    assert program.statements[0].place.line == 11


HARNESS = """#include <polybench.h>
#include "{name}.h"
struct timing {{ double start; int runs; }};
#ifdef SINGLE
typedef float real;
#else
typedef double real;
#endif
static void init(int n, DATA_TYPE POLYBENCH_1D(x,N,n)) {{
  for (int i = 0; i < n; i++) x[i] = rand() % n;
}}
{kernel}
int main(int argc, char **argv) {{
  struct timing *t = malloc(sizeof *t);
  while (argc--) t->runs++;
  return 0;
}}
"""


def in_harness(kernel_text: str) -> str:
    return HARNESS.format(name="own", kernel=kernel_text)


@pytest.mark.parametrize("order", [0, 1])
def test_several_regions_in_one_file(order: int) -> None:
    bodies = ["  for (int i = 0; i < n; i++) y[i] = x[i];", "  for (int i = 1; i < n; i++) y[i] += y[i - 1] * x[i];"]
    text = in_harness(
        "\n".join(
            f"void step{at}(int n, real x[n], real y[n]) {{\n#pragma scop\n{body}\n#pragma endscop\n  if (n > 3) n--;\n}}"
            for at, body in enumerate(bodies)
        )
    )
    program = program_from_text(text, function=f"step{order}")
    assert program.name == f"step{order}"
    assert len(program.statements[0].reads) == 1 + 2 * order


@pytest.mark.parametrize(("kind", "width"), [("INT", 4), ("FLOAT", 4), ("DOUBLE", 8)])
def test_every_data_type(kind: str, width: int, tmp_path: Path) -> None:
    names = {"INT": "int", "FLOAT": "float", "DOUBLE": "double"}
    header = HEADER.replace("DATA_TYPE_IS_DOUBLE\n# endif", f"DATA_TYPE_IS_{kind}\n# endif")
    for key, word in names.items():
        header += f"#ifdef DATA_TYPE_IS_{key}\n# undef DATA_TYPE\n# define DATA_TYPE {word}\n#endif\n"
    (tmp_path / "syrk.h").write_text(header)
    program = load(tmp_path / "syrk.c", SYRK.encode())
    assert {item.element_bytes for item in program.arrays.values()} == {width}


def test_conditional_code_in_and_around_a_region() -> None:
    text = in_harness(
        "#ifdef TRANSPOSED\nvoid k(int m, int n, real a[m][n]) {\n#else\nvoid k(int n, int m, real a[n][m]) {\n#endif\n"
        '  real w = SCALAR_VAL(2.0);\n  fprintf(stderr, "%d\\n", n);\n#pragma scop\n#if defined(SCALED) && SCALED > 1\n'
        "  for (int i = 0; i < n; i++) a[i][0] = w;\n#else\n"
        "  for (int i = 0; i < n; i++)\n    for (int j = 0; j < m; j++) a[i][j] *= w;\n#endif\n#pragma endscop\n}"
    )
    for prefix, dimensions in (("", 2), ("#define SCALED 2\n", 1)):
        assert len(program_from_text(prefix + text).statements[0].iterators) == dimensions


def test_quarters_dead_statements_and_other_code_in_the_function() -> None:
    text = in_harness(
        "void k(int n, real *restrict a, const real *restrict b) {\n  int i, unused = 3; struct timing *t = 0;\n"
        "  do { unused--; } while (unused);\n#pragma scop\n"
        "  for (i = 0; i < n / 4; i++) a[4 * i] = b[i];\n"
        "  for (i = 0; i < 0; i++) a[i] = 7;\n  if (1 > 2) a[0] = b[0];\n"
        "#pragma endscop\n  goto out;\nout:\n  return;\n}"
    )
    program = program_from_text(text)
    assert len(program.statements) == 1
    assert [card(program.statements[0].domain).at({"n": n}) for n in (3, 4, 11)] == [0, 1, 2]


def test_flattened_subscripts_with_a_constant_row() -> None:
    text = in_harness(
        "void k(int n, int m, real *a, real *b) {\n#pragma scop\n  for (int i = 0; i < n; i++)\n"
        "    for (int j = 0; j < m; j++)\n      for (int c = 0; c < 4; c++)\n"
        "        a[(i * m + j) * 4 + c] += b[i * m + j];\n#pragma endscop\n}"
    )
    program = program_from_text(text)
    assert program.arrays["a"].dimensions == program.arrays["b"].dimensions == 2
    assert "a[i, 4j + c]" in str(program.statements[0].write.relation)
