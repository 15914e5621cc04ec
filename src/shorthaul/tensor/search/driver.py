"""The search for a schedule: annealing over sequences of subgraphs, from several seeds on several cores."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial
from itertools import cycle
from random import Random
from typing import Final, NamedTuple, NoReturn

import numpy as np

from shorthaul.core.amounts import TOLERANCE, Bound
from shorthaul.core.errors import Demand, InfeasibleError, NoPlanError
from shorthaul.core.search import Search
from shorthaul.core.searching.tasks import run_tasks, runs_beside, slots
from shorthaul.tensor import tuning
from shorthaul.tensor.bounds.best import Proof, lower_bound, prove
from shorthaul.tensor.bounds.columns import has_columns, has_turns
from shorthaul.tensor.cost_model.granularity import Execution, Granularities
from shorthaul.tensor.cost_model.profile import Profile, profile_of
from shorthaul.tensor.model import CONTEST, Operator, Problem, Rules
from shorthaul.tensor.plan import Plan
from shorthaul.tensor.search.annealing import anneal, fused
from shorthaul.tensor.search.schedules import Schedules, Sequence, Solution
from shorthaul.tensor.search.stretches import HOTTEST, anneal_round, anneal_stretches
from shorthaul.tensor.search.windows import solve_windows

#: Of the rounds of an annealing, which begin with one operator per group and with the best so far in turn: the share of
#: the effort that each takes, and the temperatures at both ends as parts of the mean latency of an operator.
_ROUND: Final = (0.3, 0.15, 3e-5)
#: The round before all others.
_FIRST_ROUND: Final = (0.03, 3e-5)
#: The share of what is left that goes into annealings, where windows are solved afterwards.
_ANNEALING: Final = 0.3
#: The share of the effort that is spent under the contest's rules, where others hold.
_CAPPED: Final = 0.7
#: What an operator alone that does not fit costs, as a multiple of what all operators take at least.
_DEAR: Final = 1e9
#: Kept back for checking the plan and writing it: seconds at least, multiples of what pricing every operator alone took
#: (measured: 2.7 at 2,000 operators, 4.3 at 20,000), and the most of a time limit.
_FINISH_S: Final = 0.25
_FINISH_PARTS: Final = 4.5
_FINISH_SHARE: Final = 0.7


#: A tensor, and numbers of a row and a column: 0, 1, and 2 for all others.
_Place = tuple[int, int, int]


class Begun(NamedTuple):
    """A search that has a plan: all that it has priced, one operator per group, and the best so far."""

    schedules: Schedules
    alone: Solution
    best: Solution
    capped: Begun | None = None  #: the same under the contest's rules, where others hold

    def with_groups(self, groups: Iterable[tuple[int, ...]] | None) -> Begun:
        """Return the same with the plan of these groups, in this order, if that is a better one."""
        found = None if groups is None else self.schedules.solution(tuple(groups))
        return self if found is None or found.latency >= self.best.latency else self._replace(best=found)

    def kept(self, search: Search) -> Plan:
        """Return the plan of the best solution, kept in the journal of ``search``."""
        search.keep(self.best.latency, partial(self.schedules.plan, self.best.sequence))
        return self.schedules.plan(self.best.sequence)

    def tasks(self, seed: int, count: int, floor: float) -> list[_Task]:
        """Return so many tasks that go on from here, each with another seed."""
        schedules = self.schedules
        known = schedules.granularities.known
        return [
            _Task(schedules.problem, schedules.rules, seed, number, self.best.sequence, floor, known)
            for number in range(count)
        ]


class _Task(NamedTuple):
    problem: Problem
    rules: Rules
    seed: int
    number: int
    best: Sequence
    floor: float
    known: dict[Profile, Execution | None]
    is_proof: bool = False


def begin(problem: Problem, rules: Rules, search: Search) -> Begun | None:
    """Return a plan worth having, soon: fused greedily, and a short annealing; None if none is found.

    What a journal has is taken up if it is better.
    """
    before_s = search.elapsed_s()
    schedules = Schedules(problem, rules)
    alone = schedules.solution(tuple((operator,) for operator in problem.topological_order))
    if alone is None:
        return _begun_together(problem, rules, search)
    search.spend(schedules.work)
    start = _resumed(schedules, alone, search.start())
    search.keep(start.latency, partial(schedules.plan, start.sequence))
    if search.time_limit is not None:
        # The same groups are replayed and drawn at the end, on a machine as busy as it is now.
        finish_s = max(_FINISH_S, _FINISH_PARTS * (search.elapsed_s() - before_s))
        search.keep_back(min(_FINISH_SHARE * search.time_limit, finish_s))
    count = len(problem.operators)
    if count == 1 or (count > tuning.MANY_OPERATORS and search.expired()):
        return _begun_late(Begun(schedules, alone, start), search)
    capped = _begun_for_the_contest(schedules, alone, search)
    if _is_late(problem, search):
        return _begun_late(Begun(schedules, alone, start), search)
    # A little is done even when the time is up already: of few operators it takes less than what has gone by.
    begun = Begun(schedules, alone, min(start, _fused(schedules, alone, search)), capped)
    if capped is not None and not _is_late(problem, search):
        begun = begun.with_groups(capped.best.sequence)
    begun = begun._replace(best=_first_annealed(schedules, begun.best, search))
    search.report(best=begun.best.latency)
    return begun


def _is_late(problem: Problem, search: Search) -> bool:
    """True if the time is up, and what is evaluated as a whole takes long: of many operators."""
    return len(problem.operators) > tuning.MANY_OPERATORS and search.remaining_s() <= 0


def _begun_late(begun: Begun, search: Search) -> Begun:
    """Return the same; its plan is made while its prices are at hand."""
    if search.start() is None:
        begun.schedules.note_plan(begun.alone.sequence)
    return begun


def _begun_together(problem: Problem, rules: Rules, search: Search) -> Begun | None:
    """Return a plan where some operator does not fit alone, None if none is found: that is dearer than any plan.

    What others make for it in its group takes no space.
    """
    dear = _DEAR * (1 + sum(_roughly(problem, index) for index in range(len(problem.operators))))
    schedules = Schedules(problem, rules, dear=dear)
    alone = schedules.solution(tuple((operator,) for operator in problem.topological_order))
    if alone is None:
        return None
    aside = search.aside()
    # As a whole, of many operators too: of stretches, every group has to fit.
    best = _annealed(schedules, fused(schedules, alone, _sure(aside)), _first_part(schedules, aside))
    if best.latency >= dear:
        return None
    best = _first_annealed(schedules, best, search)
    search.report(best=best.latency)
    return Begun(schedules, best, best)


def _refuse(problem: Problem, rules: Rules, search: Search) -> NoReturn:
    """Raise :class:`InfeasibleError` where nothing can execute an operator, else :class:`NoPlanError`."""
    capacity, nothing = problem.machine.capacity, frozenset[int]()
    best = Granularities(problem.machine, rules).best
    large = [
        index
        for index, operator in enumerate(problem.operators)
        if best(profile_of(problem, {index}, [operator.output], nothing, nothing)) is None
    ]
    for index in large:
        loaded = _least_loaded(problem, problem.operators[index])
        if loaded + 1 > capacity:
            raise InfeasibleError(
                "fast memory",
                demand=loaded + 1,
                limit=capacity,
                place=f"operator {index}",
                contributors=[Demand("of an output", 1), Demand("on ways from inputs of the graph", loaded)],
                cure="give the machine more fast memory",
            )
        if search.remaining_s() <= 0:
            break
    raise NoPlanError(f"no plan found: operator {large[0]} alone needs more than {capacity:g} elements")


def _least_loaded(problem: Problem, operator: Operator) -> int:
    """Return how many elements are held, at least, beside an output in some step that works on one of the operator's.

    Every way to it from an element of an input of the graph passes through one that is held: a least cut. Matrix
    products inside are done over all of their reduction, but for those that Pointwise operators alone divide from it:
    they are at their last product, or are done before if others of their shape have longer reductions. Along every axis
    elements are alike from number 2 on; the last product, and any of the operator itself, is called number 0.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    tensors, operators = problem.tensors, problem.operators
    shape = tensors[operator.output]
    alike = [index for index, other in enumerate(operators) if other.is_matmul and tensors[other.output] == shape]
    longest = max(map(problem.reduction, alike), default=0)
    wanted = _given(operator, min(1, shape.height - 1), min(1, shape.width - 1), (0,))
    near, far = ([], wanted) if operator.is_matmul else (list(wanted), [])
    most, seen = len(wanted), set[_Place]()
    arcs: list[tuple[object, object, int]] = [((place, 1), "wanted", 1) for place in set(wanted)]
    while near or far:
        is_near = bool(near)
        place = (near or far).pop()
        if place in seen:
            continue
        seen.add(place)
        tensor, row, column = place
        size = (tensors[tensor].height - 2 if row == 2 else 1) * (tensors[tensor].width - 2 if column == 2 else 1)
        arcs.append(((place, 0), (place, 1), min(size, most)))
        index = problem.producer[tensor]
        if index is None:
            arcs.append(("inputs", (place, 0), most))
            continue
        made = operators[index]
        length = problem.reduction(index) if made.is_matmul else 0
        if is_near and 0 < length < longest:
            continue
        given = _given(made, row, column, (0,) if is_near else range(min(length, 3)))
        (near if is_near and not made.is_matmul else far).extend(given)
        arcs += [((other, 1), (place, 0), most) for other in given]
    names = {name: number for number, name in enumerate(dict.fromkeys(name for arc in arcs for name in arc[:2]))}
    rows, columns, sizes = np.array([(names[begin], names[end], size) for begin, end, size in arcs], dtype=np.int32).T
    network = csr_array((sizes, (rows, columns)), shape=(len(names), len(names)))
    return int(maximum_flow(network, names["inputs"], names["wanted"]).flow_value)


def _given(operator: Operator, row: int, column: int, products: Iterable[int]) -> list[_Place]:
    """Return the elements, by tensor, row and column, of which an operator makes one, of all or some products."""
    if not operator.is_matmul:
        return [(given, row, column) for given in operator.inputs]
    left, right = operator.inputs
    return [place for one in products for place in ((left, row, one), (right, one, column))]


def _roughly(problem: Problem, index: int) -> float:
    """Return what an operator takes in steps of any size, about: its cost, and what it reads and writes."""
    operator = problem.operators[index]
    sizes = [problem.tensors[tensor].size for tensor in (*operator.inputs, operator.output)]
    return operator.base_cost + sum(sizes) / problem.machine.bandwidth


def _fused(schedules: Schedules, start: Solution, search: Search) -> Solution:
    if len(schedules.problem.operators) > tuning.MANY_OPERATORS:
        return anneal_round(schedules, start, search, search.seed, None)
    return fused(schedules, start, _sure(search))


def _first_annealed(schedules: Schedules, start: Solution, search: Search) -> Solution:
    if _is_late(schedules.problem, search):
        return start
    part = _first_part(schedules, search)
    if len(schedules.problem.operators) > tuning.MANY_OPERATORS:
        return anneal_round(schedules, start, part, search.seed, HOTTEST[-1])
    return _annealed(schedules, start, part)


def _first_part(schedules: Schedules, search: Search) -> Search:
    count = len(schedules.problem.operators)
    return _sure(search).part(tuning.FIRST_SHARE).within(tuning.FIRST_EFFORT_PER_OPERATOR * count)


def _annealed(schedules: Schedules, start: Solution, part: Search) -> Solution:
    hottest, coldest = _FIRST_ROUND
    return anneal(schedules, start, part.seed, part, hottest=hottest, coldest=coldest)


def plan_and_bound(problem: Problem, rules: Rules, search: Search, *, restarts: int) -> tuple[Plan, Bound]:
    """Return the best schedule found within ``search``, and a bound on the latency of all.

    Each has half of the effort, and what the other leaves of its own. By the clock, where tasks may run beside each
    other, both have all of the time. Raises :class:`InfeasibleError` or :class:`NoPlanError` if no schedule is found.
    """
    begun = begin(problem, rules, search)
    part = search.part(tuning.BOUND_SHARE, unlimited=tuning.BOUND_EFFORT)
    if begun is None:
        _refuse(problem, rules, search)
    is_cut_up = len(problem.operators) > tuning.MANY_OPERATORS  # its parts run beside each other
    if search.is_by_clock and has_columns(problem, rules) and not is_cut_up and runs_beside(search):
        return _beside(begun, search, restarts)
    proof = prove(problem, rules, part, begun.schedules.plan(begun.best.sequence), begun.best.latency)
    begun = improved(begun.with_groups(proof.groups), search, restarts, proof.bound)
    program = None if search.is_unlimited or search.expired() else proof.program
    if program is not None and not (program.is_proven() and program.is_ordered):
        known = begun.schedules.plan(begun.best.sequence)
        proof = prove(problem, rules, search, known, begun.best.latency, earlier=proof)
        begun = begun.with_groups(proof.groups)
    return begun.kept(search), proof.bound


def improved(begun: Begun, search: Search, restarts: int, bound: Bound) -> Begun:
    """Return the same with the best solution found by annealing and by windows.

    There are ``restarts`` annealings from seeds of their own. Each of them has an effort of its own, so that the plan
    depends on the seed and the effort alone; without limits it grows with the number of operators. With a time limit
    alone they go on until then, unless they meet the bound or nothing new is left to try; then there are as many as run
    at once, at least.
    """
    begun.kept(search)
    schedules, _, best, _ = begun
    problem, rules = schedules.problem, schedules.rules
    search.report(best=best.latency, bound=bound.value)
    if len(problem.operators) == 1 or bound.is_met_by(best.latency) or search.expired():
        return begun
    if begun.capped is not None:
        part = search.part(_CAPPED, unlimited=_default_effort(len(problem.operators))).aside()
        begun = begun.with_groups(improved(begun.capped, part, restarts, bound).best.sequence)
        schedules, _, best, _ = begun
    has_windows = _has_windows(problem, rules)
    if len(problem.operators) > tuning.MANY_OPERATORS:
        best = anneal_stretches(schedules, best, search, bound.value)
    else:
        best = _restarted(begun, search.part(_ANNEALING) if has_windows else search, restarts, bound)
    if has_windows and not bound.is_met_by(best.latency):
        part = search.part(1.0, unlimited=_default_effort(len(problem.operators)))
        best = solve_windows(schedules, best, part)
    return begun._replace(best=best)


def _has_windows(problem: Problem, rules: Rules) -> bool:
    return has_turns(problem, rules) and len(problem.operators) > tuning.WINDOW_OPERATORS


def _restarted(begun: Begun, search: Search, restarts: int, bound: Bound) -> Solution:
    """Return the best solution of so many annealings from seeds of their own, run beside each other."""
    best = begun.best
    if search.effort is None and search.deadline < math.inf:
        restarts = max(restarts, search.workers)
    found = dict(
        run_tasks(
            _anneal,
            begun.tasks(search.seed, restarts, bound.value),
            search=search,
            unlimited=_default_effort(len(begun.schedules.problem.operators)),
            enough=lambda solved: bound.is_met_by(solved.latency),
            watch=lambda told: search.report(best=min(told, best.latency), bound=bound.value),
            kept=partial(_resumed, begun.schedules, best),
        )
    )
    return min([best, *(found[number] for number in sorted(found))], key=lambda candidate: candidate.latency)


def _beside(begun: Begun, search: Search, restarts: int) -> tuple[Plan, Bound]:
    """Return the best schedule and the bound of tasks that each have all of the time.

    One proves; the others anneal and solve windows, another one as soon as one finds nothing new. They end
    when the best plan meets the bound.
    """
    schedules, _, best, _ = begun
    quick = bound = lower_bound(schedules.problem, schedules.rules, search)
    lowest = best.latency

    def watch(told: float) -> None:
        nonlocal lowest
        lowest = min(lowest, told)
        search.report(best=lowest, bound=bound.value)

    tasks = begun.tasks(search.seed, max(restarts, slots(search)), quick.value)
    answers = run_tasks(
        _prove_or_improve,
        [tasks[0]._replace(is_proof=True), *tasks],
        search=search,
        unlimited=_default_effort(len(schedules.problem.operators)),
        shares_time=False,
        watch=watch,
        closed=lambda: bound.is_met_by(lowest),
        kept=partial(_resumed, schedules, best),
    )
    for _, answer in answers:
        if isinstance(answer, Proof):
            bound = max(bound, answer.bound, key=lambda one: one.value)
            begun = begun.with_groups(answer.groups)
        else:
            begun = begun._replace(best=min(begun.best, answer, key=lambda one: one.latency))
        watch(begun.best.latency)
    return begun.kept(search), bound


def _prove_or_improve(task: _Task, search: Search) -> Proof | Solution:
    """Return a bound and what its program suggests, or the best solution of one seed's annealing and windows."""
    schedules = Schedules(task.problem, task.rules, task.known)
    best = schedules.solution(task.best)
    assert best is not None, "the search went on with this solution"
    if task.is_proof:
        proof = prove(task.problem, task.rules, search, schedules.plan(best.sequence), best.latency)
        return proof._replace(program=None)  # it stays in its process
    if not _has_windows(task.problem, task.rules):
        return _anneal(task, search)
    found = _anneal(task, search.part(_ANNEALING))
    return solve_windows(schedules, found, search)


def _begun_for_the_contest(schedules: Schedules, alone: Solution, search: Search) -> Begun | None:
    """Return what the search begins with under the contest's rules, None where others hold that are as strict.

    Tiles of any size make operators alone cheap, so fusing two of them may not pay where fusing many does. The
    contest's plans are allowed under all rules.
    """
    if schedules.rules.granularity_is_native or search.expired():
        return None
    capped = Schedules(schedules.problem, CONTEST)
    start = capped.solution(alone.sequence)
    search.spend(capped.work)
    if start is None or _is_late(schedules.problem, search):
        return None
    return Begun(capped, start, _first_annealed(capped, _fused(capped, start, search), search))


def _sure(search: Search) -> Search:
    """Return the search, or one of little effort if its time is up."""
    return Search(effort=tuning.LATE_EFFORT, seed=search.seed) if search.expired() else search


def _resumed(schedules: Schedules, start: Solution, given: Plan | None) -> Solution:
    """Return the solution with the subgraphs of a plan from a journal, if it is one and a better one than ``start``."""
    if given is None:
        return start
    again = schedules.solution(tuple(tuple(sorted(subgraph.operators)) for subgraph in given.subgraphs))
    return start if again is None else min(start, again, key=lambda one: one.latency)


def _default_effort(operators: int) -> float:
    """Return the effort of one annealing where nothing limits it."""
    return min(max(tuning.LEAST_EFFORT, tuning.EFFORT_PER_OPERATOR * operators), tuning.MOST_EFFORT)


def _anneal(task: _Task, search: Search) -> Solution:
    """Return the best solution of one seed. How many run at once does not change any."""
    schedules = Schedules(task.problem, task.rules, task.known)
    best = schedules.solution(task.best)
    assert best is not None, "the search went on with this solution"
    alone = schedules.solution(tuple((operator,) for operator in task.problem.topological_order)) or best
    random = Random(f"{task.seed}, {task.number}")
    floor = task.floor * (1 + TOLERANCE)
    share, hottest, coldest = _ROUND
    effort = share * min(search.left(), _default_effort(len(task.problem.operators)))
    for start in cycle((alone, None)):
        if best.latency <= floor or search.expired():
            break
        met, before = len(schedules.executions), best
        origin = start or best
        part = search.part(min(1.0, effort / max(search.left(), 1e-9)), unlimited=effort)
        found = anneal(schedules, origin, random.getrandbits(63), part, hottest=hottest, coldest=coldest, floor=floor)
        best = min(best, found, key=lambda candidate: candidate.latency)
        if len(schedules.executions) == met and origin is before is best:
            break  # a whole round has met no execution that was new: there is nothing left to find
    return best
