"""A memory of a machine file as S, the fast memory, and what loads take in seconds and joules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar, cast

from shorthaul.affine.model import Program
from shorthaul.affine.options import BoundOptions, CodeOptions, MachineOptions, PlanOptions
from shorthaul.affine.plan import BoundExtra, CheckExtra, CodeExtra, Plan, PlanExtra
from shorthaul.affine.sizes import FAST_MEMORY, parse_sizes, require_memories, require_sizes
from shorthaul.core.amounts import Cost
from shorthaul.core.errors import InputError
from shorthaul.core.machines.memories import FastMemory, fast_memory
from shorthaul.core.result import Result

ExtraT = TypeVar("ExtraT", BoundExtra, PlanExtra, CheckExtra, CodeExtra)


def on_machine(options: MachineOptions) -> FastMemory | None:
    """Return the memory that the options name, None without a machine; raises :class:`InputError`."""
    return None if options.machine is None else fast_memory(options.machine, options.machine_level)


def memories(
    options: BoundOptions | PlanOptions | CodeOptions, program: Program
) -> tuple[dict[str, int], tuple[int, ...]]:
    """Return sizes for every parameter and S, and the capacities of all memories, the largest first; S is the largest.

    A machine's memory has as many words as elements of the widest array fit, for a bound as of the narrowest: it then
    holds for all that may be there. Raises :class:`InputError` where a size is missing, or given beside the machine.
    """
    memory = on_machine(options)
    if memory is None:
        return require_memories(options.size, options.level, program)
    has_room = FAST_MEMORY in parse_sizes(options.size, program)
    if has_room or options.level is not None:
        place, value = ("--size", options.size) if has_room else ("--level", options.level)
        cure = f"leave out {FAST_MEMORY}, or --machine" if has_room else "leave one of both out"
        raise InputError("does not go with --machine", place=place, value=value, cure=cure)
    widths = _widths(program)
    width = min(widths) if isinstance(options, BoundOptions) else max(widths)
    words = memory.capacity_bytes // width
    if words < 1:
        held = f"up to {memory.capacity_bytes}, which is what {memory.fast.name} holds"
        raise InputError("has elements that do not fit", place="--machine", value=f"{width} bytes", allowed=held)
    return {**require_sizes(options.size, program, fast_memory=False), FAST_MEMORY: words}, (words,)


def require_fit(plan: Plan, program: Program, memory: FastMemory | None) -> None:
    """Raise :class:`InputError` for a plan for more words than the memory holds."""
    if memory is not None and plan.fast_memory * max(_widths(program)) > memory.capacity_bytes:
        raise InputError(
            "is for a larger memory",
            place="plan",
            value=f"S={plan.fast_memory}",
            allowed=f"up to {memory.capacity_bytes // max(_widths(program))} words, as {memory.fast.name} holds",
            cure="plan for this machine, or give another --machine-level",
        )


def priced(
    result: Result[Plan, ExtraT], memory: FastMemory | None, sizes: Mapping[str, int], program: Program
) -> Result[Plan, ExtraT]:
    """Return a result at ``sizes`` with the seconds and joules of its loads on the machine, if there is one."""
    if memory is None:
        return result
    cost, bound = result.cost, result.bound
    if cost is not None:
        cost = in_amounts(cost, memory)
    if bound is not None and (sizes[FAST_MEMORY] + 1) * min(_widths(program)) > memory.capacity_bytes:
        details = {**bound.details, **memory.moved("value", bound.details["value_bytes"])}
        bound = replace(bound, details=details)
    extra = cast("ExtraT", {**result.extra, "machine": memory.document()})
    return replace(result, cost=cost, bound=bound, extra=extra)


def in_amounts(cost: Cost, memory: FastMemory) -> Cost:
    """Return a cost with the seconds and joules of its loads."""
    return Cost(**{**cost, **memory.moved("loads", cost["loads_bytes"])})


def _widths(program: Program) -> set[int]:
    return {array.element_bytes for array in program.arrays.values()}
