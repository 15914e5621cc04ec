"""Sums that have no room within the memory limit say what is enough."""

from __future__ import annotations

from typing import Any

import pytest

from shorthaul.core.errors import InfeasibleError, NoPlanError
from shorthaul.core.search import Search
from shorthaul.spatial.options import METHODS
from shorthaul.spatial.verbs import treefix


def ran_out(_method: str) -> Any:
    raise MemoryError


def too_large(method: str) -> Any:
    assert method == "convergecast", "it takes least"
    raise InfeasibleError("a processor holds less", demand=2, limit=1)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("room", [0.0, float("inf")])
def test_what_is_enough_is_named(method: str, room: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the sums begin, and where memory runs out in them."""
    monkeypatch.setattr(treefix, "room", lambda _share=0.9: room)
    with pytest.raises(NoPlanError, match=r"sums over 1,000,000 vertices\n.*--memory-limit \d+M") as told:
        treefix.fastest(method, ran_out, Search(), 1_000_000)
    assert ("convergecast" in str(told.value)) == (method not in {METHODS[0], "convergecast"})


def test_where_memory_is_short_and_processors_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(treefix, "room", lambda share=0.9: 2e8 * (share == 1.0))
    with pytest.raises(InfeasibleError, match="a processor holds less"):
        treefix.fastest(METHODS[0], too_large, Search(), 1_000_000)
