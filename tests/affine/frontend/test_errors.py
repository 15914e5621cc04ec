"""Every way a C file can be wrong: line, column, expression, cure."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.samples import samples

from shorthaul.affine.frontend import preprocess
from shorthaul.affine.frontend.scop import load, program_from_text
from shorthaul.affine.replay.cdag import concrete_cdag
from shorthaul.affine.verbs.bound import bound
from shorthaul.affine.workloads.cases import case, kernel_text
from shorthaul.core.errors import InputError, ShorthaulError

FRAME = "void f(int n, double a[n], double b[n], double g[n][n], int idx[n], double *p, double s) {\n#pragma scop\n%s\n#pragma endscop\n}\n"

#: body of the region (its first line is line 3 of the file) -> what the message must say
BODIES = {
    "product of iterators": ("for (int i = 0; i < n; i++) a[i * i] = 0;", "line 3 column 31", "i * i", "not affine"),
    "product in a bound": ("for (int i = 1; i < n * n; i++) a[i] = 0;", "line 3 column 21", "n * n", "two unknowns"),
    "indirect subscript": ("for (int i = 0; i < n; i++)\n  a[idx[i]] = 0;", "line 4 column 5", "idx[i]", "reads an array"),
    "division by a parameter": ("for (int i = 0; i < 9; i++) a[i / n] = 0;", "line 3", "i / n", "positive constant"),
    "data in a bound": ("for (int i = 0; i < s; i++) a[i] = 0;", "line 3 column 21", "s is data", "declare it as int"),
    "assigned integer": ("int k; k = 0; for (int i = 0; i < n; i++) { a[k] = 0; k *= 2; }", "line 3", "k is assigned"),
    "while": ("int i = 0; while (i < s) { a[i] = 0; i *= 2; }", "line 3 column 12", "while loop", "for loop"),
    "counter used behind": ("int i, k; for (i = 0, k = n; i < k; i++, k--) { a[i] = 0; if (s > 0) break; } a[0] = a[k];", "line 3", "one iterator"),
    "counter behind a loop that may be empty": ("int j; for (int i = -9; i < n; i++) { for (j = 0; j < i; j += 2) a[j] = 1; a[j] = 2; }", "line 3", "never holds"),
    "packed rows that overlap": ("for (int i = 0; i < n; i++) for (int j = 0; j <= i; j++) a[i * (i - 1) / 2 + j] = 0;", "line 3", "two unknowns"),
    "do": ("do { a[0] = 1; } while (s > 0);", "line 3 column 1", "do loop"),
    "break": ("a[0] = 0; break;", "line 3 column 11", "break", "affine if"),
    "continue": ("continue; a[0] = 0;", "line 3", "continue", "affine if"),
    "goto": ("x: a[0] = 1; goto x;", "line 3"),
    "return": ("a[0] = 1; return;", "line 3 column 11", "return", "end the region"),
    "switch": ("switch (n++) { case 1: a[0] = 1; }", "line 3 column 1", "switch"),
    "condition on data": ("for (int i = 1; i < n; i++) if (a[i] > s) for (int j = 0; j < i; j++) a[j] = s;", "line 3 column 33", "depends on data", "ternaries"),
    "pointer": ("for (int i = 0; i < n; i++) if (a[i] > 0) *p++ = 0;", "line 3", "pointer arithmetic", "a[i]"),
    "address": ("a[0] = &b[0];", "line 3", "pointer arithmetic"),
    "structure": ("a[0] = q.x;", "line 3", "structure", "plain arrays"),
    "call": ("for (int i = 0; i < n; i++) update(a, i);", "line 3 column 29", "side effects", "update(a, i)"),
    "call in an expression": ("a[0] = rand() + 1.0;", "line 3 column 8", "rand", "sqrt"),
    "call in a subscript": ("a[g(n)] = 1.0;", "line 3 column 3", "calls a function"),
    "assignment inside": ("a[0] = 1.0 + (s = 2.0);", "line 3", "assigns inside itself", "its own"),
    "iterator assigned": ("for (int i = 0; i < n; i++) { a[i] = 0; i = i + 1; }", "line 3", "iterator is assigned"),
    "no condition": ("for (int i = 0; ; i++) a[i] = 0;", "line 3 column 1", "no condition"),
    "never ends": ("for (int i = 0; i >= 0; i++) a[i] = 0;", "line 3 column 1", "never ends"),
    "two iterators": ("for (int i = 0, j = 0; i < n; i++) { j += j; a[j] = 0; }", "line 3", "one iterator"),
    "step": ("for (int i = 1; i < n; i *= 2) a[i] = 0;", "line 3 column 24", "step is not a constant"),
    "step by a parameter": ("for (int i = 1; i < n; i += n) a[i] = 0;", "line 3", "step is not a constant"),
    "iterator after its loop": ("int i; for (i = 0; i < n; i++) a[i] = 0; a[0] = a[i];", "line 3", "i"),
    "subscript counts": ("a[0] = 1; s = a;", "line 3", "0 and 1 subscripts"),
    "no assignment": ("for (int i = 0; i < n; i++) ;", "line 3", "no assignment"),
    "never executed": ("for (int i = 0; i < n; i++) if (i < 0) a[i] = 1;", "line 3", "no assignment that is executed"),
    "syntax": ("for (int i = 0; i < n i++) a[i] = 0;", "line 3 column 23", "syntax error"),
    "syntax later": ("for (int i = 0; i < n; i++)\n  a[i] = = 0;", "line 4", "syntax error"),
    "pointer to another array": ("double *q = a; for (int i = 0; i < n; i++) { *q = 0; q = b; }", "line 3", "pointer q is set to lead elsewhere", "u[t % 2][i]"),
    "iterator of a loop around": ("int i; for (i = 0; i < n; i++) for (i = 0; i < 2; i++) a[i] = 0;", "line 3 column 32", "counts with the iterator", "one of its own"),
    "statements in a value": ("for (int i = 0; i < n; i++) a[i] = ({ double z = 2; z; });", "line 3", "this kind of expression"),
    "values of no row": ("double t[2][2] = {1, 2, 3, 4}; for (int i = 0; i < n; i++) a[i] = t[1][1];", "line 3", "the array's axes", "every row"),
    "pointer behind an array": ("double *q = a + n; *q = 0;", "line 3 column 21", "leaves the declared extent n", "a[n]"),
    "array of structures": ("for (int i = 0; i < n; i++) cells[i].v = 0;", "line 3 column 29", "cells[i].v", "plain arrays"),
    "not equal": ("for (int i = n; i != 0; i++) a[i] = 0;", "line 3 column 1", "never ends", "in place of !="),
    "subscript missing": ("a[0] = 1; b[0] = 1; g[0] = 2;", "line 3", "g[0]", "declared with 2 and used with 1", "as it is declared"),
    "subscript too many": ("for (int i = 0; i < n; i++) a[i][1] = 0;", "line 3 column 29", "declared with 1 and used with 2"),
    "not declared": ("for (int i = 0; i < n; i++) a[i] = zz[i];", "line 3 column 36", "zz is not declared", "zz[i]", "declare it"),
    "comma": ("for (int i = 0; i < n; i++) a[i] = (b[i], 2.0);", "line 3 column 37", "comma", "statement of its own"),
    "fractional iterator": ("for (double i = 0; i < n; i++) a[(int)i] = 0;", "line 3 column 1", "no integer", "declare i as int"),
    "data as iterator": ("for (s = 0; s < n; s++) a[0] = 0;", "line 3 column 1", "no integer", "declare s as int"),
    "unsigned iterator": ("for (unsigned int i = n - 1; i >= 0; i--) a[i] = 0;", "line 3 column 1", "never below 0", "as int"),
    "text": ('a[0] = "x";', "line 3 column 8", "a text is no number"),
    "constant assigned": ("3 = a[0];", "line 3 column 1", "no place to write to"),
    "sum assigned": ("a[0] + b[0] = 1;", "line 3 column 1", "a[0] + b[0]", "no place to write to"),
    "size of": ("for (int i = 0; i < sizeof(a); i++) a[i] = 0;", "line 3 column 21", "sizeof is not understood"),
    "fraction in a bound": ("for (int i = 0; i < n * 0.5; i++) a[i] = 0;", "line 3 column 25", "no integer", "n / 2"),
    "square in a bound": ("for (int i = 0; i * i < n; i++) a[i] = 0;", "line 3 column 17", "i * i", "two unknowns"),
    "not equal in steps of 2": ("for (int i = 0; i != n; i += 2) a[i] = 0;", "line 3 column 1", "never ends", "in place of !="),
    "comment never closed": ("a[0] = 1; /* oops", "line 3 column 11", "comment is never closed", "add */"),
    "quote never closed": ('a[0] = "abc;', "line 3 column 8", "is not C", "quote"),
    "semicolon missing": ("for (int i = 0; i < n; i++) a[i] = 0", "line 4 column 1", "missing semicolon"),
    "bracket missing": ("for (int i = 0; i < n; i++) a[i = 0;", "line 3", "bracket"),
    "comma in a subscript": ("for (int i = 0; i < n; i++) a[i, 1] = 0;", "line 3 column 31", "i, 1"),
    "step of 0": ("for (int i = 0; i < n; i += 0) a[i] = 0;", "line 3", "other than 0"),
    "no step": ("for (int i = 0; i < n;) a[i] = 0;", "line 3", "step is not a constant"),
    "no start": ("int i = 0; for (; i < n; i++) { a[i] = 0; i *= 2; }", "line 3 column 12", "set the iterator"),
    "backwards": ("for (int i = n; i < 0; i--) a[i] = 0;", "line 3", "towards its limit"),
    "division by zero": ("for (int i = 0; i < n; i++) a[i / 0] = 0;", "line 3 column 31", "positive constant"),
    "remainder of a parameter": ("for (int i = 0; i < n; i++) a[9 * i % n] = 0;", "line 3 column 31", "positive constant"),
    "bits": ("for (int i = 0; i < n; i++) a[i & 6] = 0;", "line 3 column 31", "the operator &"),
    "truth as subscript": ("for (int i = 0; i < n; i++) a[i < 3] = 0;", "line 3 column 31", "the operator <"),
    "counter in a subscript": ("int k = 0; for (int i = 0; i < n; i++) a[k++] = s > 0 ? b[k++] : 0;", "line 3", "changes a variable"),
    "walk through rows": ("double *q = &g[0][0]; for (int i = 0; i < n * n; i++) q[i] = 0;", "line 3", "leaves the declared extent n"),
    "subscript beyond rows": ("for (int i = 0; i < n * 4; i++) g[0][i] = 0;", "line 3", "leaves the declared extent n", "one axis"),
    "assertion": ("for (int i = 0; i < n; i++) { assert(i < 0); a[i] = 0; }", "line 3 column 38", "never holds"),
    "iterator counted on": ("for (int i = 0; i < n; i++) { a[i] = 0; i++; }", "line 3 column 41", "loop's header only"),
    "bytes of other values": ("memset(a, 1, n * sizeof(double));", "line 3 column 1", "side effects"),
    "bytes of another type": ("memcpy(a, b, n * sizeof(float));", "line 3 column 1", "side effects"),
    "bytes beyond a row": ("memset(g, 0, n * sizeof(double));", "line 3 column 1", "side effects"),
    "allocation of zeros": ("double *q = calloc(n, 8); q[0] = 1;", "line 3 column 13", "calloc", "write the function out"),
    "printing": ('for (int i = 0; i < n; i++) printf("%g", a[i]);', "line 3 column 29", "side effects"),
    "assembler": ('asm("nop");', "line 3 column 1", "side effects"),
    "member": ("a[0] = p->x;", "line 3 column 8", "structure"),
    "else alone": ("else a[0] = 1;", "line 3 column 1", "before: else"),
    "keyword as a name": ("for (int int = 0; int < n; int++) a[0] = 1;", "line 3 column 6", "is not C"),
    "function in a function": ("double h(double x) { return x; } a[0] = 1;", "line 3 column 20", "is not C"),
    "label": ("l1: for (int i = 0; i < n; i++) a[i] = 0;", "line 3 column 1", "loops, ifs and assignments only"),
    "constant subscript": ("double w[10]; w[12] = 1;", "line 3 column 17", "w[12]", "12 leaves the declared extent 10", "0 up to 10 - 1", "declare the array larger"),
    "negative subscript": ("for (int i = 0; i < n; i++) g[i][-1] = 0;", "line 3 column 35", "g[i][-1]", "declared extent n"),
    "subscript at the extent": ("for (int i = 0; i < n; i++) a[i] = g[n][i];", "line 3 column 38", "n leaves the declared extent n"),
    "loop past a constant extent": ("double w[10]; for (int i = 0; i <= 10; i++) w[i] = 1;", "line 3 column 47", "i leaves the declared extent 10"),
    "flattened out of its wide row": ("for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) a[4 * n * i + 5 * j] = 0;", "line 3", "row of 4 * n"),
    "flattened out of its row": ("for (int i = 0; i < n; i++) for (int j = 0; j <= n; j++) a[i * n + j] = 0;", "line 3", "row of n"),
}  # fmt: skip

FILES = {
    "no loops": ("void f(int n) { }", ["no loops", "around the loop nest"]),
    "loops by goto": ("void f(int n, double a[n]) {\n  top: a[0] += 1;\n  goto top;\n}\n", ["line 2 column 3", "top: ", "in place of goto"]),
    "while": ("void f(int n, double a[n]) {\n  int i = 0;\n  while (i < n) { a[i] = 0; i *= 2; }\n}\n", ["line 3 column 3", "a while loop", "as a for loop"]),
    "do": ("void f(int n, double a[n]) {\n  do { a[0] += 1; } while (n > 0);\n}\n", ["line 2 column 3", "a do loop", "as a for loop"]),
    "two without pragma": ("void f(int n) { for (;;) ; }\nvoid g(int n) { for (;;) ; }\n", ["several functions have loops", "f, g", "--function"]),
    "complex numbers": ("#include <complex.h>\n\nvoid f(int n, double complex *A) { for (;;) ; }\n", ["line 3", "complex", "real and imaginary"]),
    "no function": ("int x;\n", ["no function"]),
    "empty": ("", ["no function"]),
    "pragma outside": ("#pragma scop\nint x;\n#pragma endscop\n", ["outside every function"]),
    "never closed": ("void f(int n, double a[n]) {\n#pragma scop\na[0] = 1;\n}\n", ["line 2", "never closed", "endscop"]),
    "two regions": ("void f(double a[1]) {\n#pragma scop\na[0] = 1;\n#pragma endscop\n#pragma scop\na[0] = 2;\n#pragma endscop\n}\n", ["line 2", "several '#pragma scop'", "function of its own"]),
    "region in a region": ("void f(double a[1]) {\n#pragma scop\n#pragma scop\na[0] = 1;\n#pragma endscop\n}\n", ["line 2", "several '#pragma scop'"]),
    "ends before it begins": ("void f(double a[1]) {\n#pragma endscop\na[0] = 1;\n#pragma scop\n}\n", ["line 4", "never closed"]),
    "empty region": ("void f(void) {\n#pragma scop\n#pragma endscop\n}\n", ["line 2", "empty"]),
    "brace": ("void f(int n) {\n#pragma scop\nfor (;;) {\n#pragma endscop\n}\n", ["never closed", "line 1"]),
    "brace too many": ("void f(int n) {\n}\n}\n", ["line 3", "never opened"]),
    "brackets": (f"typedef double A{'[2]' * 65};\nvoid f(int n) {{}}\n", ["line 1 column 209", "too many brackets"]),
    "endif": ("#if 1\nvoid f(int n) {}\n", ["#if without #endif"]),
    "else": ("#else\n", ["line 1", "#else without #if"]),
    "macro arguments": ("#define F(x, y) x\nvoid f(int n, double a[n]) {\n#pragma scop\na[0] = F(1);\n#pragma endscop\n}\n", ["line 4 column 8", "2 arguments, 1"]),
    "macro never closed": ("#define F(x) x\nvoid f(int n, double a[n]) {\n#pragma scop\na[0] = F(1;\n#pragma endscop\n}\n", ["line 4", "never closed"]),
    "error directive": ("#error stop here\n", ["line 1", "#error", "stop here"]),
    "condition": ("#if N >\n#endif\n", ["line 1", "constant condition"]),
    "two functions": (
        "void f(double a[1]) {\n#pragma scop\na[0] = 1;\n#pragma endscop\n}\nvoid g(double a[1]) {\n#pragma scop\na[0] = 1;\n#pragma endscop\n}\n",
        ["several functions", "f, g", "--function"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
def test_regions(name: str) -> None:
    body, *says = BODIES[name]
    with pytest.raises(InputError) as caught:
        program_from_text(FRAME % body)
    for text in says:
        assert text in str(caught.value), str(caught.value)
    assert "do: " in str(caught.value)
    assert "found: " in str(caught.value)


@pytest.mark.parametrize("name", FILES)
def test_files(name: str) -> None:
    text, says = FILES[name]
    with pytest.raises(InputError) as caught:
        program_from_text(text)
    for part in says:
        assert part in str(caught.value), str(caught.value)
    assert "do: " in str(caught.value)


def test_unknown_function() -> None:
    text = FRAME % "a[0] = 1;" + "void other(int n) { }\n"
    with pytest.raises(InputError, match="unknown function"):
        program_from_text(text, function="g")
    with pytest.raises(InputError, match="the function other is empty"):
        program_from_text(text, function="other")
    assert program_from_text(text, function="f").name == "f"


def test_columns_are_those_of_the_file_inside_macros() -> None:
    text = "#define TIMES(x, y) ((x) * (y))\n" + FRAME % "for (int i = 0; i < n; i++) a[0] = a[TIMES(i, i)];"
    with pytest.raises(InputError) as caught:
        program_from_text(text)
    assert "line 4 column 38" in str(caught.value)


def test_the_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "bad.c"
    with pytest.raises(InputError) as caught:
        load(path, b"void f(void) { }")
    assert str(caught.value).startswith(str(path))
    with pytest.raises(InputError, match="UTF-8"):
        load(path, b"\xff\xfe")


def test_damaged_files_end_in_a_message() -> None:
    random.seed(7)
    complaints = []
    names = ("gemm", "nussinov", "deriche", "cholesky", "adi", "lcs")
    for attempt in samples(150):
        text = kernel_text(names[attempt % len(names)])
        at = random.randrange(len(text))
        length = random.choice([1, 1, 2, 5, 30])
        inserted = random.choice(["", "", "(", "}", "*", "[", "#", "while", "0", "\\", '"', "/*"])
        damaged = text[:at] + inserted + text[at + length :]
        try:
            program_from_text(damaged)
        except ShorthaulError as error:
            complaints.append(str(error))
    assert len(complaints) > len(samples(150)) // 3
    assert all(complaints)


@pytest.mark.parametrize("call", ["M%d M%d", pytest.param("M%d + M%d", marks=pytest.mark.slow)])
def test_macros_that_double_one_another(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """2^40 expansions, of nothing or of a long sum: one error, at once."""
    monkeypatch.setattr(preprocess, "_MOST_EXPANSIONS", 10_000)
    lines = [f"#define M{at} {call % (at + 1, at + 1)}" for at in range(40)]
    text = "\n".join([*lines, "#define M40", FRAME % "a[0] = 1; M0"])
    with pytest.raises(InputError, match="expands to too much") as caught:
        program_from_text(text)
    assert "line 44 column 11" in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("many", [220, 300])  # 180 leave room to recur
def test_hundreds_of_nested_loops(many: int) -> None:
    loops = [f"for (int i{at} = 0; i{at} < 9; i{at}++)" for at in range(many)]
    with pytest.raises(InputError, match=r"line 43 .*too many loops around it(.|\n)*up to 40 levels"):
        program_from_text(FRAME % "\n".join([*loops, "a[0] = 1;"]))


@pytest.mark.parametrize("text", ["ij,jk", "ij, jk", "ij,jk=>ik"])
def test_a_sum_without_its_arrow(text: str) -> None:
    for read in (case, bound):
        with pytest.raises(InputError, match=r"has no '->'(.|\n)*'ij,jk->ik'") as caught:
            read(text)
        assert "gemm" not in str(caught.value)


def test_while_in_python() -> None:
    text = "def f(A, x):\n    i = 0\n    while x > 1:\n        x = x * 0.5\n        A[i] = 0\n        i += 1\n"
    with pytest.raises(InputError, match=r"line 3 column 5: a while loop(.|\n)*for loop over a range"):
        case(text)


def test_too_many_instances() -> None:
    program = case("ij,jk->ik").workload
    with pytest.raises(InputError) as caught:
        concrete_cdag(program, {"i": 10**5, "j": 10**5, "k": 10**5})
    for part in ("S1 (line ", " 1,000,000,000,000,000 instances", "--size i=100000", "30,000,000", "use smaller sizes"):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (
            "double w[2] = {1, [1] = 3}; for (int i = 0; i < n; i++) a[i] = w[1];",
            ("line 3 column 19: designators", "'[1] = 3'", "in order"),
        ),
        (
            "struct { double x; } p = {.x = 3}; for (int i = 0; i < n; i++) a[i] = p.x;",
            ("line 3 column 28: designators", "'.x = 3'"),
        ),
        ("for (int i = 0; i < n; i++) { double n = a[i]; a[i] = g(n); }", ("line 3 column 55", "'g(n)'")),
        ("for (int i = 0; i < n; i++) { double n = a[i]; a[n] = 0; }", ("is not affine: n is data", "'n'")),
        ("static int k = 0; for (int i = 0; i < n; i++) a[k++] = 1;", ("line 3 column 49", "'k++'")),
    ],
)
def test_places_and_names_are_those_of_the_file(body: str, told: tuple[str, ...]) -> None:
    with pytest.raises(InputError) as caught:
        program_from_text(f"void f(int n, double a[n])\n{{\n{body}\n}}")
    assert all(part in str(caught.value) for part in told), str(caught.value)
