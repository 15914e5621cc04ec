"""K-partition arguments for every statement, and what each is worth as a formula (Olivry et al. 2020, Sec. 4.2)."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, partial

import islpy as isl
import sympy

from shorthaul.affine.bounds.partition.brascamp_lieb import least_sum
from shorthaul.affine.bounds.partition.k_partition import BAND, Partition, partition
from shorthaul.affine.bounds.partition.line_ends import best_beside_ends, with_line_ends
from shorthaul.affine.bounds.partition.partition_steps import lemmas_of, partition_certificate, projections_of, steps_of
from shorthaul.affine.bounds.partition.parts import Ground, Part, box_points, sets_of, thickness, union_of, with_own
from shorthaul.affine.bounds.partition.paths import Path, paths_into
from shorthaul.affine.bounds.partition.windows import Window, few_values, joined, supports, window
from shorthaul.affine.effort import limited, remembered, step, until_out_of_effort
from shorthaul.affine.integer_sets.counting import (
    Cardinality,
    LongFormulaError,
    card,
    count_formula,
    most_formula,
    rational,
)
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.integer_sets.leading_term import S, simplest
from shorthaul.affine.integer_sets.quasi_polynomial import number_at, symbol
from shorthaul.affine.integer_sets.subspaces import Subspace
from shorthaul.affine.proofs.notation import set_text
from shorthaul.affine.proofs.proof import SubBound
from shorthaul.affine.proofs.segments import events_at, least_events
from shorthaul.affine.tuning import (
    CHEAP_STEP,
    COMPARED_ARGUMENTS,
    LEAST_GAIN,
    MOST_ARGUMENTS,
    MOST_CHOSEN,
    MOST_FORMULA_PIECES,
    MOST_PATH_SETS,
    PARTITION_OPERATIONS,
    Regime,
)

_SET = isl.dim_type.set


@dataclass(frozen=True, slots=True)
class Instance:
    """Sizes and a fast memory at which arguments are compared; the bound itself holds for all values.

    Parameters in ``small`` are small against the fast memory.
    """

    regime: Regime
    small: tuple[str, ...] = ()

    def sizes(self, parameters: Sequence[str]) -> dict[str, int]:
        """Return the value of every parameter and of S."""
        values = {name: self.regime.small if name in self.small else self.regime.size for name in parameters}
        return {**values, "S": self.regime.fast_memory}


def instances(small: tuple[str, ...] = (), sets: Iterable[tuple[str, ...]] = ()) -> tuple[Instance, ...]:
    """Return where arguments are compared: S small against every size, and S between a size and its square.

    And for every one of ``sets``, where its parameters are small too.
    """
    more = tuple(Instance(COMPARED_ARGUMENTS[0], tuple(dict.fromkeys((*small, *names)))) for names in sets)
    return *(Instance(regime, small) for regime in COMPARED_ARGUMENTS), *more


@dataclass(frozen=True, slots=True)
class Candidate:
    """A K-partition argument, and at the instances the points of its domains and what windows do to U.

    ``factors`` are relative to those in the argument's own coefficient. ``count`` gives its formulas, None where its
    sets are in too many pieces for a formula anybody reads.
    """

    argument: Partition
    points: tuple[int, ...]
    factors: tuple[float, ...]
    instances: tuple[Instance, ...]
    count: Callable[[], SubBound | None] = field(repr=False, compare=False)

    @property
    def spill(self) -> isl.UnionSet:
        """The vertices whose loads are counted."""
        return self.argument.with_ends

    def worth(self, at: int) -> float:
        """Return what the argument is worth at the instance ``at``, to leading order."""
        power = self.instances[at].regime.fast_memory ** float(1 - self.argument.exponents.sigma)
        return float(self.points[at] * self.argument.coefficient() * power / self.factors[at])

    def most_at(self, sizes: Mapping[str, int]) -> float:
        """Return what the argument is worth at ``sizes`` at most, but for S, whatever the events of a segment.

        Of all T the largest T / U(S + T) is that of the leading term; rounding adds up to S.
        """
        points = sum(_count(part).at(sizes) for part in self.argument.parts)
        factor = self.argument.window_factor(sizes)
        power = sizes["S"] ** float(1 - self.argument.exponents.sigma)
        return float(points * self.argument.coefficient() * power / factor)


def candidate(argument: Partition, flow: DataFlow, where: tuple[Instance, ...]) -> Candidate:
    """Return the argument with the points of its domains at the instances."""
    counts = [_count(part) for part in argument.parts]
    at = [item.sizes(flow.program.parameters) for item in where]
    points = tuple(sum(count.at(sizes) for count in counts) for sizes in at)
    factors = tuple(map(argument.window_factor, at))
    return Candidate(argument, points, factors, where, cache(partial(_formulas, argument, flow)))


def _count(part: Part) -> Cardinality:
    return part.ground.once("count", partial(card, part.domain))


def _formulas(argument: Partition, flow: DataFlow) -> SubBound | None:
    sets = [*(part.domain for part in argument.parts), *sets_of(argument.sources)]
    if sum(item.n_basic_set() for item in sets) > MOST_FORMULA_PIECES * len(argument.parts):
        return None
    try:
        with limited(20 * PARTITION_OPERATIONS):
            return sub_bound(argument, flow)
    except LongFormulaError:
        return None


def by_size(flow: DataFlow, sizes: Mapping[str, int], without: frozenset[str]) -> tuple[list[str], list[str]]:
    """Return the statements, those of most instances at ``sizes`` first, and apart such as are temporaries.

    What reads temporaries sees what they read.
    """
    tried = [item for item in flow.program.statements if item.name not in without]
    ordered = [item.name for item in sorted(tried, key=lambda item: -box_points(item.domain, sizes))]
    passed = set(until_out_of_effort(name for name in ordered if is_temporary(flow, name)))
    return [name for name in ordered if name not in passed], [name for name in ordered if name in passed]


def candidates(
    flow: DataFlow, names: Iterable[str], where: tuple[Instance, ...], *, symmetric: bool
) -> list[Candidate]:
    """Return K-partition arguments for every statement in ``names``, best first; they are remembered."""
    found: list[Candidate] = []
    for name in names:
        made = partial(_of_statement, flow, name, where, symmetric=symmetric)
        found += remembered(flow.known, (candidates, name, symmetric), partial(_listed, made))
    return sorted(found, key=lambda item: -item.worth(0))


def _listed(make: Callable[[], Iterator[Candidate]]) -> list[Candidate]:
    return until_out_of_effort(make())


def is_temporary(flow: DataFlow, name: str) -> bool:
    """True for a statement that reads, and whose values are read by other statements at their own place only."""
    following = flow.out_of(name)
    if not following or not flow.into(name):
        return False
    step(CHEAP_STEP)
    widths = {item.relation.dim(isl.dim_type.in_) == item.relation.dim(isl.dim_type.out) for item in following}
    return widths == {True} and all(item.sink != name and item.relation.is_bijective() for item in following)


def with_ends(found: Iterable[Candidate], flow: DataFlow) -> Iterator[Candidate]:
    """Yield arguments with the ends of lines among their sources."""
    for item in found:
        argument = item.argument
        with suppress(isl.Error), limited(PARTITION_OPERATIONS):
            argument = with_line_ends(argument, flow)
        yield item if argument is item.argument else candidate(argument, flow, item.instances)


def _of_statement(
    flow: DataFlow, statement: str, where: tuple[Instance, ...], *, symmetric: bool
) -> Iterator[Candidate]:
    domain = flow.program.by_name[statement].domain
    dimensions = domain.dim(_SET)
    if dimensions < 2:
        return
    usable = usable_paths(flow, statement)
    yield from _of_paths(flow, statement, usable, where, symmetric=symmetric)
    known: set[tuple[int, ...]] = set()
    with_others = joined(path.kernel for path in usable)
    whole = max((len(path.kernel) for path in usable if path.is_chain), default=0)
    for small in dict.fromkeys(item.small for item in where):
        sizes = Instance(where[0].regime, small).sizes(flow.program.parameters)
        extents = few_values(domain, small)
        # a chain over few values of a longer sum has a source for every few instances
        longer = [
            path
            for path in usable
            if not (path.is_chain and len(path.kernel) < whole and supports(path.kernel) <= extents.keys())
        ]
        for chosen in _choices({at: extent.number.at(sizes) for at, extent in extents.items()}, with_others):
            if chosen not in known:
                known.add(chosen)
                made = partial(window, dimensions=dimensions, extents=extents, sizes=sizes)
                paths = [_with_window(path, made, chosen, {*chosen} - with_others) for path in longer]
                yield from _of_paths(flow, statement, paths, where, symmetric=False)


def _with_window(path: Path, make: Callable[..., Window | None], chosen: Collection[int], alone: set[int]) -> Path:
    """Return a path with its window, on coordinates that its kernel joins with others, and on those ``alone``.

    A chain along these would have a source for every few instances.
    """
    told = [at for at in chosen if at in joined([path.kernel]) or (at in alone and not path.is_chain)]
    return replace(path, window=make(path.kernel, chosen=told))


def _choices(values: Mapping[int, float], with_others: Collection[int]) -> Iterator[tuple[int, ...]]:
    """Yield choices of coordinates by their numbers of values: those over which nothing is reused only cost a factor.

    Of many these are the ones that a projection joins with others, and of them those with the fewest values.

    >>> list(_choices({1: 16, 4: 3}, ())), list(_choices({0: 8, 1: 64, 2: 2, 5: 3, 6: 3}, (1, 5, 6)))[:2]
    ([(1, 4), (1,), (4,)], [(5,), (5, 6)])
    """
    if len(values) <= MOST_CHOSEN:
        for size in range(len(values), 0, -1):
            yield from itertools.combinations(sorted(values), size)
        return
    ascending = sorted(values, key=lambda at: (at not in with_others, values[at]))
    yield from (tuple(sorted(ascending[:size])) for size in range(1, len(values) + 1))


def _of_paths(
    flow: DataFlow,
    statement: str,
    usable: Sequence[Path],
    where: tuple[Instance, ...],
    *,
    symmetric: bool,
) -> list[Candidate]:
    """Return the arguments by sets of paths whose exponents have the least sum, best first."""
    domain = flow.program.by_name[statement].domain
    dimensions = domain.dim(_SET)
    order = tuple(range(dimensions))
    chosen = []
    known: dict[tuple[Subspace, ...], Fraction | None] = {}
    for subset in _subsets(usable, dimensions, symmetric=symmetric):
        kernels = tuple(path.classes for path in subset)
        if kernels not in known:
            step()
            known[kernels] = least_sum(kernels, dimensions)
            plain = tuple(path.kernel for path in subset)
            if plain != kernels and known[kernels] == least_sum(plain, dimensions):
                known[kernels] = None  # windows leave nothing to the others
        sigma = known[kernels]
        if sigma is not None and sigma > 1:
            chosen.append((sigma, subset))
    if not chosen:
        return []
    least = min(sigma for sigma, _ in chosen)
    found: list[Candidate] = []
    grounds: dict[frozenset[str], Ground | None] = {}
    alike: Counter[frozenset[Subspace]] = Counter()
    for sigma, subset in sorted(chosen, key=lambda item: (item[0], len(item[1])))[:MOST_PATH_SETS]:
        if sigma > least:
            break
        spaces = frozenset(path.classes for path in subset)
        if alike[spaces] >= MOST_ARGUMENTS:  # what more paths of these tell, all of them do
            continue
        domains = frozenset(str(path.domain) for path in subset)
        if domains not in grounds:
            common = domain
            for path in subset:
                common = common.intersect(path.domain)
            grounds[domains] = Ground(common.coalesce()) if thickness(common) == dimensions else None
        ground = grounds[domains]
        if ground is not None:
            whole = Part(statement, ground.domain, subset, order, ground=ground)
            made = partial(_of_part, whole, flow, where, symmetric=symmetric)
            several = remembered(flow.known, (_of_part, subset, symmetric), partial(_listed, made))
            found += several
            alike[spaces] += len(several)
    found.sort(key=lambda item: -item.worth(0))
    found.extend(until_out_of_effort(_widened(found, usable, flow, where)))
    found.sort(key=lambda item: -item.worth(0))
    return found[:MOST_ARGUMENTS]


def _widened(
    found: Sequence[Candidate], usable: Sequence[Path], flow: DataFlow, where: tuple[Instance, ...]
) -> Iterator[Candidate]:
    """Yield the best argument with all paths of its projections, if it is worth more.

    A place of a projection costs a word for each of them, as a body with three coordinates and a mass.
    """
    plain = (item for item in found if item.argument.symmetry is None and not item.argument.parts[0].own)
    for item in itertools.islice(plain, 1):
        part = item.argument.parts[0]
        kernels = {path.classes for path in part.paths}
        paths = tuple(path for path in usable if path.classes in kernels)
        common = part.domain
        for path in paths:
            common = common.intersect(path.domain)
        if len(paths) > len(part.paths) and thickness(common) == len(part.order):
            whole = Part(part.statement, common.coalesce(), paths, part.order)
            made = _of_part(whole, flow, where, symmetric=False)
            yield from (one for one in made if one.worth(0) > LEAST_GAIN * item.worth(0))


def _of_part(whole: Part, flow: DataFlow, where: tuple[Instance, ...], *, symmetric: bool) -> Iterator[Candidate]:
    """Yield the argument on a part, and the one without own vertices of instances if that is better."""
    best = 0.0
    for has_own in (False, True):
        try:
            with limited(PARTITION_OPERATIONS):
                part = with_own([whole])[0] if has_own else whole
                if has_own and not part.own:
                    return
                argument = partition([part], isl.UnionSet("{ }"), symmetric=symmetric)
            made = None if argument is None else candidate(argument, flow, where)
        except isl.Error:
            continue
        if made is not None and made.worth(0) > best:
            best = LEAST_GAIN * made.worth(0)
            yield made


def usable_paths(flow: DataFlow, statement: str) -> tuple[Path, ...]:
    """Return up to ten paths into a statement of full domain and a kernel that leaves something; found once.

    These are two chains and four broadcasts of each kernel.
    """
    key = usable_paths, statement
    if key not in flow.known:
        dimensions = flow.program.by_name[statement].domain.dim(_SET)
        flow.known[key] = tuple(_usable(paths_into(flow, statement), dimensions)) if dimensions > 1 else ()
    found: tuple[Path, ...] = flow.known[key]
    return found


def _usable(paths: Sequence[Path], dimensions: int) -> list[Path]:
    kept: list[Path] = []
    for path in paths:
        step(CHEAP_STEP)
        if len(path.kernel) < dimensions and thickness(path.domain) == dimensions:
            alike = [item for item in kept if item.kernel == path.kernel and item.is_chain == path.is_chain]
            known = any(item.levels[-1] == path.levels[-1] for item in alike)  # by another way to the same vertices
            if len(alike) < (2 if path.is_chain else 4) and not known:
                kept.append(path)
    return kept[:10]


def _subsets(paths: Sequence[Path], dimensions: int, *, symmetric: bool) -> Iterable[tuple[Path, ...]]:
    for size in range(2, max(3, dimensions) + 1):
        yield from itertools.combinations(paths, size)
    broadcasts = [path for path in paths if not path.is_chain]
    if symmetric and 4 <= len(broadcasts) <= 6:
        for path in paths:
            if path.is_chain:
                for four in itertools.combinations(broadcasts, 4):
                    yield (path, *four)


def sub_bound(argument: Partition, flow: DataFlow, events: int | None = None) -> SubBound:
    """Return the argument with its numbers as formulas, valid for all values of the parameters.

    ``events`` are those of a segment; without them a multiple of S.
    """
    context = flow.program.context
    domain = [card(part.domain, context) for part in argument.parts]
    size = sympy.Add(*(count_formula(item) for item in domain))
    sources = sympy.Add(*(most_formula(item, context) for item in sets_of(argument.sources)))
    exponents = argument.exponents
    sigma = exponents.sigma
    ratio = max(1, round(1 / (sigma - 1)))
    T = ratio * S if events is None else sympy.Integer(events)
    K = S + T
    U = (K / rational(sigma)) ** rational(sigma)
    for base, exponent in exponents.powers():
        U *= rational(base) ** rational(exponent)
    if argument.symmetry is not None:
        U /= sympy.sqrt(2)
    for one, s in argument.windows():
        U *= (one.points / one.typical) ** rational(s)
    U = sympy.powsimp(sympy.expand_power_base(simplest(U), force=True))
    U += argument.times_own * K
    value = least_events(size / U, T) - sources
    facts = {"|D|": size, "K": K, "T": T, "U": U, "sources": sources}
    if argument.far:
        width = sympy.ceiling(9 * sympy.sqrt(K / 3) / 4)
        most = (K / 3) ** sympy.Rational(3, 2) + (K if argument.has_own else 0)
        weight = _weight(argument, size, flow).subs(symbol(BAND), width)
        value = T * sympy.floor(weight / most, evaluate=False) - sources
        facts |= {"U": 2 * most / sympy.sqrt(3), "w": width, "weight of D": weight, "W": most}
    method = "K-partition" if argument.symmetry is None else "K-partition, symmetric Loomis-Whitney"
    if len(argument.parts) > 1:
        method += ", statements merged" if len({part.statement for part in argument.parts}) > 1 else ", pieces merged"
    return SubBound(
        method,
        tuple(part.statement for part in argument.parts),
        "; ".join(set_text(part.domain, flow.program) for part in argument.parts),
        value,
        argument.spill,
        set_text(argument.spill, flow.program),
        facts,
        steps_of(argument, flow, K, T, U),
        lemmas_of(argument),
        projections_of(argument, flow),
        union_of(part.domain for part in argument.parts),
        argument.sources,
        partition_certificate(argument, facts),
        None if events is not None or argument.far else partial(_tuned, argument, flow, facts, value),
    )


def _tuned(
    argument: Partition, flow: DataFlow, facts: Mapping[str, sympy.Expr], value: sympy.Expr, sizes: Mapping[str, int]
) -> SubBound | None:
    """Return the argument with the best number of events at ``sizes``, None if that is hardly better."""
    size, sources, K, U = (number_at(facts[name], sizes) for name in ("|D|", "sources", "K", "U"))
    sigma = float(argument.exponents.sigma)
    own = argument.times_own * K
    U -= own

    def worth(events: int) -> float:
        more = (sizes["S"] + events) / K
        return events_at(size / (U * more**sigma + own * more), events, sizes["S"]) - sources

    events = best_events(worth, sizes["S"])
    least = max(0.0, number_at(value, sizes)) * LEAST_GAIN
    beside_ends = best_beside_ends(argument, flow, sizes, max(worth(events), least))
    if beside_ends is not None or worth(events) <= least:
        return beside_ends
    return sub_bound(argument, flow, events)


def best_events(worth: Callable[[int], float], capacity: int) -> int:
    """Return a number of events of a segment that is worth most, for a fast memory of ``capacity`` words."""
    coarse = [max(1, round(capacity * 2 ** (at / 2))) for at in range(-16, 9)]
    first = max(coarse, key=worth)
    fine = [max(1, round(first * (1 + at / 100))) for at in range(-40, 41)]
    return max([first, *fine], key=worth)


def _weight(argument: Partition, size: sympy.Expr, flow: DataFlow) -> sympy.Expr:
    """Return the weight of all instances, those that are not ``far`` with sqrt(3)/2."""
    far = sympy.Add(*(count_formula(card(item, flow.program.context)) for item in argument.far))
    return far + (size - far) * sympy.sqrt(3) / 2
