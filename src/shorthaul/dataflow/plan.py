"""The plan: points of a Pareto front, each a mapping with its periodic schedule; and what results say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NotRequired, TypedDict


@dataclass(frozen=True, slots=True)
class Point:
    """One implementation: its three costs, its mapping and its schedule.

    ``starts`` holds the start tick of every task in iteration 0 (iteration k starts ``k * period`` later): executions
    under the actor's id, writes under ``(actor,channel)``, reads under ``(channel,actor)``. ``channel_binding`` names
    the memory and ``capacities`` the tokens of every channel; a multi-reader buffer bears the name of the input
    channel of the multicast it replaces. ``routes`` names the interconnects that each access with a duration crosses.
    ``latency`` is the longest time in ticks from the start of an actor without inputs to the end of what first
    follows from it at an actor without outputs; None where it was not asked for.
    """

    period: int
    footprint_bytes: int
    core_cost: float
    binding: Mapping[str, str]
    xi: Mapping[str, int]
    channel_decision: Mapping[str, str]
    channel_binding: Mapping[str, str]
    capacities: Mapping[str, int]
    starts: Mapping[str, int]
    routes: Mapping[str, tuple[str, ...]] | None = None
    bound: Mapping[str, Any] | None = None
    gap: float | None = None
    latency: int | None = None

    @property
    def objectives(self) -> tuple[int, int, float]:
        """Period in ticks, footprint in bytes, core cost."""
        return self.period, self.footprint_bytes, self.core_cost

    @property
    def costs(self) -> tuple[float, ...]:
        """The objectives, and the latency where there is one."""
        return (*self.objectives, 0 if self.latency is None else self.latency)

    def document(self) -> dict[str, Any]:
        """Return the point as JSON."""
        names = ("period", "footprint_bytes", "core_cost", "starts", "binding", "xi", "channel_decision")
        document: dict[str, Any] = {name: _plain(getattr(self, name)) for name in names}
        document |= {"capacities": dict(self.capacities), "channel_binding": dict(self.channel_binding)}
        if self.latency is not None:
            document["latency"] = self.latency
        if self.routes is not None:
            document["routes"] = {name: list(route) for name, route in self.routes.items()}
        if self.bound is not None:
            document |= {"bound": dict(self.bound), "gap": self.gap}
        return document


def covers(one: Point, other: Point) -> bool:
    """True if the first point is as good as the second in every objective, and in latency where both have one."""
    return all(a <= b for a, b in zip(one.costs, other.costs, strict=True))


def undominated(points: Sequence[Point]) -> list[Point]:
    """Return the points that no other covers, by their objectives."""
    kept: list[Point] = []
    for point in sorted(points, key=lambda point: point.objectives):
        if not any(covers(other, point) for other in kept):
            kept.append(point)
    return kept


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value


@dataclass(frozen=True, slots=True)
class Plan:
    """The points that were found, none dominated by another, by rising period."""

    front: tuple[Point, ...] = ()
    hypervolume: tuple[float, ...] = field(default=())

    def document(self) -> dict[str, Any]:
        """Return the plan as JSON."""
        return {"front": [point.document() for point in self.front]}


@dataclass(frozen=True, slots=True)
class PeriodicSchedule:
    """When every firing of a graph starts: in whole numbers of 1 / ``denominator`` ticks.

    ``firings`` counts those of each actor in an iteration, which takes ``period``. Actor a has a round of
    ``len(starts[a])`` firings; its firing k * round + p starts at
    ``starts[a][p] + k * period * round / firings[a]``.
    """

    period: int
    denominator: int
    firings: Mapping[str, int]
    starts: Mapping[str, tuple[int, ...]]

    def document(self) -> dict[str, Any]:
        """Return the schedule as JSON."""
        return {
            "period": self.period,
            "denominator": self.denominator,
            "firings": dict(self.firings),
            "starts": {actor: list(starts) for actor, starts in self.starts.items()},
        }


@dataclass(frozen=True, slots=True)
class StoragePoint:
    """Capacities of all buffers in tokens, their total size, and the least period that they allow.

    ``limited_by`` is the bound that proves the period, ``schedule`` keeps it.
    """

    size: int
    period: str
    capacities: Mapping[str, int]
    limited_by: Mapping[str, Any]
    schedule: PeriodicSchedule

    def document(self) -> dict[str, Any]:
        """Return the point as JSON; :attr:`schedule` is left out."""
        names = ("size", "period", "capacities", "limited_by")
        return {name: _plain(getattr(self, name)) for name in names}


@dataclass(frozen=True, slots=True)
class StoragePlan:
    """The front of storage against throughput, by rising size in ``unit``; ``buffers`` names the channels of each."""

    unit: str
    buffers: Mapping[str, tuple[str, ...]]
    front: tuple[StoragePoint, ...]

    def document(self) -> dict[str, Any]:
        """Return the plan as JSON."""
        return {
            "unit": self.unit,
            "buffers": {name: list(channels) for name, channels in self.buffers.items()},
            "front": [point.document() for point in self.front],
        }


class FrontBounds(TypedDict):
    """Lower bounds on every point of a front, each as in a result document."""

    period: Mapping[str, Any]
    footprint_bytes: Mapping[str, Any]
    core_cost: Mapping[str, Any]
    period_at_core_cost: list[list[float]]
    proofs: NotRequired[list[CorePrices | TilePrices]]


class CorePrices(TypedDict):
    """A proof that cores of ``core_cost`` and less need ``period`` or more: prices that ``check --bound`` verifies.

    Prices of actors, of buffers (by the channel that is written) in memories of cores, and of cores of each kind beyond
    what they cost. They are whole; a core cost of 1 is ``units_per_core_cost`` (a fraction).
    """

    core_cost: float
    period: int
    units_per_core_cost: str
    actors: dict[str, int]
    buffers: dict[str, int]
    cores: list[dict[str, Any]]


class TilePrices(TypedDict):
    """A proof that mappings of ``core_cost`` and less need ``period`` or more: prices that ``check --bound`` verifies.

    Prices of actors, of buffers (by their channels) in memories of tiles and of their cores, of units of such memories,
    and, in 2^-20, of ticks of the network and of all crossbars, and of work. What a tile holds takes no more than so
    many parts of its crossbar's period, or of its memory. Accesses to buffers that are ``apart`` choose alone.
    """

    core_cost: float
    period: int
    parts: int
    parts_of: str
    apart: list[str]
    actors: dict[str, int]
    buffers: dict[str, int]
    core_memory: int
    memory: int
    network: int
    crossbar: int
    work: int


class HypervolumeDocument(TypedDict):
    """How good a front is, between the ideal point and the reference point."""

    by_generation: list[float]
    of_front: float | None
    ideal: list[float]
    reference: list[float]


class PlanExtra(TypedDict):
    """What ``plan`` says beside the front."""

    front_bound: FrontBounds
    complete: bool
    hypervolume: HypervolumeDocument
    generations: int


class BoundExtra(TypedDict):
    """What ``bound`` says: bounds on the front, or the memories of the one mapping it was given."""

    front_bound: NotRequired[FrontBounds]
    channel_binding: NotRequired[dict[str, str]]


class ThroughputExtra(TypedDict):
    """What ``throughput`` says: the exact period, and the iterations per tick (None: as many as you like)."""

    exact_period: str
    iterations_per_tick: float | None


class DemandDocument(TypedDict):
    """The period is at least this (None: the graph deadlocks) unless a buffer has more room than ``capacities``."""

    capacities: dict[str, int]
    period: str | None


class BuffersExtra(TypedDict):
    """What ``buffers`` proves: why nothing smaller is faster, and from which size on points may be missing."""

    demands: list[DemandDocument]
    complete: bool
    exact_below: int | None


class ExploredRun(TypedDict):
    """One exploration of a sweep: its strategy and seed, and its front's hypervolume and least costs."""

    strategy: str
    seed: int
    points: int
    relative_hypervolume: float
    period: int
    footprint_bytes: int
    core_cost: float


class SweepExtra(TypedDict):
    """What ``sweep`` compared."""

    runs: list[ExploredRun]


class CodeExtra(TypedDict):
    """What ``code`` says: the files by name, and the one that is the user's."""

    files: dict[str, str]
    yours: str


class ExecutedPoint(TypedDict):
    """One point executed: frames made, whether all are identical to the direct ones, how full each buffer was.

    With functions of the user's also seconds per iteration: on all cores, of all actors in turn, and as planned.
    """

    period: int
    footprint_bytes: int
    core_cost: float
    frames: int
    identical: bool
    fullest: dict[str, int]
    iteration_s: NotRequired[float]
    in_turn_s: NotRequired[float]
    planned_s: NotRequired[float]


class RunExtra(TypedDict):
    """What ``run`` executed."""

    run: list[ExecutedPoint]
