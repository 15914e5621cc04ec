"""Panels and triangular blocks: every pair of rows once, legal orders only, and the replay below the formula."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from itertools import combinations

import islpy as isl
import numpy as np
import pytest
import sympy
from tests.affine.derived import quick, upper_of

from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.integer_sets.quasi_polynomial import symbol
from shorthaul.affine.integer_sets.triangle_blocks import blocks, largest_gap, zone_size
from shorthaul.affine.model import Program
from shorthaul.affine.orders.panel_policy import Cut, PanelStep
from shorthaul.affine.orders.panels import Panels, panels
from shorthaul.affine.orders.placement import loops
from shorthaul.affine.orders.triangles import row_ranges
from shorthaul.affine.orders.upper_bound import UpperBound, upper_bound
from shorthaul.affine.orders.upper_report import upper_document
from shorthaul.affine.replay.cdag import ConcreteCdag, concrete_cdag
from shorthaul.affine.replay.panel_order import panel_keys
from shorthaul.affine.workloads.cases import kernel
from shorthaul.graphs.replay import belady_loads


@pytest.mark.parametrize(("rows", "most"), [(100, 6), (37, 5), (11, 3), (200, 14), (5, 7), (50, 2), (90, 40)])
def test_every_pair_of_rows_is_in_one_block(rows: int, most: int) -> None:
    size = int(zone_size(rows, most))
    pairs = np.array(list(combinations(range(rows), 2)))
    found = blocks(pairs[:, 0], pairs[:, 1], size)
    assert (found == blocks(pairs[:, 1], pairs[:, 0], size)).all()
    members: dict[int, set[int]] = {}
    for pair, block in zip(pairs.tolist(), found.tolist(), strict=True):
        assert (block < 0) == (pair[0] // size == pair[1] // size)
        if block >= 0:
            members.setdefault(block, set()).update(pair)
    assert max((len(item) for item in members.values()), default=0) <= most
    assert max(Counter(row for item in members.values() for row in item).values(), default=0) <= size
    # no block leaves out a pair of its rows: otherwise that pair would be in two blocks
    assert sum(len(item) * (len(item) - 1) // 2 for item in members.values()) == (found >= 0).sum()


@pytest.mark.parametrize(
    ("most", "slack", "width"),
    [
        (4, Fraction(0), 1),
        (30, Fraction(0), 1),
        (30, Fraction(1, 10), 1),
        (30, Fraction(0), 4),
        (33, Fraction(1, 5), 8),
    ],
)
def test_zones_are_no_larger_than_the_gap_says(most: int, slack: Fraction, width: int) -> None:
    gap = largest_gap(500, most, slack, width)
    needed = [zone_size(rows, most, width) - (1 + slack) * Fraction(rows, most) for rows in range(1, 501)]
    assert gap == max(0, *needed)


def test_sizes_of_zones_beyond_the_table() -> None:
    """For many rows prime numbers bound the size of zones; the table agrees with them where both are known."""
    for rows, most in ((10**7, 100), (10**10, 1000), (10**13, 9)):
        size = zone_size(rows, most)
        assert rows / most <= size <= rows / most * 1.2 + 2
        assert size <= 1.2 * rows / most + largest_gap(rows, most, Fraction(1, 5))
    assert zone_size(10**7, 10**6) == float("inf")
    assert zone_size(10**6, 100) <= 10**4 * 1.2 + 1


def test_large_loads_are_exact() -> None:
    """Beyond 2^53, too: each row is loaded once for a block, with the gap of its zones, and no float is between."""
    step = next(item for item in upper_of("syrk").steps if isinstance(item, PanelStep))
    sizes, capacity = {"N": 2**30 + 1, "M": 2**30 + 7}, 1000
    loads = step.plan.loads(sizes, capacity)[0]
    edge = step.plan.blocks.largest(capacity)
    rows = Fraction(sizes["N"], edge)
    assert isinstance(loads, Fraction)
    assert loads >= rows * sizes["N"] * sizes["M"]
    assert loads != float(loads)


def test_where_panels_are_legal() -> None:
    def found(name: str, planes: list[tuple[int, int]]) -> list[Panels]:
        program = kernel(name)
        deepest = max(program.statements, key=lambda item: len(item.iterators))
        return list(panels(flow_dependences(program), {deepest.name: loops(deepest)}, planes))

    assert found("gemm", [(0, 1), (0, 2)]) == [
        Panels((0, 2)),
        Panels((0, 2), 1, (0,)),
        Panels((0, 2), 1, (2,)),
        Panels((0, 2), 1, (0, 2)),
    ]
    assert found("floyd-warshall", [(1, 2)]) == [Panels((1, 2), 0, (1, 2))]
    assert found("seidel-2d", [(0, 1), (0, 2), (1, 2)]) == []


def keys_of(step: PanelStep, cdag: ConcreteCdag, sizes: Mapping[str, int], cut: Cut, shift: int) -> np.ndarray:
    """Return the vertices of a phase in panels of a given size, wherever these pay or not."""
    first = len(cdag.names) - len(step.plan.counts.flow.program.statements)
    owners = [cdag.names.index(name, first) for name in step.names]
    vertices = np.flatnonzero(np.isin(cdag.owner, owners))
    places = np.array(
        [
            [
                row.at(cdag.coordinates[v, : cdag.widths[cdag.owner[v]]].tolist(), sizes)
                for row in step.plan.phase.placement[cdag.names[cdag.owner[v]]]
            ]
            for v in vertices.tolist()
        ]
    )
    keys = panel_keys(step.plan, places, cut, sizes["S"], dict.fromkeys(range(places.shape[1]), shift))
    return vertices[np.lexsort((vertices, *reversed(keys)))]


#: All of A A^T, lines on both sides of the diagonal; and Cholesky's factorisation column by column.
SOURCES = {
    "full": (
        "void f(int N, int M, double A[N][M], double C[N][N]) {\n#pragma scop\n"
        "for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) for (int k = 0; k < M; k++)\n"
        "C[i][j] += A[i][k] * A[j][k];\n#pragma endscop\n}"
    ),
    "right-looking": (
        "void f(int N, double A[N][N]) {\n#pragma scop\nfor (int k = 0; k < N; k++) {\n"
        "A[k][k] = sqrt(A[k][k]);\nfor (int i = k + 1; i < N; i++) A[i][k] /= A[k][k];\n"
        "for (int i = k + 1; i < N; i++) for (int j = k + 1; j <= i; j++) A[i][j] -= A[i][k] * A[j][k];\n"
        "}\n#pragma endscop\n}"
    ),
}


@cache
def program_of(name: str) -> Program:
    return program_from_text(SOURCES[name]) if name in SOURCES else kernel(name)


@cache
def derived(name: str) -> UpperBound:
    return upper_bound(program_of(name))


@cache
def panel_step(name: str) -> PanelStep:
    (step,) = (item for item in derived(name).steps if isinstance(item, PanelStep))
    return step


@pytest.mark.slow
def test_leading_terms_of_other_symmetric_programs() -> None:
    M, N, S = (symbol(name) for name in "MNS")
    assert sympy.simplify(derived("full").leading - M * N**2 / sympy.sqrt(S)) == 0
    cholesky = N**3 / (3 * sympy.sqrt(2) * sympy.sqrt(S))
    assert sympy.simplify(derived("right-looking").leading - cholesky) == 0
    assert panel_step("right-looking").plan.chosen.shift == 1


@pytest.mark.costly
@pytest.mark.parametrize(
    "name",
    quick(["syrk", "syr2k", "covariance", "cholesky", "floyd-warshall", *SOURCES], {"syrk", "right-looking"}),
)
@pytest.mark.parametrize("base", [6, pytest.param(17, marks=pytest.mark.slow)])
def test_the_replay_of_panels_needs_no_more_than_the_formula(name: str, base: int) -> None:
    step = panel_step(name)
    program = program_of(name)
    sizes = {item: base + at % 2 for at, item in enumerate(program.parameters)}
    cdag = concrete_cdag(program, sizes)
    position = np.full(cdag.n, -1)
    sinks = np.repeat(np.arange(cdag.n), np.diff(cdag.starts))
    for capacity in (16, 33, 90):
        panels = (1,) if step.plan.chosen.along is None else (1, 2, 5, base)
        for cut in (Cut(panel, width) for panel in panels for width in ((1, 2) if step.plan.blocks else (1,))):
            promised = step.plan.at(sizes, capacity, cut)
            loads = []
            for shift in (0, 1):
                order = keys_of(step, cdag, {**sizes, "S": capacity}, cut, shift)
                position[order] = np.arange(len(order))
                inside = (position[cdag.operands] >= 0) & (position[sinks] >= 0)
                assert (position[cdag.operands] < position[sinks])[inside].all()
                loads.append(int(belady_loads(order, cdag.starts, cdag.operands, capacity).sum()))
                position[order] = -1
            assert min(loads) <= promised


def test_triangular_blocks_pay() -> None:
    """At given sizes blocks are taken where they need fewer loads, and squares where there are too few rows."""
    step = panel_step("syrk")
    large = {"N": 4000, "M": 4000}
    assert step.cut(large, 256) is not None
    assert step.loads({"N": 4000, "M": 4000}, 32768) < 0.95 * step.plain.loads({"N": 4000, "M": 4000}, 32768)
    assert step.loads(large, 256) < 0.85 * step.plain.loads(large, 256)
    assert step.cut({"N": 8, "M": 8}, 256) is None


def test_names_of_parameters_are_not_taken() -> None:
    """A parameter called b, B or g keeps its name; the edges and panels get others."""
    program = program_from_text(
        "void f(int b, int B, double A[b][B], double C[b][b]) {\n#pragma scop\n"
        "for (int i = 0; i < b; i++) for (int j = 0; j <= i; j++) for (int k = 0; k < B; k++)\n"
        "C[i][j] += A[i][k] * A[j][k];\n#pragma endscop\n}"
    )
    upper = upper_bound(program)
    assert not {str(name) for name in upper.edges} & {"b", "B"}
    assert upper.leading.free_symbols == {symbol("b"), symbol("B"), symbol("S")}
    made = upper_document(upper, upper.leading, {"b": 50, "B": 50, "S": 40})
    assert made["value"] <= 2 * 50**3
    assert "triangular blocks" in made["steps"][0]["order"]
    assert set(made["where"]) == {"g"}


@pytest.mark.costly
@pytest.mark.parametrize(
    "name",
    quick(["syrk", "syr2k", "covariance", "cholesky", "floyd-warshall", *SOURCES], {"syrk", "right-looking"}),
)
def test_the_formula_of_panels_is_what_their_parts_add_up_to(name: str) -> None:
    """With the edges, the panel and the gap of a cut put into the formula it is the number counted for that cut.

    Panels have fewer rows one after the other, so that the gap is the largest one; the number may do with less.
    """
    plan = panel_step(name).plan
    names = {edge: sympy.Symbol(f"e{at}") for at, edge in enumerate(plan.edges)}
    formula = plan.formula(names)
    for base, capacity, panel in ((60, 40, 1), (61, 90, 4), (90, 40, 7)):
        sizes = {item: base + at % 2 for at, item in enumerate(program_of(name).parameters)}
        at = {symbol(item): value for item, value in sizes.items()}
        at[symbol(plan.counts.panel)] = panel
        for step in plan.steps:
            if step.edge in names:
                at[names[step.edge]] = step.phase.edge(step.policy, capacity)
        if plan.blocks is not None:
            edge = plan.blocks.largest(capacity)
            rows = plan.counts.at({**sizes, plan.counts.panel: panel})(plan.blocks.extent)
            at[names[plan.blocks.edge]] = edge
            exact = plan.chosen.along is None
            gap = int(zone_size(rows, edge)) - sympy.Rational(rows, edge) if exact else largest_gap(rows, edge)
            at[symbol(plan.counts.gap)] = gap
        counted, by_formula = plan.at(sizes, capacity, Cut(panel)), float(formula.subs(at))
        assert counted <= by_formula * (1 + 1e-12)
        slack = 1.5 if plan.blocks is not None and plan.chosen.along is not None else 1 + 1e-12
        assert by_formula <= counted * slack


@pytest.mark.parametrize(("other", "has_ranges"), [("r", True), ("n", False)])
def test_rows_without_an_end_in_common_have_no_blocks(other: str, has_ranges: bool) -> None:
    """As in W^T W beside W^T V: isl's hull of rows up to r and of rows up to n has no end."""
    lines = isl.Set(f"[r, n] -> {{ [a, b, i] : 0 <= a < r and 0 <= b < {other} and 0 <= i < n }}")
    assert (row_ranges(lines, Panels((0, 1))) is not None) == has_ranges
