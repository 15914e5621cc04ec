from __future__ import annotations

import os
import random
import signal
import threading
import time

import pytest
from ortools.sat.python import cp_model

from shorthaul.core.search import Search
from shorthaul.core.searching.cp_sat import solve_model


def hard_model() -> cp_model.CpModel:
    """Return a model that takes minutes: bins of equal load."""
    model, draw = cp_model.CpModel(), random.Random(0)
    sizes = [draw.randrange(10**5, 10**6) for _ in range(60)]
    bins = [[model.new_bool_var("") for _ in sizes] for _ in range(8)]
    for item in zip(*bins, strict=True):
        model.add_exactly_one(item)
    most = model.new_int_var(0, sum(sizes), "")
    for chosen in bins:
        model.add(sum(size * taken for size, taken in zip(sizes, chosen, strict=True)) <= most)
    model.minimize(most)
    return model


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_solver_with_what_it_has(number: signal.Signals) -> None:
    timer = threading.Timer(0.3, os.kill, (os.getpid(), number))
    timer.start()
    began = time.monotonic()
    with Search(effort=1000) as search:
        status, _ = solve_model(hard_model(), search)
        assert search.interrupted
    assert time.monotonic() - began < 20, "of some minutes"
    assert status != cp_model.OPTIMAL


def test_the_same_effort_finds_the_same() -> None:
    found = []
    for _ in range(2):
        search = Search(effort=0.05)
        _, solver = solve_model(hard_model(), search)
        found.append((solver.objective_value, search.spent()))
    assert found[0] == found[1]
