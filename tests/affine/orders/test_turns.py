"""Groups that take turns, and index-set splitting: the pieces, the delays, and the order by replay."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from tests.affine.derived import flow_of, upper_of
from tests.samples import samples

from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.counting import card
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.orders.splitting import split
from shorthaul.affine.orders.turns import TurnsStep, least_delays
from shorthaul.affine.orders.upper_bound import UpperBound, upper_bound
from shorthaul.affine.orders.upper_report import order_text
from shorthaul.affine.replay.cdag import concrete_cdag
from shorthaul.affine.replay.tile_order import tiled_order
from shorthaul.graphs.replay import belady_loads


def test_the_pieces_are_all_instances_once() -> None:
    flow = flow_of("gramschmidt")
    made = split(flow, ("S1", "S3", "S5", "S6"))
    assert made.names["S6"] == ("S6_on", "S6_off")
    assert made.names["S5"] == ("S5",)
    sizes = {"M": 5, "N": 7}
    before, after = flow.program.by_name, made.flow.program.by_name
    on, off = (card(after[name].domain).at(sizes) for name in ("S6_on", "S6_off"))
    assert (on, on + off) == (6 * 5, card(before["S6"].domain).at(sizes))
    pairs = [sum(card(item.relation.wrap()).at(sizes) for item in each.flows) for each in (flow, made.flow)]
    assert pairs[0] == pairs[1]
    assert split(flow_of("adi"), ("S17", "S19")).pieces == {}


def test_delays() -> None:
    """Every delay found is legal and no set of smaller ones is; none are found where a cycle goes back in time."""
    random = np.random.default_rng(5)
    for _ in samples(300):
        edges = {(a, b): int(random.integers(-1, 3)) for a, b in product(range(3), repeat=2) if a != b}
        edges = {key: value for key, value in edges.items() if random.random() < 0.7}

        def legal(delays: tuple[int, ...], edges: dict[tuple[int, int], int] = edges) -> bool:
            return all(delays[b] - delays[a] + distance >= 0 for (a, b), distance in edges.items())

        possible = [delays for delays in product(range(4), repeat=3) if legal(delays)]
        found = least_delays(3, edges)
        assert (found is None) == (not possible)
        if found is not None:
            assert found == [min(item[at] for item in possible) for at in range(3)]


def checked(upper: UpperBound, sizes: dict[str, int]) -> tuple[int, int]:
    """Return the loads of the derived order, whose dependences are checked, and of program order."""
    cdag = concrete_cdag(upper.program, sizes)
    sinks = np.repeat(np.arange(cdag.n), np.diff(cdag.starts))
    order = tiled_order(upper, cdag, sizes)
    position = np.full(cdag.n, -1)
    position[order] = np.arange(len(order))
    assert sorted(order.tolist()) == list(range(cdag.inputs, cdag.n))
    assert (position[cdag.operands] < position[sinks]).all()
    counted = [belady_loads(item, cdag.starts, cdag.operands, sizes["S"]).sum() for item in (order, cdag.program_order)]
    return int(counted[0]), int(counted[1])


@pytest.mark.parametrize(
    ("name", "given", "capacities"),
    [
        ("gramschmidt", {"M": 30, "N": 25}, (12, 20)),
        pytest.param("adi", {"TSTEPS": 4, "N": 48}, (30, 40), marks=pytest.mark.slow),
    ],
)
def test_turns_by_replay(name: str, given: dict[str, int], capacities: tuple[int, ...]) -> None:
    upper = upper_of(name)
    (step,) = (item for item in upper.steps if isinstance(item, TurnsStep))
    for capacity in capacities:
        assert step.pays(given, capacity)
        loads, before = checked(upper, {**given, "S": capacity})
        assert loads <= upper.value({**given, "S": capacity})
        assert loads < before * 0.85


def test_the_order_in_words() -> None:
    (step,) = (item for item in upper_of("gramschmidt").steps if isinstance(item, TurnsStep))
    assert order_text(step).startswith("step by step of the outer loop, [S1: for each k")
    assert order_text(step).endswith("S6 split where j - k - 1 = 0")


def test_sweeps_there_and_back() -> None:
    """A sweep down and one up, again and again: both directions share what they pass, one load for each value."""
    program = program_from_text(
        "void f(int T, int n, int m, double a[n][m], double w[n][m]) {\n#pragma scop\n"
        "for (int t = 0; t < T; t++) {\n"
        "  for (int i = 1; i < n; i++) for (int j = 0; j < m; j++) a[i][j] = a[i - 1][j] * w[i][j];\n"
        "  for (int i = n - 2; i >= 0; i--) for (int j = 0; j < m; j++) a[i][j] = a[i + 1][j] + a[i][j];\n"
        "}\n#pragma endscop\n}"
    )
    upper = upper_bound(program)
    for capacity in (6, 10, 16):
        sizes = {"T": 5, "n": 12, "m": 9, "S": capacity}
        loads, _ = checked(upper, sizes)
        assert loads <= upper.value(sizes)


def test_turns_of_pieces_are_counted_in_the_statements_as_they_are() -> None:
    """A Sylvester equation by substitution: pieces take turns, and what is searched then has whole statements."""
    program = program_from_text(
        "void f(int n, int m, double A[n][n], double B[m][m], double C[n][m]) {\n"
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) {\n"
        "  for (int k = 0; k < i; k++) C[i][j] -= A[i][k] * C[k][j];\n"
        "  for (int k = 0; k < j; k++) C[i][j] -= C[i][k] * B[k][j];\n"
        "  C[i][j] /= A[i][i] + B[j][j];\n"
        "}\n}"
    )
    flow = flow_dependences(program)
    (step,) = upper_bound(program, flow=flow).steps
    assert isinstance(step, TurnsStep)
    assert step.parts.pieces
    assert step.counts.flow is flow
