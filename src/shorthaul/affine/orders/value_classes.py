"""Classes of values that a tiled order treats alike: how many are alive at once, and how often they are loaded.

In the space of a placement a value u is used at points y with y_k = a_k(u) + offset for the *anchored* coordinates k
(offsets come from a fixed finite set) and any y_k for the *free* ones. A policy keeps a value within a group: one tile
and one setting of the first p coordinates of the order inside of tiles. It is loaded at the group's first use, unless
the group computes it, and kept until the group's last use. So

* loads <= the number of groups that use the value and do not compute it. Averaged over all origins of the tile grid, an
  anchored coordinate with offsets m apart meets 1 + m/b tiles of size b, and an interval of L points of a free
  coordinate L/b + 1 - 1/b; some origin is at least as good as the average, for all classes at once;
* alive at one time: values whose first use is not later and whose last use is not earlier in lexicographic order. With
  full(p) the anchors that a tile can hold in the coordinates from p on, live(p) = m full(p + 1) + live(p + 1) for an
  anchored coordinate (anchors strictly inside of the window, those whose last uses still come, those whose first uses
  have been: the last two are full + live together), and live(p) = full(p + 1) for a free one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, reduce
from itertools import chain, combinations
from typing import Any

import islpy as isl

from shorthaul.affine.integer_sets.lattices import diagonal, differences, has_remainders, moved, without_holes
from shorthaul.affine.integer_sets.subspaces import exact, integer_solution, less, rank
from shorthaul.affine.orders.chains import across, chain_steps, placed, sparse_places, tells_instances
from shorthaul.affine.orders.placement import Loops, Placement, Read, Row, placement_map

_SET = isl.dim_type.set
INFINITE = float("inf")

#: A read of a class, its offsets, and the factors of the value in each coordinate.
_Member = tuple[Read, list[int | None], list[tuple[int, ...] | None]]
#: A set whose points are counted; sizes are looked up by it.
Counted = tuple[isl.Set, ...]
Count = Callable[[Counted], Any]


@dataclass(frozen=True, slots=True)
class Use:
    """One read of a class; ``offsets`` per coordinate, None where it is free."""

    read: Read
    offsets: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Uses that one group makes of a value: ``reach`` says per anchored coordinate how far their offsets are apart.

    ``computed`` tells that the group computes the value. If the group has an anchor and one a step from it, ``reach``
    is that of both.
    """

    uses: tuple[Use, ...]
    computed: bool
    reach: Mapping[int, int]


@dataclass(frozen=True)
class ValueClass:
    """Values read in the same manner.

    ``kept`` tells that they are computed at their anchor, so that the group that computes a value need not load it;
    ``generators`` span the lattice of the anchors (one entry per coordinate, 0 for free ones). In a class that is not
    ``regular`` anchors do not tell values apart: nothing is kept from one instance to the next. Where ``apart`` is
    given, a value has many anchors, those of ``chains`` by read: moved by one of ``steps`` of instances, as far
    ``apart``, one of them may be another one. With one step they are a chain; with several they lie on the planes along
    which the rows of ``across``, factors of coordinates, are constant.
    """

    name: str
    width: int
    free: frozenset[int]
    uses: tuple[Use, ...]
    kept: bool
    generators: tuple[tuple[int, ...], ...]
    placement: Placement = field(repr=False)
    parameters: tuple[str, ...] = ()
    regular: bool = True
    apart: tuple[tuple[int, ...], ...] = ()
    across: tuple[tuple[Fraction, ...], ...] = ()
    steps: tuple[isl.Map, ...] = field(default=(), repr=False)
    chains: Mapping[int, isl.Set] = field(default_factory=dict, repr=False)
    _cache: dict[Any, Any] = field(default_factory=dict, repr=False)

    def groups(self, order: Loops, level: int) -> tuple[Group, ...]:
        """Return the uses by their offsets in the coordinates that a group holds fixed."""
        fixed = frozenset((*order.outer, *order.inner[:level]))
        key = ("groups", fixed)
        if key not in self._cache:
            by_offset: dict[tuple[int | None, ...], list[Use]] = {}
            for use in self.uses:
                by_offset.setdefault(tuple(use.offsets[at] for at in fixed), []).append(use)
            self._cache[key] = tuple(
                self._group(uses, order.inner[level:], self.kept and not any(offsets))
                for offsets, uses in by_offset.items()
            )
        found: tuple[Group, ...] = self._cache[key]
        return found

    def _group(self, uses: Sequence[Use], inside: Sequence[int], computed: bool) -> Group:
        linked = [step for step in self.apart if not any(by for at, by in enumerate(step) if at not in inside)]
        reach = {}
        for at in inside:
            if at not in self.free:
                values = [use.offsets[at] or 0 for use in uses] + ([0] if computed else [])
                reach[at] = max(values) - min(values) + max((abs(step[at]) for step in linked), default=0)
        return Group(tuple(uses), computed, reach)

    def live(self, order: Loops, level: int, sizes: Mapping[int, Any]) -> Any:
        """Return how many values are alive at once; infinite where nothing limits them. ``sizes`` are the tiles'."""
        if (not self.regular or (level and self.across)) and level < len(order.inner):
            return INFINITE
        spacing = self.spacing(order)
        total: Any = 0
        for group in self.groups(order, level):
            total = total + self.alive(order.inner[level:], group.reach, spacing, sizes)
        return total

    def alive(
        self,
        inside: Sequence[int],
        reach: Mapping[int, int],
        spacing: Mapping[int, int | None],
        sizes: Mapping[int, Any],
    ) -> Any:
        """Return how many anchors are between their first and last uses, at most ``reach`` apart, at one time."""
        if self.across and inside:
            return self._meeting(inside[1:], sizes)
        full: Any = 1
        live: Any = 1
        for at in reversed(inside):
            if at in self.free:
                live = full
                continue
            span, step = reach[at], spacing[at]
            if span and step is None:
                live = full
            elif span and step is not None:
                live = (span // step) * full + (live if span % step == 0 else full)
            if step is None:
                continue
            if at not in sizes:
                full = INFINITE
            elif full != INFINITE:
                extent = sizes[at] + span
                most = extent + step - 1
                full = full * (most // step if isinstance(most, int) else most / step)
        return live

    def _meeting(self, inside: Sequence[int], sizes: Mapping[int, Any]) -> Any:
        """Return at most how many planes meet a slice of a tile: no others have uses before it and after it."""
        total: Any = 1
        for row in self.across:
            offsets = [sum(a * (b or 0) for a, b in zip(row, use.offsets, strict=True)) for use in self.uses]
            length: Any = 1 + max(offsets) - min(offsets)
            for at in (at for at in inside if row[at]):
                if at not in sizes:
                    return INFINITE
                length = length + abs(row[at]) * (sizes[at] - 1)
            total = total * length
        return total

    def loads(self, order: Loops, level: int, sizes: Mapping[int, Any], count: Count) -> Any:
        """Return the average number of loads over all origins of the tile grid."""
        if not self.regular:
            return count(self.bulk)
        total: Any = 0
        inside = set(order.inner[level:])
        for group in self.groups(order, level):
            tiles = _tiles(group.reach, sizes)
            if self.apart:
                total = total + self._chained(group.uses, inside, sizes, count)
            elif not self.free:
                total = total + count(self.values(group.uses)) * (tiles - (1 if group.computed else 0))
            else:
                total = total + self._spread(group, inside, sizes, count) * tiles
        return total

    def _spread(self, group: Group, inside: Set[int], sizes: Mapping[int, Any], count: Count) -> Any:
        """Return how many tiles use values along free coordinates, summed over values and averaged over origins."""
        dropped = frozenset(at for at in self.free & inside if at not in sizes)
        cut = min((at for at in self.free & inside if at in sizes), default=None, key=(*sizes,).index)
        total: Any = 0
        for part in self.places(group.uses):
            whole = count(self.shadow(part, dropped))
            if cut is not None:
                size = exact(sizes[cut])
                whole = whole / size + (1 - 1 / size) * count(self.shadow(part, dropped | {cut}))
            total = total + whole
        return total

    def _chained(self, uses: Sequence[Use], inside: set[int], sizes: Mapping[int, Any], count: Count) -> Any:
        """Return how many tiles use values with many anchors: each tile counts at one without another before it.

        Steps that lead to these cross other coordinates that are cut, or none: so what they cross is independent.
        """
        ends = zip(*([offset or 0 for offset in use.offsets] for use in uses), strict=True)
        reach = {at: max(item) - min(item) for at, item in enumerate(ends)}
        cut: dict[int, list[int]] = {}
        crossed = [[at for at, by in enumerate(step) if by and at in sizes] for step in self.apart]
        for number in sorted(range(len(self.apart)), key=lambda at: (len(crossed[at]), sum(map(abs, self.apart[at])))):
            own, known = crossed[number], [*cut.values()]
            apart = own not in known and not any(at in other for at in own for other in known)
            if apart and inside.issuperset(at for at, by in enumerate(self.apart[number]) if by):
                cut[number] = own
        rest = _tiles({at: reach[at] for at in inside.difference(*cut.values())}, sizes)
        near = {number: _tiles({at: reach[at] for at in own}, sizes) for number, own in cut.items()}
        more = {
            number: _tiles({at: reach[at] + abs(self.apart[number][at]) for at in own}, sizes) - near[number]
            for number, own in cut.items()
        }
        total: Any = 0
        for chosen in chain.from_iterable(combinations(cut, size) for size in range(len(cut) + 1)):
            weight = rest
            for number in cut:
                weight = weight * (near[number] - more[number] if number in chosen else more[number])
            if weight != 0:
                total = total + weight * count(self.starts(uses, chosen))
        return total

    def starts(self, uses: Sequence[Use], steps: tuple[int, ...]) -> Counted:
        """Return the anchors of ``uses`` with none before them along any of these ``steps``."""
        key = ("starts", frozenset(id(use) for use in uses), steps)
        if key not in self._cache:
            every = reduce(isl.Set.union, [self.chains[id(use.read)] for use in uses]).coalesce()
            self._cache[key] = (
                reduce(isl.Set.subtract, [every.apply(self.steps[at]) for at in steps], every).coalesce(),
            )
        result: Counted = self._cache[key]
        return result

    def values(self, uses: Sequence[Use]) -> Counted:
        """Return the values that ``uses`` read."""
        key = ("values", frozenset(id(use) for use in uses))
        if key not in self._cache:
            found: dict[str, isl.Set] = {}
            for use in uses:
                image = use.read.function.range()
                name = f"{use.read.source}"
                found[name] = found[name].union(image).coalesce() if name in found else image
            self._cache[key] = tuple(found.values())
        result: Counted = self._cache[key]
        return result

    def places(self, uses: Sequence[Use]) -> tuple[isl.Set, ...]:
        """Return the pairs of a value and its free coordinates, as sets without holes that cover all of them."""
        key = ("places", frozenset(id(use) for use in uses))
        if key not in self._cache:
            images = [self._image(use.read) for use in uses]
            parts: list[isl.Set] = []
            for image in images:
                merged = image
                for known in list(parts):
                    both = known.union(merged).coalesce()
                    if both.n_basic_set() == 1:
                        parts.remove(known)
                        merged = both
                parts.append(merged)
            basics = [isl.Set.from_basic_set(basic) for part in parts for basic in part.get_basic_sets()]
            self._cache[key] = tuple(without_holes(item) for item in basics)
        result: tuple[isl.Set, ...] = self._cache[key]
        return result

    def _image(self, read: Read) -> isl.Set:
        rows = tuple(self.placement[read.sink][at] for at in sorted(self.free))
        width = read.function.dim(isl.dim_type.in_)
        free = placement_map(read.sink, width, rows, self.parameters)
        values = read.function.set_tuple_name(isl.dim_type.out, "")
        return values.flat_range_product(free).range().coalesce()

    def shadow(self, part: isl.Set, dropped: frozenset[int]) -> Counted:
        """Return ``part`` without the free coordinates ``dropped``."""
        key = ("shadow", id(part), dropped)
        if key not in self._cache:
            first = part.dim(_SET) - len(self.free)
            found = part
            for place in sorted((sorted(self.free).index(at) for at in dropped), reverse=True):
                found = found.project_out(_SET, first + place, 1)
            self._cache[key] = (without_holes(found),)
        result: Counted = self._cache[key]
        return result

    def spacing(self, order: Loops) -> dict[int, int | None]:
        """Return per anchored coordinate the step between anchors equal in all earlier ones, None if determined."""
        key = ("spacing", order.outer, order.inner)
        if key not in self._cache:
            axes = [at for at in (*order.outer, *order.inner) if at not in self.free]
            steps = diagonal([[row[at] for at in axes] for row in self.generators], len(axes))
            self._cache[key] = dict(zip(axes, steps, strict=True))
        result: dict[int, int | None] = self._cache[key]
        return result

    def is_whole(self, order: Loops) -> bool:
        """True if :meth:`live` is a whole number for whole sizes of tiles: it divides by no step."""
        return all(step is None or step == 1 for step in self.spacing(order).values())

    @cached_property
    def bulk(self) -> Counted:
        """All pairs of an instance and a value that it reads in this class."""
        return tuple(use.read.domain for use in self.uses)


def _tiles(reach: Mapping[int, int], sizes: Mapping[int, Any]) -> Any:
    """Return how many tiles a box meets, averaged over their origins."""
    tiles: Any = 1
    for at, apart in reach.items():
        if at in sizes and apart:
            tiles = tiles * (1 + apart / exact(sizes[at]))
    return tiles


def value_classes(
    reads: Iterable[Read],
    placement: Placement,
    inside: frozenset[str],
    parameters: tuple[str, ...],
    *,
    together: bool = True,
) -> tuple[ValueClass, ...]:
    """Return the classes of everything that ``reads`` read; ``inside`` are the statements that are placed.

    Values of statements that take turns are in one class if they count ``together``: that is less where all places
    are taken, and more where some stay empty.
    """
    drafts: dict[Any, list[_Member]] = {}
    chained: dict[Any, list[Read]] = {}
    for number, read in enumerate(reads):
        rows = placement[read.sink]
        links = [read.anchor(row) for row in rows]
        factors = [None if item is None else item[0] for item in links]
        key: Any
        if not tells_instances(factors, read, rows):
            if read.source not in inside and chain_steps(read, rows):
                along = tuple((row.factors, row.parameters) for row in (*rows, *(read.rows or ())))
                chained.setdefault((read.source, read.array, len(rows), along), []).append(read)
                continue
            links, factors = [None] * len(rows), [None] * len(rows)
            key = number
            drafts[key] = [(read, [None] * len(rows), factors)]
            continue
        offsets: list[int | None] = [None if item is None else item[1].constant for item in links]
        rest = tuple(None if item is None else item[1].parameters for item in links)
        home = _home(read, placement, inside, factors, rest)
        if home is not None:
            offsets = [None if a is None else a - b for a, b in zip(offsets, home, strict=True)]
            key = ("kept", tuple(factors), read.source)
        else:
            key = (read.source, read.array if read.source is None else "", tuple(factors), rest)
            if len(read.rows or ()) > rank([item for item in factors if item is not None]):
                key = (*key, number)
        drafts.setdefault(key, []).append((read, offsets, factors))
    kept = [key for key in drafts if isinstance(key, tuple) and key[0] == "kept"]
    classes = [
        _class_of(drafts[key], placement, parameters, kept=False, regular=not isinstance(key, int))
        for key in drafts
        if key not in kept
    ]
    classes += [
        _class_of([item for key in group for item in drafts[key]], placement, parameters, kept=True)
        for group in (_turns(kept, drafts, placement) if together else [[key] for key in kept])
    ]
    for same in chained.values():
        for sharing in _sharing(same):
            classes += _in_chains(sharing, placement, parameters)
    return tuple(classes)


def _sharing(reads: Sequence[Read]) -> list[list[Read]]:
    """Return reads by the elements that they share: those of two colours share none, whose lattices have holes."""
    result: list[tuple[isl.Set, list[Read]]] = []
    for read in reads:
        elements, members = read.function.range(), [read]
        apart: list[tuple[isl.Set, list[Read]]] = []
        for others, known in result:
            if has_remainders(elements) and elements.is_disjoint(others):
                apart.append((others, known))
            else:
                elements, members = elements.union(others), [*known, *members]
        result = [*apart, (elements, members)]
    return [members for _, members in result]


def _in_chains(reads: Sequence[Read], placement: Placement, parameters: tuple[str, ...]) -> Iterator[ValueClass]:
    """Yield the classes of reads that are the same but for constants, together where a move of instances makes up."""
    while reads:
        first, rows = reads[0], placement[reads[0].sink]
        known = first.rows or ()
        steps = chain_steps(first, rows)
        columns = tuple(zip(*(row.factors for row in known), strict=True))
        uses, chains, others = [], {}, []
        for read in reads:
            goal = tuple(a.constant - b.constant for a, b in zip(read.rows or (), known, strict=True))
            by = integer_solution(columns, goal)
            if by is None:
                others.append(read)
                continue
            here = tuple(a.constant - b.constant for a, b in zip(placement[read.sink], rows, strict=True))
            for step in steps:
                ways = [tuple(a - turns * b for a, b in zip(by, step, strict=True)) for turns in range(-4, 5)]
                by = min(ways, key=lambda way: sum(map(abs, less(here, placed(rows, way)))))
            uses.append(Use(read, less(here, placed(rows, by))))
            chains[id(read)] = read.domain.reset_tuple_id().apply(moved(by))
        name = first.array if first.source is None else f"values of {first.source}"
        places = sparse_places([*chains.values()], [rows] * len(chains))
        anchors = tuple(zip(*(row.factors for row in rows), strict=True)) if places is None else differences(places)
        made = ValueClass(name, len(rows), frozenset(), tuple(uses), False, anchors, placement, parameters)
        planes = tuple(across(row, rows) for row in known) if len(steps) > 1 else ()
        yield replace(
            made,
            apart=tuple(placed(rows, step) for step in steps),
            across=planes,
            steps=tuple(map(moved, steps)),
            chains=chains,
        )
        reads = others


def _home(
    read: Read,
    placement: Placement,
    inside: frozenset[str],
    factors: Sequence[tuple[int, ...] | None],
    rest: Sequence[Any],
) -> list[int] | None:
    """Return the offset at which the value is computed, if it is computed at its anchor."""
    if read.source not in inside or any(item is None for item in factors):
        return None
    rows = placement[read.source or ""]
    for row, item, parameters in zip(rows, factors, rest, strict=True):
        if row.factors != item or row.parameters != parameters:
            return None
    return [row.constant for row in rows]


def _turns(kept: Sequence[Any], drafts: Mapping[Any, Sequence[_Member]], placement: Placement) -> list[list[Any]]:
    """Return classes by whether their statements take turns: same rows, and never at the same place."""
    result: list[list[Any]] = []
    for key in kept:
        for group in result:
            if group[0][1] == key[1] and all(_apart(drafts[one], drafts[key], placement) for one in group):
                group.append(key)
                break
        else:
            result.append([key])
    return result


def _apart(first: Sequence[_Member], second: Sequence[_Member], placement: Placement) -> bool:
    """True if values, placed by rows of equal factors, are never at the same place."""
    rows, others = (placement[members[0][0].source or ""] for members in (first, second))
    columns = tuple(zip(*(row.factors for row in rows), strict=True))
    goal = tuple(a.constant - b.constant for a, b in zip(rows, others, strict=True))
    if any(a.parameters != b.parameters for a, b in zip(rows, others, strict=True)):
        return False
    if integer_solution(columns, goal) is None:
        return True
    here, there = (_computed(members, placement) for members in (first, second))
    return here is not None and there is not None and bool(here.is_disjoint(there))


def _computed(members: Sequence[_Member], placement: Placement) -> isl.Set | None:
    """Return where values are computed, None where no remainders limit them."""
    reads = [item for item, _, _ in members]
    return sparse_places([item.function.range() for item in reads], [placement[item.source or ""] for item in reads])


def _class_of(
    members: Sequence[_Member],
    placement: Placement,
    parameters: tuple[str, ...],
    *,
    kept: bool,
    regular: bool = True,
) -> ValueClass:
    read, _, factors = members[0]
    width = len(factors)
    free = frozenset(at for at in range(width) if factors[at] is None)
    count = next((len(item) for item in factors if item is not None), 0)
    generators = [tuple(0 if item is None else item[k] for item in factors) for k in range(count)]
    sources = dict.fromkeys(item.source for item, _, _ in members)
    if kept:
        first, *others = [placement[name] for name in sources if name is not None]
        generators += [tuple(b.constant - a.constant for a, b in zip(first, other, strict=True)) for other in others]
        places = _computed(members, placement)
    else:
        rows = [Row((0,) * len(read.rows or ()) if item is None else item) for item in factors]
        places = (
            sparse_places([item.function.range() for item, _, _ in members], [rows] * len(members)) if regular else None
        )
    if places is not None:
        generators = list(differences(places))
    names = [read.array if name is None else f"values of {name}" for name in sources]
    uses = tuple(Use(item, tuple(offsets)) for item, offsets, _ in members)
    return ValueClass(", ".join(names), width, free, uses, kept, tuple(generators), placement, parameters, regular)
