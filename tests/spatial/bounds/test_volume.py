"""The bound from parts that outgrow the grid: what a placement reaches, the best cuts, reaches and weights."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from tests.reference.spatial_twins import random_forest
from tests.samples import samples

from shorthaul.spatial.bounds import energy
from shorthaul.spatial.bounds.energy import cells_within, energy_bound, parents_before
from shorthaul.spatial.bounds.star_kernels import best_stars
from shorthaul.spatial.bounds.volume_kernels import gains_of_volume
from shorthaul.spatial.check.certificate import Ground, Parts, _of_fan, _of_parts, _parts
from shorthaul.spatial.check.rooted import Rooted
from shorthaul.spatial.model import Grid, tree_from_parents
from shorthaul.spatial.workloads import generators

DEGREES = ([2, 2], [0, 1, 2, 3], [2, 3], [0, 2, 2, 2], [1, 2, 2], [0, 2, 9, 14], [0, 5, 8])
STEPS = ((1, 0), (-1, 0), (0, 1), (0, -1))


def grown(rng: np.random.Generator, levels: int, degrees: list[int]) -> list[list[int]]:
    kids, depth = [[]], [0]
    for v, below in enumerate(kids):
        for _ in range(int(rng.choice(degrees)) if depth[v] < levels and len(kids) < 300 else 0):
            below.append(len(kids))
            kids.append([])
            depth.append(depth[v] + 1)
    return kids


def any_part(rng: np.random.Generator, rooted: Rooted, swollen: float) -> Parts:
    """Return a part with the root, whose vertices reach one hop less than their parents, but where they do not."""
    reach = [max(1, int(rng.integers(0, rooted.height[0] + 1))), *[-1] * (len(rooted.parent) - 1)]
    irregular = []
    for v in rooted.order[1:]:
        a = reach[rooted.parent[v]]
        reach[v] = min(a - 1, rooted.height[v]) if a > 0 else -1
        if a >= 0 and rng.random() < swollen:
            reach[v] = int(rng.integers(-1, min(a + 1, rooted.height[v]) + 1))
            irregular.append([v, reach[v]])
    return _parts(rooted, {"tops": [[0, reach[0]]], "reaches": irregular})


def test_no_placement_reaches_more() -> None:
    rng = np.random.default_rng(0)
    tight = 0
    for turn in samples(400):
        kids = grown(rng, int(rng.integers(1, 7)), DEGREES[turn % len(DEGREES)])
        parent = np.full(len(kids), -1, np.int32)
        for v, below in enumerate(kids):
            parent[below] = v
        if len(kids) < 2:
            continue
        rooted = Rooted(tree_from_parents(parent))
        parts = any_part(rng, rooted, rng.choice([0, 0, 0.1, 0.3]))
        gain, load = _of_parts(rooted, Ground(99, 99), parts, {0: 1.0}, set())
        held, reach = [v for v in rooted.order if parts.reach[v] >= 0], parts.reach
        most, place, reached = len(held) - sum(gain), {0: (0, 0)}, set()
        longer = rng.choice([0, 0.02, 0.2])
        for v in held:
            x, y = place[v]
            taken = {place[v]}
            outward = sorted(rng.permutation(4), key=lambda d: STEPS[d][0] * x + STEPS[d][1] * y < 0)
            for kid, d in zip(kids[v], [*outward] * 4, strict=False):
                at = np.array((x, y)) + STEPS[d]
                while rng.random() < longer or tuple(at.tolist()) in taken:
                    at += STEPS[rng.choice((d, rng.integers(4)))]
                most += (abs(at[0] - x) + abs(at[1] - y) - 1) * load[kid]
                taken.add(tuple(at.tolist()))
                place[kid] = (at[0], at[1])
            far = reach[v]
            reached |= {(x + i, y + j) for i in range(-far, far + 1) for j in range(abs(i) - far, far - abs(i) + 1)}
        assert len(reached) <= most + 1e-9
        tight += len(reached) == pytest.approx(most)
    assert tight > 0


def best_parts(
    parent: np.ndarray, room: list[int], star: np.ndarray, above: np.ndarray, fan: np.ndarray, widest: int
) -> float:
    """The same as plain recursion over all cuts, reaches and weights."""
    rooted, most = Rooted(tree_from_parents(parent, forest=True)), len(room) - 1
    loads = [*(1 / (2 * i + 1) for i in range(most + 1)), 0.0]

    def overlap(v: int, a: int) -> int:
        hops, cells = _of_fan(Ground(99, 99), int(fan[v]), a) if star[v] > 0 and fan[v] <= widest else (0, 0)
        return max(0, (2 * a - 1) * hops - cells)

    @cache
    def alone(v: int) -> float:
        apart = sum(alone(kid) for kid in rooted.kids[v]) + star[v]
        return max([apart, *(part(v, b, 0.0) for b in range(min(most, rooted.height[v]) + 1))])

    @cache
    def part(v: int, b: int, load: float) -> float:
        found = []
        for own in loads[max(b - 1, 0) :]:
            if own >= load:
                bears = 2 * b + 1 if above[v] else max(2 * b - 1, 0)
                gain = own - (own - load) * room[b] + star[v] * max(0, 1 - own * bears) + own * overlap(v, b)
                found.append(gain + sum(below(kid, v, b, own) for kid in rooted.kids[v]))
        return max(found)

    def below(kid: int, v: int, a: int, own: float) -> float:
        height, found = rooted.height[kid], [alone(kid)]
        if a > 0:
            found.append(part(kid, min(a - 1, height), own))
        if 0 < a <= height:
            is_ring = overlap(v, a) > 0 and own * (2 * a + 1) > 1
            found.append(part(kid, a, own) - own * (4 * a if is_ring else 2 * a + 1))
        if a < min(most, height) and own * (2 * a + 1) <= 1 and star[v] == 0:
            found.append(part(kid, a + 1, own) - own * 4 * (a + 1))
        return max(found)

    return sum(alone(int(v)) for v in np.flatnonzero(parent < 0))


def test_cuts_reaches_and_weights_are_the_best() -> None:
    rng = np.random.default_rng(5)
    weighed = 0
    for turn in samples(40):
        tree = random_forest(rng, int(rng.integers(1, 20))) if turn % 3 else generators.yule(25, turn + 1)
        room = np.concatenate([[1], np.sort(rng.integers(1, 3 + turn % 9, 4))])
        parent = parents_before(tree)[3]
        is_parent = np.bincount(parent[parent >= 0], minlength=tree.n) > 0
        above = (rng.integers(0, 2, tree.n) * is_parent * (parent >= 0)).astype(np.uint8)
        star = rng.integers(1, 3, tree.n) * is_parent
        fan, widest = rng.integers(0, 30, tree.n) * is_parent, 24
        found = gains_of_volume(parent, room, star, above, 1, fan, widest)[parent < 0].sum()
        assert found == pytest.approx(best_parts(parent, room.tolist(), star, above, fan, widest), abs=1e-6)
        weighed += found > star.sum() + 1e-6
        star[rng.random(tree.n) < 0.7] = 0
        found = gains_of_volume(parent, room, star, above, 1, fan, widest)[parent < 0].sum()
        assert found == pytest.approx(best_parts(parent, room.tolist(), star, above, fan, widest), abs=1e-6)
        weighed += found > star.sum() + 1e-6
    assert weighed > 1


def test_no_processor_has_more_within_reach() -> None:
    for width, height in ((1, 1), (1, 7), (5, 3), (4, 6), (6, 6)):
        x, y = np.meshgrid(np.arange(width), np.arange(height))
        far = np.abs(x.ravel()[:, None] - x.ravel()) + np.abs(y.ravel()[:, None] - y.ravel())
        most = [int((far <= b).sum(axis=1).max()) for b in range(9)]
        assert cells_within(energy.Ground(Grid(width, height)), 8).tolist() == most


def test_perfect_binary_and_yule_trees_outgrow_any_grid() -> None:
    for tree, least in ((generators.perfect_binary(2**14 - 1), 1.072), (generators.yule(2**13 - 1, 3), 1.034)):
        bound = energy_bound(tree, Grid(3000, 3000))
        assert bound.value >= least * (tree.n - 1)


def test_stars_have_the_largest_sum() -> None:
    rng = np.random.default_rng(2)
    for _ in samples(40):
        starts, kids, *_ = parents_before(random_forest(rng, 60))
        sums = np.append(0, np.sort(rng.integers(0, 99, len(kids))))
        own, above = best_stars(starts, kids, sums)
        for v in range(len(kids)):
            children = kids[starts[v] : starts[v + 1]]
            assert own[v] == sums[len(children) - above[children].sum() + above[v]]
        assert not above[kids[starts[len(kids)] :]].any()


def test_hubs_too() -> None:
    tree = generators.preferential_attachment(1000, 1)
    assert energy_bound(tree, Grid(40, 40)).value >= 1770  # 1,745 where what children in a star reach may not overlap
    tree = tree_from_parents([-1, *[0] * 6])
    assert energy_bound(tree, Grid(9, 9)).value == 8
