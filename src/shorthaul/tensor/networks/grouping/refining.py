"""Groups tiled once more by all that they take: what their tiles move further inside, and how they begin and end.

Prices of outer tiles know what passes to the next memory at least. How often it passes depends on the tiles there, and
these on the outer ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from shorthaul.core.search import Search
from shorthaul.tensor.networks.ends import spared_s
from shorthaul.tensor.networks.inner import InnerTilings
from shorthaul.tensor.networks.machine import Machine
from shorthaul.tensor.networks.model import Network
from shorthaul.tensor.networks.plan import Group, Loop
from shorthaul.tensor.networks.pricing import Beside
from shorthaul.tensor.networks.tiling import Tiled, alternatives, grid, priced

#: Tilings of a group looked at whole, and sizes tried for each of their loops.
_MOST_TRIED = 24
_SIZES = 12
#: What one of them costs the search, in its own unit (about a second of one core), for each operator.
_EFFORT = 0.03
#: The share of what the search has spent before that is spent on this, and what it may take at least.
_SHARE, _LEAST = 0.3, 1.5


@dataclass(frozen=True, slots=True)
class Place:
    """What a group is beside: the room for it, tensors held near, its neighbours, and what others need of it."""

    room: float
    near: frozenset[int]
    beside: Beside
    stored: frozenset[int]


@dataclass(slots=True)
class Refiner:
    """Looks for tiles of groups by all that they take."""

    network: Network
    machine: Machine
    inner: InnerTilings
    search: Search
    _known: dict[tuple[Group, Place], Tiled] = field(default_factory=dict)
    _spent: float = 0.0

    def _is_over(self) -> bool:
        before = self.search.spent() - self._spent
        return self.search.expired() or self._spent > max(_LEAST, _SHARE * before)

    def looks(self) -> bool:
        """Return whether groups are looked at: where memories serve operands of their own.

        Elsewhere it gains little: on ``edge-45nm`` three networks take 0.1 % less with it at most, and planning takes
        two to three times as long.
        """
        return len(self.machine.levels) > 2 and any(level.memories for level in self.machine.levels)

    def with_inner(self, item: Tiled) -> Tiled:
        """Return a group with the tiles of its operators for the memories further inside."""
        return replace(item, group=replace(item.group, inner=self.inner.of(item.group)))

    def better(self, item: Tiled, place: Place) -> Tiled:
        """Return a group with other tiles, if it takes less with all they move inside; with tiles for there."""
        network, operators = self.network, item.group.operators
        best = self.with_inner(item)
        if network.operators[operators[-1]].barrier or self._is_over():
            return best
        if (item.group, place) in self._known:
            return self._known[item.group, place]
        least = self._score(best, place)
        tried = 0

        def look(candidate: Tiled) -> bool:
            nonlocal best, least, tried
            self.search.spend(_EFFORT * len(operators))
            self._spent += _EFFORT * len(operators)
            tried += 1
            one = self.with_inner(replace(candidate, group=replace(candidate.group, kept=item.group.kept)))
            score = self._score(one, place)
            if score >= least * (1 - 1e-9):
                return False
            best, least = one, score
            return True

        stored, near, beside = place.stored, place.near, place.beside
        tilings = alternatives(network, operators, self.machine, stored, place.room, near, beside)
        for score, ends_s, loops in tilings:
            if tried >= _MOST_TRIED or self._is_over():
                break
            if score - ends_s < least:  # what begins and ends beside tiles is what may be saved at most
                group = Group(operators, loops)
                look(priced(network, group, self.machine, stored, near, beside))
        self._climb(lambda: best, look, place)
        self._known[item.group, place] = best
        return best

    def _climb(self, best: Callable[[], Tiled], look: Callable[[Tiled], bool], place: Place) -> None:
        """Try sizes around those of the best tiling, loop by loop, until none helps."""
        improved = True
        while improved and not self._is_over():
            improved = False
            for at, loop in enumerate(best().group.loops):
                sizes = grid(self.network.operators[loop.operator].dims[loop.dim], _SIZES)
                smaller = [size for size in sizes if size < loop.tile][-1:]
                larger = [size for size in sizes if size > loop.tile][:1]
                for size in (*smaller, *larger):
                    loops = list(best().group.loops)
                    if at >= len(loops) or loops[at].dim != loop.dim:
                        break
                    loops[at] = Loop(loop.operator, loop.dim, size)
                    group = Group(best().group.operators, self._cut(loops))
                    one = priced(self.network, group, self.machine, place.stored, place.near, place.beside)
                    if one.peak <= place.room and look(one):
                        improved = True
                        break

    def _cut(self, loops: Sequence[Loop]) -> tuple[Loop, ...]:
        return tuple(loop for loop in loops if loop.tile < self.network.operators[loop.operator].dims[loop.dim])

    def _score(self, item: Tiled, place: Place) -> float:
        """Return seconds to compare: the score of the outer tiles, what passes inside, and less what ends spare."""
        machine = self.machine
        _, seconds, joules = self.inner.costed(item.group)
        worked = max(item.steps_s, item.moved_s)
        score = item.score - spared_s(self.network, machine, item, place.near, place.stored)
        for time, level in zip(seconds, machine.levels[2:], strict=True):
            score += max(0.0, time - worked) if level.double_buffered else time
        each = machine.joules_moved(1.0, 1.0, 2.0) / 2
        if each:
            score += machine.traffic_weight * joules / each / machine.levels[0].bandwidth_bytes_per_s
        return score
