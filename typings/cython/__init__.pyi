"""Cython as mypy sees it: everything else is of any type."""

from typing import Any

def __getattr__(name: str) -> Any: ...
