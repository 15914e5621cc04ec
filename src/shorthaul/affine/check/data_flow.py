"""What every instance reads, by definition: the last instance before it that wrote the element, or else the element.

Written from the accesses and the schedule, without isl's dependence analysis: for certificates of bounds, all sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, reduce

import islpy as isl

from shorthaul.affine.model import Program, Reference, Statement


def empty_map() -> isl.UnionMap:
    """Return the relation without pairs."""
    return isl.UnionMap.read_from_str(isl.DEFAULT_CONTEXT, "{ }")


def equal_coordinates(space: isl.Set, coordinates: Sequence[int], where: str = "true") -> isl.Map:
    """Return the pairs of points x, y of a ``space`` with some equal coordinates, ``where`` more holds of them."""
    x, y = (", ".join(f"{letter}{at}" for at in range(space.dim(isl.dim_type.set))) for letter in "xy")
    same = " and ".join([*(f"x{at} = y{at}" for at in coordinates), where])
    name = space.get_tuple_name()
    return isl.Map(f"{{ {name}[{x}] -> {name}[{y}] : {same} }}")


def union_of_maps(maps: Iterable[isl.UnionMap]) -> isl.UnionMap:
    """Return the union of relations."""
    return reduce(isl.UnionMap.union, maps, empty_map())


def union_of_sets(sets: Iterable[isl.UnionSet]) -> isl.UnionSet:
    """Return the union of sets."""
    return reduce(isl.UnionSet.union, sets, isl.UnionSet("{ }"))


class OnDomain:
    """What a certificate says of the instances in a set, its ``domain``."""

    domain: isl.Set

    @cached_property
    def points(self) -> isl.UnionSet:
        """The instances as a union set."""
        return isl.UnionSet.from_set(self.domain)


class Reads:
    """What the vertices of a graph read: instance -> instance or input, made when asked for.

    ``domains`` are the instances by the name of their statement; ``made`` returns what those of one read.
    """

    def __init__(self, domains: Mapping[str, isl.Set], made: Callable[[str], isl.UnionMap]) -> None:
        self.domains = domains
        self._made = made
        self._of: dict[str, isl.UnionMap] = {}

    def of(self, name: str) -> isl.UnionMap:
        """Return what the instances of a statement read."""
        if name not in self._of:
            self._of[name] = self._made(name).coalesce()
        return self._of[name]

    @cached_property
    def all(self) -> isl.UnionMap:
        """What the instances of all statements read."""
        return reduce(isl.UnionMap.union, map(self.of, self.domains), empty_map())

    @cached_property
    def instances(self) -> isl.UnionSet:
        """All instances."""
        sets = map(isl.UnionSet.from_set, self.domains.values())
        return reduce(isl.UnionSet.union, sets, isl.UnionSet.read_from_str(isl.DEFAULT_CONTEXT, "{ }"))

    @cached_property
    def inputs(self) -> isl.UnionSet:
        """All elements that are read and never written before."""
        return self.all.range().subtract(self.instances.universe()).coalesce()


class ProgramReads(Reads):
    """What the statements of a program read."""

    def __init__(self, program: Program) -> None:
        super().__init__({item.name: item.domain for item in program.statements}, self._by_all)
        self.program = program

    def _by_all(self, name: str) -> isl.UnionMap:
        statement = self.program.by_name[name]
        return reduce(isl.UnionMap.union, (self.by(statement, item) for item in statement.reads), empty_map())

    def by(self, statement: Statement, reference: Reference) -> isl.UnionMap:
        """Return instance -> operand for one reference."""
        when = isl.UnionMap.read_from_str(isl.DEFAULT_CONTEXT, "{ }")
        writers = [item for item in self.program.statements if item.write.array == reference.array]
        for writer in writers:
            same = reference.relation.apply_range(writer.write.relation.reverse())
            before = statement.schedule.lex_gt_map(writer.schedule)
            when = when.union(isl.UnionMap.from_map(same.intersect(before).apply_range(writer.schedule)))
        last = when.lexmax()
        back = union_of_maps(isl.UnionMap.from_map(writer.schedule.reverse()) for writer in writers)
        written = last.apply_range(back)
        return written.union(isl.UnionMap.from_map(reference.relation).subtract_domain(last.domain()))
