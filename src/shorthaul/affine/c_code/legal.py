"""A derived order that keeps every dependence through memory: with room for more values, or less of the order."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from shorthaul.affine.c_code.legality import Order, broken_between, examined
from shorthaul.affine.c_code.parts import Nest, nest_of, program_nest
from shorthaul.affine.integer_sets.dependences import Conflicts, DataFlow
from shorthaul.affine.model import Program
from shorthaul.affine.orders.boxes.fixed import FixedStep
from shorthaul.affine.orders.boxes.passed import PassedStep
from shorthaul.affine.orders.boxes.steps import BoxStep, WholeStep
from shorthaul.affine.orders.boxes.storage import Storage
from shorthaul.affine.orders.levels import LevelOrder
from shorthaul.affine.orders.tile_steps import Step
from shorthaul.affine.orders.upper_bound import AnyStep, UpperBound


@dataclass(frozen=True)
class LegalOrder:
    """Nests one after the other, what is known of each, and the storage that they need."""

    nests: tuple[Nest, ...]
    orders: tuple[Order, ...]
    storage: Storage
    conflicts: Conflicts


def legal_order(upper: UpperBound | LevelOrder, flow: DataFlow, sizes: Mapping[str, int]) -> LegalOrder:
    """Return the order of ``upper`` at ``sizes`` as nests that can be executed in the program's memory.

    Arrays whose conflicts an order breaks are expanded, as long as that takes no more memory than all arrays. Otherwise
    the order of that phase is given up: for its tiles without panels and turns, then for the program's.
    """
    program = flow.program
    steps: list[AnyStep | None] = list(upper.steps)
    nests = [nest_of(program, step, at, sizes) for at, step in enumerate(upper.steps)]
    storage = Storage(flow)
    known: dict[Hashable, Any] = {}
    while True:
        conflicts = Conflicts(program, storage.accesses(), known)
        orders = [examined(nest, conflicts) for nest in nests]
        within = frozenset(array for order in orders for array in order.broken)
        across = broken_between(nests, conflicts)
        if not within | across:
            return LegalOrder(tuple(nests), tuple(orders), storage, conflicts)
        larger = storage.expanded(within | across, sizes)
        if larger is not None:
            storage = larger
        elif within:
            at = next(at for at, order in enumerate(orders) if order.broken)
            steps[at], nests[at] = _simpler(nests[at], steps[at], at, program, sizes)
        else:
            nests, steps = _joined(nests, steps, conflicts, program)


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


def _joined(
    nests: list[Nest], steps: list[AnyStep | None], conflicts: Conflicts, program: Program
) -> tuple[list[Nest], list[AnyStep | None]]:
    """Return the nests with those joined, in program order, between which a conflict leads back."""
    for first in range(len(nests)):
        for last in range(len(nests) - 1, first, -1):
            if broken_between([nests[first], nests[last]], conflicts):
                names = {name for nest in nests[first : last + 1] for name in nest.names}
                ordered = [item.name for item in program.statements if item.name in names]
                made = replace(
                    program_nest(program, ordered),
                    remark="phases that share memory are joined, in program order",
                )
                return [*nests[:first], made, *nests[last + 1 :]], [*steps[:first], None, *steps[last + 1 :]]
    return nests, steps
