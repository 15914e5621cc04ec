"""The explorer: NSGA-II over replacements, channel decisions and bindings, with an archive of the undominated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from shorthaul.core.search import Search
from shorthaul.dataflow import tuning
from shorthaul.dataflow.exploration import nsga2_kernels as kernels
from shorthaul.dataflow.exploration.few_tokens import roomiest
from shorthaul.dataflow.mapping.arrays import Instance
from shorthaul.dataflow.mapping.groups import Groups, groups_of, mappings_of_firings
from shorthaul.dataflow.mapping.mapping_kernels import Genotypes
from shorthaul.dataflow.options import PlanOptions
from shorthaul.dataflow.plan import HypervolumeDocument, Point

IntArray = npt.NDArray[np.int64]
BitArray = npt.NDArray[np.int8]
FloatArray = npt.NDArray[np.float64]


class GenotypeDecoder(Protocol):
    """What the explorer needs of a decoder."""

    def objectives(self, genotypes: Genotypes, search: Search) -> FloatArray:
        """Return period, footprint and core cost of every individual, shape (n, 3); spend what that takes."""
        ...

    def point_of(self, genotypes: Genotypes, number: int) -> Point:
        """Return the complete implementation of one individual."""
        ...

    def close(self) -> None:
        """End the threads."""
        ...


@dataclass(slots=True)
class Individuals:
    """Genotypes and objectives of n individuals: (n,), (n, M), (n, C), (n, A) and (n, 3)."""

    compact: BitArray
    xi: BitArray
    decision: BitArray
    binding: IntArray
    objectives: FloatArray

    def genotypes(self) -> Genotypes:
        """Return what the kernels take."""
        return Genotypes(self.compact, self.xi, self.decision, self.binding)

    def take(self, index: Any) -> Individuals:
        """Return the individuals that ``index`` selects."""
        return Individuals(*(getattr(self, field.name)[index] for field in fields(self)))

    @staticmethod
    def join(first: Individuals, second: Individuals) -> Individuals:
        """Return both, one after the other."""
        return Individuals(
            *(
                np.concatenate((getattr(first, field.name), getattr(second, field.name)))
                for field in fields(Individuals)
            )
        )


@dataclass(slots=True)
class State:
    """Where a search stands after ``generation`` generations; enough to go on exactly as if never stopped.

    ``rank`` and ``crowd`` of the population date from its selection among parents and children together.
    """

    generation: int
    population: Individuals
    rank: IntArray
    crowd: FloatArray
    archive: Individuals
    reference: FloatArray
    trace: list[float]
    random: np.random.Generator


def explore(
    instance: Instance,
    decoder: GenotypeDecoder,
    options: PlanOptions,
    search: Search,
    *,
    lower: Sequence[float],
    resumed: State | None = None,
    keep: Callable[[State], None] = lambda _: None,
    keep_back: Callable[[int], None] = lambda _: None,
) -> State:
    """Run NSGA-II, from ``resumed`` or anew, until the generations or the search are used up; return the last state.

    ``lower`` bounds period, footprint and core cost from below: the hypervolume trace is the share of the box from
    there to the worst values of the initial population that the archive dominates, one value per generation from 0;
    it is empty if the search ended before the first.
    ``keep`` is called with every state of more points, from which a search can go on and which changes afterwards;
    ``keep_back`` with the number of points whenever that may have changed. A generation in which the search ends is
    dropped, so that going on from a state that was kept is as if never stopped.
    """
    groups = groups_of(instance)
    low = np.array(lower, np.float64)
    state = resumed
    if state is None:
        state, complete = _first_state(instance, decoder, options, search, low)
        if complete:
            keep(state)
    while state.generation < options.generations and not search.expired():
        drawn = state.random.bit_generator.state
        children = _offspring(state, options, groups)
        children.objectives = decoder.objectives(children.genotypes(), search)
        if search.expired():
            state.random.bit_generator.state = drawn
            break
        before = state.archive
        _replace(state, children, options.population)
        search.spend((options.population + options.offspring) ** 2 / tuning.RANKED_PAIRS)
        changed = state.archive is not before
        volume = hypervolume(state.archive.objectives, low, state.reference) if changed else state.trace[-1]
        state.trace.append(volume)
        keep_back(len(state.archive.binding))
        best = float(state.archive.objectives[:, 0].min()) if len(state.archive.objectives) else None
        if changed:
            keep(state)
        search.report(
            best=best,
            bound=low[0],
            what=f"generation {state.generation}  {len(state.archive.binding)} points  hypervolume {volume:.4f}",
        )
    return state


def _first_state(
    instance: Instance, decoder: GenotypeDecoder, options: PlanOptions, search: Search, low: FloatArray
) -> tuple[State, bool]:
    """Return the first state, and whether it is complete: all of its individuals were decoded."""
    random = search.generator()
    population = _initial(instance, options, random)
    complete = _decode(population, decoder, search)
    if not np.isfinite(population.objectives[:, 0]).any() and instance.platform.global_memory_bytes is not None:
        for one in roomiest(instance, options.strategy, search):
            first = Individuals(one.compact, one.xi, one.decision, one.binding, decoder.objectives(one, search))
            population = Individuals.join(population.take(slice(1, None)), first)
    archive = _archived(population.take(np.zeros(0, np.int64)), population)
    finite = population.objectives[np.isfinite(population.objectives[:, 0])]
    reference = finite.max(axis=0) if len(finite) else low + 1
    trace = [] if search.expired() else [hypervolume(archive.objectives, low, reference)]  # an import of 0.1 s
    return State(0, population, *_ranked(population), archive, reference, trace, random), complete


def _replace(state: State, children: Individuals, size: int) -> None:
    """Take a generation's children into the archive, and the best of them and the population into the next one."""
    state.archive = _archived(state.archive, children)
    both = Individuals.join(state.population, children)
    rank, crowd = _ranked(both)
    keep = np.lexsort((-crowd, rank))[:size]
    state.population = both.take(keep)
    state.rank, state.crowd = rank[keep], crowd[keep]
    state.generation += 1


def hypervolume(points: FloatArray, low: FloatArray, reference: FloatArray) -> float:
    """Return the share of the box from ``low`` to ``reference`` that the points dominate.

    >>> hypervolume(np.array([[1.0, 1.0, 1.0]]), np.zeros(3), np.full(3, 2.0))
    0.125
    """
    import moocore

    span = np.where(reference > low, reference - low, 1.0)
    scaled = (points - low) / span
    scaled = scaled[(scaled <= 1).all(axis=1)]
    return float(moocore.hypervolume(scaled, ref=np.ones(points.shape[1]))) if len(scaled) else 0.0


def volumes(points: FloatArray, ideal: tuple[float, float, float], state: State) -> HypervolumeDocument:
    """Return how good a front is, and how good it was while it was explored."""
    of_front = round(hypervolume(points, np.array(ideal), state.reference), 6) if state.trace else None
    return {
        "by_generation": [round(value, 6) for value in state.trace],
        "of_front": of_front,
        "ideal": list(ideal),
        "reference": [float(value) for value in state.reference],
    }


def by_contribution(points: FloatArray, low: FloatArray, reference: FloatArray) -> IntArray:
    """Return the numbers of all points: the least of every objective, then by falling contribution to the volume."""
    import moocore

    span = np.where(reference > low, reference - low, 1.0)
    scaled = (points - low) / span
    share = np.asarray(moocore.hv_contributions(np.minimum(scaled, 1.0), ref=np.full(points.shape[1], 1.01)))
    order = np.argsort(-share, kind="stable")
    return np.array(list(dict.fromkeys([*points.argmin(axis=0).tolist(), *order.tolist()])))


def _reduced(groups: Groups, individuals: Individuals) -> Genotypes:
    """Return the genotypes with one gene per group."""
    xi, decision, _ = groups.first
    return Genotypes(
        individuals.compact,
        np.take(individuals.xi, xi, axis=1),
        np.take(individuals.decision, decision, axis=1),
        groups.places(individuals.binding),
    )


def _expanded(groups: Groups, compact: BitArray, xi: BitArray, decision: BitArray, places: IntArray) -> Individuals:
    """Return individuals with the genes of every firing."""
    multicast, channel, _ = groups.of
    return Individuals(
        compact,
        np.take(xi, multicast, axis=1),
        np.take(decision, channel, axis=1),
        groups.cores(places),
        np.empty((len(compact), 3)),
    )


def _initial(instance: Instance, options: PlanOptions, random: np.random.Generator) -> Individuals:
    """Draw a subset of cores for every individual: uniform bindings would never reach the cheap end of the front."""
    n, cores = options.population, len(instance.core_tile)
    groups = groups_of(instance)
    multicasts, channels, actors = map(len, groups.first)
    binding = np.empty((n, actors), np.int64)
    kinds: dict[bytes, int] = {}  # actors that can run on the same cores draw from the same ones
    able = [instance.able[actor].tobytes() for actor in groups.first[2]]
    kind = np.array([kinds.setdefault(cores, len(kinds)) for cores in able], np.int64)
    able_cores = [np.frombuffer(able, np.int64) for able in kinds]
    for i in range(n):
        allowed = random.permutation(cores)[: 1 if i < 2 else random.integers(1, min(actors, cores) + 1)]
        if i < 2:
            allowed = np.array([int(np.argmin(instance.core_cost))])
        choices = [np.intersect1d(allowed, able) for able in able_cores]
        choices = [choice if len(choice) else able for choice, able in zip(choices, able_cores, strict=True)]
        drawn = random.integers(0, np.array([len(choice) for choice in choices])[kind])
        for number, choice in enumerate(choices):
            binding[i, kind == number] = choice[drawn[kind == number]]
    share = random.random((n, 1))
    share[0], share[1] = 1.0, 0.0
    if options.strategy != "mrb-explore":
        share[:] = 1.0 if options.strategy == "mrb-always" else 0.0
    xi = (random.random((n, multicasts)) < share).astype(np.int8)
    decision = random.integers(0, 5, (n, channels)).astype(np.int8)
    if groups.are_firings:  # an actor's firings exchange most tokens with one another and a few other actors
        decision[::2] = 0
        mappings, local = mappings_of_firings(instance, groups, len(binding[2::2]))
        binding[2 : 2 * len(mappings) + 2 : 2] = mappings
        decision[2 : 2 * len(mappings) + 2 : 2] = local[:, None]
    compact = random.integers(0, 2, n).astype(np.int8)
    compact[:2] = 1
    if options.start != "evolve":
        compact[:] = options.start == "compact"
    return _expanded(groups, compact, xi, decision, binding)


def _decode(population: Individuals, decoder: GenotypeDecoder, search: Search) -> bool:
    """Fill the objectives, a few individuals at a time; False if the search ended and the rest is left infinite.

    Until one can be scheduled, the search goes on.
    """
    objectives = np.full((len(population.binding), 3), np.inf)
    population.objectives = objectives
    for first in range(0, len(objectives), tuning.DECODED_AT_ONCE):
        if search.expired() and np.isfinite(objectives).any():
            return False
        some = slice(first, first + tuning.DECODED_AT_ONCE)
        objectives[some] = decoder.objectives(population.take(some).genotypes(), search)
    return not search.expired()


def _ranked(individuals: Individuals) -> tuple[IntArray, FloatArray]:
    n = len(individuals.binding)
    rank, crowd = np.empty(n, np.int64), np.empty(n, np.float64)
    order = np.argsort(individuals.objectives.T, axis=1, kind="stable")
    kernels.rank_and_crowd(individuals.objectives, order, rank, crowd)
    return rank, crowd


def _offspring(state: State, options: PlanOptions, groups: Groups) -> Individuals:
    parents, n = _reduced(groups, state.population), options.offspring
    multicasts, channels, actors = map(len, groups.first)
    draws = state.random.random((n, 16 + 3 * (1 + multicasts + channels + actors)))
    genes = (
        np.empty(n, np.int8), np.empty((n, multicasts), np.int8), np.empty((n, channels), np.int8),
        np.empty((n, actors), np.int64),
    )  # fmt: skip
    kernels.vary(
        kernels.Variation(
            draws,
            options.crossover,
            state.rank,
            state.crowd,
            parents,
            Genotypes(*genes),
            groups.able,
            groups.able_count,
        )
    )
    children = _expanded(groups, *genes)
    if options.strategy != "mrb-explore":
        children.xi[:] = options.strategy == "mrb-always"
    if options.start != "evolve":
        children.compact[:] = options.start == "compact"
    return children


def _archived(archive: Individuals, candidates: Individuals) -> Individuals:
    """Return the undominated ones of both; the archive itself if no candidate enters."""
    kept, entered = np.empty(len(archive.binding), np.bool_), np.empty(len(candidates.binding), np.bool_)
    kernels.entering(archive.objectives, candidates.objectives, kept.view(np.uint8), entered.view(np.uint8))
    if not entered.any():
        return archive
    return Individuals.join(archive.take(kept), candidates.take(entered))
