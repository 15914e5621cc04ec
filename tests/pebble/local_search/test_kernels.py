"""The kernels of the local search against their plain twins."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tests.pebble.exact.test_exact import random_cdag
from tests.twins import Case, assert_agree

from shorthaul.pebble.local_search import annealing
from shorthaul.pebble.model import Cdag
from shorthaul.pebble.orders import belady
from shorthaul.pebble.plan import Plan

ROOM = "shorthaul.pebble.local_search."


def other(kernels: ModuleType, name: str) -> ModuleType:
    """Another module of kernels, in the same form."""
    prefix = kernels.__name__.rpartition("shorthaul.pebble")[0]
    return importlib.import_module(prefix + name)


def graph_of(kernels: ModuleType, cdag: Cdag) -> Any:
    parents, children = cdag.parents, cdag.children
    moves = other(kernels, ROOM + "order_moves_kernels")
    given = cdag.given.view(np.uint8)
    return moves.Graph(parents.starts, parents.targets, children.starts, children.targets, cdag.weights, given)


def cooling_of(kernels: ModuleType, rng: np.random.Generator, *, steps: int, penalty: float) -> Any:
    random = other(kernels, "shorthaul.core.compiled.random_kernels").Random(int(rng.integers(2**31)))
    cooling = other(kernels, ROOM + "order_moves_kernels").Cooling(random, steps, 2.0, 0.2, penalty)
    if rng.random() < 0.5:
        cooling.most_work = float(rng.integers(2000, 20_000))
    return cooling


def problem(rng: np.random.Generator) -> tuple[Cdag, int, float, Plan]:
    cdag = random_cdag(rng, int(rng.integers(8, 40)), int(rng.choice([1, 3, 9])))
    budget = cdag.least_budget() + int(rng.integers(0, 5))
    penalty = float(rng.choice(belady.PENALTIES))
    return cdag, budget, penalty, belady.replay_order(cdag, budget, cdag.order, penalty=penalty)


def state_of(kernels: ModuleType, cdag: Cdag, budget: int, plan: Plan) -> Any:
    order = belady.order_of(plan)
    position = np.full(cdag.n, -1, np.int64)
    position[order] = np.arange(len(order))
    lists = annealing.victims_of(cdag, plan, position)
    replay = other(kernels, ROOM + "incremental_replay_kernels")
    return replay.State(graph_of(kernels, cdag), budget, order, position, *lists, cdag.n)


def replays(kernels: ModuleType, rng: np.random.Generator) -> Any:
    cdag, budget, penalty, plan = problem(rng)
    state = state_of(kernels, cdag, budget, plan)
    steps = len(plan.nodes[plan.kinds == 2])
    first = int(rng.integers(steps))
    schedules, attempt = (
        other(kernels, ROOM + "schedule_kernels"),
        other(kernels, ROOM + "incremental_replay_kernels").attempt,
    )
    return (
        schedules.set_up(state),
        attempt(state, 0, steps, penalty, 1 << 62),
        attempt(state, first, steps, penalty, int(rng.integers(20))),
        schedules.moves_of(state),
        state.work,
    )


def anneals(kernels: ModuleType, rng: np.random.Generator) -> Any:
    cdag, budget, penalty, plan = problem(rng)
    schedules = other(kernels, ROOM + "schedule_kernels")
    state = state_of(kernels, cdag, budget, plan)
    traffic = schedules.set_up(state)
    graph = graph_of(kernels, cdag)
    mover = other(kernels, ROOM + "order_moves_kernels").Mover(graph, state.order, state.changed)
    changes = [
        kernels.anneal(state, mover, cooling_of(kernels, rng, steps=60, penalty=penalty), most) for most in (500, 2000)
    ]
    return traffic, changes, np.asarray(state.order), state.work, schedules.moves_of(state)


def cools(kernels: ModuleType, rng: np.random.Generator) -> Any:
    cooling = cooling_of(kernels, rng, steps=int(rng.integers(2)), penalty=1.0)
    cdag, _, _, _ = problem(rng)
    mover = kernels.Mover(graph_of(kernels, cdag), cdag.order.copy(), cdag.order.copy())
    return cooling.is_over(), cooling.step, cooling.work, np.asarray(mover.order)


def computes_again(kernels: ModuleType, rng: np.random.Generator) -> Any:
    cdag, budget, _, plan = problem(rng)
    moves = kernels.Moves(plan.kinds, plan.nodes, cdag.n)
    parents, given, room = cdag.parents, cdag.given.view(np.uint8), budget + int(rng.integers(9))
    kernels.compute_again(moves, cdag.weights, given, parents.starts, parents.targets, room)
    kinds, nodes = np.asarray(moves.new_kinds)[: moves.count], np.asarray(moves.new_nodes)[: moves.count]
    keep = np.zeros(moves.count, np.uint8)
    kernels.needed(kinds, nodes, cdag.is_output().view(np.uint8), keep)
    return kinds, nodes, keep


CASES: list[tuple[str, Case]] = [
    ("shorthaul.pebble.local_search.order_moves_kernels", cools),
    ("shorthaul.pebble.local_search.incremental_replay_kernels", replays),
    ("shorthaul.pebble.local_search.schedule_kernels", replays),
    ("shorthaul.pebble.local_search.annealing_kernels", anneals),
    ("shorthaul.pebble.local_search.rematerialisation_kernels", computes_again),
]


@pytest.mark.parametrize(("name", "case"), CASES)
def test_compiled_kernels_agree_with_their_twins(name: str, case: Case) -> None:
    assert_agree(name, case)
