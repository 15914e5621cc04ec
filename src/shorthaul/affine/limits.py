"""Deterministic limits: isl stops after a number of elementary operations, whatever the machine's speed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import islpy as isl


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
