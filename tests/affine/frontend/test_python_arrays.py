"""Statements on whole NumPy arrays: run by Python, the loops that they become compute what NumPy computes."""

from __future__ import annotations

import ast
import random

import numpy as np
import pytest

import shorthaul
from shorthaul.affine.frontend.python.arrays import in_loops
from shorthaul.affine.frontend.python.makers import in_usual_words, with_constants
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.core.errors import InputError

FUNCTIONS = {
    "product": ("def f(A, B, C):\n C[:, :] = A[:, :] @ B[:, :]\n C[:, 1] += A[:, :] @ B[:, 0]\n", "44 44 44"),
    "vector": ("def f(A, x, y):\n y[:] = x[:] @ A[:, :]\n y[:] -= np.dot(A.T, x)\n y[0] = x @ x\n", "45 4 5"),
    "row": ("def f(A, x, y):\n for i in range(4):\n  y[i] += A[i, :] @ x\n y[1:] = A[1:, :] @ x\n", "45 5 4"),
    "outer": ("def f(A, u, v):\n for k in range(3):\n  A[k+1:, k:] -= 0.5 * np.outer(u[k+1:], v[k:])\n", "45 4 5"),
    "lu": (("def f(A):\n n = len(A)\n for k in range(n):\n  A[k+1:, k] /= A[k, k]\n"
           "  A[k+1:, k+1:] -= A[k+1:, k:k+1] * A[k, k+1:]\n"), "55"),
    "overlap": ("def f(a, b):\n a[1:] = a[:-1] + b[1:]\n a[:] = a[::-1]\n b[1:-1:2] += b[:-2:2] + b[2::2]\n", "7 7"),
    "sums": (("def f(A, s):\n s[:] = np.sum(A, axis=1) + A.max(axis=1)\n s[1] = np.sum(A[1:, :])\n"
             " s[2] = np.mean(A[:, 0]) + np.min(A) * np.prod(A[0, :])\n"), "45 4"),
    "softmax": (("def f(Q, K, V, O):\n S = Q[:, :] @ K.T\n P = np.exp(S - np.max(S, axis=1, keepdims=True))\n"
                " Z = P.sum(axis=1)\n O[:, :] = (P / Z[:, None]) @ V[:, :]\n"), "43 53 52 42"),
    "centred": ("def f(X, C):\n n, m = X.shape\n Y = X - np.mean(X, axis=0)\n C[:, :] = Y.T @ Y / (n - 1)\n", "64 44"),
    "einsum": ("def f(X, B, C, M):\n M[:, :] = np.einsum('ikl,kj,lj->ij', X, B, C)\n M[0, 0] = np.einsum('ij,ij', M, M)\n"
               , "345 42 52 32"),
    "choleskys columns": (("def f(A, L):\n for j in range(4):\n  s = A[j, j] - np.dot(L[j, :j], L[j, :j])\n"
                          "  L[j, j] = np.sqrt(abs(s))\n  for i in range(j + 1, 4):\n"
                          "   L[i, j] = (A[i, j] - L[i, :j] @ L[j, :j]) / L[j, j]\n"), "44 44"),
    "gradients": ("def f(A, b, x):\n for t in range(3):\n  r = A @ x[:] - b[:]\n  x -= 0.01 * (A.T @ r[:])\n", "53 5 3"),
    "whole arrays": ("def f(A, B, C):\n D = A @ B\n C[:, :] = D @ np.dot(B.T, A)\n", "44 44 44"),
    "vectors beside matrices": ("def f(A, B, x, y):\n y[:] = A @ (B @ x)\n y += 0.5 * (x @ B.T @ A.T)\n", "43 34 4 4"),
    "a vector by its result": ("def f(a, b, c):\n c[:] = a[:, :] @ b\n c[:] += b @ a\n", "44 4 4"),
    "makers": (("def f(A, *, c=0.5):\n v = np.ones(4)\n u = [-0.5] * 4\n w = [[2.0] * 3 for _ in range(4)]\n z = np.zeros_like(A)\n q = np.full((4, 3), 0.25, float)\n"
                " for i in range(4):\n  for j in range(3):\n   A[i, j] += c * v[i] * u[i] * w[i][j] + q[i, j] - z[i, j]\n"), "43"),
    "generators": (("def f(A, b):\n n, _ = A.shape\n low = -float('inf')\n for i in range(n):\n"
                    "  low = max(low, sum(A[i, j] * b[j] for j in range(3)) - min([b[k] for k in range(4)]))\n"
                    "  b[i] = low - max(A[i, j] + A[k, j] for j in range(3) for k in range(n) if k != i)\n"), "43 4"),
    "added in place": ("def f(A, x, y):\n y += A @ x\n y *= 2\n", "45 5 4"),
    "copies": ("def f(u, v):\n w = u.copy()\n z = np.copy(v[1:])\n u[1:] = w[:-1] * z\n v[:] = np.array(u)\n u[0] = w[-1]\n", "5 5"),
    "elements one after another": (("def f(a, b, c):\n for i, v in enumerate(a):\n  b[i] += 2 * v\n for x, y in zip(a, b):\n  c[0] += x * y\n"
                                   " for x in c:\n  b[1] += x\n"), "5 5 5"),
    "choices": ("def f(u, v):\n v[:] = np.where(u > 1, u, 0.1 * u)\n u[:] = np.clip(v, 0.2, 0.7)\n v[1:] = np.diff(u) - np.square(v[1:])\n", "7 7"),
    "differences along rows": ("def f(A, B):\n B[1:, :] = A[0, 0]\n D = np.diff(A)\n B[0, :] = D[0, :]\n", "45 44"),
    "elements of rows that change places": ("def f(A):\n for i in range(4):\n  for j in range(i):\n   A[i][j], A[j][i] = A[j][i], A[i][j]\n", "44"),
    "elements that change places": ("def f(x, y):\n for i in range(0, 6, 2):\n  a, b = x[i], x[i + 1]\n  x[i], x[i + 1] = a + b, a - b\n  x[i], y[i] = y[i], x[i]\n", "7 7"),
    "the whole of a matrix": ("def f(A, B):\n n = len(A)\n B[:] = A @ A + n\n", "55 55"),
    "rolled": (("def f(u, v, A):\n v[:] = np.roll(u, 1) - 2 * u + np.roll(u, -2)\n u[:] = np.roll(u, 3)\n"
               " B = np.roll(A, 1, axis=0) + np.roll(A, shift=-1, axis=1) + np.roll(A, 0, 1)\n A[:, :] = B\n"), "7 7 45"),
    "several at once": (("def f(A, b):\n n, m = len(A), 3\n low = high = 0.0\n for i in range(n):\n  low, high = A[i, 1], b[i]\n"
                         "  for j in range(m):\n   A[i, j] += low * high\n"), "43 4"),
    "rows that products and sums tell": (("def f(A, x, y):\n for i in range(4):\n  y[i] = A[i] @ x + np.dot(A[0], A[i])\n"
                                         "  y[0] += A[i].sum() + np.mean(A[i]) * np.sum((A[i] - A[0]) ** 2)\n"), "45 5 4"),
    "axes that sums tell": (("def f(A, s, X):\n s[:] = A.max(axis=1) / A.shape[0]\n s[1:] += A.sum(axis=1)[1:]\n"
                            " e = np.exp(X - X.max(axis=-1, keepdims=True))\n s[:] += np.sum(e, axis=-1)\n"), "45 4 43"),
    "rows that are assigned": ("def f(A, B):\n n, m = A.shape\n for i in range(n):\n  B[i] = 2 * A[i]\n", "45 45"),
    "in whiles": (("def f(A, y):\n n, m = A.shape\n i = 1\n while i < n:\n  y[i:] = A[i:, 0] + A[i - 1:-1, 1]\n  A[i, :] -= y[i] * A[i - 1, :]\n"
                  "  B = np.ones((i, m))\n  A[0, :], A[i, :] = A[i, :], 2 * A[0, :]\n  y[0] += B[0, 0]\n  i += 1\n"), "45 4"),
    "vectors beside products": (("def f(X, W, b, Q, z, Y):\n h = np.maximum(X @ W + b, 0)\n Y[:, :] = np.tanh(h @ Q - z)\n"
                                 " z[:] = b - Q @ z\n"), "43 35 5 55 5 45"),
    "lists of numbers": (("def f(A, b):\n k = [[-1, 0.5], [2 / 3, -4]]\n w = np.array((1.0, 2.5, -3.0), dtype=float)\n"
                          " for i in range(3):\n  for j in range(2):\n   A[i, j] += k[j][0] * w[i] + k[1][j] * b[i]\n"), "32 3"),
    "numbers of the file": (("K = np.array([0.5, 2, 3])\nHALF, UNUSED = 1 / 3, 2\nALPHA = -0.5\nb = 7.0\ndef scaled(x):\n return ALPHA * x\n"
                             "def f(a, b):\n n = len(a)\n for i in range(2, n):\n  b[i] = scaled(sum(K[k] * a[i - k] for k in range(3))) - ALPHA\n"), "7 7"),
    "added to itself": ("def f(A):\n A += A.T\n A[0, 1:] *= A[1:, 0]\n", "44"),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_loops_compute_what_numpy_computes(name: str) -> None:
    text, shapes = FUNCTIONS[name]
    compare(text, [tuple(map(int, item)) for item in shapes.split()])
    program_from_text(text)


def compare(text: str, shapes: list[tuple[int, ...]]) -> None:
    """Run a function, and the loops that it becomes, on the same arrays."""
    tree = ast.parse(text)
    *others, function = [with_constants(item, tree.body) for item in tree.body if isinstance(item, ast.FunctionDef)]
    made = ast.unparse(in_loops(in_usual_words(function, others)))
    results = []
    for source in (text, made):
        scope: dict[str, object] = {"np": np}
        exec(compile(source, "f", "exec"), scope)
        draw = np.random.default_rng(1)
        arrays = [draw.uniform(0.5, 2, shape) for shape in shapes]
        scope["f"](*arrays)  # type: ignore[operator]
        results.append(arrays)
    for one, other in zip(*results, strict=True):
        assert np.allclose(one, other, equal_nan=True), made


def random_part(draw: random.Random, name: str) -> str:
    """Return four elements in a row of an array of nine, or all of them in an order that has no part elsewhere."""
    first, step = draw.randrange(3), draw.choice((1, 1, 2))
    if first + 3 * step > 8:
        first = 0
    end = draw.choice((str(first + 3 * step + 1), str(first + 3 * step + 1 - 9) if first + 3 * step + 1 < 9 else ""))
    return f"{name}[{first or ''}:{end}{f':{step}' if step > 1 else ''}]"


def random_statement(draw: random.Random) -> str:
    """Return an assignment to four elements."""
    parts = [random_part(draw, draw.choice("ab")) for _ in range(3)]
    value = draw.choice(("{0} + {1} * {2}", "np.sum({0}) * {1}", "{0} @ {1} - {2}", "B[:, 1:] @ {0} + {1}",
                         "{0} @ B[:, :4] * {1}", "B[1, :4] + {0}", "np.maximum({0}, {1}) - B.T[2, :]", "2 * {0}"))  # fmt: skip
    return f" {random_part(draw, draw.choice('ab'))} {draw.choice(('=', '+=', '-='))} {value.format(*parts)}\n"


@pytest.mark.costly
@pytest.mark.parametrize("seed", range(4))
def test_random_statements(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(15):
        compare("def f(a, b, B):\n" + "".join(random_statement(draw) for _ in range(3)), [(9,), (9,), (4, 5)])


def test_a_product_is_three_loops() -> None:
    made = program_from_text("def f(A, B):\n n, m = A.shape\n C = A @ B[:, :]\n return C\n")
    plain = program_from_text(
        "def f(A, B, C):\n n, m = A.shape\n for i in range(n):\n  for j in range(C.shape[1]):\n   C[i, j] = 0\n"
        "   for k in range(m):\n    C[i, j] += A[i, k] * B[k, j]\n"
    )
    one, other = (shorthaul.affine.concrete_cdag(item, dict.fromkeys(item.parameters, 4)) for item in (made, plain))
    assert {*made.parameters} == {"n", "m", "B_1"}
    assert np.array_equal(one.starts, other.starts)
    assert np.array_equal(one.operands, other.operands)


UNCLEAR = ["A[i] = 2 * A[i - 1]", "A[i], A[0] = A[0], A[i]", "B[i] += A[i] * A[0]", "A[i] = v", "C[i] += A[i]"]


@pytest.mark.parametrize("statement", UNCLEAR)
def test_rows_that_may_be_elements_are_refused(statement: str) -> None:
    text = f"def f(A, B, C, v):\n n, m = C.shape\n for i in range(1, n):\n  {statement}\n"
    with pytest.raises(InputError, match="nothing tells whether A is a matrix") as found:
        program_from_text(text)
    assert str(found.value).startswith("line 4 column 3")
    program_from_text(text.replace("C.shape", "C.shape\n (_,) = A.shape\n (_,) = B.shape").replace("v)", "v: float)"))


def test_numbers_that_may_be_arrays_are_refused() -> None:
    text = "def f(W, x, h):\n for t in range(9):\n  s = W[0] @ x[t]\n  h[:] = h * s\n"
    with pytest.raises(InputError, match="nothing tells whether W has 2 axes or more") as found:
        program_from_text(text)
    assert str(found.value).startswith("line 3 column 7")
    deeper = program_from_text(text.replace(" for", " k, n, m = W.shape\n for", 1))
    assert deeper.arrays["W"].dimensions == 3
    assert program_from_text(text.replace("h[:] = h * s", "h[t] = s")).arrays["W"].dimensions == 2


def test_rows_are_as_long_as_those_of_others() -> None:
    loops = " for i in range(1, n - 1):\n  for j in range(1, m - 1):\n   u[i, j] -= f[i, j] + g[i, j + 2]\n"
    program = program_from_text(f"def solve(u, f, g):\n n, m = u.shape\n{loops}")
    assert [program.code.declarations[name][-3:] for name in "ufg"] == ["[m]", "[m]", " 1]"]


def test_sums_along_axes_that_are_not_there_are_refused() -> None:
    with pytest.raises(InputError, match="axes 0 to 0"):
        program_from_text("def f(a, b):\n n = len(a)\n b[:] = np.sum(a[1:] * 2, axis=1)\n")


def test_an_array_by_a_call_that_is_not_known_is_refused_at_the_call() -> None:
    text = "def f(A, n):\n    I = np.eye(n)\n    for i in range(n):\n        for j in range(n):\n            A[i, j] += I[i, j]\n"
    with pytest.raises(InputError, match=r"line 2 column 9: is no array I that(.|\n)*np.eye\(n\)"):
        shorthaul.affine.case(text)


def test_a_type_without_a_value_is_no_statement() -> None:
    text = "def f(a, n):\n s: float\n for i in range(n):\n  s = a[i]\n  a[i] = 2 * s\n"
    for one, other in zip(
        program_from_text(text).statements, program_from_text(text.replace(" s: float", "")).statements, strict=True
    ):
        assert str(one.domain) == str(other.domain)


def test_arrays_are_no_numbers() -> None:
    """Operands of outer products are vectors; an array of which nothing tells the axes was read as a number."""
    (statement,) = program_from_text("def f(A, u, v):\n    A += np.outer(u, v)").statements
    assert statement.text == "A[at_0][at_1] += u[at_0] * v[at_1]"
    with pytest.raises(InputError, match="how many axes A has"):
        program_from_text("def f(A: np.ndarray, k: float):\n    for i in range(3):\n        A *= k")
    text = "def f(n, x, y):\n    for i in range(n):\n        y[i] = x[i // 2] * (i // 2)"
    assert "floord(i, 2)" in program_from_text(text).statements[0].text


def test_variances_are_means_of_squares() -> None:
    texts = ["def f(X, Y):\n    Y[:, :] = X - X.std(axis=1, keepdims=True)"]
    squares = "((X - X.mean(axis=1, keepdims=True)) ** 2).mean(axis=1, keepdims=True)"
    texts.append(f"def f(X, Y):\n    Y[:, :] = X - np.sqrt({squares})")
    first, second = ([item.text for item in program_from_text(text).statements] for text in texts)
    assert first == second


def test_dots_of_einsum_stand_for_axes() -> None:
    text = """import numpy as np
def f(A, B, C):
    b, i, j = A.shape
    i, j = B.shape
    {0}b, i = C.shape
    C[:, :] = np.einsum({1}, A, B)"""
    found = [program_from_text(text.format("", value)) for value in ("'...j,...j->...'", "'bij,ij->bi'")]
    assert [item.text for item in found[0].statements] == [item.text for item in found[1].statements]
    with pytest.raises(InputError, match="which axes the dots stand for") as error:
        program_from_text(text.format("", "'...ij,...ij->...i'"))
    assert "'aij,aij->ai'" in str(error.value)
