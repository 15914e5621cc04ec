"""An upper bound as people and programs read it: formula, tiles, what is kept, and how near the lower bound is."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sympy

from shorthaul.affine.integer_sets.short_form import simple_bound
from shorthaul.affine.model import Program
from shorthaul.affine.orders.borders.held import BorderedStep
from shorthaul.affine.orders.boxes.clusters import ClusteredStep
from shorthaul.affine.orders.boxes.fixed import FixedStep
from shorthaul.affine.orders.boxes.steps import BoxStep, WholeStep
from shorthaul.affine.orders.memories.levels import LevelOrder
from shorthaul.affine.orders.memories.nested import NestedStep
from shorthaul.affine.orders.panel_policy import PanelPlan, PanelStep
from shorthaul.affine.orders.pieces.passed import PassedStep
from shorthaul.affine.orders.placement import Loops, Row
from shorthaul.affine.orders.tile_policy import Phase, Policy
from shorthaul.affine.orders.tile_steps import Edge
from shorthaul.affine.orders.turns import TurnsStep
from shorthaul.affine.orders.upper_bound import AnyStep, UpperBound
from shorthaul.affine.plan import OrderStep, UpperDocument
from shorthaul.affine.proofs.proof import shorten
from shorthaul.affine.tuning import TIGHTNESS
from shorthaul.core.amounts import digits

HOW = (
    "The phases are executed one after the other, each tile by tile; a value is kept while its group of instances is "
    "executed and loaded once per group that uses and does not compute it. The formula is the average over all origins "
    "of the tile grid, so some origin needs no more; Belady's replacement needs no more than this policy."
)


def upper_document(
    upper: UpperBound,
    lower: sympy.Expr | None,
    sizes: Mapping[str, int] | None,
    here: UpperBound | LevelOrder | None = None,
) -> UpperDocument:
    """Return the upper bound as JSON, beside the leading term ``lower`` of the lower bound, if that is known.

    ``here`` is the best order known at ``sizes``.
    """
    short = simple_bound(-upper.formula)
    result: UpperDocument = {
        "formula": str(upper.formula),
        "simple": None if short is None else {"formula": str(-short.formula), "where": list(short.where)},
        "leading": str(upper.leading),
        "tiles": {str(name): str(edge.formula) for name, edge in upper.edges.items()},
        "holds_for": f"S >= {upper.least_capacity}",
        "where": _meanings(upper),
        "tightness": None if lower is None else tightness(lower, upper.leading, upper.small),
        "steps": _steps(upper),
        "method": HOW,
    }
    if sizes is not None:
        here = here or upper
        result["value"] = here.value(sizes)
        result["value_bytes"] = here.value_bytes(sizes)
        result["without_cache"] = upper.without_cache(sizes)
        result["at_sizes"] = _steps(here)
    return result


def in_program_order(document: UpperDocument, program: Program, loads: float) -> UpperDocument:
    """Return the document with program order at its sizes, which loads so much by replay."""
    names = [item.name for item in program.statements]
    width = max(array.element_bytes for array in program.arrays.values())
    step: OrderStep = {"statements": names, "order": "program order, by replay", "kept": ["what is used next"]}
    return {**document, "value": loads, "value_bytes": loads * width, "at_sizes": [step]}


def _steps(upper: UpperBound | LevelOrder) -> list[OrderStep]:
    return [
        {"statements": list(item.names), "order": order_text(item), "kept": kept_text(item)} for item in upper.steps
    ]


def tightness(lower: sympy.Expr, upper: sympy.Expr, small: Collection[str] = ()) -> float | None:
    """Return lower / upper for leading terms, all sizes but ``small`` equal and far above S: 1 where they meet.

    None where there is nothing to compare at equal sizes, as where loops run from one size to another.

    >>> N, S = sympy.symbols("N S", positive=True)
    >>> tightness(N**3 / sympy.sqrt(S), 2 * N**3 / sympy.sqrt(S))
    0.5
    """
    return nearness(reference_value(lower, small), reference_value(upper, small))


def reference_value(leading: sympy.Expr, small: Collection[str] = ()) -> float | None:
    """Return a leading term where :func:`tightness` compares, None if it is 0 everywhere.

    >>> N, S = sympy.symbols("N S", positive=True)
    >>> reference_value(N / S) == TIGHTNESS.size / TIGHTNESS.fast_memory
    True
    """
    if leading == 0:
        return None
    others = {"S": TIGHTNESS.fast_memory, **dict.fromkeys(small, TIGHTNESS.small)}
    return float(
        leading.xreplace({item: sympy.Integer(others.get(item.name, TIGHTNESS.size)) for item in leading.free_symbols})
    )


def nearness(lower: float | None, upper: float | None) -> float | None:
    """Return lower / upper for two values of :func:`reference_value`, as :func:`tightness` does."""
    if upper is None:
        return 1.0
    return round(max(0.0, lower or 0.0) / upper, 6) if upper > 0 else None


def upper_text(document: Mapping[str, Any]) -> str:
    """Return an upper bound for the terminal."""
    tiles = ", ".join(f"{name} = {text}" for name, text in document["tiles"].items())
    lines = [f"upper:       {shorten(document['formula'])}"]
    lines.append(f"{'':12} ({document['holds_for']}{'; ' if tiles else ''}{tiles})")
    near = "" if document["tightness"] is None else f"; leading lower / upper: {document['tightness']:.4g}"
    lines.append(f"{'':12} leading: {document['leading']}{near}")
    lines += [f"{'':12} {', '.join(item['statements'])}: {item['order']}" for item in document["steps"]]
    if "value" in document:
        words, width, most = document["value"], document["value_bytes"], document["without_cache"]
        lines.append(
            f"{'':12} at the sizes given: {digits(words)} words, {digits(width)} bytes; keeping nothing: {digits(most)}"
        )
        lines += [
            f"{'':12} there, {', '.join(item['statements'])}: {item['order']}"
            for item in document["at_sizes"]
            if item not in document["steps"]
        ]
    lines[2:2] = [f"{'':12} {name}: {text}" for name, text in document["where"].items()]
    simple = document["simple"]
    if simple is not None and simple["formula"] != document["formula"]:
        lines.insert(0, f"{'at most:':12} {simple['formula']}   for {' and '.join(simple['where']) or 'all sizes'}")
    return "\n".join(lines)


def orders_text(upper: UpperBound | LevelOrder) -> str:
    """Return the order of all phases in one line."""
    tiles = [f"{name} = {edge.formula}" for name, edge in upper.edges.items()] if isinstance(upper, UpperBound) else []
    return "; ".join([*(f"{', '.join(item.names)}: {order_text(item)}" for item in upper.steps), *tiles])


def order_text(step: AnyStep) -> str:
    """Return the order of one phase in words."""
    if isinstance(step, FixedStep):
        return f"for {step.capacity} words, {order_text(step.step)}"
    if isinstance(step, WholeStep):
        return "program order, everything kept: it fits at these sizes"
    if isinstance(step, BoxStep):
        return _box_text(step)
    if isinstance(step, NestedStep):
        return _nested_text(step)
    if isinstance(step, PassedStep):
        passed = any("=" in sign for item in step.parts.pieces.values() for _, sign in item.where)
        told = "what a loop has passed comes after the rest" if passed else "one half folded onto the other"
        if step.ranges:
            return "; then ".join(map(_box_text, step.boxes))
        if len(step.boxes) > 1:
            told = f"the first panel with what it reads: {', '.join(step.boxes[0].names)}"
        return "; ".join([*map(_box_text, step.boxes), told, *_halves(step)])
    if isinstance(step, TurnsStep):
        turns = ", then ".join(f"[{', '.join(item.names)}: {order_text(item)}]" for item in step.groups)
        return "; ".join([f"step by step of the outer loop, {turns}", *_halves(step)])
    if isinstance(step, PanelStep):
        return _panels_text(step.plan)
    if step.phase is None or step.policy is None:
        return "program order, nothing kept"
    names = _coordinates(step.phase)
    order = step.policy.order
    parts = [f"for each {names[at]}" for at in order.outer]
    sizes = step.tiles if isinstance(step, BorderedStep) else step.policy.sizes(Edge.SYMBOL)
    tiles = [f"{size} of {names[at]}" for at, size in sizes.items()]
    if tiles:
        parts.append(f"tiles of {' x '.join(tiles)}")
    parts.append(f"inside by {_listed(order, names)}" if order.inner else "once")
    return ", ".join(parts)


def _nested_text(step: NestedStep) -> str:
    assert step.plain.phase is not None
    names = _coordinates(step.plain.phase)
    tiles = [" x ".join(f"{edge} of {names[at]}" for at, edge in item.items()) for item in step.tiles]
    return f"tiles of {', in these '.join(tiles)}, inside by {_listed(step.policy.order, names)}"


def _box_text(step: BoxStep) -> str:
    assert step.phase is not None
    names = _coordinates(step.phase)
    parts = []
    for item in step.boxes:
        edges = zip(item.loops, item.edges, strict=True)
        tiles = ", ".join(f"{edge} of {names[at]}" if edge > 1 else f"each {names[at]}" for at, edge in edges)
        parts.append(f"boxes of {tiles}" if tiles else "one box: everything fits")
    found = ", outermost first, found for these sizes" if step.box.loops else ""
    if isinstance(step, ClusteredStep):
        found += f", those that share rows together in {len({*step.clusters.values()})} clusters"
    parted = dict.fromkeys(step.cells[group].name for group in step.left_out or ())
    if parted:
        found += f", of {', '.join(parted)} as much held as there is room for"
    held = [array for array, _ in step.between.saved]
    if held:
        found += f", of {', '.join(held)} as much held from one visit to the next as there is room for"
    told = f"by {', '.join(names[at] for at in step.inside)}" if step.inside else "in program order"
    return f"{', in these '.join(parts)}{found}, inside {told}"


def _halves(step: TurnsStep | PassedStep) -> list[str]:
    """Return where statements are split."""
    found = set()
    for piece in step.parts.pieces.values():
        iterators = step.plain.counts.flow.program.by_name[piece.statement].iterators
        if piece.block is not None:
            iterators = ("block", *iterators)
            found.add(f"{piece.block} iterations of it at a time")
        where = " and ".join(f"{_shown(row, iterators).strip('()')} = 0" for row, _ in piece.where)
        if where:
            found.add(f"{piece.statement} split where {where}")
    two = (
        ["two iterations of it at a time"] if any(item.half is not None for item in step.parts.pieces.values()) else []
    )
    return [*two, *sorted(found)]


def _panels_text(plan: PanelPlan) -> str:
    names = _coordinates(plan.phase)
    chosen = plan.chosen
    a, b = (names[at] for at in chosen.plane)
    apart = " and ".join(names[at] for at in chosen.apart)
    parts = []
    if chosen.along is not None:
        near = order_text(plan.near[0]) if len(plan.near) == 1 else "program order"
        parts.append(
            f"panels of {plan.counts.panel} of {names[chosen.along]}: first where {apart} is in the panel ({near}), "
            "then the rest"
        )
    if plan.blocks is not None:
        parts.append(f"lines ({a}, {b}) in triangular blocks of b rows, inside by {_listed(plan.blocks.order, names)}")
        parts.append(f"pairs of rows in one zone: {order_text(plan.late)}")
    else:
        parts.append(order_text(plan.late))
    return "; ".join(parts)


def _meanings(upper: UpperBound) -> dict[str, str]:
    """Return what further symbols of the formula mean."""
    result = {}
    for item in upper.steps:
        if isinstance(item, PanelStep) and item.plan.chosen.along is not None:
            result[item.counts.panel] = "any size of panels; values are for the best one"
        if isinstance(item, PanelStep) and item.plan.blocks is not None:
            result[item.counts.gap] = (
                "a constant for given blocks: the most by which zones of rows are larger than rows over blocks; "
                "zones have no more than all rows"
            )
    return result


def _listed(order: Loops, names: Sequence[str]) -> str:
    return ", ".join(names[at] for at in order.inner)


def kept_text(step: AnyStep) -> list[str]:
    """Return for every class of values how long it is kept."""
    if isinstance(step, FixedStep):
        return kept_text(step.step)
    if isinstance(step, TurnsStep):
        return [text for item in step.groups for text in kept_text(item)]
    if isinstance(step, PanelStep):
        parts = [text for part in step.plan.steps for text in kept_text(part)]
        blocks = step.plan.blocks
        own = [] if blocks is None else [f"{item.name}: kept with its line for a block" for item in blocks.kept]
        return list(dict.fromkeys([*own, *parts]))
    if isinstance(step, WholeStep):
        return [f"{name}: kept throughout" for name in step.inputs]
    if isinstance(step, PassedStep):
        return list(dict.fromkeys(text for item in step.boxes for text in kept_text(item)))
    if isinstance(step, BoxStep):
        return [f"{item.name}: the cells of a box" for item in step.cells]
    if step.phase is None or step.policy is None:
        return []
    if isinstance(step, BorderedStep):
        held = [f"{item.array}: kept for a tile" for item in step.borders]
        return [*held, *(_kept(step.inside, step.policy, at) for at in range(len(step.inside.classes)))]
    return [_kept(step.phase, step.policy, at) for at in range(len(step.phase.classes))]


def _kept(phase: Phase, policy: Policy, at: int) -> str:
    item, level = phase.classes[at], policy.levels[at]
    if level == len(policy.order.inner):
        return f"{item.name}: loaded for each use"
    if level == 0:
        return f"{item.name}: kept for a tile" if policy.order.tiled else f"{item.name}: kept throughout"
    names = _coordinates(phase)
    return f"{item.name}: kept while {', '.join(names[k] for k in policy.order.inner[:level])} stays"


def _coordinates(phase: Phase) -> list[str]:
    """Return the coordinates in the iterators of the deepest statement."""
    deepest = max(phase.names, key=lambda name: len(phase.counts.flow.program.by_name[name].iterators))
    iterators = phase.counts.flow.program.by_name[deepest].iterators
    return [_shown(row, iterators) for row in phase.placement[deepest]]


def _shown(row: Row, iterators: tuple[str, ...]) -> str:
    terms = [*zip(iterators, row.factors, strict=True), *row.parameters]
    total = sympy.Add(*(factor * sympy.Symbol(name) for name, factor in terms)) + row.constant
    return f"({total})" if total.is_Add else str(total)
