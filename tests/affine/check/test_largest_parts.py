"""Every U(K) against the exact maximum on concrete graphs, and the inequalities behind the stencil bounds."""

from __future__ import annotations

import itertools

import islpy as isl
import numpy as np
import pytest
from tests.affine.derived import bound_of, quick
from tests.samples import samples

from shorthaul.affine.bounds.partition.parts import sets_of
from shorthaul.affine.check.largest_part import largest_part
from shorthaul.affine.integer_sets.leading_term import S
from shorthaul.affine.integer_sets.points import points
from shorthaul.affine.replay.cdag import ConcreteCdag, concrete_cdag

CASES = {
    "gemm": 3, "cholesky": 6, "syrk": 4, "syr2k": 3, "lu": 5, "floyd-warshall": 4, "trmm": 4, "symm": 4,
    "nussinov": 7, "covariance": 4, "jacobi-1d": 7, "heat-1d": 9, "seidel-2d": 6, "doitgen": 2,
    "fdtd-2d": 4, "jacobi-2d": 5,
}  # fmt: skip


def members(union: isl.UnionSet, sizes: dict[str, int], cdag: ConcreteCdag) -> np.ndarray:
    labels = {cdag.label(vertex): vertex for vertex in range(cdag.n)}
    result = np.zeros(cdag.n, dtype=np.bool_)
    for item in sets_of(union):
        for row in points(item, sizes).tolist():
            result[labels[f"{item.get_tuple_name()}[{', '.join(map(str, row))}]"]] = True
    return result


@pytest.mark.costly
@pytest.mark.parametrize("name", quick(CASES, {"gemm", "cholesky", "gramschmidt", "trisolv", "jacobi-1d", "atax"}))
def test_no_part_is_larger_than_its_bound(name: str) -> None:
    others = ("nussinov", "fdtd-2d", "seidel-2d")  # best argues with intervals and double cones there
    profile = "iolb" if name in others else "best"
    bound = bound_of(name, profile)
    sizes = dict.fromkeys(bound.program.parameters, CASES[name])
    if "TSTEPS" in sizes:
        sizes["TSTEPS"] = 4
    cdag = concrete_cdag(bound.program, sizes)
    assert cdag.n < 700
    checked = 0
    for part in bound.proof.parts:
        if part.points is None or part.sources is None:
            continue
        counted = members(part.points, sizes, cdag)
        inside = ~members(part.sources, sizes, cdag)
        inside[: cdag.inputs] = False
        for capacity in (1, 2, 3):
            budget = int(part.facts["K"].subs(S, capacity))
            most = float(part.facts["U"].subs(S, capacity))
            found, proven, _ = largest_part(cdag.starts, cdag.operands, inside, counted, budget, nodes=100_000)
            assert proven, (part.method, capacity)
            assert found <= most + 1e-9, (part.method, capacity)
            checked += 1
    assert checked


def best_rows(constant: int, budget: int, weight: float) -> float:
    """Return the most of |P| + weight (In - Out) over rows on the line, In <= budget, by dynamic programming."""
    best = {(0, 0): 0.0}  # (row, in-vertices so far) -> value, In and Out counted row by row
    result = 0.0
    for _ in range(budget):
        following: dict[tuple[int, int], float] = {}
        for (row, used), value in best.items():
            for size in range(budget + 1):
                into = max(0, size + constant - row) if size else 0
                if used + into > budget or (not size and not row):
                    continue
                out = max(0, row - max(0, size - constant)) if row else 0
                worth = value + size + weight * (into - out)
                key = (size, used + into)
                if worth > following.get(key, -np.inf):
                    following[key] = worth
        for (size, _), value in following.items():
            result = max(result, value - weight * size)
        best = following
    return result


@pytest.mark.parametrize(("constant", "budget"), [(2, 6), (2, 12), (2, 20), (3, 15), (4, 18), (1, 10)])
def test_balanced_rows_on_the_line(constant: int, budget: int) -> None:
    weight = budget / (3 * constant) - 0.5
    assert best_rows(constant, budget, weight) <= budget**2 / (3 * constant) + budget + 1e-9


@pytest.mark.parametrize(
    ("offsets", "constant"),
    [
        ([(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)], 2 * 2**0.5),
        (list(itertools.product((-1, 0, 1), repeat=2)), 4.0),
        (list(itertools.product((0, 1), repeat=2)), 2.0),
    ],
)
def test_isoperimetry_in_the_plane(offsets: list[tuple[int, int]], constant: float) -> None:
    """|A + N| >= |A| + c sqrt|A| for every set in a 4 x 4 square."""
    cells = list(itertools.product(range(4), repeat=2))
    masks = []
    for x, y in cells:
        masks.append(sum(1 << ((x + a + 1) * 6 + y + b + 1) for a, b in offsets))
    reached = np.zeros(1 << 16, dtype=np.int64)
    for at, mask in enumerate(masks):
        reached[1 << at : 2 << at] = reached[: 1 << at] | mask
    size = np.array([bin(value).count("1") for value in range(1 << 16)])
    around = size[reached & 0xFFFF] + size[reached >> 16 & 0xFFFF] + size[reached >> 32]
    assert np.all(around[1:] >= size[1:] + constant * np.sqrt(size[1:]) - 1e-9)


def test_isoperimetry_in_space_on_balls_and_boxes() -> None:
    """The cross in space: boxes, balls and balls cut by planes stay above |A| + 3 (4/3)^(1/3) |A|^(2/3)."""
    rng = np.random.default_rng(3)
    axis = np.arange(-8, 9)
    grid = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"))
    for _ in samples(200):
        scale = rng.uniform(0.6, 1.4, 3).reshape(3, 1, 1, 1)
        centre = rng.uniform(-0.5, 0.5, 3).reshape(3, 1, 1, 1)
        inside = (np.abs(grid - centre) * scale).sum(axis=0) <= rng.uniform(0.5, 5)
        size = int(inside.sum())
        if size:
            around = inside.copy()
            for dimension, step in itertools.product(range(3), (-1, 1)):
                around |= np.roll(inside, step, axis=dimension)
            assert around.sum() >= size + 3 * (4 / 3) ** (1 / 3) * size ** (2 / 3) - 1e-9
