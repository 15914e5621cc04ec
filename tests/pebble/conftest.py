"""What several tests of the pebble engine need."""

from __future__ import annotations

import pytest

from shorthaul import pebble
from shorthaul.pebble.workloads import kernels_as_graphs


def compile_for(*methods: str) -> None:
    """Have the kernels of some methods compiled, without a limit: those of the tests are for searching."""
    cdag = kernels_as_graphs.random_cdag(n=12, degree=3, window=6, most=1, seed=1)
    for recompute in (False, True):
        for method in methods:
            pebble.plan(cdag, budget=cdag.least_budget(), method=method, recompute=recompute)


@pytest.fixture(scope="session")
def compiled_exact() -> None:
    """The exact searches and annealing are compiled."""
    compile_for("local-search", "exact")


@pytest.fixture(scope="session")
def compiled(compiled_exact: None) -> None:
    """All that ``auto`` takes is compiled."""
    compile_for("list-scheduling", "tiles", "composition")
