"""Phases of several matrices in one sum: recurrent networks with gates, drawn, against plays."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.affine.bounds.lifetime.test_single_events import in_lock_step
from tests.affine.bounds.test_random_study import least_known

from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.bounds.lifetime.phases import Phases
from shorthaul.affine.bounds.lifetime.remaining import remaining
from shorthaul.affine.bounds.lifetime.single_events import phases_of_single_events
from shorthaul.affine.check.certificate import verify
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.replay.cdag import concrete_cdag
from shorthaul.affine.verbs.deriving import bound_of as as_bound
from shorthaul.core.search import Search
from shorthaul.graphs.replay import belady_loads

HEAD = (
    "void f(int T, int N, double A[N][N], double B[N][N], double C[N][N], double x[N], double u[N], double v[N],"
    " double w[N]) {\n#pragma scop\nfor (int t = 0; t < T; t++) {\n%s\n}\n#pragma endscop\n}\n"
)


def product(to: str, matrix: str, *of: str) -> str:
    factors = " * ".join(f"{name}[j]" for name in of)
    total = f"for (int j = 0; j < N; j++) {to}[i] += {matrix}[i][j] * {factors};"
    return f"for (int i = 0; i < N; i++) {{ {to}[i] = 0; {total} {to}[i] = tanh({to}[i]); }}"


#: A unit with a gate for what it forgets (v) and one for what it resets (u).
GATED = (
    f"{product('v', 'A', 'x')} {product('u', 'B', 'x')} {product('w', 'C', 'u', 'x')}"
    " for (int i = 0; i < N; i++) x[i] = (1 - v[i]) * x[i] + v[i] * w[i];"
)


def random_gates(seed: int) -> str:
    """Return a step of two or three products, each with what is known in the step, and what becomes of the state."""
    draw = np.random.default_rng(seed)
    known, step = ["x"], []
    for to, matrix in zip("uvw"[: draw.integers(2, 4)], "ABC", strict=False):
        of = draw.choice(known, min(len(known), int(draw.integers(1, 3))), replace=False)
        step.append(product(to, draw.choice([matrix, matrix, "A"]), *of))
        known.append(to)
    used = [name for name in known[1:] if draw.integers(3)] or known[-1:]
    step.append(f"for (int i = 0; i < N; i++) x[i] = {' + '.join(f'{name}[i]' for name in used)};")
    return " ".join(step)


def compared(text: str, rng: np.random.Generator, first: int = 0) -> tuple[int, float]:
    """Compare with plays, from a size on; return how often the bound is more than the inputs, how near a play came."""
    program, active, nearest = program_from_text(HEAD % text), 0, np.inf
    flow = flow_dependences(program)
    for n, steps in ((3, 4), (6, 5))[first:]:
        cdag = concrete_cdag(program, {"N": n, "T": steps})
        for capacity in (n + 3, 2 * n + 2, 3 * n + 2)[: 3 - first]:
            sizes = {"N": n, "T": steps, "S": capacity}
            value = lower_bound(program, flow=flow, search=Search(effort=0.4), sizes=sizes).value(sizes)
            order = in_lock_step(cdag, capacity, rng)
            loads = int(belady_loads(order, cdag.starts, cdag.operands, capacity).sum())
            loads = min(loads, least_known(cdag, capacity, rng))
            assert value <= loads, (text, sizes)
            active += value > cdag.inputs
            nearest = min(nearest, loads / max(1, value)) if value > cdag.inputs else nearest
    return active, float(nearest)


@pytest.mark.slow
def test_matrices_of_one_step_add_up_and_the_certificate_is_verified() -> None:
    program = program_from_text(HEAD % GATED)
    sizes = {"T": 50, "N": 400, "S": 4096}
    bound = lower_bound(program, search=Search(effort=0.7), sizes=sizes)
    assert bound.value(sizes) > 0.6 * 3 * 50 * 400**2
    document = as_bound(program, bound, sizes, flow_dependences(program)).document()
    violations, remarks = verify(program, json.loads(json.dumps(document)), sizes)
    assert not violations
    assert all(remark.endswith(": verified") for remark in remarks)


def test_what_is_left_has_none_of_the_vertices_taken() -> None:
    flow = flow_dependences(program_from_text(HEAD % GATED))
    whole: Phases = next(phases_of_single_events(flow))
    (taken,) = (item for item in map(str, flow.inputs) if item == "A")
    left = remaining(whole, flow.inputs[taken].to_union_set(), flow)
    assert left is not None
    assert left.spill.intersect(flow.inputs[taken].to_union_set()).is_empty()
    assert left.spill.is_strict_subset(whole.spill)
    assert remaining(whole, whole.spill, flow) is None


@pytest.mark.costly
def test_no_play_of_drawn_gates_beats_the_bound() -> None:
    rng = np.random.default_rng(0)
    assert sum(compared(random_gates(seed), rng, 1)[0] for seed in range(1)) > 0
