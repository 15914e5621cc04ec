"""The search for plans of networks: what it keeps while it goes on, and which of its answers is the best."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from shorthaul.core.errors import DefectError
from shorthaul.core.search import Search
from shorthaul.tensor.check.network_replay import NetworkReplay
from shorthaul.tensor.networks.bounds.latency import bound
from shorthaul.tensor.networks.grouping.combining import Amounts, combined, preferred
from shorthaul.tensor.networks.grouping.fusion import fuse
from shorthaul.tensor.networks.machine import Machine
from shorthaul.tensor.networks.model import Network
from shorthaul.tensor.networks.plan import NetworkPlan
from shorthaul.tensor.verbs.network_costs import latency_s, replay_on, rows_of

#: The share of the time left that is kept for the check and the tables.
_SHARE_OF_THE_CHECK: Final = 0.35
#: Seconds before a plan is kept that may yet become better, and between two, in times of what the last one took.
_FIRST_KEPT_S: Final = 2.0
_SHARE_OF_KEEPING: Final = 20

_Found = list[tuple[NetworkPlan, NetworkReplay]]


def planned(network: Network, machine: Machine, search: Search) -> tuple[NetworkPlan, NetworkReplay]:
    """Return the best plan found, and its replay: that from which the search goes on, if it finds no better one.

    Of plans nearly as fast as the fastest it is that of the least product of time and energy, or bytes where the
    machine has no energies, unless the fastest meets its bound.
    """
    if search.time_limit is not None:
        search.keep_back(_SHARE_OF_THE_CHECK * search.remaining_s())

    next_s = search.elapsed_s() + _FIRST_KEPT_S

    def keep(make: Callable[[], NetworkPlan]) -> None:
        """Keep plans of the search as it goes on, where that takes a small share of its time."""
        nonlocal next_s
        began_s = search.elapsed_s()
        if search.keeps and began_s >= next_s and not search.expired():  # when it has, the plan comes at once
            made = make()
            search.keep(latency_s(network, machine, made, _sound(network, machine, made)), made)
            next_s = search.elapsed_s() + max(_FIRST_KEPT_S, _SHARE_OF_KEEPING * (search.elapsed_s() - began_s))

    start = search.start()
    found = [] if start is None else [(start, _sound(network, machine, start))]
    for tiled in fuse(network, machine, search, float(machine.levels[1].capacity_bytes or 0), start, keep):
        plan = NetworkPlan(tuple(item.group for item in tiled))
        found.append((plan, _sound(network, machine, plan)))
        search.keep(latency_s(network, machine, *found[-1]), plan)
    amounts = _priced(network, machine, found)
    if len(found) > 1 and not search.expired():
        made = combined(network, (found[0][0], found[1][0]), (amounts[0], amounts[1]))
        if made not in (found[0][0], found[1][0]):
            found.append((made, _sound(network, machine, made)))
            search.keep(latency_s(network, machine, *found[-1]), made)
            amounts = _priced(network, machine, found)
    wholes = [sum(own, Amounts(0.0, 0.0)) for own in amounts]
    fastest = min(range(len(found)), key=lambda number: wholes[number].seconds)
    best = preferred(wholes, wholes[0].seconds if start is not None else float("inf"))
    return found[fastest if best != fastest and bound(network, machine).is_met_by(wholes[fastest].seconds) else best]


def _priced(network: Network, machine: Machine, found: _Found) -> list[list[Amounts]]:
    """Return the seconds of each group of each plan, and its joules; its bytes if the machine lacks an energy."""
    plans = [rows_of(network, machine, plan, replayed) for plan, replayed in found]
    if any(row.energy is None for rows in plans for row in rows):
        return [[Amounts(row.latency_s, row.loads + row.stores) for row in rows] for rows in plans]
    return [[Amounts(row.latency_s, row.energy or 0.0) for row in rows] for rows in plans]


def _sound(network: Network, machine: Machine, plan: NetworkPlan) -> NetworkReplay:
    """Return the replay of a plan of our own, which breaks no rule."""
    replayed = replay_on(network, plan, machine)
    if replayed.violations:
        broken = "; ".join(map(str, replayed.violations[:3]))
        raise DefectError(f"the search returned a plan that breaks the rules: {broken}")
    return replayed
