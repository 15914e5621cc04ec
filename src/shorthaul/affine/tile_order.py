"""The concrete order of an upper bound: instances phase by phase, tile by tile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from shorthaul.affine.cdag import ConcreteCdag
from shorthaul.affine.placement import Row
from shorthaul.affine.upper import Step, UpperBound
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
    step: Step, cdag: ConcreteCdag, first: int, sizes: Mapping[str, int], origin: Sequence[int]
) -> IntArray:
    owners = [cdag.names.index(name, first) for name in step.names]
    vertices = np.flatnonzero(np.isin(cdag.owner, owners))
    edge = 0 if step.phase is None or step.policy is None else step.phase.edge(step.policy, sizes["S"])
    if not edge or step.phase is None or step.policy is None:
        return vertices
    width = len(next(iter(step.phase.placement.values())))
    places = np.zeros((len(vertices), width), dtype=np.int64)
    for name, owner in zip(step.names, owners, strict=True):
        mine = cdag.owner[vertices] == owner
        points = cdag.coordinates[vertices[mine], : cdag.widths[owner]]
        places[mine] = np.column_stack([_values(row, points, sizes) for row in step.phase.placement[name]])
    order, tiles = step.policy.order, step.policy.sizes(edge)
    shift = dict(zip(order.tiled, origin, strict=False))
    keys = [places[:, at] for at in order.outer]
    keys += [(places[:, at] + shift.get(at, 0)) // tiles[at] for at in order.tiled]
    keys += [places[:, at] for at in order.inner]
    return vertices[np.lexsort((vertices, *reversed(keys)))]


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
    for number, origin in enumerate(_origins(bound, capacity, budget)):
        order = tiled_order(bound, cdag, sizes, origin)
        loads = int(belady_loads(order, cdag.starts, cdag.operands, capacity).sum())
        if best is None or loads < best[1]:
            best = order, loads
            budget.report(best=loads, bound=floor or None, what=f"derived order, origin {list(origin)} of its tiles")
        if best[1] <= floor or budget.expired() or (number + 1 >= tries and best[1] <= promised):
            break
    assert best is not None
    return best


def _origins(bound: UpperBound, capacity: int, budget: Budget) -> Iterator[tuple[int, ...]]:
    """Return origins of the tile grid: 0 first, then drawn ones."""
    tiles = [
        item.policy.sizes(item.phase.edge(item.policy, capacity))
        for item in bound.steps
        if item.policy is not None and item.phase is not None
    ]
    widest = max((len(item) for item in tiles), default=0)
    yield (0,) * widest
    largest = max((max(item.values(), default=1) for item in tiles), default=1)
    random = budget.generator()
    for _ in range(_MOST_ORIGINS if widest else 0):
        yield tuple(random.integers(0, largest + 1, widest).tolist())
