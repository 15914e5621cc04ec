from __future__ import annotations

from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.pebble.families import shuffled
from tests.samples import samples

from shorthaul.core.search import Search
from shorthaul.pebble.bounds.best import best_bound
from shorthaul.pebble.bounds.grids import grid_search, histories, isoperimetry
from shorthaul.pebble.check.certificates import grid as grid_check
from shorthaul.pebble.check.certificates.part import Game
from shorthaul.pebble.model import Cdag, build
from shorthaul.pebble.orders import belady

Ints = npt.NDArray[np.int64]
FAR = 10**6


def iteration(sides: tuple[int, ...], steps: int, *, diagonal: bool = False) -> tuple[Ints, Ints]:
    """Return the edges of steps over a box of cells, numbered level by level."""
    cells = list(product(*map(range, sides)))
    number = {cell: index for index, cell in enumerate(cells)}
    near = [step for step in product((-1, 0, 1), repeat=len(sides)) if diagonal or sum(map(abs, step)) < 2]
    pairs = [
        (level * len(cells) + number[other], (level + 1) * len(cells) + number[cell])
        for cell in cells
        for step in near
        for other in [tuple(np.add(cell, step).tolist())]
        if other in number
        for level in range(steps)
    ]
    sources, targets = np.array(pairs).T
    return sources, targets


def inside(sides: tuple[int, ...], steps: int, rng: np.random.Generator, *, diagonal: bool = False) -> Cdag:
    """Return an iteration of any weights inside a larger graph, in any order."""
    sources, targets = iteration(sides, steps, diagonal=diagonal)
    cells = int(np.prod(sides))
    count = (steps + 1) * cells
    pairs = list(zip(sources.tolist(), targets.tolist(), strict=True))
    if rng.random() < 0.4:  # the first level is computed
        pairs += [(count, cell) for cell in range(cells)]
        count += 1
    if rng.random() < 0.5:  # the last level is read
        pairs += [(steps * cells + int(cell), count) for cell in rng.choice(cells, cells // 2, replace=False)]
        count += 1
    for _ in range(int(rng.integers(0, 4))):
        pairs.append((int(rng.integers(count)), count))
        count += 1
    inputs = np.ones(count, np.bool_)
    inputs[:cells] = rng.random(cells) < rng.choice([1.0, 0.7])
    inputs[[target for _, target in pairs]] = False
    weights = rng.integers(1, int(rng.choice([2, 3])), count)
    return shuffled(build(weights, *np.array(pairs).T, given=inputs), rng)


def are_near(cells: Ints, has_corners: bool) -> npt.NDArray[np.bool_]:
    """Return which cells are neighbours, or the same."""
    apart = np.abs(cells[:, None] - cells[None])
    return np.asarray(apart.max(axis=2) < 2 if has_corners else apart.sum(axis=2) < 2)


def least_by_sets(sides: tuple[int, ...], levels: int, is_open: tuple[bool, bool], has_corners: bool) -> Ints:
    """Return what sets of nodes read and leave at least, by their size, from all sets of cells at every level."""
    cells = np.array(list(product(*map(range, sides))))
    sets = np.arange(1 << len(cells))
    size, grown = np.zeros_like(sets), np.zeros_like(sets)
    for index, row in enumerate(are_near(cells, has_corners)):
        near, bit = int(row @ (1 << np.arange(len(cells)))), 1 << index
        grown[bit : 2 * bit] = grown[:bit] | near
        size[bit : 2 * bit] = size[:bit] + 1
    inner = (len(sets) - 1) & ~grown[::-1]
    least = np.full((levels * len(cells) + 1, len(sets)), FAR)
    least[0, slice(None) if is_open[0] else 0] = 0
    for level in range(1, levels + 1):
        then = np.full_like(least, FAR)
        for one in sets.tolist():
            cost = size[grown[one] & ~sets] + size[sets & ~inner[one]]
            counted = 0 if is_open[1] and level == levels else int(size[one])
            then[counted:, one] = (least + cost).min(axis=1)[: len(then) - counted]
        least = then
    found: Ints = (least + (0 if is_open[1] else size)).min(axis=1)
    return found


@pytest.mark.parametrize(("sides", "levels"), [((2, 3), 3), ((6,), 3), ((2, 2, 2), 2)], ids=str)
@pytest.mark.parametrize("is_open", [(False, False), (False, True), (True, False), (True, True)], ids=str)
@pytest.mark.parametrize("has_corners", [False, True])
def test_no_set_reads_and_leaves_less(
    sides: tuple[int, ...], levels: int, is_open: tuple[bool, bool], has_corners: bool
) -> None:
    truth = least_by_sets(sides, levels, is_open, has_corners)
    possible = np.flatnonzero(truth < FAR)
    tight = 0
    for unit, most in ((1, 8), (1, 30), (2, 8), (3, 12)):
        box = isoperimetry.box(sides, 2 * unit * most, search=Search(), has_corners=has_corners)
        assert box is not None
        found = isoperimetry.least_ends(box, unit, most, is_open=is_open)
        for size in possible[possible <= unit * most].tolist():
            assert found[size // unit] <= truth[size : 2 * unit * most + 1].min()
            tight += found[size // unit] == truth[size]
    assert tight > 4 or is_open[0] or has_corners


@pytest.mark.parametrize("has_corners", [False, True])
def test_least_neighbourhoods_of_small_boxes_are_exact(has_corners: bool) -> None:
    for sides in ((3, 3), (2, 5), (2, 2, 3)):
        cells = np.array(list(product(*map(range, sides))))
        near = are_near(cells, has_corners)
        sets = (np.arange(1 << len(cells))[:, None] >> np.arange(len(cells))) & 1
        size, grown = sets.sum(axis=1), (sets @ near > 0).sum(axis=1)
        box = isoperimetry.box(sides, len(cells), search=Search(), has_corners=has_corners)
        assert box is not None
        assert box.grown.tolist() == [int(grown[size >= m].min()) for m in range(len(cells) + 1)]
        interior = len(cells) - grown[::-1]
        assert box.inner.tolist() == [int(interior[size == m].max()) for m in range(len(cells) + 1)]


@pytest.mark.parametrize(("side", "axes", "has_corners"), [(4, 2, False), (4, 2, True), (2, 3, True), (12, 1, True)])
def test_least_neighbourhoods_in_space_are_those_of_no_set(side: int, axes: int, has_corners: bool) -> None:
    cells = np.array(list(product(range(-1, side + 1), repeat=axes)))
    inner = np.flatnonzero(((cells >= 0) & (cells < side)).all(axis=1))
    sets = (np.arange(1 << len(inner))[:, None] >> np.arange(len(inner))) & 1
    size, grown = sets.sum(axis=1), (sets.astype(np.float32) @ are_near(cells, has_corners)[inner] > 0).sum(axis=1)
    least = np.array([grown[size >= m].min() for m in range(len(inner) + 1)])
    found = isoperimetry.space((side,) * axes, len(inner), has_corners=has_corners)
    assert found is not None
    assert (found.grown <= least).all()
    assert (found.grown == least).sum() > (len(inner) // 2 if axes < 3 else 1)
    assert found.grown.tolist() == grid_check.in_space(axes, len(inner), has_corners=has_corners).tolist()


def test_segments_of_a_schedule_read_and_leave_no_less_than_in_space_but_for_walls() -> None:
    rng = np.random.default_rng(4)
    tight = 0
    for turn in range(60):
        has_corners, levels, side = bool(turn % 2), 4, int(rng.integers(6, 12))
        box = isoperimetry.space((side, side), 128, has_corners=has_corners)
        assert box is not None
        least = isoperimetry.least_ends(box, 1, 64, is_open=(False, False))
        # Nodes level by level, by their distance from lines in space and time: segments are slabs and balls.
        place = np.array(list(product(range(levels), range(side), range(side))))
        far = np.abs((place - rng.integers(0, side, 3)) * rng.uniform(0.3, 1.5, 3)).max(axis=1) + place[:, 0] * 1e-3
        segment = np.argsort(np.argsort(far)) // (count := int(rng.integers(8, 64)))
        near = are_near(np.array(list(product(range(side), repeat=2))), has_corners)
        total = 0
        for number in range(int(segment.max())):  # the last one is not full
            mine = (segment == number).reshape(levels, -1)
            total += int(mine[-1].sum())
            for level in range(levels):
                below = mine[level - 1] if level else np.zeros(side * side, np.bool_)
                read = (near & mine[level][:, None]).any(axis=0)
                whole = ~(near & ~mine[level][:, None]).any(axis=0)
                total += int((read & ~below).sum() + (below & ~whole).sum())
        lost = levels * isoperimetry.lost_at_walls((side, side), has_corners=has_corners)
        assert lost == levels * grid_check.lost_at_walls((side, side), has_corners=has_corners)
        assert total >= int(segment.max()) * least[count] - lost
        tight += 0.8 * total < int(segment.max()) * least[count]
    assert tight > 3


def test_wide_grids_are_bounded_as_far_from_their_walls_and_verified() -> None:
    sources, targets = iteration((26, 24), 7)
    cdag = shuffled(build(np.ones(int(targets.max()) + 1, np.int64), sources, targets), np.random.default_rng(1))
    [piece] = histories.excess(cdag, 10, search=Search(effort=0.5)).pieces
    assert piece.shown is not None
    [part] = piece.shown(cdag)
    assert part["space"]
    game = Game(cdag, 10)
    assert grid_check.proven(game, part).moved == piece.excess
    assert grid_check.proven(game, {**part, "space": False}).moved < 0.85 * piece.excess
    assert piece.excess <= belady.plan(cdag, 10).traffic(cdag.weights) - cdag.algorithmic_bound()


@settings(max_examples=len(samples(160)), deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 6))
def test_no_bound_exceeds_a_plan(seed: int, more: int) -> None:
    rng = np.random.default_rng(seed)
    sides, most = [((5, 40), 14), ((3, 9), 9), ((2, 5), 9)][kind := int(rng.integers(3))]
    cdag = inside(
        tuple(rng.integers(*sides, kind + 1).tolist()), int(rng.integers(2, most)), rng, diagonal=bool(rng.integers(2))
    )
    budget = cdag.least_budget() + more
    paid = belady.plan(cdag, budget).traffic(cdag.weights) - cdag.algorithmic_bound()
    assert histories.excess(cdag, budget, search=Search(effort=0.3)).excess <= paid


@pytest.mark.costly
@pytest.mark.parametrize(
    ("sides", "steps", "diagonal", "budget", "least"),
    [
        ((60,), 30, False, 8, 400),
        ((12, 14), 8, False, 10, 600),
        ((6, 5, 7), 5, False, 14, 500),
        pytest.param((12, 14), 8, True, 12, 200, marks=pytest.mark.slow),
    ],
    ids=["line", "plane", "space", "diagonal"],
)
def test_iterations_are_found_in_larger_graphs(
    sides: tuple[int, ...], steps: int, diagonal: bool, budget: int, least: int
) -> None:
    rng = np.random.default_rng(3)
    sources, targets = iteration(sides, steps, diagonal=diagonal)
    count = int(targets.max()) + 1
    extra = rng.integers(0, count, (2, 6)), np.repeat(np.arange(count, count + 3), 2)
    cdag = build(
        np.ones(count + 3, np.int64), np.append(sources, extra[0][0]), np.append(targets, extra[1]),
    )  # fmt: skip
    cdag = shuffled(cdag, rng)
    history, *_ = grid_search.histories(cdag, search=Search())
    nodes = history.nodes
    assert history.has_corners == (diagonal or len(sides) == 1)
    assert len(nodes) == steps + 1
    assert nodes.size > (0.6 if diagonal else 0.95) * count
    found = histories.excess(cdag, budget, search=Search(effort=0.3))
    assert least <= found.excess <= belady.plan(cdag, budget).traffic(cdag.weights) - cdag.algorithmic_bound()
    if sides == (12, 14):
        goal = cdag.algorithmic_bound() + found.excess
        assert best_bound(cdag, budget, search=Search(effort=0.3), goal=goal).value >= goal
    assert histories.excess(cdag, cdag.n, search=Search(effort=0.3)).excess == 0
    assert histories.excess(cdag, budget, search=Search(effort=1e-6)).excess == 0


@pytest.mark.parametrize(("sides", "diagonal"), [((7, 6), True), ((7, 6), False), ((4, 5, 4), False)])
def test_cells_around_a_box_that_no_level_computes_hide_nothing(sides: tuple[int, ...], diagonal: bool) -> None:
    sources, targets = iteration(sides, 5, diagonal=diagonal)
    cells, around = int(np.prod(sides)), [
        cell for cell in product(*(range(-1, side + 1) for side in sides)) if any(
            place in (-1, side) for place, side in zip(cell, sides, strict=True))
    ]  # fmt: skip
    inside_box = np.array(list(product(*map(range, sides))))
    near = [np.abs(inside_box - cell).max(axis=1) < 2 if diagonal else np.abs(inside_box - cell).sum(axis=1) < 2 for cell
            in around]  # fmt: skip
    pairs = [(6 * cells + number, level * cells + cell) for number, beside in enumerate(filter(np.any, near)) for cell in
             np.flatnonzero(beside).tolist() for level in range(1, 6)]  # fmt: skip
    more, readers = np.array(pairs).T
    count = int(more.max()) + 1
    cdag = build(np.ones(count, np.int64), np.append(sources, more), np.append(targets, readers))
    shapes = [
        one.nodes.shape for one in grid_search.histories(shuffled(cdag, np.random.default_rng(2)), search=Search())
    ]
    assert [sorted(shape) for shape in shapes] == [sorted((6, *sides))]
