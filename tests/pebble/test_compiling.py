"""What is compiled beside a search with little time, and what the search does meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.reference.pebble_game_compiled import least_traffic

from shorthaul import pebble
from shorthaul.core import jit
from shorthaul.core.search import Search
from shorthaul.pebble import strategy
from shorthaul.pebble.check.replay import replay
from shorthaul.pebble.local_search import annealing
from shorthaul.pebble.request import Request
from shorthaul.pebble.startup import cold_start, compiling
from shorthaul.pebble.workloads import kernels_as_graphs

#: A plan against a limit with nothing compiled; the process beside it is ended, for it would compile for long.
COLD = """
from shorthaul import pebble
from shorthaul.core import beside, jit
from shorthaul.core.search import Search
from shorthaul.pebble import generators

result = pebble.plan(generators.{graph}, budget={budget}, method="{method}", search=Search(time_limit_s={limit}))
print(result.status.value, result.extra["method"], int(result.cost["traffic"]), round(jit.compiling_s()))
for program in beside._started.values():
    program._process.kill()
"""


def cold(folder: Path, **given: object) -> tuple[list[str], str]:
    """Return the words that a plan with empty caches prints, and what it says on standard error."""
    together = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    code = COLD.format(**given)
    done = subprocess.run([sys.executable, "-c", code], env=together, capture_output=True, text=True, check=True)
    return done.stdout.split(), done.stderr


def test_trees_of_some_hundred_nodes_are_planned_before_anything_is_compiled(tmp_path: Path) -> None:
    given, said = cold(
        tmp_path, graph="random_tree(n=300, k=3, most=9, seed=303)", budget=None, method="auto", limit=600
    )
    assert given[:2] == ["optimal", "tree-cuts"]
    assert given[3] == "0"
    assert not said


def test_small_graphs_are_proven_before_anything_is_compiled(tmp_path: Path) -> None:
    given, said = cold(tmp_path, graph="pyramid(n=5, word=1)", budget=3, method="auto", limit=None)
    assert given == ["optimal", "local-search", "25", "0"]
    assert not said


@pytest.mark.parametrize("method", ["auto", "exact"])
def test_a_short_limit_compiles_nothing_itself(method: str, tmp_path: Path) -> None:
    graph = "random_cdag(n=60, degree=3, window=16, most=5, seed=1)"
    given, said = cold(tmp_path, graph=graph, budget=None, method=method, limit=3)
    cdag = kernels_as_graphs.random_cdag(n=60, degree=3, window=16, most=5, seed=1)
    belady = pebble.plan(cdag, method="belady").cost["traffic"]
    assert given[:2] == ["feasible", "local-search"]
    assert int(given[2]) < belady
    assert given[3] == "0"
    assert "compiling in a process beside this one" in said
    assert "until then searches are slow, or left out" in said


def test_what_plain_python_proves_is_the_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cold_start, "_ANNEALING_S", 0.05)
    proven = 0
    for seed in range(12):
        cdag = kernels_as_graphs.random_cdag(n=10 + seed % 3, degree=3, window=9, most=1 + seed % 3, seed=seed)
        budget = cdag.least_budget()
        request = Request(cdag, budget, False, Search())
        start = strategy.find_plan(request, "belady")
        found = cold_start._proven_plainly(request, start)
        assert replay(cdag, found.plan, budget, recompute=False).ok
        optimum = least_traffic(cdag, budget, recompute=False)
        assert found.bound.value <= optimum <= found.plan.traffic(cdag.weights)
        proven += found.bound.value == optimum > start.bound.value
    assert proven > 3


def test_modules_to_compile_are_those_that_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "is_ready", lambda _: False)
    small = compiling.missing(is_small=True, recompute=False)
    again = compiling.missing(is_small=True, recompute=True)
    large = compiling.missing(is_small=False, recompute=False)
    assert small[0] == large[0] == again[0]
    assert set(large) < set(small) < set(again) == set(compiling.COMPILERS)
    assert set(small) - set(compiling.share(small)) == {
        "shorthaul.pebble.bounds.wavefront_kernels",
        "shorthaul.pebble.states.layered_search_kernels",
    }
    monkeypatch.setattr(jit, "is_ready", lambda module: module != small[0])
    assert compiling.missing(is_small=True, recompute=True) == small[:1]


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("module", compiling.COMPILERS)
def test_what_is_compiled_beside_is_what_searches_take(module: str) -> None:
    compiling.COMPILERS[module][0]()
    assert jit.is_ready(module)
    # One set of types: another would be compiled once more, in the search.
    assert len(max(jit._kernels[module], key=jit._length).signatures) == 1


def test_larger_graphs_wait_for_annealing_and_then_for_what_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def is_ready(module: str) -> bool:
        asked.append(module)
        return len(asked) > 12

    def improve(_: object, __: object, start: Any, **options: Any) -> Any:
        assert not options["plain"]
        assert options["until"]()
        return start

    monkeypatch.setattr(jit, "is_ready", is_ready)
    monkeypatch.setattr(compiling, "begin", lambda *_: True)
    monkeypatch.setattr(annealing, "improve", improve)
    monkeypatch.setattr(cold_start, "_MOST_FOR_PLAIN", 10)
    monkeypatch.setattr(cold_start, "_MOST_FOR_PROOF", 10)
    cdag = kernels_as_graphs.fft(n=8, word=1)
    best = strategy._quick(Request(cdag, 3, False, Search()))
    request = Request(cdag, 3, False, Search(time_limit_s=600))
    needed = "shorthaul.pebble.states.layered_search_kernels"
    assert cold_start.annealed_meanwhile(request, best, is_small=True, needed=needed).plan is best.plan
    assert asked[-1] == needed
    assert asked.count("shorthaul.pebble.local_search.annealing_kernels") > 4
