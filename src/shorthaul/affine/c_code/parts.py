"""The parts of a derived order: sets of instances with time vectors in which tile sizes are parameters.

A tiled coordinate y becomes two entries of the time vector: the origin o of its tile, o <= y < o + T, and later y.
Origins are multiples of T. That is no affine condition where T is a parameter, so the sets leave it out: who walks the
loops takes every T-th origin, and who compares two instances knows that their origins are equal or at least T apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import islpy as isl

from shorthaul.affine.model import Program
from shorthaul.affine.orders.borders.held import BorderedStep
from shorthaul.affine.orders.boxes.fixed import FixedStep
from shorthaul.affine.orders.boxes.steps import BoxStep, WholeStep
from shorthaul.affine.orders.memories.nested import NestedStep
from shorthaul.affine.orders.panel_policy import PanelPlan, PanelStep
from shorthaul.affine.orders.pieces.passed import PassedStep
from shorthaul.affine.orders.splitting import Split
from shorthaul.affine.orders.tile_steps import Step
from shorthaul.affine.orders.turns import TurnsStep
from shorthaul.affine.orders.upper_bound import AnyStep


@dataclass(frozen=True)
class Part:
    """Instances of one statement: ``time`` maps ``name[origins, iterators]`` to its time vector.

    ``instance`` maps the same tuple to the statement's own, ``tiles`` gives the size of tiles by entry of the vector.
    """

    name: str
    statement: str
    time: isl.Map
    instance: isl.Map
    tiles: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Nest:
    """One phase: its statements, their parts, the sizes of tiles by name, and what its order has no loops for.

    The first entries of time vectors, ``outside``, sort what is held at a time; the others are free within it.
    """

    names: tuple[str, ...]
    parts: tuple[Part, ...]
    tiles: Mapping[str, int] = field(default_factory=dict)
    remark: str = ""
    outside: int = 0

    @property
    def length(self) -> int:
        """The entries of the time vectors."""
        return int(self.parts[0].time.dim(isl.dim_type.out)) if self.parts else 0


@dataclass(frozen=True)
class _Entry:
    """One entry of a time vector: an affine text, or the origin of its tile of the size named."""

    text: str
    tile: str | None = None


@dataclass(frozen=True)
class _Draft:
    """A part before its sets are made; in ``conditions`` {0} is the first origin."""

    name: str
    statement: str
    entries: Sequence[_Entry]
    conditions: Sequence[str] = ()


def nest_of(
    program: Program,
    step: AnyStep,
    number: int,
    sizes: Mapping[str, int],
    inside: Mapping[str, Sequence[str]] | None = None,
) -> Nest:
    """Return the order of ``step`` at ``sizes``, which has every parameter and S; ``number`` counts the steps.

    ``inside`` replaces what sorts instances inside of tiles, by statement, in iterators v0, v1, ...
    """
    if isinstance(step, FixedStep):
        return nest_of(program, step.step, number, {**sizes, "S": step.capacity}, inside)
    capacity = sizes["S"]
    parameters = {name: sizes[name] for name in program.parameters}
    writer = _Writer(program, f"T{number}", capacity, parameters, inside)
    if isinstance(step, TurnsStep) and step.pays(parameters, capacity):
        return writer.nest(step.names, writer.in_turns(step))
    if isinstance(step, WholeStep):
        return program_nest(program, step.names)
    if isinstance(step, BoxStep):
        return writer.nest(step.names, writer.in_boxes(step))
    if isinstance(step, PassedStep):
        return writer.nest(step.names, writer.in_pieces(step))
    if isinstance(step, BorderedStep | NestedStep):
        return writer.nest(step.names, writer.tiled(step))
    plain = step.plain
    cut = step.cut(parameters, capacity) if isinstance(step, PanelStep) else None
    remark = ""
    if isinstance(step, PanelStep) and cut is not None:
        if step.plan.blocks is not None:
            remark = "triangular blocks are no affine loops: boxes stand in their place"
        if step.plan.chosen.along is not None:
            return writer.nest(step.names, writer.in_panels(step.plan, cut.panel), remark)
    return writer.nest(step.names, writer.tiled(plain), remark)


def keeps_nothing(step: AnyStep, parameters: Mapping[str, int], capacity: int) -> bool:
    """True if a phase loads every use of a value, as program order may do."""
    return step.loads(parameters, capacity) >= step.counts.at(parameters)(step.plain.every_use)


def program_nest(program: Program, names: Sequence[str]) -> Nest:
    """Return the statements ``names`` in program order."""
    return _Writer(program, "T", 1).nest(names, [_Draft(name, name, ()) for name in names])


class _Writer:
    """Makes the parts of one step; the names of tile sizes begin with ``prefix``."""

    def __init__(
        self,
        program: Program,
        prefix: str,
        capacity: int,
        parameters: Mapping[str, int] | None = None,
        inside: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.program, self.prefix, self.capacity, self.parameters = program, prefix, capacity, parameters
        self.inside = inside
        self.sizes: dict[str, int] = {}
        self._tiles: dict[int, dict[int, str] | None] = {}
        self._boxes: dict[int, list[str | None]] = {}
        self._grids: dict[int, list[str]] = {}
        iterators = {name for item in program.statements for name in item.iterators}
        self.taken = {*program.parameters, *program.arrays, *program.code.macros, *iterators}

    def nest(self, names: Sequence[str], drafts: Sequence[_Draft], remark: str = "") -> Nest:
        """Return the drafts as parts."""
        length = max((len(item.entries) for item in drafts), default=0)
        return Nest(tuple(names), tuple(self._part(item, length) for item in drafts), self.sizes, remark, length)

    def tiled(self, step: Step | BorderedStep | NestedStep) -> list[_Draft]:
        """Return the statements of a step in its tiles."""
        return [_Draft(name, name, self._entries(step, name, name)) for name in step.names]

    def in_panels(self, plan: PanelPlan, panel: int) -> list[_Draft]:
        """Return the statements in panels: those not late first."""
        size, chosen, result = self._new(panel), plan.chosen, []
        assert chosen.along is not None
        self.parameters = {**(self.parameters or {}), plan.counts.panel: panel, plan.counts.zone: 1}
        for name in plan.phase.names:
            texts = [row.text(self._iterators(name)) for row in plan.phase.placement[name]]
            for flags in product((False, True), repeat=len(chosen.apart)):
                conditions = [
                    f"({texts[at]} < {{0}} or {texts[at]} >= {{0}} + {size})"
                    if late
                    else f"{{0}} <= {texts[at]} and {texts[at]} < {{0}} + {size}"
                    for at, late in zip(chosen.apart, flags, strict=True)
                ]
                rank = sum(flags) * (1 << len(flags)) + sum(1 << at for at, late in enumerate(flags) if late)
                step = plan.late if all(flags) else plan.near[0] if len(plan.near) == 1 else None
                inside = [] if step is None else self._entries(step, name, name)
                entries = [_Entry(f"{texts[chosen.along]} + {chosen.shift}", size), _Entry(str(rank)), *inside]
                result.append(_Draft(f"{name}_{rank}", name, entries, conditions))
        return result

    def in_boxes(self, step: BoxStep) -> list[_Draft]:
        """Return the statements in boxes."""
        return [_Draft(name, name, self._box_entries(step, name, name)) for name in step.names]

    def in_turns(self, step: TurnsStep) -> list[_Draft]:
        """Return the groups of every step of the outer loop, one after the other."""
        result = []
        for turn, (group, delay) in enumerate(zip(step.groups, step.delays, strict=True)):
            assert group.phase is not None
            for name in group.names:
                statement, conditions = self._piece(step.parts, name)
                outer = group.phase.placement[name][0].text(self._iterators(statement))
                entries = [_Entry(f"{outer} + {delay}"), _Entry(str(turn)), *self._entries(group, name, statement)]
                result.append(_Draft(name, statement, entries, conditions))
        return result

    def in_pieces(self, step: PassedStep) -> list[_Draft]:
        """Return the pieces of statements in boxes."""
        result = []
        for turn, boxes in enumerate(step.boxes):
            for name in boxes.names:
                statement, conditions = self._piece(step.parts, name)
                entries = [_Entry(str(turn)), *self._entries(boxes, name, statement)]
                result.append(_Draft(name, statement, entries[len(step.boxes) == 1 :], conditions))
        return result

    def _piece(self, parts: Split, name: str) -> tuple[str, list[str]]:
        """Return the statement of a piece, and which of its instances it has."""
        piece = parts.pieces.get(name)
        return (name, []) if piece is None else (piece.statement, [piece.condition(self._iterators(piece.statement))])

    def _iterators(self, statement: str) -> list[str]:
        return [f"v{at}" for at in range(len(self.program.by_name[statement].iterators))]

    def _new(self, value: int) -> str:
        name = f"{self.prefix}_{len(self.sizes)}"
        while name in self.taken:
            name += "_"
        self.sizes[name] = value
        return name

    def _box_entries(self, step: BoxStep, name: str, statement: str) -> list[_Entry]:
        assert step.phase is not None
        box = step.box
        if id(step) not in self._boxes:
            self._boxes[id(step)] = [None if edge == 1 else self._new(edge) for edge in box.edges]
        texts = [row.text(self._iterators(statement)) for row in step.phase.placement[name]]
        return [
            _Entry(texts[at] if tile is None else f"{texts[at]} - {box.first[at]}", tile)
            for at, tile in zip(box.loops, self._boxes[id(step)], strict=True)
        ]

    def _entries(self, step: Step | BoxStep | BorderedStep | NestedStep, name: str, statement: str) -> list[_Entry]:
        """Return what a statement is sorted by; nothing: program order."""
        if isinstance(step, BoxStep):
            return self._box_entries(step, name, statement)
        if isinstance(step, NestedStep):
            return self._nested_entries(step, name, statement)
        if step.phase is None or step.policy is None or (isinstance(step, Step) and self._keeps_nothing(step)):
            return []
        order = step.policy.order
        if id(step) not in self._tiles:
            given = isinstance(step, BorderedStep)
            edge = 1 if given else step.phase.edge(step.policy, self.capacity)
            found = step.tiles if isinstance(step, BorderedStep) else step.policy.sizes(edge)
            self._tiles[id(step)] = {at: self._new(int(found[at])) for at in order.tiled} if edge else None
        tiles = self._tiles[id(step)]
        if tiles is None:
            return []
        texts = [row.text(self._iterators(statement)) for row in step.phase.placement[name]]
        outer = [_Entry(texts[at]) for at in order.outer]
        moved = step.origin if isinstance(step, BorderedStep) else {}
        origins = [_Entry(f"{texts[at]} + {moved.get(at, 0)}", tiles[at]) for at in order.tiled]
        inner = [texts[at] for at in order.inner] if self.inside is None else self.inside[name]
        return [*outer, *origins, *map(_Entry, inner)]

    def _nested_entries(self, step: NestedStep, name: str, statement: str) -> list[_Entry]:
        assert step.plain.phase is not None
        if id(step) not in self._grids:
            self._grids[id(step)] = [self._new(edge) for _, edge in step.cuts]
        texts = [row.text(self._iterators(statement)) for row in step.plain.phase.placement[name]]
        inner = [texts[at] for at in step.policy.order.inner] if self.inside is None else self.inside[name]
        grids = zip(step.cuts, self._grids[id(step)], strict=True)
        return [*(_Entry(texts[at], tile) for (at, _), tile in grids), *map(_Entry, inner)]

    def _keeps_nothing(self, step: Step) -> bool:
        """True if tiles load as much as program order, in which every use is loaded."""
        return self.parameters is not None and keeps_nothing(step, self.parameters, self.capacity)

    def _part(self, draft: _Draft, length: int) -> Part:
        statement = self.program.by_name[draft.statement]
        own = self._iterators(draft.statement)
        tiles = {at: item.tile for at, item in enumerate(draft.entries) if item.tile is not None}
        origins = [f"o{at}" for at in range(len(tiles))]
        places = dict(zip(tiles, origins, strict=True))
        times = [places.get(at, item.text) for at, item in enumerate(draft.entries)] + ["0"] * (
            length - len(draft.entries)
        )
        where = [
            f"{origin} <= {draft.entries[at].text} and {draft.entries[at].text} < {origin} + {tiles[at]}"
            for at, origin in places.items()
        ]
        where += [item.format(*origins) for item in draft.conditions]
        known = [*self.program.parameters, *self.sizes]
        given = f"[{', '.join(known)}] -> {{ {draft.name}[{', '.join([*origins, *own])}] -> "
        condition = " and ".join(where) or "true"
        instance = isl.Map.read_from_str(
            isl.DEFAULT_CONTEXT, f"{given}{draft.statement}[{', '.join(own)}] : {condition} }}"
        ).intersect_range(statement.domain)
        time = isl.Map.read_from_str(isl.DEFAULT_CONTEXT, f"{given}[{', '.join(times)}] }}")
        time = time.flat_range_product(instance.apply_range(statement.schedule)).intersect_domain(instance.domain())
        return Part(draft.name, draft.statement, time.coalesce(), instance, tiles)
