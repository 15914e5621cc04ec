"""What goes in as Python: a function accesses what it accesses when it runs, and slices are loops."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shorthaul
from shorthaul.affine.check.execution import evaluate, instances
from shorthaul.affine.model import Program
from shorthaul.core.errors import InputError


class Recorded:
    """An array of ones that records which elements are read and written."""

    def __init__(self, name: str, shape: tuple[int, ...], trace: list[tuple[str, str, tuple[int, ...]]]) -> None:
        self.name, self.shape, self.trace = name, shape, trace

    def __len__(self) -> int:
        return self.shape[0]

    def place(self, at: Any) -> tuple[int, ...]:
        given = at if isinstance(at, tuple) else (at,)
        return tuple(int(item) % extent for item, extent in zip(given, self.shape, strict=True))

    def __getitem__(self, at: Any) -> float:
        self.trace.append(("read", self.name, self.place(at)))
        return 1.0

    def __setitem__(self, at: Any, value: float) -> None:
        self.trace.append(("write", self.name, self.place(at)))


def executed(text: str, shapes: dict[str, tuple[int, ...]], given: dict[str, int]) -> list[Any]:
    """Run the Python function and return what every write to an array has read since the last one."""
    trace: list[tuple[str, str, tuple[int, ...]]] = []
    names: dict[str, Any] = {"math": math}
    exec(text, names)
    function = names["f"]
    wanted = function.__code__.co_varnames[: function.__code__.co_argcount]
    function(*(Recorded(name, shapes[name], trace) if name in shapes else given[name] for name in wanted))
    result, reads = [], set()
    for kind, name, at in trace:
        if kind == "read":
            reads.add((name, at))
        else:
            result.append((frozenset(reads), (name, at)))
            reads = set()
    return result


def derived(program: Program, sizes: dict[str, int]) -> list[Any]:
    """Return the same from the program's accesses and schedule."""
    found: list[Any] = []
    for statement in program.statements:
        rows = instances(statement, sizes)
        _, times = evaluate(statement.schedule, sizes, rows)
        reads: list[set[Any]] = [set() for _ in rows]
        for item in statement.reads:
            defined, values = evaluate(item.relation, sizes, rows)
            for at in np.flatnonzero(defined):
                reads[at].add((item.array, tuple(values[at].tolist())))
        _, targets = evaluate(statement.write.relation, sizes, rows)
        for at in range(len(rows)):
            found.append((tuple(times[at].tolist()), reads[at], (statement.write.array, tuple(targets[at].tolist()))))
    result, reads_so_far = [], set()
    for _, reads_here, target in sorted(found, key=lambda item: item[0]):
        reads_so_far |= {item for item in reads_here if item[1]}
        if target[1]:
            result.append((frozenset(reads_so_far), target))
            reads_so_far = set()
    return result


#: A function, the shapes of its arrays, its numbers, and the sizes of the program.
PYTHON: dict[str, tuple[str, dict[str, tuple[int, ...]], dict[str, int], dict[str, int]]] = {
    "product": (
        ("def f(A, B, C, alpha):\n    n, m = A.shape\n    p = B.shape[1]\n    for i in range(n):\n        for j in range(p):\n"
        "            C[i, j] *= 0.5\n            for k in range(m):\n                C[i, j] += alpha * A[i, k] * B[k, j]\n"),
        {"A": (2, 3), "B": (3, 4), "C": (2, 4)}, {"alpha": 1}, {"n": 2, "m": 3, "p": 4},
    ),
    "factorisation": (
        ("def f(A, n):\n    for i in range(n):\n        for j in range(i):\n            s = A[i, j]\n            for k in range(j):\n"
        "                s -= A[i, k] * A[j, k]\n            A[i, j] = s / A[j, j]\n        A[i, i] = math.sqrt(A[i, i])\n"),
        {"A": (5, 5)}, {"n": 5}, {"n": 5},
    ),
    "backwards": (
        "def f(x, b):\n    n = len(x)\n    for i in reversed(range(1, n)):\n        for j in range(n - 1, i, -2):\n            x[i] -= b[j] + x[-1]\n",
        {"x": (6,), "b": (6,)}, {}, {"n": 6},
    ),
    "ring": (
        "def f(a, b, n):\n    for i in range(n):\n        left = (i - 1) % n\n        a[i] = b[left] + b[(i + 2) % n] if 0 < i < n - 1 else b[i // 2]\n",
        {"a": (5,), "b": (5,)}, {"n": 5}, {"n": 5},
    ),
    "two planes": (
        ("def f(A, n, T, m):\n    for t in range(T):\n        for i in range(1, n - 1):\n            if i != t and not i == 2 * t and t < m:\n"
        "                A[(t + 1) % 2, i] = max(A[t & 1, i - 1], A[t % 2, i + 1])\n"),
        {"A": (2, 7)}, {"n": 7, "T": 4, "m": 3}, {"n": 7, "T": 4, "m": 3},
    ),
    "whiles": (
        ("def f(A, x):\n    n, m = A.shape\n    i = n - 1\n    while i >= 0:\n        j = i + 1\n        while j < m:\n"
        "            A[i, j] += x[j - 1]\n            j = j + 2\n        x[i] = A[i, 0]\n        i -= 1\n"),
        {"A": (5, 7), "x": (7,)}, {}, {"n": 5, "m": 7},
    ),
    "whiles, unrolled, that skip": (
        ("def f(x, y):\n    n = len(x)\n    i = 0\n    while i + 4 <= n:\n        y[i] += x[i]\n        y[i + 3] += x[i + 2]\n        i += 4\n"
        "    while i < n:\n        i += 1\n        if i % 2 == 0:\n            continue\n        y[i - 1] = x[i - 1]\n"),
        {"x": (15,), "y": (15,)}, {}, {"n": 15},
    ),
    "counted beside loops": (
        ("def f(x, y, n):\n    k = 0\n    for i in range(n):\n        for j in range(i, n, 2):\n            y[k] = x[j]\n        k += 3\n"
        "    y[k] = x[0]\n"),
        {"x": (5,), "y": (16,)}, {"n": 5}, {"n": 5},
    ),
    "functions called as statements": (
        ("def step(u, v, n, by=1):\n    m = len(v)\n    i = 0\n    while i < n:\n        v[i] = u[m - 1] + u[i] * by\n        i += 1\n    return v\n"
        "def both(x, y, n):\n    for i in range(n):\n        step(x, y, n - i)\n    step(y, x, n, by=2)\n"
        "def f(x, y, n):\n    for i in range(2):\n        both(x, y, n - 1)\n        x[i] = y[i]\n        step(n=n - 2, v=x, u=y)\n"),
        {"x": (5,), "y": (5,)}, {"n": 5}, {"n": 5, "x_0": 5, "y_0": 5},
    ),
    "every second place of a ring": (
        "def f(C, n):\n    for i in range(0, n, 2):\n        C[(i + 1) % n, i // 2] = C[i // 2, i + 1]\n",
        {"C": (6, 6)}, {"n": 6}, {"n": 6},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PYTHON)
def test_python_functions_access_what_they_access_when_run(name: str) -> None:
    text, shapes, given, sizes = PYTHON[name]
    assert derived(shorthaul.affine.program_from_text(text), sizes) == executed(text, shapes, given)


SLICES = {
    "stencil": (
        "    B[1:-1] = A[:-2] + A[2:]\n    B[0] = A[-1]\n",
        "    (n,) = B.shape\n    (_,) = A.shape\n    for i in range(n - 2):\n        B[i + 1] = A[i] + A[i + 2]\n    B[0] = A[n - 1]\n",
    ),
    "rows": (
        "    for k in range(3):\n        B[k, :] += A[k, 1] * C[k + 1, 2:]\n",
        "    m = C.shape[1]\n    for k in range(3):\n        for j in range(m - 2):\n            B[k, j] += A[k, 1] * C[k + 1, j + 2]\n",
    ),
    "names of rows": (
        "    n, m = A.shape\n    (_,) = B.shape\n    for k in range(n):\n        row = A[k]\n        row[:] *= B[k]\n        C[k] = row[0]\n",
        "    n, m = A.shape\n    for k in range(n):\n        for j in range(m):\n            A[k, j] *= B[k]\n        C[k] = A[k, 0]\n",
    ),
    "zeros": (
        "    m = A.shape[0]\n    x = np.zeros((m, 2))\n    x[:, 1] = A[:]\n",
        "    m = A.shape[0]\n    for i in range(m):\n        for j in range(2):\n            x[i, j] = 0\n    for i in range(m):\n        x[i, 1] = A[i]\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SLICES)
def test_slices_are_loops(name: str) -> None:
    left, right = SLICES[name]
    made = shorthaul.affine.program_from_text(f"def f(A, B, C):\n{left}")
    plain = shorthaul.affine.program_from_text(f"def f(A, B, C, x):\n{right}")
    one = shorthaul.affine.concrete_cdag(made, dict.fromkeys(made.parameters, 5))
    other = shorthaul.affine.concrete_cdag(plain, dict.fromkeys(plain.parameters, 5))
    assert np.array_equal(one.starts, other.starts)
    assert np.array_equal(one.operands, other.operands)


def test_python_files(tmp_path: Path) -> None:
    path = tmp_path / "mean.py"
    path.write_text(
        "N = 9\n\n\ndef mean(a, b):\n    b[1:-1] = (a[:-2] + a[1:-1] + a[2:]) / 3\n\n\ndef other():\n    pass\n"
    )
    program = shorthaul.affine.case(str(path)).workload
    assert program.name == "mean"
    assert str(program.statements[0].place) == "line 5 column 5"
    assert shorthaul.affine.bound(path, size="b_0=12,S=5", upper=False).bound.value == 12


WRONG_PYTHON = {
    "for i in range(n):\n        j = i + 1\n        for i in range(2):\n            b[j] += a[i]": ("line 4 column 9", "one of its own"),
    "for i in range(n):\n        a[i], a[n - i] = a[i], b, 0": ("line 3 column 9", "one assignment per line"),
    "for i in range(m):\n        a[i] = 0": ("line 2 column 20", "unknown name"),
    "a[:] = a[: : n]": ("line 2", "slice's step"),
    "a[:] = 2 * (a[0] + b @ b)": ("line 2 column 24", "axes are not known", "x[:] for a vector"),
    "a[1:] = np.diff(b)": ("line 2 column 13", "nothing tells how many axes b has", "b[1:] - b[:-1]"),
    "a[:] = np.roll(a, n)": ("line 2 column 12", "roll by a number"),
    "a[:] = a - b.mean(axis=0)": ("line 2 column 16", "nothing tells how many axes", "x.shape"),
    "c = 2 * a[:]\n    a[:] = c[:, 1]": ("line 2", "c has 1 axes and more subscripts"),
    "a[:] = np.roll(a)": ("line 2 column 12", "roll by a number"),
    "2[:] = a[:] @ b[:]": ("line 2 column 5", "no element of a named array"),
    "a[:] = np.mean(axis=0)": ("line 2 column 12", "a sum of nothing"),
    "a[1:] = 2 * np.sqrt(b)": ("line 2 column 25", "array or a number"),
    "a[1:] = b": ("line 2 column 13", "array or a number"),
    "for i in range(n) a[i] = 0": ("line 2", "is not Python"),
    "for i in range(n / 2):\n        a[i] = 0": ("line 2 column 20", "divide integers by //"),
    "for i, x in enumerate(a, 1):\n        a[i] = 0": ("line 2 column 17", "is no range"),
    "for i, x in enumerate(a, start=1):\n        b[i] = x": ("line 2 column 17", "is no range"),
    "for x in a:\n        b[0] += x\n        a, b = b, a": ("line 2 column 5", "gets another value"),
    "t = a[1:]\n    a[0:] = 1\n    b[1:] = t": ("line 2 column 5", "t is a part of a"),
    "t = a[1:]\n    t[:] = 1\n    b[1:] = a[1:]": ("line 2 column 5", "t is a part of a"),
    "a[1:], b[1:] = b[1:], a[1:]": ("line 2 column 5", "the later from what changes"),
    "a[:] = np.array(b, dtype=int)": ("line 2 column 12", "not understood"),
    "for i in range(n):\n        while i:\n            a[i] = 0": ("line 3 column 9", "static control"),
    "i = 0\n    while i < n:\n        for i in range(2):\n            a[i] = 1\n        i += 2": ("line 3 column 5", "static control"),
    "for i in range(n):\n        a[i] = 1\n    b[i] = 1\n    k = 0\n    k += 1\n    b[k] = 1": ("line 4", "i is assigned inside"),
    "for i in range(n):\n        double = a[i]\n        a[i] = double": ("line 1", "word of C"),
    "for i in range(n):\n        i = a.shape\n        a[i] = 0": ("line 3", "one name"),
    "for i in range(n):\n        a[i] = a[:]": ("line 3", "more axes are assigned"),
    "for i in range(n):\n        a[i] = [1][i]": ("line 3", "no element of a named array"),
    "for i in range(n):\n        return\n    a[1] = 2": ("line 3", "at its end only"),
    "a[0] = 1": ("no function with loops",),
    f"for i in range(n):\n        a[i] = {'-' * 20_000}1": ("nested too deeply",),
}  # fmt: skip


HELPERS = """
def poly(x, p=2.0, *, q=1.0):
    w = x * x
    w += p
    if w - q > 2:
        return w
    elif w > 1.5:
        w = w * 2
    return w * q
def f(a, b):
    n = a.size
    for i, (u, v) in enumerate(zip(a, b)):
        if i == n - 2:
            break
        b[i] = {} + (1.0 if i % 3 == 1 else v)
"""


def test_helpers_of_several_statements_are_written_out() -> None:
    whole = "(u * u + {p} if u * u + {p} - {q} > 2 else ((u * u + {p}) * 2 * {q} if u * u + {p} > 1.5 else (u * u + {p}) * {q}))"
    for call, values in (("poly(u)", (2.0, 1.0)), ("poly(q=0.5, x=u)", (2.0, 0.5)), ("poly(u, 0.25)", (0.25, 1.0))):
        made = shorthaul.affine.program_from_text(HELPERS.format(call), function="f")
        plain = shorthaul.affine.program_from_text(HELPERS.format(whole.format(p=values[0], q=values[1])), function="f")
        assert [item.code for item in made.statements] == [item.code for item in plain.statements]
    with pytest.raises(InputError, match="the function poly is not understood"):
        shorthaul.affine.program_from_text(HELPERS.format("poly(u, r=1)"), function="f")


def test_arrays_beside_one_another_end_with_the_shortest() -> None:
    text = "def f(a, b, y):\n n = {}\n for u, v in zip(a, b):\n  y[0] += n * u * v\n"
    both = shorthaul.affine.program_from_text(text.format("len(a) + len(b)")).statements[-1]
    assert shorthaul.affine.card(both.domain).at({"a_0": 7, "b_0": 5}) == 5
    one = shorthaul.affine.program_from_text(text.format("2")).statements[-1]
    assert shorthaul.affine.card(one.domain).at({"a_0": 7}) == 7


def test_functions_that_are_not_understood() -> None:
    text = "k = 3\ndef g(x):\n return k * x\ndef sqrt(x):\n x += 1\n return x\ndef f(a, n):\n for i in range(n):\n  a[i] = {}\n"
    with pytest.raises(InputError, match="reads a global that is hidden here: k"):
        shorthaul.affine.program_from_text(text.format("g(a[i])\n  k = 2.0"), function="f")
    with pytest.raises(InputError, match="the function sqrt is not understood"):
        shorthaul.affine.program_from_text(text.format("sqrt(a[i])"), function="f")


@pytest.mark.parametrize(
    ("body", "call"),
    [
        ("n = n - 1\n x[n] = 0", "g(a, n)"),
        ("x += 1", "g(a, n)"),
        ("if n > 2:\n  return\n x[n] = 0", "g(a, n)"),
        ("x[0] = k", "g(a, n)"),
        ("x[0] = n", "g(a[1:], n)"),
        ("g(x, n)", "g(a, n)"),
    ],
)
def test_functions_called_as_statements_that_are_refused(body: str, call: str) -> None:
    text = f"k = 3\ndef g(x, n):\n {body}\ndef f(a, n):\n k = 2.0\n for i in range(n):\n  a[i] = k\n  {call}\n"
    with pytest.raises(InputError, match="the function g is not understood"):
        shorthaul.affine.program_from_text(text, function="f")


def test_a_part_of_an_array_that_a_called_function_changes_is_refused() -> None:
    text = "def g(x):\n x[2] = 1\ndef f(a, b):\n t = a[1:]\n g(a)\n b[1:] = t\n"
    with pytest.raises(InputError, match="t is a part of a, and one of both changes"):
        shorthaul.affine.program_from_text(text, function="f")


def test_quotients_of_integers_have_fractions() -> None:
    (statement,) = shorthaul.affine.program_from_text(
        "n = 4\ndef f(a, n):\n for i in range(n):\n  a[i] = i / n + 1 / 2\n"
    ).statements
    assert statement.text == "a[i] = (((double) i) / n) + (1.0 / 2)"


@pytest.mark.parametrize("body", WRONG_PYTHON, ids=lambda body: body[:40])
def test_wrong_python(body: str) -> None:
    with pytest.raises(InputError) as caught:
        shorthaul.affine.program_from_text(f"def f(a, b, n):\n    {body}\n")
    for part in WRONG_PYTHON[body]:
        assert part in str(caught.value), str(caught.value)


def test_and_and_or_of_numbers_are_one_of_these() -> None:
    text = "def f(x):\n  for i in range(len(x)):\n    x[i] = {0}"
    for value, read in (
        ("x[i] or 2.0", "(x[i]) ? (x[i]) : (2.0)"),
        ("x[i] and 2.0", "(x[i]) ? (2.0) : (x[i])"),
        ("x[i] > 1 or x[i] < 0", "(x[i] > 1) || (x[i] < 0)"),
    ):
        assert shorthaul.affine.program_from_text(text.format(value)).statements[0].text == f"x[i] = {read}"


def test_subscripts_that_fall_below_zero_are_refused() -> None:
    """They would be read from the end; where they are always above, or for some sizes alone, nothing is refused."""
    text = "def f(x, y):\n  n = len(x)\n  for i in range({0}n):\n    y[i] = x[{1}]"
    with pytest.raises(InputError, match="counts from the end"):
        shorthaul.affine.program_from_text(text.format("", "i - 2"))
    for start, at in (("2, ", "i - 2"), ("", "(i - 2) % n"), ("", "n - 2"), ("", "-2")):
        shorthaul.affine.program_from_text(text.format(start, at))
