"""One plan of two: stretch by stretch the better one, or the one of the lower price at nearly the same cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from shorthaul.tensor.networks.model import Network
from shorthaul.tensor.networks.plan import NetworkPlan


@dataclass(frozen=True, slots=True)
class Amounts:
    """What something costs, in seconds, and its price, in joules or bytes, that counts among plans of nearly that cost.

    Where energy is the objective, the two are exchanged.
    """

    cost: float
    price: float

    def __add__(self, other: Amounts) -> Amounts:
        return Amounts(self.cost + other.cost, self.price + other.price)

    @property
    def product(self) -> float:
        """The product of cost and price, as in the energy-delay product."""
        return self.cost * self.price


def preferred(amounts: Sequence[Amounts], nearly: float, most: float = float("inf")) -> int:
    """Return the best of several plans: of those that cost a share of ``nearly`` more at most, that of least product.

    None that costs more than ``most`` is, unless all do.
    """
    limit = max(min(item.cost for item in amounts) * (1 + nearly), 0.0)
    near = [number for number, item in enumerate(amounts) if item.cost <= min(limit, most)]
    least = min(range(len(amounts)), key=lambda number: (amounts[number].cost, amounts[number].price))
    return min(near or [least], key=lambda number: (amounts[number].product, amounts[number].cost))


def combined(
    network: Network,
    plans: tuple[NetworkPlan, NetworkPlan],
    amounts: tuple[Sequence[Amounts], Sequence[Amounts]],
    nearly: float,
) -> NetworkPlan:
    """Return the best of two plans stretch by stretch; ``amounts`` are those of their groups.

    Where the same operators are done in both and nothing is kept near, one may go on as the other.
    """
    parts = _stretches(network, plans)
    sums = [
        tuple(sum(own[begin:end], Amounts(0.0, 0.0)) for own, (begin, end) in zip(amounts, part, strict=True))
        for part in parts
    ]
    taken = [min((0, 1), key=lambda one: (pair[one].cost, pair[one].price)) for pair in sums]
    whole = sum((pair[one] for pair, one in zip(sums, taken, strict=True)), Amounts(0.0, 0.0))
    most = whole.cost * (1 + nearly)
    changes = []
    for number, (pair, one) in enumerate(zip(sums, taken, strict=True)):
        dearer, saved = pair[1 - one].cost - pair[one].cost, pair[one].price - pair[1 - one].price
        if saved > 0:
            changes.append((dearer / saved, number, Amounts(dearer, -saved)))
    for _, number, change in sorted(changes, key=lambda item: item[:2]):
        after = whole + change
        if after.cost <= most and after.product < whole.product:
            whole, taken[number] = after, 1 - taken[number]
    ends = [(plans[one], part[one]) for part, one in zip(parts, taken, strict=True)]
    return NetworkPlan(tuple(group for plan, (begin, end) in ends for group in plan.groups[begin:end]))


def _stretches(
    network: Network, plans: tuple[NetworkPlan, NetworkPlan]
) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return the shortest stretches of two plans that do the same operators, and keep nothing near beyond their end."""
    crossed = [_kept_across(network, plan) for plan in plans]
    more: Counter[int] = Counter()
    open_in = [0, 0]  # how many operators one plan has done more often than the other one
    at, begun, found = [0, 0], [0, 0], []
    while at[0] < len(plans[0].groups) or at[1] < len(plans[1].groups):
        # The plan goes on that has not done all that the other one has; the first one, if there is no such plan.
        one = 0 if open_in[1] or not open_in[0] else 1
        if at[one] == len(plans[one].groups):
            one = 1 - one
        for operator in plans[one].groups[at[one]].operators:
            before = more[operator]
            more[operator] += 1 - 2 * one
            for side, sign in ((0, 1), (1, -1)):
                open_in[side] += (more[operator] * sign > 0) - (before * sign > 0)
        at[one] += 1
        if not any(open_in) and not any(own[place] for own, place in zip(crossed, at, strict=True)):
            found.append(((begun[0], at[0]), (begun[1], at[1])))
            begun = list(at)
    return found


def _kept_across(network: Network, plan: NetworkPlan) -> list[bool]:
    """Return, for every place between groups, whether a tensor is kept near there."""
    place = {operator: number for number, group in enumerate(plan.groups) for operator in group.operators}
    across = [False] * (len(plan.groups) + 1)
    for number, group in enumerate(plan.groups):
        for tensor in group.kept:
            last = max((place[reader] for reader in network.consumers[tensor]), default=number)
            across[number + 1 : last + 1] = [True] * max(0, last - number)
    return across
