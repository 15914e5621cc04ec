"""What a group in the making is called, as it grows."""

from __future__ import annotations

from typing import TypeAlias

Words: TypeAlias = "tuple[Words, tuple[str, ...]] | None"


def named(words: Words) -> str:
    """Return the name of a group: its operators (with + if the output is retained) and tensors resident (with r)."""
    found: list[str] = []
    while words is not None:
        words, last = words
        found += last
    return f"operators {' '.join(reversed(found))}"
