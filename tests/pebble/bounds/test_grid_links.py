"""Grids whose cells read one another by way of links, as where fields stand between cells."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from tests.pebble.bounds.test_grids import FAR, Ints
from tests.pebble.families import Graph, shuffled

from shorthaul.core.search import Search
from shorthaul.pebble.bounds.grids import grid_search, histories, isoperimetry
from shorthaul.pebble.check.certificates import grid as grid_check
from shorthaul.pebble.check.certificates.part import Game, WrongError
from shorthaul.pebble.model import Cdag, build
from shorthaul.pebble.orders import belady


def fields(
    sides: tuple[int, ...], steps: int, *, one_way: bool = False, has_past: bool = True, has_factor: bool = False
) -> Cdag:
    """Return steps of a field in cells and fields between cells, each of which reads the other and its own past.

    ``one_way`` gives each two cells two values between them, each read by one of them; with ``has_factor`` all read one
    value.
    """
    graph = Graph()
    factor = [graph.node()] if has_factor else []
    cells = {cell: graph.node() for cell in product(*map(range, sides))}
    pairs = [(cell, (*cell[:axis], cell[axis] + 1, *cell[axis + 1 :])) for cell in cells for axis in range(len(sides))]
    pairs = [pair for pair in pairs if pair[1] in cells]
    pairs += [pair[::-1] for pair in pairs if one_way]
    between = {pair: [graph.node()] if has_past else [] for pair in pairs}
    for _ in range(steps):
        now = {pair: graph.node(*factor, *past, *(cells[cell] for cell in pair)) for pair, past in between.items()}
        reads = {cell: [cells[cell], *factor] for cell in cells}
        for pair, node in now.items():
            reads[pair[1]].append(node)
            if not one_way:
                reads[pair[0]].append(node)
        cells = {cell: graph.node(*operands) for cell, operands in reads.items()}
        between = {pair: [node] * has_past for pair, node in now.items()}
    return graph.done()


def least_by_sets(sides: tuple[int, ...], levels: int, is_open: tuple[bool, bool]) -> Ints:
    """Return what sets of cells at every level and of the links between them read and leave at least, by their cells."""
    cells = list(product(*map(range, sides)))
    pairs = [(i, j) for i, j in product(range(len(cells)), repeat=2) if i < j and
             sum(abs(a - b) for a, b in zip(cells[i], cells[j], strict=True)) == 1]  # fmt: skip
    sets, through = np.arange(1 << len(cells)), np.arange(1 << len(pairs))
    size = np.bitwise_count(sets).astype(np.int64)
    ends = np.zeros((2, len(through)), np.int64)  # cells of which all links, or some, are in a set of links
    for index, pair in enumerate(pairs):
        ends[0] |= (through >> index & 1) * (1 << pair[0] | 1 << pair[1])
        ends[1] |= (1 - (through >> index & 1)) * (1 << pair[0] | 1 << pair[1])
    some, lacking = ends
    steps = np.zeros((len(sets), len(sets)), np.int64)
    for above in sets.tolist():
        met = np.array([int(above >> i & 1) + int(above >> j & 1) for i, j in pairs])
        here = (through[:, None] >> np.arange(len(pairs))) & 1
        own = (np.where(here, met < 2, met > 0)).sum(axis=1)
        read = (some | above)[:, None] & ~sets
        left = (lacking | (len(sets) - 1 & ~above))[:, None] & sets
        steps[:, above] = (own[:, None] + size[read] + size[left]).min(axis=0)
    least = np.full((levels * len(cells) + 1, len(sets)), FAR)
    least[0, slice(None) if is_open[0] else 0] = 0
    for level in range(1, levels + 1):
        then = np.full_like(least, FAR)
        for one in sets.tolist():
            counted = 0 if is_open[1] and level == levels else int(size[one])
            then[counted:, one] = (least + steps[:, one]).min(axis=1)[: len(then) - counted]
        least = then
    found: Ints = (least + (0 if is_open[1] else size)).min(axis=1)
    return found


@pytest.mark.parametrize(("sides", "levels"), [((2, 3), 4), ((6,), 4), ((2, 2), 6)], ids=str)
@pytest.mark.parametrize("is_open", [(False, False), (False, True), (True, False), (True, True)], ids=str)
def test_no_set_reads_and_leaves_less(sides: tuple[int, ...], levels: int, is_open: tuple[bool, bool]) -> None:
    truth = least_by_sets(sides, levels, is_open)
    possible = np.flatnonzero(truth < FAR)
    tight = 0
    for unit, most in ((1, 8), (1, 24), (2, 8), (3, 8)):
        box = isoperimetry.box(sides, 2 * unit * most, search=Search())
        assert box is not None
        between = isoperimetry.links(sides, len(box.grown) - 1)
        found = isoperimetry.least_ends(box, unit, most, is_open=is_open, between=between)
        plain = isoperimetry.least_ends(box, unit, most, is_open=is_open)
        assert (found >= plain).all()
        for size in possible[possible <= unit * most].tolist():
            assert found[size // unit] <= truth[size : 2 * unit * most + 1].min()
            tight += found[size // unit] == truth[size]
    assert tight > 4 or is_open[0]


def test_least_cuts_are_exact() -> None:
    for sides in ((3, 3), (2, 5), (2, 2, 3), (9,)):
        cells = np.array(list(product(*map(range, sides))))
        pairs = np.argwhere(np.triu(np.abs(cells[:, None] - cells[None]).sum(axis=2) == 1))
        sets = (np.arange(1 << len(cells))[:, None] >> np.arange(len(cells))) & 1
        cut = (sets[:, pairs[:, 0]] != sets[:, pairs[:, 1]]).sum(axis=1)
        least = [int(cut[sets.sum(axis=1) == m].min()) for m in range(len(cells) + 1)]
        assert (
            isoperimetry.links(sides, 10**6).cut.tolist() == grid_check.cut_sizes(sides, len(cells)).tolist() == least
        )
        far = isoperimetry.links_in_space(len(sides), len(cells)).cut
        lacking = (2 * len(sides) - (np.abs(cells[:, None] - cells[None]).sum(axis=2) == 1).sum(axis=1)) @ sets.T
        assert (far <= [int((cut + lacking)[sets.sum(axis=1) == m].min()) for m in range(len(cells) + 1)]).all()
        assert isoperimetry.lost_links(sides) == lacking[-1]


@pytest.mark.costly
@pytest.mark.parametrize(
    ("sides", "steps", "one_way", "budget", "least"),
    [
        ((9, 8), 7, False, 12, 250),
        ((9, 8), 7, True, 12, 150),
        ((24,), 14, False, 6, 20),
        ((4, 5, 4), 6, False, 16, 60),
    ],
)
def test_fields_are_found_in_any_order_and_verified(
    sides: tuple[int, ...], steps: int, one_way: bool, budget: int, least: int
) -> None:
    plain = fields(sides, steps, one_way=one_way, has_factor=len(sides) < 3)
    rng = np.random.default_rng(3)
    values = set()
    for cdag in (plain, shuffled(plain, rng), shuffled(plain, rng)):
        [piece] = histories.excess(cdag, budget, search=Search(effort=0.5)).pieces
        assert piece.shown is not None
        [part] = piece.shown(cdag)
        assert part["both"] != one_way
        assert grid_check.proven(Game(cdag, budget), part).moved == piece.excess
        values.add(piece.excess)
    assert len(values) == 1
    assert least < piece.excess <= belady.plan(plain, budget).traffic(plain.weights) - plain.algorithmic_bound()


def test_links_that_serve_more_than_two_cells_are_none() -> None:
    graph = Graph()
    cells = [graph.node() for _ in range(12)]
    for _ in range(6):
        ends = [graph.node(*cells[at : at + 3]) for at in range(10)]  # of three cells
        cells = [graph.node(cells[at], *{ends[min(9, max(0, at - by))] for by in (0, 1, 2)}) for at in range(12)]
    cdag = graph.done()
    assert not [one for one in grid_search.histories(cdag, search=Search()) if one.links]
    plain = fields((5, 6), 4)
    [piece] = histories.excess(plain, 6, search=Search()).pieces
    assert piece.shown is not None
    [part] = piece.shown(plain)
    assert grid_check.proven(Game(plain, 6), part).moved == piece.excess
    sources, targets = plain.edge_arrays()
    link = plain.index(part["links"][7]) if hasattr(plain, "index") else part["links"][7]
    for gone in (np.flatnonzero(sources == link)[0], np.flatnonzero(targets == link)[-1]):
        kept = np.arange(plain.edges) != gone
        with pytest.raises(WrongError):
            grid_check.proven(Game(build(plain.weights, sources[kept], targets[kept]), 6), part)
    with pytest.raises(WrongError):
        grid_check.proven(Game(plain, 6), {**part, "links": part["links"][1:]})
    one_way = fields((5, 6), 4, one_way=True)
    [piece] = histories.excess(one_way, 6, search=Search()).pieces
    assert piece.shown is not None
    [part] = piece.shown(one_way)
    with pytest.raises(WrongError):
        grid_check.proven(Game(one_way, 6), {**part, "both": True})
