"""The verb ``bound``: what every order must load, with its proof, and the derived order beside it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from shorthaul.affine import tuning, views
from shorthaul.affine.bounds.best import AffineBound, lower_bound
from shorthaul.affine.effort import OutOfEffortError, charged_to, until_out_of_effort
from shorthaul.affine.integer_sets.counting import LongFormulaError, card
from shorthaul.affine.integer_sets.dependences import DataFlow, flow_dependences
from shorthaul.affine.integer_sets.quasi_polynomial import number_at
from shorthaul.affine.model import Program
from shorthaul.affine.options import BoundOptions
from shorthaul.affine.orders.memories.levels import LevelOrder, at_levels
from shorthaul.affine.orders.sized import at_sizes
from shorthaul.affine.orders.upper_bound import UpperBound, upper_bound
from shorthaul.affine.orders.upper_report import upper_document, upper_text
from shorthaul.affine.plan import (
    BoundExtra,
    Plan,
    ProgramText,
    UpperDocument,
)
from shorthaul.affine.sizes import FAST_MEMORY, assumption, sizes_text
from shorthaul.affine.tuning import NO_SLACK, Slack
from shorthaul.affine.verbs.data_flow import drawn_data_flow
from shorthaul.affine.verbs.inputs import PLANS, PROGRAMS, Workload
from shorthaul.affine.verbs.levels import level_bounds, level_rows
from shorthaul.affine.verbs.machines import memories, on_machine, priced
from shorthaul.affine.verbs.room import lack_of_room
from shorthaul.core.amounts import Bound
from shorthaul.core.figure import Figure, Text
from shorthaul.core.provenance import provenance
from shorthaul.core.result import Result
from shorthaul.core.search import Search
from shorthaul.core.verbs import asked, verb

if TYPE_CHECKING:
    from shorthaul.affine.verbs.keywords import (
        BoundKeywords,
    )

KIND = "shorthaul/affine-result"
#: The least S of a drawing, in words, and how many there are.
_LEAST_DRAWN, _POINTS_DRAWN = 4, 13


@verb(
    BoundOptions,
    PROGRAMS,
    PLANS,
)
def bound(workload: Workload, **keywords: Unpack[BoundKeywords]) -> Result[Plan, BoundExtra]:
    """Return a parametric lower bound on the loads of ``program``, with its proof.

    The bound's ``details`` hold ``formula``, ``leading``, ``inputs``, ``operations``, ``oi_limit`` as text; ``value``
    is None in the document where no sizes are given. With ``reassociate`` the bound holds for any order and tree of
    sums, and ``in_order`` holds the one for the order of the program. Where a choice between values has a read in one
    of its branches only, ``one_branch`` holds the bound for hardware that reads one of them; with the option of that
    name this is the bound, and ``both_branches`` the one for hardware that reads both.

    Returns
    -------
    Result[Plan, BoundExtra]
        The bound on ``loads_words``, its proof, and in ``extra`` the derived order that comes near it.

    Raises
    ------
    InputError
        If the C source or a keyword is wrong: file, place, value and cure.

    Examples
    --------
    >>> from shorthaul.affine.workloads.cases import case
    >>> result = bound(case("matvec").workload, size="M=100,N=100,S=8")
    >>> result.bound.of
    'loads_words'
    """
    program, options, search, source = asked(workload, PROGRAMS, BoundOptions, keywords)
    small, given = _small(options, program), None
    if options.size is not None or options.level is not None or options.machine is not None:
        given = memories(options, program)
    sizes, capacities = given or (None, ())
    with search, charged_to(search):  # Ctrl-C ends the search with what was found
        flow = dependences_in_time(program)
        read = program.with_sure_reads() if options.one_branch else program
        own = flow if read is program else dependences_in_time(read)
        others = _others(program, options)
        share = tuning.LOWER_SHARE / (1 + len(others))
        found = lower_bound(read, options, flow=own, search=search, share=share, sizes=sizes)
        upper = upper_bound_in_time(program, flow, search, small) if options.upper else None
        made = bound_of(read, found, sizes, own)
        for name, (how, terms) in others.items():
            other = flow if how is program else dependences_in_time(how)
            beside = lower_bound(how, terms, flow=other, search=search, sizes=sizes)
            holds_too = name != "one_branch"  # what any order or data need, one order and both branches do
            made.details[name] = _beside(beside, sizes, (found,) if holds_too else ())
        made.details["branches"] = "one" if options.one_branch else "both" if program.has_choices() else None
        made.details["cut_off"] = flow is None or search.expired()
        here = None if sizes is None else order_in_time(upper, flow, sizes, capacities, search.part(tuning.SIZED_SHARE))
        too_small = None if sizes is None else lack_of_room(program, sizes, capacities[-1])
        least = 0 if too_small is None else int(too_small.demand)
        runs = sizes is not None and sizes[FAST_MEMORY] >= least
        document = upper_document_in_time(upper, found.leading, sizes if runs else None, here)
        extra: BoundExtra = {
            "sizes": sizes or {},
            "program": described(program),
            "upper": document,
            "operations": operations_at(found, sizes),
        }
        if too_small is not None:
            extra["no_order"] = (
                f"runs in less than {least} words: {too_small.place} has {least - 1} operands and a result"
            )
        if sizes is not None and options.level is not None:
            bounds = level_bounds(found, options, flow, sizes, capacities, search)
            extra["levels"] = level_rows(bounds, sizes, here, least)
        drawing = over_memory(found, sizes, capacities, here if runs else None, search)
    result: Result[Plan, BoundExtra] = Result(
        kind=KIND,
        status=None,
        bound=made,
        provenance=provenance("affine bound", options=options, source=source, search=search),
        extra=extra,
        figures=(
            *views.of_bound(found.formula, found.leading),
            *drawing,
            *drawn_data_flow(flow),
            *(() if document is None else (Text("Derived order", upper_text(document)),)),
        ),
    )
    return priced(result, on_machine(options), sizes or {}, program)


def over_memory(
    found: AffineBound,
    sizes: Mapping[str, int] | None,
    capacities: Sequence[int],
    order: UpperBound | LevelOrder | None,
    search: Search,
) -> tuple[Figure, ...]:
    """Return a drawing of the bound over S, and of what ``order`` loads at ``capacities``; none without sizes."""
    if sizes is None:
        return ()
    most = 2 * max(*capacities, int(number_at(found.inputs, sizes)), _LEAST_DRAWN)
    spaced = np.round(np.geomspace(_LEAST_DRAWN, most, _POINTS_DRAWN)).astype(np.int64).tolist()
    bound = {}
    for words in sorted({*spaced, *capacities}):
        if search.expired():
            break
        bound[words] = max(0, found.value({**sizes, FAST_MEMORY: words}))
    loads: dict[int, float] = {}
    with suppress(OutOfEffortError):
        if order is not None:
            loads = {words: order.value({**sizes, FAST_MEMORY: words}) for words in capacities}
    others = {name: value for name, value in sizes.items() if name != FAST_MEMORY}
    return views.of_memories(bound, loads, sizes_text(others)) if bound else ()


def dependences_in_time(program: Program) -> DataFlow | None:
    """Return the data flow of ``program``, None if the search ends before it is known."""
    try:
        return flow_dependences(program)
    except OutOfEffortError:
        return None


def upper_bound_in_time(
    program: Program, flow: DataFlow | None, search: Search, small: tuple[str, ...] = ()
) -> UpperBound | None:
    """Return a derived order, None if the search ends before there is one."""
    try:
        return (
            None
            if flow is None
            else upper_bound(program, flow=flow, small=small, search=search.part(tuning.UPPER_SHARE))
        )
    except OutOfEffortError:
        return None


def order_in_time(
    upper: UpperBound | None,
    flow: DataFlow | None,
    sizes: Mapping[str, int],
    capacities: tuple[int, ...],
    search: Search | None = None,
    slack: Slack = NO_SLACK,
) -> UpperBound | LevelOrder | None:
    """Return the best order known at ``sizes`` for one memory, S, or several, None where the search ends first.

    ``slack`` is what long rows and strips may cost.
    """
    try:
        if upper is None or flow is None:
            return None
        if len(capacities) == 1:
            return at_sizes(upper, flow, sizes, search, slack)
        return at_levels(upper, flow, sizes, capacities, search, slack)
    except (OutOfEffortError, LongFormulaError):
        return None


def upper_document_in_time(
    upper: UpperBound | None, lower: Any, sizes: Mapping[str, int] | None, here: UpperBound | LevelOrder | None
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
    return None if sizes is None or found.operations is None else number_at(found.operations, sizes)


def _small(options: BoundOptions, program: Program) -> tuple[str, ...]:
    names = tuple(filter(None, (part.strip() for part in (options.small or "").split(","))))
    for name in names:
        if name not in program.parameters:
            from shorthaul.core.errors import unknown_name

            raise unknown_name("parameter", name, program.parameters, place="--small")
    return names


#: Said beside every leading term: the full formula is what holds for all sizes.
LEADING_HOLDS_FOR = "for S small against all sizes, and sizes about equal where the formula compares them"
LEADING_LIKE_THESE = "for S small against all sizes, in the proportions of these"


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


def _others(program: Program, options: BoundOptions) -> dict[str, tuple[Program, BoundOptions]]:
    """Return of what the bound stands beside the one asked for: sums in order, the other number of branches read."""
    sure = program.with_sure_reads() if program.has_choices() else program
    found = {}
    if options.reassociate:
        found["in_order"] = (sure if options.one_branch else program, replace(options, reassociate=False))
    if program.has_choices():
        name = "both_branches" if options.one_branch else "one_branch"
        found[name] = (program if options.one_branch else sure, options)
    return found


def _beside(found: AffineBound, sizes: Mapping[str, int] | None, others: tuple[AffineBound, ...]) -> dict[str, Any]:
    """Return a bound that stands beside another one, or one of the ``others``, which hold too, that is larger."""
    if sizes is not None:
        found = max((found, *others), key=lambda item: item.value(sizes))
    value = None if sizes is None else max(0.0, found.value(sizes))
    return {"value": value, "formula": str(found.formula), "leading": str(found.leading)}


def rests_on(found: AffineBound, sizes: Mapping[str, int] | None) -> list[dict[str, Any]]:
    """Return what adds up to the value at ``sizes``, each part with its share; without sizes all parts, without one."""
    listed: list[dict[str, Any]] = [{"method": "first loads of inputs", "statements": []}]
    listed += [{"method": item.method, "statements": list(item.statements)} for item in found.proof.parts]
    if sizes is None:
        return [{**item, "part": at, "loads_words": None} for at, item in enumerate(listed)]
    shares = [max(0.0, number_at(item.value, sizes)) for item in found.proof.parts]
    best = max(found.proof.sums, key=lambda item: sum(shares[at] for at in item), default=())
    chosen = [(0, number_at(found.inputs, sizes)), *((at + 1, shares[at]) for at in best if shares[at] > 0)]
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


def described(program: Program) -> ProgramText:
    """Return the program as results show it."""
    return {
        "function": program.name,
        "parameters": list(program.parameters),
        "defaults": dict(program.defaults),
        "statements": [
            {"name": item.name, "text": item.text, "line": item.place.line, "domain": str(item.domain)}
            for item in program.statements
        ],
    }
