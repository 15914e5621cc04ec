"""The boxes of sets of statements at given sizes, and the orders that are made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, cached_property, partial
from itertools import chain, combinations, islice

import islpy as isl

from shorthaul.affine import effort
from shorthaul.affine.integer_sets.dependences import Conflicts, DataFlow, accesses_of
from shorthaul.affine.integer_sets.signs import Signs
from shorthaul.affine.orders.borders.held import BorderedStep, limited
from shorthaul.affine.orders.boxes.boxed import (
    Band,
    all_signs,
    boxed,
    keeps,
    passed_along,
    refined,
    signs_by_array,
    tileable,
)
from shorthaul.affine.orders.boxes.clusters import clustered
from shorthaul.affine.orders.boxes.fixed import FixedStep
from shorthaul.affine.orders.boxes.skewed import aligned, skewed, undirected
from shorthaul.affine.orders.boxes.stays import Known
from shorthaul.affine.orders.boxes.steps import BoxStep, WholeStep, whole
from shorthaul.affine.orders.boxes.storage import Storage
from shorthaul.affine.orders.joining.lockstep import two_steps
from shorthaul.affine.orders.joining.turns import (
    SizedGroups,
    is_carried,
    read_from_elsewhere,
    read_in_every_step,
    written_in_a_step,
)
from shorthaul.affine.orders.memories.nested import NestedStep
from shorthaul.affine.orders.panel_policy import PanelStep
from shorthaul.affine.orders.pieces.around import passed
from shorthaul.affine.orders.pieces.folded import folded
from shorthaul.affine.orders.pieces.passed import PassedStep, temporaries
from shorthaul.affine.orders.placement import Placement, Row, as_written, placements, reads_of
from shorthaul.affine.orders.splitting import Split
from shorthaul.affine.orders.tile_policy import Counts, make_phase
from shorthaul.affine.orders.tile_steps import Step
from shorthaul.affine.orders.turns import TurnsStep, has_turns, nests_of
from shorthaul.affine.orders.upper_bound import AnyStep, untiled
from shorthaul.affine.tuning import (
    ABOUT_THE_SAME,
    MOST_BOX_PLACEMENTS,
    MOST_COMPARED_PLACEMENTS,
    MOST_SIZED_TURNS,
    MOST_WRITTEN_FIRST,
    NO_SLACK,
    PLACEMENT_OPERATIONS,
    POOR,
    POOR_FOR_INPUTS,
    POOR_RUN,
    WORTH_TWO_STEPS,
    Slack,
)

#: A placement, its loops that may be cut, and the memory in which they may.
_Option = tuple[Placement, list[Band], Storage]
#: What cuts statements into pieces with places of their own, if it can.
_Cut = Callable[[DataFlow, Sequence[str]], tuple[Split, Placement] | None]


class Boxes:
    """The boxes of sets of statements at given sizes.

    ``weights`` say what a load counts into each memory, by its words, the largest first; without them there is S only.
    ``slack`` has the shares of loads that rows of one cell and boxes without room for strips count more. What has a
    place in ``given`` is tried there too; with edges ``fixed`` of loops outside of all others, it is tried alone.
    ``counts`` has what was counted before, and ``conflicts`` what is known of these, at other sizes too.
    """

    def __init__(
        self,
        flow: DataFlow,
        sizes: Mapping[str, int],
        small: Sequence[str],
        weights: Mapping[int, float] | None = None,
        slack: Slack = NO_SLACK,
        given: Placement | None = None,
        fixed: Mapping[int, int] | None = None,
        counts: Counts | None = None,
        conflicts: Conflicts | None = None,
    ) -> None:
        self.flow, self.sizes, self.small, self.slack, self.given = flow, sizes, small, slack, given or {}
        self.fixed = fixed or {}
        self.parameters = {name: sizes[name] for name in flow.program.parameters}
        self.counts = counts or Counts(flow, small)
        self.conflicts = conflicts or Conflicts(flow.program, accesses_of(flow.program))
        self.reads = {item.name: reads_of(flow, item.name) for item in flow.program.statements}
        self.weights = weights or {sizes["S"]: 1.0}
        self.turns = SizedGroups(self, small)
        self.known_turns: dict[frozenset[str], TurnsStep | None] = {}
        self._turning: dict[frozenset[str], Iterator[TurnsStep | None]] = {}
        self._known: dict[frozenset[str], BoxStep | None] = {}
        self._making: dict[frozenset[str], Iterator[BoxStep | None]] = {}
        self.stays = Known()
        self._elsewhere = cache(partial(read_from_elsewhere, flow, sizes=sizes))
        self._costs: dict[int, tuple[AnyStep, float]] = {}  # with the phase, so that its number stays its own

    def cost(self, step: AnyStep) -> float:
        """Return the loads of a phase into all memories, weighted; less where there is room for strips."""
        if id(step) not in self._costs:
            inner = step.step if isinstance(step, FixedStep) else step
            loads = sum(weight * step.loads(self.parameters, words) for words, weight in self.weights.items())
            # others have short rows too
            share = inner.share(self.slack._replace(rows=0)) if isinstance(inner, BoxStep) else 1.0
            self._costs[id(step)] = step, share * loads
        return self._costs[id(step)][1]

    def total(self, steps: Iterable[AnyStep]) -> float:
        """Return the loads of phases into all memories, weighted."""
        return sum(map(self.cost, steps))

    def least(self, names: Iterable[str]) -> float:
        """Return what no order of the statements ``names`` loads less than: what they read from elsewhere, weighted."""
        return self._elsewhere(frozenset(names)) * sum(self.weights.values())

    def instances(self, step: AnyStep) -> int:
        """Return how many instances a phase has."""
        return self.counts.at(self.sizes)(tuple(self.flow.program.by_name[name].domain for name in step.names))

    def whole(self) -> WholeStep | None:
        """Return everything in program order, if it fits."""
        return whole(self.flow, self.plain(self.reads), self.sizes)

    def plain(self, names: Iterable[str]) -> Step:
        """Return the statements ``names`` in program order, every use loaded."""
        return untiled(tuple(names), self.reads, self.counts)

    def better(self, step: AnyStep, improve: Callable[[BoxStep], BoxStep] | None = None) -> AnyStep:
        """Return a phase in boxes, after ``improve``, where that loads less."""
        if not self.cost(step):  # nothing to save
            return step
        if isinstance(step, TurnsStep) and improve is not None:
            groups = tuple(improve(item) if isinstance(item, BoxStep) else item for item in step.groups)
            step = replace(step, groups=groups)
        is_first = step is self._known.get(frozenset(step.names))  # there may be better ones
        found = step if isinstance(step, BoxStep) and not is_first else self.of(step.names)
        if found is not None and improve is not None:
            found = improve(found)
        return step if found is None or self.cost(found) >= self.cost(step) else found

    def bordered(self, step: AnyStep) -> AnyStep:
        """Return a phase in tiles whose border is held, where that loads less; one memory only.

        Coordinates that are as good for large sizes are compared, but not for emitted C, whose rows they would turn.
        """
        if not isinstance(step, Step) or len(self.weights) > 1:
            return step
        tried = (step, *step.others) if self.slack == NO_SLACK else (step,)
        found: list[AnyStep] = [made for item in tried if (made := limited(item, self.sizes)) is not None]
        return min([step, *found], key=self.cost)

    def clustered(self, step: AnyStep) -> AnyStep:
        """Return a phase in boxes in clusters of tiles, where that loads less; one memory, and not in emitted C."""
        if type(step) is not BoxStep or step.phase is None or self.slack != NO_SLACK or len(self.weights) > 1:
            return step
        signs = all_signs(signs_by_array(self.conflicts, step.phase.placement))
        found = clustered(step, [at for at in step.box.loops if not any(item[at] for item in signs)])
        return step if found is None or self.cost(found) >= self.cost(step) else found

    def passing(self, step: AnyStep) -> AnyStep:
        """Return a phase in boxes of pieces of statements, placed apart, where that loads less.

        What a loop has passed is placed behind the rest; of what reads the same crosswise, one where the other is.
        """
        if isinstance(step, FixedStep | PassedStep | NestedStep) or self.cost(step) <= self.least(step.names):
            return step
        given = None if step.phase is None else step.phase.placement  # what reads a sum may be at its end
        makes: list[_Cut] = [partial(folded, given=given), partial(folded, turned=True, given=given)]
        if self.slack == NO_SLACK:  # emitted C has one place for both values of an element that is passed
            makes.insert(0, passed)
        found = effort.until_out_of_effort(self._in_pieces(step, make) for make in makes)
        return min([step, *(item for item in found if item is not None)], key=self.cost)

    def _in_pieces(
        self,
        step: Step | PanelStep | TurnsStep | BoxStep | WholeStep | BorderedStep,
        make: _Cut,
    ) -> PassedStep | None:
        """Return a phase in boxes of the pieces that are made of it, None if there are none."""
        made = None
        with suppress(isl.Error), effort.limited(PLACEMENT_OPERATIONS):
            made = make(self.flow, step.names)
        if made is None:
            return None
        parts, placement = made
        apart = temporaries(parts.flow)
        inside = Boxes(parts.flow, self.sizes, self.small, self.weights, self.slack)
        kept = tuple(item for item in accesses_of(parts.flow.program) if item.array not in apart)
        inside.conflicts = Conflicts(parts.flow.program, kept)
        found = inside.placed(placement)
        return None if found is None else PassedStep(step.plain, (refined(found, self.slack),), parts, step)

    def turned(self, steps: Sequence[AnyStep], first: bool = False, without: bool = False) -> Iterator[list[AnyStep]]:
        """Yield phases with those of one outer loop as groups that take turns, where most is loaded and that saves.

        At ``first`` in the way that takes least effort, where single nests read the same in every step, or are
        ``without`` boxes.
        """
        result = list(steps)
        for run in self.runs:
            names, poor = frozenset(chain(*run)), POOR if len(run) == 1 else POOR_RUN
            inside = [item for item in result if not names.isdisjoint(item.names)]
            if (first and len(run) > 1) or not all(names.issuperset(item.names) for item in inside):
                continue
            plain = self.plain(item.name for item in self.flow.program.statements if item.name in names)
            paid = sum(map(self.cost, inside))
            if without:
                pays = any(isinstance(item, Step) and self.cost(item) > POOR * self.cost(plain) for item in inside)
            else:
                pays = self._reads_again(plain, paid, first) if first else self._may_pay(plain, paid, poor)
            found = self.best_turns(plain, first) if pays else None
            best = inside
            if found is not None and self.cost(found) < sum(map(self.cost, inside)):
                best = [found]
                yield [*(item for item in result if item not in inside), found]
            if first:
                continue
            # each alone too: what others of the loop need not wait for, or have computed before
            apart = [*map(self._in_turns_alone, inside)] if len(run) == 1 < len(inside) else inside
            best = min(best, apart, key=lambda item: sum(map(self.cost, item)))
            if best != inside:
                result = [*(item for item in result if item not in inside), *best]
                yield result

    def _in_turns_alone(self, item: AnyStep) -> AnyStep:
        """Return the statements of a phase as groups that take turns, where that saves."""
        plain, found = self.plain(item.names), None
        if has_turns(self.flow.program, item.names) and self._may_pay(plain, self.cost(item), POOR):
            found = self.best_turns(plain)
        return item if found is None or self.cost(found) >= self.cost(item) else found

    def _may_pay(self, plain: Step, cost: float, poor: float) -> bool:
        """True if turns may load less: where most uses are loaded, or inputs more often than once a step."""
        return cost > poor * self.cost(plain) or self._reads_again(plain, cost)

    def _reads_again(self, plain: Step, cost: float, most: bool = False) -> bool:
        """True if inputs that do not fit are loaded more often than once a step, if ``most`` of it is to read them."""
        often, steps = read_in_every_step(self.flow, plain.names, self.sizes)
        held = often - self.sizes["S"]
        if held <= 0 or cost <= held * steps:
            return False
        few = MOST_WRITTEN_FIRST * often
        return not most or (
            is_carried(self.flow, plain.names) and written_in_a_step(self.flow, plain.names, self.sizes) < few
        )

    def in_turns(self, plain: Step, below: float) -> TurnsStep | None:
        """Return several nests as groups that take turns, if they may and what they read from elsewhere is less."""
        names = frozenset(plain.names)
        if not any(len(run) > 1 and names == frozenset(chain(*run)) for run in self.runs):
            return None
        if names in self.known_turns or self.least(names) < ABOUT_THE_SAME * below:
            return self.best_turns(plain)
        return None

    def best_turns(self, plain: Step, first: bool = False) -> TurnsStep | None:
        """Return statements as groups that take turns, folded or two steps at a time where that saves.

        None if they may not. With ``first`` no more is tried once there is one.
        """
        names = frozenset(plain.names)
        if names not in self.known_turns:
            self.known_turns[names], self._turning[names] = None, self._all_turns(plain)
        with suppress(effort.OutOfEffortError):  # the best so far is kept
            for found in self._turning[names]:
                best = self.known_turns[names]
                if found is not None and (best is None or self.cost(found) < self.cost(best)):
                    self.known_turns[names] = found
                if first and found is not None:
                    break
        if effort.is_out_of_effort():  # more may be left later
            self._turning[names] = self._all_turns(plain)
        return self.known_turns[names]

    def _all_turns(self, plain: Step) -> Iterator[TurnsStep | None]:
        """Yield statements as groups that take turns: as they are, folded, and two steps at a time."""
        yield from self.turns.stages(plain)
        made = folded(self.flow, plain.names)
        if made is not None:
            parts, rows = made
            inside = Boxes(parts.flow, self.sizes, self.small, self.weights, self.slack, rows)
            yield SizedGroups(inside, self.small, parts).best(plain)
        best = self.known_turns[frozenset(plain.names)]
        is_alone = self.slack == NO_SLACK and len(self.weights) == 1
        if is_alone and best is not None and self.cost(best) > WORTH_TWO_STEPS * self.least(plain.names):
            yield two_steps(self, plain)

    @cached_property
    def runs(self) -> list[list[list[str]]]:
        """Nests that follow one another and may take turns, the most statements first."""
        nests, program = nests_of(self.flow.program), self.flow.program
        found = [nests[at:end] for at, end in combinations(range(len(nests) + 1), 2)]
        if self.slack != NO_SLACK:
            found = [run for run in found if len(run) == 1]  # they share memory
        found = [run for run in found if has_turns(program, [*chain(*run)], MOST_SIZED_TURNS)]
        return sorted(found, key=lambda run: -sum(map(len, run)))

    def has_none(self, names: Iterable[str]) -> bool:
        """True if boxes were looked for in vain until now."""
        return self._known.get(frozenset(names), self) is None

    def of(
        self, names: Iterable[str], stepped: Callable[[Placement], bool] | None = None, first: bool = False
    ) -> BoxStep | None:
        """Return the statements ``names`` in the best boxes found, the ``first`` ones if no others are known.

        With ``stepped`` the first coordinate of a placement runs step by step, nothing is kept from one step to the
        next, and only such placements are taken.
        """
        key = frozenset(names)
        if stepped is not None:
            return [None, *self._made(key, stepped)][-1]
        if key not in self._known:
            self._known[key], self._making[key] = None, self._made(key, None)
        with suppress(effort.OutOfEffortError):  # the best so far is kept
            for made in () if first and self._known[key] is not None else self._making[key]:
                known = self._known[key]
                if made is not None and (known is None or self.cost(made) < self.cost(known)):
                    self._known[key] = made
                if first:
                    break
        if effort.is_out_of_effort():  # more may be left later
            self._making[key] = self._made(key, None)
            if self._known[key] is None:
                del self._known[key]
                effort.step()
        return self._known[key]

    def _made(self, chosen: frozenset[str], stepped: Callable[[Placement], bool] | None) -> Iterator[BoxStep | None]:
        """Yield statements in boxes, the best so far: in one placement after the other, spilling, in skewed loops.

        Loops as written are skewed as soon as boxes of the first placement load much, if not all of its may be cut.
        """
        ordered = [item.name for item in self.flow.program.statements if item.name in chosen]
        found, options, written = None, [], True
        for option in self._freest(ordered, stepped):
            options.append(option)
            made = self._boxed(ordered, [option], stepped is not None)
            if found is None or (made is not None and self.cost(made) < self.cost(found)):
                found = made
                yield found
                if stepped is None and found and self.cost(found) * (1 + self.slack.strips) <= self.least(ordered):
                    return  # no others load less
            if len(options) == 1 and stepped is None and _most_tiled(option) < len(option[0][ordered[0]]):
                made = self.in_skewed_loops(ordered) if self._is_poor(found or self.plain(ordered)) else None
                written = False
                if made is not None and (found is None or self.cost(made) < self.cost(found)):
                    found = made
                    yield found
        if stepped is not None:
            return
        plain = self.plain(ordered)
        if found is None or self.cost(found) >= self.cost(plain):  # not even one instance fits
            found = self._boxed(ordered, options, stepped=False, spilling=True)
            yield found
        if self._is_poor(found or plain):
            others = placements(self.counts.distances, ordered, self.reads, wanted=lambda _: True)
            for placement in chain((None,) if written else (), islice(others, 1)):
                made = self.in_skewed_loops(ordered, placement)
                if made is not None and (found is None or self.cost(made) < self.cost(found)):
                    found = made
                    yield found

    def _is_poor(self, step: AnyStep) -> bool:
        """True if a phase loads much of its uses, or for what it reads from elsewhere."""
        return self.cost(step) > min(POOR * self.cost(self.plain(step.names)), POOR_FOR_INPUTS * self.least(step.names))

    def in_skewed_loops(self, names: Sequence[str], placement: Placement | None = None) -> BoxStep | None:
        """Return the statements ``names`` in boxes of skewed loops, by default as written; None if none are found."""
        with suppress(isl.Error), effort.limited(PLACEMENT_OPERATIONS):
            written = as_written([self.flow.program.by_name[name] for name in names])
            made = skewed(self.flow, placement or written, self.parameters)
            return None if made is None else self._boxed(names, self.options(made, ()), stepped=False)
        return None

    def placed(self, placement: Placement, *, stepped: bool = False) -> BoxStep | None:
        """Return statements with this placement in the best boxes found, its first coordinate ``stepped``."""
        ordered = [item.name for item in self.flow.program.statements if item.name in placement]
        options: list[_Option] = []
        with suppress(isl.Error), effort.limited(PLACEMENT_OPERATIONS):
            options = self.options({name: placement[name] for name in ordered}, (0,) if stepped else ())
        return self._boxed(ordered, options, stepped=stepped)

    def _boxed(
        self, ordered: Sequence[str], options: Iterable[_Option], stepped: bool, spilling: bool = False
    ) -> BoxStep | None:
        best: BoxStep | None = None
        mine = tuple(read for name in ordered for read in self.reads[name])
        for placement, bands, storage in options:
            with suppress(isl.Error), effort.limited(PLACEMENT_OPERATIONS):
                phase = make_phase(self.flow, ordered, placement, self.reads, self.counts)
                step = Step(tuple(ordered), phase, None, 0.0, self.counts, mine)
                words, more = tuple(self.weights), (storage, stepped, self.fixed)
                found = boxed(self.flow, step, bands, self.sizes, words, self.slack, *more, spilling=spilling)
                if found is not None and (best is None or self.cost(found) < self.cost(best)):
                    best = found
        return best

    def _freest(self, names: Sequence[str], stepped: Callable[[Placement], bool] | None) -> Iterator[_Option]:
        """Yield the placements in which most loops may be cut, these, and the memory that it takes.

        Inside of boxes instances stay in program order, so it is enough if a placement has one loop to cut. Those of
        which all are cut come as they are found.
        """
        known: dict[tuple[tuple[str, tuple[Row, ...]], ...], list[_Option]] = {}
        written = as_written([self.flow.program.by_name[name] for name in names])
        given = [{name: self.given[name] for name in names}] if self.given.keys() >= {*names} else []
        at_once = 0
        further = () if self.fixed else chain((written,), self._compared(names, stepped is not None))
        for placement in chain(given, further):
            turned = placement if stepped is None or self.fixed else aligned(self.flow, placement, self.parameters)
            for item in (placement,) if self.fixed else (undirected(placement), turned):
                key = tuple(item.items())
                if key not in known and (stepped is None or stepped(item)):
                    known[key] = []
                    with suppress(isl.Error), effort.limited(PLACEMENT_OPERATIONS):
                        known[key] = self.options(item, (*(() if stepped is None else (0,)), *self.fixed))
                    free = [option for option in known[key] if _most_tiled(option) == len(item[names[0]])]
                    yield from free[: max(0, MOST_BOX_PLACEMENTS - at_once)]
                    at_once += len(free)
        found = sorted((option for options in known.values() for option in options), key=_most_tiled, reverse=True)
        more = found[MOST_BOX_PLACEMENTS:]
        # loops as written may keep more, with fewer of them cut: what one computes forwards and the next one backwards
        yield from (*found[at_once:MOST_BOX_PLACEMENTS], *[item for item in more if item[0] == undirected(written)][:1])

    def _compared(self, names: Sequence[str], stepped: bool) -> Iterator[Placement]:
        """Yield the placements that are compared beside the written one, as they are asked for."""
        every, found = partial(placements, self.counts.distances, names, self.reads), False
        deepest = max(reversed(names), key=lambda name: len(self.flow.program.by_name[name].iterators))
        for start in (None, deepest):  # the last one where none begins with the first: it may read every second value
            for item in islice(() if found else every(start), MOST_COMPARED_PLACEMENTS):
                found = True
                yield item
        if stepped or not found:
            yield from islice(every(wanted=self.counts.distances.cuttable), MOST_COMPARED_PLACEMENTS)

    def options(self, placement: Placement, first: tuple[int, ...] = ()) -> list[_Option]:
        """Return the loops that may be cut in the program's memory, and with room for more values if these are more.

        Loops in ``first`` run one by one.
        """
        width, given = len(next(iter(placement.values()))), self._signs(None, placement)
        result = [(placement, self._bands(given, placement, first), self._storage)]
        needed = tileable(all_signs(given) if self.fixed else self.counts.distances.signs(placement), width, first)
        wanted = max(needed, key=lambda band: len(band[1]), default=None)
        if wanted is None or len(wanted[1]) <= _most_tiled(result[0]):
            return result
        made, by_array = self._storage if self.slack == NO_SLACK else Storage(self.flow), given
        if made.buffers:
            by_array = self._signs(made, placement)
        while broken := [array for array, signs in by_array.items() if not keeps(wanted, signs)]:
            larger = made.expanded(broken, self.sizes)
            if larger is None:
                return result
            made = larger
            by_array = self._signs(made, placement)
        return [*result, (placement, self._bands(by_array, placement, first), made)]

    def _bands(
        self, by_array: Mapping[str, frozenset[Signs]], placement: Placement, first: tuple[int, ...]
    ) -> list[Band]:
        """Return the loops that may be cut: any, or only those along which no value of some local arrays is passed."""
        width, along = len(next(iter(placement.values()))), passed_along(self.counts.distances, placement)
        zones: set[frozenset[int]] = {frozenset()}
        if self.slack != NO_SLACK:  # others have room for as many values as they like
            zones |= {along[name] for name in by_array if name in along}
        result: dict[Band, None] = {}
        for uncut in sorted((*zones, frozenset[int]().union(*zones)), key=sorted):
            if uncut.isdisjoint(first):
                kept = {name: signs for name, signs in by_array.items() if not along.get(name, {-1}) <= uncut}
                result.update(dict.fromkeys(tileable(all_signs(kept), width, first, uncut)))
        return list(result)

    @cached_property
    def _storage(self) -> Storage:
        """The program's memory, but that elements are told apart by loops where a subscript is as t % 2."""
        return Storage(self.flow, with_inputs=True).affine()

    def _signs(self, storage: Storage | None, placement: Placement) -> dict[str, frozenset[Signs]]:
        """Return the signs of distances, by array, where memory is the program's or has room for more values."""
        accesses = self.conflicts.accesses if storage is None else storage.accesses()
        along = passed_along(self.counts.distances, placement)
        accesses = tuple(item for item in accesses if along.get(item.array, {-1}))
        return signs_by_array(Conflicts(self.flow.program, accesses, self.conflicts.known), placement, self.fixed)


def _most_tiled(option: _Option) -> int:
    return max((len(tiled) for _, tiled in option[1]), default=0)
