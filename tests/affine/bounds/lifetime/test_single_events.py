"""Phases between single vertices: iterations with a matrix that does not fit, against plays."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.affine.bounds.test_random_study import least_known
from tests.affine.derived import quick
from tests.samples import samples

from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.bounds.lifetime.single_events import phases_of_single_events
from shorthaul.affine.check.certificate import verify
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.replay.cdag import IntArray, concrete_cdag
from shorthaul.affine.verbs.deriving import bound_of as as_bound
from shorthaul.core.search import Search
from shorthaul.graphs.replay import belady_loads

HEAD = (
    "void f(int T, int N, double A[N][N], double B[N][N], double x[N], double y[N], double z[N], double s) {\n"
    "#pragma scop\nfor (int t = 0; t < T; t++) {\n%s\n}\n#pragma endscop\n}\n"
)
#: What a step does, and how much of the matrix is loaded in one at least, where it is far larger than memory.
STEPS = {
    "in place of the old": (
        (
            "for (int i = 0; i < N; i++) { y[i] = 0; for (int j = 0; j < N; j++) y[i] += A[i][j] * x[j]; }"
            " for (int i = 0; i < N; i++) x[i] = tanh(y[i]);"
        ),
        0.5,
    ),
    "the largest of sums": (
        (
            "for (int i = 0; i < N; i++) { y[i] = 0; for (int j = 0; j < N; j++) y[i] = fmax(y[i], A[j][i] + x[j]); }"
            " for (int i = 0; i < N; i++) x[i] = y[i];"
        ),
        0.5,
    ),
    "there and back": (
        (
            "for (int i = 0; i < N; i++) { y[i] = 0; for (int j = 0; j < N; j++) y[i] += A[i][j] * x[j]; }"
            " for (int j = 0; j < N; j++) for (int i = 0; i < N; i++) x[j] += A[i][j] * y[i];"
        ),
        1,
    ),
    "one after the other": (
        "for (int i = 0; i < N; i++) { s = 0; for (int j = 0; j < N; j++) s += A[i][j] * x[j]; x[i] = x[i] - s; }",
        1,
    ),
}


def bound_of_step(text: str):
    return lower_bound(program_from_text(HEAD % text), search=Search(effort=0.5))


@pytest.mark.slow
@pytest.mark.parametrize("name", quick(STEPS, ("in place of the old", "there and back")))
def test_a_matrix_that_does_not_fit_is_loaded_again(name: str) -> None:
    """As often as in every step or every second one, though the vectors fit: S is far above N."""
    text, share = STEPS[name]
    bound = bound_of_step(text)
    sizes = {"T": 1000, "N": 2000, "S": 20_000}
    assert bound.value(sizes) == pytest.approx(share * 1000 * 2000**2, rel=0.01)
    document = as_bound(bound.program, bound, sizes, flow_dependences(bound.program)).document()
    violations, remarks = verify(bound.program, json.loads(json.dumps(document)), sizes)
    assert not violations
    assert all(remark.endswith(": verified") for remark in remarks)


def random_step(seed: int) -> str:
    """Return a step of products with matrices, some of a triangle or from the end, and what becomes of the vector."""
    draw = np.random.default_rng(seed)

    def product(to: str, of: str) -> str:
        low, high = draw.choice(["0", "0", "i", "1"]), draw.choice(["N", "N", "i + 1", "N - 1"])
        loop = draw.choice([f"int j = {low}; j < {high}; j++", f"int j = {high} - 1; j >= {low}; j--"])
        entry = draw.choice(["A[i][j]", "A[j][i]", "B[i][j]", "A[i][j] * B[j][i]"])
        return f"for (int i = 0; i < N; i++) {{ {to}[i] = 0; for ({loop}) {to}[i] += {entry} * {of}[j]; }}"

    ends = ["x[i] = y[i];", "x[i] = x[i] + y[i];", "x[N - 1 - i] = y[i];", "x[i] = y[i] * s;"]
    kind = draw.integers(3)
    if kind == 0:
        return f"{product('y', 'x')} for (int i = 0; i < N; i++) {draw.choice(ends)}"
    if kind == 1:
        return f"{product('y', 'x')} {product('z', 'y')} for (int i = 0; i < N; i++) x[i] = z[i];"
    return product("x", "x").replace("x[i] = 0; ", draw.choice(["", "x[i] = z[i]; "]))


def in_lock_step(cdag, capacity: int, rng: np.random.Generator) -> IntArray:
    """Return an order that takes what is ready and misses least, of two steps at once where it can, as drawn."""
    readers: list[list[int]] = [[] for _ in range(cdag.n)]
    missing = np.zeros(cdag.n, np.int64)
    for vertex in range(cdag.inputs, cdag.n):
        for operand in cdag.operands[cdag.starts[vertex] : cdag.starts[vertex + 1]]:
            if operand >= cdag.inputs:
                readers[operand].append(vertex)
                missing[vertex] += 1
    ready = [vertex for vertex in range(cdag.inputs, cdag.n) if not missing[vertex]]
    held: dict[int, None] = {}
    order = []
    while ready:
        some = ready if len(ready) < 30 else [ready[at] for at in rng.integers(0, len(ready), 30)]
        costs = [
            sum(int(item) not in held for item in cdag.operands[cdag.starts[v] : cdag.starts[v + 1]]) for v in some
        ]
        vertex = some[int(np.argmin(costs))]
        ready.remove(vertex)
        order.append(vertex)
        for item in (*cdag.operands[cdag.starts[vertex] : cdag.starts[vertex + 1]].tolist(), vertex):
            held.pop(item, None)
            held[item] = None
        while len(held) > capacity:
            held.pop(next(iter(held)))
        for reader in readers[vertex]:
            missing[reader] -= 1
            if not missing[reader]:
                ready.append(reader)
    return np.array(order, np.int64)


def compared(text: str, rng: np.random.Generator) -> tuple[int, float]:
    """Compare with plays; return how often the argument said more than the inputs, and how near a play came."""
    bound, active, nearest = bound_of_step(text), 0, np.inf
    for n, steps in ((3, 3), (5, 4), (8, 5)):
        cdag = concrete_cdag(bound.program, {"N": n, "T": steps})
        for capacity in sorted({n + 2, 2 * n + 2, 3 * n + 2, n * n // 2}):
            if capacity <= int(np.diff(cdag.starts).max(initial=0)):
                continue
            value = bound.value({"N": n, "T": steps, "S": capacity})
            order = in_lock_step(cdag, capacity, rng)
            loads = int(belady_loads(order, cdag.starts, cdag.operands, capacity).sum())
            loads = min(loads, least_known(cdag, capacity, rng))
            assert value <= loads, (text, n, steps, capacity)
            if value > cdag.inputs:
                active += 1
                nearest = min(nearest, (loads - cdag.inputs) / (value - cdag.inputs))
    return active, nearest


@pytest.mark.parametrize("name", quick(STEPS, ("the largest of sums",)))
def test_no_play_beats_it(name: str) -> None:
    active, nearest = compared(STEPS[name][0], np.random.default_rng(5))
    assert active >= 3
    assert nearest < 6


@pytest.mark.slow
@pytest.mark.parametrize("seed", samples(16))
def test_random_steps(seed: int) -> None:
    compared(random_step(seed), np.random.default_rng(seed))


def test_stencils_are_left_alone() -> None:
    """A value there is read by one instance of every reference."""
    text = "for (int i = 1; i < N - 1; i++) y[i] = x[i - 1] + x[i + 1]; for (int i = 1; i < N - 1; i++) x[i] = y[i];"
    assert not list(phases_of_single_events(flow_dependences(program_from_text(HEAD % text))))
