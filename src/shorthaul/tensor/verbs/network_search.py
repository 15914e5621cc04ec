"""The search for plans of networks: what it keeps while it goes on, and which of its answers is the best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Final

from shorthaul.core.errors import DefectError
from shorthaul.core.search import Search
from shorthaul.tensor.check.network_replay import NetworkReplay
from shorthaul.tensor.networks.bounds.latency import bound
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

#: By objective: what a second of traffic is worth (:class:`Machine`). With weights of 0.03 and 0.003 layers take up to
#: 2 % less time than with 0.1, and up to 1.3 times the energy.
_WEIGHTS: Final = {"balanced": TRAFFIC_WEIGHT, "time": 0.1, "energy": 10.0}
#: The share of the least time that others may take more, of which that of the least product of time and energy is the
#: balanced answer. BERT on ``edge-45nm`` moves 36 % less in 0.3 % more time so.
_NEARLY: Final = 0.01
#: The share of the effort that tiling the groups found for another objective takes at most, beside it.
_SHARE_OF_TILING: Final = 0.5


@dataclass(frozen=True, slots=True)
class Amounts:
    """What a plan costs, in seconds, and its price, in joules or bytes, that counts among plans of nearly that cost.

    Where energy is the objective, the two are exchanged.
    """

    cost: float
    price: float

    @property
    def product(self) -> float:
        """The product of cost and price, as in the energy-delay product."""
        return self.cost * self.price


def planned(
    network: Network, machine: Machine, search: Search, objective: str = "balanced"
) -> tuple[NetworkPlan, NetworkReplay]:
    """Return the best plan found, and its replay: that from which the search goes on, if it finds no better one.

    The balanced search comes first, whole. For time or energy its plan is one of those of which the answer takes least;
    the others are searched for with a weight of traffic of their own, or have the same groups if no effort is left.
    Where the objective is balanced, of plans nearly as fast as the fastest the answer is that of the least product of
    time and energy, or bytes where the machine has no energies, unless the fastest meets its bound.
    """
    if search.time_limit is not None:
        search.keep_back(_SHARE_OF_THE_CHECK * search.remaining_s())

    next_s = search.elapsed_s() + _FIRST_KEPT_S

    found: list[tuple[NetworkPlan, NetworkReplay]] = []
    amounts: list[Amounts] = []

    def add(plan: NetworkPlan) -> None:
        found.append((plan, _sound(network, machine, plan)))
        amounts.append(_amounts(network, machine, *found[-1]))

    def least_of(aim: str) -> int:
        return min(range(len(found)), key=lambda number: astuple(_for(amounts[number], aim)))

    def keep(make: Callable[[], NetworkPlan]) -> None:
        """Keep plans of the search as it goes on, where that takes a small share of its time."""
        nonlocal next_s
        began_s = search.elapsed_s()
        if search.keeps and began_s >= next_s and not search.expired():  # when it has, the plan comes at once
            made = make()
            own = _amounts(network, machine, made, _sound(network, machine, made))
            search.keep(_for(own, objective).cost, made)
            next_s = search.elapsed_s() + max(_FIRST_KEPT_S, _SHARE_OF_KEEPING * (search.elapsed_s() - began_s))

    start = search.start()
    if start is not None:
        add(start)
    for aim in dict.fromkeys(("balanced", objective)):
        part, begun = search, start
        if aim != "balanced" and search.expired():
            if search.effort is None:
                break
            part, begun = search.beside(_SHARE_OF_TILING * search.effort), found[least_of(aim)][0]
        on = replace(machine, traffic_weight=_WEIGHTS[aim])
        for tiled in fuse(network, on, part, float(machine.levels[1].capacity_bytes or 0), begun, keep):
            add(NetworkPlan(tuple(item.group for item in tiled)))
            search.keep(_for(amounts[-1], objective).cost, found[-1][0])
    least = least_of(objective)
    if objective != "balanced":
        return found[least]
    best = preferred(amounts, _NEARLY, amounts[0].cost if start is not None else float("inf"))
    return found[least if best != least and bound(network, machine).is_met_by(amounts[least].cost) else best]


def preferred(amounts: Sequence[Amounts], nearly: float, most: float = float("inf")) -> int:
    """Return the best of several plans: of those that cost a share of ``nearly`` more at most, that of least product.

    None that costs more than ``most`` is, unless all do.
    """
    limit = max(min(item.cost for item in amounts) * (1 + nearly), 0.0)
    near = [number for number, item in enumerate(amounts) if item.cost <= min(limit, most)]
    least = min(range(len(amounts)), key=lambda number: astuple(amounts[number]))
    return min(near or [least], key=lambda number: (amounts[number].product, amounts[number].cost))


def _amounts(network: Network, machine: Machine, plan: NetworkPlan, replayed: NetworkReplay) -> Amounts:
    """Return the seconds of a plan and its joules, or bytes if the machine lacks an energy."""
    rows = rows_of(network, machine, plan, replayed)
    by_bytes = any(row.energy is None for row in rows)
    prices = (row.loads + row.stores if by_bytes else row.energy or 0.0 for row in rows)
    return Amounts(sum(row.latency_s for row in rows), sum(prices))


def _for(amounts: Amounts, aim: str) -> Amounts:
    """Return the same with the objective first."""
    return Amounts(amounts.price, amounts.cost) if aim == "energy" else amounts


def _sound(network: Network, machine: Machine, plan: NetworkPlan) -> NetworkReplay:
    """Return the replay of a plan of our own, which breaks no rule."""
    replayed = replay_on(network, plan, machine)
    if replayed.violations:
        broken = "; ".join(map(str, replayed.violations[:3]))
        raise DefectError(f"the search returned a plan that breaks the rules: {broken}")
    return replayed
