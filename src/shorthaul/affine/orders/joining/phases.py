"""Phases of several nests, joined where one in boxes loads less."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, combinations
from typing import TYPE_CHECKING

from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.orders.boxes.steps import BoxStep
from shorthaul.affine.orders.tile_steps import Step
from shorthaul.affine.orders.turns import nests_of
from shorthaul.affine.orders.upper_bound import AnyStep, closed, components
from shorthaul.affine.tuning import ABOUT_THE_SAME, MOST_BOX_FUSIONS, MOST_FIRST_TRIES, POOR, WORTH_JOINING

if TYPE_CHECKING:
    from shorthaul.affine.orders.sized import Boxes


def tried(
    flow: DataFlow, given: Sequence[AnyStep], boxes: Boxes, *, first: bool = False
) -> Iterator[list[AnyStep] | None]:
    """Yield the phases of all orders that are compared; None where what comes next may take all the effort.

    Those of the ``first`` round are in the first boxes found.
    """
    begun = [given]
    for steps in _regrouped(boxes, given):
        begun.append(steps)
        yield list(steps)
    given = begun[-1]
    yield from boxes.turned(given, first=True)
    yield from _in_first_boxes(flow, given, boxes)
    if first:
        return
    starts = [[boxes.bordered(item) for item in given]]
    yield starts[0]
    parts = components(flow)
    if len(parts) > len(given):
        starts.append([boxes.plain(names) for names in parts])
    for steps in starts:
        worth = [boxes.cost(item) / _work(boxes, item.names) for item in steps]
        for at in sorted(range(len(steps)), key=lambda at: -worth[at]):
            steps[at] = boxes.better(steps[at])
            yield list(steps)
    yield from in_runs(flow, boxes)
    yield None
    for steps in starts:
        yield from boxes.turned(steps)  # joining may take all the effort
        last = steps
        for last in joined(flow, steps, boxes):
            yield last
        yield from boxes.turned(last)
    yield None
    if any(len(run) > 1 for run in boxes.runs):
        yield from in_runs(flow, boxes, boxes.in_turns)
        yield None


def _regrouped(boxes: Boxes, steps: Sequence[AnyStep]) -> Iterator[Sequence[AnyStep]]:
    """Yield phases of which those known as groups that take turns are in better and better groups."""
    for names, known in [*boxes.known_turns.items()]:
        others = [item for item in steps if names.isdisjoint(item.names)]
        is_whole = sum(len(item.names) for item in steps) == len(names) + sum(len(item.names) for item in others)
        if known is None or known.parts is not boxes.turns.parts or not is_whole:
            continue
        for found in boxes.turns.regrouped(known):
            if boxes.cost(found) < boxes.cost(known):
                boxes.known_turns[names] = known = found
                yield [*others, found]
        steps = [*others, known]


def _in_first_boxes(flow: DataFlow, steps: Sequence[AnyStep], search: Boxes) -> Iterator[list[AnyStep]]:
    """Yield phases with one of them, a loop nest, or joined ones in the first boxes found, where that loads less.

    Those come first that load most for the work that is expected, before the best boxes of any take what there is.
    Joined ones, and further placements where the first has no boxes, come when all others had their turn, and behind
    groups that take turns in loops without boxes.
    """
    result = list(steps)
    depths = range(1, 1 + max(len(item.iterators) for item in flow.program.statements))
    parts = (*chain(*(nests_of(flow.program, depth) for depth in depths)), *(item.names for item in steps))
    waiting = {frozenset(names): _work(search, names) for names in parts}
    paid = {names: search.total(_inside(result, names)) for names in waiting}
    tries = {names: int(search.has_none(names)) for names in waiting}
    given, is_turned = {*waiting}, False

    def worth(names: frozenset[str]) -> float:
        return sum(search.cost(item) * (POOR if isinstance(item, BoxStep) else 1) for item in _inside(result, names))

    while waiting:
        names = max(waiting, key=lambda names: (names in given and not tries[names], worth(names) / waiting[names]))
        if not is_turned and (tries[names] or names not in given):
            is_turned = True
            for turned in search.turned(result, first=True, without=True):
                result = turned
                paid |= {other: search.total(_inside(result, other)) for other in waiting}
                yield result
        work = waiting.pop(names)
        inside = _inside(result, names)
        if paid[names] and all(names.issuperset(item.names) for item in inside):
            made = search.of(names, first=True)
            tries[names] += 1
            if made is None and tries[names] < MOST_FIRST_TRIES:
                waiting[names] = 2 * work
            if made is not None and search.cost(made) < paid[names]:
                result = [*(item for item in result if item not in inside), made]
                joint = {closed(flow, result, made, item) for item in result if item is not made and _share(made, item)}
                for other in sorted(joint - {*tries}, key=sorted):
                    if len(tries) < MOST_BOX_FUSIONS:
                        waiting[other], tries[other], paid[other] = _work(search, other), 0, 0.0
                changed = [other for other in waiting if not other.isdisjoint(names)]
                paid |= {other: search.total(_inside(result, other)) for other in changed}
                yield result


def _inside(steps: Iterable[AnyStep], names: frozenset[str]) -> list[AnyStep]:
    """Return the phases that have some of these statements."""
    return [item for item in steps if not names.isdisjoint(item.names)]


def _work(search: Boxes, names: Iterable[str]) -> int:
    """Return how many pairs of accesses of these statements conflict: the work on their first boxes is in proportion.

    For each the signs of its distances are found (30 programs: 1.2 to 1.5 steps in up to three loops, to 20 in five),
    but for most data declared in the region, whose values stay within an iteration.
    """
    private = search.flow.program.code.private
    arrays = [
        (item.array, item.writes)
        for item in search.conflicts.accesses
        if item.statement in names and item.array not in private
    ]
    return 1 + sum(a == b and (first or second) for a, first in arrays for b, second in arrays)


def divides_a_nest(flow: DataFlow, steps: Sequence[AnyStep]) -> bool:
    """True if several phases have statements of one loop nest."""
    return any(len(_inside(steps, frozenset(names))) > 1 for names in nests_of(flow.program))


def in_runs(
    flow: DataFlow, search: Boxes, further: Callable[[Step, float], AnyStep | None] | None = None
) -> Iterator[list[AnyStep]]:
    """Yield phases of loop nests that follow one another in the program: each run of them joined where that is best.

    Nests of few instances are joined where they lie between others. ``further`` may have another order of a run that
    loads less than what is given.
    """
    nests = [search.plain(names) for names in nests_of(flow.program)]
    paid = sum(map(search.cost, nests))
    large = [at for at, item in enumerate(nests) if search.instances(item) > WORTH_JOINING * paid]
    rest: list[AnyStep] = [item for at, item in enumerate(nests) if at not in large]
    least: list[tuple[float, list[AnyStep]]] = [(0.0, [])]  # the best phases of the first nests
    refused: set[tuple[int, int]] = set()
    for last in range(len(large)):
        found: list[tuple[float, list[AnyStep]]] = []
        for first in range(last, -1, -1):
            members = nests[large[first] : large[last] + 1]
            alone = search.plain(name for item in members for name in item.names)
            made = None if {(first + 1, last), (first, last - 1)} & refused else search.of(alone.names)
            if made is None and first < last:
                refused.add((first, last))
                continue
            step = made if made is not None and search.cost(made) < search.cost(alone) else alone
            found.append((least[first][0] + search.cost(step), [*least[first][1], step]))
            other = further and further(alone, min(cost for cost, _ in found) - least[first][0])
            if other is not None:
                found.append((least[first][0] + search.cost(other), [*least[first][1], other]))
        least.append(min(found, key=lambda item: item[0]))
    steps = least[-1][1]
    inside = {name for item in steps for name in item.names}
    others = [item for item in rest if inside.isdisjoint(item.names)]
    yield [*steps, *others]
    yield _with_feeders(flow, [*steps, *others], steps, search)


def joined(flow: DataFlow, steps: list[AnyStep], search: Boxes) -> Iterator[list[AnyStep]]:
    """Join phases as long as one in boxes loads less than several, those first that save most; yield all stages.

    Of those that save about the same, the first are those of whose loads it is the largest part. Phases of few
    instances are joined where they lie between others, and in the end with the only phase that reads what they compute.
    """
    known: dict[frozenset[str], BoxStep | None] = {}
    while True:
        costs = {item.names: search.cost(item) for item in steps}
        large = [item for item in steps if search.instances(item) > WORTH_JOINING * sum(costs.values())]
        pairs = {closed(flow, steps, *both) for both in combinations(large, 2) if _share(*both)}
        found: list[tuple[float, float, list[AnyStep]]] = []
        for names in sorted(pairs, key=lambda item: (len(item), sorted(item))):
            apart = any(part <= names and made is None for part, made in known.items())
            if not apart and names not in known and len(known) < MOST_BOX_FUSIONS:
                known[names] = search.of(names)  # what no boxes were found for, has none as a part of more
            made = known.get(names)
            if made is not None:
                others = [item for item in steps if not set(item.names) <= names]
                paid = sum(costs[item.names] for item in steps if item not in others)
                saved = paid - search.cost(made)
                if saved > 0:
                    found.append((saved, saved / paid, [*others, made]))
                    yield found[-1][2]
        if not found:
            yield _with_feeders(flow, steps, large, search)
            return
        most = max(saved for saved, _, _ in found)
        steps = max((item for item in found if item[0] >= ABOUT_THE_SAME * most), key=lambda item: item[1])[2]


def _with_feeders(flow: DataFlow, steps: list[AnyStep], large: Sequence[AnyStep], search: Boxes) -> list[AnyStep]:
    """Join each of the phases ``large`` with all others that compute values for it alone, where that loads less."""
    small = [item for item in steps if item not in large]
    for item in large:
        parts = [item, *(other for other in small if _feeds_only(flow, other, item))]
        made = search.of(name for part in parts for name in part.names) if len(parts) > 1 else None
        if made is not None and search.cost(made) < sum(map(search.cost, parts)):
            steps = [*(other for other in steps if other not in parts), made]
    return steps


def _feeds_only(flow: DataFlow, step: AnyStep, reader: AnyStep) -> bool:
    readers = {item.sink for item in flow.flows if item.source in step.names} - {*step.names}
    return bool(readers) and readers <= {*reader.names}


def _share(first: AnyStep, second: AnyStep) -> bool:
    """True if values of one are read by the other, or both read values of one statement or inputs of one array."""
    uses = {*first.uses_of}, {*second.uses_of}
    return not (uses[0] | {*first.names}).isdisjoint(uses[1] | {*second.names})
