"""A derived order that keeps every dependence through memory: with room for more values, or less of the order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import islpy as isl

from shorthaul.affine.c_code.in_memory import in_memory
from shorthaul.affine.c_code.legality import Order, broken_between, conflicts_with, examined
from shorthaul.affine.c_code.parts import Nest, keeps_nothing, nest_of, program_nest
from shorthaul.affine.c_code.rows import in_rows
from shorthaul.affine.c_code.sinking import Sinking
from shorthaul.affine.integer_sets.counting import card
from shorthaul.affine.integer_sets.dependences import Conflicts, DataFlow
from shorthaul.affine.model import Program
from shorthaul.affine.orders.borders.held import BorderedStep
from shorthaul.affine.orders.boxes.fixed import FixedStep
from shorthaul.affine.orders.boxes.steps import BoxStep, WholeStep
from shorthaul.affine.orders.boxes.storage import Storage, last_values
from shorthaul.affine.orders.memories.levels import LevelOrder
from shorthaul.affine.orders.memories.nested import NestedStep, nested
from shorthaul.affine.orders.pieces.passed import PassedStep
from shorthaul.affine.orders.tile_steps import Step
from shorthaul.affine.orders.upper_bound import AnyStep, UpperBound
from shorthaul.core.amounts import exact_amount

#: What is known of conflicts.
Known = dict[Hashable, Any]


@dataclass(frozen=True)
class LegalOrder:
    """Nests one after the other, what is known of each, and the storage that they need; ``upper`` says what they load.

    In ``moved`` are phases that stand within the loops of others.
    """

    upper: UpperBound | LevelOrder
    nests: tuple[Nest, ...]
    orders: tuple[Order | None, ...]
    storage: Storage
    conflicts: Conflicts
    moved: tuple[AnyStep, ...] = ()

    @property
    def room(self) -> int:
        """The words that the operands of what was moved need beside what the order holds."""
        return max((_operands(step.plain) for step in self.moved), default=0)

    def loads(self, sizes: Mapping[str, int]) -> float | None:
        """Return what the emitted order loads at most at ``sizes``; None where it left the order derived.

        What was moved loads every operand; arrays that outlive the function get their last values from buffers.
        """
        if any(nest.remark for nest in self.nests):
            return None
        parameters = {name: size for name, size in sizes.items() if name != "S"}
        total = self.upper.value(sizes)
        for step in self.moved:
            plain = step.plain
            total += plain.counts.at(sizes)(plain.every_use) - step.loads(parameters, sizes["S"])
        for moved in self.copies.values():
            total += card(moved.domain()).at(parameters)
        return exact_amount(total)

    @property
    def copies(self) -> dict[str, isl.Map]:
        """Where the last value of every element is, by buffer of an array that outlives the function."""
        program = self.conflicts.program
        return {
            name: last_values(program, item)
            for name, item in self.storage.buffers.items()
            if name not in program.code.private
        }


def legal_order(
    upper: UpperBound | LevelOrder, flow: DataFlow, sizes: Mapping[str, int], known: Known | None = None
) -> LegalOrder:
    """Return the order of ``upper`` at ``sizes`` as nests that can be executed in the program's memory.

    ``known`` remembers what conflicts there are.

    Arrays whose conflicts an order breaks are expanded, as long as that takes no more memory than all arrays. Otherwise
    the order of that phase is given up: for its tiles without panels and turns, then for the program's.
    """
    program = flow.program
    phases = Sinking(flow, sizes, upper.steps, lambda step, at: nest_of(program, step, at, sizes))
    storage = Storage(flow)
    known = {} if known is None else known
    derived: set[tuple[str, ...]] = set()  #: phases that are derived anew for the program's memory
    while True:
        nests = phases.nests
        conflicts = conflicts_with(storage, known)
        orders = [examined(nest, conflicts) for nest in nests]
        within = frozenset(array for order in orders for array in order.broken)
        across = broken_between(nests, conflicts)
        if not within | across:
            upper = _put_in_rows(upper, phases, orders, conflicts, sizes)
            return LegalOrder(upper, tuple(phases.nests), tuple(orders), storage, conflicts, tuple(phases.moved))
        larger = storage.expanded(within, sizes) if within else None
        if not within and phases.sink(conflicts):
            continue
        larger = larger or storage.expanded(within | across, sizes)
        if larger is not None:
            storage = larger
            continue
        storage = Storage(flow)  # simpler orders may need less
        if within:
            at = next(at for at, order in enumerate(orders) if order.broken)
            made = _for_memory(phases.steps[at], derived, flow, sizes, known)
            if made is not None:
                phases.put(at, made, nest_of(program, made, at, sizes))
                upper = upper.instead({made.names[0]: made})
                continue
            phases.put(at, *_simpler(nests[at], phases.steps[at], at, program, sizes))
        else:
            _join(phases, conflicts, program, sizes)


def _for_memory(
    step: AnyStep | None, derived: set[tuple[str, ...]], flow: DataFlow, sizes: Mapping[str, int], known: Known
) -> AnyStep | None:
    """Return a phase derived anew with what shares memory among its distances, once; None where there is no order."""
    if step is None or step.names in derived or step.plain.phase is None:
        return None
    derived.add(step.names)
    capacity = step.capacity if isinstance(step, FixedStep) else sizes["S"]
    if isinstance(step, NestedStep):
        capacity = step.capacities[-1]
    conflicts = conflicts_with(Storage(flow), known)
    made = in_memory(step.plain, conflicts, {**sizes, "S": capacity})
    if isinstance(step, NestedStep) and isinstance(made, Step):
        return nested(made, step.capacities, step.sizes) or FixedStep(made.plain, made, capacity)
    several = isinstance(step, FixedStep | NestedStep)
    return FixedStep(made.plain, made, capacity) if made is not None and several else made  # type: ignore[arg-type]


def _put_in_rows(
    upper: UpperBound | LevelOrder, phases: Sinking, orders: list[Order], conflicts: Conflicts, sizes: Mapping[str, int]
) -> UpperBound | LevelOrder:
    """Put rows along memory in place of skewed coordinates inside of tiles; return ``upper`` with these tiles."""
    for at, (step, nest) in enumerate(zip(phases.steps, phases.nests, strict=True)):
        found = None if step is None or nest.remark else in_rows(step, sizes["S"], conflicts)
        if found is None and not _walks_at_distances(step):
            continue
        if found is None:
            made = program_nest(conflicts.program, nest.names)
            made = replace(made, remark="skewed tiles walk memory at distances: program order in its place")
            phases.put(at, None, made)
            orders[at] = examined(made, conflicts)
            continue
        made = nest_of(conflicts.program, found.step, at, sizes, found.entries)
        order = examined(made, conflicts)
        if not order.broken:
            phases.put(at, found.step, made)
            orders[at] = order
            upper = upper.instead({found.step.names[0]: found.step})
    return upper


def _walks_at_distances(step: AnyStep | None) -> bool:
    """True for skewed tiles over several rows of memory in which no statement goes along one.

    A line is loaded for one element there; tiles of a single row have all of its lines.
    """
    inner = step.step if isinstance(step, FixedStep) else step
    if not isinstance(inner, Step | BorderedStep) or inner.phase is None or inner.policy is None:
        return False
    width = len(next(iter(inner.phase.placement.values())))
    return width > 2 and inner.phase.is_skewed and not inner.phase.along_memory(inner.policy.order)


def as_it_is(upper: UpperBound | LevelOrder, flow: DataFlow, why: str) -> LegalOrder:
    """Return program order, of which nothing has to be examined; which loops are parallel is not known.

    ``why`` says what became of the derived order.
    """
    program = flow.program
    nest = program_nest(program, [item.name for item in program.statements])
    nest = replace(nest, remark=f"{why}: program order in its place")
    storage = Storage(flow)
    return LegalOrder(upper, (nest,), (None,), storage, conflicts_with(storage))


def _operands(step: Step) -> int:
    """Return how many values an instance of a phase reads at most."""
    return max(Counter(item.sink for item in step.reads).values(), default=0)


def _simpler(
    nest: Nest, step: AnyStep | None, at: int, program: Program, sizes: Mapping[str, int]
) -> tuple[AnyStep | None, Nest]:
    """Return a phase in tiles without panels and turns, or in program order."""
    if isinstance(step, FixedStep):
        return _simpler(nest, step.step, at, program, {**sizes, "S": step.capacity})
    if isinstance(step, PassedStep):
        return step.instead, nest_of(program, step.instead, at, sizes)
    told = "values that are alive together in the derived order share one place in memory"
    if step is not None and not isinstance(step, Step | BoxStep | WholeStep):
        made = nest_of(program, step.plain, at, sizes)
        return step.plain, replace(made, remark=f"{told}: tiles in its place")
    made = program_nest(program, nest.names)
    return None, replace(made, remark=f"{told}: program order in its place")


def _join(phases: Sinking, conflicts: Conflicts, program: Program, sizes: Mapping[str, int]) -> None:
    """Join the nests, in program order, between the first and the last of which a conflict leads back."""
    nests = phases.nests
    parameters = {name: size for name, size in sizes.items() if name != "S"}
    for first in range(len(nests)):
        for last in range(len(nests) - 1, first, -1):
            if broken_between([nests[first], nests[last]], conflicts):
                names = {name for nest in nests[first : last + 1] for name in nest.names}
                ordered = [item.name for item in program.statements if item.name in names]
                made = program_nest(program, ordered)
                joined = phases.steps[first : last + 1]
                if not all(step is not None and keeps_nothing(step, parameters, sizes["S"]) for step in joined):
                    made = replace(made, remark="phases that share memory are joined, in program order")
                phases.put(first, None, made)
                for _ in range(last - first):
                    phases.drop(first + 1)
                return
