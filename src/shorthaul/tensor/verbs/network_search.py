"""The search for plans of networks: what it keeps while it goes on, and which of its answers is the best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from shorthaul.core.errors import DefectError
from shorthaul.core.search import Search
from shorthaul.tensor.check.network_replay import NetworkReplay
from shorthaul.tensor.networks.bounds.latency import bound
from shorthaul.tensor.networks.grouping.combining import Amounts, combined, preferred
from shorthaul.tensor.networks.grouping.fusion import fuse
from shorthaul.tensor.networks.machine import TRAFFIC_WEIGHT, Machine
from shorthaul.tensor.networks.model import Network
from shorthaul.tensor.networks.plan import NetworkPlan
from shorthaul.tensor.verbs.network_costs import replay_on, rows_of

#: The share of the time left that is kept for the check and the tables.
_SHARE_OF_THE_CHECK: Final = 0.35
#: Seconds before a plan is kept that may yet become better, and between two, in times of what the last one took.
_FIRST_KEPT_S: Final = 2.0
_SHARE_OF_KEEPING: Final = 20

#: By objective: what a second of traffic is worth (:class:`Machine`), search by search, and the share of the least cost
#: that others may cost more, of which that of the least product of time and energy is the answer. BERT on ``edge-45nm``
#: moves 36 % less in 0.3 % more time so. With weights of 0.03 and 0.003 layers take up to 2 % less time than with 0.1,
#: and up to 1.3 times the energy.
_OBJECTIVES: Final = {
    "balanced": ((TRAFFIC_WEIGHT,), 0.01),
    "time": ((TRAFFIC_WEIGHT, 0.1), 0.0),
    "energy": ((TRAFFIC_WEIGHT, 10.0), 0.0),
}


def planned(
    network: Network, machine: Machine, search: Search, objective: str = "balanced"
) -> tuple[NetworkPlan, NetworkReplay]:
    """Return the best plan found, and its replay: that from which the search goes on, if it finds no better one.

    For time or energy as the objective, plans are searched for with its own weight of traffic beside the balanced one,
    and the one that takes least of it is the answer. Where the objective is balanced, of plans nearly as fast as the
    fastest it is that of the least product of time and energy, or bytes where the machine has no energies, unless the
    fastest meets its bound.
    """
    weights, nearly = _OBJECTIVES[objective]
    if search.time_limit is not None:
        search.keep_back(_SHARE_OF_THE_CHECK * search.remaining_s())

    next_s = search.elapsed_s() + _FIRST_KEPT_S

    found: list[tuple[NetworkPlan, NetworkReplay]] = []
    amounts: list[list[Amounts]] = []

    def add(plan: NetworkPlan) -> None:
        found.append((plan, _sound(network, machine, plan)))
        amounts.append(_amounts(network, machine, *found[-1], objective))

    def keep(make: Callable[[], NetworkPlan]) -> None:
        """Keep plans of the search as it goes on, where that takes a small share of its time."""
        nonlocal next_s
        began_s = search.elapsed_s()
        if search.keeps and began_s >= next_s and not search.expired():  # when it has, the plan comes at once
            made = make()
            own = _amounts(network, machine, made, _sound(network, machine, made), objective)
            search.keep(_whole(own).cost, made)
            next_s = search.elapsed_s() + max(_FIRST_KEPT_S, _SHARE_OF_KEEPING * (search.elapsed_s() - began_s))

    start = search.start()
    if start is not None:
        add(start)
    for weight in weights:
        if weight != weights[0] and search.expired():
            break  # a plan for what is asked is never worse than the balanced one of as much effort
        on = replace(machine, traffic_weight=weight)
        for tiled in fuse(network, on, search, float(machine.levels[1].capacity_bytes or 0), start, keep):
            add(NetworkPlan(tuple(item.group for item in tiled)))
            search.keep(_whole(amounts[-1]).cost, found[-1][0])
    if len(found) > 1 and not search.expired():
        one, other = sorted(sorted(range(len(found)), key=lambda number: _whole(amounts[number]).cost)[:2])
        made = combined(network, (found[one][0], found[other][0]), (amounts[one], amounts[other]), nearly)
        if all(made != plan for plan, _ in found):
            add(made)
            search.keep(_whole(amounts[-1]).cost, made)
    wholes = [_whole(own) for own in amounts]
    least = min(range(len(found)), key=lambda number: wholes[number].cost)
    best = preferred(wholes, nearly, wholes[0].cost if start is not None else float("inf"))
    is_bounded = objective == "balanced" and best != least  # what the bound is of are seconds
    return found[least if is_bounded and bound(network, machine).is_met_by(wholes[least].cost) else best]


def _amounts(
    network: Network, machine: Machine, plan: NetworkPlan, replayed: NetworkReplay, objective: str
) -> list[Amounts]:
    """Return the seconds of each group and its joules, or bytes if the machine lacks an energy; the objective first."""
    rows = rows_of(network, machine, plan, replayed)
    by_bytes = any(row.energy is None for row in rows)
    prices = [row.loads + row.stores if by_bytes else row.energy or 0.0 for row in rows]
    pairs = [(row.latency_s, price) for row, price in zip(rows, prices, strict=True)]
    return [Amounts(*(pair[::-1] if objective == "energy" else pair)) for pair in pairs]


def _whole(amounts: Sequence[Amounts]) -> Amounts:
    return sum(amounts, Amounts(0.0, 0.0))


def _sound(network: Network, machine: Machine, plan: NetworkPlan) -> NetworkReplay:
    """Return the replay of a plan of our own, which breaks no rule."""
    replayed = replay_on(network, plan, machine)
    if replayed.violations:
        broken = "; ".join(map(str, replayed.violations[:3]))
        raise DefectError(f"the search returned a plan that breaks the rules: {broken}")
    return replayed
