"""Layers in turn: implicit sweeps over rows and then over columns, each of which loads what does not fit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tests.affine.check.test_certificate import means_the_same
from tests.affine.derived import alone, quick
from tests.reference.falsified import at, changed_numbers, put

from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.bounds.lifetime.alternating_layers import Alternating, alternating_layers, sub_bound
from shorthaul.affine.check.certificate import verify
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.integer_sets.quasi_polynomial import number_at
from shorthaul.affine.model import Program
from shorthaul.affine.replay.cdag import ConcreteCdag, concrete_cdag
from shorthaul.graphs.replay import belady_loads

IntArray = npt.NDArray[np.int64]
HEAD = "void f(int T, int M, int N, double u[M][N], double v[M][N], double p[M][N], double q[M][N]) {\n#pragma scop\nfor (int t = 0; t < T; t++) {\n%s\n}\n#pragma endscop\n}\n"
#: A sweep along rows and one along columns, there and back; of the second one the factors on the way back as a format.
ROWS = """for (int i = 0; i < M; i++) {
  for (int j = 1; j < N; j++) { p[i][j] = 1.0 / (2.0 + p[i][j - 1]); q[i][j] = (u[i][j] + q[i][j - 1]) * p[i][j]; }
  for (int j = N - 2; j >= 1; j--) v[i][j] = q[i][j] - p[i][j] * v[i][j + 1];
}"""
COLUMNS = """for (int j = 1; j < N - 1; j++) {
  for (int i = 1; i < M; i++) { p[i][j] = 1.0 / (2.0 + p[i - 1][j]); q[i][j] = (v[i][j] + q[i - 1][j]) * p[i][j]; }
  for (int i = M - 2; i >= 0; i--) u[i][j] = q[i][j] - %s * u[i + 1][j];
}"""
BOTH = HEAD % (ROWS + COLUMNS % "p[i][j]")


def arguments(text: str) -> list[Alternating]:
    return list(alternating_layers(flow_dependences(program_from_text(text))))


def test_every_sweep_loads_what_does_not_fit() -> None:
    flow = flow_dependences(program_from_text(BOTH))
    (found,) = alternating_layers(flow)
    assert found.statements == ("S2", "S5")
    chains = 8 * 17  # where both sweeps have p and q
    for capacity in (5, 40, 130, 200):
        sizes = {"T": 7, "M": 10, "N": 19, "S": capacity}
        assert found.at(sizes) == pytest.approx(13 * (chains - capacity + 1))
    assert sub_bound(found, flow).lemmas[0].name == "alternating layers"


@pytest.mark.costly
@pytest.mark.parametrize("body", [
    ROWS.replace("v[i][j + 1]", "v[i][0]") + COLUMNS % "p[i][j]",  # rows that go one way
    ROWS + ROWS.replace("u[i][j]", "w[i][j]").replace("v[i]", "u[i]").replace("w[i][j]", "v[i][j]"),  # rows alone
], ids=["one way", "one direction"])  # fmt: skip
def test_no_argument(body: str) -> None:
    assert not arguments(HEAD % body)


def test_with_nothing_beside_in_one_of_two_sweeps() -> None:
    """One layer in each step is left: of columns only one value for each line waits, so nothing is gained by turns."""
    (found,) = arguments(HEAD % (ROWS + COLUMNS % "0.5"))
    assert len(found.statements) == 1
    assert found.at({"T": 7, "M": 10, "N": 19, "S": 40}) == pytest.approx(5 * (8 * 17 - 39))


#: A sweep in parts: the right side first, then a factor and the value in scalars and lines of their own.
PARTS = """for (int i = 0; i < M; i++) {
  for (int j = 1; j < N; j++) r[j] = u[i][j] + 0.5 * (u[i][j] - q[i][j]);
  for (int j = 1; j < N; j++) { m = 2.0 - c[j - 1]; c[j] = 0.5 / m; d[j] = (r[j] + d[j - 1]) / m; }
  for (int j = N - 2; j >= 1; j--) { s = c[j] * v[i][j + 1]; v[i][j] = d[j] - s; }
}"""


def test_sweeps_in_parts() -> None:
    """Paths lead by way of right sides and temporaries; the factors of a line return to one another by a scalar."""
    head = HEAD.replace("int N, ", "int N, double r[N], double c[N], double d[N], double m, double s, ")
    (found,) = arguments(head % (PARTS + COLUMNS % "p[i][j]"))
    assert len(found.statements) == 2
    assert found.at({"T": 7, "M": 10, "N": 19, "S": 40}) == pytest.approx(13 * (8 * 17 - 39))


def on_demand(cdag: ConcreteCdag, wanted: list[int]) -> IntArray:
    """Return an order of all vertices in which those ``wanted`` come one after the other, as early as they can."""
    done, order = set(range(cdag.inputs)), []
    for target in [*wanted, *range(cdag.inputs, cdag.n)]:
        stack = [target]
        while stack:
            read = cdag.operands[cdag.starts[stack[-1]] : cdag.starts[stack[-1] + 1]].tolist()
            missing = [one for one in read if one not in done]
            if stack[-1] in done or not missing:
                vertex = stack.pop()
                order += [] if vertex in done else [vertex]
                done.add(vertex)
            stack += missing
    return np.array(order, np.int64)


def orders(cdag: ConcreteCdag) -> Iterator[IntArray]:
    """Yield the order as written, and those that go back along some lines while others go there, in every second sweep."""
    yield cdag.program_order
    computed = range(cdag.inputs, cdag.n)
    where = {vertex: (cdag.names[cdag.owner[vertex]], *cdag.coordinates[vertex].tolist()) for vertex in computed}
    for chosen in ({"S1"}, {"S4"}, {"S1", "S4"}):
        wanted = [vertex for vertex in computed if where[vertex][0] in chosen]
        yield on_demand(cdag, sorted(wanted, key=lambda item: (where[item][1], where[item][0], -where[item][2])))
        yield on_demand(cdag, sorted(wanted, key=lambda item: (where[item][1], where[item][0], -where[item][3])))


@pytest.mark.parametrize("sizes", quick(["2 6 7", "3 9 12", "4 14 17"], ["2 6 7"]))
def test_no_order_beats_it(sizes: str) -> None:
    flow, here = flow_dependences(program_from_text(BOTH)), dict(zip("TMN", map(int, sizes.split()), strict=True))
    (found,) = alternating_layers(flow)
    bound, cdag = sub_bound(found, flow).value, concrete_cdag(flow.program, here, flow)
    for capacity in sorted({5, 8, 2 * here["N"], here["M"] * here["N"] // 3}):
        loads = min(int(belady_loads(order, cdag.starts, cdag.operands, capacity).sum()) for order in orders(cdag))
        assert 0 < number_at(bound, {**here, "S": capacity}) <= loads - cdag.inputs


@cache
def certified() -> tuple[Program, dict[str, Any], dict[str, int]]:
    """Return a program, its bound as a document holds it, and its sizes; nothing of it is changed."""
    flow, sizes = flow_dependences(program_from_text(BOTH)), {"T": 90, "M": 70, "N": 80, "S": 1_000}
    (found,) = alternating_layers(flow)
    return flow.program, json.loads(alone(flow, sub_bound(found, flow), sizes)), sizes


@pytest.mark.slow
def test_the_search_finds_it() -> None:
    found = lower_bound(program_from_text(BOTH))
    assert "alternating" in {part.certified()["kind"] for part in found.proof.parts}


def test_its_certificate_is_verified() -> None:
    program, document, sizes = certified()
    violations, remarks = verify(program, document, sizes)
    assert not violations
    assert any("alternating on S2, S5: verified" in text for text in remarks)


@pytest.mark.parametrize("step", quick([7, 197], [197]))
def test_a_changed_number_is_found(step: int) -> None:
    program, document, sizes = certified()
    parts = document["certificate"]["parts"]
    (here,) = (at_part for at_part, item in enumerate(parts) if item["kind"] == "alternating")
    found = 0
    for path, value in [*changed_numbers(parts[here])][::step]:
        place = ("certificate", "parts", here, *path)
        same = means_the_same(at(document, place), value, is_bound=path[-1] == "value")
        if not same and path[-1] != "ancestors":  # of these fewer do
            assert verify(program, put(document, place, value), sizes)[0], (path, value)
            found += 1
    assert found
