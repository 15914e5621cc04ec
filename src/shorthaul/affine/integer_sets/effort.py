"""Deterministic limits: isl stops after a number of elementary operations, whatever the machine's speed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import islpy as isl

Item = TypeVar("Item")
Made = TypeVar("Made")


@contextmanager
def limited(operations: int) -> Iterator[None]:
    """Let isl raise :class:`islpy.Error` inside the block once it has done ``operations`` operations.

    >>> with limited(10**6):
    ...     isl.Set("{ [i] : 0 <= i < 3 }").is_empty()
    False
    """
    context = isl.DEFAULT_CONTEXT
    before = context.get_max_operations()
    context.reset_operations()
    context.set_max_operations(operations)
    try:
        yield
    finally:
        context.set_max_operations(before)
        context.reset_operations()


def extend_within(operations: int, found: list[Made], items: Iterable[Made]) -> None:
    """Add ``items`` to ``found``, as many as isl makes with so many operations.

    >>> kept: list[bool] = []
    >>> extend_within(10**6, kept, (isl.Set(text).is_empty() for text in ("{ : false }",)))
    >>> kept
    [True]
    """
    try:
        with limited(operations):
            found.extend(items)
    except isl.Error:
        pass


def made_within(operations: int, items: Iterable[Item], make: Callable[[Item], Made | None]) -> list[Made]:
    """Return what ``make`` makes of each item, without None and without what costs isl more than ``operations``.

    >>> made_within(10**6, ["{ [i] : 0 <= i < 3 }", "{ : false }"], lambda text: isl.Set(text).is_empty() or None)
    [True]
    """
    found: list[Made] = []
    for item in items:
        try:
            with limited(operations):
                made = make(item)
        except isl.Error:
            continue
        if made is not None:
            found.append(made)
    return found
