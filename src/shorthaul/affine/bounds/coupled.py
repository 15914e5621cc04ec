"""Two fields that are coupled at their place: each reads its neighbours and the other field's value, one step before.

Reaction and diffusion, two species, two phases. A level holds places of both fields; a part that has a of one and b of
the other one in it reads max(a + c a^((n-1)/n), b) and max(b + c b^((n-1)/n), a) values or more: nearly as if both
had their own border, for as many places. So one argument on both has up to 2^(1/n) times what two on one each have.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

import islpy as isl
import sympy

from shorthaul.affine.bounds.partition.isoperimetry import Offset, Shape, differences, isoperimetric_constant
from shorthaul.affine.bounds.partition.parts import thickness, union_of
from shorthaul.affine.bounds.partition.stencil_levels import Stencil, bordered
from shorthaul.affine.bounds.partition.stencil_reads import Direct, direct_reads
from shorthaul.affine.bounds.walls import walled
from shorthaul.affine.effort import step
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.tuning import CHEAP_STEP

_SET = isl.dim_type.set


def coupled(flow: DataFlow) -> Iterator[Stencil]:
    """Yield the argument for every two statements that are fields coupled at their place."""
    direct = direct_reads(flow)
    widths = {item.name: item.domain.dim(_SET) for item in flow.program.statements}
    read = {name: _of_step(direct, name, name) for name, width in widths.items() if width >= 2}
    for one, other in itertools.combinations([name for name, own in read.items() if len(own) >= 2], 2):
        if widths[one] == widths[other]:
            found = _of_two(flow, direct, (one, other), (read[one], read[other]))
            if found is not None:
                yield found


def _of_two(
    flow: DataFlow, direct: Direct, names: tuple[str, str], read: tuple[Mapping[Offset, isl.Set], ...]
) -> Stencil | None:
    width = flow.program.by_name[names[0]].domain.dim(_SET)
    below = (-1, *(0,) * (width - 1))
    across = [_of_step(direct, name, other).get(below) for name, other in (names, names[::-1])]
    if across[0] is None or across[1] is None:
        return None
    shifts = tuple(sorted(set(read[0]) & set(read[1])))
    if len(shifts) < 2:
        return None
    rated = isoperimetric_constant(differences(frozenset(shifts)), width - 1)
    constant = None if rated is None else of_two(width - 1, *rated)
    if rated is None or constant is None:
        return None
    domains = []
    for name, own, way in zip(names, read, across, strict=True):
        domain = flow.program.by_name[name].domain
        for where in (*(own[shift] for shift in shifts), way):
            domain = domain if where is None else domain.intersect(where)
        if thickness(domain) < width:
            return None
        domains.append(domain.coalesce())
    nothing, covector, both = union_of([]), tuple(-value for value in below), (shifts, shifts)
    sets = (nothing, nothing, nothing, nothing, nothing)
    made = Stencil(names, tuple(domains), covector, both, constant, rated[1], *sets, ways=((), ()), is_coupled=True)
    return walled(bordered(made), flow)


def of_two(n: int, c: sympy.Expr, shape: Shape) -> sympy.Expr | None:
    """Return the constant of (1) for two fields of which each has c for its shape, None if it is not known.

    >>> cross, c = Shape("a cross", "", kind="cross"), 2 * sympy.sqrt(2)
    >>> of_two(1, sympy.Integer(2), Shape("", "")), of_two(2, c, cross), of_two(3, sympy.Integer(3), cross)
    (3, 4, None)
    """
    if n == 1:
        return c + 1
    return sympy.Integer(4) if n == 2 and c**2 >= (8 if shape.balls and not shape.apexes else 16) else None


def _of_step(direct: Direct, name: str, source: str) -> Mapping[Offset, isl.Set]:
    """Return where a statement reads another one, or itself, one step before, by distance."""
    step(CHEAP_STEP)
    return {shift: function.domain() for known, shift, function in direct[name] if known == source and shift[0] == -1}
