"""Inputs that the instances of a stencil read in every step, each place its own: coefficients and right sides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import islpy as isl

from shorthaul.affine.bounds.partition import stencil_levels
from shorthaul.affine.bounds.partition.parts import as_union, union_of
from shorthaul.affine.bounds.partition.stencil_levels import Stencil
from shorthaul.affine.effort import step
from shorthaul.affine.integer_sets.dependences import DataFlow


def stencils(flow: DataFlow) -> Iterator[Stencil]:
    """Yield the stencils by levels, and those with still values twice: without these, and with them."""
    for item in stencil_levels.stencils(flow):
        yield from with_stills(item, flow)


def with_stills(item: Stencil, flow: DataFlow) -> Iterator[Stencil]:
    """Yield a stencil, and the same one with the still values of its instances, if they all have some.

    A row has instances of one statement, so values of different ones need not differ.
    """
    yield item
    if item.is_coupled:
        return
    stills = tuple(
        tuple(_stills(flow, name, domain, item.covector))
        for name, domain in zip(item.statements, item.domains, strict=True)
    )
    if not all(stills):
        return
    found = union_of(one.range() for group in stills for one in group)
    if found.intersect(item.spill).is_empty():
        spill, sources = item.spill.union(found).coalesce(), item.sources.union(found).coalesce()
        yield replace(item, stills=stills, spill=spill, sources=sources)


def _stills(flow: DataFlow, name: str, domain: isl.Set, covector: tuple[int, ...]) -> Iterator[isl.Map]:
    """Yield maps from all instances to inputs, different ones for instances of one level, without common inputs."""
    width = len(covector)
    ends = [[f"{letter}{at}" for at in range(width)] for letter in "xy"]
    levels = [" + ".join(f"{factor}*{end}" for factor, end in zip(covector, side, strict=True)) for side in ends]
    sides = [f"{name}[{', '.join(side)}]" for side in ends]
    level = isl.Map.read_from_str(isl.DEFAULT_CONTEXT, f"{{ {sides[0]} -> {sides[1]} : {levels[0]} = {levels[1]} }}")
    taken = union_of([])
    for item in flow.into(name):
        step()
        read = item.relation.reverse()
        if item.source is not None or not read.is_single_valued() or not domain.is_subset(read.domain()):
            continue
        read = read.intersect_domain(domain).coalesce()
        same = read.apply_range(read.reverse()).intersect(level)
        elements = as_union(read.range())
        if same.is_subset(domain.identity()) and elements.intersect(taken).is_empty():
            taken = taken.union(elements)
            yield read
