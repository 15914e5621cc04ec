"""The front end against an interpreter of the syntax tree: same instances, same order, same operands."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import islpy as isl
import numpy as np
import pytest
from tests.affine.derived import quick
from tests.reference.affine_interpreter import Interpreter, numbered

from shorthaul.affine.check.execution import execute
from shorthaul.affine.frontend.parser import parse
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.frontend.symbols import symbols
from shorthaul.affine.replay.cdag import concrete_cdag
from shorthaul.affine.sizes import assumption
from shorthaul.affine.workloads.cases import CASES, kernel_text
from shorthaul.core.errors import InputError

PROGRAMS = {
    "down": "for (int i = n - 1; i >= 0; i--) a[i] = a[i] + s;",
    "down by three": "for (int i = n; i > 1; i -= 3) a[i] += a[i - 1];",
    "up by two": "for (int i = 1; i <= n; i += 2) { a[i] = 0; for (int j = i; j < n; j = j + 3) a[i] += b[j]; }",
    "division in a bound": "for (int i = 0; i < n / 4; i++) for (int j = i / 2; j < n - n / 3; j++) a[i] += b[2 * j + 1];",
    "division of a negative number": "for (int i = 0; i < n; i++) a[i] = b[(i - 3) / 2] + b[(i - 3) % 2];",
    "remainder in a condition": "for (int i = 0; i < n; i++) if (i % 3 == 1) a[i] = b[i]; else a[i] = a[i - 1];",
    "affine ternary": "for (int i = 0; i < n; i++) a[i] = i == 0 ? b[0] : a[i - 1] + (i < m && i > 2 ? b[i] : s);",
    "data ternary": "for (int i = 1; i < n; i++) a[i] = a[i - 1] > b[i] ? a[i - 1] : s;",
    "ternary in a subscript": "for (int i = 0; i < n; i++) a[i > 2 ? i - 1 : i] += b[i];",
    "chain": "for (int i = 0; i < n; i++) { a[i] = s = b[i] + s; t = u = s; }",
    "counters": "for (int i = 0; i < n; i++) { s++; --t; a[i] = s * t; }",
    "locals": "double x = 2.0; int k = n - 1; for (int i = 0; i < n; i++) { double y = x * b[i]; a[k - i] = y; }",
    "iterator declared outside": "int i, j; for (i = 0; i < n; i++) for (j = 0; j <= i; j++) a[i] += b[j];",
    "same iterator twice": "for (int i = 0; i < n; i++) a[i] = 0; for (int i = 0; i < m; i++) b[i] = a[i] + i * 2;",
    "conditions": "for (int i = 0; i < n; i++) { if (i < 2 || !(i != 4)) a[i] = 1; if (i >= m) { a[i] = b[i]; } }",
    "two limits": "for (int i = 0; i < n && i < m; i++) for (int j = max(0, i - 2); j < min(n, i + 2); j++) a[i] += b[j];",
    "colours": "for (int c = 0; c < 2; c++) for (int i = 1 + (n + c) % 2; i < n; i += 2) a[i] += a[i - 1] + c;",
    "colours that fall": "for (int t = 0; t < m; t++) for (int c = 2; c >= 0; c--) { int k = (t + c) % 3; a[k] += c * b[t]; }",
    "colours inside of a loop": (
        "for (int i = 0; i < n; i++) { a[i] = i; for (int c = 0; c < 2; c++) for (int j = c % 2; j < n; j += 2) b[j] += a[i] + c; }"
    ),
    "planes of a buffer": "for (int t = 1; t < m; t++) for (int i = 2; i < n; i++) d[(t + 1) % 2][i] = d[t % 2][i - 2] + d[1 - t % 2][i];",
    "planes by a name of a name": (
        "for (int t = 0; t < m; t++) { int p = t % 2, q = 1 - p; for (int i = 2; i < n; i++) d[q][i] = d[p][i - 2] + d[q][i]; }"
    ),
    "planes that fall, named": (
        "for (int t = m; t > 0; t -= 2) { int p = t % 3, q = (t + 1) % 3; for (int i = 2; i < n; i++) d[p][i] += d[q][i - 2] * t; }"
    ),
    "planes in the header": (
        "for (int t = 0, p = t % 2, q = (t + 1) % 2; t <= m; t += 1, p = t % 2, q = (t + 1) % 2)"
        " for (int i = 1; i < n; i++) d[q][i] = d[p][i - 1] + d[p][i];"
    ),
    "limit on the left": "for (int i = 0; n > i; ++i) a[i] = b[i];",
    "ends at the first failure": "for (int i = 0; i % 4 != 3 && i < n; i++) a[i] = b[i];",
    "empty": "for (int i = 0; i < n; i++) ; a[0] = 1; { ; }",
    "comma": "for (int i = 0; i < n; i++) { a[i] = 1, s = a[i]; }",
    "functions": "for (int i = 0; i < n; i++) a[i] = sqrt(fabs(b[i])) + pow(b[i], 2.0) - (float)n;",
    "dead code": "if (0) a[0] = 1; for (int i = 0; i < n; i++) a[i] = b[i];",
    "shifts": "for (int i = 0; i < n >> 1; i++) a[i << 1] = b[i];",
    "comments": "/* a */ for (int i = 0; i < n; i++) // b\n a[i] = /* c\n d */ b[i];",
}  # fmt: skip


NAMES = [case.name for case in CASES]


def source(body: str) -> str:
    return (
        "void f(int n, int m, double a[n], double b[n], double d[3][n], double s) {\n double t, u;\n"
        f"#pragma scop\n{body}\n#pragma endscop\n}}\n"
    )


def check(text: str, sizes: dict[str, int]) -> int:
    region = parse(text)
    interpreter = Interpreter(region, sizes, set(symbols(region).data)).run()
    expected = numbered(interpreter)
    program = program_from_text(text)
    execution = execute(program, {name: sizes[name] for name in program.parameters})
    vertices = execution.vertices()
    assert len(vertices) == execution.inputs + len(expected)
    names = [("input", array, *element) for array, element in vertices[: execution.inputs]]
    for at, operands in enumerate(expected):
        vertex = at + execution.inputs
        found = execution.operands[execution.starts[vertex] : execution.starts[vertex + 1]].tolist()
        assert {names[v] if v < execution.inputs else v - execution.inputs for v in found} == operands
    # isl's dependences on the arrays of the fast enumeration give the same graph
    cdag = concrete_cdag(program, {name: sizes[name] for name in program.parameters})
    assert (cdag.n, cdag.inputs) == (len(names) + len(expected), len(names))
    assert np.array_equal(np.diff(cdag.starts)[cdag.inputs :], [len(item) for item in expected])
    for at, operands in enumerate(expected):
        vertex = at + cdag.inputs
        found = cdag.operands[cdag.starts[vertex] : cdag.starts[vertex + 1]].tolist()
        inner: set[Any] = {v - cdag.inputs for v in found if v >= cdag.inputs}
        assert inner == {item for item in operands if isinstance(item, int)}
    return len(expected)


@pytest.mark.costly
@pytest.mark.parametrize("body", PROGRAMS.values(), ids=list(PROGRAMS))
def test_small_programs(body: str) -> None:
    counts = [check(source(body), {"n": n, "m": m}) for n, m in ((0, 0), (1, 3), (5, 2), (9, 12), (14, 6))]
    assert max(counts) > 0


@pytest.mark.costly
@pytest.mark.parametrize("name", quick(NAMES, NAMES[::6]))
def test_built_in_kernels(name: str) -> None:
    text = kernel_text(name)
    names = program_from_text(text).parameters
    for base in (2, 4) if len(names) > 3 else (1, 4, 6):
        sizes = {item: base + at % 2 for at, item in enumerate(names)}
        check(text, sizes)


def test_program_order_is_kept() -> None:
    program = program_from_text(source("for (int i = n - 1; i >= 0; i--) { a[i] = b[i]; b[i] = a[i]; }"))
    execution = execute(program, {"n": 3})
    order = execution.vertices()[execution.inputs :]
    assert order == [("S0", (2,)), ("S1", (2,)), ("S0", (1,)), ("S1", (1,)), ("S0", (0,)), ("S1", (0,))]
    assert order == [execution.instance(at) for at in range(6)]
    assert all(first != second for first, second in pairwise(order))


@pytest.mark.parametrize(("read", "count"), [("d[p][i - 1] + d[p][i + 1]", 1), ("d[p][i - 2] + d[q][i]", 2)])
def test_planes_are_taken_apart_where_reads_reach_far(read: str, count: int) -> None:
    body = f"{{ int p = t % 2, q = 1 - p; for (int i = 2; i < n - 1; i++) d[q][i] = {read}; }}"
    program = program_from_text(f"void f(int m, int n, double d[2][n]) {{ for (int t = 0; t < m; t++) {body} }}")
    assert len(program.statements) == count


def test_flattened_subscripts_are_taken_apart() -> None:
    body = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) a[i * m + j] = b[(i + 1) * m + j] + a[i * m];"
    program = program_from_text(source(body))
    assert program.arrays["a"].dimensions == 2
    assert "a[i, j]" in str(program.statements[0].write.relation)
    assert "b[1 + i, j]" in str(program.statements[0].reads[0].relation)


@pytest.mark.parametrize(
    ("place", "where"),
    [
        ("j * (n + 2) + i", "n >= -2 + m"),
        ("j * (2 * n + 20) + j", "2n >= -20 + m"),
        ("((n + 1) / 2) * j + i", "m <= floor((1 + n)/2)"),
    ],
)
def test_rows_with_a_border_are_long_enough_for_another_parameter(place: str, where: str) -> None:
    body = f"for (int j = 0; j < m; j++) for (int i = 0; i < m; i++) a[{place}] += b[i];"
    program = program_from_text(f"void f(int n, int m, double *a, double b[m]) {{ {body} }}")
    said, known = (isl.Set(f"[m, n] -> {{ : {text} }}") for text in (assumption(program), where))
    assert said.is_equal(known)  # isl has several texts for one set
    column = place[-1]
    assert f"a[j, {column}]" in str(program.statements[0].write.relation)


def test_flattened_subscripts_in_three_dimensions() -> None:
    body = (
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) for (int k = 0; k < q; k++)"
        " a[i * m * q + j * q + k] = b[(i * m + j) * q + k];"
    )
    program = program_from_text(source(body).replace("int m,", "int m, int q,"))
    assert program.arrays["a"].dimensions == program.arrays["b"].dimensions == 3


def test_operations_are_counted_once_per_distinct_expression() -> None:
    program = program_from_text(kernel_text("floyd-warshall"))
    assert program.statements[0].operations == 2  # one addition, one comparison: 2 N^3 in the paper's Table 1
    assert program_from_text(kernel_text("gemm")).statements[1].operations == 3


def test_parameters_keep_the_order_of_use_and_their_defaults() -> None:
    text = "#define N 100\n#define M (20)\nvoid f(double a[N]) {\n#pragma scop\nfor (int i = M; i < N; i++) a[i] = 0;\n#pragma endscop\n}\n"
    program = program_from_text(text)
    assert program.parameters == ("M", "N")
    assert dict(program.defaults) == {"N": 100, "M": 20}


def test_element_sizes_come_from_the_declarations() -> None:
    text = (
        "typedef float real;\nvoid f(int n, float x[n], int k[n], double y[n]) {\n#pragma scop\n"
        "for (int i = 0; i < n; i++) y[i] = x[i] + k[i];\n#pragma endscop\n}"
    )
    arrays = program_from_text(text).arrays
    assert (arrays["x"].element_bytes, arrays["k"].element_bytes, arrays["y"].element_bytes) == (4, 4, 8)


@pytest.mark.parametrize(
    ("value", "sure"),
    [
        ("a[i] > s ? b[i] : a[i + 1]", {"a[i]", "s"}),
        ("a[i] > s ? b[i] : b[i] * a[i + 1]", {"a[i]", "s", "b[i]"}),
        ("a[i] < b[i] ? b[i] : a[i]", {"a[i]", "b[i]"}),
        ("s > 0 && a[i] > 0 ? b[i] : 1", {"s"}),
        ("s > 0 ? (a[i] > 0 ? b[i] : 2) : (a[i] > 1 ? 3 : b[i])", {"s", "a[i]"}),
        ("s > 0 ? (i < m ? b[i] : a[i]) : b[i]", {"s", "b[i]"}),  # b[i] for i < m
        ("i < m ? a[i] : b[i]", {"a[i]", "b[i]"}),
        ("(s > 0 ? b[i] : a[i]) + b[i]", {"s", "b[i]"}),
        ("fmax(a[i], b[i])", {"a[i]", "b[i]"}),
    ],
)
def test_what_is_read_whatever_the_data_are(value: str, sure: set[str]) -> None:
    """One branch of a choice between values is read, and what stands behind && only where it has to be."""
    program = program_from_text(source(f"for (int i = 0; i < n; i++) a[i + 2] = {value};"))
    assert {item.text for item in program.with_sure_reads().statements[0].reads} == sure
    assert program.has_choices() == (len(sure) < len(program.statements[0].reads))


@pytest.mark.costly
@pytest.mark.parametrize("token", ["a", '\\"'])
def test_long_text_takes_time_by_its_length(token: str) -> None:
    """Text of 200,000 characters around a kernel, which would take minutes if places were looked at twice."""
    kernel = "void f(int n, int A[n]) {\n#pragma scop\nfor (int i = 0; i < n; i++) A[i] = 0;\n#pragma endscop\n}\n"
    long = token * (200_000 // len(token))
    assert program_from_text(kernel + long).statements
    assert program_from_text(kernel.replace("int A[", "int A[" + "\r\n" * 100_000)).statements
    nested = 5_000
    assert program_from_text("#ifdef x\n" * nested + long + "\n#endif" * nested + f"\n{kernel}").statements


def test_declarations_are_read_together() -> None:
    """A type of the file's own is known behind 300 others, what is not C, and a header as the preprocessor leaves it."""
    types = "".join(f"typedef int t{i};\n" for i in range(300))
    header = (
        '# 1 "/usr/include/math.h" 1 3 4\n__extension__ typedef _Float32 real;\n'
        "extern double sqrt (double __x) __attribute__ ((__nothrow__ , __leaf__, __nonnull__ ((1))));\n"
        'extern int scan (const char *__restrict) __asm__ ("" "__isoc99_scan") __attribute__((x));\n# 9 "kernel.c"\n'
    )
    program = program_from_text(
        f"{types}{header}typedef double __attribute__((aligned(64))) wide;\nint x + weird;\nwide A[5];\nreal B[5];\n"
        "void f(void) {\n#pragma scop\nfor (int i = 0; i < 5; i++) A[i] = sqrt(B[i]);\n#pragma endscop\n}\n"
    )
    assert program.arrays["A"].element_bytes == 8
    assert program.arrays["B"].element_bytes == 4


def test_a_limit_may_stand_before_its_iterator() -> None:
    text = "void f(int n, double a[n]) { for (int i = 1; %s; i++) a[i] = a[i - 1]; }"
    turned, straight, other = (program_from_text(text % limit) for limit in ("n > i", "i < n", "i <= n"))
    assert str(turned.statements[0].domain) == str(straight.statements[0].domain) != str(other.statements[0].domain)


def test_numbers_without_a_sign_wrap() -> None:
    """What falls below 0 is large: in comparisons, and in remainders by powers of two; others are refused."""
    text = """void f(unsigned n, int w, double *x, double *y) {{
      for (unsigned i = 0; i < n; i++) x[i] = y[(i - 1) % {0}];
      for (int i = 0; i < w; i++) for (int d = -1; d < 2; d++) if ((unsigned)(i + d) < (unsigned)w) x[i] += y[i + d];
    }}"""
    program = program_from_text(text.format(8))
    first, second = program.statements
    assert first.code[2].text == "y[(((unsigned)(i)) - 1) % 8]"
    element = (
        first.reads[0]
        .relation.intersect_domain(isl.Set.read_from_str(isl.DEFAULT_CONTEXT, "[n] -> { S0[i] : i = 0 < n }"))
        .range()
    )
    assert element.is_equal(isl.Set.read_from_str(isl.DEFAULT_CONTEXT, "[n] -> { y[7] : n > 0 }"))
    inside = isl.Set.read_from_str(
        isl.DEFAULT_CONTEXT, "[w] -> { S1[i_1, d] : 0 <= i_1 < w and -1 <= d <= 1 and 0 <= i_1 + d < w }"
    )
    assert second.domain.is_equal(inside)
    for modulus in ("7", "n"):
        with pytest.raises(InputError, match="falls below 0"):
            program_from_text(text.format(modulus))
