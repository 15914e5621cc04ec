"""The concrete order of an upper bound: instances phase by phase, tile by tile."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from shorthaul.affine.orders.borders.held import BorderedStep
from shorthaul.affine.orders.boxes.clusters import ClusteredStep
from shorthaul.affine.orders.boxes.fixed import FixedStep
from shorthaul.affine.orders.boxes.steps import Box, BoxStep, WholeStep
from shorthaul.affine.orders.memories.nested import NestedStep
from shorthaul.affine.orders.panel_policy import PanelStep
from shorthaul.affine.orders.pieces.passed import PassedStep
from shorthaul.affine.orders.placement import Row
from shorthaul.affine.orders.splitting import Split
from shorthaul.affine.orders.tile_policy import Phase
from shorthaul.affine.orders.tile_steps import Step
from shorthaul.affine.orders.turns import TurnsStep
from shorthaul.affine.orders.upper_bound import AnyStep, UpperBound
from shorthaul.affine.replay.cdag import ConcreteCdag
from shorthaul.affine.replay.panel_order import panel_keys, step_keys, tile_keys
from shorthaul.affine.tuning import MOST_ORIGINS, REPLAYED_PER_EFFORT
from shorthaul.core.search import Search
from shorthaul.graphs.replay import belady_loads

IntArray = npt.NDArray[np.int64]
_HOLDS: Final = {"=": np.equal, "!=": np.not_equal, "<": np.less, ">": np.greater}


def tiled_order(
    bound: UpperBound, cdag: ConcreteCdag, sizes: Mapping[str, int], origin: Sequence[int] = ()
) -> IntArray:
    """Return the computed vertices in the order of ``bound``, shape (computed vertices,).

    ``sizes`` has every parameter and S; ``origin`` shifts the tile grid, by its k-th entry in the k-th tiled coordinate
    of every phase, and the k-th grid of tiles within tiles (0 where there is none).
    """
    first = len(cdag.names) - len(bound.program.statements)
    parts = [_phase_order(item, cdag, first, sizes, origin) for item in bound.steps]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def _phase_order(
    step: AnyStep, cdag: ConcreteCdag, first: int, sizes: Mapping[str, int], origin: Sequence[int]
) -> IntArray:
    if isinstance(step, FixedStep):
        return _phase_order(step.step, cdag, first, {**sizes, "S": step.capacity}, origin)
    if isinstance(step, PassedStep):
        parts = []
        for item in step.boxes:
            vertices, places = _members(item, step.parts, cdag, first, sizes)
            parts.append(vertices[np.lexsort((vertices, *reversed(_keys(item, places, sizes, origin))))])
        return np.concatenate(parts)
    owners = [cdag.names.index(name, first) for name in step.names]
    vertices = np.flatnonzero(np.isin(cdag.owner, owners))
    if isinstance(step, TurnsStep):
        if step.pays(_parameters(sizes), sizes["S"]):
            return _turns_order(step, cdag, first, sizes, origin)
        step = step.plain
    if step.phase is None or not len(vertices):
        return vertices
    members = dict(zip(step.names, owners, strict=True))
    places = np.zeros((len(vertices), len(step.phase.placement[step.names[0]])), dtype=np.int64)
    for name, owner in members.items():
        mine = cdag.owner[vertices] == owner
        places[mine] = _places(step.phase, name, cdag.coordinates[vertices[mine]], sizes)
    keys = _keys(step, places, sizes, origin)
    return vertices[np.lexsort((vertices, *reversed(keys)))]


def _places(phase: Phase, name: str, points: IntArray, sizes: Mapping[str, int]) -> IntArray:
    """Return where instances of the statement ``name``, at ``points``, are placed, shape (points, coordinates)."""
    rows = phase.placement[name]
    return np.column_stack([_values(row, points[:, : len(row.factors)], sizes) for row in rows])


def _turns_order(
    step: TurnsStep, cdag: ConcreteCdag, first: int, sizes: Mapping[str, int], origin: Sequence[int]
) -> IntArray:
    """Return the instances step by step of the outer loop, in every step group by group."""
    found: list[tuple[IntArray, list[IntArray]]] = []
    for turn, (group, delay) in enumerate(zip(step.groups, step.delays, strict=True)):
        vertices, where = _members(group, step.parts, cdag, first, sizes)
        keys = [where[:, 0] + delay, np.full(len(where), turn), *_keys(group, where, sizes, origin)]
        found.append((vertices, keys))
    width = max(len(keys) for _, keys in found)
    columns = [np.column_stack([*keys, *[np.zeros_like(keys[0])] * (width - len(keys))]) for _, keys in found]
    every = np.concatenate([vertices for vertices, _ in found])
    return every[np.lexsort((every, *reversed(np.concatenate(columns).T)))]


def _members(
    step: Step | BoxStep, parts: Split, cdag: ConcreteCdag, first: int, sizes: Mapping[str, int]
) -> tuple[IntArray, IntArray]:
    """Return the vertices of a step in pieces of statements, and where they are placed."""
    assert step.phase is not None
    vertices, places = [], []
    for name in step.names:
        piece = parts.pieces.get(name)
        owner = cdag.names.index(name if piece is None else piece.statement, first)
        mine = np.flatnonzero(cdag.owner == owner)
        if piece is not None and piece.half is not None:
            mine = mine[cdag.coordinates[mine, 0] % 2 == piece.half]
        points = cdag.coordinates[mine]
        if piece is not None and piece.half is not None:
            points[:, 0] //= 2
        if piece is not None and piece.block is not None:
            points = np.column_stack([points[:, 0] // piece.block, points[:, 0] % piece.block, points[:, 1:]])
        for row, sign in () if piece is None else piece.where:
            inside = _HOLDS[sign](_values(row, points[:, : len(row.factors)], sizes), 0)
            mine, points = mine[inside], points[inside]
        vertices.append(mine)
        places.append(_places(step.phase, name, points, sizes))
    return np.concatenate(vertices), np.concatenate(places)


def _box_keys(box: Box, places: IntArray) -> list[IntArray]:
    """Return what instances are sorted by in boxes."""
    moved = places - np.array(box.first, dtype=np.int64)
    return [moved[:, at] // edge for at, edge in zip(box.loops, box.edges, strict=True)]


def _keys(
    step: Step | PanelStep | BoxStep | BorderedStep | NestedStep,
    places: IntArray,
    sizes: Mapping[str, int],
    origin: Sequence[int],
) -> list[IntArray]:
    capacity = sizes["S"]
    if isinstance(step, ClusteredStep):
        *tile, along = _box_keys(step.box, places)
        # a tile that holds nothing and needs nothing has no cluster: it may come with any
        numbers = [step.clusters.get(at, 0) for at in zip(*(item.tolist() for item in tile), strict=True)]
        return [np.array(numbers, dtype=np.int64), along, *tile]
    if isinstance(step, BoxStep):
        return [*_box_keys(step.box, places), *(places[:, at] for at in step.inside)]
    if isinstance(step, NestedStep):
        shifts = (*origin, *(0 for _ in step.cuts))
        grids = [(places[:, at] + shift) // edge for (at, edge), shift in zip(step.cuts, shifts, strict=False)]
        return [*grids, *(places[:, at] for at in step.policy.order.inner)]
    if isinstance(step, PanelStep):
        cut = step.cut(_parameters(sizes), capacity)
        if cut is not None:
            return panel_keys(step.plan, places, cut, capacity, dict(enumerate(origin)))
        step = step.plain
    tiled = () if step.policy is None else step.policy.order.tiled
    shift = dict(zip(tiled, origin, strict=False))
    if isinstance(step, BorderedStep):
        return tile_keys(step.policy.order, step.tiles, places, {**shift, **step.origin})
    return step_keys(step, places, capacity, shift)


def _values(row: Row, points: IntArray, sizes: Mapping[str, int]) -> IntArray:
    offset = row.constant + sum(factor * sizes[name] for name, factor in row.parameters)
    return np.asarray(points @ np.array(row.factors, dtype=np.int64) + offset, dtype=np.int64)


def best_origin(
    bound: UpperBound,
    cdag: ConcreteCdag,
    sizes: Mapping[str, int],
    search: Search,
    *,
    floor: float = 0,
    tries: int = 8,
    keep: Callable[[IntArray, int], None] = lambda _order, _loads: None,
) -> tuple[IntArray, int]:
    """Return the order with the fewest loads over several origins of the tile grid, and these loads.

    Every better order is handed to ``keep``, with its loads. More than ``tries`` origins are tried only while all of
    them need more than the formula says, which some do not.
    """
    capacity, promised = sizes["S"], bound.value(sizes)
    best: tuple[IntArray, int] | None = None
    for number, origin in enumerate(_origins(bound, sizes, search)):
        order = tiled_order(bound, cdag, sizes, origin)
        loads = int(belady_loads(order, cdag.starts, cdag.operands, capacity).sum())
        search.spend(cdag.n / REPLAYED_PER_EFFORT)
        if best is None or loads < best[1]:
            best = order, loads
            keep(order, loads)
            search.report(best=loads, bound=floor or None, what=f"derived order, origin {list(origin)} of its tiles")
        if best[1] <= floor or search.expired() or (number + 1 >= tries and best[1] <= promised):
            break
    assert best is not None
    return best


def _origins(bound: UpperBound, sizes: Mapping[str, int], search: Search) -> Iterator[tuple[int, ...]]:
    """Return origins of the tile grid: 0 first, then drawn ones."""
    edges = [_edges(item, sizes) for item in bound.steps]
    widest = max((len(tiles) for tiles in edges), default=0)
    yield (0,) * widest
    largest = max((max(tiles) for tiles in edges if tiles), default=1)
    random = search.generator()
    for _ in range(MOST_ORIGINS if widest else 0):
        yield tuple(random.integers(0, largest + 1, widest).tolist())


def _edges(step: AnyStep, sizes: Mapping[str, int]) -> list[int]:
    """Return sizes of what is cut, as many as there are coordinates to shift."""
    if isinstance(step, FixedStep):
        return _edges(step.step, {**sizes, "S": step.capacity})
    if isinstance(step, BoxStep | PassedStep | WholeStep | NestedStep):
        return []
    if isinstance(step, TurnsStep):
        return max((_edges(item, sizes) for item in step.groups), key=len)
    if isinstance(step, PanelStep):
        cut = step.cut(_parameters(sizes), sizes["S"])
        if cut is not None:
            return [cut.panel] * len(next(iter(step.plain.phase.placement.values()))) if step.plain.phase else []
        step = step.plain
    if step.phase is None or step.policy is None:
        return []
    if isinstance(step, BorderedStep):
        return list(step.tiles.values())
    return list(step.policy.sizes(step.phase.edge(step.policy, sizes["S"])).values())


def _parameters(sizes: Mapping[str, int]) -> dict[str, int]:
    return {name: value for name, value in sizes.items() if name != "S"}
