"""What a certificate prices beside what every group does: that groups come one after the other.

*Supports*: a set of deeds (operators run, tensors stored, tensors retained), one of which at least is an operator, so
every plan does some of it. The first group to do so cannot rest on a deed of the set: what it loads was stored before,
what it finds resident was retained before. A group that does a deed of the set and rests on none gets its price.

*Successions*: sets of tensors. Who finds all tensors of one of them resident comes at once after a group that retains
them all, and every group is followed by one other. So the latter get the price, and the former pay it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from shorthaul.tensor.model import Problem

#: A deed: "run" and an operator, "stored" or "retained" and a tensor.
Deed = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Turns:
    """Sets of deeds, and sets of sets of tensors, each with its price."""

    supports: Sequence[tuple[frozenset[Deed], float]] = ()
    successions: Sequence[tuple[frozenset[frozenset[int]], float]] = ()

    def lowered(self, part: float) -> Turns:
        """Return the same at ``part`` of its prices."""
        return Turns(
            [(deeds, price * part) for deeds, price in self.supports],
            [(sets, price * part) for sets, price in self.successions],
        )


NO_TURNS: Final = Turns()


class History(NamedTuple):
    """Sets that a group did a deed of, sets that it rests on, by number; and tensors found and kept of successions."""

    did: frozenset[int] = frozenset()
    rests: frozenset[int] = frozenset()
    found: frozenset[int] = frozenset()
    kept: frozenset[int] = frozenset()


class Histories:
    """Works out what operators that join add to the history of their group, and what that is worth."""

    def __init__(self, problem: Problem, turns: Turns, order: Sequence[int]) -> None:
        self._turns = turns
        place = {operator: number for number, operator in enumerate(order)}

        def until(kind: str, number: int) -> int:
            if kind == "run":
                return place[number]
            around = [*problem.consumers[number], problem.producer[number]]
            return max(place[operator] for operator in around if operator is not None)

        self._set_ends = [max(until(*deed) for deed in deeds) for deeds, _ in turns.supports]
        self._tensor_ends: dict[int, int] = {}
        for sets, _ in turns.successions:
            members = {tensor for each in sets for tensor in each}
            end = max(until("retained", tensor) for tensor in members)
            for tensor in members:
                self._tensor_ends[tensor] = max(end, self._tensor_ends.get(tensor, 0))

    def did(self, history: History, deeds: Iterable[Deed]) -> tuple[History, float]:
        """Return the history of a group after it did something, and the gain."""
        deeds = set(deeds)
        gain = 0.0
        fresh = set()
        for number, (wanted, price) in enumerate(self._turns.supports):
            if number not in history.did and not deeds.isdisjoint(wanted):
                fresh.add(number)
                gain += 0.0 if number in history.rests else price
        kept = history.kept | {tensor for kind, tensor in deeds if kind == "retained" and tensor in self._tensor_ends}
        gain += self._held(kept) - self._held(history.kept)
        return history._replace(did=history.did | fresh, kept=kept), gain

    def rests(self, history: History, deeds: Iterable[Deed]) -> tuple[History, float]:
        """Return the history of a group that rests on deeds of others, and the gain: none, or less."""
        deeds = set(deeds)
        gain = 0.0
        fresh = set()
        for number, (wanted, price) in enumerate(self._turns.supports):
            if number not in history.rests and not deeds.isdisjoint(wanted):
                fresh.add(number)
                gain -= price if number in history.did else 0.0
        found = history.found | {tensor for kind, tensor in deeds if kind == "retained" and tensor in self._tensor_ends}
        gain -= self._held(found) - self._held(history.found)
        return history._replace(rests=history.rests | fresh, found=found), gain

    def _held(self, tensors: frozenset[int]) -> float:
        """Return the prices of successions of which these tensors hold a set."""
        return sum(price for sets, price in self._turns.successions if any(each <= tensors for each in sets))

    def recent(self, history: History, place: int) -> History:
        """Return of a history what still matters after a place in the order."""
        if history == History():
            return history
        did, rests = (frozenset(n for n in numbers if self._set_ends[n] > place) for numbers in history[:2])
        found, kept = (frozenset(t for t in tensors if self._tensor_ends[t] > place) for tensors in history[2:])
        return History(did - rests, rests, found, kept)
