"""What verbs derive, as far as the search gets: the data flow, the bound as results hold it, orders, drawings."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from typing import Any

import numpy as np
import sympy

from shorthaul.affine import tuning, views
from shorthaul.affine.bounds.best import AffineBound
from shorthaul.affine.effort import OutOfEffortError, charged_to, until_out_of_effort
from shorthaul.affine.integer_sets.counting import LongFormulaError, card
from shorthaul.affine.integer_sets.dependences import DataFlow, flow_dependences
from shorthaul.affine.integer_sets.points import MOST_POINTS, TooManyPointsError
from shorthaul.affine.integer_sets.quasi_polynomial import amount_at, number_at
from shorthaul.affine.model import Program
from shorthaul.affine.orders.memories.levels import LevelOrder, at_levels
from shorthaul.affine.orders.searching import order_and_formula
from shorthaul.affine.orders.upper_bound import UpperBound, upper_bound
from shorthaul.affine.orders.upper_report import upper_document
from shorthaul.affine.plan import UpperDocument
from shorthaul.affine.replay.cdag import ConcreteCdag, concrete_cdag, too_large
from shorthaul.affine.sizes import FAST_MEMORY, LARGEST, assumption, sizes_text
from shorthaul.affine.tuning import NO_SLACK, Slack
from shorthaul.core.amounts import Bound
from shorthaul.core.errors import InputError
from shorthaul.core.figure import Figure, Network, Node
from shorthaul.core.search import Search
from shorthaul.core.searching.memory import room
from shorthaul.graphs.replay import belady_loads

KIND = "shorthaul/affine-result"
#: The least S of a drawing, in words, and how many there are.
_LEAST_DRAWN, _POINTS_DRAWN = 4, 13
#: Nodes of a drawn graph of statements and arrays; more cannot be read.
_MOST_NODES = 120

#: Said beside every leading term: the full formula is what holds for all sizes.
LEADING_HOLDS_FOR = "for S small against all sizes, and sizes about equal where the formula compares them"
LEADING_LIKE_THESE = "for S small against all sizes, in the proportions of these"


def over_memory(
    found: AffineBound, sizes: Mapping[str, int] | None, capacities: Sequence[int], search: Search
) -> dict[int, float]:
    """Return the bound at values of S around ``capacities``, as far as the search gets; none without sizes."""
    bound: dict[int, float] = {}
    if sizes is None:
        return bound
    most = min(LARGEST, 2 * max(*capacities, int(number_at(found.inputs, sizes)), _LEAST_DRAWN))
    spaced = np.round(np.geomspace(_LEAST_DRAWN, most, _POINTS_DRAWN)).astype(np.int64).tolist()
    for words in sorted({*spaced, *capacities}):
        if search.expired():
            break
        bound[words] = max(0, found.value({**sizes, FAST_MEMORY: words}))
    return bound


def loads_of(
    order: UpperBound | LevelOrder | None, sizes: Mapping[str, int] | None, capacities: Sequence[int]
) -> dict[int, float]:
    """Return what an order loads into every memory by its formula; nothing where the search ends."""
    with suppress(OutOfEffortError):
        if order is not None and sizes is not None:
            return {words: order.value({**sizes, FAST_MEMORY: words}) for words in capacities}
    return {}


def drawn_over_memory(
    bound: Mapping[int, float], loads: Mapping[int, float], sizes: Mapping[str, int] | None
) -> tuple[Figure, ...]:
    """Return a drawing of the bound over S, and of what an order loads; none where no value of the bound is known."""
    others = {name: value for name, value in (sizes or {}).items() if name != FAST_MEMORY}
    return views.of_memories(bound, loads, sizes_text(others)) if bound else ()


def dependences_in_time(program: Program) -> DataFlow | None:
    """Return the data flow of ``program``, None if the search ends before it is known."""
    try:
        return flow_dependences(program)
    except OutOfEffortError:
        return None


def upper_bound_in_time(
    program: Program,
    flow: DataFlow | None,
    search: Search,
    small: tuple[str, ...] = (),
    share: float = tuning.UPPER_SHARE,
) -> UpperBound | None:
    """Return a derived order, found with a share of what is left, None if the search ends before there is one."""
    try:
        return None if flow is None else upper_bound(program, flow=flow, small=small, search=search.part(share))
    except OutOfEffortError:
        return None


def orders_in_time(
    program: Program,
    flow: DataFlow | None,
    sizes: Mapping[str, int] | None,
    capacities: tuple[int, ...],
    search: Search,
    small: tuple[str, ...] = (),
    slack: Slack = NO_SLACK,
    keep: Callable[[UpperBound], None] = lambda _: None,
) -> tuple[UpperBound | None, UpperBound | LevelOrder | None]:
    """Return orders for all sizes, and at ``sizes`` if there are any, for one memory, S, or several.

    None in place of one where the search ends first. ``slack`` is what long rows and strips may cost. ``keep`` takes
    the orders for one memory that were the best for a time.
    """
    upper: UpperBound | None = None
    with suppress(OutOfEffortError, LongFormulaError):
        if sizes is not None and len(capacities) == 1 and flow is not None:
            here, upper = order_and_formula(flow, sizes, search.part(tuning.SIZED_SHARE), small, slack, keep)
            return upper, here
        upper = upper_bound_in_time(program, flow, search, small)
        if upper is not None and flow is not None and sizes is not None:
            return upper, at_levels(upper, flow, sizes, capacities, search.part(tuning.SIZED_SHARE), slack)
    return upper, None


def upper_document_in_time(
    upper: UpperBound | None,
    lower: sympy.Expr | None,
    sizes: Mapping[str, int] | None,
    here: UpperBound | LevelOrder | None,
) -> UpperDocument | None:
    """Return the derived order as JSON, None if there is none, or its formulas are not known in time or too long.

    ``here`` is the best order known at ``sizes``.
    """
    try:
        return None if upper is None or (sizes and here is None) else upper_document(upper, lower, sizes, here)
    except (OutOfEffortError, LongFormulaError):
        return None


def operations_at(found: AffineBound, sizes: Mapping[str, int] | None) -> float | None:
    """Return the arithmetic operations at ``sizes``, None where they are not counted."""
    return None if sizes is None or found.operations is None else amount_at(found.operations, sizes)


def bound_of(program: Program, found: AffineBound, sizes: Mapping[str, int] | None, flow: DataFlow | None) -> Bound:
    """Return the bound as results hold it: its value at ``sizes``, formulas, proof."""
    value = None if sizes is None else max(0.0, found.value(sizes))
    proof, simple = found.proof.text(), found.simple
    details: dict[str, Any] = {
        "value": value,
        "formula": str(found.formula),
        "leading": str(found.leading),
        "leading_holds_for": LEADING_HOLDS_FOR if sizes is None else LEADING_LIKE_THESE,
        "simple": None if simple is None else {"where": list(simple.where), "formula": str(simple.formula)},
        "inputs": str(found.inputs),
        "operations": None if found.operations is None else str(found.operations),
        "oi_limit": str(found.oi_limit),
        "suits_sizes": value is not None and sizes is not None and _suits(found, sizes, value),
        "rests_on": rests_on(found, sizes),
        "model": found.proof.model,
        "assumes": assumption(program),
        "steps": found.proof.document(),
        "certificate": found.proof.certificate(),
        "latex": found.latex(),
    }
    if value is not None and sizes is not None:
        width, surplus = bytes_of_loads(program, sizes, flow)
        details["value_bytes"] = value * width + surplus
    return Bound("loads_words", float("nan") if value is None else value, found.method, proof, details)


def _suits(found: AffineBound, sizes: Mapping[str, int], value: float) -> bool:
    """True if the value is from arguments made for the sizes, more than the formula for all sizes gives."""
    return found.general is not None and value > math.ceil(number_at(found.general, sizes)) + 1


def rests_on(found: AffineBound, sizes: Mapping[str, int] | None) -> list[dict[str, Any]]:
    """Return what adds up to the value at ``sizes``, each part with its share; without sizes all parts, without one."""
    listed: list[dict[str, Any]] = [{"method": "first loads of inputs", "statements": []}]
    listed += [{"method": item.method, "statements": list(item.statements)} for item in found.proof.parts]
    if sizes is None:
        return [{**item, "part": at, "loads_words": None} for at, item in enumerate(listed)]
    shares = [max(0, amount_at(item.value, sizes)) for item in found.proof.parts]
    best = max(found.proof.sums, key=lambda item: sum(shares[at] for at in item), default=())
    chosen = [(0, amount_at(found.inputs, sizes)), *((at + 1, shares[at]) for at in best if shares[at] > 0)]
    return [{**listed[at], "part": at, "loads_words": share} for at, share in chosen]


def bytes_of_loads(program: Program, sizes: Mapping[str, int], flow: DataFlow | None) -> tuple[int, int]:
    """Return (bytes of every load at least, bytes that inputs take beyond these): each input is loaded once."""
    width = min(array.element_bytes for array in program.arrays.values())
    surplus = (
        card(item).at(sizes) * (program.arrays[array].element_bytes - width)
        for array, item in (flow.inputs if flow is not None else {}).items()
        if program.arrays[array].element_bytes > width
    )
    return width, sum(until_out_of_effort(surplus))


def drawn_data_flow(flow: DataFlow | None) -> tuple[Network, ...]:
    """Return the statements and the arrays that they read first, each after what it takes values from.

    A statement that takes values from itself or from a later one, in an iteration before, has that said under the
    mouse. None if there are too many of them to be read.
    """
    if flow is None or len(flow.program.statements) + len(flow.inputs) > _MOST_NODES:
        return ()
    taken: dict[str, set[str]] = {item.name: set() for item in flow.program.statements}
    for item in flow.flows:
        taken[item.sink].add(item.reference.array if item.source is None else item.source)
    arrays = sorted({source for sources in taken.values() for source in sources} - taken.keys())
    column, height = dict.fromkeys(arrays, 0), Counter({0: len(arrays)})
    nodes = [Node(name, name, 0, row, "input", "circle", f"array {name}") for row, name in enumerate(arrays)]
    for statement in flow.program.statements:
        earlier = taken[statement.name] & column.keys()
        later = sorted(taken[statement.name] - column.keys())
        at = column[statement.name] = 1 + max((column[source] for source in earlier), default=0)
        again = f"; takes values of earlier iterations from {', '.join(later)}" if later else ""
        hover = f"{statement.place}: {statement.text}{again}"
        label = f"{statement.name} writes {statement.write.array}"
        nodes.append(Node(statement.name, label, at, height[at], "statement", "square", hover))
        height[at] += 1
    edges = [(source, sink) for sink, sources in taken.items() for source in sorted(sources - {sink})]
    return (Network("Values between statements", tuple(nodes), tuple(edges)),)


def executed(
    program: Program,
    sizes: Mapping[str, int],
    flow: DataFlow | None,
    search: Search | None = None,
    most: float = math.inf,
) -> ConcreteCdag:
    """Return all instances at ``sizes``; raise OutOfEffortError where ``search`` has not left what they take.

    Few are listed whatever its effort, which is not charged for them; ``most`` is how many instances and reads may be.
    """
    with charged_to(Search()):  # not to one that has no limit of memory
        counts = [card(item.domain).at(sizes) for item in program.statements]
    if max(counts) > MOST_POINTS:
        raise too_large(program, sizes)
    reads = sum(count * (1 + len(item.reads)) for count, item in zip(counts, program.statements, strict=True))
    if reads > most:
        why = "take minutes: an effort or a time limit has them replayed"
        raise TooManyPointsError(f"{reads:,} instances and reads {why}")
    if room() < tuning.LISTED_BYTES * reads:
        raise TooManyPointsError("takes more memory than there is: its instances are too many")
    if search is not None and reads <= tuning.LISTED_AT_ONCE:
        search = search.beside(tuning.LISTED_AT_ONCE_EFFORT)
    if search is not None and search.left() < tuning.LISTED_EFFORT * reads:
        raise OutOfEffortError
    with nullcontext() if search is None else charged_to(search):
        cdag = concrete_cdag(program, sizes, flow)
    if cdag.n == cdag.inputs:
        raise InputError("nothing is executed at these sizes", place="--size", cure="use larger sizes")
    return cdag


def program_order_loads(program: Program, sizes: Mapping[str, int], flow: DataFlow | None, search: Search) -> float:
    """Return what program order loads by replay, infinity where there is not enough effort left for that."""
    with suppress(OutOfEffortError, InputError):
        cdag = executed(program, sizes, flow, search)
        return int(belady_loads(cdag.program_order, cdag.starts, cdag.operands, sizes[FAST_MEMORY]).sum())
    return float("inf")
