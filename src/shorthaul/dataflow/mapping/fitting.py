"""Mappings whose buffers fit memories that are all limited, found by CP-SAT, or how much room lacks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from shorthaul.core.search import Search
from shorthaul.core.searching.cp_sat import solve_model
from shorthaul.dataflow.graphs.multi_reader_buffers import Network
from shorthaul.dataflow.mapping.arrays import Instance
from shorthaul.dataflow.model import GLOBAL_MEMORY, Decisions, local_memory, tile_memory


def fitting(instance: Instance, network: Network, tokens: Mapping[str, int], search: Search) -> int | list[Decisions]:
    """Return mappings of a network that fit with ``tokens`` in its buffers: the second spreads work over cores.

    Without, the bytes of the global memory that every mapping needs, 0 where that is not known.
    """
    from ortools.sat.python import cp_model

    model = _Model(cp_model.CpModel(), instance, network, tokens)
    limit = int(instance.limits[-1])
    excess = model.cp.new_int_var(0, max(0, sum(model.size.values()) - limit), "excess")
    model.cp.add(model.far <= limit + excess)
    model.cp.minimize(excess)
    status, solver = solve_model(model.cp, search.part(0.5))
    if status not in {cp_model.OPTIMAL, cp_model.FEASIBLE}:
        return 0
    if solver.value(excess):
        lacking: int = math.ceil(solver.best_objective_bound - 1e-6)
        return limit + lacking
    model.cp.add(excess == 0)
    mappings = [model.mapping(solver)]
    model.cp.minimize(model.busiest)
    status, solver = solve_model(model.cp, search.part(0.5))
    if status in {cp_model.OPTIMAL, cp_model.FEASIBLE}:
        mappings.append(model.mapping(solver))
    return mappings


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
        self.on = {actor: {cores[p].id: cp.new_bool_var("") for p in able[actor]} for actor in network.actors}
        for places in self.on.values():
            cp.add_exactly_one(places.values())
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
