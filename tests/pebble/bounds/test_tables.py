"""Tables found inside any graph: the sets that read and leave least, schedules cut anywhere, shuffles, certificates."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from tests.pebble.families import shuffled

from shorthaul.core.search import Search
from shorthaul.pebble import tuning
from shorthaul.pebble.bounds.tables import table_cuts, table_search
from shorthaul.pebble.check.certificates import grid as grid_check
from shorthaul.pebble.check.certificates import table as table_check
from shorthaul.pebble.check.certificates.part import Game, WrongError
from shorthaul.pebble.model import Cdag, build
from shorthaul.pebble.orders import belady
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


def test_no_schedule_cut_anywhere_reads_and_leaves_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "FEWEST_IN_TABLE", 6)
    rng, lifted, closest = np.random.default_rng(5), 0, 0.0
    for _ in range(40):
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
                beyond = ends(cdag, an_order(cdag, rng), counted, found.moved, size) - known
                assert said <= max(0, beyond)
                lifted += said > 0
                closest = max(closest, said / max(1, beyond))
    assert lifted > 20
    assert closest > 0.7


FOUND = {
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


def test_wrong_tables_are_refused() -> None:
    cdag = table((12, 12), np.random.default_rng(3), link=0.5, letters=1.0, helper=0.5)
    (piece,) = table_cuts.excess(cdag, 3, search=Search()).pieces
    assert piece.shown is not None
    (part,) = piece.shown(cdag)
    game = Game(cdag, 3)
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
