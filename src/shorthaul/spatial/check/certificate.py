"""The certificate of a bound on energy, verified: what it proves follows from the tree, the machine and its weights.

Shares no code with bounds. Let an edge of d hops have d - 1 to spare. The arguments with weights say of sets of edges
what they have to spare together at least, each edge as often as the set counts it. Weighed so that no edge counts more
than once, they say so of all edges; where one counts more often, all weights are lowered.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from shorthaul.core.check import Violation
from shorthaul.core.errors import InputError
from shorthaul.spatial.check.placing import least_is_above
from shorthaul.spatial.check.priced import priced_parts
from shorthaul.spatial.check.rooted import Rooted, WrongError, expect_vertices, expect_weighed
from shorthaul.spatial.model import Fabric, Grid, Load, Tree

_RULE: Final = "certificate"
#: What sums of weights may be off by, as a part of them and in hops.
_ROUNDING: Final = 1e-10
#: Arguments on grids, and those on machines.
_ON_GRIDS: Final = ("edges", "growth")
_ON_MACHINES: Final = ("cuts", "growth")
#: Hops that a vertex of a part reaches at most.
_MOST_REACH: Final = 64


@dataclass(frozen=True, slots=True)
class Ground:
    """Processors of a grid, of so many layers, which hold up to ``each`` vertices."""

    width: int
    height: int
    layers: int = 1
    each: int = 1


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
        cure = "write it anew with spatial bound --result; trees of more than 300,000 vertices have none"
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
    violations = []
    if value > proven and is_searched and isinstance(where, Grid):
        violations += _searched(tree, where, math.ceil(value) - 1, remarks)
    elif value > proven:
        message = "the bound is above what its certificate proves"
        violations.append(Violation(_RULE, "bound.value", message, float(value), float(proven)))
    if isinstance(where, Grid):
        violations += _others(tree, where, bound, remarks)
    return violations, remarks


def _searched(tree: Tree, grid: Grid, most: int, remarks: list[str]) -> list[Violation]:
    """Return what is wrong with the bound that no layout takes ``most`` hops, which is searched anew."""
    is_above = least_is_above(tree, grid, most)
    if is_above is False:
        return [Violation(_RULE, "bound.value", "a layout takes less than the bound", float(most + 1), float(most))]
    told = "verified by a search of its own" if is_above else "taken as it is, a search of its own did not end in time"
    remarks.append(f"exact {told}: no layout takes {most:,} hops")
    return []


def _others(tree: Tree, grid: Grid, bound: Mapping[str, Any], remarks: list[str]) -> list[Violation]:
    """Return what is wrong with the bounds on the longest edge and the link load beside the one on energy."""
    violations = []
    for name, proven in (("distance_hops", _longest(tree)), ("link_load", _busiest(tree, grid))):
        value = bound.get(name)
        if value is None:
            continue
        if type(value) is not int:
            raise InputError("must be a whole number", place=f"bound.{name}", value=value)
        remarks.append(f"{name} verified: {proven:,} of the {value:,} stated")
        if value > proven:
            message = "the bound is above what the tree proves"
            violations.append(Violation(_RULE, f"bound.{name}", message, float(value), float(proven)))
    return violations


def _longest(tree: Tree) -> int:
    """Return the least length of the longest edge for which all within some edges of a vertex have room around it."""
    rooted = Rooted(tree)
    balls = [(1, len(kids) + 1 + (above >= 0)) for kids, above in zip(rooted.kids, rooted.parent, strict=True)]
    if len(tree.roots()) == 1:
        held = 0
        for edges, level in enumerate(rooted.levels_below(rooted.order[0])):
            held += len(level)
            balls.append((edges, held))
    hops = int(bool((tree.parent >= 0).any()))
    for edges, held in balls:
        while edges > 0 and 2 * (hops * edges) * (hops * edges + 1) + 1 < held:
            hops += 1
    return hops


def _busiest(tree: Tree, grid: Grid) -> int:
    """Return how many messages to the children of a vertex share a link at least; they go along its row first.

    They leave by at most four links; those to other columns by the two along its row; and those to the side of more
    columns by one.
    """
    most = max(len(kids) for kids in Rooted(tree).kids)
    along_row, along_column = min(2, grid.width - 1), min(2, grid.height - 1)
    free = grid.width * grid.height - 1 - most  # processors without a child
    to_others = max(0, most - (grid.height - 1))
    one_side = max(0, (grid.width // 2) * grid.height - free)
    shared = ((most, along_row + along_column), (to_others, along_row), (one_side, 1))
    return max(-(-messages // links) if messages > 0 and links > 0 else 0 for messages, links in shared)


def _proven(kind: str, tree: Tree, where: Grid | Room, given: Mapping[str, Any]) -> int:
    """Return what a certificate proves; raises :class:`WrongError`."""
    if kind == "cuts" and isinstance(where, Room):
        return _pieces(tree, where)
    edges = int((tree.parent >= 0).sum())
    if kind == "edges":
        return edges
    if isinstance(where, Room):
        # A layout on rings is one without, each child beside its parent on the shortest way, of no more hops.
        fabric, layers = where.fabric, 1 if where.fabric.layers == 1 else 2 * where.fabric.layers
        ground = Ground(2 * fabric.width, 2 * fabric.height, layers, where.most)
        first, times = _pieces(tree, where), min(_lightest(tree, where), default=0)
    else:
        ground, first, times = Ground(where.width, where.height), edges, 1
    parts, left = (0.0, tree) if isinstance(where, Room) else priced_parts(tree, given)
    hubs, left = _hubs(left, ground, given)
    return first + times * _growth(Rooted(left, expect_vertices(given, "roots", tree.n)), ground, given, parts + hubs)


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


def _hubs(tree: Tree, grid: Ground, given: Mapping[str, Any]) -> tuple[float, Tree]:
    """Return what the edges above the vertices near hubs have to spare, and the trees without these edges.

    The vertices kept around a hub need room. Of the ways to them from there no edge is on more than ``cap``.
    """
    listed, found, left = given.get("hubs", []), 0.0, tree.parent.copy()
    if not isinstance(listed, list) or any(not isinstance(hub, list) or len(hub) != 3 for hub in listed):
        raise WrongError("hubs", "must be a list of vertices, caps and those kept")
    near: list[list[int]] = [[] for _ in range(tree.n)]
    for v, above in enumerate(tree.parent.tolist()):
        if above >= 0:
            near[v].append(above)
            near[above].append(v)
    for top, cap, listed_kept in listed:
        expect_vertices({"hubs": [top]}, "hubs", tree.n)
        kept, order, way = set(expect_vertices({"hubs": listed_kept}, "hubs", tree.n)), [top], {top: (-1, 0)}
        for v in order:
            beside = [u for u in near[v] if u in kept and u not in way]
            way.update((u, (v, way[v][1] + 1)) for u in beside)
            order += beside
        if len(order) != len(kept) + 1 or type(cap) is not int or cap < 1:
            raise WrongError("hubs", f"vertex {top} must have a cap, and vertices around it that are joined to it")
        below = dict.fromkeys(order, 0)
        for v in order[:0:-1]:
            above, below[v] = way[v][0], below[v] + 1
            below[above] += below[v]
            child = v if tree.parent[v] == above else above
            if left[child] != v + above - child or below[v] > cap:
                raise WrongError("hubs", f"the edge of vertices {v} and {above} counts too often")
            left[child] = -1
        levels = sum(level for _, level in way.values())
        found += max(0, _least_sums(grid, len(order))[-1] - levels) / cap
    return found, Tree(left)


def _growth(rooted: Rooted, grid: Ground, given: Mapping[str, Any], hubs: float) -> int:
    """Return what the edges have to spare, since vertices below one need room around it, and stars and parts do.

    What parts with prices and ``hubs`` prove of other edges is added.
    """
    n = len(rooted.parent)
    sums, longer = (expect_weighed(given, key, n) for key in ("sums", "longer"))
    least = _least_sums(grid, max(rooted.size))
    excess = [least[size - 1] - below for size, below in zip(rooted.size, rooted.depths, strict=True)]
    room = _of_one_colour(grid, max((rooted.size[v] for v in longer), default=0))
    load, rest, borne = [0.0] * n, [0.0] * n, [0.0] * n
    gain = 0.0
    for v in rooted.order:
        above = rooted.parent[v]
        if above >= 0:  # every way to a vertex at or below v uses the edge above v, and of a long edge so does one
            load[v], rest[v] = load[above] + sums.get(above, 0.0), rest[above] + longer.get(above, 0.0)
            borne[v] = load[v] * rooted.size[v] + rest[v]
        if v in longer and rest[v] > 0:
            raise WrongError("longer", f"vertex {v} is below another one")
        if v in longer and excess[v] <= 0 and not _is_crowded(rooted, v, room):
            raise WrongError("longer", f"below vertex {v} all edges may be one hop long")
        gain += sums.get(v, 0.0) * max(0, excess[v]) + longer.get(v, 0.0)
    layers = given.get("layers")
    if not isinstance(layers, list) or not all(isinstance(layer, Mapping) for layer in layers):
        raise WrongError("layers", "must be a list of objects")
    for layer in layers:
        share = _shares(rooted, layer)
        added, more = _weighed_parts(rooted, grid, layer, share)
        gain, borne = gain + added, [one + other for one, other in zip(borne, more, strict=True)]
    most = max(1.0, *borne)
    gain += sum(_beside(rooted, grid, expect_vertices(given, "upward", n), borne, most))
    return max(0, math.ceil((hubs + gain / (most * (1 + _ROUNDING))) * (1 - _ROUNDING) - _ROUNDING))


def _shares(rooted: Rooted, layer: Mapping[str, Any]) -> list[float]:
    """Return how many times what is said of the subtree that a vertex is in counts; of none in another one."""
    tops = expect_weighed(layer, "shares", len(rooted.parent))
    share = [0.0] * len(rooted.parent)
    for v in rooted.order:
        share[v] = share[rooted.parent[v]] if rooted.parent[v] >= 0 else 0.0
        if v in tops and share[v] > 0:
            raise WrongError("layers.shares", f"vertex {v} is below another one")
        share[v] = tops.get(v, share[v])
    return share


def _least_sums(grid: Ground, count: int) -> list[int]:
    """Return how far the nearest 0, 1, ..., count - 1 others are from a vertex in the middle, together."""
    sums, before, hops = [0] * min(grid.each, count), 1, 0
    while len(sums) < count:
        hops += 1
        within = _within(grid, hops)
        if within == before:
            raise WrongError("sums", "the grid has fewer processors than the tree has vertices")
        for _ in range(min(grid.each * (within - before), count - len(sums))):
            sums.append(sums[-1] + hops)
        before = within
    return sums


def _within(grid: Ground, hops: int) -> int:
    """Return how many processors are within so many hops of one in the middle, itself among them."""
    few, many = sorted((grid.width, grid.height))
    left = [hops - abs(up) for up in _steps(grid.layers, hops)]
    return sum(_on_line(many, rest - abs(step)) for rest in left for step in _steps(few, rest))


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


def _of_one_colour(grid: Ground, count: int) -> list[int]:
    """Return how many processors are t, t - 2, ... hops from one at most, by t, up to ``count`` or all there are."""
    room: list[int] = []
    ways = ((grid.width, grid.height), (grid.height, grid.width))
    while len(room) <= grid.width + grid.height and (not room or room[-1] < count):
        t = len(room)
        if grid.each * grid.layers > 1:  # edges of no hops lead to other colours, too
            room.append(grid.each * _within(grid, t))
            continue
        room.append(
            min(sum(min(t - abs(step) + 1, (along + 1) // 2) for step in _steps(across, t)) for along, across in ways)
        )
    return room


def _weighed_parts(
    rooted: Rooted, grid: Ground, given: Mapping[str, Any], share: Sequence[float]
) -> tuple[float, list[float]]:
    """Return what parts and stars prove, each vertex so many times, and how often that counts the edge above each."""
    n = len(rooted.parent)
    parts = _parts(rooted, given)
    if grid.layers > 1 and max(parts.reach) >= 0:
        raise WrongError("tops", "are for machines of one layer")
    upward = expect_vertices(given, "upward", n)
    gains, load = _of_parts(rooted, grid, parts, expect_weighed(given, "weights", n), set(upward))
    if any(above >= 0 and share[above] != share[v] for v, above in enumerate(parts.above)):
        raise WrongError("tops", "a part is in two subtrees")
    most = max(1.0, *load)
    stars, is_upward = _beside(rooted, grid, upward, load, most), set(upward)
    borne = [one * times for one, times in zip(load, share, strict=True)]
    for v, above in enumerate(rooted.parent):
        owner = v if v in is_upward else above
        if above >= 0 and stars[owner] > 0:
            borne[v] += share[owner] * (most - load[v])
    gain = sum((one + star) * times for one, star, times in zip(gains, stars, share, strict=True))
    return gain / most, [one / most for one in borne]


def _beside(rooted: Rooted, grid: Ground, upward: Sequence[int], load: Sequence[float], most: float) -> list[float]:
    """Return what the star of every vertex proves by what is left of its edges, which count ``most`` times at most.

    The j edges with most left have as much to spare as j leaves need, and so for every j; weighed so that each edge
    counts as often as it may.
    """
    is_upward, edges = set(upward), [list[float]() for _ in rooted.parent]
    for v, above in enumerate(rooted.parent):
        if above >= 0:
            edges[v if v in is_upward else above].append(most - load[v])
        elif v in is_upward:
            raise WrongError("upward", f"vertex {v} has no parent")
    far = _least_sums(grid, max(map(len, edges)) + 1)
    more = [max(0, after - before - 1) for before, after in itertools.pairwise(far)]
    return [sum(map(operator.mul, more, sorted(left, reverse=True))) for left in edges]


@dataclass(frozen=True, slots=True)
class Parts:
    """Connected parts of a tree: how far every vertex reaches, -1 in none, and its children in the same part."""

    reach: list[int]
    kids: list[list[int]]
    above: list[int]  # the parent in the same part, -1 for none


def _parts(rooted: Rooted, given: Mapping[str, Any]) -> Parts:
    """Return the parts of the tree that begin at ``tops``.

    Those not listed reach one hop less than their parents, at most as far as there are levels below them.
    """
    n = len(rooted.parent)
    tops, listed = (_listed(given, key, n) for key in ("tops", "reaches"))
    parts = Parts([-1] * n, [[] for _ in range(n)], [-1] * n)
    for v in rooted.order:
        above = rooted.parent[v]
        a = parts.reach[above] if above >= 0 else -1
        key, most = ("tops", _MOST_REACH) if v in tops else ("reaches", a + (a >= 0))
        own = (tops if v in tops else listed).get(v, min(a - 1, rooted.height[v]) if a > 0 else -1)
        if not -1 <= own <= min(most, rooted.height[v]):
            raise WrongError(key, f"vertex {v} must have one from -1 to {min(most, rooted.height[v])}")
        parts.reach[v] = own
        if v not in tops and own >= 0:
            parts.kids[above].append(v)
            parts.above[v] = above
    return parts


def _listed(given: Mapping[str, Any], key: str, n: int) -> dict[int, int]:
    """Return the reaches of vertices; raises :class:`WrongError` if they are not such."""
    rows = given.get(key)
    if not isinstance(rows, list) or any(not isinstance(row, list) or len(row) != 2 for row in rows):
        raise WrongError(key, "must be a list of vertices and their reaches")
    vertices = expect_vertices({key: [row[0] for row in rows]}, key, n)
    if any(type(row[1]) is not int for row in rows):
        raise WrongError(key, "must hold whole numbers of hops")
    return dict(zip(vertices, (row[1] for row in rows), strict=True))


def _of_parts(
    rooted: Rooted, grid: Ground, parts: Parts, weight: Mapping[int, float], upward: set[int]
) -> tuple[list[float], list[float]]:
    """Return how many vertices, weighed, find no room where no edge has anything to spare, and the loads.

    The first are counted by vertex: their sums over parts are what counts.

    A vertex reaches 2 a^2 + 2 a + 1 cells; a child that is d hops away and reaches b of them adds at most
    (2 b + 1) (d - 1) cells where b is less than a, a row of 2 a + 1 and (2 a - 1) (d - 1) where it is a,
    and a ring of 4 (a + 1) and (2 a + 1) (d - 1) where it is a + 1. Children in the star of a vertex overlap. What is
    below a vertex in its part has its weight.
    """
    gain, load, borne = ([0.0] * len(parts.reach) for _ in range(3))
    for v in rooted.order:
        own, a = weight.get(v, 0.0), parts.reach[v]
        if a < 0:
            if own > 0:
                raise WrongError("weights", f"vertex {v} is in no part")
            continue
        borne[v] += own
        gain[v] += borne[v] / grid.each
        if own > 0:
            gain[v] -= own * _within(grid, a)
        for kid in parts.kids[v]:
            borne[kid], b = borne[v], parts.reach[kid]
            load[kid] = borne[v] * (2 * b + 1 if b < a else max(2 * a - 1, 0) if b == a else 2 * a + 1)
            gain[v] -= borne[v] * (0 if b < a else 2 * a + 1 if b == a else 4 * (a + 1))
        fan = [kid for kid in rooted.kids[v] if kid not in upward]
        hops, cells = _of_fan(grid, len(fan), a)
        if (2 * a - 1) * hops > cells and all(parts.reach[kid] <= a for kid in fan if parts.above[kid] >= 0):
            as_far = sum(parts.reach[kid] == a for kid in fan if parts.above[kid] >= 0)
            is_row = as_far > 0 and borne[v] * (2 * a + 1) <= 1 + _ROUNDING
            bears = 2 * a + 1 if is_row else 2 * a - 1
            gain[v] += borne[v] * (bears * hops - cells - (0 if is_row else 2 * a - 1) * as_far)
            for kid in fan:
                load[kid] = borne[v] * bears
    return gain, load


def _of_fan(grid: Ground, fan: int, a: int) -> tuple[int, int]:
    """Return how many hops beyond one each the children in a star take, and the cells that they add with those.

    With a reach of a - 1 they add what is within a - 2 hops of their r full rings around a vertex of reach a, and of
    those one hop farther what is near the children of the last ring: 2 a - 1 of the four on its corners, a of others.
    Hops more than that count as they do alone, and so does a child of the reach a: it adds a row, where hops bear
    2 a + 1, or else a ring. Where the grid is too narrow for the rings, nothing is said.
    """
    ring, left, hops = 1, fan + 1 - 5 * grid.each, 0
    while left > 4 * (ring + 1) * grid.each:
        ring, left = ring + 1, left - 4 * (ring + 1) * grid.each
        hops += 4 * ring * (ring - 1) * grid.each
    if left <= 0 or a == 0 or 2 * (ring + 1) >= min(grid.width, grid.height):
        return 0, 0
    near = min(4 * (ring + a), min(left, 4) * (2 * a - 1) + max(left - 4, 0) * a)
    return hops + ring * left, near + sum(4 * step for step in range(a + 1, ring + a))
