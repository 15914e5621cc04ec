"""Places of a stencil at which no instance is, verified: walls of one instance each, and inputs of one place each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import islpy as isl

from shorthaul.affine.check.data_flow import Reads, union_of_maps


@dataclass(frozen=True)
class Walls:
    """Places of walls, and place -> input that stands there."""

    walls: isl.UnionSet
    inputs: isl.UnionMap

    def read(self, down: isl.UnionMap) -> isl.UnionMap:
        """Return instance -> vertex for pairs of an instance and a place below; walls are none."""
        there = down.intersect_range(self.inputs.domain())
        return down.subtract(there).subtract_range(self.walls).union(there.apply_range(self.inputs))


def walls_of(given: Mapping[str, Any] | None) -> Walls:
    """Return the places in a certificate, none where it has none."""
    known = given or {"walls": "{ }", "inputs": "{ }"}
    return Walls(isl.UnionSet(str(known["walls"])), isl.UnionMap(str(known["inputs"])))


def room(item: Walls, dimensions: int) -> int:
    """Return the words that up to as many walls of an instance as ``dimensions`` take beside its result."""
    return 0 if item.walls.is_empty() else max(0, dimensions - 2)


def wrong_walls(item: Walls, dimensions: int, down: Sequence[isl.UnionMap], reads: Reads) -> Iterator[str]:
    """Yield what does not hold of places; ``down`` are, for every neighbour, instance -> its place below."""
    known, places = reads.instances.union(reads.inputs), item.walls.union(item.inputs.domain())
    if not places.intersect(known).is_empty() or not item.walls.intersect(item.inputs.domain()).is_empty():
        yield "a wall or the place of an input is another vertex, or both"
    if not (item.inputs.is_single_valued() and item.inputs.is_injective()):
        yield "an input does not stand at one place alone"
    if not item.inputs.range().is_subset(reads.inputs):
        yield "what stands at a place is no input"
    beside = [pairs.intersect_range(item.walls) for pairs in down]
    if not union_of_maps(beside).is_injective():
        yield "a wall is one of several instances"
    numbers = [
        isl.UnionMap.from_domain_and_range(pairs.domain(), isl.UnionSet(f"{{ [{at}] }}"))
        for at, pairs in enumerate(beside)
    ]
    of_each = union_of_maps(numbers)
    for _ in range(max(2, dimensions)):
        of_each = of_each.subtract(of_each.lexmin())
    if not of_each.is_empty():
        yield "an instance has too many walls"
