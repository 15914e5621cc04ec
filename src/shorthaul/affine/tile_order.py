"""The concrete order of an upper bound: instances phase by phase, tile by tile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from shorthaul.affine.cdag import ConcreteCdag
from shorthaul.affine.panel_order import panel_keys, step_keys
from shorthaul.affine.panel_policy import PanelStep
from shorthaul.affine.placement import Row
from shorthaul.affine.upper import AnyStep, UpperBound
from shorthaul.core.search import Budget
from shorthaul.graphs.replay import belady_loads

#: Origins drawn at most.
_MOST_ORIGINS = 200

IntArray = npt.NDArray[np.int64]


def tiled_order(
    bound: UpperBound, cdag: ConcreteCdag, sizes: Mapping[str, int], origin: Sequence[int] = ()
) -> IntArray:
    """Return the computed vertices in the order of ``bound``, shape (computed vertices,).

    ``sizes`` has every parameter and S; ``origin`` shifts the tile grid, by its k-th entry in the k-th tiled coordinate
    of every phase (0 where there is none).
    """
    first = len(cdag.names) - len(bound.program.statements)
    parts = [_phase_order(item, cdag, first, sizes, origin) for item in bound.steps]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def _phase_order(
    step: AnyStep, cdag: ConcreteCdag, first: int, sizes: Mapping[str, int], origin: Sequence[int]
) -> IntArray:
    owners = [cdag.names.index(name, first) for name in step.names]
    vertices = np.flatnonzero(np.isin(cdag.owner, owners))
    if step.phase is None or not len(vertices):
        return vertices
    width = len(next(iter(step.phase.placement.values())))
    places = np.zeros((len(vertices), width), dtype=np.int64)
    for name, owner in zip(step.names, owners, strict=True):
        mine = cdag.owner[vertices] == owner
        points = cdag.coordinates[vertices[mine], : cdag.widths[owner]]
        places[mine] = np.column_stack([_values(row, points, sizes) for row in step.phase.placement[name]])
    keys = _keys(step, places, sizes, origin)
    return vertices[np.lexsort((vertices, *reversed(keys)))]


def _keys(step: AnyStep, places: IntArray, sizes: Mapping[str, int], origin: Sequence[int]) -> list[IntArray]:
    capacity = sizes["S"]
    if isinstance(step, PanelStep):
        panel = step.panel(_parameters(sizes), capacity)
        if panel is not None:
            return panel_keys(step.plan, places, panel, capacity, dict(enumerate(origin)))
        step = step.plain
    tiled = () if step.policy is None else step.policy.order.tiled
    return step_keys(step, places, capacity, dict(zip(tiled, origin, strict=False)))


def _values(row: Row, points: IntArray, sizes: Mapping[str, int]) -> IntArray:
    offset = row.constant + sum(factor * sizes[name] for name, factor in row.parameters)
    return np.asarray(points @ np.array(row.factors, dtype=np.int64) + offset, dtype=np.int64)


def best_origin(
    bound: UpperBound, cdag: ConcreteCdag, sizes: Mapping[str, int], budget: Budget, *, floor: float = 0, tries: int = 8
) -> tuple[IntArray, int]:
    """Return the order with the fewest loads over several origins of the tile grid, and these loads.

    More than ``tries`` origins are tried only while all of them need more than the formula says, which some do not.
    """
    capacity, promised = sizes["S"], bound.value(sizes)
    best: tuple[IntArray, int] | None = None
    for number, origin in enumerate(_origins(bound, sizes, budget)):
        order = tiled_order(bound, cdag, sizes, origin)
        loads = int(belady_loads(order, cdag.starts, cdag.operands, capacity).sum())
        if best is None or loads < best[1]:
            best = order, loads
            budget.report(best=loads, bound=floor or None, what=f"derived order, origin {list(origin)} of its tiles")
        if best[1] <= floor or budget.expired() or (number + 1 >= tries and best[1] <= promised):
            break
    assert best is not None
    return best


def _origins(bound: UpperBound, sizes: Mapping[str, int], budget: Budget) -> Iterator[tuple[int, ...]]:
    """Return origins of the tile grid: 0 first, then drawn ones."""
    edges = [_edges(item, sizes) for item in bound.steps]
    widest = max((len(tiles) for tiles in edges), default=0)
    yield (0,) * widest
    largest = max((max(tiles) for tiles in edges if tiles), default=1)
    random = budget.generator()
    for _ in range(_MOST_ORIGINS if widest else 0):
        yield tuple(random.integers(0, largest + 1, widest).tolist())


def _edges(step: AnyStep, sizes: Mapping[str, int]) -> list[int]:
    """Return sizes of what is cut, as many as there are coordinates to shift."""
    if isinstance(step, PanelStep):
        panel = step.panel(_parameters(sizes), sizes["S"])
        if panel is not None:
            return [panel] * len(next(iter(step.plain.phase.placement.values()))) if step.plain.phase else []
        step = step.plain
    if step.phase is None or step.policy is None:
        return []
    return list(step.policy.sizes(step.phase.edge(step.policy, sizes["S"])).values())


def _parameters(sizes: Mapping[str, int]) -> dict[str, int]:
    return {name: value for name, value in sizes.items() if name != "S"}
