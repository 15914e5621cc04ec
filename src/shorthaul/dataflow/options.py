"""The options of each verb: dataclass fields, Python keywords and command-line flags alike."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shorthaul.core.options import SIZES, Options, PythonForm, option
from shorthaul.core.search import ONE_PER_MACHINE, RESTARTS

STRATEGIES = ("reference", "mrb-always", "mrb-explore")
DECODERS = ("caps", "multistart", "modulo", "window")
ORDERS = ("inverse", "topological")
CAPACITY_RULES = ("access", "atomic-firing")
MRB_CONSUMERS = ("first", "common-tile")
PICKS = ("period", "footprint", "cost", "latency")
STARTS = ("compact", "earliest")
_BINDING = PythonForm("Mapping[str, str]", SIZES.text)


def _platform(default: str) -> Any:
    meaning = (
        f"The platform: its JSON document, a machine file, or a name of 'shorthaul machines' (default: {default})."
    )
    return option(None, meaning, flags=("--platform", "--machine"))


@dataclass(frozen=True, slots=True)
class Decoding(Options):
    """How one mapping becomes a schedule."""

    decoder: str = option("caps", "How one mapping is scheduled.", choices=DECODERS)
    order: str = option("inverse", "Order in which CAPS-HMS takes the actors.", choices=ORDERS)
    start: str = option(
        "compact",
        "Start a firing as early as buffers of least capacity allow, or as early as its cores allow.",
        choices=STARTS,
    )
    capacity_rule: str = option(
        "access", "A place is held from write to read, or from firing to firing.", choices=CAPACITY_RULES
    )
    mrb_consumer: str = option("first", "Whose memory CONS means for a multi-reader buffer.", choices=MRB_CONSUMERS)
    tolerance: float = option(
        0.001, "Relative step at which CAPS-HMS stops refining P; 0: to the tick.", least=0, most=1
    )
    solver_effort: float = option(30.0, "Most effort of one exact solve.", least=0.01, most=1e6)


@dataclass(frozen=True, slots=True)
class PlanOptions(Decoding):
    """What an exploration is asked for."""

    platform: Path | None = _platform("the case's, else 24 cores")
    strategy: str = option("mrb-explore", "Which multicasts become multi-reader buffers.", choices=STRATEGIES)
    start: str = option(
        "evolve",
        "Start a firing as early as buffers of least capacity allow, as its cores allow, or evolve which.",
        choices=(*STARTS, "evolve"),
    )
    solver_effort: float = option(0.05, "Most effort of each exact solve in the search.", least=0.01, most=1e6)
    polish_effort: float | None = option(
        None,
        "Most effort of the search for better mappings after NSGA-II's, with exact solves (default: 14 to 48 times "
        "what NSGA-II took); 0: none.",
        least=0,
        most=1e6,
        free=True,
    )
    generations: int = option(1000, "Generations of NSGA-II.", least=0, most=10**7, free=True)
    population: int = option(100, "Individuals kept.", least=2, most=10**5)
    offspring: int = option(25, "New individuals in each generation.", least=1, most=10**5)
    crossover: float = option(0.95, "How often two parents are recombined.", least=0, most=1)
    deadline: int | None = option(None, "Longest period of a point, in ticks.", least=1)
    max_cost: float | None = option(None, "Most core cost of a point.", least=0)
    max_footprint: int | None = option(None, "Most bytes of all buffers of a point.", least=0)
    max_latency: int | None = option(None, "Most latency of a point, in ticks; implies --latency.", least=0)
    latency: bool = option(False, "Latency is an objective too, from actors without inputs to those without outputs.")
    bind: str | None = option(None, "Actors that stay on a core, as in gray=p3,sink=p5.", form=_BINDING)
    restarts: int | None = option(None, RESTARTS + ONE_PER_MACHINE, least=1, most=10_000, free=True)
    pick: str | None = option(
        None, "Keep one point alone: of the least period, footprint, core cost or latency (then of the others).",
        choices=PICKS, free=True,
    )  # fmt: skip
    front: int = option(
        400, "Most points reported (the ones that add most hypervolume).", least=1, most=10**5, free=True
    )

    @property
    def is_timed(self) -> bool:
        """True if the latency of points is an objective or has a limit."""
        return self.latency or self.max_latency is not None or self.pick == "latency"


@dataclass(frozen=True, slots=True)
class ScheduleOptions(Decoding):
    """One mapping, one decoder."""

    platform: Path | None = _platform("the mapping's or the case's")
    mapping: Path | None = option(None, "The mapping, or a plan of which --point is taken.")
    point: int = option(0, "Which point of a plan given as mapping.", least=0)
    decoder: str = option("multistart", "How the mapping is scheduled.", choices=DECODERS)
    tolerance: float = option(0.0, "Relative step at which CAPS-HMS stops refining P; 0: to the tick.", least=0, most=1)
    chrome_trace: Path | None = option(
        None, "Write the schedule for chrome://tracing or Perfetto here.", written=(".json",)
    )


@dataclass(frozen=True, slots=True)
class BoundOptions(Options):
    """What the bounds assume."""

    platform: Path | None = _platform("the case's, else 24 cores")
    mapping: Path | None = option(None, "Bound the period of this mapping instead of any.")
    strategy: str = option("mrb-explore", "Which multicasts may become multi-reader buffers.", choices=STRATEGIES)


@dataclass(frozen=True, slots=True)
class CheckOptions(Options):
    """What the plan is replayed against, and which bound is verified."""

    platform: Path | None = _platform("the case's, else 24 cores")
    bound: Path | None = option(None, "A result document: the proofs of its least periods are verified.")


@dataclass(frozen=True, slots=True)
class CodeOptions(Options):
    """Which point becomes C."""

    platform: Path | None = _platform("the case's, else 24 cores")
    point: int = option(0, "Which point of the plan.", least=0)


@dataclass(frozen=True, slots=True)
class SweepOptions(Options):
    """Which explorations are compared."""

    platform: Path | None = _platform("the case's, else 24 cores")
    generations: int = option(500, "Generations of NSGA-II.", least=0, most=10**7)
    population: int = option(100, "Individuals kept.", least=2, most=10**5)
    offspring: int = option(25, "New individuals in each generation.", least=1, most=10**5)
    seeds: int = option(1, "Seeds per strategy, from --seed on.", least=1, most=1000)
    decoder: str = option("caps", "How one mapping is scheduled.", choices=DECODERS)


@dataclass(frozen=True, slots=True)
class RunOptions(Options):
    """What is executed, and on what."""

    platform: Path | None = _platform("the case's, else 24 cores")
    plan: Path | None = option(None, "Execute the points of this plan (default: explore some).")
    point: int | None = option(None, "Which point of the plan (default: all).", least=0)
    functions: Path | None = option(
        None, "Functions of yours, a Python file or a shared library of the emitted C: each core is a process then."
    )
    images: Path | None = option(
        None, "Colour images for the Sobel filter, a .npy array (n, height, width, 3) (default: drawn ones)."
    )
    iterations: int = option(8, "How often every actor fires.", least=1, most=10**5)
    generations: int = option(20, "Generations of the exploration, without --plan.", least=0, most=10**5)


@dataclass(frozen=True, slots=True)
class BuffersOptions(Options):
    """What the storage of a multirate graph is measured in, and for which periods."""

    core_type: str | None = option(None, "Core type whose execution times count (default: each actor's fastest).")
    serial: bool = option(False, "Firings of one actor never overlap (default: as channels to itself allow).")
    shared: bool = option(False, "Multicasts become multi-reader buffers.")
    unit: str = option("tokens", "What the size of a buffer is counted in.", choices=("tokens", "bytes"))
    deadline: int | None = option(None, "Seek the least storage of this period alone, in ticks.", least=0)


@dataclass(frozen=True, slots=True)
class ThroughputOptions(Options):
    """How the firings of a multirate graph are timed."""

    core_type: str | None = option(None, "Core type whose execution times count (default: each actor's fastest).")
    serial: bool = option(False, "Firings of one actor never overlap (default: as channels to itself allow).")
    capacities: bool = option(False, "Channels hold no more tokens than the capacities in the input.")
