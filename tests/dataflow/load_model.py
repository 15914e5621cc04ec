"""The least load of the busiest core, crossbar or network over all mappings of a core cost, bounded by CP-SAT.

Whole actors are on cores, whole buffers in memories, multicasts replaced or kept; what crosses the network counts on
every interconnect of its way. Only the order in time is left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final

from shorthaul.core.search import Search
from shorthaul.core.searching.cp_sat import solve_model
from shorthaul.dataflow.bounds.firings import channels_together
from shorthaul.dataflow.model import Application, Channel, Core, Platform, ticks_for

#: A core cost of 1 in whole numbers; costs are rounded so that the bound holds.
_COST_UNITS: Final = 1000
#: Sums above this are left out: the solver tells its objective as a float of 53 bits.
_MOST_SUM: Final = 2**53


def least_load(
    application: Application, platform: Platform, strategy: str, known: tuple[float, int], search: Search
) -> tuple[int, float]:
    """Return a lower bound on the period at a core cost, and what a mapping of that load costs (infinity: none known).

    ``known`` holds the core cost and a lower bound.
    """
    from ortools.sat.python import cp_model

    model = _LoadModel(application, platform, strategy)
    if model.most * (len(platform.cores) + 1) > _MOST_SUM:
        return known[1], math.inf
    model.limit(*known)
    status, solver = solve_model(model.cp, search)
    if status == cp_model.OPTIMAL:
        used = (core.type for (core, _), is_used in zip(model.cores, model.used, strict=True) if solver.value(is_used))
        return int(solver.objective_value), sum(platform.core_types[kind].cost for kind in used)
    if status in {cp_model.FEASIBLE, cp_model.UNKNOWN}:
        return max(known[1], math.ceil(solver.best_objective_bound - 1e-6)), math.inf
    return known[1], math.inf


class _LoadModel:
    """``on[actor, core]``, ``local[channel, core]`` and ``inside[channel, tile]`` say where everything is.

    The channels out of a replaced multicast are where the one into it is, and take no room of their own.
    """

    def __init__(self, application: Application, platform: Platform, strategy: str) -> None:
        from ortools.sat.python import cp_model

        self.cp = cp_model.CpModel()
        self.application, self.platform = application, platform
        self.cores: list[tuple[Core, int]] = [(c, t) for t, tile in enumerate(platform.tiles) for c in tile.cores]
        self.of_tile: list[list[int]] = [[] for _ in platform.tiles]
        for number, (_, tile) in enumerate(self.cores):
            self.of_tile[tile].append(number)
        self.into = {c.dst: c for c in application.channels if c.dst in set(application.multicasts)}
        self.gone = {name: self.cp.new_bool_var(name) for name in application.multicasts}
        if strategy != "mrb-explore":
            for replaced in self.gone.values():
                self.cp.add(replaced == int(strategy == "mrb-always"))
        self.on: dict[tuple[str, int], Any] = {}
        self.local: dict[tuple[str, int], Any] = {}
        self.inside: dict[tuple[str, int], Any] = {}
        self.load: list[list[Any]] = [[] for _ in self.cores]
        self.crossbar: list[list[Any]] = [[] for _ in platform.tiles]
        self.network: list[Any] = []
        self.used: list[Any] = []
        self.most = 0
        self._actors()
        self._buffers()
        for channel in application.channels:
            for end in (channel.src, channel.dst):
                self._access(channel, end)

    def _actors(self) -> None:
        for actor in self.application.actors:
            self.most += max(actor.ticks.values())
            choices = [self.gone[actor.id]] if actor.id in self.gone else []
            for number, (core, _) in enumerate(self.cores):
                if core.type in actor.ticks:
                    here = self.on[actor.id, number] = self.cp.new_bool_var("")
                    self.load[number].append(actor.ticks[core.type] * here)
                    choices.append(here)
            self.cp.add_exactly_one(choices)

    def _buffers(self) -> None:
        room: list[list[Any]] = [[] for _ in self.cores]
        shared: list[list[Any]] = [[] for _ in self.platform.tiles]
        for channel in self.application.channels:
            for number, (core, _) in enumerate(self.cores):
                if channel.token_bytes <= core.local_bytes:
                    self.local[channel.id, number] = self.cp.new_bool_var("")
            places = []
            for tile in range(len(self.platform.tiles)):
                memory = self.cp.new_bool_var("")
                mine = [self.local[channel.id, core] for core in self.of_tile[tile] if (channel.id, core) in self.local]
                self.inside[channel.id, tile] = memory + sum(mine)
                places += [memory, *mine]
                shared[tile].append(self._room(channel, memory))
            for number in range(len(self.cores)):
                if (channel.id, number) in self.local:
                    room[number].append(self._room(channel, self.local[channel.id, number]))
            self.cp.add_at_most_one(places)  # none: the global memory
        self._near_its_actors()
        for channel in self.application.channels:
            if channel.src in self.gone:
                self._follow(channel, self.into[channel.src])
        for number, (core, _) in enumerate(self.cores):
            self.cp.add(sum(room[number]) <= core.local_bytes)
        for held, home in zip(shared, self.platform.tiles, strict=True):
            self.cp.add(sum(held) <= home.tile_memory_bytes)

    def _near_its_actors(self) -> None:
        """A buffer is in the memory of a core or tile of an actor that writes or reads it, or in the global one."""
        for group in channels_together(self.application).values():
            actors = sorted({end for channel in group for end in (channel.src, channel.dst)})
            at = [
                [self.on[name, core] for name in actors if (name, core) in self.on] for core in range(len(self.cores))
            ]
            for channel in group:
                for tile, cores in enumerate(self.of_tile):
                    self.cp.add(self.inside[channel.id, tile] <= sum(sum(at[core]) for core in cores))
                    for core in cores:
                        if (channel.id, core) in self.local:
                            self.cp.add(self.local[channel.id, core] <= sum(at[core]))

    def _room(self, channel: Channel, here: Any) -> Any:
        size = max(1, channel.delay) * channel.token_bytes
        if channel.src not in self.gone:
            return size * here
        own = self.cp.new_bool_var("")
        self.cp.add(own >= here - self.gone[channel.src])
        return size * own

    def _follow(self, channel: Channel, root: Channel) -> None:
        replaced = self.gone[channel.src]
        for number in range(len(self.cores)):
            if (channel.id, number) in self.local:
                same = self.local[channel.id, number] == self.local[root.id, number]
                self.cp.add(same).only_enforce_if(replaced)
        for tile in range(len(self.platform.tiles)):
            same = self.inside[channel.id, tile] == self.inside[root.id, tile]
            self.cp.add(same).only_enforce_if(replaced)

    def _access(self, channel: Channel, actor: str) -> None:
        """An access takes the crossbar of the actor's tile; outside of it also the network and that of the buffer."""
        per_second, size = self.application.ticks_per_second, channel.token_bytes
        slowest = 0
        for number, tile in enumerate(self.platform.tiles):
            near = ticks_for(size, tile.crossbar_bytes_per_s, per_second)
            far = ticks_for(size, min(tile.crossbar_bytes_per_s, self.platform.noc_bytes_per_s), per_second)
            slowest = max(slowest, far)
            actors = []
            for core in self.of_tile[number]:
                if (actor, core) not in self.on:
                    continue
                here = self.on[actor, core]
                away = self.cp.new_bool_var("")
                self.cp.add(away >= here - self.inside[channel.id, number])
                terms = [near * here, (far - near) * away]
                if (channel.id, core) in self.local:
                    both = self.cp.new_bool_var("")
                    self.cp.add_implication(both, here)
                    self.cp.add_implication(both, self.local[channel.id, core])
                    terms.append(-near * both)
                self.load[core] += terms
                self.crossbar[number] += terms
                self.network.append(far * away)
                actors.append(here)
            guest = self.cp.new_bool_var("")
            self.cp.add(guest >= self.inside[channel.id, number] - sum(actors) - self.gone.get(actor, 0))
            self.crossbar[number].append(far * guest)
        self.most += slowest

    def limit(self, budget: float, known: int) -> None:
        """Let the cores in use cost at most ``budget``, and the period be the largest load, ``known`` at least."""
        period = self.cp.new_int_var(known, max(known, self.most), "period")
        prices = self._prices(budget)
        used = self.used
        for load in self.load:
            is_used = self.cp.new_bool_var("")
            used.append(is_used)
            self.cp.add(sum(load) <= period)
            self.cp.add(sum(load) <= self.most * is_used)
        for (_, core), here in self.on.items():
            self.cp.add_implication(here, used[core])
        for load in (*self.crossbar, self.network):
            self.cp.add(sum(load) <= period)
        self.cp.add(sum(price * here for price, here in zip(prices[1:], used, strict=True)) <= prices[0])
        if max(prices) * self.most * len(used) <= _MOST_SUM:  # follows, but not for the solver's relaxation
            work = sum(price * sum(load) for price, load in zip(prices[1:], self.load, strict=True))
            self.cp.add(work <= prices[0] * period)
        self._order(used, prices[1:])
        self.cp.minimize(period)

    def _prices(self, budget: float) -> list[int]:
        """Return the budget, rounded up, and the price of every core, rounded down."""
        costs = [self.platform.core_types[core.type].cost for core, _ in self.cores]
        unit = _COST_UNITS if max(costs) <= _COST_UNITS else Fraction(_COST_UNITS**2) / Fraction(max(costs))
        return [math.ceil(Fraction(budget) * unit), *(math.floor(Fraction(cost) * unit) for cost in costs)]

    def _order(self, used: Sequence[Any], prices: Sequence[int]) -> None:
        """Of equal cores of a tile the first are used first, and of equal tiles the first are used most."""
        for members in self.of_tile:
            for one, other in pairwise(members):
                if self._kind(one) == self._kind(other):
                    self.cp.add(used[one] >= used[other])
        for one, other in pairwise(range(len(self.of_tile))):
            if self._tile(one) == self._tile(other):
                price = [sum(prices[core] * used[core] for core in self.of_tile[tile]) for tile in (one, other)]
                self.cp.add(price[0] >= price[1])

    def _kind(self, core: int) -> tuple[str, int]:
        return self.cores[core][0].type, self.cores[core][0].local_bytes

    def _tile(self, tile: int) -> tuple[Any, ...]:
        found = self.platform.tiles[tile]
        kinds = [self._kind(core) for core in self.of_tile[tile]]
        return kinds, found.tile_memory_bytes, found.crossbar_bytes_per_s
