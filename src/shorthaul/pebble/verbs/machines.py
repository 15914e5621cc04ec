"""A memory of a machine file as the fast memory: its budget, and what a plan takes in bytes, seconds and joules."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar, cast

from shorthaul.core.amounts import Bound, Cost
from shorthaul.core.errors import InputError
from shorthaul.core.machines.memories import FastMemory, MemoryDocument, fast_memory
from shorthaul.core.result import Result
from shorthaul.pebble.model import Cdag
from shorthaul.pebble.options import (
    LARGEST_BUDGET,
    BoundOptions,
    CheckOptions,
    PlanOptions,
    SweepOptions,
)
from shorthaul.pebble.plan import BoundExtra

OptionsT = TypeVar("OptionsT", PlanOptions, BoundOptions, CheckOptions, SweepOptions)
PlanT = TypeVar("PlanT")
ExtraT = TypeVar("ExtraT", bound=BoundExtra)


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory of a machine for values of a graph; a unit of weight takes ``weight_bytes``."""

    level: FastMemory
    weight_bytes: float

    def moved(self, loads: float, stores: float) -> dict[str, float]:
        """Return bytes, seconds and joules of what a plan loads and stores."""
        return self.level.moved("traffic", loads * self.weight_bytes, stores * self.weight_bytes)

    def priced(self, cost: Cost) -> Cost:
        """Return the cost with its traffic in bytes, seconds and joules."""
        return Cost(**cost, **self.moved(cost["loads"], cost["stores"]))

    def bounded(self, bound: Bound) -> Bound:
        """Return a bound on the traffic with what that takes at least; other bounds as they are."""
        if bound.of != "traffic":
            return bound
        return replace(bound, details={**bound.details, **self.level.least("value", bound.value * self.weight_bytes)})

    def document(self) -> MemoryDocument:
        """Return the memory as a JSON object."""
        return {**self.level.document(), "weight_bytes": self.weight_bytes}


def on_machine(cdag: Cdag, options: OptionsT) -> tuple[OptionsT, Memory | None]:
    """Return the options with the budget that their machine gives, and its memory; without a machine as they are.

    Raises :class:`InputError` if there is no such machine, it has no such memory, or nothing fits there.
    """
    if options.machine is None:
        return options, None
    level = fast_memory(options.machine, options.machine_level)
    weight_bytes = cdag.weight_bytes if options.weight_bytes is None else options.weight_bytes
    if weight_bytes is None:
        raise InputError(
            "does not say how many bytes a weight of 1 is",
            place="--machine",
            value=options.machine,
            cure="give --weight-bytes too: 1 for weights in bytes, 8 for words of 64 bits, 0.125 for bits",
        )
    memory = Memory(level, weight_bytes)
    if isinstance(options, SweepOptions):  # which has budgets of its own
        return options, memory
    if options.budget is not None:
        cure = "leave one of both out"
        raise InputError("does not go with --machine", place="--budget", value=options.budget, cure=cure)
    budget = min(int(level.capacity_bytes / weight_bytes), LARGEST_BUDGET)
    if budget < 1:
        held = f"up to {level.capacity_bytes}, which is what {level.fast.name} holds"
        raise InputError("is too large", place="--weight-bytes", value=weight_bytes, allowed=held)
    return replace(options, budget=budget), memory


def priced(result: Result[PlanT, ExtraT], memory: Memory | None) -> Result[PlanT, ExtraT]:
    """Return the result of a plan or a bound with bytes, seconds and joules on the machine, if there is one."""
    if memory is None:
        return result
    return replace(
        result,
        cost=None if result.cost is None else memory.priced(result.cost),
        bound=None if result.bound is None else memory.bounded(result.bound),
        extra=cast("ExtraT", {**result.extra, "machine": memory.document()}),
    )
