"""The verb ``code``: a plan written for other tools."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Unpack, cast

from shorthaul.core.provenance import provenance
from shorthaul.core.result import Result, Status
from shorthaul.core.verbs import asked, verb
from shorthaul.pebble.formats.orders import order_csv, order_dot, order_json
from shorthaul.pebble.formats.scratchpad import scratchpad
from shorthaul.pebble.options import CodeOptions
from shorthaul.pebble.plan import CodeExtra, Plan, as_computed
from shorthaul.pebble.verbs.inputs import CDAGS, PLANS, PlanLike, Workload
from shorthaul.pebble.verbs.planning import planned_or_checked
from shorthaul.pebble.verbs.terms import terms_of

if TYPE_CHECKING:
    from shorthaul.pebble.verbs.keywords import CodeKeywords


@verb(
    CodeOptions, CDAGS, PLANS, plan="The plan to write, a result that holds one, or the path of a file; None: make one."
)
def code(workload: Workload, plan: PlanLike | None = None, **keywords: Unpack[CodeKeywords]) -> Result[Plan, CodeExtra]:
    """Write a plan as C for a scratchpad with explicit copies, or its order with marks as JSON, CSV or DOT.

    ``extra["code"]`` is the text. The C file calls ``compute(node, result, operands)``, which is the user's, and with
    partial values ``accumulate(node, result, place, operand, added)``; compiled with ``-DCOMPARE`` it is a program that
    compares every value with direct evaluation. A plan that breaks the rules is not written: status ``invalid``.

    Returns
    -------
    Result[Plan, CodeExtra]
        The result of the plan, and the text in ``extra["code"]``.

    Raises
    ------
    InputError
        If the graph or the plan is wrong, or too long for C.

    Examples
    --------
    >>> from shorthaul.pebble.workloads.kernels_as_graphs import dwt
    >>> result = code(dwt(n=2, d=1, word=1), budget=3, format="csv")
    >>> print(result.extra["code"].splitlines()[0])
    move,node,do,size,stored,until,then,room_of
    """
    cdag, options, search, source = asked(workload, CDAGS, CodeOptions, keywords)
    result = planned_or_checked(source, plan, options, search)
    extra = cast("CodeExtra", result.extra)
    made_by = provenance("pebble code", options=options, source=source, search=search)
    written = cast("Result[Plan, CodeExtra]", replace(result, provenance=made_by))
    if written.status is Status.INVALID or written.plan is None or written.cost is None:
        return written
    seen = terms_of(cdag, options).played(cdag)
    room = extra["problem"]["budget"] or int(written.cost["peak"])
    if options.format in (None, "c"):
        made = scratchpad(seen, written.plan, room, in_place=options.in_place)
        return replace(written, extra={**extra, "code": made.code, "moved_within": made.moved_within})
    steps = as_computed(written.plan, seen.edge_arrays()[1])
    if options.format == "json":
        text = order_json(seen, steps, room, in_place=options.in_place)
    else:
        text = (order_csv if options.format == "csv" else order_dot)(seen, steps, in_place=options.in_place)
    return replace(written, extra={**extra, "code": text})
