"""The smallest budget: in a free or given order, in place, with recomputation, and what is proven of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from shorthaul.core.amounts import Bound
from shorthaul.core.errors import InputError
from shorthaul.core.search import Search
from shorthaul.pebble import tuning
from shorthaul.pebble.bounds.best import accumulated_bound
from shorthaul.pebble.exact import least_memory, least_memory_by_events
from shorthaul.pebble.model import Cdag, Terms
from shorthaul.pebble.options import GIVEN, MemoryOptions
from shorthaul.pebble.orders import belady, layer_by_layer
from shorthaul.pebble.request import Found, Request
from shorthaul.pebble.strategy.traffic import algorithmic_bound, find_plan, lower_bound
from shorthaul.pebble.structured import matrix_vector, tree_cuts, tree_recursion
from shorthaul.pebble.structured.forest import as_forest, twins_are_light
from shorthaul.pebble.verbs.terms import expect_alone, expect_order


def terms_of(options: MemoryOptions) -> Terms:
    """Return the game that is asked for; raises :class:`InputError` where something does not go with it."""
    terms = Terms(in_order=options.order == GIVEN, in_place=options.in_place, partial=options.partial)
    expect_alone(terms, recompute=options.recompute)
    flags = {"--order given": terms.in_order, "--in-place": terms.in_place, "--partial": terms.partial}
    for flag, is_asked in flags.items():
        if is_asked and options.method != "auto":
            raise InputError(f"cannot be combined with {flag}", place="--method", cure="leave one of the two out")
    return terms


def in_order(cdag: Cdag, options: MemoryOptions, terms: Terms, search: Search) -> tuple[int, Found, Bound]:
    """Return the least budget in the order of the nodes, the plan there, and that no budget below is enough.

    While a node is computed, the memory holds its operands and result, what was computed or loaded before and is read
    later; in place, the result may take the room of an operand that is not. The plan never holds more: inputs are
    loaded when they are first read, values dropped after the last time. Where values may be computed again, less may be
    enough: that is searched for from there.
    """
    expect_order(cdag)
    plan = belady.replay_order(cdag, int(cdag.weights.sum()), cdag.order)
    proof = "In this order, so much is held while one of the nodes is computed: operands, result, what is read later."
    if terms.in_place:
        plan = least_memory_by_events.in_terms(cdag, plan, terms)
        proof += " The result takes the room of an operand that is not read later, if it fits."
    budget = least_memory.peak_of(cdag, plan, in_place=terms.in_place)
    found, bound = Found(plan, "given order", algorithmic_bound(cdag)), Bound("budget", budget, "given order", proof)
    if not options.recompute:
        return budget, found, bound
    usual = memory_bound(cdag, budget, 0, options, search.part(0.4, unlimited=2 * tuning.STEP_EFFORT))
    return in_terms(cdag, found, usual, terms, options, search)


def in_terms(
    cdag: Cdag, start: Found, usual: Bound, terms: Terms, options: MemoryOptions, search: Search
) -> tuple[int, Found, Bound]:
    """Return the smallest budget found from a plan, the plan there, and a bound on it, from ``memory_bound``'s."""
    slack = terms.slack(cdag)
    known = int(usual.value) - slack
    done = least_memory_by_events.search_least(
        cdag, start.plan, terms, least=known, search=search, recompute=options.recompute
    )
    told = "A value and its largest operand" if terms.partial else "One operation, its operands and its result"
    room = ", in the room of an operand if it fits, fill this much." if terms.in_place else " fill this much."
    bound = Bound("budget", done.least, "largest operation", told + room)
    if done.least > max(known, int(terms.needs(cdag).max())):
        proof = "A search over all plans that move inputs and outputs only found none with less."
        bound = Bound("budget", done.least, "exhausted search", proof)
    elif done.least == known:
        proof = f"{usual.proof} That is where results stand beside operands: {slack} more makes up for it."
        bound = Bound("budget", done.least, usual.method, proof if slack else usual.proof)
    method = start.method if terms.is_usual or terms.in_order else "least-memory search"
    return done.budget, Found(done.plan, method, bound), bound


def in_any_order(cdag: Cdag, options: MemoryOptions, search: Search) -> tuple[int, Found, int]:
    """Return the smallest budget found, the plan there, and a budget below which a search has excluded all plans."""
    budget = _closed_form(cdag, options.method)
    if budget is not None:
        method = "tree-cuts" if options.method == "liu" else options.method
        return budget, find_plan(Request(cdag, budget, options.recompute, search.aside()), method), 0
    part = search.part(0.6, unlimited=2 * tuning.STEP_EFFORT)
    if options.method != "auto":
        return *_bisected(cdag, options.method, options, part), 0
    _, found = _bisected(cdag, "quick", options, part.part(0.3))
    done = least_memory.search_least(cdag, found.plan, search=part.part(tuning.LEAST_MEMORY_USUAL))
    free = replace(cdag, compute=np.zeros(cdag.n, dtype=np.int64))  # only what is moved counts
    done = least_memory_by_events.lowered(free, done, Terms(), search=part, recompute=False)
    method = found.method if done.plan is found.plan else "least-memory search"
    return done.budget, Found(done.plan, method, found.bound), 0 if options.recompute else done.least


def _closed_form(cdag: Cdag, method: str) -> int | None:
    """Return the budget where a formula or Liu's order gives it."""
    rules: dict[str, Callable[[], int]] = {
        "dwt": lambda: tree_recursion.least_memory(cdag, method="dwt"),
        "tree": lambda: tree_recursion.least_memory(cdag),
        "tree-cuts": lambda: tree_cuts.least_memory(cdag),
        "liu": lambda: tree_cuts.least_memory(cdag),
        "mvm-tiling": lambda: matrix_vector.least_memory(cdag),
        "layer-by-layer": lambda: layer_by_layer.least_memory(cdag),
        "layer-by-layer-freeing": lambda: layer_by_layer.least_memory(cdag, freeing=True),
    }
    if method == "auto":
        if as_forest(cdag) is not None:
            return tree_cuts.least_memory(cdag)
        return matrix_vector.least_memory(cdag) if matrix_vector.recognise(cdag) is not None else None
    return rules[method]() if method in rules else None


def _bisected(cdag: Cdag, method: str, options: MemoryOptions, search: Search) -> tuple[int, Found]:
    """Return the smallest budget found at which the method meets the algorithmic bound, and its plan there.

    Budgets are multiples of the weights' divisor.
    """
    unit = int(np.gcd.reduce(cdag.weights))
    low, high = cdag.least_budget() // unit, int(cdag.weights.sum()) // unit
    best: Found | None = None
    while low < high:
        middle = (low + high) // 2
        part = search.part(1 / max(1, (high - low).bit_length()), unlimited=tuning.STEP_EFFORT).aside()
        found = find_plan(Request(cdag, middle * unit, options.recompute, part), method)
        if found.plan.traffic(cdag.weights) == cdag.algorithmic_bound():
            high, best = middle, found
            search.keep(high * unit, found.plan)
        else:
            low = middle + 1
        if search.expired():
            break
    if best is None:
        best = find_plan(Request(cdag, high * unit, options.recompute, search.aside()), method)
    return high * unit, best


def memory_bound(
    cdag: Cdag, budget: int, excluded: int, options: MemoryOptions, search: Search, *, partial: bool = False
) -> Bound:
    """Return the best lower bound on the budget; ``excluded`` is one that a search has proven, or 0.

    It is one for results that stand beside their operands, or, with ``partial``, for values that are accumulated.
    """
    forest = as_forest(cdag)
    if not partial and forest is not None and twins_are_light(cdag, forest):
        return Bound(
            of="budget",
            value=tree_cuts.least_memory(cdag),
            method="Liu's order",
            proof="Without spilling, the trees can be computed one after another, each in Liu's order, which needs "
            "the least memory (Liu 1987).",
        )
    mvm = matrix_vector.recognise(cdag)
    if not partial and mvm is not None:
        return matrix_vector.memory_bound(cdag, mvm)
    least, goal = int(Terms(partial=partial).needs(cdag).max()), cdag.algorithmic_bound()
    unit = int(np.gcd.reduce(cdag.weights))
    low, high = max(least, excluded) // unit, budget // unit
    method = "exhausted search" if excluded > least else ""
    search = search.part(0.5, unlimited=tuning.STEP_EFFORT).aside()
    while low < high and not search.expired():  # the smallest budget whose traffic bound does not exclude the goal
        middle = (low + high) // 2
        part = search.part(1 / max(1, (high - low).bit_length()))
        request = Request(cdag, middle * unit, options.recompute, part)
        bound = accumulated_bound(cdag, request.budget, search=part) if partial else lower_bound(request)
        if bound.value > goal:
            low, method = middle + 1, bound.method
        else:
            high = middle
    if not method:
        return Bound(
            of="budget",
            value=least,
            method="largest operation",
            proof="One operation, its operands and its result fill this much (Proposition 2.3).",
        )
    return Bound(
        of="budget",
        value=low * unit,
        method=method if low * unit == excluded else f"traffic bound ({method})",
        proof=f"With less, the traffic is above the weight of inputs and outputs: {method}.",
    )
