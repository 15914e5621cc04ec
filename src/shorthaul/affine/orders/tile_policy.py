"""The best tiled order of one phase by its cost as a formula: what is tiled, what is kept, how large tiles are.

A phase is a set of statements executed together. For a placement and an order of its loops, every class of values gets
a level of keeping (:mod:`value_classes`). All tiles have sizes w_k b with small weights w_k; the capacity needed is a
polynomial P(b), and b is the largest integer with P(b) <= S.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from itertools import pairwise, permutations, product
from math import factorial, lcm
from typing import Any

import islpy as isl
import sympy

from shorthaul.affine import effort
from shorthaul.affine.integer_sets.counting import Cardinality, card, count_formula
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.model import Statement
from shorthaul.affine.orders.placement import Distances, Loops, Placement, Read, affine_row, function_rows
from shorthaul.affine.orders.value_classes import INFINITE, Counted, ValueClass, value_classes
from shorthaul.affine.tuning import (
    AS_SMOOTH,
    COMPARED_APART,
    COMPARED_ORDERS,
    COMPARED_PANEL,
    MOST_TILED,
    NEGLIGIBLE,
    STEPS_PER_ORDER,
    STEPS_PER_RATE,
    WIDEST_FREE_ORDER,
)

_IN, _OUT = isl.dim_type.in_, isl.dim_type.out


class Counts:
    """Counts of sets, as numbers where candidates are compared and as formulas."""

    def __init__(self, flow: DataFlow, small: Collection[str] = ()) -> None:
        self.flow = flow
        self.distances = Distances(flow)
        names = flow.program.parameters
        self.instance = {
            name: COMPARED_ORDERS.small if name in small else COMPARED_ORDERS.size + COMPARED_APART * at
            for at, name in enumerate(names)
        }
        #: Names that orders bring in (see panel_policy): the sizes of panels and of zones of rows, and what zones are
        #: larger than they need be.
        self.panel, self.zone, self.gap = (unused_name(letter, names) for letter in ("B", "c", "g"))
        self.instance |= {self.panel: COMPARED_PANEL, self.zone: COMPARED_PANEL}
        self._found: dict[str, tuple[Cardinality, float]] = {}
        self._known: dict[int, tuple[isl.Set, Cardinality, float]] = {}

    @cached_property
    def words(self) -> dict[str, int]:
        """Elements of all arrays as words: as wide as one another."""
        return dict.fromkeys(self.flow.program.arrays, 1)

    def _counted(self, part: isl.Set) -> tuple[isl.Set, Cardinality, float]:
        if id(part) not in self._known:
            key = str(part)
            if key not in self._found:
                found = card(part, self.flow.program.context)
                self._found[key] = found, float(found.at(self.instance))
            self._known[id(part)] = (part, *self._found[key])
        return self._known[id(part)]

    def cards(self, item: Counted) -> list[Cardinality]:
        """Return the cardinality of each set."""
        return [self._counted(part)[1] for part in item]

    def number(self, item: Counted) -> float:
        """Return the total at the sizes where candidates are compared."""
        return sum(self._counted(part)[2] for part in item)

    def formula(self, item: Counted, context: isl.Set | None = None) -> sympy.Expr:
        """Return the total as a formula; with ``context`` for these parameters only."""
        if context is None:
            return sympy.Add(*(count_formula(found) for found in self.cards(item)))
        return sympy.Add(*(found.positive().within(context).expression() for found in self.cards(item)))

    def at(self, sizes: Mapping[str, int]) -> Callable[[Counted], int]:
        """Return a function that gives totals at ``sizes``."""
        return lambda item: sum(found.at(sizes) for found in self.cards(item))


def unused_name(letter: str, taken: Collection[str]) -> str:
    """Return ``letter``, with underscores if it is among the names ``taken``."""
    return next(name for name in (letter + "_" * at for at in range(len(taken) + 1)) if name not in taken)


@dataclass(frozen=True)
class Policy:
    """An order of the loops of a phase, a level of keeping for every class, and a weight for every tiled coordinate."""

    order: Loops
    levels: tuple[int, ...]
    weights: tuple[int, ...]

    def sizes(self, edge: Any) -> dict[int, Any]:
        """Return the size of the tiles per coordinate, for tiles of the given ``edge``."""
        return {at: weight * edge for at, weight in zip(self.order.tiled, self.weights, strict=True)}


@dataclass(frozen=True)
class Phase:
    """Statements that are executed together, placed in one space; ``fixed`` are sizes that do not depend on S."""

    names: tuple[str, ...]
    placement: Placement
    classes: tuple[ValueClass, ...]
    counts: Counts
    fixed: Mapping[int, Any] = field(default_factory=dict)

    def sizes(self, policy: Policy, edge: Any) -> dict[int, Any]:
        """Return the size of the tiles per coordinate."""
        return {**self.fixed, **policy.sizes(edge)}

    def live(self, policy: Policy, edge: Any) -> Any:
        """Return the words that the policy needs at any time, with room for one result."""
        sizes = self.sizes(policy, edge)
        total: Any = 1
        for item, level in zip(self.classes, policy.levels, strict=True):
            total = total + item.live(policy.order, level, sizes)
        return total

    def loads(self, policy: Policy, edge: Any, count: Callable[[Counted], Any]) -> Any:
        """Return the loads of the policy, averaged over the origins of the tile grid."""
        sizes = self.sizes(policy, edge)
        total: Any = 0
        for item, level in zip(self.classes, policy.levels, strict=True):
            total = total + item.loads(policy.order, level, sizes, count)
        return total

    def edge(self, policy: Policy, capacity: int) -> int:
        """Return the largest edge that fits into ``capacity`` words; 0 if none does."""
        if self.live(policy, 1) > capacity:
            return 0
        if not policy.order.tiled or self.live(policy, capacity + 1) <= capacity:
            return max(1, capacity)
        low, high = 1, capacity + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.live(policy, middle) <= capacity else (low, middle)
        return low

    @cached_property
    def bulky(self) -> tuple[bool, ...]:
        """Tells the classes whose uses count where sizes are large."""
        uses = [self.counts.number(item.bulk) for item in self.classes]
        return tuple(value > NEGLIGIBLE * sum(uses) for value in uses)

    @property
    def only_chains(self) -> bool:
        """True if all that counts are values read at constant distances from where they are computed, and lines.

        Scalars, and vectors in three loops or more, may count, too, beside lines of one loop in one direction: with
        those in several, as in products, skewed tiles take long.
        """
        large = [item for item, keep in zip(self.classes, self.bulky, strict=True) if keep and not item.kept]
        lines = {item.free for item in large if len(item.free) < max(2, item.width - 1)}
        is_plain = len(lines) <= 1 or all(len(item.free) < max(2, item.width - 1) for item in large)
        return is_plain and all(len(free) == 1 for free in lines)

    @cached_property
    def small_uses(self) -> tuple[float, int]:
        """Loads and words for the other classes if nothing of them is kept."""
        small = [item for item, large in zip(self.classes, self.bulky, strict=True) if not large]
        return sum(self.counts.number(item.bulk) for item in small), sum(len(item.uses) for item in small)

    def along_memory(self, order: Loops) -> int:
        """Return how many statements go along their memory while the coordinates that are not tiled stay."""
        fixed = [at for at in (*order.outer, *order.inner) if at not in order.tiled]
        return sum(not any(self.placement[name][at].factors[axis] for at in fixed) for name, axis in self._axes.items())

    @cached_property
    def is_skewed(self) -> bool:
        """True if a coordinate moves in several loops at once."""
        return any(sum(map(bool, row.factors)) > 1 for rows in self.placement.values() for row in rows)

    @cached_property
    def _axes(self) -> dict[str, int]:
        """The iterator along which the elements that a statement writes follow one another in memory."""
        found = {name: memory_axis(self.counts.flow.program.by_name[name]) for name in self.names}
        return {name: axis for name, axis in found.items() if axis is not None}

    def rate(self, policy: Policy) -> float:
        """Return the loads where candidates are compared; infinite if nothing fits. Small classes are not kept."""
        return self._rates.of(policy)

    @cached_property
    def _rates(self) -> Rates:
        return Rates(self)


def memory_axis(statement: Statement) -> int | None:
    """Return the iterator that moves the last subscript of what is written by one, and no other subscript."""
    *others, last = subscript_factors(statement.write.relation) or ((),)
    found = [at for at, factor in enumerate(last) if abs(factor) == 1]
    return next((at for at in found if not any(row[at] for row in others)), None)


def subscript_factors(relation: isl.Map) -> list[tuple[int, ...]]:
    """Return by how much iterators move each subscript, 2 where it is divided, as (t + 1) % 2."""
    rows = function_rows(relation)
    if rows is not None:
        return [row.factors for row in rows]
    pieces: list[isl.MultiAff] = []
    isl.PwMultiAff.from_map(relation).foreach_piece(lambda _, value: pieces.append(value))
    found = []
    for at in range(relation.dim(_OUT)):
        parts = [item.get_aff(at) for item in pieces]
        row = affine_row(parts[0]) if len(parts) == 1 else None
        moved = (2 * any(part.involves_dims(_IN, loop, 1) for part in parts) for loop in range(relation.dim(_IN)))
        found.append(tuple(moved) if row is None else row.factors)
    return found


class Rates:
    """The loads of one phase where candidates are compared, class by class: policies mostly differ in one class."""

    def __init__(self, phase: Phase) -> None:
        self.phase = phase
        self.loads, self.words = phase.small_uses
        self.large = [at for at, keep in enumerate(phase.bulky) if keep]
        self._live: dict[Any, dict[Any, tuple[float, ...] | None]] = {}
        self._loads: dict[Any, dict[Any, float]] = {}

    def of(self, policy: Policy) -> float:
        """Return the loads of ``policy``."""
        effort.step(STEPS_PER_RATE)
        shape = policy.order, policy.weights
        lives, loads = self._live.setdefault(shape, {}), self._loads.setdefault(shape, {})
        live = [1.0 + self.words] + [0.0] * len(policy.order.tiled)
        for at in self.large:
            key = at, policy.levels[at]
            if key not in lives:
                lives[key] = self._lived(policy, *key)
            found = lives[key]
            if found is None:
                return INFINITE
            live = [a + b for a, b in zip(live, found, strict=True)]
        edge = (
            _largest(live, COMPARED_ORDERS.fast_memory)
            if policy.order.tiled
            else float(live[0] <= COMPARED_ORDERS.fast_memory)
        )
        if edge < 1:
            return INFINITE
        result = self.loads
        for at in self.large:
            part = at, policy.levels[at], edge
            if part not in loads:
                sizes = self.phase.sizes(policy, edge)
                item = self.phase.classes[at]
                loads[part] = float(item.loads(policy.order, policy.levels[at], sizes, self.phase.counts.number))
            result += loads[part]
        return result

    def _lived(self, policy: Policy, at: int, level: int) -> tuple[float, ...] | None:
        """Return the words that a class needs as a polynomial in the edge (see :func:`_value`), None if infinite."""
        item = self.phase.classes[at]
        exact = int if item.is_whole(policy.order) else Fraction
        rest: list[Any] = []
        for edge in range(1, 2 + len(policy.order.tiled)):
            rest.append(item.live(policy.order, level, self.phase.sizes(policy, exact(edge))))
            if rest[-1] == INFINITE:
                return None
        factors = []
        for step in range(len(rest)):
            factors.append(float(rest[0] / factorial(step)))
            rest = [b - a for a, b in pairwise(rest)]
        return tuple(factors)


def _value(factors: Sequence[float], x: float) -> float:
    """Return f0 + f1 (x - 1) + f2 (x - 1) (x - 2) + ...: Newton's form, from exact values at 1, 2, ..."""
    result = 0.0
    for at in range(len(factors) - 1, -1, -1):
        result = result * (x - at - 1) + factors[at]
    return result


def _largest(live: Sequence[float], capacity: int) -> float:
    """Return the largest power of 2^(1/16) as edge with which ``live`` is within ``capacity``; 0 if 1 is too large."""
    low, high = -1, 16 * 20
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _value(live, 2 ** (middle / 16)) <= capacity else (low, middle)
    return 0.0 if low < 0 else float(2 ** (low / 16))


def make_phase(
    flow: DataFlow,
    names: Sequence[str],
    placement: Placement,
    reads: Mapping[str, Sequence[Read]],
    counts: Counts,
    *,
    together: bool = True,
) -> Phase:
    """Return the statements ``names`` as a phase with the given placement (see :func:`value_classes`)."""
    everything = [item for name in names for item in reads[name]]
    classes = value_classes(everything, placement, frozenset(names), flow.program.parameters, together=together)
    return Phase(tuple(names), placement, classes, counts)


def best_policy(phase: Phase, legal: Callable[[Loops], bool] | None = None) -> tuple[Policy, float] | None:
    """Return the policy of fewest loads where candidates are compared, or None if no order is legal.

    Where the search ends early, it is the best until then.
    ``legal`` tells which orders are; by default those that respect all dependences among the statements of the phase.
    """
    if legal is None:
        signs = phase.counts.distances.signs(phase.placement)
        legal = partial(Loops.legal, signs=signs)
    width = len(next(iter(phase.placement.values())))
    best: tuple[float, Policy] | None = None
    with suppress(effort.OutOfEffortError):
        for order in all_loops(width):
            effort.step(STEPS_PER_ORDER)
            if not legal(order) or not _useful(order, phase):
                continue
            policy = Policy(order, _least_levels(phase, order), (1,) * len(order.tiled))
            rate = phase.rate(policy)
            if best is None or rate < best[0] * (1 - 1e-9) or _is_smoother(phase, rate, order, best):
                best = (rate, policy)
        if best is None or best[0] == INFINITE:
            return None
        for change in (_other_levels, _weighted, _other_levels):
            for policy in change(phase, best[1]):
                rate = phase.rate(policy)
                if rate < best[0] * (1 - 1e-6):
                    best = (rate, policy)
    return None if best is None or best[0] == INFINITE else best[::-1]


def _is_smoother(phase: Phase, rate: float, order: Loops, best: tuple[float, Policy]) -> bool:
    """True if skewed tiles load about what the best order does, and more statements go along memory inside of them."""
    known = best[1].order
    same = rate <= best[0] * (1 + AS_SMOOTH) and len(order.tiled) == len(known.tiled)
    return same and phase.is_skewed and phase.along_memory(order) > phase.along_memory(known)


def _useful(order: Loops, phase: Phase) -> bool:
    """True if every tiled coordinate is one in which some class shares values."""
    for at in order.tiled:
        if not any(at in item.free or any(use.offsets[at] for use in item.uses) for item in phase.classes):
            return False
    return True


def _least_levels(phase: Phase, order: Loops) -> tuple[int, ...]:
    """Return the longest keeping that needs bounded memory, for small classes constant memory."""
    width = len(order.inner)
    tiles = dict.fromkeys(order.tiled, 1000.0)
    result = []
    for item, large in zip(phase.classes, phase.bulky, strict=True):
        chosen = width
        for level in range(width):
            need = item.live(order, level, tiles)
            if need < 100 or (large and need != INFINITE):
                chosen = level
                break
        result.append(chosen)
    return tuple(result)


def _other_levels(phase: Phase, policy: Policy) -> Iterator[Policy]:
    """Change the level of one class after the other."""
    for at in range(len(phase.classes)):
        if not phase.bulky[at]:
            continue
        for level in range(len(policy.order.inner) + 1):
            if level != policy.levels[at]:
                yield Policy(policy.order, (*policy.levels[:at], level, *policy.levels[at + 1 :]), policy.weights)


def _weighted(phase: Phase, policy: Policy) -> Iterator[Policy]:
    """Yield weights in proportion to what each coordinate's tiles cost: the best shape for a given volume."""
    if len(policy.order.tiled) < 2:
        return
    edge = 1e4
    sizes = phase.sizes(policy, edge)
    costs = []
    for at in policy.order.tiled:
        total = 0.0
        for factor, sign in ((1.0, 1), (2.0, -1)):
            changed = {**sizes, at: edge * factor}
            for item, level in zip(phase.classes, policy.levels, strict=True):
                total += sign * float(item.loads(policy.order, level, changed, phase.counts.number))
        costs.append(max(total, 1e-30))
    for most in (2, 4, 6):
        least = [Fraction(cost / min(costs)).limit_denominator(most) for cost in costs]
        scale = lcm(*(value.denominator for value in least))
        weights = tuple(int(value * scale) for value in least)
        if max(weights) <= 12:
            yield Policy(policy.order, policy.levels, weights)


def all_loops(width: int) -> Iterator[Loops]:
    """Return the orders to choose from: up to two outer coordinates, up to three tiled ones, any order inside.

    From five coordinates on: tiled ones innermost, the others in their own order, outside or inside of the tiles.
    """
    if width > WIDEST_FREE_ORDER:
        yield from _few_loops(width)
        return
    for outside in range(min(width, 3)):
        for outer in permutations(range(width), outside):
            rest = [at for at in range(width) if at not in outer]
            for chosen in product((False, True), repeat=len(rest)):
                tiled = tuple(at for at, take in zip(rest, chosen, strict=True) if take)
                if len(tiled) <= MOST_TILED:
                    for inner in permutations(rest):
                        yield Loops(outer, tiled, inner)


def _few_loops(width: int) -> Iterator[Loops]:
    for count in range(3):
        for tiled in permutations(range(width), count):
            others = tuple(at for at in range(width) if at not in tiled)
            for outside in range(len(others) + 1):
                yield Loops(others[:outside], tiled, (*others[outside:], *tiled))
