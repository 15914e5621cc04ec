"""Tables, verified: what their places read, and what segments of a schedule read and leave of them at least.

``nodes`` are at different ``places`` of Z^d, d = 2 or 3; those that are computed are counted, and every ``segment`` of
them make a segment. A node reads the places one step before its own along each axis, themselves or by way of ``links``:
pairs of a node and the place that it reads, or another link of which. Of what a segment reads and leaves, one is taken
off for each step before a node where it reads no place, and for each node but outputs that some step after it does not
read. ``letters`` (an axis, a place along it, a value) are read by the nodes of that place, themselves or by way of one
of ``helpers``, pairs of a node and the one in the table that reads it; one is taken off for each node and axis where
they are not. Why the numbers below hold stands in ``bounds/tables/table_cuts.py``.

With ``lanes`` the links are values of lanes, one along each axis, and places are read across too: of what a segment
reads and leaves on its lanes and across, one is taken off for each time a node does not read what comes before it, or
is not read so (``bounds/tables/lanes.py``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from shorthaul.pebble.check.certificates import grid
from shorthaul.pebble.check.certificates.part import Game, Proven, WrongError, whole
from shorthaul.pebble.model import IntArray

#: Steps of one part at most, as of iterations over grids, and up to how many segments sizes of levels are told apart.
_MOST_STEPS, _FURTHER = 4_000_000_000, 4
_LARGEST = 2**40
_ROUNDING = 1e-6
Place = tuple[int, ...]


def proven(game: Game, part: Mapping[str, Any]) -> Proven:
    """Return what a part of the kind ``table`` proves; raises :class:`WrongError`."""
    nodes = game.different(part, "nodes")
    places = _places(part, len(nodes))
    where = dict(zip(places, nodes.tolist(), strict=True))
    if len(where) < len(places):
        raise WrongError("places: one is there twice")
    owner = _owners(game, part, nodes)
    letters = _letters(game, part, len(places[0]))
    helpers = _pairs(game, part, "helpers")
    moved_nodes = np.array([*owner, *letters.values(), *(pair[0] for pair in helpers)], dtype=np.int64)
    if len(np.unique(moved_nodes)) < len(moved_nodes):
        raise WrongError("letters and helpers: one is there twice, or is a node of the table or a link")
    weights, given, is_output = game.cdag.weights, game.cdag.given, game.cdag.is_output()
    total, least = int(np.count_nonzero(~given[nodes])), int(weights[moved_nodes].min())
    if not total:
        raise WrongError("nodes: none is computed")
    segment = whole(part, "segment", 4 if helpers else 1, total)
    if part.get("lanes", False) is True:
        if len(places[0]) != 2:
            raise WrongError("lanes are those of two axes")
        lost = _lost_on_lanes(game, where, owner, helpers)
        ends = _ends_on_lanes(game, segment, set(owner), helpers, has_letters=bool(letters))
    else:
        lost = sum(
            _lost(game, place, where, owner, is_output=bool(is_output[node]))
            for place, node in where.items()
            if not given[node]
        )
        ends = _ends(part, len(places[0]), segment, has_letters=bool(letters))
    if letters:
        lost += _without_letters(game, {node: place for place, node in where.items()}, letters, helpers)
    count = total // segment
    left = {*nodes.tolist(), *owner, *(pair[0] for pair in helpers if part.get("lanes", False) is True)}
    computed = [node for node in nodes.tolist() if not given[node]]
    held = grid.most_held(game, computed, left - set(np.flatnonzero(given).tolist()), moved_nodes, least)
    moved = count * ends - sum(held[: count - 1]) - lost
    known = int(weights[nodes[given[nodes] | is_output[nodes]]].sum()) + int(weights[list(letters.values())].sum())
    return Proven(max(0, moved * least - known), moved_nodes)


def _places(part: Mapping[str, Any], count: int) -> list[Place]:
    given = part.get("places")
    if not isinstance(given, list) or len(given) != count:
        raise WrongError("places must be as many as nodes")
    axes = {len(place) if isinstance(place, list) else 0 for place in given}
    if axes not in ({2}, {3}):
        raise WrongError("places must be lists of two integers each, or of three")
    if any(type(at) is not int or abs(at) > _LARGEST for place in given for at in place):
        raise WrongError("places must be integers")
    return [tuple(place) for place in given]


def _owners(game: Game, part: Mapping[str, Any], nodes: IntArray) -> dict[int, int]:
    """Return which node of the table it is to read a node: itself, or the one that a link reads."""
    owner = {node: node for node in nodes.tolist()}
    for link, read in _pairs(game, part, "links"):
        if link in owner or owner.get(read) != read:
            raise WrongError(f"links: {game.id(link)} is there twice, or {game.id(read)} is not of the table")
        owner[link] = read
    for link, read in owner.items():
        if link != read and all(owner.get(operand) != read for operand in game.operands()[link]):
            raise WrongError(f"links: {game.id(link)} does not read {game.id(read)} or a link of it")
    return owner


def _pairs(game: Game, part: Mapping[str, Any], key: str) -> list[tuple[int, int]]:
    pairs = part.get(key, [])
    if not isinstance(pairs, list) or any(not isinstance(pair, list) or len(pair) != 2 for pair in pairs):
        raise WrongError(f"{key} must be pairs of a node and one of the table")
    return [(game.node(one), game.node(other)) for one, other in pairs]


def _letters(game: Game, part: Mapping[str, Any], axes: int) -> dict[tuple[int, int], int]:
    given = part.get("letters", [])
    if not isinstance(given, list) or any(not isinstance(letter, list) or len(letter) != 3 for letter in given):
        raise WrongError("letters must be lists of an axis, a place and a node")
    if given and axes != 2:
        raise WrongError("letters are those of two axes")
    found: dict[tuple[int, int], int] = {}
    for axis, place, value in given:
        if type(axis) is not int or type(place) is not int or axis not in (0, 1) or (axis, place) in found:
            raise WrongError("letters: each axis, 0 or 1, and place along it may be there once")
        found[axis, place] = game.node(value)
    return found


def _lost(game: Game, place: Place, where: Mapping[Place, int], owner: Mapping[int, int], *, is_output: bool) -> int:
    """Return how many of the steps before a place are not read, and one more if some step after it does not read it."""

    def are_read(before: Place, after: Place) -> bool:
        reader = where.get(after)
        if reader is None or before not in where:
            return False
        return any(owner.get(operand) == where[before] for operand in game.operands()[reader])

    steps = [tuple(int(index == axis) for index in range(len(place))) for axis in range(len(place))]
    befores = [tuple(at - by for at, by in zip(place, step, strict=True)) for step in steps]
    afters = [tuple(at + by for at, by in zip(place, step, strict=True)) for step in steps]
    is_left = is_output or all(are_read(place, after) for after in afters)
    return sum(not are_read(before, place) for before in befores) + (not is_left)


def _lost_on_lanes(
    game: Game, where: Mapping[Place, int], owner: Mapping[int, int], helpers: list[tuple[int, int]]
) -> int:
    """Return how often a computed place reads nothing on a lane or across, or is not read so."""
    operands, given = game.operands(), game.cdag.given
    helps = dict(helpers)

    def value(place: Place, step: Place) -> int | None:
        """Return the link of a lane by which a place reads the one a step before it."""
        node, before = where.get(place), where.get((place[0] - step[0], place[1] - step[1]))
        if node is None or before is None:
            return None
        found = (link for link in operands[node] if link != before and owner.get(link) == before)
        return min((link for link in found if before in operands[link]), default=None)

    def goes_on(place: Place, step: Place) -> bool:
        own, last = value(place, step), value((place[0] - step[0], place[1] - step[1]), step)
        return own is not None and last is not None and last in operands[own]

    def reads_across(place: Place, step: Place) -> bool:
        node, before = where.get(place), where.get((place[0] - step[0], place[1] - step[1]))
        if node is None or before is None:
            return False
        by = [u for u in operands[node] if helps.get(u) == node or (owner.get(u) == before and u not in lanes)]
        return before in operands[node] or any(before in operands[u] for u in by)

    axes = (1, 0), (0, 1)
    lanes = {value(place, step) for place in where for step in axes}
    ways = (*((step, goes_on) for step in axes), ((1, 1), reads_across))
    return sum(
        not is_read((place[0] + by * step[0], place[1] + by * step[1]), step)
        for place, node in where.items()
        if not given[node]
        for step, is_read in ways
        for by in (0, 1)
    )


def _ends_on_lanes(
    game: Game, segment: int, table: set[int], helpers: list[tuple[int, int]], *, has_letters: bool
) -> int:
    """Return how many values a segment reads and leaves at least on lanes and across, letters too."""
    is_helped = any(table.intersection(game.operands()[helper]) for helper, _ in helpers)
    if not (has_letters and is_helped):
        fewest = min(math.isqrt(48 * segment - 13) + 1, -(-4 * segment // 3) + 6, 2 * segment + 2)
        return fewest + has_letters * (math.isqrt(4 * segment - 1) + 1)
    found = []
    for across in range(1, 4 * math.isqrt(segment) + 6):
        left = max(0, segment - across)
        lines: float = 2 * (segment + across)
        if across == 3:
            lines = 4 * segment / 3 + 6
        elif across > 3:
            lines = (4 * segment - 1) / across + 3 * across
        found.append(math.ceil(lines - _ROUNDING) + min(left, 2 * math.sqrt(left)))
    return math.ceil(min(found) - _ROUNDING)


def _without_letters(
    game: Game,
    place: Mapping[int, Place],
    letters: Mapping[tuple[int, int], int],
    helpers: list[tuple[int, int]],
) -> int:
    """Return how many computed nodes do not read the letter of their place, by axis, all of them together."""
    operands = game.operands()
    read = {node: set(operands[node]) for node in place}
    for helper, node in helpers:
        if node not in place or helper not in operands[node]:
            raise WrongError(f"helpers: no node of the table reads {game.id(helper)} as said")
        read[node].update(operands[helper])
    return sum(
        letters.get((axis, at)) not in read[node]
        for node in place
        if not game.cdag.given[node]
        for axis, at in enumerate(place[node])
    )


def _ends(part: Mapping[str, Any], axes: int, segment: int, *, has_letters: bool) -> int:
    """Return how many values a segment reads and leaves at least, letters too."""
    if axes == 2:
        return math.isqrt(12 * segment - 4) + 1 + has_letters * (math.isqrt(4 * segment - 1) + 1)
    unit = whole(part, "unit", 1, segment)
    steps = -(-segment // unit)
    if steps**3 > _MOST_STEPS:
        raise WrongError("segment is too many units")
    return grid.least_ends(before(_FURTHER * steps * unit), _LARGEST, unit, steps, is_open=(False, False), space=True)


def before(most: int) -> IntArray:
    """Return how many places of a plane are one step before ``m`` others on one axis or at both, for 0..``most``.

    That is m + g with the least g of which g (g - 1) / 2 is m at least.

    >>> before(6).tolist()
    [0, 3, 5, 6, 8, 9, 10]
    """
    found = [0] + [count + (math.isqrt(8 * count - 7) + 3) // 2 for count in range(1, most + 1)]
    return np.array(found, dtype=np.int64)
