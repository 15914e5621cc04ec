"""The verb ``bound``: what every order must load, with its proof, and the derived order beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from shorthaul.affine import tuning
from shorthaul.affine.effort import charged_to
from shorthaul.affine.model import Program
from shorthaul.affine.options import BoundOptions
from shorthaul.affine.orders.upper_report import upper_text
from shorthaul.affine.plan import BoundExtra, Plan, ProgramText
from shorthaul.affine.sizes import FAST_MEMORY
from shorthaul.affine.verbs.certified import bound_of_journal, higher
from shorthaul.affine.verbs.deriving import KIND, dependences_in_time, drawn_data_flow, drawn_over_memory
from shorthaul.affine.verbs.inputs import PLANS, PROGRAMS, Workload
from shorthaul.affine.verbs.levels import level_rows
from shorthaul.affine.verbs.machines import memories, on_machine, priced
from shorthaul.affine.verbs.room import lack_of_room
from shorthaul.affine.verbs.tasks import Derived, Order, Proof, Tasks, travelled
from shorthaul.core.amounts import Bound
from shorthaul.core.figure import Text
from shorthaul.core.provenance import provenance
from shorthaul.core.result import Result
from shorthaul.core.search import TaskPlanSearchOptions
from shorthaul.core.verbs import BOUNDS, asked, verb

if TYPE_CHECKING:
    from shorthaul.affine.verbs.keywords import (
        BoundKeywords,
    )


@verb(BoundOptions, PROGRAMS, PLANS, searching=TaskPlanSearchOptions, replay=bound_of_journal, keeps=BOUNDS)
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
    program = travelled(program)
    told = described(program)  # now: what is computed with sets changes how they are written
    small, given = _small(options, program), None
    if options.size is not None or options.level is not None or options.machine is not None:
        given = memories(options, program)
    sizes, capacities = given or (None, ())
    too_small = None if sizes is None else lack_of_room(program, sizes, capacities[-1])
    least = 0 if too_small is None else int(too_small.demand)
    runs = sizes is not None and sizes[FAST_MEMORY] >= least
    with search, charged_to(search):  # Ctrl-C ends the search with what was found
        flow = dependences_in_time(program)
        read, others = program.with_sure_reads() if options.one_branch else program, _others(program, options)
        share, tasks = tuning.LOWER_SHARE / (1 + len(others)), Tasks(search)
        proofs = list[int]()
        for how, terms in [(read, options), *others.values()]:
            own = Derived(how, has_order=False, flow=flow if how is program else None)
            proofs.append(tasks.add(Proof(own, terms, sizes, capacities, share, small, is_kept=not proofs), share))
        order = Order(Derived(program, has_order=False, flow=flow), sizes, capacities, small, runs)
        ordering = tasks.add(order, 1 - tuning.LOWER_SHARE) if options.upper else None
        tasks.run()
        found, ordered = tasks.proven(proofs[0]), tasks.ordered(ordering)
        made, document = higher(found.bound, search, program, sizes, flow), ordered.beside(found)
        for number, name in zip(proofs[1:], others, strict=True):
            holds_too = name != "one_branch"  # what any order or data need, one order and both branches do
            beside = tasks.proven(number).bound
            made.details[name] = _beside([beside, made] if holds_too else [beside], sizes)
    made.details["branches"] = "one" if options.one_branch else "both" if program.has_choices() else None
    made.details["cut_off"] = flow is None or found.cut_off
    extra: BoundExtra = {
        "sizes": sizes or {},
        "program": told,
        "upper": document,
        "operations": found.operations,
    }
    if too_small is not None:
        extra["no_order"] = f"runs in less than {least} words: {too_small.place} has {least - 1} operands and a result"
    if sizes is not None and options.level is not None:
        extra["levels"] = level_rows(found.levels, ordered.loads, least)
    result: Result[Plan, BoundExtra] = Result(
        kind=KIND,
        status=None,
        bound=made,
        provenance=provenance("affine bound", options=options, source=source, search=search),
        extra=extra,
        figures=(
            *found.figures,
            *drawn_over_memory(found.over_memory, ordered.loads if runs else {}, sizes),
            *drawn_data_flow(flow),
            *(() if document is None else (Text("Derived order", upper_text(document)),)),
        ),
    )
    return priced(result, on_machine(options), sizes or {}, program)


def _small(options: BoundOptions, program: Program) -> tuple[str, ...]:
    names = tuple(filter(None, (part.strip() for part in (options.small or "").split(","))))
    for name in names:
        if name not in program.parameters:
            from shorthaul.core.errors import unknown_name

            raise unknown_name("parameter", name, program.parameters, place="--small")
    return names


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


def _beside(bounds: Sequence[Bound], sizes: Mapping[str, int] | None) -> dict[str, Any]:
    """Return a bound that stands beside another one, or another one that holds too, if that is larger."""
    found = bounds[0] if sizes is None else max(bounds, key=lambda item: item.value)
    return {name: found.details[name] for name in ("value", "formula", "leading")}


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
