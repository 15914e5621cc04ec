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
    away = _away(reach, names_of(waiting.range()))
    made: dict[tuple[str, ...], list[tuple[str, isl.UnionMap]]] = {}
    try:
        with limited(ROUTE_OPERATIONS):
            for longest in range(1, LONGEST_ROUTE + 1):
                front: list[tuple[isl.UnionMap, tuple[str, ...]]] = [(waiting.domain().identity(), ())]
                for left in reversed(range(longest)):
                    following = []
                    for relation, steps in front:
                        if steps not in made:
                            made[steps] = _steps(reach, relation, steps[-1:])
                        for how, back in made[steps]:
                            if min(away.get(name, LONGEST_ROUTE) for name in names_of(back.range())) <= left:
                                following.append((back, (*steps, how)))
                    front = following[:MOST_PATHS_BACK]
                for relation, steps in front:
                    hit = relation.intersect(waiting)
                    if not hit.is_empty():
                        found.append(Route(steps, hit.coalesce()))
                        waiting = waiting.subtract(hit)
                        if waiting.is_empty():
                            return found
    except isl.Error:
        pass
    return found


def _away(reach: Reachability, names: set[str]) -> dict[str, int]:
    """Return how many flows lead at least from one of the statements to every statement behind them."""
    away = dict.fromkeys(names, 0)
    waiting = sorted(names)
    for name in waiting:
        for item in reach.flow.out_of(name):
            if item.sink not in away:
                away[item.sink] = away[name] + 1
                waiting.append(item.sink)
    return away


def _steps(reach: Reachability, relation: isl.UnionMap, last: tuple[str, ...]) -> list[tuple[str, isl.UnionMap]]:
    """Return what a relation leads to one step further back, by the tag or the chain; ``last`` is the step before.

    What a chain leads to is left out elsewhere.
    """
    made = []
    for name in sorted(names_of(relation.range()) & set(reach.flow.program.by_name)):
        tags = sorted({item.reference.tag for item in reach.flow.into(name)})
        found = [(tag, relation.apply_range(reach.reads(name, tag))) for tag in tags]
        closure = reach.closure(name)
        if closure is not None:
            chain = relation.apply_range(closure.reverse())
            made += [(name, chain)] if last != (name,) else []
            found = [(tag, back.subtract(chain)) for tag, back in found]
        made += found
        step()
    return [(how, back.coalesce()) for how, back in made if not back.is_empty()]
