"""Requests whose nodes are numbered by the structure of the graph, so that answers do not depend on how they were."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from shorthaul.core.search import Search
from shorthaul.pebble import tuning
from shorthaul.pebble.model import Cdag, Document, IntArray, Origin, Verified
from shorthaul.pebble.plan import Move, Plan
from shorthaul.pebble.request import Request
from shorthaul.pebble.structured import numbering


@dataclass(frozen=True, slots=True)
class _Renumbered:
    """What a graph was made from whose nodes have other numbers now, ``number`` (shape (n,))."""

    origin: Origin
    number: IntArray

    def least_loaded(self, budget: int, width: int, search: Search) -> tuple[int, str, Document] | None:
        """Return the bound, which is that of any numbering."""
        return self.origin.least_loaded(budget, width, search)

    def verified(self, certificate: Document, budget: int, width: int) -> Verified | None:
        """Return what the certificate proves, which is the same in any numbering."""
        return self.origin.verified(certificate, budget, width)

    def order(self, budget: int, width: int, search: Search) -> IntArray | None:
        """Return the order in the new numbers."""
        found = self.origin.order(budget, width, search)
        return None if found is None else self.number[found]


def renumbered(request: Request) -> tuple[Request, Callable[[Plan], Plan]]:
    """Return the request with nodes numbered by the structure of the graph, and what makes a plan there one here.

    The order to begin with goes with it, that in which the graph lists its nodes if there is none. Where there is no
    time for that, it is the request itself.
    """
    cdag = request.cdag
    found = numbering.renumbered(cdag, search=request.search.part(tuning.NUMBERING_SHARE))
    if found is None:
        return request, lambda plan: plan
    again, was = found
    number = np.empty(cdag.n, dtype=np.int64)
    number[was] = np.arange(cdag.n)
    given = cdag.order if request.order is None else request.order
    out, into = _translation(again, cdag, was), _translation(cdag, again, number)
    if cdag.origin is not None:
        again = replace(again, origin=_Renumbered(cdag.origin, number))
    return replace(request, cdag=again, search=request.search.translated(out, into), order=number[given]), out


def _translation(one: Cdag, other: Cdag, nodes: IntArray) -> Callable[[Plan], Plan]:
    """Return what makes a plan of one graph one of the other, in which its node i is ``nodes[i]``."""

    def translated(plan: Plan) -> Plan:
        adding = plan.kinds == Move.ACCUMULATE
        named = nodes[np.where(adding, 0, plan.nodes)]
        if adding.any():
            ends = [nodes[side] for side in one.edge_arrays()]
            keys, here = (stop * one.n + start for start, stop in (ends, other.edge_arrays()))
            order = np.argsort(here)
            named[adding] = order[np.searchsorted(here[order], keys[plan.nodes[adding]])]
        return Plan(plan.kinds, named)

    return translated
