"""Routes along which one event follows from another: the flows, one by one, so that a reader can go through them."""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from shorthaul.affine.bounds.lifetime.wavefront import Reachability, names_of
from shorthaul.affine.effort import limited, step
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.tuning import LONGEST_ROUTE, MOST_PATHS_BACK, ROUTE_OPERATIONS


@dataclass(frozen=True, slots=True)
class Route:
    """Steps back from events to others, ``where`` they lead so: b' -> b.

    A step is the tag of a read, or the name of a statement, back along whose chain it goes.
    """

    steps: tuple[str, ...]
    where: isl.UnionMap

    def text(self, flow: DataFlow) -> str:
        """Return the route for people.

        >>> from shorthaul.affine.integer_sets.dependences import flow_dependences
        >>> from shorthaul.affine.workloads.cases import kernel
        >>> flow = flow_dependences(kernel("trisolv"))
        >>> Route(("S1", "S1.r0"), isl.UnionMap("{ S1[i, j] -> S0[i] }")).text(flow)
        'S1 <- S1 (along its chain) <- S0 (as x[i])'
        """
        texts = {item.reference.tag: (item.sink, item.reference.text) for item in flow.flows}
        ends = sorted(names_of(self.where.range()))
        named = [texts[name][0] if name in texts else name for name in self.steps]
        after = [*named[1:], " or ".join(ends)]
        hows = [f"as {texts[name][1]}" if name in texts else "along its chain" for name in self.steps]
        listed = [f"{name} ({how})" for name, how in zip(after, hows, strict=True)]
        return " <- ".join([named[0], *listed])


def routes(reach: Reachability, pairs: isl.UnionMap) -> list[Route]:
    """Return routes for the pairs b -> b', the shortest first; fewer where isl would have to do too much."""
    found: list[Route] = []
    waiting = pairs.reverse()
    front: list[tuple[isl.UnionMap, tuple[str, ...]]] = [(waiting.domain().identity(), ())]
    try:
        with limited(ROUTE_OPERATIONS):
            for _ in range(LONGEST_ROUTE):
                following = []
                for relation, steps in front:
                    for how, back in _steps(reach, relation):
                        hit = back.intersect(waiting)
                        if not hit.is_empty():
                            found.append(Route((*steps, how), hit.coalesce()))
                            waiting = waiting.subtract(hit)
                            if waiting.is_empty():
                                return found
                        following.append((back, (*steps, how)))
                front = following[:MOST_PATHS_BACK]
    except isl.Error:
        pass
    return found


def _steps(reach: Reachability, relation: isl.UnionMap) -> list[tuple[str, isl.UnionMap]]:
    """Return what a relation leads to one step further back, by the tag or the chain."""
    made = []
    for name in sorted(names_of(relation.range()) & set(reach.flow.program.by_name)):
        tags = sorted({item.reference.tag for item in reach.flow.into(name)})
        made += [(tag, relation.apply_range(reach.reads(name, tag))) for tag in tags]
        closure = reach.closure(name)
        if closure is not None:
            made.append((name, relation.apply_range(closure.reverse())))
        step()
    return [(how, back.coalesce()) for how, back in made if not back.is_empty()]
