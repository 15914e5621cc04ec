"""Documents with one number changed, for checkers that have to find it."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any

Path = tuple[str | int, ...]
_NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")


def changed_numbers(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield every place of a document that holds a number, also within a text, and what stands there with one more."""
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from changed_numbers(item, (*path, key))
    elif isinstance(value, bool):
        yield path, not value
    elif isinstance(value, int | float):
        yield path, value + 1
    elif isinstance(value, str):
        for found in _NUMBER.finditer(value):
            yield path, f"{value[: found.start()]}{int(found[0]) + 1}{value[found.end() :]}"


def at(document: Any, path: Path) -> Any:
    """Return what stands at a place."""
    for key in path:
        document = document[key]
    return document


def put(document: Any, path: Path, value: Any) -> Any:
    """Return a copy with another value at a place."""
    result = copy.deepcopy(document)
    at(result, path[:-1])[path[-1]] = value
    return result
