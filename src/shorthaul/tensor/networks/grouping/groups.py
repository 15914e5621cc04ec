"""Groups while they are formed: their members, the best tilings of these, and what one group leads to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from shorthaul.core.search import Search
from shorthaul.graphs.csr import from_edges, topological_order
from shorthaul.tensor.networks.machine import Machine
from shorthaul.tensor.networks.model import Access, Network
from shorthaul.tensor.networks.needs import Demand, demands, together
from shorthaul.tensor.networks.plan import Group, Loop
from shorthaul.tensor.networks.pricing import Beside
from shorthaul.tensor.networks.tiling import Tiled, best_tiling, least_score, priced

#: Operators of a group at most, and tensors that they read. With 16 operators ResNet-50 takes 1.86 of its bound on
#: ``tpu-v1`` (batches of 20, whose stages run image by image), with 64 it takes 1.43.
MOST_OPERATORS = 64
MOST_READS = 256
#: What one tiling of a group costs the search, in its own unit (about a second of one core), and for each operator:
#: fitted to 1,866 tilings of six networks on two machines, 29 ms on average.
_EFFORT_PER_GROUP = 0.0125
_EFFORT_PER_OPERATOR = 0.003


class Tilings:
    """The best tilings of groups, worked out once for groups of one form."""

    def __init__(self, network: Network, machine: Machine, search: Search) -> None:
        self.network, self.machine, self.search = network, machine, search
        self._known: dict[tuple[object, ...], Tiled | None] = {}

    @cached_property
    def _demands(self) -> Mapping[int, Demand]:
        return demands(self.network, self.machine)

    def stored(self, operators: Sequence[int]) -> frozenset[int]:
        """Return the tensors that a group makes and others, or the user, need; the sink's not among them."""
        inside = set(operators)
        found = set()
        for number in operators[:-1]:
            for access in self.network.operators[number].writes:
                tensor = access.tensor
                if self.network.tensors[tensor].is_output or not set(self.network.consumers[tensor]) <= inside:
                    found.add(tensor)
        return frozenset(found)

    def best(self, operators: tuple[int, ...], capacity: float, near: frozenset[int] = frozenset()) -> Tiled | None:
        """Return the best tiling of a group beside tensors that are held whole aside."""
        stored = self.stored(operators)
        form = (capacity, self._form(operators, stored, near))
        if form not in self._known:
            self._spend(operators)
            coarse = self.search.remaining_s() == 0
            self._known[form] = best_tiling(
                self.network, operators, self.machine, stored, capacity, near, coarse=coarse
            )
        known = self._known[form]
        return None if known is None else self._renamed(known, operators)

    def as_it_is(self, item: Tiled, near: frozenset[int], beside: Beside) -> Tiled:
        """Return the price of a group beside others."""
        operators = item.group.operators
        if self.network.operators[operators[-1]].barrier:
            return item
        found = priced(self.network, item.group, self.machine, self.stored(operators), near, beside)
        return replace(found, group=item.group)

    def anew(self, item: Tiled, capacity: float, near: frozenset[int], beside: Beside) -> Tiled | None:
        """Return a group with the best tiling beside others."""
        operators = item.group.operators
        self._spend(operators)
        found = best_tiling(self.network, operators, self.machine, self.stored(operators), capacity, near, beside)
        return None if found is None else replace(found, group=replace(found.group, kept=item.group.kept))

    def least(self, operators: Sequence[int]) -> float:
        """Return a score that no tiling of a group is below."""
        network, inside = self.network, set(operators)
        needed = {number: self._demands[number] for number in operators if number in self._demands}
        seconds, read = together(network, self.machine, needed)
        loads = sum(amount for tensor, amount in read.items() if network.producer.get(tensor) not in inside)
        written = self.stored(operators) | {network.operators[operators[-1]].writes[0].tensor}
        return least_score(
            loads, float(sum(network.tensors[tensor].bytes for tensor in written)), seconds, self.machine
        )

    def _spend(self, operators: Sequence[int]) -> None:
        self.search.spend(_EFFORT_PER_GROUP + _EFFORT_PER_OPERATOR * len(operators))

    def _form(self, operators: Sequence[int], stored: frozenset[int], near: frozenset[int]) -> tuple[object, ...]:
        """Return all that the cost of a group depends on: what operators and tensors are like, not which."""
        names: dict[int, int] = {}

        def plain(access: Access) -> tuple[object, ...]:
            tensor = self.network.tensors[access.tensor]
            number = names.setdefault(access.tensor, len(names))
            marks = (access.tensor in stored, access.tensor in near, tensor.is_output)
            return number, tensor.bits, tensor.shape, access.axes, access.shape, access.steps, marks

        parts = []
        for number in operators:
            item = self.network.operators[number]
            accesses = tuple(plain(access) for access in (*item.reads, *item.writes))
            parts.append(
                (accesses, len(item.reads), item.dims, item.work, item.unit, item.whole, item.running, item.barrier)
            )
        return tuple(parts)

    @staticmethod
    def _renamed(known: Tiled, operators: tuple[int, ...]) -> Tiled:
        place = dict(zip(known.group.operators, operators, strict=True))
        loops = tuple(Loop(place[loop.operator], loop.dim, loop.tile) for loop in known.group.loops)
        return replace(known, group=Group(operators, loops))


@dataclass(slots=True)
class Forming:
    """Groups while they are fused: members and tiling by the number of the sink, the group of every operator."""

    tilings: Tilings
    capacity: float
    members: dict[int, tuple[int, ...]]
    tiled: dict[int, Tiled]
    group_of: dict[int, int]

    def put(self, operators: tuple[int, ...]) -> bool:
        """Make a group of operators, if a tiling of it fits."""
        tiled = self.tilings.best(operators, self.capacity)
        if tiled is None:
            return False
        sink = operators[-1]
        self.members[sink], self.tiled[sink] = operators, tiled
        self.group_of.update(dict.fromkeys(operators, sink))
        return True

    def is_complete(self) -> bool:
        """Return whether all groups fit: a group that none does may still be joined to another one."""
        return len(self.tiled) == len(self.members)

    def merged(self, first: int, second: int) -> tuple[int, ...]:
        """Return the operators of two groups."""
        return tuple(sorted((*self.members[first], *self.members[second])))

    def apart(self, *groups: int) -> float:
        """Return what groups cost as they are."""
        return sum(self.tiled[group].score if group in self.tiled else float("inf") for group in groups)

    def sources(self, group: int) -> set[int]:
        """Return the groups whose tensors a group reads."""
        producer = self.tilings.network.producer
        found = set()
        for number in self.members[group]:
            for access in self.tilings.network.operators[number].reads:
                if access.tensor in producer:
                    found.add(self.group_of[producer[access.tensor]])
        return found - {group}

    def is_reached_around(self, first: int, second: int) -> bool:
        """Return whether a group comes between two others, which then cannot become one."""
        least = self.members[first][0]
        open_groups, seen = [group for group in self.sources(second) if group != first], {second}
        while open_groups:
            group = open_groups.pop()
            if group == first:
                return True
            if group in seen or self.members[group][-1] < least:
                continue
            seen.add(group)
            open_groups += self.sources(group)
        return False

    def in_order(self) -> list[Tiled]:
        """Return the groups so that every one comes after those that it reads from, near to them."""
        groups = sorted(self.members)
        place = {group: number for number, group in enumerate(groups)}
        links = ((place[source], place[group]) for group in groups for source in self.sources(group))
        order = topological_order(from_edges(len(groups), links))
        assert order is not None, "no group comes between two others that are one"
        return [self.tiled[groups[number]] for number in order]

    def between(self, first: int, last: int) -> set[int]:
        """Return the groups on ways from one to another, both among them."""
        least = self.members[first][0]
        users: dict[int, set[int]] = {}
        open_groups, seen = [last], {first, last}
        while open_groups:
            group = open_groups.pop()
            for source in self.sources(group):
                users.setdefault(source, set()).add(group)
                if source not in seen and self.members[source][-1] >= least:
                    seen.add(source)
                    open_groups.append(source)
        found, open_groups = {first}, [first]
        while open_groups:
            for group in users.get(open_groups.pop(), set()) - found:
                found.add(group)
                open_groups.append(group)
        return found

    def join(self, groups: set[int]) -> bool:
        """Make one group of several, if a tiling of it fits."""
        operators = tuple(sorted(number for group in groups for number in self.members[group]))
        if not self.put(operators):
            return False
        for group in groups - {operators[-1]}:
            del self.members[group]
            self.tiled.pop(group, None)
        return True
