"""Trees of all mappings of small problems, one per choice of replaced multicasts (see :mod:`mappings_kernels`)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Final

import numpy as np
import numpy.typing as npt

from shorthaul.core.errors import InputError
from shorthaul.dataflow import tuning
from shorthaul.dataflow.graphs.multi_reader_buffers import substitute_mrbs
from shorthaul.dataflow.mapping.arrays import Instance
from shorthaul.dataflow.mapping.mapping_kernels import Genotypes, Mapping, Problem
from shorthaul.dataflow.mapping.mappings_kernels import Tree, layout

IntArray = npt.NDArray[np.int64]
#: Prices of cores count in millionths.
MILLION: Final = 10**6
#: Most products of a period and a price that are looked at.
MOST_PRODUCT: Final = 2**62
#: A buffer may be in the memory of any reader, in place of the first one's (0) or of the common tile's (1).
ANY_READER: Final = 2


def units_of(instance: Instance) -> tuple[IntArray, int]:
    """Return the prices of cores in units, and the millionths of a unit."""
    millionths = np.rint(instance.core_cost * MILLION).astype(np.int64)
    unit = math.gcd(*millionths.tolist()) or 1
    return millionths // unit, unit


def is_small(instance: Instance, never: int, most_tasks: int) -> bool:
    """Return whether all mappings of periods below ``never`` may be looked at."""
    exact = np.abs(np.rint(instance.core_cost * MILLION) - instance.core_cost * MILLION).max() < 1e-3
    return bool(
        exact
        and never * max(1, int(units_of(instance)[0].sum())) < MOST_PRODUCT
        and len(instance.feeding) <= tuning.MOST_FLIPPED
        and len(instance.tau) + 2 * len(instance.src) <= most_tasks
    )


def trees(
    problem: Problem, instance: Instance, price: IntArray, strategy: str, consumer: int,
    largest: IntArray | None = None,
) -> Iterator[MappingTree]:  # fmt: skip
    """Yield a tree for every choice of replaced multicasts, those with the least footprint first.

    Memories of cores hold no buffer above the ``largest`` (without: any that they have room for).
    """
    largest = instance.limits[: len(price)] if largest is None else largest
    choices = {"reference": (0,), "mrb-always": (1,), "mrb-explore": (1, 0)}[strategy]
    parts = []
    for xi in product(choices, repeat=len(instance.feeding)):
        try:
            network = substitute_mrbs(instance.application, dict(zip(instance.application.multicasts, xi, strict=True)))
        except InputError:  # a cycle without tokens
            continue
        parts.append((sum(max(1, buffer.delay) * buffer.token_bytes for buffer in network.buffers), xi))
    for size, xi in sorted(parts):
        yield MappingTree(problem, instance, price, xi, size, consumer, largest)


class MappingTree:
    """The tree of mappings with some multicasts replaced."""

    def __init__(
        self, problem: Problem, instance: Instance, price: IntArray, xi: tuple[int, ...], size: int, consumer: int,
        largest: IntArray,
    ) -> None:  # fmt: skip
        actors, channels = len(instance.tau), len(instance.src)
        self.size = size
        self.one = (
            np.ones(1, np.int8), np.array([xi], np.int8), np.zeros((1, channels), np.int8),
            np.zeros((1, actors), np.int64),
        )  # fmt: skip
        self.layout = Mapping(problem)
        layout(problem, self.layout, Genotypes(*(np.array(array) for array in self.one)))
        able = np.zeros((len(instance.core_tile), actors), np.uint8)
        for actor, cores in enumerate(instance.able):
            able[cores, actor] = 1
        left, items = self._items(instance, price, largest, by_accesses=consumer == ANY_READER)
        self.first_branch = int(instance.able[items[0]][0]) + 1
        links, more = self._links(instance)
        kinds = _kinds(instance, able, price, largest)
        self.at = Tree(problem, self.layout, consumer, items, price, able, largest, kinds, left, links, more)

    def _ends(self, instance: Instance) -> dict[int, list[tuple[int, int]]]:
        """Return the actors that access every buffer, its writer first, each with its channel."""
        live, root = np.asarray(self.layout.live).astype(bool), np.asarray(self.layout.root)
        ends: dict[int, list[tuple[int, int]]] = {}
        for channel, buffer in enumerate(root.tolist()):
            both = [int(instance.src[channel])] if buffer == channel else []
            both += [int(instance.dst[channel])] if live[instance.dst[channel]] else []
            ends.setdefault(buffer, []).extend((actor, channel) for actor in both)
        return ends

    def _items(
        self, instance: Instance, price: IntArray, largest: IntArray, *, by_accesses: bool
    ) -> tuple[IntArray, IntArray]:  # fmt: skip
        """Return the least priced work and ticks of crossbars left at every depth, and what is decided in which order.

        Actors come by the number of buffers that they share with earlier ones, or ``by_accesses`` to their buffers, ten
        times those (by number, trees of tiles of 10 and 14 actors were a hundred times as large; by accesses, plans of
        sobel find 7,896 at a core cost of 6 in one of three short enumerations, by number in two).
        """
        tokens, all_ends = np.maximum(1, instance.delay) * instance.token_bytes, self._ends(instance)
        ends = {buffer: {actor for actor, _ in found} for buffer, found in all_ends.items()}
        worth, carried = {}, {}
        for actor in np.flatnonzero(np.asarray(self.layout.live)).tolist():
            accesses = [
                (channel, buffer) for buffer, found in all_ends.items() for one, channel in found if one == actor
            ]
            asked = {
                int(core): sum(
                    int(instance.ticks[channel, instance.core_tile[core]])
                    for channel, buffer in accesses
                    if tokens[buffer] > largest[core]
                )
                for core in instance.able[actor]
            }
            carried[actor] = min(asked.values())
            worth[actor] = min(
                int(price[core]) * (int(instance.tau[actor, instance.core_type[core]]) + ticks)
                for core, ticks in asked.items()
            )
        items: list[int] = []
        work, carry = [0], [0]
        placed: set[int] = set()
        ticks = {buffer: int(instance.ticks[buffer, :-1].max()) if by_accesses else 1 for buffer in ends}
        while len(placed) < len(worth):
            near = {actor: sum(ticks[buffer] * (10 if all_ends & placed else by_accesses)
                               for buffer, all_ends in ends.items() if actor in all_ends)
                    for actor in worth if actor not in placed}  # fmt: skip
            actor = max(near, key=lambda actor: (near[actor], worth[actor], -actor))
            placed.add(actor)
            done = [buffer for buffer, all_ends in ends.items() if actor in all_ends and all_ends <= placed]
            done.sort(key=lambda buffer: -ticks[buffer])
            items += [actor, *(-1 - buffer for buffer in done)]
            work += [worth[actor], *([0] * len(done))]
            carry += [carried[actor], *([0] * len(done))]
        least = np.array([work, carry], np.int64)
        return least.sum(axis=1, keepdims=True) - np.cumsum(least, axis=1), np.array(items, np.int64)

    def _links(self, instance: Instance) -> tuple[IntArray, float]:
        """Return what two actors alone share, for both, and by how much more crossbars carry than the network.

        Where they are in two tiles, one access at least crosses the network. Crossbars carry both then, and one of them
        twice, or both from the global memory: more than what each takes in its tile, which was foreseen, by twice as
        much as an access across the network takes longer.
        """
        found: list[tuple[int, int, int]] = []
        more = [2.0]
        for ends in self._ends(instance).values():
            if len(ends) == 2 and ends[0][0] != ends[1][0]:
                channels = [channel for _, channel in ends]
                ticks, near = int(instance.ticks[channels, -1].min()), int(instance.ticks[channels, :-1].max())
                found += [(ends[0][0], ends[1][0], ticks), (ends[1][0], ends[0][0], ticks)]
                more += [max(0, 2 * (ticks - near)) / ticks] if ticks else []
        return np.array(sorted(found), np.int64).reshape(-1, 3), min(more) * (1 - 1e-9)


def _kinds(
    instance: Instance, able: npt.NDArray[np.uint8], price: IntArray, largest: IntArray
) -> IntArray:  # fmt: skip
    """Return the kinds of cores, then of tiles: equal ones may change their names."""
    kinds: dict[object, int] = {}
    cores = []
    for core, kind in enumerate(instance.core_type.tolist()):
        numbers = int(price[core]), int(instance.limits[core]), int(largest[core])
        what = (*numbers, instance.tau[:, kind].tobytes(), able[core].tobytes())
        cores.append(kinds.setdefault(what, len(kinds)))
    tiles = []
    for tile in range(instance.ticks.shape[1] - 1):
        members = sorted(kind for kind, home in zip(cores, instance.core_tile.tolist(), strict=True) if home == tile)
        of_tile = instance.ticks[:, tile].tobytes(), int(instance.limits[len(cores) + tile]), tuple(members)
        tiles.append(kinds.setdefault(of_tile, len(kinds)))
    return np.array([*cores, *tiles], np.int64)
