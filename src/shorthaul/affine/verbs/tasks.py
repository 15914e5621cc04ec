"""What bounds and plans are made of, as tasks beside one another: proofs, the derived order, tiled orders.

Integer sets do not travel: where a task is sent away it derives the data flow again, and it answers in numbers, texts
and arrays.
"""

from __future__ import annotations

import functools
import pickle
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeVar

from shorthaul.affine import views
from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.effort import OutOfEffortError, charged_to
from shorthaul.affine.integer_sets.dependences import DataFlow, flow_dependences
from shorthaul.affine.model import Program
from shorthaul.affine.options import BoundOptions
from shorthaul.affine.orders.upper_bound import Formulas, UpperBound
from shorthaul.affine.orders.upper_report import in_program_order, nearness, reference_value
from shorthaul.affine.plan import Plan, UpperDocument
from shorthaul.affine.replay.cdag import ConcreteCdag, concrete_cdag
from shorthaul.affine.tuning import LARGEST_LISTED
from shorthaul.affine.verbs.certified import keep
from shorthaul.affine.verbs.deriving import (
    bound_of,
    loads_of,
    operations_at,
    orders_in_time,
    over_memory,
    program_order_loads,
    upper_document_in_time,
)
from shorthaul.affine.verbs.levels import level_bounds
from shorthaul.affine.verbs.replays import Offer, Replays
from shorthaul.core.amounts import Bound
from shorthaul.core.figure import Figure
from shorthaul.core.search import LEAST_PART, Search
from shorthaul.core.searching.tasks import run_tasks

AnswerT = TypeVar("AnswerT")

#: isl counts the operations of all threads of a process together: one task at a time.
_ALONE: Final = threading.Lock()


def travelled(program: Program) -> Program:
    """Return a program as one that it was sent to has it: its sets are the same, but not always written alike."""
    copy: Program = pickle.loads(pickle.dumps(program))
    return copy


class Derived:
    """The data flow, an order and the CDAG of a program. A process that it is sent to derives them again."""

    def __init__(
        self,
        program: Program,
        has_order: bool,
        flow: DataFlow | None = None,
        formulas: Formulas | None = None,
        cdag: ConcreteCdag | None = None,
    ) -> None:
        self.program, self.has_order, self.flow, self.formulas, self._cdag = program, has_order, flow, formulas, cdag

    def __reduce__(self) -> tuple[Any, ...]:
        return _sent, (pickle.dumps(self.program), self.has_order)

    def known(self, search: Search) -> tuple[DataFlow, Formulas | None]:
        """Return flow and orders for all sizes. Deriving them takes no effort: the search that sent this has paid."""
        if self.flow is None or (self.formulas is None and self.has_order):
            with _for_time_alone(search):
                self.flow = flow_dependences(self.program)
                self.formulas = Formulas(self.flow) if self.has_order else None
                if self.formulas is not None:
                    self.formulas.further()
        return self.flow, self.formulas

    def flow_in_time(self, search: Search) -> DataFlow | None:
        """Return the data flow, None if the time is up before it is known."""
        try:
            return self.known(search)[0]
        except OutOfEffortError:
            return None

    def cdag(self, sizes: Mapping[str, int], search: Search) -> ConcreteCdag:
        """Return the CDAG at the sizes, always the same ones; deriving it takes no effort either."""
        if self._cdag is None:
            flow = self.known(search)[0]
            with _for_time_alone(search):
                self._cdag = concrete_cdag(self.program, sizes, flow)
        return self._cdag


def _for_time_alone(search: Search) -> AbstractContextManager[Search]:
    """Charge steps to nobody, until the time of ``search`` is up."""
    remaining_s = search.remaining_s()
    return charged_to(Search(time_limit=max(1e-3, remaining_s) if remaining_s < float("inf") else None))


@functools.lru_cache(maxsize=2)
def _sent(program: bytes, has_order: bool) -> Derived:
    return Derived(pickle.loads(program), has_order)


@dataclass(frozen=True, slots=True)
class Proven:
    """A bound as results hold it, with its values over S and at several memories; ``reference`` is for tightness."""

    bound: Bound
    over_memory: Mapping[int, float]
    levels: Mapping[int, float]
    operations: float | None
    reference: float | None
    cut_off: bool
    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class Proof:
    """A bound that is to be proven, at sizes if there are any; ``share`` of the time is for its arguments.

    One that ``is_kept`` is in the journal of the search.
    """

    derived: Derived
    options: BoundOptions
    sizes: Mapping[str, int] | None
    capacities: tuple[int, ...]
    share: float
    small: tuple[str, ...] = ()
    is_kept: bool = False

    def done(self, search: Search) -> Proven:
        """Return the bound."""
        program, options, sizes = self.derived.program, self.options, self.sizes
        flow = self.derived.flow_in_time(search)
        share = self.share if search.effort is None else 1.0  # of the effort a task has its own
        if search.effort is not None and search.remaining_s() < float("inf"):  # but not of the time
            limit_s, search = self.share * search.remaining_s(), search.part(1.0)
            search.time_limit = max(LEAST_PART, limit_s)
        told = partial(keep, search if self.is_kept else search.aside(), sizes=sizes)
        found = lower_bound(program, options, flow=flow, search=search, share=share, sizes=sizes, keep=told)
        told(found)
        is_cut_off = flow is None or search.expired()
        several = sizes is not None and len(self.capacities) > 1
        levels = level_bounds(found, options, flow, sizes or {}, self.capacities, search) if several else {}
        if sizes is not None and not several:
            levels = {words: max(0.0, found.value({**sizes, "S": words})) for words in self.capacities}
        return Proven(
            bound_of(program, found, sizes, flow),
            over_memory(found, sizes, self.capacities, search),
            levels,
            operations_at(found, sizes),
            reference_value(found.leading, self.small),
            is_cut_off,
            views.of_bound(found.formula, found.leading),
        )


@dataclass(frozen=True, slots=True)
class Ordered:
    """The derived order as results hold it, what it loads by its formula, and what replays offer, the best first.

    ``replayed`` are its loads into the largest memory then.
    """

    document: UpperDocument | None
    reference: float | None
    loads: Mapping[int, float]
    offers: tuple[Offer, ...] = ()
    replayed: int | None = None

    def beside(self, lower: Proven) -> UpperDocument | None:
        """Return the document, with how near the bound is."""
        if self.document is None:
            return None
        return {**self.document, "tightness": nearness(lower.reference, self.reference)}


@dataclass(frozen=True, slots=True)
class Order:
    """An order that is to be derived; ``is_shown`` at the sizes too, ``evaluations`` times replayed there if any."""

    derived: Derived
    sizes: Mapping[str, int] | None
    capacities: tuple[int, ...]
    small: tuple[str, ...] = ()
    is_shown: bool = True
    evaluations: int | None = None

    def done(self, search: Search) -> Ordered:
        """Return the order."""
        sizes, capacities = self.sizes, self.capacities
        flow = self.derived.flow_in_time(search)
        passed: list[UpperBound] = []
        asked = self.derived.program, flow, sizes, capacities, search, self.small
        upper, here = orders_in_time(*asked, keep=passed.append)
        if upper is None:
            return Ordered(None, None, {})
        loads = document = reference = None
        offers: tuple[Offer, ...] = ()
        with suppress(OutOfEffortError):
            if self.evaluations is not None and here is not None and sizes is not None:
                made = Replays(self.derived.program, self.derived.cdag(sizes, search), sizes, capacities, search)
                loads = made.derive(here, self.evaluations)
                # what loads less by formula may load more by replay: what less effort finds is replayed as well
                few = made.cdag.n <= LARGEST_LISTED
                others = [item for item in (upper, *reversed(passed if few else ())) if item is not here]
                for other in others if isinstance(here, UpperBound) else ():
                    if other is not upper or here.steps != upper.steps:
                        made.derive(other, self.evaluations)
                offers = made.offers
        remaining_s = search.remaining_s()  # what is shown of an order that is known takes no effort
        shown = Search(time_limit=max(LEAST_PART, remaining_s) if remaining_s < float("inf") else None)
        with suppress(OutOfEffortError), charged_to(shown):
            reference = reference_value(upper.leading, self.small)
            document = upper_document_in_time(upper, None, sizes if self.is_shown else None, here)
        every = loads_of(here, sizes, capacities)
        if document is not None and "value" in document and self.evaluations is None and len(capacities) == 1:
            assert sizes is not None
            more = search if search.effort is None else search.beside(search.effort)
            given = program_order_loads(self.derived.program, sizes, flow, more)
            if given < document["value"]:
                document, every = in_program_order(document, self.derived.program, given), {capacities[0]: given}
        return Ordered(document, reference, every, offers, loads)


@dataclass(frozen=True, slots=True)
class Tiled:
    """Tiled orders that are to be replayed, for one memory of several; ``share`` of the time is for them."""

    derived: Derived
    sizes: Mapping[str, int]
    capacities: tuple[int, ...]
    words: int
    evaluations: int
    share: float

    def done(self, search: Search) -> tuple[Offer, ...]:
        """Return what replays offer, the best first; nothing if the time is up before."""
        try:
            cdag = self.derived.cdag(self.sizes, search)
        except OutOfEffortError:
            return ()
        made = Replays(self.derived.program, cdag, self.sizes, self.capacities, search)
        made.tile(self.words, self.evaluations, search if search.effort is not None else search.part(self.share))
        return made.offers


@dataclass(slots=True)
class Tasks:
    """Tasks of several kinds, and the parts of the effort that they take."""

    search: Search
    tasks: list[Proof | Order | Tiled] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)
    answers: dict[int, Any] = field(default_factory=dict)

    def add(self, task: Proof | Order | Tiled, share: float) -> int:
        """Add a task; return its number."""
        self.tasks.append(task)
        self.shares.append(share)
        return len(self.tasks) - 1

    def run(self, kept: Callable[[Plan], None] | None = None) -> None:
        """Do all tasks, as far as the search gets.

        Where effort counts, derived orders come last with all that is left. So the rest is the same on any number of
        processes, and a signal during a proof finds tiled orders. ``kept`` takes a plan that a lost task had told.
        """
        every = range(len(self.tasks))
        rounds = [list(every)]
        if self.search.effort is not None:
            last = [at for at in every if isinstance(self.tasks[at], Order)]
            rounds = [[at for at in reversed(every) if at not in last], last]
        told, waiting = functools.partial(_tell, self.search), sum(self.shares)
        for numbers in rounds:
            if not numbers or (self.search.expired() and not self._is_free(numbers)):
                continue
            weights = [len(numbers) * self.shares[at] / waiting for at in numbers]
            tasks = [self.tasks[at] for at in numbers]
            found = run_tasks(
                _done, tasks, search=self.search, shares_time=False, weights=weights, watch=told, kept=kept
            )
            self.answers |= {numbers[at]: answer for at, answer in found if at < len(numbers)}
            waiting -= sum(self.shares[at] for at in numbers)

    def _is_free(self, numbers: Sequence[int]) -> bool:
        """True if these are orders whose first round is done whatever the effort, and there is time for it."""
        tasks = [self.tasks[at] for at in numbers]
        known = (isinstance(item, Order) and item.sizes and item.derived.flow is not None for item in tasks)
        return self.search.remaining_s() > 0 and all(known)

    def proven(self, number: int) -> Proven:
        """Return a bound: the one that holds always where there was no time for another."""
        found = self.answers.get(number)
        return found if isinstance(found, Proven) else _done(self.tasks[number], self.search)  # type: ignore[return-value]

    def ordered(self, number: int | None) -> Ordered:
        """Return an order, one without anything where it was not derived."""
        found = None if number is None else self.answers.get(number)
        return found if isinstance(found, Ordered) else Ordered(None, None, {})


def _tell(search: Search, best: float) -> None:
    if best < float("inf"):
        search.report(best=best)


def _done(task: Proof | Order | Tiled, search: Search) -> Proven | Ordered | tuple[Offer, ...]:
    with _ALONE, charged_to(search):
        return task.done(search)
