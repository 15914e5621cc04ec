"""What every instance reads, by definition: the last instance before it that wrote the element, or else the element.

Written from the accesses and the schedule, without isl's dependence analysis: for certificates of bounds, all sizes.
"""

from __future__ import annotations

from functools import cached_property

import islpy as isl

from shorthaul.affine.model import Program, Reference, Statement

_OUT = isl.dim_type.out


def empty_map() -> isl.UnionMap:
    """Return the relation without pairs."""
    return isl.UnionMap.read_from_str(isl.DEFAULT_CONTEXT, "{ }")


class Reads:
    """The reads of a program's statements: instance -> instance or element of an array, made when asked for."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._of: dict[str, isl.UnionMap] = {}

    def of(self, name: str) -> isl.UnionMap:
        """Return what the instances of a statement read."""
        if name not in self._of:
            statement = self.program.by_name[name]
            found = empty_map()
            for reference in statement.reads:
                found = found.union(self._by(statement, reference))
            self._of[name] = found.coalesce()
        return self._of[name]

    @cached_property
    def all(self) -> isl.UnionMap:
        """What the instances of all statements read."""
        found = empty_map()
        for item in self.program.statements:
            found = found.union(self.of(item.name))
        return found

    @cached_property
    def inputs(self) -> isl.UnionSet:
        """All elements that are read and never written before."""
        return self.all.range().subtract(self.program.domain().universe()).coalesce()

    def _by(self, statement: Statement, reference: Reference) -> isl.UnionMap:
        """Return instance -> operand for one reference."""
        when = isl.UnionMap.read_from_str(isl.DEFAULT_CONTEXT, "{ }")
        writers = [item for item in self.program.statements if item.write.array == reference.array]
        for writer in writers:
            same = reference.relation.apply_range(writer.write.relation.reverse())
            before = statement.schedule.lex_gt_map(writer.schedule)
            when = when.union(isl.UnionMap.from_map(same.intersect(before).apply_range(writer.schedule)))
        last = when.lexmax()
        back = empty_map()
        for writer in writers:
            back = back.union(isl.UnionMap.from_map(writer.schedule.reverse()))
        written = last.apply_range(back)
        return written.union(isl.UnionMap.from_map(reference.relation).subtract_domain(last.domain()))
