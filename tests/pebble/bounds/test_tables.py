"""Tables found inside any graph: the sets that read and leave least, schedules cut anywhere, shuffles, certificates."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from tests.pebble.families import grid, shuffled
from tests.samples import samples

from shorthaul.core.search import Search
from shorthaul.pebble import case, tuning
from shorthaul.pebble.bounds.piece import most_held
from shorthaul.pebble.bounds.tables import table_cuts, table_search
from shorthaul.pebble.check.certificates import grid as grid_check
from shorthaul.pebble.check.certificates import table as table_check
from shorthaul.pebble.check.certificates.part import Game, WrongError
from shorthaul.pebble.model import Cdag, build
from shorthaul.pebble.orders import belady
from shorthaul.pebble.plan import Move
from shorthaul.pebble.workloads import kernels_as_graphs

Place = tuple[int, ...]


def table(
    sides: Place, rng: np.random.Generator, *, link: float = 0.0, corner: bool = False, letters: float = 0.0,
    helper: float = 0.0, lacking: float = 0.0, border: bool = True,
) -> Cdag:  # fmt: skip
    """Return a table whose places read those before them, by way of links, and letters, some left out; shuffled."""
    edges: list[tuple[int, int]] = []
    given: list[bool] = []

    def node(*operands: int) -> int:
        edges.extend((operand, len(given)) for operand in dict.fromkeys(operands))
        given.append(not operands)
        return len(given) - 1

    root, cells = node(), dict[Place, int]()
    words = [[node() for _ in range(side)] for side in sides[:2]]
    for place in product(*map(range, sides)):
        read = []
        for axis in range(len(sides)):
            before = tuple(at - (index == axis) for index, at in enumerate(place))
            if before not in cells and border and min(before) < 0:
                cells[before] = node()
            if before in cells and rng.random() >= lacking:
                read.append(node(cells[before]) if rng.random() < link else cells[before])
        diagonal = tuple(at - 1 for at in place)
        if corner and diagonal in cells:
            read.append(cells[diagonal])
        spelled = [words[axis][place[axis]] for axis in (0, 1) if rng.random() < letters]
        if spelled and rng.random() < helper:
            spelled = [node(*spelled)]
        cells[place] = node(*read, *spelled) if read or spelled else node(root)
    node(*list(cells.values())[-1:], root)
    used = np.unique(np.array(edges))
    number = np.full(len(given), -1)
    number[used] = np.arange(len(used))
    sources, targets = number[np.array(edges)].T
    return shuffled(build(np.ones(len(used), np.int64), sources, targets, given=np.array(given)[used]), rng)


def gaps(sides: Place, rng: np.random.Generator, *, helper: float = 0.0, lacking: float = 0.0) -> Cdag:
    """Return an alignment with affine gaps: three values a place, one for gaps along each axis; shuffled."""
    edges: list[tuple[int, int]] = []
    words, given = [list(range(sides[0])), list(range(sides[0], sum(sides)))], [True] * sum(sides)
    cells: list[dict[Place, int]] = [{}, {}, {}]  # gaps along either axis, and the best of all

    def node(*operands: int) -> int:
        kept = [operand for operand in operands if rng.random() >= lacking] or [operands[0]]
        edges.extend((operand, len(given)) for operand in kept)
        given.append(False)
        return len(given) - 1

    for place in product(*map(range, sides)):
        for axis in (0, 1):
            before = tuple(at - (index == axis) for index, at in enumerate(place))
            if before in cells[2]:
                cells[axis][place] = node(
                    cells[2][before], *(lane[before] for lane in cells[axis : axis + 1] if before in lane)
                )
        letters, last = [words[axis][place[axis]] for axis in (0, 1)], (place[0] - 1, place[1] - 1)
        matched = [*letters, cells[2][last]] if last in cells[2] else letters
        if rng.random() < helper:
            matched = [node(*matched)] if rng.random() < helper else [node(*letters), *matched[2:]]
        cells[2][place] = node(*matched, *(cells[axis][place] for axis in (0, 1) if place in cells[axis]))
    used = np.unique(np.array(edges))
    number = np.full(len(given), -1)
    number[used] = np.arange(len(used))
    sources, targets = number[np.array(edges)].T
    return shuffled(build(np.ones(len(used), np.int64), sources, targets, given=np.array(given)[used]), rng)


def an_order(cdag: Cdag, rng: np.random.Generator) -> list[int]:
    """Return computations in an order: at random, level by level or depth first, mixed."""
    deepest, mix = np.zeros(cdag.n), rng.choice([0.0, 0.3, 5.0]) * rng.random(cdag.n)
    for v in cdag.order.tolist():
        deepest[v] = 1 + max((deepest[u] for u in cdag.parents.neighbours(v).tolist()), default=0)
    deepest *= rng.choice([1, 0.05])
    ready, left = np.flatnonzero(cdag.parents.degrees() == 0).tolist(), cdag.parents.degrees()
    order = []
    while ready:
        v = min(ready, key=lambda node: deepest[node] + mix[node])
        ready.remove(v)
        order.append(v)
        for w in cdag.children.neighbours(v).tolist():
            left[w] -= 1
            ready += [w] * int(left[w] == 0)
    return [v for v in order if not cdag.given[v]]


def by_tiles(cdag: Cdag, found: table_search.Table, rng: np.random.Generator) -> tuple[list[int], int]:
    """Return computations tile by tile of a table, and a tile's size; what only places read comes early or late."""
    row, column = (found.places - found.places.min(axis=0)).T[:: int(rng.choice([-1, 1]))]
    high, wide = rng.integers(3, 9, 2).tolist()
    skewed = column + int(rng.integers(2)) * (row % high)
    places = np.lexsort((column, row, skewed // wide, row // high))
    done, order = cdag.given.copy(), list[int]()
    links, is_early = {*found.links[:, 0].tolist(), *found.helpers[:, 0].tolist()}, bool(rng.integers(2))

    def compute(node: int) -> None:
        for operand in cdag.parents.neighbours(node).tolist():
            if not done[operand]:
                compute(operand)
        done[node] = True
        order.append(node)

    for node in [*found.nodes[places].tolist(), *cdag.order.tolist()]:
        if not done[node]:
            compute(node)
        for link in cdag.children.neighbours(node).tolist() if is_early else ():
            if link in links and not done[link] and done[cdag.parents.neighbours(link)].all():
                compute(link)
    return order, high * wide


def ends(cdag: Cdag, order: list[int], counted: npt.NDArray[np.bool_], moved: npt.NDArray[np.int64], size: int) -> int:
    """Return how many of the nodes ``moved`` all segments of an order read and leave, cut after so many counted."""
    segment, done, last = np.full(cdag.n, -1), 0, max(0, int(counted.sum()) // size - 1)
    for v in order:
        segment[v] = min(done // size, last)
        done += int(counted[v])
    sources, targets = cdag.edge_arrays()
    is_moved = np.isin(np.arange(cdag.n), moved)
    apart = is_moved[sources] & (segment[sources] != segment[targets])
    read = len(np.unique(sources[apart] * cdag.n + segment[targets[apart]]))
    return read + len(
        np.unique(np.append(sources[apart & ~cdag.given[sources]], np.flatnonzero(is_moved & cdag.is_output())))
    )


def test_no_set_of_places_reads_and_leaves_less_than_is_said() -> None:
    for sides in ((4, 4), (2, 2, 3)):
        places = list(product(*map(range, sides)))
        number = {place: index for index, place in enumerate(product(*(range(-1, side + 1) for side in sides)))}
        sets = np.arange(1 << len(places))
        size, before, after = np.zeros_like(sets), np.zeros((2, len(sets)), np.int64), np.zeros_like(sets)
        inside = np.zeros((2, len(sets)), np.int64)
        axes = np.eye(len(sides), dtype=int)

        def add(masks: npt.NDArray[np.int64], index: int, has: npt.NDArray[np.bool_]) -> None:
            masks[index // 60] |= np.where(has, 1 << (index % 60), 0)

        for bit, place in enumerate(places):
            has = (sets >> bit & 1).astype(np.bool_)
            size += has
            add(inside, number[place], has)
            for axis in axes:
                add(before, number[tuple(np.subtract(place, axis).tolist())], has)
            following = [tuple(np.add(place, axis).tolist()) for axis in axes]
            all_after = np.logical_and.reduce([sets >> places.index(one) & 1 if one in places else sets * 0
                                               for one in following]).astype(np.bool_)  # fmt: skip
            after += has & ~all_after
        outside = before & ~inside
        read = np.array([int(one).bit_count() + int(other).bit_count() for one, other in outside.T.tolist()])
        least = [int((read + after)[size >= count].min()) for count in range(1, len(places) + 1)]
        if len(sides) == 2:
            said = [math.isqrt(12 * count - 4) + 1 for count in range(1, len(places) + 1)]
            assert said[:7] == least[:7]
        else:
            said = [grid_check.least_ends(table_check.before(4 * count), 2**40, 1, count, is_open=(False, False), space=True)
                    for count in range(1, len(places) + 1)]  # fmt: skip
        assert all(one <= other for one, other in zip(said, least, strict=True))


def test_places_before_others_in_a_plane() -> None:
    cells = list(product(range(4), repeat=2))
    sets = np.arange(1 << len(cells))
    size, grown = np.zeros_like(sets), np.zeros_like(sets)
    for bit, (x, y) in enumerate(cells):
        near = sum(1 << (5 * (x + a) + y + b) for a, b in ((0, 0), (1, 0), (0, 1)))
        grown |= np.where(sets >> bit & 1, near, 0)
        size += sets >> bit & 1
    count = np.array([int(mask).bit_count() for mask in grown.tolist()])
    least = [int(count[size == cells].min()) for cells in range(17)]
    said = table_check.before(16).tolist()
    assert all(one <= other for one, other in zip(said, least, strict=True))
    assert said[:11] == least[:11]


def test_memory_holds_no_more_before_a_node_than_is_said() -> None:
    rng, reached = np.random.default_rng(11), 0
    for _ in range(60):
        cdag = case(
            f"random:n={rng.integers(8, 40)},degree=3,window=9,most={rng.choice([1, 3])},seed={rng.integers(99)}"
        ).workload
        least, budget = int(cdag.weights.min()), cdag.least_budget() + int(rng.integers(4))
        left, read = rng.random((2, cdag.n)) < rng.choice([0.5, 1])
        counted = np.flatnonzero(~cdag.given & (rng.random(cdag.n) < 0.7))
        found, red = dict[int, int](), set[int]()
        for move, node in belady.replay_order(cdag, budget, np.array(an_order(cdag, rng))):
            if move is Move.COMPUTE:
                found[node] = sum(bool(left[one]) + bool(read[one]) for one in red)
            if move in (Move.COMPUTE, Move.LOAD):
                red.add(node)
            elif move is Move.DELETE:
                red.remove(node)
        held = np.append(0, np.cumsum(sorted((found[node] for node in counted.tolist()), reverse=True)))
        said = most_held(cdag, counted, left, read, budget, least)
        assert (held <= said).all()
        reached += len(held) > 1 and held[1] == said[1]
    assert reached > 5


def moved_of(cdag: Cdag, found: table_search.Table, order: list[int], cuts: int, rng: np.random.Generator) -> int:
    """Return what a plan moves of a table, and what the memory spares it at so many cuts at most."""
    budget = cdag.least_budget() + int(rng.integers(4))
    plan = belady.replay_order(cdag, budget, np.array(order))
    spared = table_cuts.held(cdag, found, budget, 1)[cuts - 1]
    return plan.traffic(np.isin(np.arange(cdag.n), found.moved).astype(np.int64)) + int(spared)


def test_no_schedule_cut_anywhere_reads_and_leaves_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "FEWEST_IN_TABLE", 6)
    rng, lifted, closest, spared = np.random.default_rng(5), 0, 0.0, list[float]()
    for _ in samples(160):
        sides = tuple(rng.integers(3, 8, 2)) if rng.random() < 0.7 else (3, 3, 4)
        ways = {
            key: float(rng.choice([0, 1, much])) for key, much in (("link", 0.3), ("letters", 0.9), ("helper", 0.5))
        }
        lacking, corner, border = float(rng.choice([0, 0, 0.1])), bool(rng.random() < 0.5), bool(rng.random() < 0.5)
        cdag = table(sides, rng, corner=corner, lacking=lacking, border=border, **ways)
        for found in table_search.tables(cdag, search=Search()):
            counted = np.zeros(cdag.n, np.bool_)
            counted[found.nodes] = ~cdag.given[found.nodes]
            known = int((cdag.given | cdag.is_output())[found.nodes].sum()) + len(found.letters)
            for size in rng.integers(min(4, counted.sum()), min(20, counted.sum()) + 1, 2).tolist():
                part = table_cuts.shown(found, table_cuts.Cut(0, 1, size), cdag)[0]
                said = table_check.proven(Game(cdag, 0), part).moved
                order = an_order(cdag, rng)
                beyond = ends(cdag, order, counted, found.moved, size) - known
                assert said <= max(0, beyond)
                spared.append(
                    beyond
                    + known
                    - moved_of(cdag, found, order, counted.sum() // size, np.random.default_rng(len(spared)))
                )
                lifted += said > 0
                closest = max(closest, said / max(1, beyond))
    assert lifted > 10
    assert closest > 0.7
    assert -10 < max(spared) <= 0


def test_no_schedule_cut_anywhere_reads_and_leaves_less_on_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "FEWEST_IN_TABLE", 6)
    lanes_agree(range(2, 4), 0.2)


@pytest.mark.slow
def test_many_schedules_cut_anywhere_read_and_leave_no_less_on_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "FEWEST_IN_TABLE", 6)
    lanes_agree(range(100, 300), 0.4)


def lanes_agree(seeds: range, tight: float) -> None:
    lifted, closest = 0, 0.0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        sides = tuple(rng.integers(18, 28, 2).tolist())
        cdag = gaps(sides, rng, helper=float(rng.choice([0, 0.5, 1])), lacking=float(rng.choice([0, 0, 0.01])))
        for found in table_search.tables(cdag, search=Search()):
            if found.axes != 2 or len(found.nodes) < 100:
                continue
            counted = np.zeros(cdag.n, np.bool_)
            counted[found.nodes] = ~cdag.given[found.nodes]
            order, size = by_tiles(cdag, found, rng)
            for one in (found, found.without_letters()):
                known = int((cdag.given | cdag.is_output())[one.nodes].sum()) + len(one.letters)
                part = table_cuts.shown(replace(one, has_lanes=True), table_cuts.Cut(0, 1, size), cdag)[0]
                said = table_check.proven(Game(cdag, 0), part).moved
                beyond = ends(cdag, order, counted, one.moved, size) - known
                cuts, lane = counted.sum() // size, replace(one, has_lanes=True)
                assert beyond + known <= moved_of(cdag, lane, order, cuts, rng), seed
                assert said <= max(0, beyond), seed
                lifted += said > 0
                closest = max(closest, said / max(1, beyond))
    assert lifted >= len(seeds)
    assert closest > tight


FOUND = {
    "gaps": (lambda rng: gaps((20, 18), rng, helper=1.0), 8, 350, 96),
    "gaps up to the walls": (lambda rng: gaps((20, 18), rng), 8, 360, 213),
    "letters and corners": (lambda rng: table((26, 24), rng, corner=True, letters=1.0), 7, 624, 229),
    "links and helpers": (lambda rng: table((20, 20), rng, link=1.0, letters=1.0, helper=1.0), 5, 400, 221),
    "no border": (lambda rng: table((20, 24), rng, border=False), 4, 480, 117),
    "space": (lambda rng: table((7, 7, 7), rng), 5, 343, 80),
    "pyramid": (lambda rng: shuffled(kernels_as_graphs.pyramid(n=40, word=1), rng), 4, 855, 226),
}


@pytest.mark.parametrize("name", FOUND)
def test_tables_are_found_at_any_numbering_and_verified(name: str) -> None:
    make, budget, places, least = FOUND[name]
    bounds = []
    for seed in (1, 2):
        cdag = make(np.random.default_rng(seed))
        found = table_cuts.excess(cdag, budget, search=Search(effort=0.1))
        parts = [part for piece in found.pieces if piece.shown is not None for part in piece.shown(cdag)]
        assert max(len(part["nodes"]) for part in parts) >= places
        assert sum(table_check.proven(Game(cdag, budget), part).moved for part in parts) >= found.excess
        bounds.append(found.excess)
    assert bounds[0] == bounds[1] >= least
    if cdag.least_budget() <= budget:
        assert bounds[0] <= belady.plan(cdag, budget).traffic(cdag.weights) - cdag.algorithmic_bound()


def test_stencils_take_nothing_and_wide_tables_little() -> None:
    stencil, wide = Search(effort=0.01), table((60, 60), np.random.default_rng(1), border=False)
    assert table_search.tables(grid(12, 11, 8), search=stencil) == []
    assert stencil.left() > 0.009
    (found,) = table_search.tables(wide, search=Search(effort=0.06))
    assert len(found.nodes) == 3600


def test_wrong_tables_are_refused() -> None:
    cdag = table((12, 12), np.random.default_rng(3), link=0.5, letters=1.0, helper=0.5)
    (piece,) = table_cuts.excess(cdag, 5, search=Search()).pieces
    assert piece.shown is not None
    (part,) = piece.shown(cdag)
    game = Game(cdag, 5)
    assert table_check.proven(game, part).moved == piece.excess
    first, second, *rest = part["nodes"]
    for wrong, message in (
        ({"nodes": [first, first, *rest]}, "is there twice"),
        ({"places": [part["places"][1], *part["places"][1:]]}, "places: one is there twice"),
        ({"places": [[0]] * len(part["nodes"])}, "lists of two integers"),
        ({"links": [[first, second]]}, "is there twice, or"),
        ({"links": [[part["links"][0][0], first], *part["links"][1:]]}, "does not read"),
        ({"letters": [*part["letters"], part["letters"][0]]}, "may be there once"),
        ({"letters": [[0, 99, first]]}, "is a node of the table or a link"),
        ({"helpers": [[part["helpers"][0][0], first]]}, "reads"),
        ({"segment": 3}, "segment must be"),
    ):
        with pytest.raises(WrongError, match=message):
            table_check.proven(game, {**part, **wrong})
    fewer = {**part, "letters": part["letters"][1:]}
    assert table_check.proven(game, fewer).moved < piece.excess
