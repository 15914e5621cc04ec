"""An application on a platform as arrays, in the numbering that ``mapping_kernels`` explains."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from shorthaul.core.errors import InfeasibleError, InputError
from shorthaul.dataflow.mapping.mapping_kernels import Genotypes
from shorthaul.dataflow.model import (
    DECISIONS,
    Application,
    Decisions,
    Platform,
    ticks_for,
)

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
_UNLIMITED = 1 << 60


@dataclass(frozen=True, slots=True)
class Instance:
    """Arrays of one application (A actors, M multicasts, C channels) on one platform (P cores, T tiles).

    ``tau`` (A, core types) in ticks, -1 where an actor cannot run; ``ticks`` (C, T + 1): ticks of one token over each
    crossbar and the NoC; ``limits`` (P + T + 1) in bytes; ``able`` the cores that can run each actor.
    """

    application: Application
    platform: Platform
    tau: IntArray
    multicast_of: IntArray
    feeding: IntArray
    src: IntArray
    dst: IntArray
    token_bytes: IntArray
    delay: IntArray
    ticks: IntArray
    core_type: IntArray
    core_tile: IntArray
    core_cost: FloatArray
    limits: IntArray
    able: tuple[IntArray, ...]

    @property
    def never(self) -> int:
        """A period that is longer than that of any schedule of interest."""
        return int(self.tau.max(axis=1).clip(0).sum() + 2 * self.ticks.max(axis=1).sum()) + 2

    @property
    def memories(self) -> tuple[str, ...]:
        """The names of the memories, by number."""
        return tuple(self.platform.memories)


def build(application: Application, platform: Platform) -> Instance:
    """Return the arrays; raises :class:`InputError` for multirate graphs."""
    if not application.is_marked_graph:
        raise InputError("is a multirate graph", place="channels", cure="expand it to a marked graph first")
    cores, types = platform.cores, list(platform.core_types)
    actor_of = {actor.id: number for number, actor in enumerate(application.actors)}
    tau = np.full((len(actor_of), len(types)), -1, np.int64)
    for number, actor in enumerate(application.actors):
        for name, value in actor.ticks.items():
            if name in platform.core_types:
                tau[number, types.index(name)] = value
    multicasts = application.multicasts
    multicast_of = np.full(len(actor_of), -1, np.int64)
    for number, name in enumerate(multicasts):
        multicast_of[actor_of[name]] = number
    channels = application.channels
    feeding = np.array([next(i for i, c in enumerate(channels) if c.dst == name) for name in multicasts], np.int64)
    bandwidths = [tile.crossbar_bytes_per_s for tile in platform.tiles] + [platform.noc_bytes_per_s]
    per_second = application.ticks_per_second
    ticks = np.array([[ticks_for(c.token_bytes, b, per_second) for b in bandwidths] for c in channels], np.int64)
    _refuse_large(tau, ticks, application)
    core_type = np.array([types.index(core.type) for core in cores], np.int64)
    tile_numbers = {tile.id: number for number, tile in enumerate(platform.tiles)}
    return Instance(
        application=application,
        platform=platform,
        tau=tau,
        multicast_of=multicast_of,
        feeding=feeding,
        src=np.array([actor_of[c.src] for c in channels], np.int64),
        dst=np.array([actor_of[c.dst] for c in channels], np.int64),
        token_bytes=np.array([c.token_bytes for c in channels], np.int64),
        delay=np.array([c.delay for c in channels], np.int64),
        ticks=ticks.reshape(len(channels), len(bandwidths)),
        core_type=core_type,
        core_tile=np.array([tile_numbers[platform.tile_of[core.id].id] for core in cores], np.int64),
        core_cost=np.array([platform.core_types[core.type].cost for core in cores], np.float64),
        limits=np.array([_UNLIMITED if m is None else m for m in platform.memories.values()], np.int64),
        able=tuple(np.flatnonzero(tau[number][core_type] >= 0) for number in range(len(actor_of))),
    )


def _refuse_large(tau: IntArray, ticks: IntArray, application: Application) -> None:
    longest = int(tau.max()) + int(ticks.max(initial=0)) * (len(application.channels) + 1)
    tokens = sum(max(1, c.delay) * c.token_bytes for c in application.channels)
    if longest * (len(application.actors) + 1) > 2**52 or tokens > 2**52:
        raise InputError(
            "times or sizes are too large for 64-bit arithmetic",
            place="time_unit",
            value=application.time_unit,
            cure="use a coarser time unit",
        )


def exact_cost(costs: list[float]) -> float:
    """Return the sum of core costs, rounded once."""
    return float(sum(map(Fraction, costs), Fraction(0)))


def genes(instance: Instance, decisions: Decisions, *, compact: bool = True) -> Genotypes:
    """Return the genotype of a mapping; PROD where no channel decision is given."""
    application = instance.application
    core_of = {core.id: number for number, core in enumerate(instance.platform.cores)}
    codes = [DECISION_CODE[decisions.channel_decision.get(c.id, "PROD")] for c in application.channels]
    return Genotypes(
        np.array([compact], np.int8),
        np.array([decisions.xi.get(name, 0) for name in application.multicasts], np.int8)[None],
        np.array(codes, np.int8)[None],
        np.array([core_of.get(decisions.binding.get(actor.id, ""), -1) for actor in application.actors])[None],
    )


def individual(genotypes: Genotypes, number: int) -> Genotypes:
    """Return one genotype of many."""
    arrays = (genotypes.compact, genotypes.xi, genotypes.decision, genotypes.binding)
    return Genotypes(*(np.asarray(array)[number : number + 1] for array in arrays))


def decisions_of(instance: Instance, genotypes: Genotypes, number: int) -> Decisions:
    """Return a genotype as a mapping by names."""
    application, cores = instance.application, instance.platform.cores
    xi, decision, binding = (
        np.asarray(genes)[number].tolist() for genes in (genotypes.xi, genotypes.decision, genotypes.binding)
    )
    replaced = dict(zip(application.multicasts, xi, strict=True))
    return Decisions(
        {a.id: cores[p].id for a, p in zip(application.actors, binding, strict=True) if not replaced.get(a.id, 0)},
        replaced,
        {c.id: DECISIONS[d] for c, d in zip(application.channels, decision, strict=True)},
    )


#: Numbers of the channel decisions: producer before consumer, core-local before tile-local, the global memory last.
DECISION_CODE = {name: number for number, name in enumerate(DECISIONS)}


def memory_shortage(instance: Instance, decisions: Decisions) -> InfeasibleError:
    """Return the error for buffers that fit no memory: least needs against everything there is."""
    from shorthaul.core.errors import Demand
    from shorthaul.dataflow.graphs.multi_reader_buffers import substitute_mrbs

    network = substitute_mrbs(instance.application, decisions.xi)
    needs = [Demand(buffer.id, max(1, buffer.delay) * buffer.token_bytes) for buffer in network.buffers]
    needs.sort(key=lambda need: -need.amount)
    limit = instance.platform.global_memory_bytes or 0
    return InfeasibleError(
        "the global memory (after tile and core memories took what the channel decisions give them)",
        demand=sum(need.amount for need in needs),
        limit=limit,
        place="platform",
        contributors=needs[:5],
        cure="enlarge global_memory_bytes, or decide for other memories",
    )
