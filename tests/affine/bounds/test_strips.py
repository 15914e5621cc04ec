"""Strips of places and steps: what waits when one of them begins, against skewed orders and plays; certificates."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import numpy as np
import pytest
from tests.affine.bounds.test_random_study import least_known
from tests.samples import samples

from shorthaul.affine import program_from_text
from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.bounds.strips import strips, sub_bound
from shorthaul.affine.check.certificate import verify
from shorthaul.affine.check.data_flow import ProgramReads
from shorthaul.affine.check.execution import execute
from shorthaul.affine.check.families.strips import wrong_strips, wrong_strips_in
from shorthaul.affine.check.lifetime_argument import waiting_of
from shorthaul.affine.check.lifetime_points import Graph
from shorthaul.affine.check.partition_points import operands_of
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.replay.cdag import ConcreteCdag, concrete_cdag
from shorthaul.affine.verbs.deriving import bound_of as as_bound
from shorthaul.graphs.replay import belady_loads

HEAD = "void f(int T, int N, double x[2 * N + 2], double y[2 * N + 2], double a[2 * N + 2], double b[2 * N + 2]) {\n"
STEP = "for (int t = 0; t < T; t++) { %s } }"
RED_BLACK = (
    "for (int i = 1; i <= N; i++) x[2 * i] = x[2 * i - 1] + x[2 * i + 1] - b[2 * i];\n"
    "for (int i = 0; i < N; i++) x[2 * i + 1] = x[2 * i] + x[2 * i + 2] - b[2 * i + 1];"
)


def drawn_step(seed: int) -> str:
    """Return a step of fields on a line: in place, copied back or two in turn, with coefficients and right sides."""
    rng = random.Random(seed)

    def read(array: str, near: bool = True) -> str:
        far = rng.choice((1, 1, 1, 2)) if near else 0
        places = {-far, far, *((0,) if rng.random() < 0.6 else ())} if near else {0}
        return " + ".join(f"{array}[i{place:+d}]" for place in sorted(places))

    beside = "".join(rng.sample([" + a[i]", " * b[i]", " + a[i + 1]", ""], rng.randint(1, 3)))
    loop = "for (int i = 2; i < N - 2; i++) "
    kind = rng.randrange(5)
    if kind == 0:
        return f"{loop}x[i] = {read('x')}{beside};"
    if kind == 1:
        return f"{loop}y[i] = {read('x')}{beside}; {loop}x[i] = y[i];"
    if kind == 2:
        return f"{loop}y[i] += {read('x')}{beside}; {loop}x[i] += {read('y', rng.random() < 0.5)} - b[i];"
    if kind == 3:
        by_two = "for (int i = %d; i < N - 2; i += 2) "
        return " ".join(f"{by_two % start}x[i] = {read('x')}{beside};" for start in (2, 3))
    return RED_BLACK.replace("- b", rng.choice(("- b", "* a", "+ y")))


def orders_of(cdag: ConcreteCdag) -> list[Any]:
    """Return the orders of skewed tiles that are legal."""
    computed, found = cdag.program_order, []
    t, i = cdag.coordinates[computed].T[:2]
    kind = cdag.owner[computed] - cdag.owner[computed].min()
    for wide, high, slope in itertools.product((1, 3, 6), (4, 7, int(t.max(initial=0)) + 1), (1, 2, 4)):
        order = computed[np.lexsort((i, kind, t, (i + slope * t + kind) // wide, t // high))]
        place = np.full(cdag.n, -1)
        place[order] = np.arange(len(order))
        read = np.repeat(np.arange(cdag.n), np.diff(cdag.starts))
        if (place[cdag.operands] < np.where(place[read] < 0, cdag.n, place[read])).all():
            found.append(order)
    return found


def compared(text: str, seed: int, cases: tuple[tuple[int, int], ...]) -> tuple[int, float]:
    """Compare with plays; return how often the argument said more than the inputs, and how near a play came."""
    program, rng = program_from_text(HEAD + STEP % text), np.random.default_rng(seed)
    flow = flow_dependences(program)
    active, nearest = 0, np.inf
    for steps, n in cases:
        cdag = concrete_cdag(program, {"T": steps, "N": n}, flow)
        orders = orders_of(cdag)
        for capacity in (5, 8, 12, 18):
            if capacity <= int(np.diff(cdag.starts).max(initial=0)):
                continue
            value = max(
                (
                    one.at({"T": steps, "N": n, "S": capacity})
                    for one in strips(flow, {"T": steps, "N": n, "S": capacity})
                ),
                default=0,
            )
            if value <= 0:
                continue
            loads = (
                min(int(belady_loads(order, cdag.starts, cdag.operands, capacity).sum()) for order in orders)
                if orders
                else np.inf
            )
            loads = min(loads, least_known(cdag, capacity, rng)) - cdag.inputs
            assert value <= loads, (text, steps, n, capacity)
            active += 1
            nearest = min(nearest, loads / value)
    return active, nearest


def test_no_play_beats_it() -> None:
    active, nearest = compared(RED_BLACK, 5, ((10, 24),))
    assert active >= 2
    assert nearest < 16


@pytest.mark.slow
@pytest.mark.parametrize("seed", samples(40))
def test_random_steps(seed: int) -> None:
    compared(drawn_step(seed), seed, ((9, 22), (14, 40)))


@pytest.fixture(scope="module")
def stated() -> tuple[dict[str, Any], ProgramReads]:
    """Return the certificate of an argument on strips of a few steps, and what its program reads."""
    program = program_from_text(HEAD + STEP % RED_BLACK)
    flow = flow_dependences(program)
    found = next(iter(strips(flow, {"T": 8, "N": 14, "S": 9})))
    return sub_bound(found, flow).certified(), ProgramReads(program)


FALSE = {
    "readers": "{ strip[s, q] -> S0[t, i] }",
    "begins": "{ strip[s, q] -> S0[2, i] : 2 <= i <= 9 }",
    "finishes": "{ strip[s, q] -> S0[5, i] : 2 <= i <= 4 }",
    "fixed": "{ strip[0, 0] -> a[4] }",
    "back": "{ S0[t, i] -> S1[t - 1, i]; S1[t, i] -> S0[t, i] }",
    "vertices": "{ strip[s, q] -> S0[t, i] }",
    "ends": "{ strip[s, q] -> S0[t, i] : 3 <= t <= 5 }",
    "ancestors": "{ S0[t, i] -> S1[u, j] }",
}


@pytest.mark.parametrize("name", FALSE)
def test_false_relations_are_refused(stated: tuple[dict[str, Any], ProgramReads], name: str) -> None:
    part, reads = stated
    assert not list(wrong_strips(waiting_of(part, reads), reads))
    assert list(wrong_strips(waiting_of({**part, name: FALSE[name]}, reads), reads))


@pytest.mark.parametrize(
    ("name", "change"), [("fixed", "{ strip[0, 0] -> x[7] }"), ("back", "{ S0[t, i] -> S1[t, i] : 0 <= t, i < 9 }")]
)
def test_they_are_found_in_the_program_as_executed(
    stated: tuple[dict[str, Any], ProgramReads], name: str, change: str
) -> None:
    part, reads = stated
    sizes = {"T": 9, "N": 14}
    graph = Graph(operands_of(execute(reads.program, sizes)))
    assert not list(wrong_strips_in(waiting_of(part, reads), graph, sizes))
    assert list(wrong_strips_in(waiting_of({**part, name: change}, reads), graph, sizes))


@pytest.mark.slow
def test_right_sides_wait_beside_the_values_of_a_line() -> None:
    """Three words at every two places, where the inputs alone were counted before."""
    program = program_from_text(HEAD + STEP % RED_BLACK)
    sizes = {"T": 2_000, "N": 100_000, "S": 4_096}
    bound = lower_bound(program, sizes=sizes)
    assert 390_000 < bound.value(sizes) < 3 * 100_000 + 2 + (3 / 2 - 4_096 / 4_000) * 200_000
    document = json.loads(json.dumps(as_bound(program, bound, sizes, flow_dependences(program)).document()))
    violations, remarks = verify(program, document, sizes)
    assert not violations
    assert any("strips" in remark for remark in remarks)
