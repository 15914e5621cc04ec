"""Work on integer sets, counted: limits for one argument, effort and deadline for the whole search.

isl stops after a number of elementary operations, which bounds one argument on any machine alike. The whole search
counts *steps* (a composition of relations, a sum over one dimension, the loads of one policy, ...), looks at the clock
and at Ctrl-C between them, and ends by :class:`OutOfEffortError`. Where arguments are tried one after the other that
is one more reason to give an argument up, so that the arguments found so far are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, MutableMapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from time import monotonic
from typing import Any, Final, TypeVar

import islpy as isl

from shorthaul.affine.tuning import FIRST_OPERATIONS, STEPS_PER_EFFORT
from shorthaul.core.search import Search

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")

#: The search that the steps of this thread are charged to.
_SEARCH: Final[ContextVar[Search | None]] = ContextVar("search", default=None)


class OutOfEffortError(isl.Error):  # type: ignore[misc]
    """The search has no effort or no time left, or was interrupted."""


@contextmanager
def charged_to(search: Search) -> Iterator[Search]:
    """Charge all steps inside the block to ``search``."""
    before = _SEARCH.set(search)
    try:
        yield search
    finally:
        _SEARCH.reset(before)


def step(count: float = 1) -> None:
    """Count steps of work; raise :class:`OutOfEffortError` if none are left.

    >>> with charged_to(Search(effort=1)):
    ...     step(2 * STEPS_PER_EFFORT)
    Traceback (most recent call last):
    shorthaul.affine.effort.OutOfEffortError: the search has ended
    """
    search = _SEARCH.get()
    if search is not None:
        search.spend(count / STEPS_PER_EFFORT)
        if search.expired():
            raise OutOfEffortError("the search has ended")


def is_out_of_effort() -> bool:
    """True if the next step would raise :class:`OutOfEffortError`."""
    search = _SEARCH.get()
    return search is not None and search.expired()


def require_time(seconds: float) -> None:
    """Raise :class:`OutOfEffortError` if so much time is not left, ahead of work that does not look at the clock.

    >>> with charged_to(Search(time_limit=1)):
    ...     require_time(2)
    Traceback (most recent call last):
    shorthaul.affine.effort.OutOfEffortError: the search would end before
    """
    search = _SEARCH.get()
    if search is not None and search.remaining_s() < seconds:
        raise OutOfEffortError("the search would end before")


@contextmanager
def limited(operations: int) -> Iterator[None]:
    """Let isl raise :class:`islpy.Error` inside the block once it has done ``operations`` operations.

    >>> with limited(10**6):
    ...     isl.Set("{ [i] : 0 <= i < 3 }").is_empty()
    False
    """
    step()
    with _stopping_after(operations):
        yield


@contextmanager
def _stopping_after(operations: int) -> Iterator[None]:
    context = isl.DEFAULT_CONTEXT
    before = context.get_max_operations()
    context.reset_operations()
    context.set_max_operations(operations)
    try:
        yield
    except TypeError:
        isl.Val.zero(context)  # fails as isl does if no operation is left: then islpy had None for the text of a number
        raise
    finally:
        context.set_max_operations(before)
        context.reset_operations()


def patiently(function: Callable[[], ResultT]) -> ResultT:
    """Return ``function()``, begun again with twice as many operations of isl until they are enough.

    Between two attempts it looks at the clock and at Ctrl-C, to which isl is deaf; the next one is expected to take
    twice as long as the last. Inside of :func:`limited` that limit stands, and there is one attempt.

    >>> patiently(isl.Set("{ [i] : 0 <= i < 3 }").count_val)
    Val("3")
    """
    if isl.DEFAULT_CONTEXT.get_max_operations():
        return function()
    operations = FIRST_OPERATIONS
    while True:
        began = monotonic()
        try:
            with _stopping_after(operations):
                return function()
        except isl.Error as error:
            if "number of operations" not in str(error):
                raise
        step(0)
        require_time(2 * (monotonic() - began))
        operations *= 2


def until_out_of_effort(items: Iterable[ItemT]) -> list[ItemT]:
    """Return the items, up to the one during which the search ended.

    >>> with charged_to(Search(effort=1)):
    ...     until_out_of_effort(step(0.6 * STEPS_PER_EFFORT) for _ in range(3))
    [None]
    """
    found: list[ItemT] = []
    with suppress(OutOfEffortError):
        found.extend(items)
    return found


def remembered(known: MutableMapping[Hashable, Any], key: Hashable, make: Callable[[], ResultT]) -> ResultT:
    """Return ``make()``, kept in ``known`` by its key unless the search ended meanwhile.

    >>> known = {}
    >>> remembered(known, "a", lambda: 1), remembered(known, "a", lambda: 2)
    (1, 1)
    """
    if key in known:
        found: ResultT = known[key]
        return found
    made = make()
    if not is_out_of_effort():
        known[key] = made
    return made


def within(operations: int, items: Iterable[ItemT]) -> Iterator[ItemT]:
    """Yield items until isl has spent ``operations`` operations.

    >>> list(within(10**6, (isl.Set(text).is_empty() for text in ("{ : false }",))))
    [True]
    """
    try:
        with limited(operations):
            yield from items
    except isl.Error:
        pass


def results_within(
    operations: int, items: Iterable[ItemT], function: Callable[[ItemT], ResultT | None]
) -> Iterator[ResultT]:
    """Yield ``function(item)`` for each item, without None and without those that cost isl more than ``operations``.

    >>> list(results_within(10**6, ["{ [i] : i = 0 }", "{ : false }"], lambda text: isl.Set(text).is_empty() or None))
    [True]
    """
    for item in items:
        try:
            with limited(operations):
                result = function(item)
        except isl.Error:
            continue
        if result is not None:
            yield result
