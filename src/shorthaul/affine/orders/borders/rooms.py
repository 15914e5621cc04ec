"""What a tile of given edges holds at most, counted value by value, instead of as if all of it were inside.

Of a value at the margin of a tile the tile has some uses only, so it is held for less long. Tiles march along the
coordinate that is not cut, after some steps of which the lattice of the values is the same again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import chain
from math import gcd, prod

import numpy as np
import numpy.typing as npt

from shorthaul.affine import effort
from shorthaul.affine.orders.placement import Loops, Row
from shorthaul.affine.orders.value_classes import INFINITE, ValueClass
from shorthaul.affine.tuning import ALIVE_STEPS, MOST_ALIVE_POINTS

IntArray = npt.NDArray[np.int64]
#: Later than all uses.
_NEVER = np.iinfo(np.int64).max


def room(
    classes: Sequence[tuple[ValueClass, Sequence[tuple[int, ...]]]],
    order: Loops,
    tiles: Mapping[int, int],
    sizes: Mapping[str, int],
) -> float:
    """Return how many values are alive at once in any tile; infinite where that is not counted.

    With each class come the distances from a place to the next one of an input that is held in its room: that is held
    from its use at one place to its use at the next.
    """
    width, edges = len(order.inner), [tiles.get(at, 0) for at in order.inner[1:]]
    if set(order.inner[1:]) != set(tiles):
        return INFINITE
    lattices: set[tuple[int, ...]] = set()
    uses = []
    for item, apart in classes:
        (group, *others), spacing = item.groups(order, 0), item.spacing(order)
        size = prod(step or 0 for step in spacing.values())
        if others or not item.kept or item.free or not 0 < size**width <= MOST_ALIVE_POINTS:
            return INFINITE
        ways = [*_ways(size, [[row[at] for at in order.inner] for row in item.generators])]
        lattices.add((size, *chain.from_iterable(ways)))
        home: Sequence[Row] = item.placement[group.uses[0].read.source or ""]
        start = [home[at].at((0,) * len(home[at].factors), sizes) for at in order.inner]
        offsets = [[use.offsets[at] or 0 for at in order.inner] for use in group.uses] + [[0] * width]
        uses.append((np.array(offsets), [[step[at] for at in order.inner] for step in apart], start))
    if len(lattices) != 1:
        return INFINITE
    ((size, *found),) = lattices
    by, most = np.array(found, np.int64).reshape(-1, width), 0
    period = size // gcd(size, *by[:, 0].tolist())  # as many steps on, places are the same again
    for turn in _turns(size, by):  # where the tile lies among the places of the lattice
        times = [_times(*item[:2], edges, period, (size, by, turn + by @ item[2])) for item in uses]
        if None in times:
            return INFINITE
        first, last = (np.sort(np.concatenate(ends)) for ends in zip(*filter(None, times), strict=True))
        inside = first[(first >= 0) & (first < period * prod(edges))]
        most = max(most, (np.searchsorted(first, inside, "right") - np.searchsorted(last, inside)).max(initial=0))
    return int(most)


def _ways(size: int, generators: Sequence[Sequence[int]]) -> Iterator[tuple[int, ...]]:
    """Yield vectors whose products with a place are all multiples of ``size`` if it is of the lattice, and only then.

    A multiple of any place by ``size`` is of the lattice.
    """
    places = np.indices((size,) * len(generators[0])).reshape(len(generators[0]), -1).T
    for way in places[~(places @ np.transpose(generators) % size).any(axis=1)]:
        inside = places @ way % size == 0
        if not inside.all():
            places = places[inside]
            yield tuple(way.tolist())


def _turns(size: int, ways: IntArray) -> IntArray:
    """Return products of ``ways`` with places, one of those that steps along the first coordinate lead to."""
    found = np.indices((size,) * ways.shape[1]).reshape(ways.shape[1], -1).T @ ways.T % size
    moved = (found[:, None] + np.arange(size)[:, None] * ways[:, 0]) % size
    keys = moved @ size ** np.arange(len(ways))
    return found[np.unique(keys.min(axis=1), return_index=True)[1]]


def _times(
    offsets: IntArray,
    links: Sequence[Sequence[int]],
    edges: Sequence[int],
    period: int,
    lattice: tuple[int, IntArray, IntArray],
) -> tuple[IntArray, IntArray] | None:
    """Return when the values that a tile has uses of are used first, and last; None where links have gaps.

    The tile marches ``period`` steps and more. Of a ``lattice`` are the places whose products with some vectors have
    given remainders, if divided by a size.
    """
    size, ways, start = lattice
    least, most = offsets.min(axis=0), offsets.max(axis=0)
    beyond = max((link[0] for link in links), default=0)
    low, high = -most, [period + beyond, *edges] - least
    shape = tuple((high - low).tolist())
    if prod(shape) > size * MOST_ALIVE_POINTS or any(link[0] < 0 for link in links):
        return None
    effort.step(ALIVE_STEPS * (len(ways) + len(offsets) / size) * prod(shape))
    lattice_places = np.ones(shape, np.bool_)
    for way, rest in zip(ways, start, strict=True):
        lines = np.ix_(
            *(np.arange(least, most) * step % size for least, most, step in zip(low, high, way, strict=True))
        )
        lattice_places &= reduce(np.add, (line.astype(np.int32) for line in lines)) % size == rest % size
    places = np.array(np.nonzero(lattice_places)) + low[:, None]
    first, last = np.full(prod(shape), _NEVER), np.full(prod(shape), -_NEVER)
    at = np.ravel_multi_index(tuple(places - low[:, None]), shape)
    for offset in offsets:
        used = places + offset[:, None]
        inside = np.all((used[1:] >= 0) & (used[1:] < np.array(edges)[:, None]), axis=0)
        time = used[0]
        for row, edge in zip(used[1:], edges, strict=True):
            time = time * edge + row
        first[at[inside]] = np.minimum(first[at[inside]], time[inside])
        last[at[inside]] = np.maximum(last[at[inside]], time[inside])
    here = at[first[at] < _NEVER]
    for link in links:
        following = [_moved(first, shape, [step * turn for step in link])[here] for turn in (1, 2)]
        if np.any((following[0] == _NEVER) & (following[1] < _NEVER)):
            return None
        last[here] = np.maximum(last[here], np.where(following[0] < _NEVER, following[0], -_NEVER))
    return first[here], last[here]


def _moved(values: IntArray, shape: tuple[int, ...], by: Sequence[int]) -> IntArray:
    """Return for every place what is ``by`` further on, later than all where nothing is."""
    moved = np.full(shape, _NEVER)
    there = tuple(slice(max(0, step), max(0, size + min(0, step))) for step, size in zip(by, shape, strict=True))
    here = tuple(slice(max(0, -step), max(0, size - max(0, step))) for step, size in zip(by, shape, strict=True))
    moved[here] = values.reshape(shape)[there]
    return moved.reshape(-1)
