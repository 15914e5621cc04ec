"""Mappings whose buffers fit memories that are all limited, found by CP-SAT, or how much room lacks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from shorthaul.core.search import Search
from shorthaul.core.searching.cp_sat import solve_model
from shorthaul.dataflow.graphs.multi_reader_buffers import Network
from shorthaul.dataflow.mapping.arrays import Instance
from shorthaul.dataflow.model import GLOBAL_MEMORY, Decisions, local_memory, tile_memory

#: The cost of all cores together, in whole numbers.
_COST_UNITS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Fitting:
    """Bytes of the global memory that a mapping needs, with the fewest tokens: ``least`` in any mapping.

    ``mappings`` need no more than there are: some cheap one, and some that spread work over all cores.
    """

    least: int
    mappings: tuple[Decisions, ...] = ()


def fitting(instance: Instance, network: Network, tokens: Mapping[str, int], search: Search) -> Fitting:
    """Return how much of the global memory a network needs with ``tokens`` in its buffers, and mappings that fit."""
    from ortools.sat.python import cp_model

    model = _Model(cp_model.CpModel(), instance, network, tokens)
    limit = int(instance.limits[-1])
    excess = model.cp.new_int_var(0, max(0, sum(model.size.values()) - limit), "excess")
    model.cp.add(model.far <= limit + excess)
    model.cp.minimize(excess)
    status, solver = solve_model(model.cp, search.part(0.5))
    if status not in {cp_model.OPTIMAL, cp_model.FEASIBLE}:
        return Fitting(0)
    if solver.value(excess):
        return Fitting(limit + math.ceil(solver.best_objective_bound - 1e-6))
    model.cp.add(excess == 0)
    mappings = [model.mapping(solver)]
    for objective in (model.cost, model.busiest):
        model.cp.minimize(objective)
        status, solver = solve_model(model.cp, search.part(0.5))
        if status in {cp_model.OPTIMAL, cp_model.FEASIBLE}:
            mappings.append(model.mapping(solver))
    return Fitting(0, tuple(mappings))


class _Model:
    """``on[actor]`` says which core an actor is on, ``held[buffer]`` which memory a buffer is in, by decision.

    A buffer is in the memory of its writer's or its first reader's core or tile, or in the global one. In a core's own
    memory, one that an actor reads and writes itself holds what is read until the execution ends, and what it writes
    from its start on.
    """

    def __init__(self, cp: Any, instance: Instance, network: Network, tokens: Mapping[str, int]) -> None:
        self.cp, self.instance = cp, instance
        platform = instance.platform
        cores, able = platform.cores, dict(zip((a.id for a in instance.application.actors), instance.able, strict=True))
        unit = _COST_UNITS / max(1e-9, float(instance.core_cost.sum()))
        used = [cp.new_bool_var("") for _ in cores]
        self.cost = sum(round(cost * unit) * var for cost, var in zip(instance.core_cost.tolist(), used, strict=True))
        self.on = {actor: {cores[p].id: cp.new_bool_var("") for p in able[actor]} for actor in network.actors}
        for places in self.on.values():
            cp.add_exactly_one(places.values())
            roomiest = max(places, key=lambda core: platform.memories[local_memory(core)] or 0)
            for core, place in places.items():
                cp.add_hint(place, core == roomiest)  # one core alone may do
            for var, core in zip(used, cores, strict=True):
                if core.id in places:
                    cp.add_implication(places[core.id], var)
        ticks = {actor.id: actor.ticks for actor in instance.application.actors}
        self.busiest = cp.new_int_var(0, 2 * instance.never, "")
        for core in cores:
            there = (
                ticks[actor][core.type] * places[core.id] for actor, places in self.on.items() if core.id in places
            )
            cp.add(sum(there) <= self.busiest)
        self.size = {buffer.id: tokens[buffer.id] * buffer.token_bytes for buffer in network.buffers}
        self.held: dict[str, list[tuple[str, Any]]] = {}
        room: dict[str, list[Any]] = {name: [] for name in platform.memories}
        homes = {local_memory(core.id): ("", [core.id]) for core in cores}
        homes |= {tile_memory(tile.id): ("TILE-", [core.id for core in tile.cores]) for tile in platform.tiles}
        for buffer in network.buffers:
            size = self.size[buffer.id]
            is_loop = buffer.writer in buffer.readers and min(ticks[buffer.writer].values()) > 0
            own = max(size, (buffer.delay + is_loop) * buffer.token_bytes)
            far = cp.new_bool_var("")
            self.held[buffer.id] = [("GLOBAL", far)]
            room[GLOBAL_MEMORY].append(size * far)
            for side, actor in (("PROD", buffer.writer), ("CONS", buffer.readers[0])):
                for memory, (prefix, near) in homes.items():
                    ways = [self.on[actor][core] for core in near if core in self.on[actor]]
                    need = size if prefix else own
                    if not ways or need > (platform.memories[memory] or 0):
                        continue
                    here = cp.new_bool_var("")
                    cp.add(here <= sum(ways))
                    self.held[buffer.id].append((prefix + side, here))
                    room[memory].append(need * here)
            cp.add_exactly_one(here for _, here in self.held[buffer.id])
        for memory in homes:
            cp.add(sum(room[memory]) <= (platform.memories[memory] or 0))
        self.far = sum(room[GLOBAL_MEMORY])

    def mapping(self, solver: Any) -> Decisions:
        """Return the mapping of a solution; multicasts that are no actors of the network are replaced."""
        binding = {
            actor: next(core for core, var in cores.items() if solver.value(var)) for actor, cores in self.on.items()
        }
        xi = {name: int(name not in self.on) for name in self.instance.application.multicasts}
        decisions = {
            name: next(decision for decision, var in ways if solver.value(var)) for name, ways in self.held.items()
        }
        return Decisions(binding, xi, decisions)
