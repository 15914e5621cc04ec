"""K-partition bounds: how many instances one segment of a schedule can compute (Olivry et al. 2020, Sec. 5, corrected).

The argument, for instances D (of one statement, or of several put into one space) and families of paths that end there.
A schedule is cut into segments of T *events*: a load of a vertex of the may-spill set L, or the computation of a source
(below). Let P be the instances of D that one segment computes. Walk back from p in P along a path of family q; the
first vertex that the segment does not compute was in fast memory at its start or is loaded in it; call it the cut.

* Broadcast: if the whole path, source included, is computed in the segment, the source is an event and is its own cut.
* Chain: take the first p of P on its line. Its predecessor p - delta is not computed in the segment, or it is a source.
  Where the first operands of chains are on other paths as well, the first vertex of a line is its own source.

A cut belongs to one class of the projection only (checked: every level of a family determines the class), so at least
|phi_q(P)| cuts exist, and over families whose vertex sets are disjoint at most S + T in all. Hence |P| <= U(S + T) and

    loads of L  >=  T floor(|D| / U) - |sources|,

or, as the first segment begins with an empty memory and may have S + T events, S + T (ceil(|D| / U) - 1) - |sources|,
where inputs are counted as sources and their compulsory load is added once, elsewhere: a bound of this form holds for
the loads of L beyond the first load of each input. A source that starts one line of a chain and is on no other path
is charged to the computation of that line's first instance, and is not in L.

*Own vertices.* A vertex that is no source and on the paths of one instance only, as the temporary t in t = a b; c += t,
may be on all of its paths. Let B be the instances of P of which such a vertex is a cut: as many at most as there are
such cuts. The cuts of P' = P - B are others; where the predecessor of p in P' on a chain is in B, the own cut of that
one stands for it (and likewise for every later run of consecutive instances of P' on the line). So P' has at most S + T
cuts, |B| <= S + T, and |P| <= U(S + T) + S + T. Of m parts that share temporaries, as three sums of forces share a
distance, an own vertex may be of one instance each, if it is on no chain: then |B| <= m (S + T), and the first instance
of P on a line of a chain has a cut that is no own vertex, so that P' has S + T cuts at most as well.

*Parts that meet* are moved apart along a coordinate. Classes of a family whose kernel has this direction stay what they
are; with any other kernel the parts have different classes, and a vertex that m parts share is in m classes at most.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import islpy as isl
import sympy

from shorthaul.affine.bounds.partition.brascamp_lieb import Exponents, best_exponents
from shorthaul.affine.bounds.partition.parts import (
    Part,
    goes_on,
    sets_of,
    sources_and_spill,
    thickness,
    times_own,
    united,
    vertices_of,
    with_own,
)
from shorthaul.affine.bounds.partition.windows import Window
from shorthaul.affine.effort import step
from shorthaul.affine.integer_sets.counting import rational
from shorthaul.affine.integer_sets.subspaces import Subspace, kernel, span, unit
from shorthaul.affine.tuning import CHEAP_STEP

#: The parameter that stands for the width of the band in which instances count less (see ``symmetric_reads``).
BAND = "x_band"


@dataclass(frozen=True, slots=True)
class Symmetry:
    """Two families that read one set of vertices through mirrored projections; ``groups`` such pairs, disjoint."""

    chain: int
    pairs: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class LineEnds:
    """Sources -> the ends of lines that they are or read; rows whose values, in order, tell slices."""

    relation: isl.UnionMap
    slices: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Partition:
    """A K-partition argument, ready to be counted.

    ``kernels`` are those of the families in the common space, ``folds`` by how many classes one vertex may be shared
    (where there is a window, of the projection without it),
    ``cliques`` the sets of families with disjoint vertices.
    ``sources`` and ``spill`` are the sets of the argument. Own vertices are of ``times_own`` instances at most.
    ``moved`` is a coordinate along which parts that meet are moved apart. A family of which two parts have common
    vertices has it in its kernel, or is of broadcasts, with a class in every part for each of these vertices.
    Where the instances ``far`` are given, these have weight 1 and all others weight sqrt(3)/2 (see
    ``symmetric_reads``). ``ends`` are those of lines among the sources (see ``line_ends``).
    """

    parts: tuple[Part, ...]
    kernels: tuple[Subspace, ...]
    folds: tuple[int, ...]
    cliques: tuple[tuple[int, ...], ...]
    exponents: Exponents
    sources: isl.UnionSet
    spill: isl.UnionSet
    symmetry: Symmetry | None = None
    far: tuple[isl.Set, ...] = ()
    moved: int | None = None
    ends: LineEnds | None = None
    times_own: int = 0

    @property
    def has_own(self) -> bool:
        """True if instances have own vertices, so that ``times_own`` K more of them are in a segment at most."""
        return self.times_own > 0

    @property
    def with_ends(self) -> isl.UnionSet:
        """The may-spill set, with the ends of lines that sources read."""
        return self.spill if self.ends is None else self.spill.union(self.ends.relation.range()).coalesce()

    @property
    def dimensions(self) -> int:
        """The number of coordinates of the common space."""
        return len(self.parts[0].order)

    @property
    def has_windows(self) -> bool:
        """True if a family has a window."""
        return any(path.window is not None for path in self.parts[0].paths)

    def windows(self) -> Iterator[tuple[Window, Fraction]]:
        """Yield the windows of families with their exponents, if these are not 0."""
        for path, s in zip(self.parts[0].paths, self.exponents.s, strict=True):
            if path.window is not None and s:
                yield path.window, s

    def weights(self) -> tuple[sympy.Expr, ...]:
        """Return the weights of the families in the sum of their classes, as formulas."""
        paths = self.parts[0].paths
        return tuple(
            rational(beta) if path.window is None else rational(beta * path.window.typical) / path.window.points
            for path, beta in zip(paths, self.exponents.beta, strict=True)
        )

    def window_factor(self, sizes: Mapping[str, int]) -> float:
        """Return how many times U is at ``sizes`` what it is for typical windows."""
        return float(math.prod(one.factor(sizes) ** float(s) for one, s in self.windows()))

    def coefficient(self) -> float:
        """Return c such that the bound behaves like c |D| / S^(sigma - 1) where windows are typical."""
        factor = 2**0.5 if self.symmetry is not None or self.far else 1.0
        return self.exponents.coefficient() * factor


def partition(
    parts: Sequence[Part],
    forbidden: isl.UnionSet,
    *,
    symmetric: bool,
    along: int | None = None,
) -> Partition | None:
    """Return the argument for ``parts`` with vertices outside ``forbidden``, or None if it does not work.

    Domains are trimmed by thin sets where two families would otherwise share vertices. Parts that meet are moved apart,
    where nothing else helps the coordinate ``along``.
    """
    if any(part.own for part in parts):
        parts = with_own(parts)
    count = len(parts[0].paths)
    kernels = tuple(_placed(parts[0], family) for family in range(count))
    if any(_placed(part, family) != kernels[family] for part in parts for family in range(count)):
        return None
    if symmetric and len(parts) == 1:
        parts = (_off_diagonal(parts[0]),)
    trimmed = _trimmed(tuple(_with_own_starts(part) for part in parts), forbidden)
    if trimmed is None or not all(goes_on(trimmed, family) for family in range(count)):
        return None
    moved = None
    if not _disjoint(trimmed):
        trimmed, moved = _moved_apart(trimmed, kernels)
        moved = along if moved is None else moved
        if moved is None:
            return None
    folds = []
    for family in range(count):
        step()
        known = fold(trimmed, family, moved)
        if known is None:
            return None
        folds.append(known)
    vertices = [vertices_of(trimmed, family) for family in range(count)]
    apart = {(a, b) for a, b in itertools.combinations(range(count), 2) if not _meet(trimmed, a, b)}
    cliques = _cliques(count, apart)
    windows = [path.window for path in parts[0].paths]
    typical = [fold if one is None else fold * one.typical for fold, one in zip(folds, windows, strict=True)]
    exponents = best_exponents(kernels, len(parts[0].order), cliques, tuple(typical))
    if exponents is None:
        return None
    sources, kept = sources_and_spill(trimmed, vertices)
    spill = united([kept, *(part.own_vertices for part in trimmed)])
    result = Partition(trimmed, kernels, tuple(folds), cliques, exponents, sources.coalesce(), spill, moved=moved)
    result = replace(result, times_own=times_own(trimmed))
    if symmetric and not any(windows):
        return _symmetric(result, apart) or result
    return result


def _with_own_starts(part: Part) -> Part:
    """Let chains whose first operands are on other paths too begin with their own first vertices instead.

    Then the computation of such a vertex is the event that stands for its line.
    """
    paths = list(part.paths)
    for family, path in enumerate(paths):
        if not path.is_chain or len(path.levels) > 1:
            continue
        own = isl.UnionSet.from_set(part.domain).universe()
        elsewhere = part.levels[family][0].subtract_range(own)
        others = [vertices_of((part,), other) for other in range(len(paths)) if other != family]
        if all(elsewhere.range().intersect(item).is_empty() for item in others):
            continue
        begun = path.levels[0].subtract_range(own).domain().identity()
        level = path.levels[0].intersect_range(own).union(begun).coalesce()
        paths[family] = replace(path, levels=(level,))
    return replace(part, paths=tuple(paths))


def _placed(part: Part, family: int) -> Subspace:
    return in_order(part, part.paths[family].classes)


def in_order(part: Part, space: Subspace) -> Subspace:
    """Return a subspace of a part's dimensions in the coordinates of the common space."""
    return span([[row[at] for at in part.order] for row in space])


def _trimmed(parts: Sequence[Part], forbidden: isl.UnionSet) -> tuple[Part, ...] | None:
    """Remove from the domains what touches ``forbidden`` and, where it is thin, what makes two families meet."""
    current = tuple(parts)
    count = len(parts[0].paths)
    for family in range(count):
        current = tuple(_without(part, family, forbidden) for part in current)
    for _ in range(3):
        changed = False
        for first, second in itertools.permutations(range(count), 2):
            step(CHEAP_STEP)
            if not _meet(current, first, second):
                continue
            shared = vertices_of(current, first).intersect(vertices_of(current, second))
            smaller = tuple(_without(part, first, shared) for part in current)
            thin = all(
                thickness(part.domain.subtract(less.domain)) < len(part.order)
                for part, less in zip(current, smaller, strict=True)
            )
            if thin:
                current, changed = smaller, True
        if not changed:
            break
    current = tuple(part for part in current if thickness(part.domain) == len(part.order))
    return current or None


def _meet(parts: Sequence[Part], one: int, other: int) -> bool:
    """Return whether two families have common vertices."""
    return any(
        first.ground.meets(first.paths[one], second.paths[other], second.ground, first.own)
        for first, second in itertools.product(parts, repeat=2)
    )


def _without(part: Part, family: int, vertices: isl.UnionSet) -> Part:
    """Return the part less the instances whose path of the family touches ``vertices``."""
    if vertices.is_empty():
        return part
    touched = united(level.intersect_range(vertices).domain() for level in part.all_levels[family])
    if touched.is_empty():
        return part
    domain = part.domain
    for item in sets_of(touched):
        domain = domain.subtract(item)
    return replace(part, domain=domain.coalesce())


def _disjoint(parts: Sequence[Part]) -> bool:
    """True if the parts do not meet in the common space."""
    if len(parts) == 1:
        return True
    images = [part.embedding(unit(len(part.order))).range() for part in parts]
    return all(a.intersect(b).is_empty() for a, b in itertools.combinations(images, 2))


def _moved_apart(parts: tuple[Part, ...], kernels: Sequence[Subspace]) -> tuple[tuple[Part, ...], int | None]:
    """Return the parts and a coordinate along which they can be moved apart, None if there is none.

    Where a thin set of instances of one part shares vertices with another one, it is left out if that helps.
    """
    moved = _separating(parts, kernels)
    if moved is not None or len(parts) != 2:
        return parts, moved
    for family, at in itertools.product(range(len(kernels)), (1, 0)):
        step()
        less = _without(parts[at], family, vertices_of((parts[1 - at],), family))
        gone = parts[at].domain.subtract(less.domain)
        if not gone.is_empty() and thickness(gone) < len(less.order) == thickness(less.domain):
            fewer = (less, parts[1]) if at == 0 else (parts[0], less)
            moved = _separating(fewer, kernels)
            if moved is not None:
                return fewer, moved
    return parts, None


def _separating(parts: Sequence[Part], kernels: Sequence[Subspace]) -> int | None:
    """Return a coordinate in the kernel of every family of which two parts have common vertices."""
    shared = [space for family, space in enumerate(kernels) if _have_common(parts, family)]
    width = len(parts[0].order)
    return next((at for at in range(width) if all(_has(space, at, width) for space in shared)), None)


def _have_common(parts: Sequence[Part], family: int) -> bool:
    """True if two parts have common vertices of a family."""
    vertices = [vertices_of((part,), family) for part in parts]
    return any(not a.intersect(b).is_empty() for a, b in itertools.combinations(vertices, 2))


def _has(space: Subspace, at: int, dimensions: int) -> bool:
    """True if a kernel has the direction of a coordinate."""
    return len(span([*space, unit(dimensions)[at]])) == len(space)


def fold(parts: Sequence[Part], family: int, moved: int | None = None) -> int | None:
    """Return how many classes of the projection one vertex of the family may belong to; None if that is not known.

    Where there is a window these are the classes of the projection without it.
    """
    if len(parts) == 1:
        part = parts[0]
        return part.ground.once(("fold", part.paths[family], part.order, part.own), lambda: _fold(parts, family))
    found = _fold(parts, family) if _have_one_window(parts, family) else None
    stays = moved is None or _has(_placed(parts[0], family), moved, len(parts[0].order))
    if found != 1 or stays or not _have_common(parts, family):
        return found
    return None if any(part.paths[family].is_chain for part in parts) else len(parts)


def _have_one_window(parts: Sequence[Part], family: int) -> bool:
    """True if the parts have no window, or the same one, on coordinates that take the same values in all of them."""
    first, window = parts[0], parts[0].paths[family].window
    if any(part.paths[family].window != window for part in parts):
        return False
    if window is None:
        return True
    rows = [unit(len(first.order))[at] for at in window.coordinates]
    values = [[part.embedding([row]).range() for row in rows] for part in parts]
    alike = all(one.is_equal(other) for item in values for one, other in zip(item, values[0], strict=True))
    return alike and all(part.order == tuple(range(len(rows[0]))) for part in parts)


def _fold(parts: Sequence[Part], family: int) -> int | None:
    rows = kernel(in_order(parts[0], parts[0].paths[family].kernel), len(parts[0].order))
    classes = []
    for part in parts:
        classifier = part.embedding(rows)
        union = None
        for reads in part.levels[family]:
            level = reads.reverse().apply_range(classifier)
            union = level if union is None else union.union(level)
        assert union is not None
        if not union.is_single_valued():
            return None
        classes.append(union)
    together = classes[0]
    for item in classes[1:]:
        together = together.union(item)
    if together.is_single_valued():
        return 1
    return None if any(part.paths[family].is_chain for part in parts) else len(parts)


def _cliques(count: int, apart: set[tuple[int, int]]) -> tuple[tuple[int, ...], ...]:
    """Return the maximal sets of pairwise disjoint families."""
    found: list[tuple[int, ...]] = []
    for size in range(count, 0, -1):
        for chosen in itertools.combinations(range(count), size):
            if all(pair in apart for pair in itertools.combinations(chosen, 2)) and not any(
                set(chosen) <= set(larger) for larger in found
            ):
                found.append(chosen)
    return tuple(found)


def _symmetric(plain: Partition, apart: set[tuple[int, int]]) -> Partition | None:
    """Return the symmetric Loomis-Whitney form of the argument, or None where it does not apply.

    Let a and b be two broadcasts that read one set of vertices, W the sum of their kernels. If a pair {a(p), b(p)}
    determines p, if vertices of different slices p + W differ, and if the third family is injective on every slice,
    then with v_k vertices in slice k and c classes of the third family

        |P_k| <= min(c, v_k^2 / 2) <= v_k sqrt(c / 2),    |P| <= sqrt(c / 2) sum v_k,    c + sum v_k <= K.

    A second such pair of the same form on other vertices gives sum over k of sqrt(v_k v'_k) <= sqrt(V V').
    """
    if len(plain.parts) != 1 or any(fold != 1 for fold in plain.folds):
        return None
    part = plain.parts[0]
    count = len(part.paths)
    if any(len(levels) != 1 for levels in part.levels):
        return None
    pairs = [
        (a, b)
        for a, b in itertools.combinations(range(count), 2)
        if (a, b) not in apart and not part.paths[a].is_chain and not part.paths[b].is_chain and _mirrored(part, a, b)
    ]
    for chain in range(count):
        chosen: list[tuple[int, int]] = []
        for a, b in pairs:
            used = {chain, *itertools.chain(*chosen)}
            disjoint = all(tuple(sorted((x, y))) in apart for x in used for y in (a, b))
            together = span([*plain.kernels[a], *plain.kernels[b]])
            injective = len(span([*together, *plain.kernels[chain]])) == len(together) + len(plain.kernels[chain])
            if chain not in {a, b} and disjoint and injective:
                chosen.append((a, b))
        sums = {span([*plain.kernels[a], *plain.kernels[b]]) for a, b in chosen}
        if not chosen or len(sums) != 1:
            continue
        s, beta = [Fraction(0)] * count, [Fraction(1)] * count
        s[chain] = Fraction(1, 2)
        for a, _ in chosen:
            s[a] = Fraction(1, len(chosen))
        exponents = Exponents(tuple(s), tuple(beta))
        candidate = replace(plain, exponents=exponents, symmetry=Symmetry(chain, tuple(chosen)))
        if exponents.sigma <= plain.exponents.sigma and candidate.coefficient() > plain.coefficient():
            return candidate
    return None


def _off_diagonal(part: Part) -> Part:
    """Remove the thin set of instances that read one vertex twice."""
    for a, b in itertools.combinations(range(len(part.paths)), 2):
        one, other = part.paths[a], part.paths[b]
        if one.is_chain or other.is_chain or len(part.levels[a]) + len(part.levels[b]) > 2:
            continue
        meeting = part.levels[a][0].apply_range(part.levels[b][0].reverse())
        for item in sets_of(meeting.intersect(meeting.reverse()).domain()):
            if thickness(item) < len(part.order):
                part = replace(part, domain=part.domain.subtract(item).coalesce())
    return part


def _mirrored(part: Part, a: int, b: int) -> bool:
    """True if unordered pairs of what a and b read determine the instance, and slices share no vertex."""
    step()
    first, second = part.levels[a][0], part.levels[b][0]
    dimensions = len(part.order)
    kernel_a, kernel_b = part.paths[a].kernel, part.paths[b].kernel
    together = span([*kernel_a, *kernel_b])
    if len(together) != len(kernel_a) + len(kernel_b):
        return False
    meeting = first.apply_range(second.reverse())  # p -> q with a(p) = b(q)
    same = f"{part.statement}[{', '.join(f'x{at}' for at in range(dimensions))}]"
    other = f"{part.statement}[{', '.join(f'y{at}' for at in range(dimensions))}]"
    rows = kernel(together, dimensions)
    equal = [f"{_combination(row, 'x')} = {_combination(row, 'y')}" for row in rows]
    slices = isl.UnionMap(f"{{ {same} -> {other} : {' and '.join(equal)} }}")
    swapped = meeting.intersect(meeting.reverse())  # a(p) = b(q) and b(p) = a(q)
    return bool((not rows or meeting.is_subset(slices)) and swapped.is_empty())


def _combination(row: Sequence[int], letter: str) -> str:
    return " + ".join(f"{factor}*{letter}{at}" for at, factor in enumerate(row))
