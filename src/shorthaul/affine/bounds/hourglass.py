"""Statements whose steps pass through a neck: every instance of one step is an ancestor of all of the next one.

Modified Gram-Schmidt and reflections: a column is updated by a multiple of another one, and the factor is a sum over
the whole column. So a stretch of a play that updates a column in three steps updates all of it in the middle one, and
needs all of another column for that (hourglass dependences; Eyraud-Dubois, Iooss, Langou, Rastello 2024).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import islpy as isl
import sympy

from shorthaul.affine.bounds.lifetime.wavefront import Reachability
from shorthaul.affine.bounds.partition.candidates import empty_union, usable_paths
from shorthaul.affine.bounds.partition.k_partition import Partition, partition
from shorthaul.affine.bounds.partition.partition_certificate import hourglass_certificate
from shorthaul.affine.bounds.partition.partition_steps import facts_of, projections_of
from shorthaul.affine.bounds.partition.parts import Part, sets_of
from shorthaul.affine.bounds.partition.paths import Path, paths_into
from shorthaul.affine.effort import limited, step
from shorthaul.affine.integer_sets.counting import card, count_formula, most_formula
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.integer_sets.leading_term import S
from shorthaul.affine.proofs.lemmas import CUTS, HOURGLASS, SEGMENTS
from shorthaul.affine.proofs.notation import set_text
from shorthaul.affine.proofs.proof import SubBound
from shorthaul.affine.tuning import WAVEFRONT_OPERATIONS

_SET = isl.dim_type.set


@dataclass(frozen=True, slots=True)
class Hourglass:
    """The argument: two families of paths, and which coordinates are steps, places and columns."""

    argument: Partition
    time: int
    places: tuple[int, ...]
    columns: tuple[int, ...]
    width: isl.Set
    stride: int  #: how far one step is from the next
    ancestors: isl.UnionMap

    @property
    def spill(self) -> isl.UnionSet:
        """The vertices whose loads are counted."""
        return self.argument.spill

    @property
    def statements(self) -> tuple[str, ...]:
        """The statement of the argument."""
        return (self.argument.parts[0].statement,)


def hourglasses(flow: DataFlow) -> Iterator[Hourglass]:
    """Yield the argument for every statement that passes through necks."""
    reach = Reachability(flow)
    for statement in flow.program.statements:
        dimensions = statement.domain.dim(_SET)
        if dimensions < 3:
            continue
        usable = usable_paths(paths_into(flow, statement.name), dimensions)
        chains = [path for path in usable if path.delta is not None and len(path.levels) == 1]
        others = [path for path in usable if not path.is_chain]
        for chain, other in itertools.product(chains, others):
            try:
                with limited(WAVEFRONT_OPERATIONS):
                    found = _of_paths(reach, chain, other)
            except isl.Error:
                continue
            if found is not None:
                yield found
                break


def _of_paths(reach: Reachability, chain: Path, other: Path) -> Hourglass | None:
    """Return the argument by a chain along the steps and a broadcast to all columns, None if it is none."""
    step()
    name = chain.statement
    dimensions = chain.domain.dim(_SET)
    time = axes(chain.kernel)
    columns = axes(other.kernel)
    if time is None or columns is None or len(time) != 1 or set(time) & set(columns) or chain.delta is None:
        return None
    places = tuple(at for at in range(dimensions) if at not in {*time, *columns})
    if not places or abs(chain.delta[time[0]]) != 1:
        return None
    domain = of_equal_width(chain.domain.intersect(other.domain), places)
    if domain.is_empty() or not _without_gaps(domain, time[0], places):
        return None
    stride = chain.delta[time[0]]
    through = _next_steps(domain, time[0], stride, columns)
    ancestors = reach.ancestors(name)
    if not isl.UnionMap.from_map(through.reverse()).is_subset(ancestors):
        return None
    part = Part(name, domain, (chain, other), tuple(range(dimensions)))
    made = partition([part], empty_union(), symmetric=False)
    if made is None or (0, 1) not in made.cliques or made.folds != (1, 1):
        return None
    if not made.parts[0].domain.is_equal(domain):  # trimmed: no product any more
        return None
    width = only(domain, places).gist_params(domain.params())
    return Hourglass(made, time[0], places, columns, width, stride, ancestors)


def axes(kernel: tuple[tuple[int, ...], ...]) -> tuple[int, ...] | None:
    """Return the coordinates that span a kernel, None if it is not spanned by coordinates."""
    found = []
    for row in kernel:
        places = [at for at, value in enumerate(row) if value]
        if len(places) != 1:
            return None
        found.append(places[0])
    return tuple(sorted(found))


def only(domain: isl.Set, kept: tuple[int, ...]) -> isl.Set:
    """Return the values of some coordinates."""
    for at in reversed(range(domain.dim(_SET))):
        if at not in kept:
            domain = domain.project_out(_SET, at, 1)
    return domain.reset_tuple_id().coalesce()


def _spread(values: isl.Set, kept: tuple[int, ...], dimensions: int, name: str) -> isl.Set:
    """Return all points whose coordinates ``kept`` are in ``values``."""
    for at in range(dimensions):
        if at not in kept:
            values = values.insert_dims(_SET, at, 1)
    return values.set_tuple_name(name)


def of_equal_width(domain: isl.Set, places: tuple[int, ...]) -> isl.Set:
    """Return the instances at the places that occur with all steps and columns."""
    dimensions, name = domain.dim(_SET), domain.get_tuple_name()
    others = tuple(at for at in range(dimensions) if at not in places)
    pairs = _spread(only(domain, others), others, dimensions, name)
    every = _spread(only(domain, places), places, dimensions, name).intersect(pairs)
    missing = _spread(only(every.subtract(domain), places), places, dimensions, name)
    return domain.subtract(missing).coalesce()


def _without_gaps(domain: isl.Set, time: int, places: tuple[int, ...]) -> bool:
    """True if a column that occurs in two steps occurs in all between, and every place in each of them."""
    dimensions, name = domain.dim(_SET), domain.get_tuple_name()
    others = tuple(at for at in range(dimensions) if at not in places)
    product = _spread(only(domain, others), others, dimensions, name)
    product = product.intersect(_spread(only(domain, places), places, dimensions, name))
    if not product.is_equal(domain):
        return False
    same = [at for at in range(dimensions) if at != time]
    later = same_coordinates(name, dimensions, same, f"x{time} < y{time}")
    return bool(domain.apply(later).intersect(domain.apply(later.reverse())).is_subset(domain))


def same_coordinates(name: str, width: int, kept: Sequence[int], where: str = "true") -> isl.Map:
    """Return the pairs x, y of instances with some equal coordinates, of which ``where`` holds."""
    x, y = (", ".join(f"{letter}{at}" for at in range(width)) for letter in "xy")
    same = " and ".join([*(f"x{at} = y{at}" for at in kept), where])
    return isl.Map.read_from_str(isl.DEFAULT_CONTEXT, f"{{ {name}[{x}] -> {name}[{y}] : {same} }}")


def _next_steps(domain: isl.Set, time: int, stride: int, columns: tuple[int, ...]) -> isl.Map:
    """Return instance -> all instances of the same column one step later."""
    dimensions, name = domain.dim(_SET), domain.get_tuple_name()
    found = same_coordinates(name, dimensions, columns, f"y{time} = x{time} + {stride}")
    return found.intersect_domain(domain).intersect_range(domain)


def sub_bound(item: Hourglass, flow: DataFlow) -> SubBound:
    """Return the argument with its numbers as formulas."""
    context, part = flow.program.context, item.argument.parts[0]
    size = count_formula(card(part.domain, context))
    sources = sympy.Add(*(most_formula(found, context) for found in sets_of(item.argument.sources)))
    W = count_formula(card(item.width, context))
    T = S + 2 * W
    K = S + T
    value = T * sympy.floor(W * size / (S + 2 * W) ** 2, evaluate=False) - sources
    iterators = flow.program.by_name[part.statement].iterators
    columns, places = (", ".join(iterators[at] for at in group) for group in (item.columns, item.places))
    steps = (
        *facts_of(item.argument, flow),
        (
            f"Steps are along {iterators[item.time]}, columns the values of {columns}, places those of {places}: D is "
            f"a product of {W} places and of pairs of step and column; a column in two steps is in all between."
        ),
        (
            "Every instance is an ancestor of all instances of its column one step later: this relation lies inside of "
            "the ancestors composed from the flows of the program."
        ),
        "Lemma (hourglass), with phi0 for the chain and phi1 for the broadcast: |P| <= U = (K + 2 W)^2 / (4 W).",
        f"Any T will do; chosen: T = {T}, K = {K}, so that U = (S + 2 W)^2 / W.",
        "Lemma (segments): value = T floor(|D|/U) - sources.",
    )
    facts = {"|D|": size, "W": W, "K": K, "T": T, "sources": sources}
    neck = {
        "time": item.time,
        "stride": item.stride,
        "places": list(item.places),
        "columns": list(item.columns),
        "width": str(W),
        "ancestors": str(item.ancestors),
    }
    return SubBound(
        "hourglass",
        item.statements,
        set_text(part.domain, flow.program),
        value,
        item.spill,
        set_text(item.spill, flow.program),
        facts,
        steps,
        (SEGMENTS, CUTS, HOURGLASS),
        tuple(replace(found, exponent=None, weight=None) for found in projections_of(item.argument, flow)),
        certificate=hourglass_certificate(item.argument, facts, neck),
    )
