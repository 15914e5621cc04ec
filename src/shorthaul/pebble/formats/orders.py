"""The order of a plan for other tools: what enters the fast memory when, how long it stays, and what becomes of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

import numpy as np

from shorthaul.core.document import json_text
from shorthaul.core.drawing.exports import csv_of, quoted
from shorthaul.pebble.model import Cdag, NodeId
from shorthaul.pebble.plan import Move, Plan

ORDER_KIND = "shorthaul/pebble-order"
_COLOURS = {"keep": "white", "offload": "lightblue", "recompute": "orange", "offload recompute": "gold"}


@dataclass(frozen=True, slots=True)
class Step:
    """A value enters the fast memory at the move ``move``: ``do`` is ``load``, ``compute`` or ``recompute``.

    It stays until the move ``until`` (None: to the end). ``stored`` is the move that copies it to slow memory
    meanwhile, None if none does. ``then`` is what becomes of it: ``drop`` (nobody reads it again), ``offload`` (it
    comes back by a load), ``recompute`` (it is computed once more) or ``keep`` (it stays to the end). ``room_of`` is
    the operand that leaves right then and whose room a result takes in place; None where it has room of its own.
    """

    move: int
    node: NodeId
    do: str
    size: int
    stored: int | None
    until: int | None
    then: str
    room_of: NodeId | None = None


COLUMNS = ("move", "node", "do", "size", "stored", "until", "then", "room_of")


def rooms_taken(cdag: Cdag, plan: Plan) -> dict[int, int]:
    """Return the computations whose result takes the room of an operand in place: moves, and the operands.

    That is an operand no lighter than the result that is deleted in the next move.

    >>> from shorthaul.pebble.model import from_pairs
    >>> from shorthaul.pebble.plan import plan_of
    >>> chain = from_pairs([1, 1, 1], [(0, 1), (1, 2)])
    >>> rooms_taken(chain, plan_of([(0, 0), (2, 1), (3, 0), (2, 2), (1, 2), (3, 1)]))
    {1: 0}
    """
    kinds, nodes, weights = plan.kinds, plan.nodes, cdag.weights
    pairs = (kinds[:-1] == Move.COMPUTE) & (kinds[1:] == Move.DELETE) & (weights[nodes[1:]] >= weights[nodes[:-1]])
    taken = {}
    for move in np.flatnonzero(pairs).tolist():
        node, leaving = int(nodes[move]), int(nodes[move + 1])
        if (cdag.parents.neighbours(node) == leaving).any():
            taken[move] = leaving
    return taken


def steps_of(cdag: Cdag, plan: Plan, *, in_place: bool = False) -> list[Step]:
    """Return the steps of a plan that keeps the rules, by time.

    >>> from shorthaul.pebble.model import from_pairs
    >>> from shorthaul.pebble.plan import plan_of
    >>> chain = from_pairs([1, 1], [(0, 1)])
    >>> [(step.do, step.then) for step in steps_of(chain, plan_of([(0, 0), (2, 1), (3, 0), (1, 1)]))]
    [('load', 'drop'), ('compute', 'keep')]
    """
    size = cdag.weights.tolist()
    found: list[Step] = []
    rooms = rooms_taken(cdag, plan) if in_place else {}
    open_: dict[int, tuple[int, str, int | None]] = {}
    last: dict[int, int] = {}  # the step at which a value was in fast memory last
    computed: set[int] = set()

    def close(node: int, until: int | None) -> None:
        move, do, stored = open_.pop(node)
        then = "keep" if until is None else "drop"
        last[node] = len(found)
        room_of = cdag.id_of(rooms[move]) if move in rooms else None
        found.append(Step(move, cdag.id_of(node), do, size[node], stored, until, then, room_of))

    for move, (kind, node) in enumerate(plan):
        if kind is Move.STORE:
            start, do, stored = open_[node]
            open_[node] = start, do, move if stored is None else stored
        elif kind is Move.DELETE:
            close(node, move)
        elif node not in open_:
            do = "load" if kind is Move.LOAD else "recompute" if node in computed else "compute"
            if node in last:
                back = "offload" if kind is Move.LOAD else "recompute"
                found[last[node]] = replace(found[last[node]], then=back)
            open_[node] = move, do, None
        if kind is Move.COMPUTE:
            computed.add(node)
    for node in list(open_):
        close(node, None)
    return sorted(found, key=lambda step: step.move)


def order_json(cdag: Cdag, plan: Plan, budget: int, *, in_place: bool = False) -> str:
    """Return the steps as a JSON document of kind ``shorthaul/pebble-order``."""
    found = steps_of(cdag, plan, in_place=in_place)
    steps = ",\n  ".join(json_text(asdict(step), indent=None).strip() for step in found)
    head = json_text({"kind": ORDER_KIND, "version": 1, "name": cdag.name, "budget": budget}, indent=None).strip()[:-1]
    return f'{head}, "steps": [\n  {steps}\n]}}\n'


def order_csv(cdag: Cdag, plan: Plan, *, in_place: bool = False) -> str:
    """Return the steps as CSV, its columns named in the first line."""
    names: dict[NodeId | None, str] = {cdag.id_of(node): name for node, name in enumerate(cdag.names())}
    found = steps_of(cdag, plan, in_place=in_place)
    steps = (replace(step, node=names[step.node], room_of=names.get(step.room_of)) for step in found)
    return csv_of(COLUMNS, ([getattr(step, name) for name in COLUMNS] for step in steps))


def order_dot(cdag: Cdag, plan: Plan, *, in_place: bool = False) -> str:
    """Return the graph as DOT, with sizes, costs, inputs, and what the plan does with each value.

    ``move`` is when a value enters the fast memory first. ``mark`` is ``keep``, or how it comes back: ``offload``,
    ``recompute`` or both. ``room_of`` is the operand whose room the value takes in place, the first time that it does.
    """
    steps: dict[NodeId, list[Step]] = {}
    written: dict[NodeId | None, str] = {cdag.id_of(node): quoted(name) for node, name in enumerate(cdag.names())}
    for step in steps_of(cdag, plan, in_place=in_place):
        steps.setdefault(step.node, []).append(step)
    origins = dict.fromkeys(cdag.inputs().tolist(), ", input=true")
    origins |= dict.fromkeys(cdag.constants().tolist(), ", input=false")
    for node in () if cdag.kept is None else np.flatnonzero(cdag.kept).tolist():
        origins[node] = f"{origins.get(node, '')}, output=true"
    size, cost = cdag.weights.tolist(), cdag.compute.tolist()
    names = list(written.values())
    lines = [f"digraph {quoted(cdag.name)} {{"]
    for node, name in enumerate(names):
        met = steps.get(cdag.id_of(node), [])
        mark = " ".join(sorted({step.then for step in met} & {"offload", "recompute"})) or "keep"
        move = f", move={met[0].move}" if met else ""
        move += next((f", room_of={written[step.room_of]}" for step in met if step.room_of is not None), "")
        look = f'mark="{mark}", style=filled, fillcolor={_COLOURS[mark]}'
        lines.append(f"  {name} [weight={size[node]}, compute={cost[node]}{origins.get(node, '')}{move}, {look}];")
    ends = zip(*(side.tolist() for side in cdag.edge_arrays()), strict=True)
    lines += [f"  {names[a]} -> {names[b]};" for a, b in ends]
    return "\n".join((*lines, "}\n"))
