"""The effort decides what a search finds, and the clock does not; the deadline is heard everywhere."""

from __future__ import annotations

import itertools
import time

import pytest

from shorthaul import pebble
from shorthaul.core.search import Search
from shorthaul.pebble.model import Cdag
from shorthaul.pebble.workloads import kernels_as_graphs

GRAPHS = {
    "fft": (kernels_as_graphs.fft(n=16, word=1), 6),
    "products": (kernels_as_graphs.matmul(m=3, n=3, k=3, word=1), 6),
    "random": (kernels_as_graphs.random_cdag(n=500, degree=3, window=60, most=4, seed=5), 40),
}
METHODS = ("auto", "local-search", "beam", "composition", "exact", "list-scheduling", "tiles")


def slow_down(monkeypatch: pytest.MonkeyPatch, jump_s: float) -> None:
    """Let so many seconds pass between any two looks at the clock."""
    ticks = itertools.count()
    monkeypatch.setattr(time, "monotonic", lambda: next(ticks) * jump_s)


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("graph", GRAPHS)
def test_a_slow_machine_finds_the_same_plan(
    graph: str, method: str, recompute: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    cdag, budget = GRAPHS[graph]
    if recompute and method not in {"auto", "local-search"}:
        pytest.skip("these do not compute again")
    if cdag.n > 400 and method in {"beam", "exact"}:
        pytest.skip("for small graphs")
    found = []
    for jump_s in (1e-6, 0.5):
        slow_down(monkeypatch, jump_s)
        search = Search(effort=0.3, seed=1)
        result = pebble.plan(cdag, budget=budget, method=method, recompute=recompute, search=search)
        found.append((result.plan.nodes.tolist(), result.plan.kinds.tolist(), result.bound, search.spent()))
    assert found[0] == found[1]


@pytest.mark.parametrize("graph", GRAPHS)
def test_a_slow_machine_finds_the_same_bound_memory_and_curve(graph: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cdag, budget = GRAPHS[graph]
    found = []
    for jump_s in (1e-6, 0.5):
        slow_down(monkeypatch, jump_s)
        memory = pebble.memory(cdag, search=Search(effort=0.3))
        points = pebble.sweep(cdag, points=3, search=Search(effort=0.3)).extra["points"]
        bound = pebble.bound(cdag, budget=budget, search=Search(effort=0.3)).bound
        found.append((memory.cost, memory.bound, memory.plan.nodes.tolist(), points, bound))
    assert found[0] == found[1]


def passed(cdag: Cdag, budget: int, method: str, *, limit_s: float, jump_s: float) -> float:
    """How far beyond its limit the clock is at the end, in looks at it."""
    search = Search(time_limit_s=limit_s)
    pebble.plan(cdag, budget=budget, method=method, search=search)
    return (search.elapsed_s() - limit_s) / jump_s


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("graph", GRAPHS)
def test_the_deadline_is_heard(graph: str, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once it has passed, the clock is looked at a few hundred times at most: in every loop, once or twice."""
    cdag, budget = GRAPHS[graph]
    slow_down(monkeypatch, 0.01)
    assert passed(cdag, budget, method, limit_s=2.0, jump_s=0.01) < 300
