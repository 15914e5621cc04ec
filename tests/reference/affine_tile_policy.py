"""A tiled order's policy played value by value: every group of uses is listed, its loads and its life counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shorthaul.affine.integer_sets.points import pairs
from shorthaul.affine.orders.upper_bound import Step

Instance = tuple[str, tuple[int, ...]]


def play(step: Step, sizes: Mapping[str, int], edge: int, origin: Sequence[int]) -> tuple[int, int]:
    """Return (loads, most words needed at one time) of one phase with tiles of ``edge`` from ``origin``."""
    phase, policy = step.phase, step.policy
    assert phase is not None
    assert policy is not None
    program = phase.counts.flow.program
    tiles = policy.sizes(edge)
    shift = dict(zip(policy.order.tiled, origin, strict=True))

    def place(instance: Instance) -> list[int]:
        return [row.at(instance[1], sizes) for row in phase.placement[instance[0]]]

    def tile(at: Sequence[int]) -> tuple[int, ...]:
        grid = ((at[k] + shift[k]) // size for k, size in tiles.items())
        return (*(at[k] for k in policy.order.outer), *grid)

    def moment(instance: Instance, rank: int) -> tuple[Any, ...]:
        at = place(instance)
        return (*tile(at), *(at[k] for k in policy.order.inner), rank)

    when: dict[Instance, Any] = {}
    for name in phase.names:
        rows, times = pairs(program.by_name[name].schedule, sizes)
        for row, time in zip(rows.tolist(), times.tolist(), strict=True):
            when[name, tuple(row)] = moment((name, tuple(row)), time)
    clock = {instance: at for at, instance in enumerate(sorted(when, key=when.__getitem__))}
    groups: dict[Any, list[int]] = {}
    computed: set[Any] = set()
    for number, (item, level) in enumerate(zip(phase.classes, policy.levels, strict=True)):
        for use in item.uses:
            sinks, values = pairs(use.read.function, sizes)
            for sink, value in zip(sinks.tolist(), values.tolist(), strict=True):
                user = (use.read.sink, tuple(sink))
                at = place(user)
                prefix = (*tile(at), *(at[k] for k in policy.order.inner[:level]))
                key = (number, use.read.source or use.read.array, tuple(value), prefix)
                groups.setdefault(key, []).append(clock[user])
                if item.kept and key not in computed:
                    maker = (use.read.source or "", tuple(value))
                    home = place(maker)
                    if (*tile(home), *(home[k] for k in policy.order.inner[:level])) == prefix:
                        computed.add(key)
                        groups[key].append(clock[maker])
    alive = np.zeros(len(clock) + 1, dtype=np.int64)
    for times in groups.values():
        alive[min(times)] += 1
        alive[max(times) + 1] -= 1
    return len(groups) - len(computed), int(np.cumsum(alive).max()) + 1
