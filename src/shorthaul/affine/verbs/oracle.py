"""The validity oracle: everything a bound rests on, compared with brute force at small sizes.

(a) the bound against exact play on tiny CDAGs; (b) every U(K) against the largest part that an integer program finds;
(c) the bound against Belady's replacement on the program order, on the derived order and on tiled orders, and the
derived order against its own formula; (d) dependences, inputs and counts against execution.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import islpy as isl
import numpy as np

from shorthaul.affine import tuning
from shorthaul.affine.bounds.best import AffineBound
from shorthaul.affine.bounds.partition.parts import sets_of
from shorthaul.affine.check.largest_part import largest_part
from shorthaul.affine.check.plan_check import same_cdag
from shorthaul.affine.effort import OutOfEffortError, charged_to, step
from shorthaul.affine.integer_sets.counting import card
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.integer_sets.leading_term import S
from shorthaul.affine.integer_sets.points import points
from shorthaul.affine.integer_sets.quasi_polynomial import symbol
from shorthaul.affine.orders.upper_bound import UpperBound, upper_bound
from shorthaul.affine.replay.cdag import ConcreteCdag, concrete_cdag
from shorthaul.affine.replay.tile_order import best_origin
from shorthaul.affine.replay.tiling import Tiling, best_tiling, tile_space
from shorthaul.affine.sizes import FAST_MEMORY, sizes_text
from shorthaul.affine.tuning import (
    LARGEST_EXACT,
    LARGEST_EXECUTION,
    LARGEST_ORDER,
    MOST_STATES,
    PART_CAPACITIES,
    PART_VERTICES,
)
from shorthaul.core.amounts import TOLERANCE
from shorthaul.core.check import Violation
from shorthaul.core.search import Search
from shorthaul.graphs.replay import least_loads


@dataclass(frozen=True, slots=True)
class Comparison:
    """One bound value beside the loads of one way to play, at one size."""

    sizes: str
    how: str
    bound: float
    loads: int
    proven: bool  #: the loads are the least possible

    @property
    def holds(self) -> bool:
        """True if the bound does not exceed the loads."""
        return self.bound <= self.loads + TOLERANCE * max(1.0, abs(self.loads))


@dataclass(frozen=True)
class Findings:
    """What the oracle compared, and what was wrong."""

    comparisons: list[Comparison]
    violations: list[Violation]
    remarks: list[str]


def examine(
    flow: DataFlow | None, bound: AffineBound, choices: Sequence[Mapping[str, int]] | None, search: Search
) -> Findings:
    """Compare at every choice of sizes, by default several small ones; several values of S where none is given.

    Where ``search`` ends early the comparisons made so far are returned.
    """
    found = Findings([], [], [])
    try:
        with charged_to(search):
            if flow is not None:
                _compare(flow, bound, choices, search, found)
    except OutOfEffortError:
        pass
    if search.expired():
        found.remarks.append("stopped early: more sizes are compared with more time")
    return found


def _compare(
    flow: DataFlow,
    bound: AffineBound,
    choices: Sequence[Mapping[str, int]] | None,
    search: Search,
    findings: Findings,
) -> None:
    comparisons, violations, remarks = findings.comparisons, findings.violations, findings.remarks
    parts_done = False
    upper = upper_bound(flow.program, flow=flow, search=search)
    for sizes in default_sizes(flow) if choices is None else choices:
        step()
        parameters = {name: value for name, value in sizes.items() if name in flow.program.parameters}
        cdag = concrete_cdag(flow.program, parameters, flow)
        if cdag.n == cdag.inputs:
            remarks.append(f"at {sizes_text(parameters)} nothing is executed")
            continue
        violations += _dependences(flow, parameters, cdag, remarks)
        if not parts_done and cdag.n in PART_VERTICES:
            parts_done = True
            violations += _parts(bound, parameters, cdag, remarks, search)
        for capacity in [sizes[FAST_MEMORY]] if FAST_MEMORY in sizes else _capacities(cdag):
            given = {**parameters, FAST_MEMORY: capacity}
            if capacity < least_capacity(cdag):
                remarks.append(f"{sizes_text(given)}: an operation needs {least_capacity(cdag)} words")
                continue
            step()
            for item in _plays(flow, given, cdag, bound.value(given), search):
                comparisons.append(item)
                if not item.holds:
                    message = f"{item.how} needs {item.loads} loads, the bound says {item.bound:g}"
                    violations.append(Violation("bound-beaten", item.sizes, message, item.bound, item.loads))
            item = _derived(upper, given, cdag, bound.value(given), search)
            comparisons.append(item)
            promised = upper.value(given)
            if not item.holds or item.loads > promised + TOLERANCE * promised or promised < item.bound:
                message = f"derived order: {item.loads} loads, by its formula {promised:g}, the bound is {item.bound:g}"
                violations.append(Violation("upper-bound-wrong", item.sizes, message, item.bound, item.loads))


def least_capacity(cdag: ConcreteCdag) -> int:
    """Return the least S with which every operation fits."""
    return int(np.diff(cdag.starts).max(initial=0)) + 1


def _capacities(cdag: ConcreteCdag) -> list[int]:
    least = least_capacity(cdag)
    return sorted({least, least + 1, 2 * least, 4 * least, 16 * least} & set(range(max(cdag.n, least) + 1)))


def _dependences(
    flow: DataFlow, sizes: Mapping[str, int], cdag: ConcreteCdag, remarks: list[str]
) -> Iterator[Violation]:
    where = sizes_text(sizes)
    instances = sum(card(item.domain).at(sizes) for item in flow.program.statements)
    inputs = sum(card(item).at(sizes) for item in flow.inputs.values())
    for what, formula, counted in (
        ("instances", instances, cdag.n - cdag.inputs),
        ("inputs", inputs, cdag.inputs),
    ):
        if formula != counted:
            yield Violation("wrong-count", where, f"the formula for {what} differs from the count", counted, formula)
    if cdag.n > LARGEST_EXECUTION:
        remarks.append(f"{where}: too large for execution instance by instance ({cdag.n} vertices)")
        return
    labels = [cdag.label(vertex) for vertex in range(cdag.n)]
    sinks = np.repeat(np.arange(cdag.n), np.diff(cdag.starts)).tolist()
    edges = {(labels[a], labels[b]) for a, b in zip(cdag.operands.tolist(), sinks, strict=True)}
    for problem in same_cdag(flow.program, sizes, edges, set(labels[: cdag.inputs])):
        yield Violation("wrong-dependence", where, problem)


def _parts(
    bound: AffineBound, sizes: Mapping[str, int], cdag: ConcreteCdag, remarks: list[str], search: Search
) -> Iterator[Violation]:
    """Compare U(K) of every partition argument with the exact maximum."""
    where, compared = sizes_text(sizes), 0
    vertices = {cdag.label(vertex): vertex for vertex in range(cdag.n)}
    for number, part in enumerate(bound.proof.parts, 1):
        if part.points is None or part.sources is None:
            continue
        counted, inside = np.zeros(cdag.n, dtype=np.bool_), np.ones(cdag.n, dtype=np.bool_)
        counted[[vertices[label] for label in _labels(part.points, sizes)]] = True
        inside[[vertices[label] for label in _labels(part.sources, sizes) if label in vertices]] = (
            False  # walls are none
        )
        inside[: cdag.inputs] = False
        for capacity in PART_CAPACITIES:
            at = {symbol(name): value for name, value in sizes.items()} | {S: capacity}
            limit = int(part.facts["K"].subs(at))
            most = float(part.facts["U"].subs(at))
            step()
            found, proven, nodes = largest_part(
                cdag.starts,
                cdag.operands,
                inside,
                counted,
                limit,
                nodes=tuning.PART_NODES,
                deadline_s=search.remaining_s(),
            )
            search.spend(nodes / tuning.PART_NODES_PER_EFFORT)
            if proven and found > most + TOLERANCE:
                message = f"part [{number}]: {found} instances fit into one segment of K = {limit}, U says {most:g}"
                yield Violation("part-too-large", where, message, most, found)
            compared += proven
    if compared:
        remarks.append(f"{where}: {compared} values of U(K) are at least the exact maximum")


def _labels(union: isl.UnionSet, sizes: Mapping[str, int]) -> list[str]:
    return [
        f"{item.get_tuple_name()}[{', '.join(map(str, row))}]"
        for item in sets_of(union)
        for row in points(item, sizes).tolist()
    ]


def _plays(
    flow: DataFlow, given: Mapping[str, int], cdag: ConcreteCdag, value: float, search: Search
) -> Iterator[Comparison]:
    capacity, where = given[FAST_MEMORY], sizes_text(given)
    if cdag.n <= LARGEST_EXACT:
        exact = least_loads(cdag.operand_lists(), capacity, most_states=MOST_STATES)
        if exact.proven:
            yield Comparison(where, "exact play", value, exact.loads, proven=True)
            return
    if cdag.n > LARGEST_ORDER:
        return
    space = tile_space(flow.program, given, cdag)
    yield Comparison(where, "program order", value, space.loads(Tiling(), capacity), proven=False)
    tiling, loads = best_tiling(space, capacity, search, evaluations=60, floor=value)
    yield Comparison(where, space.describe(tiling), value, loads, proven=False)


def _derived(
    upper: UpperBound, given: Mapping[str, int], cdag: ConcreteCdag, value: float, search: Search
) -> Comparison:
    _, loads = best_origin(upper, cdag, given, search, floor=value, tries=1)
    return Comparison(sizes_text(given), "derived order", value, loads, proven=False)


def default_sizes(flow: DataFlow, *, largest: int = 3_000) -> list[dict[str, int]]:
    """Return small sizes at which to compare: all parameters equal, and two uneven choices."""
    names = flow.program.parameters
    even = [dict.fromkeys(names, value) for value in (1, 2, 3, 4, 5, 6, 8, 12, 16, 24)]
    uneven = [
        {name: values[at % len(values)] for at, name in enumerate(names)}
        for values in product((3, 7), (5, 4), (6, 9))
        if len(names) > 1
    ]
    kept = []
    for sizes in [*even, *uneven[::3]]:
        instances = sum(card(item.domain).at(sizes) for item in flow.program.statements)
        if 0 < instances <= largest:
            kept.append(sizes)
    return kept
