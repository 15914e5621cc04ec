"""The certificate of a bound on energy, verified: what it proves follows from the tree, the machine and its weights.

Shares no code with bounds. Let an edge of d hops have d - 1 to spare. The arguments with weights say of sets of edges
what they have to spare together at least, each edge as often as the set counts it. Weighed so that no edge counts more
than once, they say so of all edges; where one counts more often, all weights are lowered.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from shorthaul.core.check import Violation
from shorthaul.core.errors import InputError
from shorthaul.spatial.check.rooted import Rooted, WrongError, expect_vertices, expect_weighed
from shorthaul.spatial.model import Fabric, Grid, Load, Tree

Numbers = npt.NDArray[np.int64]
Weights = npt.NDArray[np.float64]

_RULE: Final = "certificate"
#: What sums of weights may be off by, as a part of them and in hops.
_ROUNDING: Final = 1e-9
#: Arguments on grids, and those on machines.
_ON_GRIDS: Final = ("edges", "stars", "cuts", "growth", "volume")
_ON_MACHINES: Final = ("stars", "cuts")
#: Levels of a ball at most.
_MOST_LEVELS: Final = 64


@dataclass(frozen=True, slots=True)
class Room:
    """A machine with room for ``most`` vertices on every processor, and what the tree puts on it."""

    fabric: Fabric
    load: Load
    most: int


def verify(tree: Tree, bound: Mapping[str, Any], where: Grid | Room) -> tuple[list[Violation], list[str]]:
    """Return what is wrong with the certificate in the ``bound`` object of a result document, and what was verified.

    Raises
    ------
    InputError
        If the object holds no certificate of a bound on the energy of layouts.
    """
    given, value = bound.get("certificate"), bound.get("value")
    if not isinstance(given, Mapping):
        cure = "write it anew with spatial bound --result; trees of more than 100,000 vertices have none"
        raise InputError("holds no certificate", place="bound.certificate", cure=cure)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError("must be a number", place="bound.value", value=value)
    if bound.get("of") != "energy_hops":
        raise InputError("is not verified", place="bound.of", value=bound.get("of"), allowed="energy_hops")
    kind, method = given.get("kind"), bound.get("method")
    arguments = _ON_MACHINES if isinstance(where, Room) else _ON_GRIDS
    if not isinstance(kind, str) or kind not in arguments:
        allowed = ", ".join(arguments)
        raise InputError("is of an unknown kind", place="bound.certificate.kind", value=kind, allowed=allowed)
    is_searched = method == "exact" and not isinstance(where, Room)
    if method != kind and not is_searched:
        raise InputError("is not what the certificate shows", place="bound.method", value=method, allowed=kind)
    try:
        proven = _proven(kind, tree, where, given)
    except WrongError as error:
        return [Violation(_RULE, f"bound.certificate.{error.place}", error.problem)], []
    remarks = [f"{kind} verified: energy_hops {proven:,} of the {value:,} stated"]
    if value > proven and is_searched:
        remarks.append("exact: the search behind the rest has no certificate, it is taken as it is")
    elif value > proven:
        message = "the bound is above what its certificate proves"
        return [Violation(_RULE, "bound.value", message, float(value), float(proven))], remarks
    return [], remarks


def _proven(kind: str, tree: Tree, where: Grid | Room, given: Mapping[str, Any]) -> int:
    """Return what a certificate proves; raises :class:`WrongError`."""
    if kind == "stars":
        return _stars(tree, where, given)
    if isinstance(where, Room):
        return _pieces(tree, where)
    if kind == "cuts":
        return _cuts(tree, where)
    edges = int((tree.parent >= 0).sum())
    if kind == "edges":
        return edges
    rooted = Rooted(tree, expect_vertices(given, "roots", tree.n))
    return edges + (_growth(rooted, where, given) if kind == "growth" else _volume(rooted, where, given))


def _stars(tree: Tree, where: Grid | Room, given: Mapping[str, Any]) -> int:
    """Return what the leaves of all stars take together, every edge in the star of one of its ends."""
    most, layers, least = 1, 1, 1
    if isinstance(where, Room):
        most, layers = where.most, where.fabric.layers
        least = _lightest(tree, where)[0] if (tree.parent >= 0).any() else 0
    leaves = _leaves(tree.parent, expect_vertices(given, "upward", tree.n))
    far = _distances(most, layers, int(leaves.max()))
    return least * sum(far[int(count)] for count in leaves)


def _leaves(parent: npt.NDArray[np.int32], upward: Sequence[int]) -> Numbers:
    """Return how many edges are in the star of every vertex."""
    is_upward = np.zeros(len(parent), np.bool_)
    is_upward[list(upward)] = True
    if (is_upward & (parent < 0)).any():
        raise WrongError("upward", f"vertex {int(np.flatnonzero(is_upward & (parent < 0))[0])} has no parent")
    down = parent[(parent >= 0) & ~is_upward]
    return np.bincount(down, minlength=len(parent)) + is_upward


def _distances(most: int, layers: int, leaves: int) -> list[int]:
    """Return how far 0, 1, ... leaves are from their centre together: 4k processors are k hops away, or 4k^2 + 2."""
    found, total, hops, free = [0], 0, 0, most - 1
    while len(found) <= leaves:
        if free == 0:
            hops += 1
            free = most * (4 * hops if layers == 1 else 4 * hops * hops + 2)
        total, free = total + hops, free - 1
        found.append(total)
    return found


def _cuts(tree: Tree, where: Grid) -> int:
    """Return by how many edges all lines across the grid are crossed, found anew from the sizes of subtrees."""
    if len(tree.roots()) > 1:
        return 0
    rooted = Rooted(tree)
    smaller = (min(size, tree.n - size) for v, size in enumerate(rooted.size) if rooted.parent[v] >= 0)
    apart = sorted(smaller, reverse=True)
    found, least = 0, 1
    for size in apart:  # lines with ``least`` vertices or more on both sides are crossed once more
        span = tree.n - 2 * least + 1
        if span <= 0:
            break
        found += span // where.height + span // where.width
        least += size
    return found


def _lightest(tree: Tree, where: Room) -> list[int]:
    return sorted(where.load.weight[tree.parent >= 0].tolist())


def _pieces(tree: Tree, where: Room) -> int:
    """Return what the edges take that have to go so that every piece of the tree has room on a processor."""
    rooted = Rooted(tree)
    cuts = max(
        _needed(rooted, [1] * tree.n, where.most), _needed(rooted, where.load.bytes.tolist(), where.fabric.memory_bytes)
    )
    return sum(_lightest(tree, where)[:cuts])


def _needed(rooted: Rooted, weight: list[int], most: int) -> int:
    """Return how many edges go if, from the leaves up, the heaviest pieces below a vertex go until the rest fits."""
    piece, cuts = list(weight), 0
    for v in reversed(rooted.order):
        pieces = sorted(piece[kid] for kid in rooted.kids[v])
        piece[v] += sum(pieces)
        while pieces and piece[v] > most:
            piece[v] -= pieces.pop()
            cuts += 1
    return cuts


def _growth(rooted: Rooted, grid: Grid, given: Mapping[str, Any]) -> int:
    """Return what the edges have to spare, since vertices below one need room around it."""
    n = len(rooted.parent)
    sums, longer = (expect_weighed(given, key, n) for key in ("sums", "longer"))
    least = _least_sums(grid, max(rooted.size))
    excess = [least[size - 1] - below for size, below in zip(rooted.size, rooted.depths, strict=True)]
    room = _of_one_colour(grid, max((rooted.size[v] for v in longer), default=0))
    load, rest = [0.0] * n, [0.0] * n
    gain = most = 0.0
    for v in rooted.order:
        above = rooted.parent[v]
        if above >= 0:  # every way to a vertex at or below v uses the edge above v, and of a long edge so does one
            load[v], rest[v] = load[above] + sums.get(above, 0.0), rest[above] + longer.get(above, 0.0)
            most = max(most, load[v] * rooted.size[v] + rest[v])
        if v in longer and rest[v] > 0:
            raise WrongError("longer", f"vertex {v} is below another one")
        if v in longer and excess[v] <= 0 and not _is_crowded(rooted, v, room):
            raise WrongError("longer", f"below vertex {v} all edges may be one hop long")
        gain += sums.get(v, 0.0) * max(0, excess[v]) + longer.get(v, 0.0)
    return _spared(gain, most)


def _spared(gain: float, most: float) -> int:
    """Return how many hops weights prove that add up to ``gain``, where an edge counts ``most`` times."""
    return max(0, math.ceil(gain * (1 - _ROUNDING) / max(1.0, most * (1 + _ROUNDING)) - _ROUNDING))


def _least_sums(grid: Grid, count: int) -> list[int]:
    """Return how far the nearest 0, 1, ..., count - 1 processors are from one in the middle, together."""
    sums, before, hops = [0], 1, 0
    while len(sums) < count:
        hops += 1
        within = _within(grid, hops)
        if within == before:
            raise WrongError("sums", "the grid has fewer processors than the tree has vertices")
        for _ in range(min(within - before, count - len(sums))):
            sums.append(sums[-1] + hops)
        before = within
    return sums


def _within(grid: Grid, hops: int) -> int:
    """Return how many processors are within so many hops of one in the middle, itself among them."""
    few, many = sorted((grid.width, grid.height))
    return sum(_on_line(many, hops - abs(step)) for step in _steps(few, hops))


def _steps(side: int, hops: int) -> Iterator[int]:
    """Yield how far the lines are from the middle one of ``side``, as far as so many hops lead."""
    middle = (side - 1) // 2
    yield from range(-min(middle, hops), min(side - 1 - middle, hops) + 1)


def _on_line(side: int, hops: int) -> int:
    """Return how many places of a line of ``side`` are within so many hops of the middle one."""
    middle = (side - 1) // 2
    return min(middle, hops) + min(side - 1 - middle, hops) + 1


def _is_crowded(rooted: Rooted, v: int, room: list[int]) -> bool:
    """Whether more vertices are t, t - 2, ... levels below v than processors are that many hops from one."""
    counted = [0, 0]
    for t, level in enumerate(rooted.levels_below(v)):
        counted[t % 2] += len(level)
        most = room[min(t, len(room) - 1)]
        if counted[t % 2] > most:
            return True
        if most >= rooted.size[v]:
            break
    return False


def _of_one_colour(grid: Grid, count: int) -> list[int]:
    """Return how many processors are t, t - 2, ... hops from one at most, by t, up to ``count`` or all there are."""
    room: list[int] = []
    ways = ((grid.width, grid.height), (grid.height, grid.width))
    while len(room) <= grid.width + grid.height and (not room or room[-1] < count):
        t = len(room)
        room.append(
            min(sum(min(t - abs(step) + 1, (along + 1) // 2) for step in _steps(across, t)) for along, across in ways)
        )
    return room


def _volume(rooted: Rooted, grid: Grid, given: Mapping[str, Any]) -> int:
    """Return what the edges have to spare, since balls of the tree need room within their reach."""
    n = len(rooted.parent)
    vertex, levels, weight = _balls(given, n)
    is_held = np.zeros(n, np.bool_)
    excess, load = _of_balls(rooted, grid, vertex, levels, weight)
    parent = np.array(rooted.parent, np.int32)
    upward = expect_vertices(given, "upward", n)
    leaves = _leaves(parent, upward)
    is_held[list(upward)] = True
    most = max(1.0, float(load.max(initial=0.0)))
    owner = np.where(is_held, np.arange(n), parent)
    is_edge = parent >= 0
    held = np.zeros(n)
    np.maximum.at(held, owner[is_edge], load[is_edge])
    far = np.array(_distances(1, 1, int(leaves.max())))
    spared = far[leaves] - leaves  # of each star, of what its edges can bear beside the balls
    gain = float((weight * np.maximum(0, excess)).sum() + (spared * np.maximum(0.0, most - held)).sum())
    return _spared(gain, most)


def _balls(given: Mapping[str, Any], n: int) -> tuple[Numbers, Numbers, Weights]:
    """Return vertex, levels and weight of all balls."""
    rows = given.get("balls")
    if not isinstance(rows, list):
        raise WrongError("balls", "must be a list of vertex, levels and weight")
    for at, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != 3 or type(row[1]) is not int or not 1 <= row[1] <= _MOST_LEVELS:
            raise WrongError(f"balls[{at}]", f"must be a vertex, levels from 1 to {_MOST_LEVELS} and a weight")
    weight = expect_weighed({"balls": [[row[0], row[2]] for row in rows]}, "balls", n)
    levels = [row[1] for row in rows]
    return np.array(list(weight), np.int64), np.array(levels, np.int64), np.array(list(weight.values()))


def _of_balls(rooted: Rooted, grid: Grid, vertex: Numbers, levels: Numbers, weight: Weights) -> tuple[Numbers, Weights]:
    """Return how many vertices of each ball find no room where no edge has anything to spare, and the load of edges.

    The vertices at most t levels below v reach the 2 t^2 + 2 t + 1 cells within t hops; by an edge of d hops whose
    lower end has b levels of the ball below it, (2 b + 1) (d - 1) more at most.
    """
    height, load = np.array(rooted.height), np.zeros(len(rooted.parent))
    if (levels > height[vertex]).any():
        raise WrongError("balls", f"vertex {int(vertex[levels > height[vertex]][0])} has fewer levels below it")
    held = np.ones(len(vertex), np.int64)
    tall, missed = np.zeros(len(vertex), np.int64), np.zeros(len(vertex), np.int64)
    ball, at = np.arange(len(vertex)), vertex
    for depth in range(1, int(levels.max(initial=0)) + 1):
        before = ball
        source, at = rooted.kids_of(at)
        ball = ball[source]
        inside = levels[ball] >= depth
        source, ball, at = source[inside], ball[inside], at[inside]
        held += np.bincount(ball, minlength=len(vertex))
        below = np.minimum(levels[ball] - depth, height[at])
        load += np.bincount(at, weights=weight[ball] * (2 * below + 1), minlength=len(load))
        is_tall = height[at] >= levels[ball] - depth - 1  # some vertex below it can be at the rim, or next to it
        if depth == 1:
            tall, tall_kid = np.bincount(ball[is_tall], minlength=len(vertex)), is_tall
        if depth == 2:
            kids = np.bincount(source[is_tall], minlength=len(before))
            lacking = 2 * np.maximum(0, 3 - kids)
            missed = np.bincount(before[tall_kid], weights=lacking[tall_kid], minlength=len(vertex)).astype(np.int64)
    two = np.minimum(2 * levels + 1, 4 + np.where(levels > 3, missed, 0))
    never = np.select([levels < 2, tall > 3, tall == 3, tall == 2], [0, 0, 2, two], 4 * levels)
    within = {t: _within(grid, t) for t in set(levels.tolist())}
    room = np.array([within[t] for t in levels.tolist()], np.int64)
    return held - np.minimum(room, 2 * levels * (levels + 1) + 1 - never), load
