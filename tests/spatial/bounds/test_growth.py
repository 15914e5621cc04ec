"""The bound from subtrees that outgrow the grid: the best weights, and no layout below it."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from scipy.optimize import linprog
from tests.reference.spatial_twins import random_forest, random_tree
from tests.samples import samples

from shorthaul import spatial as engine
from shorthaul.core.search import Search
from shorthaul.spatial import tuning
from shorthaul.spatial.bounds.energy import Ground, centred, energy_bound, parents_before, room_around
from shorthaul.spatial.bounds.growth_kernels import weights_of_growth
from shorthaul.spatial.layout.orders import sizes
from shorthaul.spatial.model import Grid, Tree, tree_from_parents
from shorthaul.spatial.workloads import generators


def bushy(rng: np.random.Generator, n: int, most: int) -> Tree:
    """A random tree whose vertices have up to ``most`` children, filled more or less level by level."""
    parent, free = [-1], [0]
    for v in range(1, n):
        u = free[int(len(free) * rng.random() ** rng.integers(1, 4))]
        parent.append(u)
        if parent.count(u) >= most:
            free.remove(u)
        free.append(v)
    return tree_from_parents(np.array(parent))


def best_weights(tree: Tree, sums: list[int], alternate: list[int], longer: list[int], alone: np.ndarray) -> float:
    """The same as a linear program: a column per subtree with a weight, a row per edge (named by its lower end)."""
    n = tree.n
    below = [[] for _ in range(n)]
    for v in range(n):
        at, steps = v, 0
        while at >= 0:
            below[at].append((v, steps))
            at, steps = int(tree.parent[at]), steps + 1
    gains, columns, settled = [], [], set()
    for u in sorted(range(n), key=lambda v: len(below[v])):
        levels = np.bincount([steps for _, steps in below[u]])
        excess = sums[len(below[u]) - 1] - int(levels @ np.arange(len(levels)))
        crowded = any(levels[t % 2 : t + 1 : 2].sum() > alternate[t] for t in range(min(len(levels), len(alternate))))
        own = [v for v, steps in below[u] if steps]
        kids = sorted((v for v, steps in below[u] if steps == 1), key=lambda v: len(below[v]))
        for count in range(1, len(kids) + 1):
            gains.append(sum(longer[:count]))
            columns.append([float(v in kids[:count]) for v in range(n)])
        if alone[u] > 0:
            gains.append(alone[u])
            columns.append([float(v in own) for v in range(n)])
        is_crowded = (excess > 0 or crowded) and sum(longer[: len(kids)]) == 0
        if is_crowded and own and not settled & {v for v, _ in below[u]}:
            settled.add(u)
            gains.append(1)
            columns.append([float(v in own) for v in range(n)])
        if excess > 0:
            gains.append(excess)
            columns.append([float(len(below[v])) if v in own else 0.0 for v in range(n)])
    if not gains:
        return 0.0
    return -linprog(-np.array(gains, float), A_ub=np.array(columns).T, b_ub=np.ones(n), method="highs").fun


@pytest.mark.parametrize(("layers", "each"), [(1, 1), (1, 3), (2, 1), (3, 2)])
def test_no_processor_has_more_room_around_it(layers: int, each: int) -> None:
    for width, height in itertools.product(range(1, 7 if layers == each == 1 else 5), repeat=2):
        cells = np.array(list(itertools.product(range(width), range(height), range(layers))) * each)
        sums, alternate = room_around(Ground(Grid(width, height), layers, each), len(cells))
        far = np.sort(np.abs(cells[:, None] - cells).sum(axis=2))
        assert sums.tolist() == np.cumsum(far, axis=1).min(axis=0).tolist()
        for t, most in enumerate(alternate.tolist()):
            alike = (far % 2 == t % 2) | (layers * each > 1)
            assert ((far <= t) & alike).sum(axis=1).max() <= most


def test_weights_of_subtrees_are_the_best() -> None:
    rng = np.random.default_rng(7)
    weighed = mixed = 0
    for turn in samples(120):
        n = int(rng.integers(1, 60))
        tree = random_forest(rng, n) if turn % 3 == 0 else bushy(rng, n, int(rng.integers(2, 6)))
        room = np.concatenate([[1], np.sort(rng.integers(1, 2 + turn % 12, tree.n))])
        sums = np.cumsum(np.repeat(np.arange(len(room)), room))[: tree.n]
        alternate = np.append([room[t % 2 : t + 1 : 2].sum() for t in range(len(room))], tree.n)
        parent, longer, alone = parents_before(tree)[3], [0] * tree.n, np.zeros(tree.n)
        star, borne, above = np.zeros(tree.n), np.zeros(tree.n), np.zeros(tree.n, np.uint8)
        if turn % 2:  # also stars, and subtrees on their own, but no long edges
            longer, alternate[:] = np.sort(rng.integers(0, 3, tree.n)).tolist(), tree.n
            sums = sums if turn % 4 > 1 else np.maximum(sums - sums[1:].min(initial=1), 0)
            size, count = sizes(Tree(parent)), np.zeros(tree.n, int)
            alone = np.where(size > 1, rng.integers(0, 9, tree.n) * (rng.random(tree.n) < 0.4), 0).astype(float)
            for v in np.flatnonzero(parent >= 0):  # the smallest subtree first
                star[parent[v]] += longer[count[parent[v]]]
                borne[parent[v]] += longer[count[parent[v]]] * size[v]
                count[parent[v]] += 1
        given = parent, sums, alternate, star, borne, above, alone
        best = best_weights(Tree(parent), sums.tolist(), alternate.tolist(), longer, alone)
        found, own, long, shares = weights_of_growth(*given, True)
        assert found == pytest.approx(best, abs=1e-6) if longer[0] or not turn % 2 else found <= best + 1e-6
        told = sums[sizes(Tree(parent)) - 1] - _depths(parent)
        assert own @ told + long.sum() + shares @ alone <= found + 1e-6
        weighed += found > 1
        mixed += ((shares > 0) & (shares < 1)).any()
    assert weighed > 10
    assert mixed > 4


def _depths(parent: np.ndarray) -> np.ndarray:
    """Return how many edges all below a vertex are from it together."""
    size, far = np.ones(len(parent), int), np.zeros(len(parent), int)
    for v in np.flatnonzero(parent >= 0)[::-1]:
        size[parent[v]] += size[v]
        far[parent[v]] += far[v] + size[v]
    return far


def test_no_layout_takes_less() -> None:
    rng = np.random.default_rng(8)
    decided = 0
    for turn in samples(12):
        tree = bushy(rng, int(rng.integers(6, 300)), 2 + turn % 3)
        height = int(rng.integers(1, 20))
        grid = Grid(-(-tree.n // height) + int(rng.integers(3)), height)
        result = engine.plan(tree, grid=f"{grid.width}x{grid.height}", baselines=False, refine=0.02)
        assert result.cost["energy_hops"] >= result.bound.value
        decided += result.bound.method == "growth"
    assert decided > 1


def test_centroids_halve_their_trees() -> None:
    rng = np.random.default_rng(9)
    for turn in samples(40):
        tree = random_forest(rng) if turn % 2 else random_tree(rng, 60)
        moved = centred(tree)
        ends = [sorted(zip(np.minimum(v, u), np.maximum(v, u), strict=True)) for v, u in map(edges, (tree, moved))]
        assert ends[0] == ends[1]
        size = sizes(moved)
        for root in moved.roots():
            assert all(2 * size[child] <= size[root] for child in np.flatnonzero(moved.parent == root))


def edges(tree: Tree) -> tuple[np.ndarray, np.ndarray]:
    child = np.flatnonzero(tree.parent >= 0)
    return child, tree.parent[child]


def test_another_root_proves_as_much() -> None:
    tree = generators.yule(1023, 1)
    least = energy_bound(centred(tree), Grid(32, 32)).value
    for v in np.random.default_rng(0).integers(0, tree.n, 5).tolist():
        parent, below = tree.parent.copy(), -1
        while v >= 0:
            parent[v], below, v = below, v, int(parent[v])
        assert energy_bound(tree_from_parents(parent), Grid(32, 32)).value >= least > tree.n


def test_perfect_binary_trees_outgrow_any_grid() -> None:
    for levels, least in ((6, 1.01), (16, 1.05)):
        tree = generators.perfect_binary(2**levels - 1)
        bound = energy_bound(tree, Grid(3000, 3000))
        assert bound.details["values"]["growth"] >= least * (tree.n - 1)


def test_large_trees_have_the_plain_bound_once_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    tree, grid = generators.yule(401, 1), Grid(21, 21)
    whole = energy_bound(tree, grid)
    over = Search(time_limit=1, started=time.monotonic() - 2)
    assert energy_bound(tree, grid, search=over) == whole  # a small tree
    monkeypatch.setattr(tuning, "NEVER_LATE", 300)
    brief = energy_bound(tree, grid, search=over)
    assert (brief.value, brief.method) == (400, "edges")
    assert brief.value < whole.value
    assert energy_bound(tree, grid, search=Search(time_limit=1000)).value > brief.value
