"""A schedule: which operators run together, on which tiles, in which order, and what stays in fast memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NotRequired, TypedDict

from shorthaul.core.arguments import fields_checked


@dataclass(frozen=True, slots=True)
@fields_checked
class Granularity:
    """How a subgraph is sliced: output tiles of ``w`` columns and ``h`` rows, reductions in steps of ``k``."""

    w: int
    h: int
    k: int


@dataclass(frozen=True, slots=True)
@fields_checked
class Subgraph:
    """Operators executed together.

    ``retained`` are the tensors kept in fast memory for the next subgraph; ``traversal`` is the order in which the
    tiles (numbered row by row) are executed, None for the default order; ``latency`` is what the plan claims the
    subgraph takes, None where it claims nothing.
    """

    operators: tuple[int, ...]
    granularity: Granularity
    retained: tuple[int, ...] = ()
    traversal: tuple[int, ...] | None = None
    latency: float | None = None


@dataclass(frozen=True, slots=True)
@fields_checked
class Plan:
    """Subgraphs, executed one after the other."""

    subgraphs: tuple[Subgraph, ...]


class BoundExtra(TypedDict):
    """What ``bound`` says beside the bound: the rule set, and the machine of a network."""

    rules: str
    machine: NotRequired[str]


class PlanExtra(BoundExtra):
    """What ``plan`` and ``check`` say beside the schedule: the rule set, and the operations of the whole graph."""

    operations: float


class Execution(TypedDict):
    """An execution on arrays: what moved, and the largest relative error.

    Problems have ``loads`` and ``stores`` in elements, and the ``peak`` of fast memory; networks have bytes. Where
    nobody else can compute the outputs of a network, error and ``compared_with`` are None: they are not verified.
    ``not_finite`` counts the numbers of its outputs that are NaN, or the same infinity, here and there;
    ``error_as_given`` is the error beside onnxruntime on the file as it is, in the model's own types.
    """

    loads: NotRequired[float]
    stores: NotRequired[float]
    peak: NotRequired[float]
    loads_bytes: NotRequired[float]
    stores_bytes: NotRequired[float]
    largest_error: float | None
    compared_with: NotRequired[str | None]
    error_as_given: NotRequired[float | None]
    not_finite: NotRequired[int]
    random_weights: NotRequired[int]
    outputs: list[int | str]


class RunExtra(PlanExtra):
    """What ``run`` says beside the schedule; ``run`` is None where the plan broke a rule and was not executed."""

    run: Execution | None


class SweepPoint(TypedDict):
    """One machine: the amount swept under its own name, and what was found; None where nothing fits.

    Problems have ``latency`` and ``traffic``, networks ``latency_s`` and ``traffic_bytes``.
    """

    capacity: NotRequired[float]
    bandwidth: NotRequired[float]
    latency: NotRequired[float | None]
    traffic: NotRequired[float | None]
    latency_s: NotRequired[float | None]
    traffic_bytes: NotRequired[float | None]
    bound: float | None
    gap: float | None
    status: str


class SweepExtra(BoundExtra):
    """What ``sweep`` found, over ``capacity`` or ``bandwidth``."""

    over: str
    points: list[SweepPoint]
