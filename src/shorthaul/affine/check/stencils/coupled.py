"""Two fields coupled at their place, verified: what both read of one step before, and the borders of both together."""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from shorthaul.affine.check.data_flow import Reads
from shorthaul.affine.check.stencils.levels import Stencil
from shorthaul.affine.check.stencils.walls import wrong_walls


def wrong_coupled(item: Stencil, reads: Reads) -> Iterator[str]:
    """Yield what does not hold of reads, levels and borders of two coupled fields, for all sizes."""
    below = (-1, *(0,) * item.dimensions)
    plain = not item.given["own"] and item.given["box"] is None and not any(item.ways)
    if len(item.names) != 2 or item.covector != tuple(-value for value in below) or not plain:
        yield "there are not two fields with a level for every step, which read one another themselves"
        return
    own = set(item.shifts[0])
    if own != set(item.shifts[1]) or any(len(set(shifts)) < len(shifts) for shifts in item.shifts):
        yield "the fields do not have one neighbourhood"
    if any(shift[0] != -1 for shift in own):
        yield "a neighbour is not in the level below"
    read, ends, pairs = isl.UnionSet("{ }"), isl.UnionSet("{ }"), list[isl.UnionMap]()
    for at, name in enumerate(item.names):
        other, points = item.names[1 - at], isl.UnionSet.from_set(item.domains[at])
        beside = isl.UnionSet.from_set(item.domains[1 - at])
        for shift in own:
            pairs.append(_move(name, name, shift).intersect_domain(points))
            taken = item.walls.read(pairs[-1])
            if not taken.is_subset(reads.of(name)):
                yield f"an instance of {name} does not read all of its neighbours"
            read = read.union(taken.range())
            ends = ends.union(points.subtract(pairs[-1].range()))
        pairs.append(_move(name, other, below).intersect_domain(points))
        across = item.walls.read(pairs[-1])
        if not across.is_subset(reads.of(name)):
            yield f"an instance of {name} does not read the other field at its place"
        read = read.union(across.range())
        ends = ends.union(points.subtract(_move(other, name, below).intersect_domain(beside).range()))
    if not item.spill.is_equal(read):
        yield "the may-spill set is not what the instances read"
    yield from wrong_walls(item.walls, item.dimensions, pairs, reads)
    sources = read.subtract(item.points).union(item.walls.walls)
    if not item.sources.is_equal(sources) or not read.intersect(reads.inputs).is_subset(item.walls.inputs.range()):
        yield "the sources are not what is read and not among the instances"
    if not item.ends.is_equal(ends):
        yield "the ends are not the instances without all successors"
    if item.constant is None:
        yield "the neighbourhood does not have the shape that is named"


def _move(name: str, target: str, shift: tuple[int, ...]) -> isl.UnionMap:
    x = [f"x{at}" for at in range(len(shift))]
    values = [f"{name} + {by}" for name, by in zip(x, shift, strict=True)]
    return isl.UnionMap(f"{{ {name}[{', '.join(x)}] -> {target}[{', '.join(values)}] }}")
