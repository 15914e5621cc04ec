"""Upper bounds on the loads of a program: a tiled order whose cost is a formula in the parameters and S.

The program is cut into phases, executed one after the other; nothing is kept in between. Each phase runs a tiled order
with tiles of edge b(S) and keeps values by a policy (:mod:`tile_policy`); Belady's replacement on the same order loads
no more than that policy.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import islpy as isl
import numpy as np
import sympy

from shorthaul.affine.covectors import skewed
from shorthaul.affine.dataflow import DataFlow, flow_dependences
from shorthaul.affine.leading import leading_term
from shorthaul.affine.limits import limited
from shorthaul.affine.model import Program
from shorthaul.affine.placement import Placement, Read, placements, reads_of
from shorthaul.affine.polynomial import symbol
from shorthaul.affine.tile_policy import Counts, Phase, Policy, best_policy, make_phase
from shorthaul.affine.tile_size import Edge, edge_formula

#: Uses and savings of less than this part of all loads do not matter where candidates are compared.
_NEGLIGIBLE = 1e-4
#: isl operations spent on one placement.
_MOST_OPERATIONS = 5_000_000


@dataclass(frozen=True)
class Step:
    """One phase of the order: ``phase`` run by ``policy``, or statements in program order if there is no policy."""

    names: tuple[str, ...]
    phase: Phase | None
    policy: Policy | None
    rate: float
    counts: Counts
    reads: tuple[Read, ...]

    @cached_property
    def edge(self) -> Edge | None:
        """The edge of the tiles as a function of S."""
        if self.phase is None or self.policy is None:
            return None
        return edge_formula(sympy.Poly(self.phase.live(self.policy, Edge.SYMBOL), Edge.SYMBOL))

    @cached_property
    def uses_of(self) -> dict[str, float]:
        """How often values of every array that is an input, and of every statement, are used, where sizes are large."""
        result: dict[str, float] = {}
        for item in self.reads:
            key = item.source or f"input {item.array}"
            result[key] = result.get(key, 0) + self.counts.number((item.domain,))
        return result

    @cached_property
    def every_use(self) -> tuple[isl.Set, ...]:
        """Every instance, once for each value that it reads."""
        return tuple(item.domain for item in self.reads)

    def formula(self, name: sympy.Symbol) -> sympy.Expr:
        """Return the loads with tiles of edge ``name``."""
        if self.phase is None or self.policy is None:
            return self.counts.formula(self.every_use)
        return sympy.expand(self.phase.loads(self.policy, name, self.counts.formula))

    def loads(self, sizes: Mapping[str, int], capacity: int) -> float:
        """Return the loads at ``sizes``: those of the policy, or those of keeping nothing where that is better."""
        count = self.counts.at(sizes)
        plain = float(count(self.every_use))
        if self.phase is None or self.policy is None:
            return plain
        edge = self.phase.edge(self.policy, capacity)
        return min(plain, float(self.phase.loads(self.policy, edge, count))) if edge else plain


@dataclass(frozen=True)
class UpperBound:
    """Loads that suffice for ``program``: those of a tiled order, phase by phase."""

    program: Program
    steps: tuple[Step, ...]
    small: tuple[str, ...] = ()

    @cached_property
    def edges(self) -> dict[sympy.Symbol, Edge]:
        """The edges of the tiles by the names that the formula gives them: b, or b1, b2, ... if there are several."""
        found: list[Edge] = []
        for item in self.steps:
            if item.edge is not None and item.edge.degree and item.edge not in found:
                found.append(item.edge)
        names = ["b"] if len(found) == 1 else [f"b{at}" for at in range(1, len(found) + 1)]
        return {symbol(name): edge for name, edge in zip(names, found, strict=True)}

    def _name(self, step: Step) -> sympy.Symbol:
        return next((name for name, edge in self.edges.items() if edge == step.edge), Edge.SYMBOL)

    @cached_property
    def formula(self) -> sympy.Expr:
        """The loads in the parameters and the edges of the tiles."""
        return sympy.Add(*(item.formula(self._name(item)) for item in self.steps))

    @cached_property
    def least_capacity(self) -> sympy.Expr:
        """The least S for which the formula holds."""
        needs = [item.edge.least_capacity for item in self.steps if item.edge is not None]
        return max(needs, default=sympy.Integer(1))

    @cached_property
    def leading(self) -> sympy.Expr:
        """The leading term for S small against all sizes but those in ``small``, and large against these."""
        whole = self.formula.subs({name: edge.leading for name, edge in self.edges.items()})
        large = [name for name in self.program.parameters if name not in self.small]
        return sympy.simplify(leading_term(whole, large))

    def value(self, sizes: Mapping[str, int]) -> float:
        """Return loads that suffice at ``sizes`` (every parameter, and ``S``)."""
        parameters = {name: sizes[name] for name in self.program.parameters}
        return sum(item.loads(parameters, sizes["S"]) for item in self.steps)


def upper_bound(program: Program, *, flow: DataFlow | None = None, small: tuple[str, ...] = ()) -> UpperBound:
    """Return a tiled order of ``program`` with its loads as a formula.

    It is chosen for S small against all sizes; parameters in ``small`` are constants, small against S.

    >>> from shorthaul.affine.cases import kernel
    >>> upper_bound(kernel("gemm")).leading
    2*NI*NJ*NK/sqrt(S)
    """
    flow = flow_dependences(program) if flow is None else flow
    reads = {item.name: reads_of(flow, item.name) for item in program.statements}
    counts = Counts(flow, small)
    known: dict[frozenset[str], Step] = {}

    def step(names: Iterable[str]) -> Step:
        key = frozenset(names)
        if key not in known:
            known[key] = _step(flow, [item.name for item in program.statements if item.name in key], reads, counts)
        return known[key]

    steps = [step(names) for names in _components(flow)]
    steps = _fused(flow, steps, step)
    return UpperBound(program, tuple(_in_order(flow, steps)), small)


def _step(flow: DataFlow, names: Sequence[str], reads: Mapping[str, Sequence[Read]], counts: Counts) -> Step:
    mine = tuple(item for name in names for item in reads[name])
    best: tuple[float, Phase, Policy] | None = None
    for placement in placements(counts.distances, names, reads):
        first = make_phase(flow, names, placement, reads, counts)
        turned: Iterable[Placement] = skewed(placement, mine) if first.only_chains else ()
        for phase in (first, *(make_phase(flow, names, item, reads, counts) for item in turned)):
            found = _tried(phase)
            if found is not None and (best is None or found[1] < best[0] * (1 - 1e-9)):
                best = (found[1], phase, found[0])
    if best is None:
        total = sum(counts.number((item.domain,)) for item in mine)
        return Step(tuple(names), None, None, total, counts, mine)
    return Step(tuple(names), best[1], best[2], best[0], counts, mine)


def _tried(phase: Phase) -> tuple[Policy, float] | None:
    """Return the best policy, or None if there is none or finding it costs isl too much."""
    try:
        with limited(_MOST_OPERATIONS):
            return best_policy(phase)
    except isl.Error:
        return None


def _components(flow: DataFlow) -> list[list[str]]:
    """Return the strongly connected components of the statements under data flow."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    names = [item.name for item in flow.program.statements]
    edges = [(names.index(item.source), names.index(item.sink)) for item in flow.flows if item.source is not None]
    rows, columns = zip(*edges, strict=True) if edges else ((), ())
    graph = coo_array((np.ones(len(edges)), (rows, columns)), shape=(len(names), len(names)))
    count, label = connected_components(graph, directed=True, connection="strong")
    return [[name for at, name in enumerate(names) if label[at] == part] for part in range(count)]


def _fused(flow: DataFlow, steps: list[Step], step: Callable[[Iterable[str]], Step]) -> list[Step]:
    """Join phases that share values, as long as that saves loads."""
    refused: set[frozenset[str]] = set()
    while True:
        total = sum(item.rate for item in steps)
        for first, second in _partners(steps, total):
            joined = _closed(flow, steps, first, second)
            parts = [item for item in steps if set(item.names) <= joined]
            if joined in refused:
                continue
            made = step(joined)
            if made.phase is not None and made.rate < sum(item.rate for item in parts) - _NEGLIGIBLE * total:
                steps = [*(item for item in steps if item not in parts), made]
                break
            refused.add(joined)
        else:
            return steps


def _partners(steps: Sequence[Step], total: float) -> Iterator[tuple[Step, Step]]:
    """Return the pairs of phases with many uses of the same array, or of values that one of them computes."""
    shared = [
        {key for key, uses in item.uses_of.items() if uses > _NEGLIGIBLE * total} | set(item.names) for item in steps
    ]
    for a, b in combinations(range(len(steps)), 2):
        if shared[a] & shared[b]:
            yield steps[a], steps[b]


def _closed(flow: DataFlow, steps: Sequence[Step], first: Step, second: Step) -> frozenset[str]:
    """Return the statements of two phases and of all phases on a path between them."""
    where = {name: at for at, item in enumerate(steps) for name in item.names}
    edges = {(where[item.source], where[item.sink]) for item in flow.flows if item.source is not None}
    ends = {steps.index(first), steps.index(second)}
    both = _reached(edges, ends) & _reached({(b, a) for a, b in edges}, ends)
    return frozenset(name for at in both for name in steps[at].names)


def _reached(edges: set[tuple[int, int]], start: set[int]) -> set[int]:
    seen = set(start)
    while True:
        more = {b for a, b in edges if a in seen} - seen
        if not more:
            return seen
        seen |= more


def _in_order(flow: DataFlow, steps: Sequence[Step]) -> list[Step]:
    """Sort phases so that values are computed before they are read; otherwise by program order."""
    where = {name: at for at, item in enumerate(steps) for name in item.names}
    number = {item.name: at for at, item in enumerate(flow.program.statements)}
    before: dict[int, set[int]] = {at: set() for at in range(len(steps))}
    for item in flow.flows:
        if item.source is not None and where[item.source] != where[item.sink]:
            before[where[item.sink]].add(where[item.source])
    rank = [min(number[name] for name in item.names) for item in steps]
    ready = [(rank[at], at) for at in before if not before[at]]
    heapq.heapify(ready)
    result: list[Step] = []
    done: set[int] = set()
    while ready:
        _, at = heapq.heappop(ready)
        result.append(steps[at])
        done.add(at)
        for other, needed in before.items():
            if at in needed:
                needed.discard(at)
                if not needed and other not in done:
                    heapq.heappush(ready, (rank[other], other))
    return result
