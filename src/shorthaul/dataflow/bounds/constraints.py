"""What a plan must keep to: period, core cost and bytes, actors on given cores; and proofs that none can."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from shorthaul.core.errors import Demand, InfeasibleError, InputError, unknown_name
from shorthaul.core.search import Search
from shorthaul.dataflow import tuning
from shorthaul.dataflow.bounds.firings import least_firings
from shorthaul.dataflow.bounds.latency import latency_bound
from shorthaul.dataflow.bounds.period import FrontBound
from shorthaul.dataflow.bounds.raising import raised_at
from shorthaul.dataflow.graphs.multi_reader_buffers import substitute_mrbs
from shorthaul.dataflow.mapping.arrays import Instance, exact_cost
from shorthaul.dataflow.mapping.latency import arrivals
from shorthaul.dataflow.model import Application, Decisions, Platform, check_mapping
from shorthaul.dataflow.options import PlanOptions
from shorthaul.dataflow.plan import Point

#: Where a deadline comes from that stands in the input: how messages call it.
_OF_FILE = "the input's throughput constraint (--deadline overrides it)"
#: Where memories are too small for all buffers.
_MEMORIES = "platform"


@dataclass(frozen=True, slots=True)
class Constraints:
    """Limits on the points of a front (None: any), and the cores that actors are bound to.

    ``deadline_of`` names the flag, or the constraint of the file, that asks for the deadline.
    """

    deadline: int | None = None
    max_cost: float | None = None
    max_footprint: int | None = None
    binding: Mapping[str, str] = field(default_factory=dict)
    deadline_of: str = "--deadline"

    @property
    def limits(self) -> tuple[tuple[str, float | None], ...]:
        """The flags and what they allow, in the order of a point's objectives."""
        return (
            (self.deadline_of, self.deadline),
            ("--max-footprint", self.max_footprint),
            ("--max-cost", self.max_cost),
        )

    def allow(self, point: Point) -> bool:
        """True if the point keeps within all limits."""
        return self.excess(point) == 0

    def excess(self, point: Point) -> float:
        """Return by what shares of the limits the point is above them, in sum."""
        return sum(
            max(0.0, value / limit - 1 if limit else value)
            for value, (_, limit) in zip(point.objectives, self.limits, strict=True)
            if limit is not None
        )


def constraints_of(
    application: Application, platform: Platform, options: PlanOptions, of_file: int | None = None
) -> Constraints:
    """Return what the options ask for, or the file where ``deadline`` is not given: periods up to ``of_file``.

    Raises :class:`InputError` for actors and cores that do not go together.
    """
    limits = options.deadline or of_file, options.max_cost, options.max_footprint
    binding = _binding(application, platform, options.bind or "")
    return Constraints(*limits, binding, _OF_FILE if of_file is not None and options.deadline is None else "--deadline")


def _binding(application: Application, platform: Platform, text: str) -> dict[str, str]:
    actors = [actor.id for actor in application.actors]
    firings: dict[str, list[str]] = {}
    for name in actors:
        firings.setdefault(name, []).append(name)
        if "#" in name:
            firings.setdefault(name.rpartition("#")[0], []).append(name)
    binding: dict[str, str] = {}
    given: dict[str, str] = {}
    for pair in filter(None, text.split(",")):
        actor, equals, core = (part.strip() for part in pair.partition("="))
        if not equals:
            raise InputError("is no binding", place="--bind", value=pair, allowed="ACTOR=CORE,ACTOR=CORE,...")
        if actor not in firings:
            raise unknown_name("actor", actor, firings, place="--bind")
        if given.setdefault(actor, core) != core:
            raise InputError(f"puts {actor} on two cores", place="--bind", value=f"{given[actor]} and {core}")
        binding |= dict.fromkeys(firings[actor], core)
    rest = {
        actor.id: next(core.id for core in platform.cores if actor.tau.get(core.type) is not None)
        for actor in application.actors
    }
    try:
        check_mapping(application, platform, Decisions({**rest, **binding}))
    except InputError as error:
        error.place = f"--bind ({error.place})"
        raise
    return binding


def constrained(application: Application, platform: Platform, constraints: Constraints) -> Application:
    """Return the application with bound actors that run on the type of their core only, for the bounds."""
    types = {core.id: core.type for core in platform.cores}
    bound = {actor: types[core] for actor, core in constraints.binding.items()}
    actors = tuple(
        replace(actor, tau={bound[actor.id]: actor.tau[bound[actor.id]]}) if actor.id in bound else actor
        for actor in application.actors
    )
    return replace(application, actors=actors)


def constrained_instance(instance: Instance, constraints: Constraints) -> Instance:
    """Return the arrays with bound actors able to run on their core only."""
    number = {core.id: i for i, core in enumerate(instance.platform.cores)}
    able = tuple(
        np.array([number[constraints.binding[actor.id]]], np.int64) if actor.id in constraints.binding else cores
        for actor, cores in zip(instance.application.actors, instance.able, strict=True)
    )
    return replace(instance, able=able)


def refuse_infeasible(
    application: Application, platform: Platform, constraints: Constraints, bounds: FrontBound, options: PlanOptions,
    search: Search | None = None,
) -> FrontBound:  # fmt: skip
    """Raise :class:`InfeasibleError`, with all reasons, where bounds prove that no point keeps to the limits.

    With a search, bounds on the period are raised where it is known to be too long. With a small share of the effort
    they are where it may be, too, unless an enumeration of all mappings can say more. They are returned.
    """
    reasons = [*_reasons(application, platform, constraints, bounds, options)]
    is_large = len(application.actors) + 2 * len(application.channels) > tuning.MOST_ENUMERATED_TASKS
    is_late = any(reason.place == constraints.deadline_of for reason in reasons)
    if search is not None and (is_late or (is_large and constraints.deadline is not None and not reasons)):
        part = search.part(1.0 if is_late else tuning.REFUSAL_SHARE)
        bounds = raised_within(application, platform, constraints, bounds, options, part)
        reasons = [*_reasons(application, platform, constraints, bounds, options)]
    if reasons:
        first, *further = reasons
        first.further = tuple(further)
        raise first
    return bounds


def raised_within(
    application: Application, platform: Platform, constraints: Constraints, bounds: FrontBound, options: PlanOptions,
    search: Search,
) -> FrontBound:  # fmt: skip
    """Return the bounds, raised with a little effort at the most core cost allowed."""
    most = math.inf if constraints.max_cost is None else constraints.max_cost
    costs = [cost for cost, _ in bounds.period_at_cost]
    at = min((cost for cost in costs if cost >= most), default=max(costs, default=0.0))
    part = search.beside(min(tuning.REFUSAL_EFFORT, search.left()))
    return raised_at(application, platform, options.strategy, bounds, {at: math.inf}, part)


def _reasons(
    application: Application, platform: Platform, constraints: Constraints, bounds: FrontBound, options: PlanOptions
) -> Iterator[InfeasibleError]:
    """Every limit that no mapping keeps, whatever the others are; one reason each. Small memories are the only one."""
    room = [limit for limit in platform.memories.values() if limit is not None]
    if platform.global_memory_bytes is not None and sum(room) < (needed := bounds.footprint.value):
        cure = "enlarge the memories, or shrink the tokens"
        yield InfeasibleError("all memories together", demand=needed, limit=sum(room), place=_MEMORIES, cure=cure)
        return
    which = "every mapping that keeps to --bind" if constraints.binding else "every mapping"
    reasons: dict[str, list[InfeasibleError]] = {flag: [] for flag, _ in constraints.limits}
    bounded = bounds.period, bounds.footprint, bounds.core_cost
    for bound, (flag, limit) in zip(bounded, constraints.limits, strict=True):
        if limit is not None and bound.value > limit:
            reasons[flag].append(exceeded(f"{which} ({bound.proof})", bound.value, limit, flag))
    actors = {actor.id for actor in application.actors if actor.kind != "multicast"}
    firing = least_firings(application, platform, actors)
    on_core: dict[str, list[Demand]] = {}
    for actor, core in constraints.binding.items():
        if actor in actors:
            on_core.setdefault(core, []).append(Demand(actor, min(firing[actor].values())))
    for core, parts in on_core.items():
        load = sum(part.amount for part in parts)
        if constraints.deadline is not None and load > constraints.deadline:
            error = exceeded(
                f"core {core}, with what --bind puts on it,", load, constraints.deadline, constraints.deadline_of
            )
            error.contributors = tuple(sorted(parts, key=lambda part: -part.amount)[:5])
            error.cure = f"bind less to {core}, or {error.cure}"
            reasons[constraints.deadline_of].append(error)
    price = exact_cost([platform.core_types[core.type].cost for core in platform.cores if core.id in on_core])
    if constraints.max_cost is not None and price > constraints.max_cost:
        reasons["--max-cost"].append(exceeded("the cores that --bind names", price, constraints.max_cost, "--max-cost"))
    if not reasons["--max-cost"]:
        reasons[constraints.deadline_of] += _at_cost(constraints, bounds)
    for found in filter(None, reasons.values()):
        yield max(found, key=lambda error: error.demand)
    most = options.max_latency
    if most is not None and arrivals(substitute_mrbs(application, {})):
        least = latency_bound(application, platform, options.strategy)
        if least.value > most:
            yield exceeded(f"the latency of every mapping ({least.proof})", least.value, most, "--max-latency")


def _at_cost(constraints: Constraints, bounds: FrontBound) -> Iterator[InfeasibleError]:
    """That no mapping within the core cost keeps the deadline, if so."""
    if constraints.max_cost is None or constraints.deadline is None:
        return
    least = least_within(constraints, bounds)
    if least > max(constraints.deadline, bounds.period.value):
        which = f"the period on cores of cost {constraints.max_cost:g} (all that these and their tiles can do)"
        error = exceeded(which, least, constraints.deadline, constraints.deadline_of)
        error.cure += ", or dearer cores"
        yield error


def least_within(constraints: Constraints, bounds: FrontBound) -> int:
    """Return the least period at the most core cost allowed."""
    most = math.inf if constraints.max_cost is None else constraints.max_cost
    return next((period for cost, period in bounds.period_at_cost if cost >= most), int(bounds.period.value))


def exceeded(what: str, demand: float, limit: float, flag: str) -> InfeasibleError:
    """Return the error of a limit that is not enough."""
    return InfeasibleError(what, demand=demand, limit=limit, place=flag, cure=f"allow {demand:.15g} or more")
