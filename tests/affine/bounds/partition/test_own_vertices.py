"""Temporaries that are read once do not change what a partition counts, and no play beats it."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
import sympy
from tests.affine.bounds.test_random_study import least_known
from tests.affine.derived import bound_of, quick
from tests.reference.affine_rewritings import split

from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.bounds.graphs import without_copied_values
from shorthaul.affine.bounds.partition.parts import Part, with_own
from shorthaul.affine.bounds.partition.paths import Path, paths_into
from shorthaul.affine.bounds.partition.stencil_levels import stencils, sub_bound
from shorthaul.affine.check.certificate import verify
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.integer_sets.quasi_polynomial import number_at
from shorthaul.affine.model import Program
from shorthaul.affine.replay.cdag import concrete_cdag
from shorthaul.affine.verbs.deriving import bound_of as as_bound
from shorthaul.affine.verbs.oracle import examine
from shorthaul.affine.workloads.cases import kernel_text
from shorthaul.core.search import Search


@pytest.mark.parametrize("name", quick(["matmul", "syrk", "lu", "convolution-1d", "attention"], ["matmul"]))
def test_a_product_in_two_statements(name: str) -> None:
    bound = lower_bound(program_from_text(split(kernel_text(name))))
    assert sympy.simplify(bound.leading - bound_of(name).leading) == 0
    assert "Lemma (own vertices)." in bound.proof.text()


@pytest.mark.parametrize("name", quick(["jacobi-1d", "heat-1d"], ["heat-1d"]))
def test_a_sum_of_neighbours_in_two_statements(name: str) -> None:
    """Rows hold with own vertices, also the balanced ones, 3/2 times as much on the line."""
    found = lower_bound(program_from_text(split(kernel_text(name))), search=Search(effort=0.2))
    assert sympy.simplify(found.leading - bound_of(name).leading) == 0
    assert "Lemma (own vertices of balanced rows)." in found.proof.text()
    document = as_bound(found.program, found, None, flow_dependences(found.program)).document()
    violations, remarks = verify(found.program, json.loads(json.dumps(document)), None)
    assert not violations
    assert all(text.endswith(": verified") for text in remarks)


def neighbours_by_turns(seed: int) -> str:
    """Return a step on the line whose sum of neighbours is made in some order over temporaries."""
    rng = np.random.default_rng(seed)
    places = rng.permutation([-1, 0, 1] if seed % 2 else [-2, -1, 0, 1])
    terms = [f"A[i + {place}]" for place in places]
    cuts = sorted(rng.choice(range(2, len(terms)), size=rng.integers(1, len(terms) - 1), replace=False))
    loop, lines, before = "for (int i = 2; i < N - 2; i++) ", [], []
    for number, (low, high) in enumerate(itertools.pairwise([0, *cuts, len(terms)])):
        name = "B" if high == len(terms) else f"t{number}"
        lines.append(f"{loop}{name}[i] = {' + '.join([*before, *terms[low:high]])};")
        before = [f"t{number}[i]"]
    arrays = ", ".join(f"double {name}[N]" for name in ("A", "B", "t0", "t1", "t2"))
    body = " ".join([*lines, f"{loop}A[i] = B[i];"])
    return f"void f(int N, int T, {arrays}) {{\n#pragma scop\nfor (int t = 0; t < T; t++) {{ {body} }}\n#pragma endscop\n}}"


@pytest.mark.parametrize("seed", quick(range(8), (0,)))
def test_no_play_beats_balanced_rows(seed: int) -> None:
    program = program_from_text(neighbours_by_turns(seed))
    merged = without_copied_values(flow_dependences(program))
    assert merged is not None
    flow, _ = merged
    found = [sub_bound(item, flow, balanced=True) for item in stencils(flow) if not item.own.is_empty()]
    assert found
    active = 0
    for n, steps in ((5, 3), (7, 1), (9, 6), (24, 20)):
        cdag = concrete_cdag(flow.program, {"N": n, "T": steps}, flow)
        for capacity in (4, 5, 7, 11):
            sizes = {"N": n, "T": steps, "S": capacity}
            least = least_known(cdag, capacity, np.random.default_rng(seed + n))
            tuned = [item.tuned(sizes) for item in found if item.tuned is not None]
            for item in [*found, *(more for more in tuned if more is not None)]:
                value = number_at(item.value, sizes)
                assert cdag.inputs + value <= least
                active += value > 0
    assert active


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["matmul", "syrk", "symm", "convolution-1d", "covariance", "jacobi-1d", "seidel-1d", "jacobi-2d"]
)
def test_no_play_beats_the_bound(name: str) -> None:
    program = program_from_text(split(kernel_text(name)))
    flow = flow_dependences(program)
    sizes = [dict.fromkeys(program.parameters, n) for n in (1, 2, 3, 5)]
    findings = examine(flow, lower_bound(program, flow=flow), sizes, Search(effort=20))
    assert findings.comparisons
    assert not findings.violations


def test_a_product_that_two_instances_read_is_not_their_own() -> None:
    text = """void f(int N, double A[N][N], double B[N][N + 1], double C[N][N], double t[N][N + 1][N]) {
#pragma scop
for (int i = 0; i < N; i++) for (int j = 0; j < N + 1; j++) for (int k = 0; k < N; k++) t[i][j][k] = A[i][k] * B[k][j];
for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) for (int k = 0; k < N; k++) C[i][j] += t[i][j][k] * t[i][j + 1][k];
#pragma endscop
}
"""
    program = program_from_text(text)
    part = Part("S1", program.by_name["S1"].domain, tuple(paths(program)), (0, 1, 2))
    assert not with_own([part])[0].own
    (one,) = with_own([replace(part, paths=part.paths[:1])])
    assert one.own == {"S0"}


def paths(program: Program) -> list[Path]:
    """Return the paths into the second statement by way of the first, those by one read before those by the other."""
    found = [item for item in paths_into(flow_dependences(program), "S1") if len(item.levels) == 2]
    return sorted(found, key=lambda item: item.references)
