"""The ends of lines that are operands: factorisations and triangular solves, whose operands are computed values."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from typing import Any

import islpy as isl
import numpy as np
import pytest
from tests.affine.check.test_certificate import means_the_same
from tests.affine.derived import quick
from tests.reference.falsified import at, changed_numbers, put

from shorthaul.affine.bounds.best import fitted, lower_bound
from shorthaul.affine.bounds.partition.candidates import instances, sub_bound, with_ends
from shorthaul.affine.bounds.partition.k_partition import Partition
from shorthaul.affine.bounds.partition.merged_statements import partitions
from shorthaul.affine.check.certificate import verify
from shorthaul.affine.check.execution import Vertex, evaluate, execute
from shorthaul.affine.check.partition_points import operands_of, points_of
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.integer_sets.quasi_polynomial import number_at
from shorthaul.affine.verbs.deriving import bound_of
from shorthaul.core.search import Search

FRAME = "void f(int N, int M, double A[N][N], double B[N][M], double D[N]) {\n#pragma scop\n%s\n#pragma endscop\n}\n"
BELOW = "for (int i = k + 1; i < N; i++) for (int j = k + 1; j <= i; j++) A[i][j] -= A[i][k] * A[j][k]"
COLUMN = "for (int i = k + 1; i < N; i++) A[i][k] /= %s;"
SQUARE = "for (int i = k + 1; i < N; i++) for (int j = k + 1; j < N; j++) A[i][j] -= A[i][k] * A[k][j];"
SOLVE = "for (int j = 0; j < M; j++) for (int k = %s) B[i][j] -= A[i][k] * B[k][j];"
#: Each with how much its bound gains at least, at N = M = 300 and S = 1,300.
PROGRAMS = {
    "ldl": (f"for (int k = 0; k < N; k++) {{ D[k] = A[k][k]; {BELOW} / D[k]; {COLUMN % 'D[k]'} }}", 0.05),
    "cholesky": (f"for (int k = 0; k < N; k++) {{ {COLUMN % 'A[k][k]'} {BELOW}; }}", 0.05),
    "lu": (f"for (int k = 0; k < N; k++) {{ {COLUMN % 'A[k][k]'} {SQUARE} }}", 0.01),
    "forward": ("for (int i = 0; i < N; i++) " + SOLVE % "0; k < i; k++", 0.0),
    "backward": ("for (int i = N - 1; i >= 0; i--) " + SOLVE % "i + 1; k < N; k++", 0.0),
}
Map = dict[Vertex, Vertex]


def arguments(text: str) -> tuple[Any, list[Partition]]:
    """Return the program and its arguments with ends of lines."""
    program = program_from_text(FRAME % text)
    flow, where = flow_dependences(program), instances()
    made = partitions(flow, where, where[0].sizes(flow.program.parameters), symmetric=True)
    pool = (item.argument for item in with_ends(made, flow))
    return program, [item for item in pool if item.ends is not None]


def pairs(relation: isl.UnionMap, among: dict[str, list[Vertex]], sizes: dict[str, int]) -> Map:
    """Return what a function makes of vertices."""
    found: Map = {}
    maps: list[isl.Map] = []
    relation.foreach_map(maps.append)
    for item in maps:
        vertices = among.get(item.get_tuple_name(isl.dim_type.in_), [])
        if vertices:
            defined, values = evaluate(item, sizes, np.array([row for _, row in vertices]))
            name = item.get_tuple_name(isl.dim_type.out)
            found |= {vertices[k]: (name, tuple(values[k].tolist())) for k in np.flatnonzero(defined).tolist()}
    return found


def most(K: int, w: int, gamma: float) -> float:
    """Return the least of the lemma's numbers over prices."""
    q = np.linspace(0, 8, 81)
    R = np.sqrt(K + q * q) - q
    return float(np.min(gamma * (2 / 3 * R**3 + q * R * R + q**3 / 3 + q * w)))


@pytest.mark.parametrize("name", quick(PROGRAMS, ("ldl",)))
def test_no_stretch_computes_more(name: str) -> None:
    program, found = arguments(PROGRAMS[name][0])
    assert found
    closest = 0.0
    for item in found:
        for seed in range(3):
            closest = max(closest, *stretches(program, item, np.random.default_rng(seed)))
    assert 0.6 < closest <= 1 + 1e-9


def stretches(program: Any, item: Partition, rng: np.random.Generator) -> list[float]:
    """Return of drawn stretches of a play how much of what the lemma allows they compute, made worse by single steps."""
    sizes = {name: int(rng.integers(5, 10)) for name in program.parameters}
    operands = operands_of(execute(program, sizes))
    known: dict[str, list[Vertex]] = defaultdict(list)
    for vertex in operands:
        known[vertex[0]].append(vertex)
    computed = [vertex for statement in program.statements for vertex in known[statement.name]]
    spill, sources = (points_of(one, known, sizes) for one in (item.with_ends, item.sources))
    inside = set().union(*(points_of(isl.UnionSet.from_set(part.domain), known, sizes) for part in item.parts))
    assert item.ends is not None
    ends = pairs(item.ends.relation, known, sizes)
    starts = [pairs(part.levels[at][-1], known, sizes) for part in item.parts for at, path in enumerate(part.paths)]
    named = {one for found in starts for one, source in found.items() if source in sources - spill}
    gamma = 0.5 if item.symmetry is None else 0.5**0.5

    def share(stretch: set[Vertex]) -> float:
        entering = set().union(*(operands[one] for one in stretch)) - stretch
        events = sum(one in named or (one in spill and one in sources and one not in ends) for one in stretch)
        K, w = len(entering & spill) + events, sum(one in stretch and end in stretch for one, end in ends.items())
        count = len(stretch & inside)
        return count / most(K, w, gamma) if count else 0.0

    found = []
    for _ in range(25):
        n, width = max(sizes.values()), max(len(row) for _, row in computed)
        chosen = [set(rng.choice(n, size=rng.integers(1, n + 1), replace=False).tolist()) for _ in range(width)]
        if rng.random() < 0.5:  # triangles
            chosen = [set(range(int(rng.integers(n)), n))] * width
        stretch = {one for one in computed if all(x in row for x, row in zip(one[1], chosen, strict=False))}
        best = share(stretch)
        for _ in range(40):
            other = stretch ^ {computed[rng.integers(len(computed))]}
            if (again := share(other)) >= best:
                stretch, best = other, again
        found.append(best)
    return found


@pytest.mark.parametrize("name", quick(PROGRAMS, ("ldl",)))
def test_bounds_are_larger_and_verified(name: str) -> None:
    text, gain = PROGRAMS[name]
    program = program_from_text(FRAME % text)
    sizes, flow = {**dict.fromkeys(program.parameters, 300), "S": 1_300}, flow_dependences(program)
    found = fitted(lower_bound(program, flow=flow, search=Search(effort=0.2)), sizes, Search(effort=0.2))
    values = [number_at(item.value, sizes) for item in found.proof.parts if "ends" in item.method]
    _, known = arguments(text)
    plain = [sub_bound(replace(item, ends=None), flow) for item in known]
    before = max(number_at(((one.tuned and one.tuned(sizes)) or one).value, sizes) for one in plain)
    assert max(values) > (1 + gain) * before > 0
    document = json.loads(json.dumps(bound_of(program, found, sizes, flow).document()))
    violations, remarks = verify(program, document, sizes)
    assert not violations
    assert all(remark.endswith(": verified") for remark in remarks)
    parts = document["certificate"]["parts"]
    place = next(k for k, part in enumerate(parts) if part["kind"] == "K-partition" and part["ends"] is not None)
    for path, value in [*changed_numbers({"certificate": {"parts": {place: parts[place]}}})][::97]:
        same = means_the_same(at(document, path), value, is_bound=path[-1] == "value")
        assert same or verify(program, put(document, path, value), sizes)[0], path
