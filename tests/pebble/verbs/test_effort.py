"""The effort decides what a search finds, and the clock does not; the deadline is heard everywhere."""

from __future__ import annotations

import itertools
import signal
import time
from typing import Any

import pytest

from shorthaul import pebble
from shorthaul.core.search import Search
from shorthaul.pebble.strategy import traffic
from shorthaul.pebble.workloads import kernels_as_graphs

GRAPHS = {
    "products": (kernels_as_graphs.matmul(m=3, n=3, k=3, word=1), 6),
    "random": (kernels_as_graphs.random_cdag(n=120, degree=3, window=40, most=4, seed=5), 30),
}
METHODS = ("auto", "local-search", "beam", "exact", "list-scheduling", "tiles")


def slow_down(monkeypatch: pytest.MonkeyPatch, jump_s: float) -> None:
    """Let so many seconds pass between any two looks at the clock."""
    ticks = itertools.count()
    monkeypatch.setattr(time, "monotonic", lambda: next(ticks) * jump_s)


def planned(graph: str, method: str, search: Search, *, recompute: bool = False) -> Any:
    cdag, budget = GRAPHS[graph]
    result = pebble.plan(cdag, budget=budget, method=method, recompute=recompute, search=search)
    return result.plan.nodes.tolist(), result.plan.kinds.tolist(), result.bound, search.spent()


@pytest.mark.costly
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize(("method", "recompute"), [*((method, False) for method in METHODS), ("auto", True)])
def test_a_slow_machine_finds_the_same_plan(
    graph: str, method: str, recompute: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for jump_s in (1e-6, 0.5):
        slow_down(monkeypatch, jump_s)
        found.append(planned(graph, method, Search(effort=0.1, seed=1), recompute=recompute))
    assert found[0] == found[1]


@pytest.mark.costly
@pytest.mark.parametrize("graph", GRAPHS)
def test_a_slow_machine_finds_the_same_bound_memory_and_curve(graph: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cdag, budget = GRAPHS[graph]
    found = []
    for jump_s in (1e-6, 0.5):
        slow_down(monkeypatch, jump_s)
        memory = pebble.memory(cdag, search=Search(effort=0.04))
        points = pebble.sweep(cdag, points=3, search=Search(effort=0.04)).extra["points"]
        bound = pebble.bound(cdag, budget=budget, search=Search(effort=0.04)).bound
        found.append((memory.cost, memory.bound, memory.plan.nodes.tolist(), points, bound))
    assert found[0] == found[1]


def test_nothing_limits_the_default_and_it_is_the_same_again(monkeypatch: pytest.MonkeyPatch) -> None:
    cdag = kernels_as_graphs.random_cdag(n=14, degree=3, window=9, most=4, seed=5)
    found = []
    for jump_s in (1e-6, 0.5):
        slow_down(monkeypatch, jump_s)
        result = pebble.plan(cdag, budget=cdag.least_budget())
        found.append((result.plan.nodes.tolist(), result.bound))
    assert found[0] == found[1]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("graph", GRAPHS)
def test_the_deadline_is_heard(graph: str, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once it has passed, every loop looks at the clock once or twice more."""
    slow_down(monkeypatch, 0.1)
    search = Search(time_limit=2.0)
    planned(graph, method, search)
    assert search.elapsed_s() < 2.0 + 0.1 * 2000


def test_a_plan_that_a_signal_ends_says_so_and_the_next_one_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    cdag, budget = GRAPHS["random"]
    bounded = traffic._computed_bound

    def ended(*given: Any, **keywords: Any) -> Any:
        signal.raise_signal(signal.SIGTERM)
        return bounded(*given, **keywords)

    whole, again = (pebble.plan(cdag, budget=budget, effort=0.1, restarts=1) for _ in range(2))
    with monkeypatch.context() as patch:
        patch.setattr(traffic, "_computed_bound", ended)
        short = pebble.plan(cdag, budget=budget, effort=0.1, restarts=1)
    after = pebble.plan(cdag, budget=budget, effort=0.1, restarts=1)
    assert short.provenance.interrupted
    assert short.cost["traffic"] > whole.cost["traffic"]
    for one in (whole, again, after):
        assert not one.provenance.interrupted
        assert (one.plan.nodes.tolist(), one.bound) == (whole.plan.nodes.tolist(), whole.bound)
