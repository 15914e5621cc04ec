"""Arguments that suit given sizes: those of all sizes with segments of their own, and those made for the sizes only."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from shorthaul.affine.bounds import cones, lines
from shorthaul.affine.bounds.boxes.fields import boxed_cones
from shorthaul.affine.bounds.boxes.stencils import boxed_stencils
from shorthaul.affine.bounds.choice import Fixed, combined_at
from shorthaul.affine.bounds.columns import with_values
from shorthaul.affine.bounds.graphs import Graph
from shorthaul.affine.bounds.lifetime import moments
from shorthaul.affine.bounds.lifetime.read_again import more_in_phases
from shorthaul.affine.bounds.partition import stencil_levels
from shorthaul.affine.bounds.partition.candidates import Candidate
from shorthaul.affine.bounds.sums import finished_sums, paired_rows, used_sums, whole_rows
from shorthaul.affine.effort import OutOfEffortError
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.integer_sets.quasi_polynomial import number_at
from shorthaul.affine.proofs.proof import SubBound
from shorthaul.affine.tuning import LEAST_GAIN


@dataclass(frozen=True, slots=True)
class Argued:
    """A graph with all arguments found on it; ``parts`` are those used, ``first`` the place of theirs in a proof.

    The parts are as they stand on the graph. ``tuned`` are arguments, by what they are and the sizes, with what is made
    of them for these.
    """

    graph: Graph
    pool: tuple[Candidate | Fixed, ...]
    parts: tuple[SubBound, ...]
    first: int
    tuned: dict[Hashable, tuple[SubBound, SubBound]] = field(default_factory=dict, repr=False, compare=False)

    def place(self, bound: SubBound) -> int | None:
        """Return the place of an argument in the proof."""
        return next((self.first + at for at, item in enumerate(self.parts) if item is bound), None)

    def in_program(self, bound: SubBound) -> SubBound:
        """Return what an argument on the graph says of the program."""
        return bound if self.graph.is_whole else _in_program(bound, self.graph)


def _in_program(item: SubBound, graph: Graph) -> SubBound:
    """Return what an argument on a graph that stands for the program's says of the program."""

    def tuned(sizes: Mapping[str, int]) -> SubBound | None:
        better = None if item.tuned is None else item.tuned(sizes)
        return None if better is None else _in_program(better, graph)

    return replace(
        item,
        value=graph.times * item.value,
        steps=(*graph.notes, *item.steps),
        lemmas=(*graph.lemmas, *item.lemmas),
        points=None,
        sources=None,
        within={"graph": [dict(step) for step in graph.derived], "value": str(item.value)},
        tuned=None if item.tuned is None else tuned,
    )


def tuned_parts(
    parts: Sequence[SubBound], sums: Sequence[tuple[int, ...]], sizes: Mapping[str, int]
) -> tuple[list[SubBound], list[tuple[int, ...]], dict[int, int]]:
    """Return the parts and those made for ``sizes`` behind them, the sums in which these take the others' place, and

    which take whose place.
    """
    made: dict[int, int] = {}
    every = list(parts)
    with suppress(OutOfEffortError):
        for at, item in enumerate(parts):
            better = None if item.tuned is None else item.tuned(sizes)
            if better is not None:
                made[at] = len(every)
                every.append(better)
    return every, [tuple(made.get(at, at) for at in item) for item in sums if made.keys() & set(item)], made


def chosen_at(
    argued: Argued,
    instead: Mapping[int, int],
    parts: Sequence[SubBound],
    sums: Sequence[tuple[int, ...]],
    sizes: Mapping[str, int],
    made: Sequence[SubBound] = (),
) -> list[tuple[float, SubBound]]:
    """Return the arguments on one graph, those ``made`` for the sizes among them, whose sum there is best."""
    times = number_at(argued.graph.times, sizes)

    def worth(bound: SubBound) -> tuple[float, SubBound]:
        return times * number_at(bound.value, sizes), bound

    def exact(bound: SubBound) -> tuple[float, SubBound]:
        place = argued.place(bound)
        if place is None:
            key = id(bound), *sizes.items()
            with suppress(OutOfEffortError):
                if key not in argued.tuned:
                    argued.tuned[key] = bound, (bound.tuned and bound.tuned(sizes)) or bound
                return worth(argued.tuned[key][1])
            return worth(bound)
        known = parts[instead.get(place, place)]
        return number_at(known.value, sizes), known

    least = (LEAST_GAIN - 1) * most_known(parts, sums, sizes)
    return combined_at(argued.pool, [*map(worth, made)], argued.graph.flow, sizes, exact, times, least)


def is_best_exact(argued: Argued, sizes: Mapping[str, int]) -> bool:
    """True if of the arguments on one graph the one of most worth has it exactly: a K-partition may have far less."""
    best = max(argued.pool, key=lambda item: item.most_at(sizes), default=None)
    return isinstance(best, Fixed) and best.most_at(sizes) > 0


def most_known(parts: Sequence[SubBound], sums: Sequence[tuple[int, ...]], sizes: Mapping[str, int]) -> float:
    """Return the largest value of sums of parts at the sizes."""
    return max(sum(max(0.0, number_at(parts[at].value, sizes)) for at in item) for item in sums)


def worth_of(chosen: Sequence[tuple[float, SubBound]]) -> float:
    """Return what arguments are worth together."""
    return sum(value for value, _ in chosen)


def added_sums(
    argued: Argued,
    chosen: Sequence[tuple[float, SubBound]],
    parts: list[SubBound],
    sums: Sequence[tuple[int, ...]],
    sizes: Mapping[str, int],
) -> list[tuple[int, ...]]:
    """Return the sum of arguments ``chosen`` on one graph; what is new is put behind ``parts``.

    Nothing where it is hardly better than the ``sums`` known.
    """
    if worth_of(chosen) <= LEAST_GAIN * most_known(parts, sums, sizes):
        return []
    known = {id(item): at for at, item in enumerate(parts)}
    places = []
    for _, item in chosen:
        places.append(known.get(id(item), len(parts)))
        parts += [] if id(item) in known else [argued.in_program(item)]
    return [tuple(sorted(places))]


def made_for(argued: Argued, sizes: Mapping[str, int]) -> Iterator[SubBound]:
    """Yield the arguments on a graph that are made for sizes only: inside of boxes, on finished sums, between moments.

    None where only arguments of one kind may be used. Those between moments come first where phases promise most.
    """
    flow = argued.graph.flow
    if argued.graph.only_waits:
        return
    early = more_in_phases(flow, sizes)
    if early:
        yield from _between_moments(flow, sizes)
    yield from _in_boxes(flow, sizes)
    for item in finished_sums.finished_sums(flow):
        yield finished_sums.sub_bound(item, flow, sizes)
    for pairs in paired_rows.paired_rows(flow):
        yield paired_rows.sub_bound(pairs, flow, sizes)
    for used in used_sums.used_sums(flow):
        yield used_sums.sub_bound(used, flow, sizes)
    for grid in lines.lines(flow):
        yield lines.sub_bound(grid, flow, sizes)
    for rows in whole_rows.whole_rows(flow, sizes):
        yield whole_rows.sub_bound(rows, flow)
    if not early:
        yield from _between_moments(flow, sizes)


def _between_moments(flow: DataFlow, sizes: Mapping[str, int]) -> Iterator[SubBound]:
    for found in moments.moments(flow, sizes):
        yield moments.sub_bound(found)


def _in_boxes(flow: DataFlow, sizes: Mapping[str, int]) -> Iterator[SubBound]:
    for stencil in with_values(boxed_stencils(flow), flow):
        general = stencil_levels.sub_bound(stencil, flow, balanced=True)
        yield (general.tuned and general.tuned(sizes)) or general
    for field_argument in (found for item in boxed_cones(flow) for found in cones.with_stills(item, flow)):
        general = cones.sub_bound(field_argument, flow)
        yield (general.tuned and general.tuned(sizes)) or general
