"""Stencils by levels: a vertex-isoperimetric inequality per row instead of projections.

Statements whose instances fall into levels l, each reading the neighbourhood x + N of its place x in level l - 1. Let
D be the instances all of whose neighbours are computed, P a part of D in one segment, P_l its rows, and

    |A + N| >= |A| + c |A|^((n-1)/n)   for every finite set A in Z^n.                                              (1)

The lemmas on rows (``lemmas.ROWS``, ``lemmas.BALANCED``) turn (1) into a bound on |P|. (1) holds for a box of integer
sides (Brunn and Minkowski), on the line for any N, and for the cross in the plane and in space; see ``shapes``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import islpy as isl
import sympy

from shorthaul.affine.balanced import balanced_part
from shorthaul.affine.counting import card
from shorthaul.affine.dataflow import DataFlow
from shorthaul.affine.formulas import guarded
from shorthaul.affine.k_partition import as_union, sets_of, thickness, union_of
from shorthaul.affine.leading import S
from shorthaul.affine.lemmas import BALANCED, ROWS, SEGMENTS
from shorthaul.affine.notation import shown
from shorthaul.affine.paths import Step, affine_steps
from shorthaul.affine.proof import SubBound
from shorthaul.affine.shapes import Offset, Shape, isoperimetric_constant

_SET = isl.dim_type.set


@dataclass(frozen=True)
class Stencil:
    """Statements in levels; ``offsets`` is N, ``constant`` the c of inequality (1), ``shape`` why it holds."""

    statements: tuple[str, ...]
    domains: tuple[isl.Set, ...]
    offsets: frozenset[Offset]
    constant: sympy.Expr
    shape: Shape
    spill: isl.UnionSet
    sources: isl.UnionSet
    ends: isl.UnionSet

    @property
    def dimensions(self) -> int:
        """The dimension of a level."""
        return len(next(iter(self.offsets)))


def stencils(flow: DataFlow) -> list[Stencil]:
    """Return the groups of up to three statements that form a stencil in levels."""
    statements = flow.program.statements
    found: list[Stencil] = []
    for size in (1, 2, 3):
        for at in range(len(statements) - size + 1):
            group = statements[at : at + size]
            widths = {item.domain.dim(_SET) for item in group}
            if len(widths) == 1 and widths.pop() >= 2:
                made = _stencil(flow, [item.name for item in group])
                if made is not None:
                    found.append(made)
    return found


def _stencil(flow: DataFlow, names: Sequence[str]) -> Stencil | None:
    reads = [_neighbours(flow, names, at) for at in range(len(names))]
    offsets = frozenset.intersection(*(frozenset(item) for item in reads))
    if len(offsets) < 2:
        return None
    rated = isoperimetric_constant(offsets)
    if rated is None:
        return None
    domains = []
    for at, name in enumerate(names):
        domain = flow.program.by_name[name].domain
        for offset in sorted(offsets):
            domain = domain.intersect(reads[at][offset])
        if thickness(domain) < domain.dim(_SET):
            return None
        domains.append(domain.coalesce())
    inside = union_of(domains)
    spill = ends = None
    for at, name in enumerate(names):
        before, after = (at - 1) % len(names), (at + 1) % len(names)
        for offset in sorted(offsets):
            down = _shift(name, names[before], -1 if at == 0 else 0, offset)
            up = _shift(name, names[after], 1 if at == len(names) - 1 else 0, tuple(-value for value in offset))
            read = down.intersect_domain(as_union(domains[at])).range()
            leaving = as_union(domains[at]).subtract(up.intersect_range(inside).domain())
            spill = read if spill is None else spill.union(read)
            ends = leaving if ends is None else ends.union(leaving)
    assert spill is not None
    assert ends is not None
    sources = spill.subtract(inside).coalesce()
    return Stencil(tuple(names), tuple(domains), offsets, *rated, spill.coalesce(), sources, ends.coalesce())


def _neighbours(flow: DataFlow, names: Sequence[str], at: int) -> dict[Offset, isl.Set]:
    """Return for every offset the instances of a statement that read that neighbour one level below."""
    before = names[at - 1] if at else names[-1]
    step_back = -1 if at == 0 else 0
    result: dict[Offset, isl.Set] = {}
    for step in affine_steps(flow, names[at]):
        offset = _offset(step, before, step_back)
        if offset is not None:
            where = step.function.domain()
            result[offset] = result[offset].union(where) if offset in result else where
    return result


def _offset(step: Step, before: str, step_back: int) -> Offset | None:
    width = len(step.matrix)
    unit = tuple(tuple(int(a == b) for b in range(width)) for a in range(width))
    if step.source != before or step.shift is None or step.matrix != unit or step.shift[0] != step_back:
        return None
    return step.shift[1:]


def _shift(name: str, target: str, time: int, offset: Offset) -> isl.UnionMap:
    names = [f"x{at}" for at in range(len(offset) + 1)]
    values = [f"{x} + {step}" for x, step in zip(names, (time, *offset), strict=True)]
    text = f"{{ {name}[{', '.join(names)}] -> {target}[{', '.join(values)}] }}"
    return isl.UnionMap.read_from_str(isl.DEFAULT_CONTEXT, text)


def counted(item: Stencil, flow: DataFlow, *, balanced: bool) -> SubBound:
    """Return the argument with its numbers as formulas, valid for all values of the parameters."""
    context = flow.program.context
    n, c = item.dimensions, item.constant
    size = sympy.Add(*(guarded(card(domain, context)) for domain in item.domains))
    sources = sympy.Add(*(guarded(card(part, context)) for part in sets_of(item.sources)))
    T = n * S
    K = S + T
    U = sympy.simplify(n / ((n + 1) * c) * K ** sympy.Rational(n + 1, n))
    facts: dict[str, sympy.Expr] = {
        "|D|": size,
        "sources": sources,
        "n": sympy.Integer(n),
        "c": c,
        "K": K,
        "T": T,
        "U": U,
    }
    value = T * sympy.floor(size / U) - sources
    steps = [*_level_steps(item, flow), *_row_steps(n, U)]
    if balanced:
        ends = sympy.Add(*(guarded(card(part, context)) for part in sets_of(item.ends)))
        most, weight = balanced_part(n, c, K)
        value = sympy.Max(value, n * (size + weight * (sources - ends)) / sympy.expand(most / S) - T - sources)
        facts |= {"rho": weight * c, "lambda": weight, "B": most, "|F|": ends}
        steps.extend(_balanced_steps(item, flow, most))
    else:
        steps.append("value = T floor(|D|/U) - sources.")
    return SubBound(
        "stencil by levels, balanced" if balanced else "stencil by levels",
        item.statements,
        "; ".join(shown(part, flow.program) for part in item.domains),
        value,
        item.spill,
        shown(item.spill, flow.program),
        facts,
        tuple(steps),
        (SEGMENTS, ROWS, BALANCED) if balanced else (SEGMENTS, ROWS),
        (),
        union_of(item.domains),
        item.sources,
    )


def _level_steps(item: Stencil, flow: DataFlow) -> list[str]:
    """Return the levels, the neighbourhood, the sets, and why inequality (1) holds."""
    names = ", ".join(item.statements)
    order = " and ".join(item.statements) + " take turns" if len(item.statements) > 1 else f"{names} at each step"
    neighbours = f"{{{', '.join(map(str, sorted(item.offsets)))}}}"
    return [
        (
            f"Levels: {order}; the first coordinate is the step, the other {item.dimensions} are the place x. "
            f"An instance at x reads the level below at x + N, N = {neighbours}, each by a read of its own."
        ),
        "D: the instances of which all these neighbours are computed.",
        f"sources (read by D, not in D; no input is among them): {shown(item.sources, flow.program)}",
        item.shape.because,
    ]


def _row_steps(n: int, U: sympy.Expr) -> list[str]:
    return [
        (
            "Events: loads of the may-spill set, which is all that D reads, and computations of sources. Let "
            "P be the part of D that a segment of T events computes. A vertex outside of P that P reads was "
            "in fast memory before, or is loaded, or is a source that is computed (an instance of D that is "
            "computed is in P). So In(P) <= S + T = K."
        ),
        f"Lemma (rows of a stencil): |P| <= n/((n+1)c) K^((n+1)/n) = U = {U}.",
        f"U grows as (S + T)^({n + 1}/{n}), so T/U is largest at T = {n} S.",
        "Lemma (segments): loads beyond the first of each input >= T floor(|D|/U) - sources.",
    ]


def _balanced_steps(item: Stencil, flow: DataFlow, most: sympy.Expr) -> list[str]:
    return [
        (
            "Balanced: let P_1, ..., P_m be the parts of D that the m segments compute. Let F be the vertices "
            f"of D of which a successor x - N of the next level is not in D: {shown(item.ends, flow.program)}"
        ),
        (
            "A vertex counted in Out(P_i) that is not in F is read by another part P_j, in whose In(P_j) it "
            "is. Every source is in In of some part and in no Out, as it is not in D. So sum of Out(P_i) <= "
            "sum of In(P_i) - sources + |F|."
        ),
        (
            "Lemma (balanced rows), for every i, with rho and lambda as above: |P_i| + lambda (In(P_i) - "
            f"Out(P_i)) <= B = {most}. Added over i: |D| + lambda (sources - |F|) <= m B."
        ),
        (
            "All segments but the last have T events: events >= T (m - 1). At most `sources` of them are "
            "computations of sources, all others are loads of vertices that are no inputs. So loads >= T (|D| "
            "+ lambda (sources - |F|)) / B - T - sources. value = the larger one of the two bounds."
        ),
    ]
