"""Stencils by levels: a vertex-isoperimetric inequality per row instead of projections.

Statements whose instances fall into levels l, each reading the neighbourhood x + N of its place x in level l - 1. Let
D be the instances all of whose neighbours are computed, P a part of D in one segment, P_l its rows. If

    |A + N| >= |A| + c |A|^((n-1)/n)   for every finite set A in Z^n,                                              (1)

then |In(P)| >= sum over l of (|P_l| + c |P_l|^((n-1)/n) - |P_(l-1)|)+, and |P| <= F(|In(P)|) with

    F(q) = n / ((n + 1) c) q^((n+1)/n).

Proof: let R(p, k) be the most points of rows above a row of p points that in-vertices k pay for; R(p, k) <= F(p + k) by
induction on the number of rows, for a next row of q > 0 points that leaves r of the budget has p + k >= q + c
q^((n-1)/n) + r, and F is convex: F(q + c q^((n-1)/n) + r) - F(q + r) >= c q^((n-1)/n) F'(q) = q.

(1) holds for a box of integer sides k_i with c = n (k_1 ... k_n)^(1/n) (Brunn-Minkowski for A + [0,1]^n and the box),
on the line for any N with c = |N| - 1, and for the cross 0, +-e_i: c = 2 sqrt 2 in the plane (the two colours of the
checkerboard: |A + N| >= |A| + 2 + 2 sqrt(2|A| - 1)), c = 3 (4/3)^(1/3) in space (balls are optimal: Wang and Wang
1977; Bollobas and Leader 1991 between two balls).

The *balanced* form of ``shorthaul.affine.balanced`` also counts what a part hands on.
"""

from __future__ import annotations

import itertools
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
from shorthaul.affine.paths import Step, affine_steps
from shorthaul.affine.proof import SubBound

_SET = isl.dim_type.set
Offset = tuple[int, ...]


@dataclass(frozen=True)
class Stencil:
    """Statements in levels; ``offsets`` is N, ``constant`` the c of inequality (1), ``shape`` its name."""

    statements: tuple[str, ...]
    domains: tuple[isl.Set, ...]
    offsets: frozenset[Offset]
    constant: sympy.Expr
    shape: str
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


def isoperimetric_constant(offsets: frozenset[Offset]) -> tuple[sympy.Expr, str] | None:
    """Return the largest known c of inequality (1) for the neighbourhood, and the name of its shape."""
    n = len(next(iter(offsets)))
    if n == 1:
        return sympy.Integer(len(offsets) - 1), "a set on the line"
    options: list[tuple[sympy.Expr, str]] = []
    ranges = [(min(item[axis] for item in offsets), max(item[axis] for item in offsets)) for axis in range(n)]
    box = set(itertools.product(*(range(low, high + 1) for low, high in ranges)))
    sides = [high - low for low, high in ranges]
    if box <= offsets and all(sides):
        options.append((n * sympy.root(sympy.prod(sides), n), f"a box of sides {sides}"))
    units = [tuple(sign * int(a == axis) for a in range(n)) for axis in range(n) for sign in (-1, 1)]
    if n <= 3 and {(0,) * n, *units} <= offsets:
        options.append((n * sympy.root(sympy.Rational(2**n, sympy.factorial(n)), n), "a cross"))
    return max(options, key=lambda item: float(item[0]), default=None)


def counted(item: Stencil, flow: DataFlow, *, balanced: bool) -> SubBound:
    """Return the argument with its numbers as formulas, valid for all values of the parameters."""
    context = flow.program.context
    n, c = item.dimensions, item.constant
    size = sympy.Add(*(guarded(card(domain, context)) for domain in item.domains))
    sources = sympy.Add(*(guarded(card(part, context)) for part in sets_of(item.sources)))
    T = n * S
    K = S + T
    facts: dict[str, sympy.Expr] = {"|D|": size, "c": c, "K": K, "T": T}
    steps = [
        f"Levels of {', '.join(item.statements)}; an instance reads {sorted(item.offsets)} of the last ({item.shape}).",
        "D: instances all of whose neighbours are computed. A row A of a part has |A + N| >= |A| + c |A|^((n-1)/n).",
    ]
    U = sympy.simplify(n / ((n + 1) * c) * K ** sympy.Rational(n + 1, n))
    value = T * sympy.floor(size / U) - sources
    facts |= {"U": U}
    steps.append("Rows summed: |P| <= n/((n+1)c) K^((n+1)/n) = U for In(P) <= K = S + T.")
    method = "stencil by levels"
    if balanced:
        ends = sympy.Add(*(guarded(card(part, context)) for part in sets_of(item.ends)))
        most, weight, least = balanced_part(n, c, K)
        other = T * (size + weight * (sources - ends)) / most - T - sources
        value = sympy.Max(
            value, other if least <= 1 else sympy.Piecewise((other, least <= S), (sympy.Integer(0), True))
        )
        facts |= {"U, balanced": most, "lambda": weight, "|F|": ends}
        steps += [
            "Balanced: in-vertices of one part are out-vertices of another or sources; for In(P) <= K",
            "|P| + lambda (In(P) - Out(P)) <= U, balanced (the proof is that of shorthaul.affine.balanced); summed,",
            "|D| + lambda (sources - |F|) <= segments times that, and there are at least T (segments - 1) events.",
            f"F, the vertices of D with a successor not in D: {item.ends}",
        ]
        method = "stencil by levels, balanced"
    steps.append("Loads of the may-spill set beyond the first of each input >= T times whole segments - sources.")
    steps.append(f"sources (read by D, not in D): {item.sources}")
    domain = "; ".join(str(part) for part in item.domains)
    facts["sources"] = sources
    points = union_of(item.domains)
    return SubBound(method, item.statements, domain, value, item.spill, facts, tuple(steps), (), points, item.sources)
