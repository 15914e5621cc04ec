"""The independent replay of a plan: every rule of the game, the cost and the peak.

A move has its effect even where it breaks a rule, so that one mistake is not reported again at every later move.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np
import numpy.typing as npt

from shorthaul.core.amounts import Cost
from shorthaul.core.check import CheckReport, Violation
from shorthaul.core.errors import InputError
from shorthaul.pebble.check import replay_constants as bits
from shorthaul.pebble.check import replay_kernels as kernels
from shorthaul.pebble.check.partial import replay_partial
from shorthaul.pebble.model import Cdag, IntArray, Terms
from shorthaul.pebble.plan import Move, Plan

FlagArray = npt.NDArray[np.uint8]

#: Violations listed one by one; beyond, only their number is given.
MOST_LISTED = 1000
_MOST_NAMED = 8
_NO_LIMIT = 2**62


def replay(
    cdag: Cdag, plan: Plan, budget: int | None, *, recompute: bool = True, terms: Terms | None = None
) -> CheckReport:
    """Return every violation of ``plan`` on ``cdag`` with a fast memory of ``budget``, and the cost of its moves.

    Rules: a load needs the value in slow memory, a store and a delete in fast memory, a computation all operands in
    fast memory; inputs are never computed; the weight in fast memory never exceeds ``budget`` (None: no limit); every
    output ends in slow memory; without ``recompute`` no value is computed twice. Loading or computing a value that is
    in fast memory already is allowed and remarked. The cost has ``traffic``, ``loads``, ``stores`` and ``peak``, all
    in the unit of the weights.

    With ``terms`` the cost also has ``compute``, what all computations cost, and ``total``, what the plan pays. Without
    loads no value is loaded, and inputs are computed; without stores none is stored, and outputs have to be computed
    only. In order, no value is computed for the first time after one of a higher index. In place, a computation that is
    directly followed by the deletion of an operand no lighter than the result puts the result into its room: until
    then nothing more is held than before.
    """
    paid = terms or Terms()
    if paid.partial:
        return replay_partial(cdag, plan, budget, paid)
    if len(plan) and plan.kinds.max() > Move.DELETE:
        place, cure = f"moves[{int(np.argmax(plan.kinds > Move.DELETE))}]", "check it with --partial"
        raise InputError("accumulates a value, which this game does not know", place=place, cure=cure)
    if paid.load is None:
        cdag = replace(cdag, given=np.zeros(cdag.n, dtype=np.bool_))
    state, occupancy, found = _played(cdag, plan, budget, in_place=paid.in_place)
    found |= _against(plan, paid)
    loads = plan.weight_of(Move.LOAD, cdag.weights)
    stores = plan.weight_of(Move.STORE, cdag.weights)
    useless, again = (int(np.count_nonzero(found & bit)) for bit in (bits.USELESS, bits.REPEATED))
    wrong = found & ~np.uint8(bits.USELESS | (bits.REPEATED if recompute else 0))
    missing = np.flatnonzero(cdag.is_output() & (state & (bits.COMPUTED if paid.store is None else bits.BLUE) == 0))
    number = int(np.unpackbits(wrong).sum()) + len(missing)
    remarks = []
    if useless:
        remarks.append(f"{useless} moves load or compute a value that is in fast memory already")
    if again and recompute:
        remarks.append(f"{again} computations repeat an earlier one")
    if number > MOST_LISTED:
        remarks.append(f"{number} violations found, the first {MOST_LISTED} are listed")
    violations = _violations(cdag, plan, wrong, missing, occupancy, budget, paid)
    amounts = {"traffic": loads + stores, "loads": loads, "stores": stores}
    if terms is not None:
        compute = sum(cdag.compute[plan.nodes[plan.kinds == Move.COMPUTE]].tolist())
        total = (terms.load or 0) * loads + (terms.store or 0) * stores + compute
        amounts = {"total": total, "compute": compute, **amounts}
    return CheckReport(
        violations=tuple(islice(violations, MOST_LISTED)),
        cost=Cost(**amounts, peak=int(occupancy.max(initial=0))),
        remarks=tuple(remarks),
        details={"moves": len(plan), "recomputed": again},
    )


def occupancy(cdag: Cdag, plan: Plan, *, in_place: bool = False) -> IntArray:
    """Return the weight in fast memory after each move, shape (moves,)."""
    return _played(cdag, plan, None, in_place=in_place)[1]


def _played(cdag: Cdag, plan: Plan, budget: int | None, *, in_place: bool) -> tuple[FlagArray, IntArray, FlagArray]:
    """Return the state of each node at the end, the occupancy after each move, and what is wrong with each move."""
    state = np.where(cdag.is_input(), np.uint8(bits.INPUT | bits.BLUE), np.uint8(0))
    weights, wrong = np.empty(len(plan), np.int64), np.empty(len(plan), np.uint8)
    kinds, nodes = np.ascontiguousarray(plan.kinds), np.ascontiguousarray(plan.nodes)
    if len(plan) and (nodes.min() < 0 or nodes.max() >= cdag.n):
        raise InputError("a move names a node that does not exist", place="plan", allowed=f"0 to {cdag.n - 1}")
    room = _NO_LIMIT if budget is None else budget
    kernels.play(_graph(cdag, in_place=in_place), kinds, nodes, room, state, weights, wrong)
    return state, weights, wrong


def _graph(cdag: Cdag, *, in_place: bool) -> kernels.Graph:
    return kernels.Graph(cdag.parents.starts, cdag.parents.targets, cdag.weights, in_place)


def _against(plan: Plan, terms: Terms) -> FlagArray:
    """Return which moves there are not, and which compute a value too late."""
    found = np.zeros(len(plan), np.uint8)
    for kind, price in ((Move.LOAD, terms.load), (Move.STORE, terms.store)):
        if price is None:
            found[plan.kinds == kind] |= bits.FORBIDDEN
    if terms.in_order:
        computing = np.flatnonzero(plan.kinds == Move.COMPUTE)
        first = np.sort(computing[np.unique(plan.nodes[computing], return_index=True)[1]])
        nodes = plan.nodes[first]
        found[first[nodes < np.maximum.accumulate(nodes)]] |= bits.OUT_OF_ORDER
    return found


def _missing_operands(cdag: Cdag, plan: Plan, moves: list[int]) -> Iterator[list[int]]:
    """Yield, for each of some moves that compute a value, ascending, the operands that are not in fast memory."""
    state = np.where(cdag.is_input(), np.uint8(bits.INPUT | bits.BLUE), np.uint8(0))
    weights, wrong = np.empty(len(plan), np.int64), np.empty(len(plan), np.uint8)
    kinds, nodes = np.ascontiguousarray(plan.kinds), np.ascontiguousarray(plan.nodes)
    done = 0
    for move in moves:
        kernels.play(_graph(cdag, in_place=False), kinds[done:move], nodes[done:move], _NO_LIMIT, state, weights, wrong)
        done = move
        operands = cdag.parents.neighbours(int(plan.nodes[move]))
        yield operands[state[operands] & bits.RED == 0].tolist()


def _violations(
    cdag: Cdag, plan: Plan, wrong: FlagArray, missing: IntArray, occupancy: IntArray, budget: int | None, terms: Terms
) -> Iterator[Violation]:
    """Yield what is wrong, by time."""
    absent = {
        Move.LOAD: ("load-of-absent", "loads {}, which is not in slow memory"),
        Move.STORE: ("store-of-absent", "stores {}, which is not in fast memory"),
        Move.DELETE: ("delete-of-absent", "deletes {}, which is not in fast memory"),
    }
    lacking = _missing_operands(cdag, plan, np.flatnonzero(wrong & bits.MISSING_OPERAND).tolist())
    for time in np.flatnonzero(wrong).tolist():
        place, node, found = f"move {time}", str(cdag.id_of(int(plan.nodes[time]))), int(wrong[time])
        if found & bits.FORBIDDEN:
            yield Violation("no-such-move", place, f"{Move(plan.kinds[time]).name.lower()}s {node}, which has no price")
        elif found & bits.ABSENT:
            rule, message = absent[Move(plan.kinds[time])]
            yield Violation(rule, place, message.format(node))
        if found & bits.COMPUTED_INPUT:
            yield Violation("computed-input", place, f"computes {node}, which is an input")
        if found & bits.REPEATED:
            yield Violation("recomputed", place, f"computes {node} again, which is not allowed here")
        if found & bits.OUT_OF_ORDER:
            yield Violation("out-of-order", place, f"computes {node} first after a node that follows it in the order")
        if found & bits.MISSING_OPERAND:
            operands = next(lacking)
            named = ", ".join(str(cdag.id_of(operand)) for operand in operands[:_MOST_NAMED])
            more = f" and {len(operands) - _MOST_NAMED} more" if len(operands) > _MOST_NAMED else ""
            yield Violation("missing-operand", place, f"computes {node} without {named}{more} in fast memory")
        if found & bits.OVER_BUDGET and budget is not None:
            amount = float(occupancy[time])
            yield Violation("over-budget", place, f"{node} does not fit in fast memory", amount, float(budget))
    for output in missing.tolist():
        lack = "not in slow memory" if terms.store is not None else "never computed"
        yield Violation("missing-output", "the end", f"output {cdag.id_of(output)} is {lack}")
