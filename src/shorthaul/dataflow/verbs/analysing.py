"""``throughput``: how often a multirate graph can fire, whatever it runs on."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Unpack

from shorthaul.core.amounts import Bound, Cost
from shorthaul.core.errors import InputError
from shorthaul.core.provenance import provenance
from shorthaul.core.result import Result, Status
from shorthaul.core.verbs import asked, verb
from shorthaul.dataflow.check.periodic import check_schedule
from shorthaul.dataflow.formats.documents import RESULT_KIND
from shorthaul.dataflow.graphs.periodic import CriticalCycle, least_period, shown
from shorthaul.dataflow.graphs.timing import bounded, timed
from shorthaul.dataflow.loading import naming
from shorthaul.dataflow.model import SdfGraph
from shorthaul.dataflow.options import ThroughputOptions
from shorthaul.dataflow.plan import PeriodicSchedule, ThroughputExtra
from shorthaul.dataflow.verbs.inputs import GRAPHS, SCHEDULES, Graph

if TYPE_CHECKING:
    from shorthaul.dataflow.verbs.keywords import ThroughputKeywords


@verb(ThroughputOptions, GRAPHS, SCHEDULES, searching=None)
def throughput(
    workload: Graph,
    **keywords: Unpack[ThroughputKeywords],
) -> Result[PeriodicSchedule, ThroughputExtra]:
    """Return the least period of an iteration of a multirate graph on as many cores as it takes, with its schedule.

    The graph is not expanded. The bound names the cycle of actors that no schedule can go round faster.

    Returns
    -------
    Result[PeriodicSchedule, ThroughputExtra]
        The schedule as plan, its period as cost and bound.

    Raises
    ------
    InputError
        If the graph is inconsistent, deadlocks, or a keyword is wrong.

    Examples
    --------
    >>> from shorthaul.dataflow.model import SdfActor, SdfChannel
    >>> pair = (SdfActor("a", {"t": 2}), SdfActor("b", {"t": 3}))
    >>> graph = SdfGraph("pair", pair, (SdfChannel("c", "a", 2, "b", 3, 0, 1), SdfChannel("d", "b", 3, "a", 2, 5, 1)))
    >>> throughput(graph).extra["exact_period"]
    '12'
    """
    graph, options, search, source = asked(workload, GRAPHS, ThroughputOptions, keywords)
    with naming(source.name or None):
        analysed = timed(graph, options.core_type, serial=options.serial)
        if options.capacities:
            analysed = bounded(analysed, _capacities(graph))
        cycle, schedule = least_period(analysed, search)
    period = Fraction(schedule.period, schedule.denominator)
    return Result(
        RESULT_KIND,
        Status.OPTIMAL,
        cost=Cost(period=float(period)),
        bound=period_bound_of(cycle),
        check=check_schedule(analysed, schedule),
        plan=schedule,
        provenance=provenance("dataflow throughput", options=options, source=source, search=search),
        extra={"exact_period": str(period), "iterations_per_tick": float(1 / period) if period else None},
    )


def period_bound_of(cycle: CriticalCycle | None) -> Bound:
    """Return the bound that a critical cycle proves."""
    if cycle is None:
        return Bound("period", 0, "maximum cycle ratio", "no cycle with work limits the period", {"limited_by": None})
    actors = [*dict.fromkeys(actor for actor, _ in cycle.firings)]
    path = " -> ".join([*actors[:12], "..." if len(actors) > 12 else actors[0]])
    proof = (
        f"{len(cycle.firings)} firings of {path} depend on one another through {shown(cycle.channels)}: they take"
        f" {cycle.ticks} ticks and come round after {cycle.iterations} iterations"
    )
    details = {
        "limited_by": path,
        "actors": actors,
        "channels": [*dict.fromkeys(cycle.channels)],
        "firings": len(cycle.firings),
        "ticks": cycle.ticks,
        "iterations": str(cycle.iterations),
    }
    return Bound("period", float(cycle.ratio), "maximum cycle ratio", proof, details)


def _capacities(graph: SdfGraph) -> dict[str, int]:
    """Return the capacities in the input; raises :class:`InputError` if none, or too small for the initial tokens."""
    found = {channel.id: channel.capacity for channel in graph.channels if channel.capacity is not None}
    if not found:
        raise InputError(
            "no channel has a capacity", place="--capacities", allowed="bufferSize in SDF3, capacity in JSON",
            cure="add them, or leave the flag out",
        )  # fmt: skip
    for channel in graph.channels:
        if channel.tokens > found.get(channel.id, channel.tokens):
            raise InputError(
                "is less than the initial tokens", place=f"channel {channel.id}: capacity", value=found[channel.id],
                allowed=f"{channel.tokens} or more",
            )  # fmt: skip
    return found
