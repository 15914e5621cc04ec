"""Sums in any order and tree, verified from a certificate: what ``Lemma (reassociated sums)`` needs of them.

What a sum is follows from the program alone: a term reads the element that it writes from another one that adds to it
in the same way, and that other one is read by nothing else. A certificate says which vertex all terms of a sum read in
its place (``partial``), and which one stands for its result (``results``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import islpy as isl

from shorthaul.affine.check.data_flow import ProgramReads, Reads, empty_map, union_of_maps, union_of_sets
from shorthaul.affine.check.execution import Vertex, execute
from shorthaul.affine.check.graphs.images import by_name, image
from shorthaul.affine.check.partition_points import operands_of
from shorthaul.affine.model import Program, Reference, Statement


@dataclass(frozen=True)
class Sums:
    """The sums of a program, and what stands for them.

    ``following``: term -> the next one of its sum, of those that are ``inner``; ``read`` are all other reads but those
    of the values to which ``adding`` statements add.
    """

    adding: frozenset[str]
    inner: isl.UnionSet
    following: isl.UnionMap
    read: isl.UnionMap
    results: isl.UnionMap
    partial: isl.UnionMap
    is_order: bool

    def terms(self, reads: Reads) -> isl.UnionSet:
        """Return the instances of statements that add."""
        return union_of_sets(isl.UnionSet.from_set(reads.domains[name]) for name in self.adding)

    def graph(self, reads: Reads) -> Reads:
        """Return the graph of values, or of order."""
        ends = self.terms(reads).subtract(self.inner)
        others = reads.instances.union(reads.inputs).subtract(ends).identity()
        made = self.read.apply_range(self.results.union(others))
        if self.is_order:
            made = made.union(self.results.reverse().apply_range(self.partial).apply_range(self.partial.reverse()))
        else:
            made = made.union(self.partial)
        added = self.results.range() if self.is_order else self.results.range().union(self.partial.range())
        domains = {**reads.domains, **by_name(added)}
        return Reads(domains, lambda name: made.intersect_domain(isl.UnionSet.from_set(domains[name])))


def is_target(reference: Reference, statement: Statement) -> bool:
    """True for what a statement reads as the element that it writes."""
    same = reference.array == statement.write.array
    return same and bool(reference.relation.is_equal(statement.write.relation))


def sums_of(given: Mapping[str, Any], reads: ProgramReads) -> Sums:
    """Return the sums of a program with what a certificate says of them."""
    adding, inner, following, read = _found(reads)
    results, partial = isl.UnionMap(str(given["results"])), isl.UnionMap(str(given["partial"]))
    return Sums(adding, inner, following, read, results, partial, str(given["kind"]) == "order")


def has_sums(reads: ProgramReads) -> bool:
    """True if a program has a sum of two terms or more."""
    return bool(_found(reads)[0])


def _found(reads: ProgramReads) -> tuple[frozenset[str], isl.UnionSet, isl.UnionMap, isl.UnionMap]:
    continuing, others = empty_map(), empty_map()
    without_targets: dict[str, isl.UnionMap] = {}
    for statement in reads.program.statements:
        alike = [item for item in reads.program.statements if item.accumulates == statement.accumulates]
        without_targets[statement.name] = empty_map()
        for reference in statement.reads:
            pairs, own = reads.by(statement, reference), empty_map()
            target = is_target(reference, statement)
            if statement.accumulates and target:
                for item in alike:
                    own = own.union(pairs.intersect_range(isl.UnionSet.from_set(item.domain)))
            continuing, others = continuing.union(own), others.union(pairs.subtract(own))
            if not target:
                without_targets[statement.name] = without_targets[statement.name].union(pairs)
    inner = continuing.range().subtract(others.range()).coalesce()
    following = continuing.intersect_range(inner).reverse()
    adding = frozenset(by_name(inner)) | frozenset(by_name(following.range()))
    read = union_of_maps(without_targets[name] if name in adding else reads.of(name) for name in reads.domains)
    return adding, inner, following, read


def wrong_sums(item: Sums, reads: ProgramReads) -> Iterator[str]:
    """Yield where what stands for the sums does not stand for one each."""
    terms = item.terms(reads)
    if not item.results.domain().is_equal(terms.subtract(item.inner)) or not item.results.is_injective():
        yield "the results are not one for each sum"
    if not item.results.is_single_valued() or not item.partial.is_single_valued():
        yield "a sum has two results, or a term belongs to two sums"
    if not item.partial.domain().is_subset(terms):
        yield "what belongs to a sum is no term"
    inside = item.partial.intersect_domain(item.inner)
    if not item.following.is_single_valued() or not inside.is_subset(item.following.apply_range(item.partial)):
        yield "two terms that follow one another belong to different sums"
    if not item.partial.intersect_domain(item.results.domain()).is_injective():
        yield "two sums are one"
    names = [*by_name(item.results.range()), *by_name(item.partial.range())]
    taken = {*reads.domains, *reads.program.arrays, *by_name(reads.inputs)}
    if len(set(names)) < len(names) or taken & set(names):
        yield "what stands for a sum bears a name of something else"


def sums_at(
    item: Sums, program: Program, operands: Mapping[Vertex, set[Vertex]], sizes: Mapping[str, int]
) -> tuple[dict[Vertex, set[Vertex]], list[str]]:
    """Return what is read at given sizes, and what is wrong: the second method, without relations of isl's."""
    terms = [vertex for vertex in operands if vertex[0] in item.adding]
    results, partial = image(item.results, terms, sizes), image(item.partial, terms, sizes)
    readers: dict[Vertex, list[Vertex]] = {vertex: [] for vertex in operands}
    for vertex, read in operands.items():
        for one in read:
            readers[one].append(vertex)
    wrong = []
    for vertex in terms:
        if vertex not in results:
            after = readers[vertex]
            if len(after) != 1 or (vertex in partial and partial[vertex] != partial.get(after[0])):
                wrong.append(f"{vertex} is no inner term of one sum")
    bare = tuple(
        replace(one, reads=tuple(read for read in one.reads if one.name not in item.adding or not is_target(read, one)))
        for one in program.statements
    )
    stripped = replace(program, statements=bare)
    plain = operands_of(execute(stripped, sizes))
    made: dict[Vertex, set[Vertex]] = {}
    if not item.is_order:
        made = {vertex: set() for vertex in (*results.values(), *partial.values())}
    ended: dict[Vertex, set[Vertex]] = {}
    for vertex, read in plain.items():
        made[vertex] = {results.get(one, one) for one in read}
        if vertex in partial and not item.is_order:
            made[vertex].add(partial[vertex])
        elif vertex in partial:
            ended.setdefault(partial[vertex], set()).add(vertex)
        if vertex in results and item.is_order:
            made[results[vertex]] = ended.get(partial[vertex], set()) if vertex in partial else set()
    return made, wrong
