"""Bounds raised with effort: by loads of tiles, by sets of actors in tiles and on cores."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from shorthaul.core.amounts import Bound
from shorthaul.core.search import Search
from shorthaul.dataflow import tuning
from shorthaul.dataflow.bounds.core_sets import CoreContents
from shorthaul.dataflow.bounds.every_mapping import with_every_mapping
from shorthaul.dataflow.bounds.period import FrontBound
from shorthaul.dataflow.bounds.stretches import Risen, Stretch, in_stretches
from shorthaul.dataflow.bounds.tile_load import with_tile_loads
from shorthaul.dataflow.bounds.tile_sets import TileSets
from shorthaul.dataflow.model import Application, Platform
from shorthaul.dataflow.plan import CorePrices, Point, TilePrices


def raised(
    application: Application, platform: Platform, strategy: str, bounds: FrontBound, search: Search
) -> FrontBound:  # fmt: skip
    """Return the bounds that the effort raises; without one they are left as they are.

    Those that go on from a journal are raised by loads of tiles at least, for which it has no proofs.
    """
    if search.is_unlimited and search.resumed is None:
        return bounds
    part = search.part(tuning.TILE_SHARE, unlimited=tuning.ENOUGH_FOR_BOUNDS)
    bounds = with_tile_loads(application, platform, strategy, bounds, part)
    if search.is_unlimited:
        return _of_all_cores(bounds)
    rest = 1.0 - _share_of_every_mapping(application, search)
    bounds = with_tile_sets(application, platform, bounds, search.part(rest * tuning.TILE_SET_SHARE[0]))
    _keep(search, bounds)
    bounds = at_all_costs(on_cores, Stretch(application, platform, strategy), bounds, search.part(rest))
    _keep(search, bounds)
    bounds = with_every_mapping(application, platform, strategy, bounds, search)
    return _of_all_cores(bounds)


def _share_of_every_mapping(application: Application, search: Search) -> float:
    """Return the share of the effort left that the loads of all mappings get; none where it is not enough for them."""
    tasks = len(application.actors) + 2 * len(application.channels)
    enough = any(tasks <= most and search.left() >= least for most, least in tuning.EVERY_MAPPING_TASKS)
    return tuning.EVERY_MAPPING_SHARE if enough else 0.0


def _keep(search: Search, bounds: FrontBound) -> None:
    """Keep the proofs of bounds where the search is for these: the better the longer all periods."""
    if bounds.proofs:
        proven = [(one["core_cost"], one["period"]) for one in bounds.proofs]
        least = [max((period for up_to, period in proven if up_to >= c), default=0) for c, _ in bounds.period_at_cost]
        search.keep(-sum(least), {"proofs": [*bounds.proofs]}, proves=True)


def with_proofs(bounds: FrontBound, proofs: Sequence[CorePrices | TilePrices]) -> FrontBound:
    """Return the bounds with the least periods that proofs have."""
    least = dict(bounds.period_at_cost)
    for proof in proofs:
        least |= {cost: max(low, proof["period"]) for cost, low in least.items() if cost <= proof["core_cost"]}
    return _of_all_cores(_proven(bounds, least, {one["core_cost"]: one for one in proofs if one["core_cost"] in least}))


def raised_beside(
    application: Application, platform: Platform, strategy: str, bounds: FrontBound, points: Sequence[Point],
    search: Search,
) -> FrontBound:  # fmt: skip
    """Return the bounds, raised at the core costs of points, with a share of the effort that these took beside it."""
    known: dict[float, float] = {}
    costs = sorted(cost for cost, _ in bounds.period_at_cost)
    for below, cost in pairwise([-math.inf, *costs]):
        if any(below < point.core_cost <= cost for point in points):
            known[cost] = min(point.period for point in points if point.core_cost <= cost)
    search.keep_back(search.remaining_s() / 4 if search.time_limit is not None else 0.0)
    least = dict(bounds.period_at_cost)
    widest = max((period / least[cost] for cost, period in known.items()), default=1.0)
    share = min(max(tuning.BOUND_SHARE_OF_GAP * (widest - 1), tuning.BOUND_SHARE[0]), tuning.BOUND_SHARE[1])
    effort = share * search.spent()
    beside = search.beside(max(effort, tuning.ENOUGH_FOR_BOUNDS))
    if min(effort, beside.left()) > tuning.LEAST_BOUND_EFFORT:
        bounds = raised_at(application, platform, strategy, bounds, known, beside)
    search.keep_back(0.0)
    return bounds


def raised_at(
    application: Application, platform: Platform, strategy: str, bounds: FrontBound, known: Mapping[float, float],
    search: Search,
) -> FrontBound:  # fmt: skip
    """Return the bounds, raised at core costs at which periods are ``known``, up to these."""
    bounds = with_tile_loads(application, platform, strategy, bounds, search.part(tuning.TILE_SHARE))
    rest = 1.0 - _share_of_every_mapping(application, search)
    of_tiles = search.part(rest * tuning.TILE_SET_SHARE[1])
    if of_tiles.left() > tuning.ENOUGH_FOR_BOUNDS:
        bounds = with_tile_sets(application, platform, bounds, of_tiles, known)
    bounds = with_core_sets(CoreContents(application, platform, strategy), bounds, search.part(rest), known)
    return _of_all_cores(with_every_mapping(application, platform, strategy, bounds, search, known))


def _of_all_cores(bounds: FrontBound) -> FrontBound:
    """Return the bounds with the least period of all cores for that of every mapping, where it is longer."""
    least = max((period for _, period in bounds.period_at_cost[-1:]), default=0)
    if least <= bounds.period.value:
        return bounds
    proof = f"on all cores, no whole actors on cores and whole buffers in memories let all end in {least - 1} ticks"
    return dataclasses.replace(bounds, period=Bound("period", least, "loads on all cores", proof))


def with_tile_sets(
    application: Application, platform: Platform, bounds: FrontBound, search: Search,
    known: Mapping[float, float] | None = None,
) -> FrontBound:  # fmt: skip
    """Return the bounds with least periods that no sets of actors in tiles fall below: of all cores first.

    Where periods are ``known`` and nothing was found there, nothing is looked for at lower core costs: sets in tiles
    hardly say more there, other bounds do.
    """
    contents = TileSets(application, platform)
    if not contents.applies or not bounds.period_at_cost:
        return bounds
    total = max(cost for cost, _ in bounds.period_at_cost)
    least = min(known.values()) if known else math.inf
    share, enough = tuning.ALL_CORES_SHARE[known is not None], tuning.ENOUGH_FOR_ALL_CORES
    part = search.part(max(share, min(enough[0], enough[1] / max(search.left(), enough[1]))))
    bounds = with_sets(contents, bounds, part, {total: least})
    proven = max((proof["period"] for proof in bounds.proofs if proof["core_cost"] == total), default=0)
    if proven > bounds.period.value:
        proof = f"no sets of actors in tiles let cores, crossbars and the network do all in {proven - 1} ticks"
        bounds = dataclasses.replace(bounds, period=Bound("period", proven, "sets of actors in tiles", proof))
    if known is None:
        return at_all_costs(_in_tiles, Stretch(application, platform, ""), bounds, search)
    return with_sets(contents, bounds, search, known) if proven else bounds


def at_all_costs(
    function: Callable[[Stretch, Search], Risen], whole: Stretch, bounds: FrontBound, search: Search
) -> FrontBound:
    """Return the bounds, raised at all core costs, and the proofs."""
    curve, found = in_stretches(function, whole, bounds, search)
    return _proven(bounds, dict(curve), {proof["core_cost"]: proof for proof in (*bounds.proofs, *found)})


def on_cores(stretch: Stretch, search: Search) -> Risen:
    """Return the bounds of a stretch by sets of actors on cores."""
    contents = CoreContents(stretch.application, stretch.platform, stretch.strategy)
    least: dict[float, int] = {}
    for cost, known in stretch.least:
        least[cost] = max(known, *least.values()) if least else known
    proofs: dict[float, CorePrices] = {}
    for tolerance in tuning.CORE_SET_TOLERANCES if contents.applies else ():
        for number, cost in enumerate(least):
            part = search.part(1 / (len(least) - number))
            least, found = contents.raised(least, {cost: math.inf}, tolerance, part)
            proofs |= found
    return Risen(least, tuple(proofs.values()))


def _in_tiles(stretch: Stretch, search: Search) -> Risen:
    """Return the bounds of a stretch by sets of actors in tiles, from the highest core cost on, with their proofs."""
    contents = TileSets(stretch.application, stretch.platform)
    low, least, proofs = 0, {}, []
    for number, (cost, known) in enumerate(stretch.least):
        low = max(low, known)
        part = search.part(1 / (len(stretch.least) - number))
        proof = None if search.expired() else contents.highest(cost, low, math.inf, part)
        if proof is not None:
            low = proof["period"]
            proofs.append(proof)
        least[cost] = low
    return Risen(least, tuple(proofs))


def _proven(
    bounds: FrontBound, least: Mapping[float, int], proofs: Mapping[float, CorePrices | TilePrices]
) -> FrontBound:
    """Return the bounds with least periods per core cost, and those proofs whose periods are the least ones."""
    kept = [proofs[cost] for cost in sorted(proofs, reverse=True) if least[cost] == proofs[cost]["period"]]
    return dataclasses.replace(bounds, period_at_cost=tuple(least.items()), proofs=tuple(kept))


def with_sets(contents: TileSets, bounds: FrontBound, search: Search, known: Mapping[float, float]) -> FrontBound:
    """Return the bounds with least periods per core cost that no sets of actors in tiles fall below, and the proofs.

    ``known`` holds periods of plans by core cost; other core costs, and bounds close to those, are left as they are.
    """
    least = dict(bounds.period_at_cost)
    left = [cost for cost in least if cost in known]
    proofs: dict[float, CorePrices | TilePrices] = {proof["core_cost"]: proof for proof in bounds.proofs}
    while left and not search.expired():
        cost = max(left, key=lambda cost: (known[cost] / least[cost], cost))
        part = search.part(max(1 / len(left), tuning.WIDEST_GAP_SHARE))
        left.remove(cost)
        proof = contents.highest(cost, least[cost], known[cost], part)
        if proof is not None:
            proofs[cost] = proof
            least |= {below: max(low, proof["period"]) for below, low in least.items() if below <= cost}
    return _proven(bounds, least, proofs)


def with_core_sets(
    contents: CoreContents, bounds: FrontBound, search: Search, known: Mapping[float, float]
) -> FrontBound:  # fmt: skip
    """Return the bounds with least periods per core cost that no sets of actors on cores fall below, and the proofs.

    ``known`` holds periods of plans by core cost; other core costs, and bounds close to those, are left as they are.
    """
    if not contents.applies:
        return bounds
    least = dict(bounds.period_at_cost)
    proofs: dict[float, CorePrices | TilePrices] = {proof["core_cost"]: proof for proof in bounds.proofs}
    at = {cost: known[cost] for cost in least if cost in known}
    for tolerance in tuning.CORE_SET_TOLERANCES:
        least, found = contents.raised(least, at, tolerance, search)
        proofs |= found
    return _proven(bounds, least, proofs)
