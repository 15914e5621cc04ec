"""Lower bounds on the latency of every schedule."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from shorthaul.core.amounts import TOLERANCE, Bound
from shorthaul.core.search import LEAST_PART, Search
from shorthaul.core.searching.tasks import run_tasks
from shorthaul.tensor.bounds.columns import Program, has_columns, has_turns, is_too_wide
from shorthaul.tensor.bounds.fronts import narrow_order
from shorthaul.tensor.bounds.parts import (
    PartPrograms,
    is_covered,
    is_idle,
    part_prices,
    parts_effort,
    passes,
    stage,
)
from shorthaul.tensor.bounds.prices import Prices, keep
from shorthaul.tensor.bounds.separation import ordered_prices
from shorthaul.tensor.bounds.streaming import Price, Streams
from shorthaul.tensor.cost_model.profile import TILE
from shorthaul.tensor.model import Problem, Rules
from shorthaul.tensor.plan import Plan
from shorthaul.tensor.tuning import BUILDING_SHARE, PROVEN_ALONE

#: The bounds by formula among the details of a bound, and the method of one that has a certificate.
BY_FORMULA: Final = ("compute", "boundary_traffic", "streamed_operands")
CERTIFIED: Final = "linear program over subgraphs"
#: The share of the effort in which linear programs are solved, before the integer program.
_PRICING: Final = 0.85
#: The effort whose share goes into an order, to see whether there are far too many groups.
_ORDERING: Final = 2.0
#: Where all groups leave a gap above this, with more operators than these, parts of groups are priced before them in
#: each pass but the first: so many times what that takes at least, unless that is more than this share of the pass.
_FEW: Final = 20
_NEAR: Final = 0.02
_KEPT: Final = 1.5
_MOST_KEPT: Final = 0.4


def lower_bound(problem: Problem, rules: Rules, search: Search | None = None) -> Bound:
    """Return the largest of these bounds on the latency: compute, boundary traffic, streamed operands.

    ``details`` holds all of them. Streamed operands are left out where ``search`` ends before they are found.

    >>> from shorthaul.tensor.workloads.cases import example_1
    >>> from shorthaul.tensor.model import SPEC
    >>> lower_bound(example_1(), SPEC).value
    3276.8
    """
    machine = problem.machine
    search = Search() if search is None else search
    streams = Streams(problem, rules, search)
    compute = math.fsum(streams.compute(operator) for operator in range(len(problem.operators)))
    boundary = _boundary(problem)
    streamed = _streamed(problem, streams, search)
    traffic = boundary / machine.bandwidth
    values = dict(zip(BY_FORMULA, (compute, traffic, streamed.value), strict=True))
    found = max(BY_FORMULA, key=lambda name: values[name])
    method, value = found.replace("_", " "), values[found]
    proofs = {
        "compute": (
            f"Every operator runs at least once, {compute:.12g} of compute in native tiles, padded along axes "
            "that no MatMul asks for unpadded, and no step takes less than its compute."
        ),
        "boundary traffic": (
            f"Every graph input in use is loaded and every graph output stored at least once, {boundary:.12g} elements "
            f"or {traffic:.12g} at this bandwidth, and no step takes less than its traffic."
        ),
        "streamed operands": streamed.proof,
    }
    return Bound("latency", value, method, f"Under the rules '{rules.name}': {proofs[method]}", values)


class _Proving:
    """The programs so far; ``best`` are the best prices that are proven, ``program`` the one over all groups.

    ``floor`` is a bound that is known; ``plan`` is a plan that takes ``latency``, if there is one.
    """

    def __init__(
        self, problem: Problem, rules: Rules, floor: float, plan: Plan | None = None, latency: float = math.inf
    ) -> None:
        self._problem = problem
        self._rules = rules
        self._floor = floor
        self._plan = plan
        self._latency = latency
        self._parts = PartPrograms(problem, rules, plan)
        self._has_begun = False  #: whether all groups had a pass
        self._is_hopeless = False  #: whether there are too many groups for any effort
        self.program: Program | None = None
        self.best: Prices | None = None

    def resume(self, program: Program) -> None:
        """Go on with a program."""
        self.program = program

    def run(self, search: Search, *, has_parts: bool = True) -> None:
        """Go on in passes until ``search`` ends or nothing is left to do; ``has_parts`` is false without them."""
        for part in passes(self._problem, search):
            self.go_on(part, has_parts=has_parts)
            if self._is_done() or (self._is_hopeless and not has_parts):
                break
            if is_idle(part) and (self.program is not None or self._is_hopeless or not is_covered(part)):
                break

    def go_on(self, search: Search, *, has_parts: bool = True) -> None:
        """Raise the best prices within ``search``."""
        if self.program is None and not self._is_hopeless:
            self._build(search)
        kept = _KEPT * parts_effort(self._problem) / max(search.left(), LEAST_PART)
        if has_parts and self._has_begun and kept <= _MOST_KEPT and self._is_open():
            self._price_parts(search.part(kept))
        if self.program is not None:
            self._has_begun = True
            self._note(self.program.solve(search, self._plan), search)
            if not (math.isinf(self._latency) or self.program.is_ordered):
                self.program, better = ordered_prices(self.program, search, self._latency)
                self._note(better, search)
        elif has_parts:
            self._price_parts(search)

    def _price_parts(self, search: Search) -> None:
        self._parts.go_on(search)
        self._note(self._parts.best, search)

    def _is_open(self) -> bool:
        """True if parts may raise the best prices by as much as is worth it."""
        if self.program is None or len(self._problem.operators) <= _FEW:
            return False
        return not self.program.is_proven() and self._value() < (1 - _NEAR) * self._latency

    def _build(self, search: Search) -> None:
        order = narrow_order(self._problem, search)
        if is_too_wide(self._problem, order, search.left()):
            return
        begun = search.spent()
        program = Program(self._problem, self._rules, search, order=order)
        if program.diagram.is_complete:
            self.program = program
        elif search.effort is not None and search.spent() - begun < BUILDING_SHARE * (search.effort - begun):
            self._is_hopeless = True  # it has too many nodes

    def _is_done(self) -> bool:
        """True if no more effort raises the best prices."""
        if self._value() >= self._latency:
            return True
        program = self.program
        return program is not None and program.is_proven() and (program.is_ordered or math.isinf(self._latency))

    def _value(self) -> float:
        return self._floor if self.best is None else max(self._floor, self.best.value)

    def _note(self, prices: Prices | None, search: Search) -> None:
        if prices is not None and (self.best is None or prices.value > self.best.value):
            self.best = prices
            keep(search, prices)


class Proof(NamedTuple):
    """A bound, the groups of operators of a plan that its linear program suggests, in order, if it does; and that."""

    bound: Bound
    groups: list[tuple[int, ...]] | None
    program: Program | None = None


def prove(
    problem: Problem,
    rules: Rules,
    search: Search,
    plan: Plan | None = None,
    latency: float = math.inf,
    *,
    earlier: Proof | None = None,
) -> Proof:
    """Return the larger of :func:`lower_bound` and the linear program over all subgraphs, as far as ``search`` gets.

    The details of the latter hold its certificate: the dual prices. ``plan`` is one known, which takes ``latency``; if
    the bound does not meet that, an integer program over the columns generated suggests other groups. What an
    ``earlier`` proof has is gone on from.

    >>> from shorthaul.tensor.workloads.cases import example_5
    >>> from shorthaul.tensor.model import CONTEST
    >>> round(prove(example_5(), CONTEST, Search(effort=1)).bound.value, 1)
    6734.4
    """
    if earlier is None:
        bound = lower_bound(problem, rules, search)
        if bound.is_met_by(latency) or search.expired() or not has_columns(problem, rules):
            return Proof(bound, None)
    else:
        bound = earlier.bound
        if bound.is_met_by(latency):
            return Proof(bound, None)
    proving = _Proving(problem, rules, bound.value, plan, latency)
    has_parts = has_turns(problem, rules)
    if earlier is None or earlier.program is None:
        proving.run(search if math.isinf(latency) else search.part(_PRICING), has_parts=has_parts)
    else:
        proving.resume(earlier.program)
        proving.go_on(search.part(_PRICING), has_parts=False)
    if proving.best is None:
        return Proof(bound, None)
    program = proving.program
    bound = _larger(bound, proving.best, rules)
    if program is None or not has_parts or math.isinf(latency) or bound.is_met_by(latency) or search.expired():
        return Proof(bound, None, program)
    from shorthaul.tensor.bounds.integer import chosen_groups

    return Proof(bound, chosen_groups(program, search, latency), program)


@dataclass(frozen=True, slots=True)
class _Way:
    """Linear programs whose prices are a bound: over all groups, or over those that fall into parts."""

    problem: Problem
    rules: Rules
    floor: float
    is_whole: bool


class _Priced(NamedTuple):
    """What linear programs prove, and whether no other ones prove more."""

    prices: Prices | None
    is_best: bool = False


def prove_in_tasks(problem: Problem, rules: Rules, search: Search) -> Bound:
    """Return the bound of :func:`prove` without a plan; parts begin before it is known that all groups are too many.

    What they find is left out where all groups are few enough, so that it is the same however many tasks run at once.
    """
    if len(problem.operators) <= PROVEN_ALONE:
        return prove(problem, rules, search).bound
    bound = lower_bound(problem, rules, search)
    if search.expired() or not has_columns(problem, rules):
        return bound
    order = narrow_order(problem, stage(search, _ORDERING))
    if is_too_wide(problem, order, math.inf):
        best = part_prices(problem, rules, search)
    else:
        ways = [_Way(problem, rules, bound.value, is_whole) for is_whole in (True, False)]
        weights = [len(ways) * share for share in (1.0, 1 - BUILDING_SHARE)]
        found = dict(run_tasks(_priced, ways, search=search, shares_time=False, weights=weights, enough=_is_best))
        taken = [found[0]] if 0 in found and found[0].is_best else [found[number] for number in sorted(found)]
        some = [priced.prices for priced in taken if priced.prices is not None]
        best = max(some, key=lambda prices: prices.value, default=None)
    return bound if best is None else _larger(bound, best, rules)


def _priced(way: _Way, search: Search) -> _Priced:
    if not way.is_whole:
        return _Priced(part_prices(way.problem, way.rules, search))
    proving = _Proving(way.problem, way.rules, way.floor)
    proving.run(search, has_parts=False)
    return _Priced(proving.best, proving.program is not None and proving.program.is_proven())


def _is_best(priced: _Priced) -> bool:
    return priced.is_best


def _larger(bound: Bound, prices: Prices, rules: Rules) -> Bound:
    """Return the bound by prices if it is not less: of two alike, the one with a certificate."""
    if prices.value < bound.value * (1 - TOLERANCE):
        return bound
    details = {**bound.details, "linear_program": prices.value, "certificate": prices.document()}
    proof = certified_proof(prices.value, rules, is_cut=prices.parts is not None)
    return Bound("latency", prices.value, CERTIFIED, proof, details)


def certified_proof(value: float, rules: Rules, *, is_cut: bool) -> str:
    """Return what a certificate proves, in words; ``is_cut`` if it cuts groups into parts."""
    parts = ""
    if is_cut:
        parts = (
            " A set that is connected over links that are cut is as dear as its parts at least, each at a mean of its "
            "compute and its traffic with the weight of the shape of its outputs: what one of them makes for another "
            "is priced, and what several load is divided among all that may load it."
        )
    demands = "either runs the taker where the tensor is made, or stores it, or retains it"
    if not rules.retains_inputs:
        demands = (
            "either runs the taker where the tensor is made or resident, or stores it; a tensor is found resident no "
            "more often than it is retained"
        )
    return (
        f"Under the rules '{rules.name}': every plan covers every operator, and for every tensor that one operator "
        f"takes from another {demands}. The certificate prices these demands. For no connected set "
        "of operators, whatever it finds resident and retains, do the prices of what it serves exceed its "
        "least latency over all granularities and orders; so no plan takes less than all demands are worth, "
        f"{value:.12g}.{parts}"
    )


def _boundary(problem: Problem) -> int:
    loaded = [tensor for tensor in problem.graph_inputs if problem.consumers[tensor]]
    stored = [tensor for tensor in problem.graph_outputs if problem.producer[tensor] is not None]
    return sum(problem.tensors[tensor].size for tensor in [*loaded, *stored])


class _Streamed(NamedTuple):
    value: float
    proof: str


def _streamed(problem: Problem, streams: Streams, search: Search) -> _Streamed:
    """Return the bound from the prices of :class:`Streams`, at the best weight of compute against traffic."""
    bandwidth = problem.machine.bandwidth
    prices: list[list[Price]] = []
    for operator in range(len(problem.operators)):
        if not streams.is_complete or search.expired():
            return _Streamed(0.0, "The time was up before it was found.")
        prices.append(streams.prices(operator))
    # Every graph output is stored by its producer; no slice of these graph inputs is among those streamed.
    stored = [tensor for tensor in problem.graph_outputs if problem.producer[tensor] is not None]
    unclaimed = [t for t in problem.graph_inputs if problem.consumers[t] and streams.kinds[t] <= {(TILE, TILE)}]
    fixed = Price(0.0, float(sum(problem.tensors[tensor].size for tensor in [*stored, *unclaimed])))
    prices.append([fixed])

    compute, traffic = np.array([price for roles in prices for price in roles]).T
    first = np.cumsum([0, *map(len, prices[:-1])])

    def total(weight: float) -> float:
        each = np.minimum.reduceat(weight * compute + (1 - weight) * traffic / bandwidth, first)
        return math.fsum(each.tolist())

    low, high = 0.0, 1.0
    best = max((0.0, 1.0), key=total)
    for _ in range(40):  # a sum of minima of linear functions is concave
        left, right = low + (high - low) / 3, high - (high - low) / 3
        best = max((best, left, right), key=total)
        if total(left) < total(right):
            low = left
        else:
            high = right
    value = total(best)
    sinks = sum(roles[0].traffic for roles in prices)
    return _Streamed(
        value,
        "no step takes less than any weighted mean of its compute and its traffic; here compute weighs "
        f"{best:.6g}. An operator is either a sink, and then every tile of its output has the whole reduction of each "
        "operand pass by, part by part, unless the operand fits into fast memory whole "
        f"(at most {sinks:.12g} elements for all of them, graph outputs included), or it is above another MatMul and "
        "computed again in every tile. Slices that several operators may use are divided among them. What a MatMul "
        "has to read back is stored. The least of its "
        f"roles, summed over all operators, is {value:.12g}.",
    )
