"""The bound from balls that outgrow the grid: what a placement reaches, the best cuts and weights."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog
from tests.reference.spatial_twins import random_forest
from tests.samples import samples

from shorthaul.spatial.bounds.energy import cells_within, energy_bound, parents_before
from shorthaul.spatial.bounds.star_kernels import best_stars, most_of_stars
from shorthaul.spatial.bounds.volume_kernels import most_of_volume
from shorthaul.spatial.model import Grid, Tree, tree_from_parents
from shorthaul.spatial.workloads import generators

STEPS = ((1, 0), (-1, 0), (0, 1), (0, -1))


class Ball:
    """The vertices at most ``levels`` below ``root``, parents first, and what the bound says of them."""

    def __init__(self, kids: list[list[int]], root: int, levels: int) -> None:
        self.depth = {root: 0}
        self.up: dict[int, int] = {}
        found = [root]
        for v in found:
            for kid in kids[v] if self.depth[v] < levels else []:
                self.depth[kid], self.up[kid] = self.depth[v] + 1, v
                found.append(kid)
        self.kids = {v: [kid for kid in kids[v] if kid in self.depth] for v in self.depth}
        self.levels = dict.fromkeys(self.depth, 0)
        self.size = dict.fromkeys(self.depth, 1)
        for v in reversed(self.up):
            self.levels[self.up[v]] = max(self.levels[self.up[v]], self.levels[v] + 1)
            self.size[self.up[v]] += self.size[v]

    def cells(self, v: int) -> int:
        """How many cells v reaches, its edges and those of its children being of one hop."""
        t = self.levels[v]
        tall = [kid for kid in self.kids[v] if self.levels[kid] >= t - 2]
        missed = 4 + 2 * sum(max(0, 3 - sum(self.levels[u] >= t - 3 for u in self.kids[kid])) for kid in tall)
        by_tall = {1: 4 * t, 2: min(2 * t + 1, missed if t > 3 else 4), 3: 2}
        return 2 * t * (t + 1) + 1 - (by_tall.get(len(tall), 0) if t > 1 else 0)


def grown(rng: np.random.Generator, levels: int, degrees: list[int]) -> list[list[int]]:
    kids, depth = [[]], [0]
    for v, below in enumerate(kids):
        for _ in range(int(rng.choice(degrees)) if depth[v] < levels and len(kids) < 300 else 0):
            below.append(len(kids))
            kids.append([])
            depth.append(depth[v] + 1)
    return kids


def test_no_placement_reaches_more() -> None:
    rng = np.random.default_rng(0)
    tight = 0
    for turn in samples(150):
        kids = grown(rng, int(rng.integers(1, 7)), [[2, 2], [0, 1, 2, 3], [2, 3], [0, 2, 2, 2], [1, 2, 2]][turn % 5])
        ball = Ball(kids, 0, 9)
        most, place, reached = ball.cells(0), {0: (0, 0)}, set()
        longer = rng.choice([0, 0.02, 0.2])
        for v, depth in ball.depth.items():
            x, y = place[v]
            outward = sorted(rng.permutation(4), key=lambda d: STEPS[d][0] * x + STEPS[d][1] * y < 0)
            for kid, d in zip(ball.kids[v], [*outward, *outward], strict=False):
                at = np.array((x, y)) + STEPS[d]
                while rng.random() < longer:
                    at += STEPS[rng.choice((d, rng.integers(4)))]
                hops = abs(at[0] - x) + abs(at[1] - y)
                most += max(hops - 1, 0) * (2 * ball.levels[kid] + 1)
                place[kid] = (at[0], at[1]) if hops else (x + STEPS[d][0], y + STEPS[d][1])
            far = ball.levels[v] if depth > 1 else 0
            reached |= {(x + i, y + j) for i in range(-far, far + 1) for j in range(abs(i) - far, far - abs(i) + 1)}
        assert len(reached) <= most
        tight += len(reached) == most
    assert tight > 1


def best_cuts(parent: np.ndarray, room: list[int], star: np.ndarray, above: np.ndarray) -> float:
    """The same by trying all cuts: a linear program per ball, a row per edge (named by its lower end)."""
    kids = [np.flatnonzero(parent == v).tolist() for v in range(len(parent))]
    best = [0.0] * len(parent)
    for root in reversed(range(len(parent))):
        best[root] = sum(best[kid] for kid in kids[root]) + star[root]
        for t in range(1, len(room)):
            ball = Ball(kids, root, t)
            excess = {v: ball.size[v] - min(room[ball.levels[v]], ball.cells(v)) for v in ball.depth if ball.kids[v]}
            excess = {v: many for v, many in excess.items() if many > 0}
            if ball.levels[root] < t or not excess:
                continue
            hubs = [v for v in ball.depth if star[v] > 0]
            rows = []
            for end, v in ball.up.items():
                over, own = {v}, {v, *([end] if above[end] else [])}
                while v in ball.up:
                    v = ball.up[v]
                    over.add(v)
                rows.append([(2 * ball.levels[end] + 1) * (u in over) for u in excess] + [u in own for u in hubs])
            rows += [[0] * len(excess) + [u == hub for u in hubs] for hub in hubs]
            gains = np.array([*excess.values(), *(star[v] for v in hubs)], float)
            gain = -linprog(-gains, A_ub=rows, b_ub=np.ones(len(rows)), method="highs").fun
            best[root] = max(
                best[root], gain + sum(best[u] for v in ball.depth for u in kids[v] if u not in ball.depth)
            )
    return sum(best[v] for v in np.flatnonzero(parent < 0))


def numbered(tree: Tree) -> np.ndarray:
    starts, kids, _ = parents_before(tree)
    parent = np.full(tree.n, -1, np.int32)
    for v in range(tree.n):
        parent[kids[starts[v] : starts[v + 1]]] = v
    return parent


def test_cuts_and_weights_are_the_best() -> None:
    rng = np.random.default_rng(5)
    weighed = 0
    for turn in samples(40):
        tree = random_forest(rng, int(rng.integers(1, 20))) if turn % 3 else generators.yule(25, turn + 1)
        room = np.concatenate([[1], np.sort(rng.integers(1, 3 + turn % 9, 4))])
        parent = numbered(tree)
        star, above = rng.integers(0, 3, tree.n), np.zeros(tree.n, np.uint8)
        star[np.bincount(parent[parent >= 0], minlength=tree.n) < 2] = 0
        found = most_of_volume(parent, room, star, above)
        assert found == pytest.approx(best_cuts(parent, room.tolist(), star, above), abs=1e-6)
        above[:] = rng.integers(0, 2, tree.n) * (star > 0) * (parent >= 0)
        assert most_of_volume(parent, room, star, above) <= best_cuts(parent, room.tolist(), star, above) + 1e-6
        weighed += found > star.sum()
    assert weighed > 1


def test_no_processor_has_more_within_reach() -> None:
    for width, height in ((1, 1), (1, 7), (5, 3), (4, 6), (6, 6)):
        x, y = np.meshgrid(np.arange(width), np.arange(height))
        far = np.abs(x.ravel()[:, None] - x.ravel()) + np.abs(y.ravel()[:, None] - y.ravel())
        most = [int((far <= b).sum(axis=1).max()) for b in range(9)]
        assert cells_within(Grid(width, height), 8).tolist() == most


def test_perfect_binary_and_yule_trees_outgrow_any_grid() -> None:
    for tree, least in ((generators.perfect_binary(2**14 - 1), 1.07), (generators.yule(2**13 - 1, 3), 1.028)):
        bound = energy_bound(tree, Grid(3000, 3000))
        assert bound.method == "volume"
        assert bound.value >= least * (tree.n - 1)


def test_stars_have_the_largest_sum() -> None:
    rng = np.random.default_rng(2)
    for _ in samples(40):
        starts, kids, _ = parents_before(random_forest(rng, 60))
        sums = np.append(0, np.sort(rng.integers(0, 99, len(kids))))
        own, above = best_stars(starts, kids, sums)
        assert own.sum() == most_of_stars(starts, kids, sums)
        for v in range(len(kids)):
            children = kids[starts[v] : starts[v + 1]]
            assert own[v] == sums[len(children) - above[children].sum() + above[v]]
        assert not above[kids[starts[len(kids)] :]].any()


def test_hubs_too() -> None:
    tree = tree_from_parents([-1, *[0] * 6])
    assert energy_bound(tree, Grid(9, 9)).details["values"]["volume"] == 8
