"""Networks by their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

ARCHITECTURES: dict[str, Callable[[], Any]] = {}


def named(make: Callable[[], Any]) -> Callable[[], Any]:
    ARCHITECTURES[make.__name__] = make
    return make
