"""The balanced stencil bound: the lemma on balanced rows, tried on rows and on concrete graphs."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import sympy
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array
from tests.affine.check.test_largest_parts import members
from tests.affine.derived import kernel, quick

from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.bounds.partition.isoperimetry import isoperimetric_constant
from shorthaul.affine.bounds.partition.parts import sets_of
from shorthaul.affine.bounds.partition.stencil_levels import balanced_part
from shorthaul.affine.integer_sets.points import points
from shorthaul.affine.proofs.proof import SubBound
from shorthaul.affine.replay.cdag import ConcreteCdag, concrete_cdag
from shorthaul.core.search import Search

CROSS = {n: isoperimetric_constant(frozenset(np.ndindex(*(1,) * n)) | around)[0] for n, around in (  # type: ignore[index]
    (2, frozenset({(0, 1), (0, -1), (1, 0), (-1, 0)})),
    (3, frozenset({(0, 0, 1), (0, 0, -1), (0, 1, 0), (0, -1, 0), (1, 0, 0), (-1, 0, 0)})),
)}  # fmt: skip


def best_rows(grown: np.ndarray, budget: int, weight: float) -> float:
    """Return the most of |P| + weight (In - Out) over sequences of rows with In <= budget, by dynamic programming.

    ``grown[q]`` is the least number of neighbours of q points; of a row below q points at most the largest A with
    grown[A] <= q have all successors.
    """
    size = np.arange(budget + 1)
    inner = np.array([max(a for a in size if grown[a] <= q) for q in size])
    into = np.maximum(0, grown[None, :] - size[:, None])  # [row, next row]
    into[:, 0] = 0
    out = np.maximum(0, size[:, None] - inner[None, :])
    worth = size[None, 1:] + weight * (into - out)[:, 1:]
    best = np.empty((budget + 1, budget + 1))  # [row, budget left]
    for left in size:
        for row in size:  # a row that costs nothing is smaller
            best[row, left] = -weight * row  # nothing follows: all out-vertices of the row are lost
            after = np.flatnonzero(into[row, 1:] <= left)
            if len(after):
                following = worth[row, after] + best[after + 1, left - into[row, after + 1]]
                best[row, left] = max(best[row, left], following.max())
    return float(best[0, budget])


@pytest.mark.parametrize(("n", "constant", "budget"), [
    (2, CROSS[2], 6), (2, CROSS[2], 13), (2, CROSS[2], 30), (2, sympy.Integer(2), 12), (2, sympy.Integer(4), 24),
    (3, CROSS[3], 9), (3, CROSS[3], 30), (1, sympy.Integer(2), 15),
    (1, sympy.Integer(2), 3), (1, sympy.Integer(1), 24), (1, sympy.Integer(4), 9), (1, sympy.Integer(7), 40),
])  # fmt: skip
def test_no_rows_are_worth_more(n: int, constant: sympy.Expr, budget: int) -> None:
    most, weight = (float(value) for value in balanced_part(n, constant, sympy.Integer(budget)))
    c = float(constant)
    grown = np.array([0, *(math.ceil(q + c * q ** ((n - 1) / n) - 1e-9) for q in range(1, budget + 1))])
    found = best_rows(grown, budget, weight)
    assert found <= most + 1e-9
    assert found >= 0.2 * most


def grown_balls(n: int, v: float, b: float, most: int) -> np.ndarray:
    """Return beta(R + 1) of the lemma on balanced rows around balls for 0 to ``most`` places."""
    radius = np.linspace(0, 2 + (most / v) ** (1 / n), 400_001)
    beta = v * (radius**n + b * radius ** max(0, n - 2))
    size = np.arange(1, most + 1)
    at = np.interp(size, beta, radius) + 1
    found = np.ceil(v * (at**n + b * at ** max(0, n - 2)) - 1e-6).astype(int)
    return np.array([0, *np.where((n == 2) & (size < v * b), 3 * size, found)])


@pytest.mark.parametrize(("n", "v", "b", "budget"), quick([
    (1, 2, 0, 90), (1, 1, 0, 24), (1, 7, 0, 160), (2, 0.5, 0, 130), (2, 1, 0, 200), (2, 1, 0.25, 300),
    (2, 1, 0.5, 250), (2, 5, 0.25, 880), (3, 0.1, 0, 400), (3, 0.1, 3, 400),
], [(1, 2, 0, 90), (2, 0.5, 0, 130)]))  # fmt: skip
def test_no_rows_around_balls_are_worth_more(n: int, v: float, b: float, budget: int) -> None:
    c = n * v ** (1 / n)
    most, weight = (float(value) for value in balanced_part(n, sympy.Float(c), sympy.Integer(budget), sharp=True))
    found = best_rows(grown_balls(n, v, b, budget), budget, weight)
    assert found <= most + 1e-9
    assert found >= 0.2 * most


def test_the_cross_has_balls() -> None:
    """Numbers of the lemma on balanced rows around balls: lines between two balls in space, and few places."""
    places = [(2 * r + 1) * (2 * r * r + 2 * r + 3) // 3 for r in range(23)]
    grown = grown_balls(3, 4 / 3, 17 / 8, places[-2])
    said = np.interp(np.arange(places[-2] + 1), places[:-1], places[1:])
    said[:7] = [0, 7, 12, 16, 19, 22, 24]
    assert (grown <= np.ceil(said + 1e-9)).all()


def with_walls(
    part: SubBound, sizes: dict[str, int], cdag: ConcreteCdag
) -> tuple[ConcreteCdag, np.ndarray, np.ndarray]:
    """Return the graph, D and sources, with a vertex of its own for every wall: an input read behind the first step."""
    assert part.points is not None
    assert part.sources is not None
    known = {cdag.label(vertex) for vertex in range(cdag.n)}
    places = [
        f"{item.get_tuple_name()}[{', '.join(map(str, row))}]"
        for item in sets_of(part.sources)
        for row in points(item, sizes).tolist()
    ]
    counted = members(part.points, sizes, cdag)
    sources = np.isin([cdag.label(vertex) for vertex in range(cdag.n)], places)
    operands, more = cdag.operands.copy(), 0
    for vertex in np.flatnonzero(counted):
        first = (cdag.operands[cdag.starts[vertex] : cdag.starts[vertex + 1]] < cdag.inputs).all()
        for at in range(cdag.starts[vertex], cdag.starts[vertex + 1]):
            if operands[at] < cdag.inputs and not first:
                operands[at], more = cdag.n + more, more + 1
    assert more == sum(place not in known for place in places)
    starts = np.concatenate([cdag.starts, np.full(more, cdag.starts[-1])])
    made = replace(
        cdag, starts=starts, operands=operands, owner=np.append(cdag.owner, np.zeros(more, cdag.owner.dtype))
    )
    return made, np.append(counted, np.zeros(more, np.bool_)), np.append(sources, np.ones(more, np.bool_))


def worth_in_graph(
    cdag: ConcreteCdag, counted: np.ndarray, inside: np.ndarray, successors: int, budget: int, weight: float
) -> tuple[float, bool]:
    """Return the most of |P| + weight (In - Out) with In <= budget, P among ``counted``, by an integer program."""
    n = cdag.n
    sinks = np.repeat(np.arange(n), np.diff(cdag.starts))
    kept = counted[sinks]
    sources, sinks = cdag.operands[kept], sinks[kept]
    at = np.arange(len(sources))
    ones = np.ones(len(at))
    # variables: p (in P), q (in-vertex), o (out-vertex); q_u >= p_v - p_u; q_u <= 1 - p_u; o_u >= p_u - p_v
    triples = (np.concatenate([at, at, at]), np.concatenate([sources, sinks, n + sources]))
    reads = coo_array((np.concatenate([ones, -ones, ones]), triples), shape=(len(at), 3 * n)).tocsr()
    inner = counted[sources]
    u, v, row = sources[inner], sinks[inner], np.arange(int(inner.sum()))
    triples = (np.concatenate([row, row, row]), np.concatenate([2 * n + u, u, v]))
    some = np.ones(len(row))
    leaves = coo_array((np.concatenate([some, -some, some]), triples), shape=(len(row), 3 * n)).tocsr()
    # an in-vertex has a reader in P, and is not in P
    vertices = np.arange(n)
    real = coo_array(
        (
            np.concatenate([np.ones(n), -ones]),
            (np.concatenate([vertices, sources]), np.concatenate([n + vertices, sinks])),
        ),
        shape=(n, 3 * n),
    ).tocsr()
    apart = coo_array(
        (np.ones(2 * n), (np.concatenate([vertices, vertices]), np.concatenate([vertices, n + vertices]))),
        shape=(n, 3 * n),
    ).tocsr()
    within = np.bincount(u, minlength=n)  # successors in D; a vertex with fewer than all of them is always left
    ends = counted & (within < successors)
    forced = coo_array(
        (np.concatenate([np.ones(n), -np.ones(n)]), (np.concatenate([vertices, vertices]), np.concatenate([2 * n + vertices, vertices]))),
        shape=(n, 3 * n),
    ).tocsr()[np.flatnonzero(ends)]  # fmt: skip
    limit = np.zeros((1, 3 * n))
    limit[0, n : 2 * n] = 1
    upper = np.concatenate([counted.astype(float), (counted | inside).astype(float), counted.astype(float)])
    goal = -np.concatenate([np.ones(n), np.full(n, weight), np.full(n, -weight)])
    constraints = [
        LinearConstraint(reads, lb=0), LinearConstraint(leaves, lb=0), LinearConstraint(real, ub=0),
        LinearConstraint(apart, ub=1), LinearConstraint(forced, lb=0), LinearConstraint(limit, ub=budget),
    ]  # fmt: skip
    found = milp(
        goal,
        integrality=np.ones(3 * n),
        bounds=Bounds(0, upper),
        constraints=constraints,
        options={"node_limit": 20_000},
    )
    return -float(found.fun), found.status == 0


@pytest.mark.parametrize(("name", "sizes"), [
    ("jacobi-1d", {"TSTEPS": 2, "N": 6}), pytest.param("jacobi-2d", {"TSTEPS": 3, "N": 6}, marks=pytest.mark.slow),
    pytest.param("heat-3d", {"TSTEPS": 3, "N": 5}, marks=pytest.mark.slow),
])  # fmt: skip
def test_no_part_of_a_graph_is_worth_more(name: str, sizes: dict[str, int]) -> None:
    """Every part of a concrete graph, with the numbers of the proof: its budget, lambda and largest worth."""
    bound = lower_bound(kernel(name), search=Search(effort=0.3))
    part = next(item for item in bound.proof.parts if "balanced" in item.method)
    cdag = concrete_cdag(bound.program, sizes)
    cdag, counted, sources = with_walls(part, sizes, cdag)
    neighbours = {"jacobi-2d": 5, "jacobi-1d": 3, "heat-3d": 7}[name]
    for capacity in (2, 4):
        facts = {
            key: float(value.subs(sympy.Symbol("S", integer=True, positive=True), capacity))
            for key, value in part.facts.items()
            if key in {"K", "lambda", "B"}
        }
        worth, proven = worth_in_graph(cdag, counted, sources, neighbours, int(facts["K"]), facts["lambda"])
        assert not proven or worth <= facts["B"] + 1e-6
        assert proven or capacity > 2
