"""The independent replay of a plan: every rule of the game, the cost and the peak.

A move has its effect even where it breaks a rule, so that one mistake is not reported again at every later move.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt

from shorthaul.core.amounts import Cost
from shorthaul.core.check import CheckReport, Violation
from shorthaul.pebble.model import Cdag, IntArray
from shorthaul.pebble.plan import Move, Plan

BoolArray = npt.NDArray[np.bool_]

#: Violations listed one by one; beyond, only their number is given.
MOST_LISTED = 1000
_MOST_NAMED = 8


@dataclass(frozen=True, slots=True, eq=False)
class _Trace:
    """What the replay sees at each move: the node's pebbles before it, and the occupancy after it."""

    red: BoolArray
    blue: BoolArray
    computed: BoolArray
    occupancy: IntArray
    #: (node, time) keys of the moves that change red pebbles, ascending, and whether the pebble is there after each
    keys: IntArray
    red_after: BoolArray


def replay(cdag: Cdag, plan: Plan, budget: int | None, *, recompute: bool = True) -> CheckReport:
    """Return every violation of ``plan`` on ``cdag`` with a fast memory of ``budget``, and the cost of its moves.

    Rules: a load needs the value in slow memory, a store and a delete in fast memory, a computation all operands in
    fast memory; inputs are never computed; the weight in fast memory never exceeds ``budget`` (None: no limit); every
    output ends in slow memory; without ``recompute`` no value is computed twice. Loading or computing a value that is
    in fast memory already is allowed and remarked. The cost has ``traffic``, ``loads``, ``stores`` and ``peak``, all
    in the unit of the weights.
    """
    trace = _trace(cdag, plan)
    loads = plan.weight_of(Move.LOAD, cdag.weights)
    stores = plan.weight_of(Move.STORE, cdag.weights)
    peak = int(trace.occupancy.max(initial=0))
    found = sorted(islice(_violations(cdag, plan, trace, budget, recompute=recompute), 50 * MOST_LISTED), key=_first)
    useless = int((trace.red & (plan.kinds != Move.DELETE) & (plan.kinds != Move.STORE)).sum())
    again = int((trace.computed & (plan.kinds == Move.COMPUTE)).sum())
    remarks = []
    if useless:
        remarks.append(f"{useless} moves load or compute a value that is in fast memory already")
    if again and recompute:
        remarks.append(f"{again} computations repeat an earlier one")
    if len(found) > MOST_LISTED:
        remarks.append(f"{len(found)} violations found, the first {MOST_LISTED} are listed")
    return CheckReport(
        violations=tuple(violation for _, violation in found[:MOST_LISTED]),
        cost=Cost(traffic=loads + stores, loads=loads, stores=stores, peak=peak),
        remarks=tuple(remarks),
        details={"moves": len(plan), "recomputed": again},
    )


def occupancy(cdag: Cdag, plan: Plan) -> IntArray:
    """Return the weight in fast memory after each move, shape (moves,)."""
    return _trace(cdag, plan).occupancy


def _first(item: tuple[int, Violation]) -> int:
    return item[0]


def _trace(cdag: Cdag, plan: Plan) -> _Trace:
    moves = len(plan)
    order = np.argsort(plan.nodes, kind="stable")
    kinds, nodes = plan.kinds[order], plan.nodes[order]
    starts = np.searchsorted(nodes, nodes)  # where each node's moves begin
    changes = kinds != Move.STORE
    last = _last_before(changes, starts)
    red = np.zeros(moves, dtype=bool)
    red[order] = (last >= 0) & (kinds[last] != Move.DELETE)
    blue = np.zeros(moves, dtype=bool)
    blue[order] = (_last_before(kinds == Move.STORE, starts) >= 0) | cdag.is_input()[nodes]
    computed = np.zeros(moves, dtype=bool)
    computed[order] = _last_before(kinds == Move.COMPUTE, starts) >= 0
    weight = cdag.weights[plan.nodes]
    placed = (plan.kinds == Move.LOAD) | (plan.kinds == Move.COMPUTE)
    change = np.where(placed & ~red, weight, 0) - np.where((plan.kinds == Move.DELETE) & red, weight, 0)
    keys = nodes[changes] * np.int64(moves + 1) + order[changes]
    return _Trace(red, blue, computed, np.cumsum(change), keys, kinds[changes] != Move.DELETE)


def _last_before(marked: BoolArray, starts: IntArray) -> IntArray:
    """Return, per position, the last marked position before it that is not before ``starts``, else -1."""
    positions = np.arange(len(marked), dtype=np.int64)
    latest = np.maximum.accumulate(np.where(marked, positions, -1))
    before = np.concatenate([[-1], latest[:-1]])[: len(marked)]
    return np.where(before >= starts, before, -1)


def _missing_operands(cdag: Cdag, plan: Plan, trace: _Trace) -> dict[int, list[int]]:
    """Return, per move that computes a value without all its operands, the operands it misses."""
    times = np.flatnonzero(plan.kinds == Move.COMPUTE)
    nodes = plan.nodes[times]
    counts = cdag.parents.degrees()[nodes]
    if not counts.sum():
        return {}
    ends = np.cumsum(counts)
    inside = np.arange(ends[-1], dtype=np.int64) - np.repeat(ends - counts, counts)
    operands = cdag.parents.targets[np.repeat(cdag.parents.starts[nodes], counts) + inside]
    when = np.repeat(times, counts)
    stride = np.int64(len(plan) + 1)
    position = np.searchsorted(trace.keys, operands * stride + when) - 1
    there = (position >= 0) & (trace.keys[position] // stride == operands) & trace.red_after[position]
    missing: dict[int, list[int]] = {}
    for time, operand in zip(when[~there].tolist(), operands[~there].tolist(), strict=True):
        missing.setdefault(time, []).append(operand)
    return missing


def _violations(
    cdag: Cdag, plan: Plan, trace: _Trace, budget: int | None, *, recompute: bool
) -> Iterator[tuple[int, Violation]]:
    is_input = cdag.is_input()[plan.nodes]
    kinds = plan.kinds

    def at(time: int) -> tuple[str, str]:
        return f"move {time}", str(cdag.id_of(int(plan.nodes[time])))

    simple = (
        ("load-of-absent", "loads {}, which is not in slow memory", (kinds == Move.LOAD) & ~trace.blue),
        ("store-of-absent", "stores {}, which is not in fast memory", (kinds == Move.STORE) & ~trace.red),
        ("delete-of-absent", "deletes {}, which is not in fast memory", (kinds == Move.DELETE) & ~trace.red),
        ("computed-input", "computes {}, which is an input", (kinds == Move.COMPUTE) & is_input),
    )
    for rule, message, broken in simple:
        for time in np.flatnonzero(broken).tolist():
            place, node = at(time)
            yield time, Violation(rule, place, message.format(node))
    if not recompute:
        for time in np.flatnonzero((kinds == Move.COMPUTE) & trace.computed).tolist():
            place, node = at(time)
            yield time, Violation("recomputed", place, f"computes {node} again, which is not allowed here")
    for time, operands in _missing_operands(cdag, plan, trace).items():
        place, node = at(time)
        named = ", ".join(str(cdag.id_of(operand)) for operand in operands[:_MOST_NAMED])
        more = f" and {len(operands) - _MOST_NAMED} more" if len(operands) > _MOST_NAMED else ""
        yield time, Violation("missing-operand", place, f"computes {node} without {named}{more} in fast memory")
    if budget is not None:
        placed = (kinds == Move.LOAD) | (kinds == Move.COMPUTE)
        for time in np.flatnonzero(placed & (trace.occupancy > budget)).tolist():
            place, node = at(time)
            amount = float(trace.occupancy[time])
            yield time, Violation("over-budget", place, f"{node} does not fit in fast memory", amount, float(budget))
    stored = np.zeros(cdag.n, dtype=bool)
    stored[plan.nodes[kinds == Move.STORE]] = True
    for output in np.flatnonzero(cdag.is_output() & ~stored).tolist():
        name = cdag.id_of(output)
        yield len(plan), Violation("missing-output", "the end", f"output {name} is not in slow memory")
