"""Upper bounds on the loads of a program: a tiled order whose cost is a formula in the parameters and S.

The program is cut into phases, executed one after the other; nothing is kept in between. Each phase runs a tiled order
with tiles of edge b(S) and keeps values by a policy (:mod:`tile_policy`); Belady's replacement on the same order loads
no more than that policy.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, combinations

import islpy as isl
import numpy as np
import sympy

from shorthaul.affine import effort
from shorthaul.affine.integer_sets.dependences import DataFlow, flow_dependences
from shorthaul.affine.integer_sets.leading_term import S, leading_term, simplified
from shorthaul.affine.integer_sets.quasi_polynomial import symbol
from shorthaul.affine.model import Program
from shorthaul.affine.orders.borders.held import BorderedStep
from shorthaul.affine.orders.boxes.fixed import FixedStep
from shorthaul.affine.orders.boxes.steps import BoxStep, WholeStep
from shorthaul.affine.orders.joining.turns import read_from_elsewhere
from shorthaul.affine.orders.memories.nested import NestedStep
from shorthaul.affine.orders.panel_policy import PanelStep, panel_plans
from shorthaul.affine.orders.pieces.passed import PassedStep
from shorthaul.affine.orders.placement import Placement, Read, Row, placements, reads_of
from shorthaul.affine.orders.skewing import kind, moved, skewed_placements
from shorthaul.affine.orders.tile_policy import Counts, Phase, Policy, best_policy, make_phase, unused_name
from shorthaul.affine.orders.tile_steps import Edge, Step
from shorthaul.affine.orders.turns import Turning, TurnsStep
from shorthaul.affine.tuning import (
    ABOUT_THE_SAME,
    AS_SMOOTH,
    NEAR_THE_INPUTS,
    NEGLIGIBLE,
    PLACEMENT_OPERATIONS,
    POOR,
    WIDEST_PANELS,
)
from shorthaul.core.amounts import exact_amount
from shorthaul.core.arguments import public
from shorthaul.core.search import Search

AnyStep = Step | PanelStep | TurnsStep | BoxStep | PassedStep | WholeStep | BorderedStep | NestedStep | FixedStep


@dataclass(frozen=True)
class UpperBound:
    """Loads that suffice for ``program``: those of a tiled order, phase by phase."""

    program: Program
    steps: tuple[AnyStep, ...]
    small: tuple[str, ...] = ()

    @cached_property
    def edges(self) -> dict[sympy.Symbol, Edge]:
        """The edges of the tiles by the names that the formula gives them: b, or b1, b2, ... if there are several."""
        found: list[Edge] = []
        for edge in (edge for item in self.steps for edge in item.edges):
            if edge.degree and edge not in found:
                found.append(edge)
        names = ["b"] if len(found) == 1 else [f"b{at}" for at in range(1, len(found) + 1)]
        names = [unused_name(name, self.program.parameters) for name in names]
        return {symbol(name): edge for name, edge in zip(names, found, strict=True)}

    @cached_property
    def formula(self) -> sympy.Expr:
        """The loads in the parameters and the edges of the tiles."""
        names = {edge: name for name, edge in self.edges.items()}
        return sympy.Add(*(item.formula(names) for item in self.steps))

    @cached_property
    def least_capacity(self) -> sympy.Expr:
        """The least S for which the formula holds."""
        needs = [edge.least_capacity for item in self.steps for edge in item.edges]
        return max(needs, default=sympy.Integer(1))

    @cached_property
    def leading(self) -> sympy.Expr:
        """The leading term for S small against all sizes but those in ``small``, and large against these."""
        whole = self.formula.subs({name: edge.leading for name, edge in self.edges.items()})
        constants = {symbol(name): S for item in self.steps for name in (item.counts.panel, item.counts.gap)}
        whole = whole.subs(constants)  # B is free to choose, g depends on S alone
        large = [name for name in self.program.parameters if name not in self.small]
        return simplified(leading_term(whole, large))

    def value(self, sizes: Mapping[str, int]) -> float:
        """Return loads that suffice at ``sizes`` (every parameter, and ``S``)."""
        parameters = {name: sizes[name] for name in self.program.parameters}
        return exact_amount(sum(item.loads(parameters, sizes["S"]) for item in self.steps))

    def instead(self, steps: Mapping[str, AnyStep]) -> UpperBound:
        """Return the order with other orders of some phases, by their first statements."""
        return replace(self, steps=tuple(steps.get(item.names[0], item) for item in self.steps))

    def without_cache(self, sizes: Mapping[str, int]) -> int:
        """Return the loads at ``sizes`` if nothing is ever kept: every operand of every instance."""
        return sum(item.counts.at(sizes)(item.plain.every_use) for item in self.steps)

    def value_bytes(self, sizes: Mapping[str, int]) -> float:
        """Return bytes that suffice at ``sizes``, S being words, each element as wide as its array says."""
        parameters = {name: sizes[name] for name in self.program.parameters}
        widths = {name: item.element_bytes for name, item in self.program.arrays.items()}
        return exact_amount(sum(item.loads_bytes(parameters, sizes["S"], widths) for item in self.steps))


@public
def upper_bound(
    program: Program,
    *,
    flow: DataFlow | None = None,
    small: tuple[str, ...] = (),
    search: Search | None = None,
) -> UpperBound:
    """Return a tiled order of ``program`` with its loads as a formula.

    It is chosen for S small against all sizes; parameters in ``small`` are constants, small against S. Where ``search``
    ends early, what is not tiled yet runs in program order and keeps nothing.

    Parameters
    ----------
    program : Program
        The program.
    flow : DataFlow | None
        Its dependences, if they are known already.
    small : tuple[str, ...], default ()
        Names of parameters that are small against S.
    search : Search | None
        What limits and interrupts the search.

    Returns
    -------
    UpperBound
        The order, its tiles, and its loads as a formula.

    Raises
    ------
    OutOfEffortError
        If the search ends before the uses of values are counted.

    Examples
    --------
    >>> from shorthaul.affine.workloads.cases import kernel
    >>> upper_bound(kernel("gemm")).leading
    2*NI*NJ*NK/sqrt(S)
    """
    with effort.charged_to(search or Search()):
        formulas = Formulas(flow_dependences(program) if flow is None else flow, small)
        return formulas.further()


class Formulas:
    """The search for an order for all sizes; what is known of phases is remembered, so it may be gone on with.

    ``found`` is the best order so far, ``plain`` the program order with all uses loaded. The search ``is_done`` once
    nothing was cut short.
    """

    def __init__(self, flow: DataFlow, small: tuple[str, ...] = ()) -> None:
        self.flow, self.small, self.is_done = flow, small, False
        self.counts, self.turning = Counts(flow, small), Turning(flow, small)
        self.reads = {item.name: reads_of(flow, item.name) for item in flow.program.statements}
        self._known: dict[frozenset[str], AnyStep] = {}
        self._cut: set[frozenset[str]] = set()
        self._tried: _Tried = {}
        self.parts = components(flow)
        # counts what it needs, which is remembered
        plain = [untiled(names, self.reads, self.counts) for names in self.parts]
        self.found = self.plain = self._ordered(plain)

    def further(self) -> UpperBound:
        """Return the best order once the search has gone on, to its end or to that of its effort."""
        self._known = {key: step for key, step in self._known.items() if key not in self._cut}
        self._cut = set()
        steps = _fused(self.flow, [self._best_step(names) for names in self.parts], self._best_step)
        made = self._ordered(steps)
        rates = [sum(item.rate for item in order.steps) for order in (made, self.found)]
        self.found = made if rates[0] < rates[1] else self.found
        self.is_done = not effort.is_out_of_effort() and not self._cut
        return self.found

    def _ordered(self, steps: Sequence[AnyStep]) -> UpperBound:
        return UpperBound(self.flow.program, tuple(in_order(self.flow, steps)), self.small)

    def _best_step(self, names: Iterable[str]) -> AnyStep:
        key = frozenset(names)
        if key not in self._known:
            ordered = [item.name for item in self.flow.program.statements if item.name in key]
            self._known[key] = plain = untiled(ordered, self.reads, self.counts)
            with suppress(effort.OutOfEffortError):
                self._known[key] = _in_turns(_tiled(self.flow, plain, self.reads, self._tried), self.turning)
            if effort.is_out_of_effort():
                self._cut.add(key)
        return self._known[key]


def untiled(names: Sequence[str], reads: Mapping[str, Sequence[Read]], counts: Counts) -> Step:
    """Return the statements in program order, every use loaded."""
    mine = tuple(item for name in names for item in reads[name])
    return Step(tuple(names), None, None, sum(counts.number((item.domain,)) for item in mine), counts, mine)


#: Phases with their best policies, by their statements, their placement, and whether values are together.
_Tried = dict[tuple[object, ...], tuple[Phase, tuple[Policy, float] | None]]


def _tiled(flow: DataFlow, plain: Step, reads: Mapping[str, Sequence[Read]], known: _Tried) -> AnyStep:
    """Return the statements in the best tiled order, panels included; ``known`` is what was tried to its end."""
    names, counts, mine = plain.names, plain.counts, plain.reads

    def tried(placement: Placement, *, together: bool = True) -> tuple[Phase, tuple[Policy, float] | None]:
        key = (names, *placement.items(), together)
        if key in known:
            return known[key]
        phase = make_phase(flow, names, placement, reads, counts, together=together)
        result = phase, _tried(phase)
        if not effort.is_out_of_effort():
            known[key] = result
        return result

    made: dict[str, Step] = {}
    seen: set[tuple[tuple[Row, ...], ...]] = set()  # skewed, several placements are one
    with suppress(effort.OutOfEffortError):
        for placement in placements(counts.distances, names, reads, in_turns=True):
            first = tried(placement)
            turned = {moved(item): item for item in skewed_placements(placement, mine)} if first[0].only_chains else {}
            skewed = (
                tried(item, together=together)
                for shape, item in turned.items()
                if shape not in seen
                for together in ((True, False) if len(names) > 1 else (True,))
            )
            for phase, found in chain((first,), skewed):
                if found is not None:  # of mirror images, which load the same, one
                    key = f"{found[1]:.9g} {kind(row.factors for row in phase.placement[names[0]])}"
                    made.setdefault(key, Step(names, phase, found[0], found[1], counts, mine))
            seen |= turned.keys()
    if not made:
        return plain
    best, *others = smoothest(made.values())
    near = (item for item in others if item.phase and item.phase.is_skewed and ABOUT_THE_SAME * item.rate < best.rate)
    return _in_panels(replace(best, others=tuple(near)))


def smoothest(steps: Iterable[Step]) -> list[Step]:
    """Return steps, best first; of skewed ones that load about the same those with most statements along memory."""
    found = sorted(steps, key=lambda item: item.rate)
    most = found[0].rate * (1 + AS_SMOOTH) if found else 0

    def off_memory(step: Step) -> int:
        if step.phase is None or step.policy is None or not step.phase.is_skewed or step.rate > most:
            return 0
        return -step.phase.along_memory(step.policy.order)

    return sorted(found, key=off_memory)


def _in_panels(step: Step) -> AnyStep:
    """Return the step in panels or triangular blocks where that needs fewer loads."""
    result: AnyStep = step
    phase, counts = step.phase, step.counts
    if phase is None or len(next(iter(phase.placement.values()))) > WIDEST_PANELS:
        return step
    with suppress(isl.Error), effort.limited(PLACEMENT_OPERATIONS):
        if NEAR_THE_INPUTS * step.rate < read_from_elsewhere(counts.flow, step.names, counts.instance):
            return step
        for plan in panel_plans(phase, step.reads, step.rate):
            made = PanelStep(step, plan)
            if made.rate < result.rate * (1 - NEGLIGIBLE):
                result = made
    return result


def _in_turns(step: AnyStep, turning: Turning) -> AnyStep:
    """Return the step in groups that take turns, where its loads are many and that needs fewer."""
    if not isinstance(step, Step) or step.rate <= POOR * step.counts.number(step.every_use):
        return step
    with suppress(isl.Error), effort.limited(PLACEMENT_OPERATIONS):
        found = turning.turned(step)
        return step if found is None or found.rate >= step.rate * (1 - NEGLIGIBLE) else found
    return step


def _tried(phase: Phase) -> tuple[Policy, float] | None:
    """Return the best policy, or None if there is none or finding it costs isl too much."""
    with suppress(isl.Error), effort.limited(PLACEMENT_OPERATIONS):
        return best_policy(phase)
    return None


def components(flow: DataFlow) -> list[list[str]]:
    """Return the strongly connected components of the statements under data flow."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    names = [item.name for item in flow.program.statements]
    edges = [(names.index(item.source), names.index(item.sink)) for item in flow.flows if item.source is not None]
    rows, columns = zip(*edges, strict=True) if edges else ((), ())
    graph = coo_array((np.ones(len(edges)), (rows, columns)), shape=(len(names), len(names)))
    count, label = connected_components(graph, directed=True, connection="strong")
    return [[name for at, name in enumerate(names) if label[at] == part] for part in range(count)]


def _fused(flow: DataFlow, steps: list[AnyStep], best_step: Callable[[Iterable[str]], AnyStep]) -> list[AnyStep]:
    """Join phases that share values, as long as that saves loads and the search goes on."""
    refused: set[frozenset[str]] = set()
    while not effort.is_out_of_effort():
        total = sum(item.rate for item in steps)
        for first, second in _partners(steps, total):
            joined = closed(flow, steps, first, second)
            parts = [item for item in steps if set(item.names) <= joined]
            if joined in refused:
                continue
            made = best_step(joined)
            if made.phase is not None and made.rate < sum(item.rate for item in parts) - NEGLIGIBLE * total:
                steps = [*(item for item in steps if item not in parts), made]
                break
            refused.add(joined)
        else:
            break
    return steps


def _partners(steps: Sequence[AnyStep], total: float) -> Iterator[tuple[AnyStep, AnyStep]]:
    """Return the pairs of phases with many uses of the same array, or of values that one of them computes."""
    shared = [
        {key for key, uses in item.uses_of.items() if uses > NEGLIGIBLE * total} | set(item.names) for item in steps
    ]
    for a, b in combinations(range(len(steps)), 2):
        if shared[a] & shared[b]:
            yield steps[a], steps[b]


def closed(flow: DataFlow, steps: Sequence[AnyStep], first: AnyStep, second: AnyStep) -> frozenset[str]:
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


def in_order(flow: DataFlow, steps: Sequence[AnyStep]) -> list[AnyStep]:
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
    result: list[AnyStep] = []
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
