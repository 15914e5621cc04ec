"""Stretches of a long sequence, each on its own, and annealed several at once: a move takes as long as its stretch."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import replace
from functools import partial
from random import Random
from typing import Final, NamedTuple

from shorthaul.core.amounts import TOLERANCE
from shorthaul.core.search import Search
from shorthaul.core.searching.tasks import run_tasks
from shorthaul.tensor.cost_model.granularity import Execution
from shorthaul.tensor.cost_model.profile import Profile
from shorthaul.tensor.model import Operator, OperatorType, Problem, Rules
from shorthaul.tensor.plan import Plan
from shorthaul.tensor.search.annealing import anneal, fused
from shorthaul.tensor.search.schedules import Schedules, Sequence, Solution
from shorthaul.tensor.tuning import FUSED_OPERATORS, STRETCH_EFFORT_PER_OPERATOR, STRETCH_OPERATORS

#: The temperatures at which rounds begin, and the one at which they end, as parts of the mean latency of an operator.
HOTTEST: Final = (0.3, 0.1, 0.03)
_COLDEST: Final = 1e-4
#: Tasks of a round: stretches of one task share the prices that they meet.
_TASKS: Final = 8
#: Rounds without a better plan, each cut at other places, after which the search ends.
_IDLE_ROUNDS: Final = 3


class Stretch(NamedTuple):
    """The groups of a sequence from ``begin`` to ``end``, as a problem of its own.

    ``operators`` are the numbers of its operators in the whole problem. Behind them the problem has one operator for
    each tensor that a later group needs: it stands for all that comes after the stretch.
    """

    begin: int
    end: int
    problem: Problem
    operators: tuple[int, ...]
    tensors: tuple[int, ...]

    @property
    def later(self) -> frozenset[int]:
        """The operators that stand for what comes after."""
        return frozenset(range(len(self.operators), len(self.problem.operators)))

    def alone(self) -> tuple[Problem, list[int]]:
        """Return the problem of the stretch without what stands for later groups, and the tensors that these need."""
        count = len(self.operators)
        needed = [operator.inputs[0] for operator in self.problem.operators[count:]]
        tensors, operators = self.problem.tensors[: len(self.tensors)], self.problem.operators[:count]
        return replace(self.problem, tensors=tensors, operators=operators), needed

    def own(self, sequence: Sequence) -> Sequence:
        """Return what the stretch has of the whole sequence, in its own numbers."""
        number = {operator: place for place, operator in enumerate(self.operators)}
        return tuple(tuple(sorted(number[operator] for operator in group)) for group in sequence[self.begin : self.end])

    def plan(self, plan: Plan) -> Plan:
        """Return what the stretch takes of a plan of the sequence, in its own numbers."""
        number = {operator: place for place, operator in enumerate(self.operators)}
        tensor = {tensor: place for place, tensor in enumerate(self.tensors)}
        return Plan(
            tuple(
                replace(
                    subgraph,
                    operators=tuple(number[operator] for operator in subgraph.operators),
                    retained=tuple(tensor[kept] for kept in subgraph.retained),
                )
                for subgraph in plan.subgraphs[self.begin : self.end]
            )
        )

    def into(self, sequence: Sequence, found: Sequence) -> Sequence:
        """Return the whole sequence with these groups, in the stretch's numbers, in place of its own."""
        mine = [tuple(self.operators[place] for place in group) for group in found]
        return (*sequence[: self.begin], *mine, *sequence[self.end :])


def stretches(problem: Problem, sequence: Sequence, plan: Plan, size: int, first: int) -> Iterator[Stretch]:
    """Cut a sequence into stretches of at least ``size`` operators (the first one: ``first``), as few more as can be.

    They come from the last to the first. None ends where its ``plan`` keeps something in fast memory, nor between who
    stores a tensor and who makes it again for the next group alone.
    """
    ends, wanted = [], first
    whole = _whole(problem, sequence, plan)
    for place, subgraph in enumerate(plan.subgraphs):
        wanted -= len(subgraph.operators)
        if (wanted <= 0 and not subgraph.retained and place + 1 not in whole) or place + 1 == len(sequence):
            ends.append(place + 1)
            wanted = size
    later: set[int] = set()  # tensors that later groups take of earlier ones
    for begin, end in reversed([*zip([0, *ends], ends, strict=False)]):
        yield _stretch(problem, sequence, begin, end, later)
        for group in reversed(sequence[begin:end]):
            later |= {tensor for index in group for tensor in problem.operators[index].inputs}
            later -= {problem.operators[index].output for index in group}


def _whole(problem: Problem, sequence: Sequence, plan: Plan) -> set[int]:
    """Return the places of groups before which a tensor is stored that is made again behind, and not stored there."""
    made = [{problem.operators[index].output for index in group} for group in sequence]
    taken = [{tensor for index in group for tensor in problem.operators[index].inputs} for group in sequence]
    kept = [made[place] & set(subgraph.retained) for place, subgraph in enumerate(plan.subgraphs)]
    again: list[set[int]] = []  # what groups behind the next one take besides, from the last group on
    beyond: set[int] = set()
    later: set[int] = set()
    for here, mine, asked in zip(reversed(kept), reversed(made), reversed(taken), strict=True):
        again.append(here & beyond)
        beyond = later - mine
        later = (later | asked) - mine
    found: set[int] = set()
    stored: dict[int, int] = {}
    for place, tensors in enumerate(reversed(again)):
        for tensor in tensors & stored.keys():
            found.update(range(stored[tensor] + 1, place + 1))
        stored |= dict.fromkeys(made[place] - kept[place] - taken[place], place)
    return found


def _stretch(problem: Problem, sequence: Sequence, begin: int, end: int, later: Set[int]) -> Stretch:
    inside = sorted({operator for group in sequence[begin:end] for operator in group})
    mine = {problem.operators[index].output for index in inside}
    needed = mine & later
    used = sorted(mine | {tensor for index in inside for tensor in problem.operators[index].inputs})
    number = {tensor: place for place, tensor in enumerate(used)}
    operators = [
        Operator(item.kind, tuple(number[tensor] for tensor in item.inputs), number[item.output], item.base_cost)
        for item in (problem.operators[index] for index in inside)
    ]
    tensors = [problem.tensors[tensor] for tensor in used]
    for tensor in sorted(needed):
        operators.append(Operator(OperatorType.POINTWISE, (number[tensor],), len(tensors), 0.0))
        tensors.append(problem.tensors[tensor])
    return Stretch(begin, end, Problem(tuple(tensors), tuple(operators), problem.machine), tuple(inside), tuple(used))


class _Task(NamedTuple):
    rules: Rules
    parts: list[tuple[Stretch, Sequence]]
    hottest: float | None  # None: fused greedily
    seed: int
    known: dict[Profile, Execution | None]


class _Answer(NamedTuple):
    """The groups of each stretch, in its own numbers, and the executions that were new."""

    found: list[Sequence]
    fresh: dict[Profile, Execution | None]


def anneal_stretches(schedules: Schedules, best: Solution, search: Search, floor: float) -> Solution:
    """Return ``best`` or a better solution: stretches that cover the sequence are annealed, each on its own.

    They are cut at other places in every round. Without limits there are as many rounds as temperatures; otherwise they
    go on until the search ends, unless the bound ``floor`` is met or several of them find nothing better.
    """
    problem = schedules.problem
    random = Random(search.seed)
    number = idle = 0
    while idle < _IDLE_ROUNDS and best.latency > floor * (1 + TOLERANCE) and not search.expired():
        if search.is_unlimited and number == len(HOTTEST):
            break
        left = max(1, len(HOTTEST) - number)
        effort = STRETCH_EFFORT_PER_OPERATOR * len(problem.operators)
        part = search.part(1 / left, unlimited=effort)
        found = anneal_round(schedules, best, part, random.getrandbits(63), HOTTEST[number % len(HOTTEST)])
        idle = 0 if found.latency < best.latency else idle + 1
        best = found
        number += 1
        search.report(best=best.latency, bound=floor)
        search.keep(best.latency, partial(schedules.plan, best.sequence))
    return best


def anneal_round(schedules: Schedules, best: Solution, search: Search, seed: int, hottest: float | None) -> Solution:
    """Return ``best`` with its stretches annealed if that is better; ``hottest`` is None if they are fused greedily."""
    random = Random(seed)
    plan = schedules.plan(best.sequence)
    size = FUSED_OPERATORS if hottest is None else STRETCH_OPERATORS
    cut = list(stretches(schedules.problem, best.sequence, plan, size, random.randint(size // 3, size)))
    parts = [[(one, one.own(best.sequence)) for one in cut[number::_TASKS]] for number in range(min(_TASKS, len(cut)))]
    known = schedules.granularities.known
    tasks = [_Task(schedules.rules, part, hottest, random.getrandbits(63), known) for part in parts]
    groups: dict[int, tuple[Stretch, Sequence]] = {}
    for number, answer in run_tasks(_anneal, tasks, search=search.aside(), unlimited=search.effort):
        groups |= {one.begin: (one, mine) for (one, _), mine in zip(parts[number], answer.found, strict=True)}
        known.update(answer.fresh)
    sequence = best.sequence
    for begin in sorted(groups, reverse=True):  # from the end: places before a stretch stay what they are
        stretch, mine = groups[begin]
        sequence = stretch.into(sequence, mine)
    found = schedules.solution(sequence)
    return best if found is None or found.latency >= best.latency else found


def _anneal(task: _Task, search: Search) -> _Answer:
    """Return the best groups found for every stretch of a task; each has a part of the effort as large as it is."""
    random = Random(task.seed)
    known, found = dict(task.known), []
    waiting = sum(len(stretch.operators) for stretch, _ in task.parts)
    for stretch, sequence in task.parts:
        problem, needed = stretch.alone()
        schedules = Schedules(problem, task.rules, known, needed)
        start = schedules.solution(sequence)
        part = search.part(len(stretch.operators) / waiting)
        waiting -= len(stretch.operators)
        known = schedules.granularities.known
        if start is None:  # it computes again, too late, what one of its groups takes from before it
            found.append(sequence)
            continue
        if task.hottest is None:
            best = fused(schedules, start, part)
        else:
            best = anneal(schedules, start, random.getrandbits(63), part, hottest=task.hottest, coldest=_COLDEST)
        found.append(best.sequence)
    return _Answer(found, {profile: known[profile] for profile in known.keys() - task.known.keys()})
