"""A deterministic limit on the work that isl puts into one step: operations, never time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import islpy as isl


@contextmanager
def limited(operations: int) -> Iterator[None]:
    """Let isl raise ``islpy.Error`` once the block has cost that many isl operations."""
    context = isl.DEFAULT_CONTEXT
    context.reset_operations()
    context.set_max_operations(operations)
    try:
        yield
    finally:
        context.set_max_operations(0)
        context.reset_operations()
