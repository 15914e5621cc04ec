"""Skewed tiles within tiles: one order of a phase for several memories, each over the next.

The tiles of every memory are cut out of those of the next larger one, by grids of their own, and run one after the
other, tile by tile of the smaller memory. All coordinates are cut but in the smallest tiles, which march through the
next larger ones as in :mod:`tile_policy`.

What a memory holds while a tile of it runs is what the smallest tile holds, and of every grid inside of the tile what
is used on both sides of a border of that grid, between what has run and what has not: a slab as thick as uses lie
apart, as wide as the tiles of the next larger grid (and one more of its own) along what comes later in the order, and
as one of its own tiles along what came before.

A value is loaded into a memory once for every tile of it, and of all larger memories, that uses it: with uses r apart
along a coordinate, grids of edges a and b cut it (1 + r / a) (1 + r / b) times, averaged over the origins of both, so
some origins of every grid, chosen one after the other from the largest memory on, cut it no more often.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import ceil, inf
from typing import Any

from shorthaul.affine import effort
from shorthaul.affine.orders.placement import Loops
from shorthaul.affine.orders.tile_policy import Phase, Policy
from shorthaul.affine.orders.tile_steps import AtSizes, Step
from shorthaul.affine.orders.value_classes import Group, ValueClass
from shorthaul.affine.tuning import NESTED_MARCH_RATIO

#: Edges of the tiles of a memory by coordinate.
Tiles = Mapping[int, int]


@dataclass(frozen=True)
class NestedStep(AtSizes):
    """A phase in ``tiles`` within tiles, those of the largest memory first, of ``capacities`` words at ``sizes``."""

    tiles: tuple[Tiles, ...]
    capacities: tuple[int, ...]
    sizes: Mapping[str, int]

    @property
    def policy(self) -> Policy:
        """The order inside of the smallest tiles, and what is kept there."""
        assert self.plain.policy is not None
        return self.plain.policy

    @cached_property
    def rate(self) -> float:
        """The loads into the largest memory."""
        return self.loads(self.sizes, self.capacities[0])

    @property
    def cuts(self) -> tuple[tuple[int, int], ...]:
        """The loops over tiles, outermost first: the coordinate, and the edge."""
        grids = [{}, *self.tiles]
        return tuple(
            (at, inner[at]) for outer, inner in zip(grids, self.tiles, strict=False) for at in _cut(outer, inner)
        )

    @property
    def room(self) -> int:
        """The words that a smallest tile holds, with room for one result."""
        assert self.plain.phase is not None
        held: float = _room(self.plain.phase, self.policy, self.tiles[-1:])
        return ceil(held)

    def with_less(self, words: int) -> NestedStep | None:
        """Return tiles that leave so many words free in every memory; None if they do not fit."""
        found = nested(self.plain, [item - words for item in self.capacities], self.sizes)
        return None if found is None else replace(found, capacities=self.capacities)

    def loads_bytes(self, sizes: Mapping[str, int], capacity: int, widths: Mapping[str, int]) -> float:
        """Return the bytes loaded into a memory of ``capacity`` words: those of the largest that it holds."""
        count = self.plain.counts.at(sizes)
        every = sum(widths[item.array] * count((item.domain,)) for item in self.plain.reads)
        held = next((at for at, words in enumerate(self.capacities) if words <= capacity), None)
        if held is None or self.plain.phase is None:
            return every
        edges = self._edges(held)
        total: float = 0
        for item, level in zip(self.plain.phase.classes, self.policy.levels, strict=True):
            width = max(widths[use.read.array] for use in item.uses)
            total += width * item.loads(self.policy.order, level, edges, count)
        return min(every, total)

    def _edges(self, held: int) -> dict[int, Fraction]:
        """Return edges of tiles that cut a value at least as often as all grids down to memory ``held`` do."""
        result: dict[int, Fraction] = {}
        assert self.plain.phase is not None
        for at in self.policy.order.inner:
            widest = max((group.reach.get(at, 0) for _, group in _groups(self.plain.phase, self.policy)), default=0)
            times, last = Fraction(1), None
            for tiles in self.tiles[: held + 1]:
                if at in tiles and tiles[at] != last:
                    last = tiles[at]
                    times *= 1 + Fraction(max(widest, 1), last)
            if last is not None:
                result[at] = Fraction(max(widest, 1)) / (times - 1)
        return result


def nested(step: Step, capacities: Sequence[int], sizes: Mapping[str, int]) -> NestedStep | None:
    """Return a phase in tiles within tiles for memories of ``capacities`` words, the largest first.

    None if the phase is not in tiles, if a dependence leads back across the new grids, or if some tiles do not fit.
    """
    if step.phase is None or step.policy is None or not step.policy.order.tiled or step.policy.order.outer:
        return None
    phase, policy = step.phase, step.policy
    order = replace(policy.order, tiled=policy.order.inner)
    if not order.legal(phase.counts.distances.signs(phase.placement)):
        return None
    edge = phase.edge(policy, capacities[-1])
    marched = [at for at in policy.order.inner if at not in policy.order.tiled]
    if not edge or not marched:
        return None
    grids: tuple[Tiles, ...] = (phase.sizes(policy, edge),)
    for at in reversed(range(len(capacities) - 1)):
        best: tuple[float, tuple[Tiles, ...]] | None = None
        for march in _marches(grids[0], marched, phase, sizes):
            made = _widest(phase, policy, grids, march, capacities[at])
            if made is not None:
                effort.step()
                found = NestedStep(step, made, tuple(capacities[at:]), sizes)
                if best is None or found.rate < best[0]:
                    best = found.rate, made
        if best is None:
            return None
        grids = best[1]
    return NestedStep(step, grids, tuple(capacities), sizes)


def _cut(outer: Tiles, inner: Tiles) -> list[int]:
    """Return the coordinates along which tiles are smaller than those around them."""
    return [at for at in inner if inner[at] < outer.get(at, inf)]


def _groups(phase: Phase, policy: Policy) -> Iterator[tuple[ValueClass, Group]]:
    """Yield what is kept for whole tiles."""
    for item, level in zip(phase.classes, policy.levels, strict=True):
        if not level:
            for group in item.groups(policy.order, 0):
                yield item, group


def _marches(inner: Tiles, marched: Sequence[int], phase: Phase, sizes: Mapping[str, int]) -> Iterator[dict[int, int]]:
    """Yield how far tiles may march, in steps of a constant ratio, no less than the tiles inside of them."""
    least = max((inner.get(at, 1) for at in marched), default=1)
    value = float(least)
    most = max(sizes[name] for name in phase.counts.flow.program.parameters)
    while value < NESTED_MARCH_RATIO * most:
        yield {at: max(int(value), inner.get(at, 1)) for at in marched}
        value = max(NESTED_MARCH_RATIO * value, value + 1)


def _widest(
    phase: Phase, policy: Policy, grids: tuple[Tiles, ...], march: Mapping[int, int], capacity: int
) -> tuple[Tiles, ...] | None:
    """Return the grids within the widest tiles that march so far and fit into ``capacity`` words."""
    least = max(-(-grids[0][at] // weight) for at, weight in zip(policy.order.tiled, policy.weights, strict=True))

    def around(edge: int) -> tuple[Tiles, ...]:
        outer = {
            **phase.fixed,
            **{at: weight * edge for at, weight in zip(policy.order.tiled, policy.weights, strict=True)},
        }
        inner = [grids[0] if march.keys() <= grids[0].keys() else {**grids[0], **march}, *grids[1:]]
        return ({**outer, **march}, *inner)

    found = bisect_left(
        range(least, capacity + 1), True, key=lambda edge: _room(phase, policy, around(edge)) > capacity
    )
    return around(least + found - 1) if found else None


def _room(phase: Phase, policy: Policy, grids: Sequence[Tiles]) -> Any:
    """Return the words held while a tile of the first of ``grids`` runs, with room for one result."""
    total: Any = 1
    for item, level in zip(phase.classes, policy.levels, strict=True):
        total += item.live(policy.order, level, grids[-1])
    for outer, inner in pairwise(grids):
        loops = _cut(outer, inner)
        for place, at in enumerate(loops):
            wide = {
                **outer,
                **{k: inner[k] for k in loops[:place]},
                **{k: outer[k] + inner[k] for k in loops[place + 1 :]},
            }
            total += _slabs(phase, policy, at, wide)
    return total


def _slabs(phase: Phase, policy: Policy, at: int, sizes: Tiles) -> Any:
    """Return the values that are used on both sides of a border along ``at`` in a part of these ``sizes``."""
    inner = (at, *(other for other in policy.order.inner if other != at))
    order = Loops((), (), inner)
    return sum(
        item.alive(inner, group.reach, item.spacing(order), sizes)
        for item, group in _groups(phase, policy)
        if group.reach.get(at, 0)
    )
