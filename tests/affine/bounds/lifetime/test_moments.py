"""Phases between moments at which sets of vertices are complete, against plays; their certificates."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest
from tests.affine.bounds.lifetime.test_single_events import HEAD, STEPS, in_lock_step, random_step
from tests.affine.bounds.test_random_study import least_known
from tests.affine.derived import quick

from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.bounds.lifetime import moments
from shorthaul.affine.check.certificate import verify
from shorthaul.affine.check.data_flow import ProgramReads
from shorthaul.affine.check.lifetime_argument import waiting_of
from shorthaul.affine.check.moments import wrong_moments
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.options import BoundOptions
from shorthaul.affine.replay.cdag import concrete_cdag
from shorthaul.affine.verbs.deriving import bound_of as as_bound
from shorthaul.core.search import Search
from shorthaul.graphs.replay import belady_loads

ONCE = ("in place of the old", "the largest of sums")
BATCH = (
    "void f(int T, int B, int N, double W[2][N][N], double g[2][N], double h[T + 1][B][N]) {\n"
    "for (int t = 0; t < T; t++) for (int b = 0; b < B; b++) for (int i = 0; i < N; i++) {\n"
    "for (int q = 0; q < 2; q++) { g[q][i] = 0; for (int j = N - 1; j >= 0; j--) g[q][i] += W[q][i][j] * h[t][b][j]; }\n"
    "h[t + 1][b][i] = g[0][i] * g[1][i]; } }\n"
)


def step_program(text: str):
    return program_from_text(HEAD % text)


@pytest.mark.slow
@pytest.mark.parametrize("text", quick([*(HEAD % STEPS[name][0] for name in ONCE), BATCH], [HEAD % STEPS[ONCE[0]][0]]))
def test_three_quarters_of_a_matrix_are_loaded_in_every_step(text: str) -> None:
    """But for what the memory holds at each of a few moments, and blocks on the diagonal."""
    program = program_from_text(text)
    sizes = {**dict.fromkeys(program.parameters, 2), "T": 500, "N": 3000, "S": 100_000}
    size = (2 if "W" in text else 1) * 500 * 3000**2
    bound = lower_bound(program, sizes=sizes, search=Search(effort=1))
    assert 0.6 * size < bound.value(sizes) < 0.75 * size
    document = json.loads(json.dumps(as_bound(program, bound, sizes, flow_dependences(program)).document()))
    violations, remarks = verify(program, document, sizes)
    assert not violations
    assert any("moments" in remark for remark in remarks)


def compared(text: str, rng: np.random.Generator) -> tuple[int, float]:
    """Compare with plays; return how often the argument said more than the inputs, and how near a play came."""
    program = step_program(text)
    flow = flow_dependences(program)
    active, nearest = 0, np.inf
    for n, steps in ((5, 3), (9, 4)):
        cdag = concrete_cdag(program, {"N": n, "T": steps})
        for capacity in sorted({4, n + 2, n * n // 4}):
            if capacity <= int(np.diff(cdag.starts).max(initial=0)):
                continue
            sizes = {"N": n, "T": steps, "S": capacity}
            value = max((item.at(sizes) for item in moments.moments(flow, sizes)), default=0.0)
            if value <= 0:
                continue
            order = in_lock_step(cdag, capacity, rng)
            loads = int(belady_loads(order, cdag.starts, cdag.operands, capacity).sum())
            if n == 5:
                loads = min(loads, least_known(cdag, capacity, rng))
            loads -= cdag.inputs
            assert value <= loads, (text, n, steps, capacity)
            active += 1
            nearest = min(nearest, loads / value)
    return active, nearest


@pytest.mark.parametrize("name", quick(ONCE, ONCE[:1]))
def test_no_play_beats_it(name: str) -> None:
    active, nearest = compared(STEPS[name][0], np.random.default_rng(5))
    assert active >= 3
    assert nearest < 6


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(16))
def test_random_steps(seed: int) -> None:
    compared(random_step(seed), np.random.default_rng(seed))


Part = tuple[dict[str, Any], ProgramReads]


@pytest.fixture(scope="module")
def stated() -> Part:
    """Return the certificate of an argument with four places, and what its program reads."""
    program = step_program(STEPS["in place of the old"][0])
    (found,) = itertools.islice(moments.moments(flow_dependences(program), {"T": 9, "N": 40, "S": 30}), 1)
    return moments.sub_bound(found).certified(), ProgramReads(program)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("begins", "{ S1[t, i, j] -> S1[t, k, j] : k < i }"),
        ("finishes", "{ S1[t, i, j] -> S1[t, k, j] : k < i }"),
        ("readers", "{ S1[t, i, j] -> S1[t, k, l] }"),
        ("classes", "{ S1[t, i, j] -> [2, t mod 2] }"),
    ],
)
def test_false_relations_are_refused(stated: Part, name: str, change: str) -> None:
    part, reads = stated
    assert not list(wrong_moments(waiting_of(part, reads), reads))
    first, *others = part["intervals"]
    false = {**part, "intervals": [{**first, name: change}, *others]}
    assert list(wrong_moments(waiting_of(false, reads), reads))


def test_statements_without_instances_are_passed_over() -> None:
    """As graphs of sums in any order have them, where a sum goes on in another statement."""
    step = "s = 1; for (int i = 0; i < N; i++) s += x[i] * y[i]; s = s + z[t]; for (int i = 0; i < N; i++) x[i] = y[i] / s;"
    bound = lower_bound(
        step_program(step), BoundOptions(reassociate=True), sizes={"T": 9, "N": 9, "S": 5}, search=Search(effort=0.4)
    )
    assert bound.value({"T": 9, "N": 9, "S": 5}) >= 18
