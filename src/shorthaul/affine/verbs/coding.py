"""The verb ``code``: the derived order as C."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

import islpy as isl

from shorthaul.affine import tuning
from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.c_code.files import c_file, remarks_of
from shorthaul.affine.c_code.legal import Known, LegalOrder, as_it_is, legal_order
from shorthaul.affine.effort import OutOfEffortError, charged_to
from shorthaul.affine.integer_sets.counting import card
from shorthaul.affine.integer_sets.dependences import DataFlow, flow_dependences
from shorthaul.affine.model import Program
from shorthaul.affine.options import BoundOptions, CodeOptions
from shorthaul.affine.orders.boxes.fixed import refitted
from shorthaul.affine.orders.joining.blocks import is_left_looking
from shorthaul.affine.orders.searching import at_sizes
from shorthaul.affine.orders.turns import nests_of
from shorthaul.affine.orders.upper_bound import UpperBound
from shorthaul.affine.plan import CodeExtra, Plan
from shorthaul.affine.replay.cdag import concrete_cdag
from shorthaul.affine.replay.nest_order import NestReplay, TimedPart
from shorthaul.affine.sizes import FAST_MEMORY
from shorthaul.affine.verbs.deriving import (
    KIND,
    bound_of,
    drawn_data_flow,
    drawn_over_memory,
    loads_of,
    orders_in_time,
    over_memory,
)
from shorthaul.affine.verbs.inputs import PROGRAMS, Workload
from shorthaul.affine.verbs.levels import level_bounds, level_rows
from shorthaul.affine.verbs.machines import memories, on_machine, priced
from shorthaul.affine.verbs.room import lack_of_room
from shorthaul.core.errors import InputError, NoPlanError
from shorthaul.core.figure import Table, Text
from shorthaul.core.provenance import provenance
from shorthaul.core.result import Result
from shorthaul.core.search import Search
from shorthaul.core.verbs import asked, verb

if TYPE_CHECKING:
    from shorthaul.affine.verbs.keywords import CodeKeywords


@verb(CodeOptions, PROGRAMS)
def code(workload: Workload, **keywords: Unpack[CodeKeywords]) -> Result[Plan, CodeExtra]:
    """Return the derived order as a C file, with the program as written and a driver that compares them.

    ``size`` gives every parameter and S, or ``level`` several memories: what tiles are chosen for. Sizes and tiles are
    macros of the file, and every value of them is legal. Sizes may be as large as C allows.

    Returns
    -------
    Result[Plan, CodeExtra]
        In ``extra["code"]`` the file, in ``tiles`` the sizes of its tiles; ``loads_words`` is what its loops load: by
        replay of their instances where these are few (``is_replayed``), else at most, by the order's formula, and None
        where ``remarks`` tell that the file leaves it. It has the program's order where none is found in time, or where
        by replay the derived one loads more.

    Raises
    ------
    InputError
        If the C source is wrong, or a size is missing.
    InfeasibleError
        If the operands of one operation do not fit into the smallest memory.
    NoPlanError
        If the search ends before the dependences are known.

    Examples
    --------
    >>> from shorthaul.affine.workloads.cases import case
    >>> result = code(case("gemm").workload, size="NI=1000,NJ=1000,NK=1000,S=4096", effort=0.1)
    >>> result.extra["tiles"]
    {'T0_0': 67, 'T0_1': 56}
    """
    program, options, search, source = asked(workload, PROGRAMS, CodeOptions, keywords)
    sizes, capacities = memories(options, program)
    too_small = lack_of_room(program, sizes, capacities[-1])
    if too_small is not None:
        raise too_small
    with search, charged_to(search):
        try:
            flow = flow_dependences(program)
        except OutOfEffortError:
            raise NoPlanError("the search ended before the dependences were known: give it more time") from None
        order, kept, less = _derived(program, flow, sizes, capacities, search)
        order, text = _written(program, order, flow, sizes, search)
        written = order
        order, replayed = _better(program, order, flow, sizes, capacities, search)
        with charged_to(Search()):  # what the answer states is counted in whole
            text = text if order is written else c_file(program, order, sizes, remarks_of(order))
            loads = order.loads(less) if order.room <= kept else None
        wanted = BoundOptions(profile=options.profile)
        found = lower_bound(program, wanted, flow=flow, search=search, share=tuning.LOWER_SHARE)
        least = bound_of(program, found, sizes, flow)
        drawn = None if loads is None or order.moved or order.copies else order.upper
        extra: CodeExtra = {
            "code": text,
            "sizes": sizes,
            "tiles": {name: value for nest in order.nests for name, value in nest.tiles.items()},
            "loads_words": replayed.get(capacities[0], loads),
            "is_replayed": bool(replayed),
            "remarks": [*remarks_of(order), *_not_emitted(order, flow, sizes, replayed.get(capacities[0], loads))],
        }
        shown = loads_of(drawn, sizes, capacities)
        drawing = drawn_over_memory(over_memory(found, sizes, capacities, search), shown, sizes)
        if options.level is not None:
            bounds = level_bounds(found, wanted, flow, sizes, capacities, search)
            extra["levels"] = level_rows(bounds, {**shown, **replayed})
    result: Result[Plan, CodeExtra] = Result(
        kind=KIND,
        status=None,
        bound=least,
        provenance=provenance("affine code", options=options, source=source, search=search),
        extra=extra,
        figures=(*drawing, *drawn_data_flow(flow), *_tiles(extra["tiles"]), Text("Derived order as C", text)),
    )
    return priced(result, on_machine(options), sizes, program)


def _not_emitted(order: LegalOrder, flow: DataFlow, sizes: Mapping[str, int], loads: float | None) -> list[str]:
    """Return a remark where an order that is not emitted may load less."""
    if loads is None or not isinstance(order.upper, UpperBound):
        return []
    tiled = order.upper.without_cache(sizes) / sizes[FAST_MEMORY] ** 0.5
    if loads <= tuning.WORTH_BLOCKS * tiled or not any(
        is_left_looking(flow, names) for names in nests_of(flow.program)
    ):
        return []
    return [
        "'affine plan' may find fewer loads: an order in blocks of a loop that needs all earlier steps is not emitted"
    ]


def _derived(
    program: Program, flow: DataFlow, sizes: Mapping[str, int], capacities: tuple[int, ...], search: Search
) -> tuple[LegalOrder, int, Mapping[str, int]]:
    """Return the derived order, program order where the search ends before, with what :func:`_without` returns."""
    upper, kept, less = UpperBound(program, ()), 0, sizes
    try:
        known: Known = {}
        found = orders_in_time(program, flow, sizes, capacities, search.part(tuning.CODE_SHARE), (), tuning.CODE_SLACK)
        upper = found[0] or upper
        with charged_to(search.beside(tuning.CODE_LOOPS_EFFORT)):  # an order may have taken all there was
            order = legal_order(found[1] or upper, flow, sizes, known)
        if order.room and len(capacities) == 1:
            kept, less = _without(order.room, program, sizes)
        if kept:
            here = at_sizes(upper, flow, less, search.part(tuning.UPPER_SHARE), tuning.CODE_SLACK)
            with charged_to(search.beside(tuning.CODE_LOOPS_EFFORT)):
                if isinstance(found[1], UpperBound):  # what is left of the effort may not lead to one as good again
                    steps = tuple(refitted(item, sizes[FAST_MEMORY], less) for item in found[1].steps)
                    here = min(here, replace(found[1], steps=steps), key=lambda item: item.value(less))
                order = legal_order(here, flow, less, known)
        return order, kept, less
    except OutOfEffortError:
        return as_it_is(upper, flow, "the search ended before an order was derived and known to be legal"), kept, less


def _without(kept: int, program: Program, sizes: Mapping[str, int]) -> tuple[int, Mapping[str, int]]:
    """Return the words kept and the sizes with what is left of the memory; none are if no order has room then."""
    less = {**sizes, FAST_MEMORY: sizes[FAST_MEMORY] - kept}
    return (0, sizes) if lack_of_room(program, less, less[FAST_MEMORY]) is not None else (kept, less)


def _written(
    program: Program, order: LegalOrder, flow: DataFlow, sizes: Mapping[str, int], search: Search
) -> tuple[LegalOrder, str]:
    """Return the order and its file; that of program order where the loops of another one take isl too long."""
    try:
        with charged_to(search.beside(tuning.CODE_LOOPS_EFFORT)):
            return order, c_file(program, order, sizes, remarks_of(order))
    except isl.Error:
        order = as_it_is(order.upper, flow, "the search ended before the loops of the derived order were made")
        with charged_to(Search()):
            return order, c_file(program, order, sizes, remarks_of(order))


def _better(
    program: Program,
    order: LegalOrder,
    flow: DataFlow,
    sizes: Mapping[str, int],
    capacities: Sequence[int],
    search: Search,
) -> tuple[LegalOrder, Mapping[int, int]]:
    """Return the order with its loads by replay, or program order where that loads less, and no more into any memory.

    No loads are returned where replays take too many steps or too long.
    """
    plain = as_it_is(order.upper, flow, "")
    loads = _replayed(program, [order, plain][: 1 + (order.orders != plain.orders)], flow, sizes, capacities, search)
    if len(loads) < 2 or loads[0] == loads[1] or any(loads[1][words] > loads[0][words] for words in capacities):
        return order, loads[0] if loads else {}
    most, least = (item[capacities[0]] for item in loads)
    why = f"the derived order loads {most} words at these sizes, the program's {least}"
    return as_it_is(order.upper, flow, why), loads[1]


def _replayed(
    program: Program,
    orders: Sequence[LegalOrder],
    flow: DataFlow,
    sizes: Mapping[str, int],
    capacities: Sequence[int],
    search: Search,
) -> list[dict[int, int]]:
    """Return the loads of the loops of orders into each memory by replay, as far as steps and time suffice."""
    found: list[dict[int, int]] = []
    with charged_to(search.beside(tuning.CODE_REPLAY_EFFORT)), suppress(OutOfEffortError, InputError):
        if sum(card(item.domain).at(sizes) for item in program.statements) > tuning.LARGEST_CODE_REPLAY:
            return []
        cdag = concrete_cdag(program, sizes, flow)
        for order in orders:
            tiles = {name: edge for nest in order.nests for name, edge in nest.tiles.items()}
            parts = [
                [
                    TimedPart(item.statement, item.time, tuple(tiles[name] for name in item.tiles.values()))
                    for item in nest.parts
                ]
                for nest in order.nests
            ]
            made = NestReplay(program, cdag, {**sizes, **tiles}).of(parts, order.copies)
            found.append({words: made.loads(words) for words in capacities})
    return found


def _tiles(tiles: Mapping[str, int]) -> tuple[Table, ...]:
    return (Table("Tiles", ("macro", "size"), tuple(tiles.items())),) if tiles else ()
