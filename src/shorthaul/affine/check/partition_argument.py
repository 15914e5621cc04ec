"""A K-partition argument, verified from its certificate: for all sizes by isl, at some sizes point by point.

What has to hold is that of the lemmas on segments and cuts: every path follows reads; a vertex of a family is on paths
of one class only; chains lead back along their class or to a source; families that are added have disjoint vertices;
and the inequality for the numbers of classes, in exact fractions.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import islpy as isl

from shorthaul.affine.check.data_flow import OnDomain, Reads, empty_map, union_of_maps, union_of_sets
from shorthaul.affine.check.formulas import Number, combined, power, value_of
from shorthaul.affine.check.subspaces import Space, across, meeting, spanned, unmet
from shorthaul.core.errors import InputError


@dataclass(frozen=True)
class Part(OnDomain):
    """Instances of one statement, and per family the functions from them to the vertices of its path.

    Vertices of the statements ``own`` are on the paths of one instance each.
    """

    statement: str
    domain: isl.Set
    order: tuple[int, ...]
    families: tuple[tuple[isl.UnionMap, ...], ...]
    chains: tuple[bool, ...]
    own: frozenset[str]

    @cached_property
    def levels(self) -> tuple[tuple[isl.UnionMap, ...], ...]:
        """The families without levels of own vertices."""
        return tuple(
            (*(level for level in levels[:-1] if not _names(level.range()) <= self.own), levels[-1])
            for levels in self.families
        )

    @cached_property
    def inner(self) -> isl.UnionMap:
        """Own vertex -> the instances on whose paths it is, not at their ends."""
        found = empty_map()
        for level in itertools.chain.from_iterable(levels[:-1] for levels in self.families):
            for item in _sets(level.range()):
                if item.get_tuple_name() in self.own:
                    found = found.union(level.intersect_range(isl.UnionSet.from_set(item)).reverse())
        return found

    @property
    def has_own_on_chains(self) -> bool:
        """True if a path of a chain has own vertices."""
        pairs = zip(self.chains, self.families, strict=True)
        return any(chain and _names(level.range()) & self.own for chain, levels in pairs for level in levels[:-1])

    def vertices(self, family: int) -> isl.UnionSet:
        """Return every vertex of the family's paths."""
        return union_of_sets(level.range() for level in self.levels[family])

    def placed(self, rows: Sequence[Sequence[int]]) -> isl.UnionMap:
        """Return instance -> the rows' values at its place in the common space."""
        names = [f"c{at}" for at in range(len(self.order))]
        by_dimension = [f"c{self.order.index(at)}" for at in range(len(self.order))]
        values = [" + ".join(f"{factor}*{name}" for factor, name in zip(row, names, strict=True)) for row in rows]
        text = f"{{ {self.statement}[{', '.join(by_dimension)}] -> [{', '.join(values)}] }}"
        return isl.UnionMap.read_from_str(isl.DEFAULT_CONTEXT, text).intersect_domain(self.points)


@dataclass(frozen=True)
class Argument:
    """The certificate of one K-partition argument, read."""

    parts: tuple[Part, ...]
    kernels: tuple[Space, ...]
    folds: tuple[int, ...]
    moved: int | None
    sources: isl.UnionSet
    spill: isl.UnionSet
    ends: isl.UnionMap  #: sources that no event is for, with ends of lines that they are or read
    windows: tuple[tuple[Space, str] | None, ...]  #: finer kernels, and in how many of their classes one class is
    given: Mapping[str, Any]

    @property
    def width(self) -> int:
        """The number of coordinates."""
        return len(self.parts[0].order)

    @cached_property
    def chains(self) -> tuple[bool, ...]:
        """Whether a family consists of chains, in some part at least."""
        return tuple(map(any, zip(*(part.chains for part in self.parts), strict=True)))

    @property
    def is_mixed(self) -> bool:
        """True if a family consists of chains in one part and of broadcasts in another one."""
        return any(part.chains != self.chains for part in self.parts)

    def vertices(self, family: int) -> isl.UnionSet:
        """Return every vertex of the family's paths in all parts."""
        return union_of_sets(part.vertices(family) for part in self.parts)

    def classes(self, family: int) -> Space:
        """Return rows whose values tell the classes of a family apart."""
        return across(self.kernels[family], self.width)

    def finer(self, family: int) -> Space:
        """Return the kernel of the projection whose classes are counted."""
        window = self.windows[family]
        return self.kernels[family] if window is None else window[0]

    def told_apart(self, family: int, sizes: Mapping[str, int]) -> Number:
        """Return in how many classes of the finer projection those of a class of the family are."""
        window = self.windows[family]
        return Fraction(1) if window is None else value_of(window[1], sizes)

    @cached_property
    def inner(self) -> isl.UnionMap:
        """Own vertex -> the instances on whose paths it is."""
        return union_of_maps(part.inner for part in self.parts)

    @cached_property
    def times_own(self) -> int:
        """Of how many instances an own vertex may be: one, or one of each part; 0 if there are none."""
        if not self.parts[0].own:
            return 0
        return 1 if self.inner.is_single_valued() else len(self.parts)

    def has_classes_apart(self, family: int) -> bool:
        """True if parts are moved apart so that none has a class of another one, and they share vertices."""
        if self.moved is None:
            return False
        row = [int(at == self.moved) for at in range(self.width)]
        return spanned([*self.finer(family), row]) != self.finer(family) and self._have_common(family)

    def _have_common(self, family: int) -> bool:
        own = [part.vertices(family) for part in self.parts]
        return any(not a.intersect(b).is_empty() for a, b in itertools.combinations(own, 2))


def argument_of(given: Mapping[str, Any], reads: Reads) -> Argument:
    """Return the argument in a certificate; raises :class:`InputError` where it does not fit the graph."""
    try:
        own = frozenset(map(str, given["own"]))
        parts = tuple(_part(item, given["chains"], own, reads) for item in given["parts"])
        kernels = tuple(spanned([[int(value) for value in row] for row in rows]) for rows in given["kernels"])
        made = Argument(
            parts,
            kernels,
            tuple(int(item) for item in given["folds"]),
            None if given["moved"] is None else int(given["moved"]),
            isl.UnionSet(str(given["sources"])),
            isl.UnionSet(str(given["spill"])),
            _ends(given.get("ends"), len(parts[0].order)),
            tuple(map(_window, given.get("windows", [None] * len(kernels)))),
            given,
        )
    except (KeyError, TypeError, ValueError, AttributeError, isl.Error) as error:
        raise InputError(f"is no certificate of a K-partition: {error}"[:200], place="part") from None
    count, width = len(made.parts[0].chains), made.width
    alike = all(len(part.families) == len(part.chains) == count and len(part.order) == width for part in parts)
    rows = all(len(row) == width for space in given["kernels"] for row in space)
    if [list(map(list, space)) for space in kernels] != given["kernels"]:
        raise InputError("must be in reduced echelon form, without common factors", place="kernels")
    alike = alike and len(made.windows) == len(made.folds) == len(kernels) == count
    if not (alike and rows and made.moved in {None, *range(width)}):
        raise InputError("does not have as many families or coordinates everywhere", place="part")
    return made


def _ends(given: Mapping[str, Any] | None, width: int) -> isl.UnionMap:
    if given is None:
        return empty_map()
    if not isinstance(given["price"], int) or given["price"] < 0 or any(len(row) != width for row in given["slices"]):
        raise ValueError("the price of an end is no whole number, or a slice not told by all coordinates")
    return isl.UnionMap(str(given["relation"]))


def _window(given: Mapping[str, Any] | None) -> tuple[Space, str] | None:
    if given is None:
        return None
    return spanned([[int(value) for value in row] for row in given["kernel"]]), str(given["points"])


def _part(given: Mapping[str, Any], chains: Sequence[Any], own: frozenset[str], reads: Reads) -> Part:
    name, domain, order = str(given["statement"]), isl.Set(str(given["domain"])), tuple(map(int, given["order"]))
    whole = reads.domains[name]
    if sorted(order) != list(range(len(order))) or domain.dim(isl.dim_type.set) != len(order):
        raise ValueError("the order is no permutation of the loops")
    if domain.get_tuple_name() != name or not domain.is_subset(whole):
        raise ValueError(f"the domain has instances that {name} has not")
    families = tuple(tuple(isl.UnionMap(str(level)) for level in item) for item in given["families"])
    return Part(name, domain, order, families, tuple(map(bool, given.get("chains", chains))), own)


def wrong_for_all_sizes(item: Argument, reads: Reads) -> Iterator[str]:
    """Yield what does not hold of the sets and relations of an argument, as isl sees it."""
    for part, family in itertools.product(item.parts, range(len(item.chains))):
        yield from wrong_path(item, part, family, reads)
    for family in range(len(item.chains)):
        yield from _wrong_classes(item, family)
        chained = [part for part in item.parts if part.chains[family]]
        goes_on = [not part.families[family][-1].intersect_range(part.points).is_empty() for part in chained]
        if chained and not (all(goes_on) if item.is_mixed else any(goes_on)):
            yield f"family {family}: what is called a chain never goes on from one instance to the next"
    yield from _wrong_places(item)
    needed = _needed_sources(item)
    everything = item.vertices(0)
    for family in range(1, len(item.chains)):
        everything = everything.union(item.vertices(family))
    kept = item.inner
    everything = everything.union(kept.domain()).union(item.ends.range())
    if item.times_own > 1 and any(not part.inner.is_single_valued() or part.has_own_on_chains for part in item.parts):
        yield "an own vertex is on the paths of two instances"
    counted = union_of_sets(part.points for part in item.parts)
    if not kept.domain().intersect(item.sources.union(needed).union(counted)).is_empty():
        yield "an own vertex is a source, or an instance that is counted"
    if not needed.is_subset(item.sources.union(item.ends.domain())):
        yield "a path ends at a vertex that is not among the sources"
    if not everything.is_subset(item.spill.union(item.sources)) or not item.spill.is_subset(everything):
        yield "the may-spill set is not that of the vertices of the paths"
    if not item.spill.intersect(reads.inputs).is_subset(item.sources):
        yield "an input of the may-spill set is not among the sources"
    yield from _wrong_stand_ins(item)
    for one, other in _to_be_apart(item):
        if not item.vertices(one).intersect(item.vertices(other)).is_empty():
            yield f"families {one} and {other} have common vertices"


def wrong_path(item: Argument, part: Part, family: int, reads: Reads) -> Iterator[str]:
    """Yield where a path does not follow reads from an instance of the domain to its source."""
    place = f"family {family} of {part.statement}"
    levels = part.families[family]
    before = part.points.identity()
    for number, level in enumerate(levels):
        if not level.is_single_valued() or not level.domain().is_equal(part.points):
            yield f"{place}: level {number} is no function on the domain"
        pairs = before.reverse().apply_range(level)
        if part.chains[family] and len(levels) == 1:
            pairs = pairs.subtract(part.points.identity())  # a chain that begins with its own first vertex
        allowed = empty_map()
        for name in sorted({one.get_tuple_name() for one in _sets(pairs.domain())}):
            if name not in reads.domains:
                yield f"{place}: level {number} goes on from an input"
                return
            allowed = allowed.union(reads.of(name))
        if not pairs.is_subset(allowed):
            yield f"{place}: level {number} is not what is read there"
        before = level
    if part.chains[family]:
        # Lemma on cuts, for an instance whose chain leads to a source in another class: if the stretch computes that
        # source, this is an event and the source is the cut, else the source was in memory or is loaded. It is on
        # paths of one class only (verified below), so it stands for no other class.
        back = levels[-1].intersect_range(part.points.subtract(item.sources)).subtract(part.points.identity())
        classes = part.placed(item.classes(family))
        if not back.is_subset(classes.apply_range(classes.reverse())):
            yield f"{place}: a chain leads into another class"


def _names(points: isl.UnionSet) -> set[str]:
    return {item.get_tuple_name() for item in _sets(points)}


def _sets(points: isl.UnionSet) -> list[isl.Set]:
    found: list[isl.Set] = []
    points.foreach_set(found.append)
    return found


def _wrong_classes(item: Argument, family: int) -> Iterator[str]:
    """Yield where a vertex is on paths of more classes than the fold says."""
    together = empty_map()
    for part in item.parts:
        classes = part.placed(item.classes(family))
        own = union_of_maps(level.reverse().apply_range(classes) for level in part.levels[family])
        if not own.is_single_valued():
            yield f"family {family}: a vertex is on paths of two classes of {part.statement}"
        together = together.union(own)
    single = bool(together.is_single_valued()) and not item.has_classes_apart(family)
    if item.folds[family] != (1 if single else len(item.parts)) or (item.chains[family] and not single):
        yield f"family {family}: a vertex is in more classes, or fewer, than the fold says"


def _wrong_places(item: Argument) -> Iterator[str]:
    """Yield where parts meet in the common space, or are moved apart without need."""
    unit = [[int(a == b) for b in range(item.width)] for a in range(item.width)]
    images = [part.placed(unit).range() for part in item.parts]
    meet = any(not a.intersect(b).is_empty() for a, b in itertools.combinations(images, 2))
    if meet != (item.moved is not None):
        yield "parts meet in the common space, or are moved apart without need"


def _needed_sources(item: Argument) -> isl.UnionSet:
    """Return where paths end: broadcasts, and chains that leave their class and domain."""
    found = isl.UnionSet("{ }")
    for part, family in itertools.product(item.parts, range(len(item.chains))):
        last = part.families[family][-1]
        if part.chains[family]:
            last = last.subtract(last.intersect_range(part.points).subtract(part.points.identity()))
        found = found.union(last.range())
    return found


def _starting(item: Argument, spare: isl.UnionSet) -> list[tuple[int, isl.UnionMap]]:
    """Return family, instance -> source for the sources outside of the may-spill set."""
    found = []
    for part, family in itertools.product(item.parts, range(len(item.chains))):
        for level in part.families[family]:
            leading = level.intersect_range(spare)
            if not leading.is_empty():
                found.append((family, leading))
    return found


def _wrong_stand_ins(item: Argument) -> Iterator[str]:
    """Yield where the instance computed in place of a source, which is not in the may-spill set, is not its own."""
    leading = _starting(item, item.sources.subtract(item.spill))
    named = isl.UnionSet("{ }")
    for family, relation in leading:
        chain = item.chains[family] and all(len(part.families[family]) == 1 for part in item.parts)
        first = relation.domain()
        others = [other for other, _ in leading if other != family]
        if not chain or not relation.is_injective() or not named.intersect(first).is_empty() or len(item.parts) > 1:
            yield f"family {family}: no instance stands for one source alone"
        elif others and not all(
            relation.range().intersect(one.range()).is_empty() for at, one in leading if at != family
        ):
            yield f"family {family}: a source that another family has too is left out"
        for other in range(len(item.chains)):
            if other != family and not item.vertices(other).intersect(first).is_empty():
                yield f"family {family}: an instance that stands for a source is a vertex of family {other}"
        named = named.union(first)


def _to_be_apart(item: Argument) -> list[tuple[int, int]]:
    """Return the pairs of families that need disjoint vertices."""
    symmetry = item.given["symmetry"]
    if symmetry is None:
        cliques = [list(map(int, clique)) for clique in item.given["cliques"]]
        return sorted({pair for clique in cliques for pair in itertools.combinations(sorted(clique), 2)})
    groups = [[int(symmetry["chain"])], *(list(map(int, pair)) for pair in symmetry["pairs"])]
    return [(a, b) for one, other in itertools.combinations(groups, 2) for a in one for b in other]


# -- the numbers


def wrong_numbers(item: Argument) -> Iterator[str]:
    """Yield what does not hold of windows, exponents and weights."""
    if any(item.windows) and any(item.given.get(name) for name in ("symmetry", "mirrored", "hourglass", "ends")):
        yield "windows go with exponents only"
    for family, space in enumerate(item.kernels):
        if spanned([*space, *item.finer(family)]) != space:
            yield f"family {family}: the window's projection does not tell all classes apart"
    if item.given["symmetry"] is not None:
        yield from _wrong_symmetry(item)
        return
    exponents = list(map(Fraction, item.given["exponents"]))
    problem = unmet([item.finer(family) for family in range(len(item.chains))], exponents, item.width)
    if problem is not None:
        yield problem
    shares = [Fraction(share) for share in item.given["shares"]]
    if sum(shares) != 1 or any(share < 0 for share in shares) or len(shares) != len(item.given["cliques"]):
        yield "the shares of the inequalities are no weights of sum 1"
    if len(exponents) != len(item.chains) or sum(exponents) <= 1:
        yield "the exponents add up to 1 or less"


def _wrong_symmetry(item: Argument) -> Iterator[str]:
    """Yield where two reads of one set of vertices are not mirrored."""
    symmetry = item.given["symmetry"]
    chain, pairs = int(symmetry["chain"]), [tuple(map(int, pair)) for pair in symmetry["pairs"]]
    part = item.parts[0]
    if len(item.parts) > 1 or any(fold != 1 for fold in item.folds) or any(len(levels) > 1 for levels in part.levels):
        yield "mirrored reads need one statement and direct reads"
        return
    sums = {spanned([*item.kernels[a], *item.kernels[b]]) for a, b in pairs}
    if len(sums) != 1 or item.chains[pairs[0][0]]:
        yield "the pairs do not have the same slices"
        return
    (together,) = sums
    if meeting(together, item.kernels[chain], item.width):
        yield "the chain is not one-to-one on slices"
    slices = part.placed(across(together, item.width))
    same = slices.apply_range(slices.reverse())
    for a, b in pairs:
        if meeting(item.kernels[a], item.kernels[b], item.width):
            yield f"families {a} and {b} do not determine an instance"
        crossed = part.levels[a][0].apply_range(part.levels[b][0].reverse())
        if not crossed.intersect(crossed.reverse()).is_empty():
            yield f"two instances read the same pair of vertices as families {a} and {b}"
        if not crossed.is_subset(same):
            yield f"families {a} and {b} read one vertex in two slices"


def most_instances(item: Argument, sizes: Mapping[str, int], events: Fraction) -> Number:
    """Return U: the most instances in one segment of so many events."""
    K: Number = sizes["S"] + events
    most = _most_without_own(item, sizes, K)
    return combined(ast.Add, most, combined(ast.Mult, Fraction(item.times_own), K))


def _most_without_own(item: Argument, sizes: Mapping[str, int], K: Number) -> Number:
    """Return the most instances of which no own vertex is a cut, for K vertices."""
    symmetry = item.given["symmetry"]
    if symmetry is not None:
        part = combined(ast.Div, K, Fraction(3))
        root = combined(ast.Mult, power(part, Fraction(3, 2)), power(Fraction(2), Fraction(1, 2)))
        return combined(ast.Div, root, Fraction(len(symmetry["pairs"])))
    exponents = [Fraction(value) for value in item.given["exponents"]]
    sigma = sum(exponents, Fraction(0))
    U = power(combined(ast.Div, K, sigma), sigma)
    for family, s in enumerate(exponents):
        shares = zip(item.given["shares"], item.given["cliques"], strict=True)
        added = sum((Fraction(share) for share, clique in shares if family in clique), Fraction(0))
        weight = combined(ast.Div, added / item.folds[family], item.told_apart(family, sizes))
        if s and not weight:
            raise InputError("gives a weight of 0 to a family with an exponent", place="shares")
        if s:
            U = combined(ast.Mult, U, power(combined(ast.Div, s, weight), s))
    return U
