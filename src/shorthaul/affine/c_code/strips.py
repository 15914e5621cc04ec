"""Strips: iterations of a loop that the innermost loop executes together, so that values stay in registers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import islpy as isl

from shorthaul.affine import effort
from shorthaul.affine.c_code.legality import apart, lifted
from shorthaul.affine.c_code.parts import Part
from shorthaul.affine.integer_sets.dependences import Conflicts
from shorthaul.affine.model import Program
from shorthaul.affine.orders.tile_policy import subscript_factors
from shorthaul.affine.tuning import STRIP

_IN, _OUT = isl.dim_type.in_, isl.dim_type.out


@dataclass(frozen=True)
class Strips:
    """Which loops of one nest may be executed in strips: ``tiles`` are its sizes of tiles, ``sizes`` those of arrays.

    ``local`` are local data, with how many entries of time vectors are equal for all that use one of their values.
    """

    program: Program
    conflicts: Conflicts
    tiles: Mapping[str, int]
    sizes: Mapping[str, int]
    local: Mapping[str, int]
    _known: dict[tuple[Any, ...], bool | None] = field(default_factory=dict)

    def is_short(self, ends: Sequence[str], least: int) -> bool:
        """True if a loop between ``ends`` has fewer than ``least`` iterations, as far as tiles and sizes tell."""
        known = {**self.sizes, **self.tiles}
        return any(known.get(name, least) < least for name in re.findall(r"\w+", " ".join(ends)))

    def carried(self, parts: Sequence[Part], strip: int, inside: Sequence[int]) -> bool | None:
        """Return whether the last loop carries a dependence if strips of the loop ``strip`` run inside of it.

        None where that order breaks a dependence. Loops are given by their entries of time vectors: ``inside`` has
        those between, the last one included; ``parts`` are all that is executed.
        """
        key = tuple(sorted(item.name for item in parts)), strip, tuple(inside)
        if key not in self._known:
            found = [
                _carried(a, b, pairs, self.tiles, strip, inside)
                for a, b in product(parts, repeat=2)
                for array, _, pairs in self.conflicts.between(a.statement, b.statement)
                if self.local.get(array, 0) <= inside[-1]  # others are declared in the last loop
            ]
            self._known[key] = None if None in found else any(found)
        return self._known[key]

    def returns(self, a: Part, b: Part, strip: int) -> bool:
        """True if ``a`` has to come before ``b`` of a later iteration in one strip of the loop for entry ``strip``."""
        key = "returns", a.name, b.name, strip
        if key not in self._known:
            self._known[key] = any(
                not rest.intersect(apart(rest, strip, None, back=False)).is_empty()
                for _, _, pairs in self.conflicts.between(a.statement, b.statement)
                for rest in [_in_strip(lifted(a, b, pairs, self.tiles), strip)]
            )
        return bool(self._known[key])

    def gain(self, part: Part, values: Sequence[str], name: str) -> tuple[int, int]:
        """Return how many accesses are to one element in a strip of the loop ``name``, and how many along a row.

        Writes count twice; ``values`` are the iterators of the part in the names of loops. Rows do not count where an
        access is neither: its elements have to be gathered one by one (benchmarks/affine_code.py, attention).
        """
        statement = self.program.by_name[part.statement]
        moves = [re.search(rf"\b{name}\b", value) is not None for value in values]
        accesses = (*statement.reads, statement.write, statement.write)
        kept = along = 0
        for item in accesses:
            rows = subscript_factors(item.relation)
            steps = [sum(abs(f) for f, move in zip(row, moves, strict=True) if move) for row in rows]
            kept += not any(steps)
            along += steps[-1:] == [1] and not any(steps[:-1])
        return kept, along if kept + along == len(accesses) else 0


def _carried(
    a: Part, b: Part, pairs: isl.Map, tiles: Mapping[str, int], strip: int, inside: Sequence[int]
) -> bool | None:
    """Return whether the last loop carries one of ``pairs`` with strips inside of it; None if some are turned round.

    Entries between that are no loops follow from the loops, so they do not count; what has equal loops stays in order.
    """
    effort.step()
    rest, carried = _in_strip(lifted(a, b, pairs, tiles), strip), False
    for at in inside:
        if not rest.intersect(apart(rest, at, None, back=True)).is_empty():
            return None
        carried = not rest.intersect(apart(rest, at, None, back=False)).is_empty()
        rest = rest.equate(_IN, at, _OUT, at)
    return carried


def _in_strip(pairs: isl.Map, strip: int) -> isl.Map:
    """Return the pairs of time vectors of which the second is no later than in the same strip."""
    for at in range(strip):
        pairs = pairs.equate(_IN, at, _OUT, at)
    near = isl.Constraint.alloc_inequality(isl.LocalSpace.from_space(pairs.get_space()))
    near = near.set_coefficient_val(_IN, strip, isl.Val(1)).set_coefficient_val(_OUT, strip, isl.Val(-1))
    return pairs.add_constraint(near.set_constant_val(isl.Val(STRIP - 1)))


def strip_heads(name: str, first: str, condition: str, size: int) -> tuple[str, str] | None:
    """Return the heads of a loop in strips and of one over the rest; None where ``condition`` is no plain end.

    >>> strip_heads("c1", "0", "c1 < N", 8)[0]
    'for (long c1 = 0; c1 < (N) - 7; c1 += 8) {'
    """
    found = re.fullmatch(rf"{name} (<=?) (.*)", condition)
    if found is None or re.search(rf"\b{name}\b", found[2]):
        return None
    sign, end = found[1], found[2]
    count = f"({end}) - ({first})" + (" + 1" if sign == "<=" else "")
    rest = f"({first}) + max(0, ({count}) / {size} * {size})"
    return (
        f"for (long {name} = {first}; {name} {sign} ({end}) - {size - 1}; {name} += {size}) {{",
        f"for (long {name} = {rest}; {condition}; {name} += 1) {{",
    )


def moved(line: str, name: str, by: int) -> str:
    """Return a call ``by`` iterations of the loop ``name`` later.

    >>> moved("S0(c1, c2);", "c1", 3)
    'S0((c1 + 3), c2);'
    """
    return re.sub(rf"\b{name}\b", f"({name} + {by})", line) if by else line
