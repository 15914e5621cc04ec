"""The least load of the tile of one actor: of its crossbar, and of the core that executes the actor.

Which actors share the tile is decided by CP-SAT, where nothing is asked of other tiles. A token that actors in the tile
share with actors outside crosses the crossbar and the network.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

from shorthaul.core.amounts import Bound
from shorthaul.core.search import Search
from shorthaul.core.searching.cp_sat import solve_model
from shorthaul.dataflow import tuning
from shorthaul.dataflow.bounds.firings import carried_near, channels_together
from shorthaul.dataflow.bounds.period import FrontBound
from shorthaul.dataflow.bounds.prices import least_bytes
from shorthaul.dataflow.model import Application, Channel, Platform, Tile, ticks_for

#: Sums of ticks and bytes above these are left out: work is counted in thousandths, and products need 63 bits.
_MOST_SUM: Final = 2**43
_MOST_BYTES: Final = 2**53
#: The cost of a tile's dearest core in whole numbers, for sums of work.
_UNITS: Final = 1000


def with_tile_loads(
    application: Application, platform: Platform, strategy: str, bounds: FrontBound, search: Search
) -> FrontBound:  # fmt: skip
    """Return the bounds with the least load of the tile of the actor that crossbars carry most for."""
    kept = [actor.id for actor in application.actors if actor.kind != "multicast" or strategy == "reference"]
    carried = carried_near(application, platform, kept)
    name = max(kept, key=lambda name: carried[name], default="")
    least = least_tile_load(application, platform, strategy, name, search) if carried.get(name) else 0
    if least > bounds.period.value:
        proof = f"wherever {name} is, its core or the crossbar of its tile is busy for {least} ticks"
        bounds = dataclasses.replace(bounds, period=Bound("period", least, "tile of one actor", proof))
    curve = tuple((cost, max(known, int(bounds.period.value))) for cost, known in bounds.period_at_cost)
    return dataclasses.replace(bounds, period_at_cost=curve)


def least_tile_load(application: Application, platform: Platform, strategy: str, name: str, search: Search) -> int:
    """Return a lower bound on the period of every mapping: the least over all kinds of tiles that ``name`` can be in.

    It is 0 if the effort is not enough.
    """
    from ortools.sat.python import cp_model

    runs = set(next(actor for actor in application.actors if actor.id == name).ticks)
    kinds = {_kind(tile): tile for tile in platform.tiles if runs & {core.type for core in tile.cores}}
    found: list[int] = []
    for number, tile in enumerate(kinds.values()):
        effort = (len(application.actors) + 2 * len(application.channels)) / tuning.TILE_MODEL_TERMS
        part = search.part(1 / (len(kinds) - number))
        if effort > min(part.left(), part.remaining_s()):
            return 0
        part.spend(effort)
        model = _TileModel(cp_model.CpModel(), application, platform, tile, strategy)
        model.cp.add(model.here[name] == 1)
        least = _least_period(model, name, part)
        if not least:
            return 0
        found.append(least)
    return min(found)


def _kind(tile: Tile) -> tuple[object, ...]:
    cores = sorted((core.type, core.local_bytes) for core in tile.cores)
    return tile.crossbar_bytes_per_s, tile.tile_memory_bytes, tuple(cores)


def _least_period(model: _TileModel, name: str, search: Search) -> int:
    """Return a lower bound on the largest load: of the crossbar, and of the core of an actor; 0 if there is none."""
    from ortools.sat.python import cp_model

    if model.most > _MOST_SUM or model.bytes > _MOST_BYTES:
        return 0
    period = model.cp.new_int_var(0, max(1, model.most), "period")
    model.limit(period, name)
    model.cp.minimize(period)
    status, solver = solve_model(model.cp, search)
    if status not in {cp_model.OPTIMAL, cp_model.FEASIBLE, cp_model.UNKNOWN}:
        return 0
    return max(0, math.ceil(float(solver.best_objective_bound) - 1e-6))


class _TileModel:
    """``here[actor]`` says which actors are in the tile.

    What channels load the crossbar with, at least, whose buffers are one if all multicasts are replaced: with the
    buffer in the tile, each access from elsewhere crosses the network, and each from the tile the crossbar unless it is
    local; with the buffer elsewhere, each access from the tile crosses the network. With one multicast that is kept the
    same holds by where the multicast is. With several, a token crosses the network at least once if actors are on both
    sides. Buffers of channels without multicasts take room in the tile's memory, or in that of a core.
    """

    def __init__(self, cp: Any, application: Application, platform: Platform, tile: Tile, strategy: str) -> None:
        self.cp = cp
        self.tile, self.application = tile, application
        multicasts = set() if strategy == "reference" else set(application.multicasts)
        self.here = {a.id: self.cp.new_bool_var(a.id) for a in application.actors if a.id not in multicasts}
        self.largest = max(core.local_bytes for core in tile.cores)
        self.far_bytes_per_s = min(tile.crossbar_bytes_per_s, platform.noc_bytes_per_s)
        self.loads: list[Any] = []
        self.on_core: dict[str, list[Any]] = {name: [] for name in self.here}
        self.room: list[Any] = []
        self.shared: list[Any] = []
        costs = {core.type: Fraction(platform.core_types[core.type].cost) for core in tile.cores}
        unit = Fraction(_UNITS) / max(costs.values()) if max(costs.values()) > 0 else Fraction(1)
        self.costs = {kind: math.floor(cost * unit) for kind, cost in costs.items()}
        self.most = sum(max(actor.ticks.values()) for actor in application.actors)
        self.bytes = sum(c.token_bytes * max(1, c.delay) for c in application.channels)
        groups: list[list[Channel]] = [[channel] for channel in application.channels]
        if strategy != "reference":
            groups = [*channels_together(application).values()]
        for group in groups:
            passed = {end for channel in group for end in (channel.src, channel.dst) if end in multicasts}
            self._carry(group, kept=0 if strategy == "mrb-always" else len(passed))
        self.cp.add(sum(self.room) <= sum(core.local_bytes for core in tile.cores))
        self.cp.add(sum(self.shared) <= tile.tile_memory_bytes)

    def _carry(self, group: Sequence[Channel], *, kept: int) -> None:
        """Add what a buffer loads the crossbar with, and cores; ``kept`` multicasts may pass it on."""
        ends = [end for channel in group for end in (channel.src, channel.dst) if end in self.here]
        per_second, token = self.application.ticks_per_second, group[0].token_bytes
        near, far = (
            ticks_for(token, speed, per_second) for speed in (self.tile.crossbar_bytes_per_s, self.far_bytes_per_s)
        )
        count, size = len(ends), least_bytes(group)
        among = sum(self.here[end] for end in ends)
        load = self.cp.new_int_var(0, 2 * count * far, "")
        self.most += 2 * count * far
        inside = self.cp.new_bool_var("")
        local: Any = 0
        self.cp.add(among >= inside)
        if size <= self.largest:
            local = self.cp.new_bool_var("")
            self.cp.add_implication(local, inside)
            self.room.append(size * local)
        if kept == 0:
            self.shared += [size * inside, -size * local]
        if kept <= 1:
            outside = far * (count - among)
            self.cp.add(load >= outside + near * among - near * count * local).only_enforce_if(inside)
            self.cp.add(load >= far * among).only_enforce_if(~inside)
        else:
            self.cp.add(load >= near * among - near * count * local)
        for one, other in dict.fromkeys((ends[0], end) for end in ends[1:] if end != ends[0]):
            self.cp.add(load >= far * self.here[one] - far * self.here[other])
            self.cp.add(load >= far * self.here[other] - far * self.here[one])
        self.loads.append(load)
        for end in dict.fromkeys(ends):
            times = ends.count(end)
            self.on_core[end] += [times * far - times * (far - near) * inside, -times * near * local]

    def limit(self, period: Any, name: str) -> None:
        """Let the crossbar, the core of ``name``, which is here, and all cores together have time enough."""
        self.cp.add(sum(self.loads) <= period)
        work = []
        for actor in self.application.actors:
            if actor.id not in self.here:
                continue
            here = self.here[actor.id]
            ticks = {kind: time for kind, time in actor.ticks.items() if kind in self.costs}
            if not ticks:
                self.cp.add(here == 0)
                continue
            work.append(min(self.costs[kind] * time for kind, time in ticks.items()) * here)
            if actor.id == name:
                load = min(ticks.values()) + sum(self.on_core[actor.id])
                self.cp.add(load <= period).only_enforce_if(here)
        self.cp.add(sum(work) <= sum(self.costs[core.type] for core in self.tile.cores) * period)
