from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tests.pebble.orders.test_belady import random_cdag
from tests.twins import Case, assert_agree

from shorthaul.graphs.csr import Csr, from_arrays, from_edges
from shorthaul.pebble.orders.bisection import AS_THEY_ARE, FIRST_PART, GROWN


def same_form(kernels: ModuleType, name: str) -> ModuleType:
    """Return another module of kernels, compiled or not as ``kernels`` is."""
    prefix = kernels.__name__.removesuffix(kernels.__name__.partition("shorthaul.")[2])
    return importlib.import_module(prefix + name)


def orders(kernels: ModuleType, rng: np.random.Generator) -> Any:
    cdag = random_cdag(rng, int(rng.integers(3, 40)))
    parents, children = cdag.parents, cdag.children
    rank = rng.integers(0, 4, cdag.n)
    lowest = rng.integers(-1, 9, cdag.n)
    kernels.lower_to_children(cdag.order, parents.starts, parents.targets, lowest)
    return (
        lowest,
        kernels.depth_first_order(parents.starts, parents.targets, cdag.outputs(), rank),
        kernels.recent_first_order(parents.degrees(), children.starts, children.targets, cdag.inputs()),
        kernels.register_need(cdag.order, parents.starts, parents.targets, cdag.weights),
    )


def replays(kernels: ModuleType, rng: np.random.Generator) -> Any:
    cdag = random_cdag(rng, int(rng.integers(3, 40)))
    order = cdag.order[~cdag.is_input()[cdag.order]]
    again = rng.integers(0, len(order), 3)
    order = np.insert(order, np.minimum(again + rng.integers(1, 9, 3), len(order)), order[again])
    replay = kernels.Replay(
        order, cdag.parents.starts, cdag.parents.targets, cdag.weights, cdag.given.view(np.uint8),
        cdag.is_output().view(np.uint8), cdag.least_budget() + int(rng.integers(0, 9)), float(rng.choice([1.0, 2.0])),
    )  # fmt: skip
    while not kernels.advance(replay, 7):
        pass
    return np.array(replay.kinds)[: replay.moves], np.array(replay.nodes)[: replay.moves]


def fused(kernels: ModuleType, rng: np.random.Generator) -> Any:
    cdag = random_cdag(rng, int(rng.integers(3, 40)))
    most, with_largest = int(rng.integers(0, 9)), bool(rng.random() < 0.5)
    children = cdag.children
    return kernels.fused_heads(
        cdag.order, cdag.given.view(np.uint8), children.starts, children.targets, most, with_largest
    )  # fmt: skip


def scheduler(memory: ModuleType, rng: np.random.Generator) -> Any:
    """Return a scheduler's state at the start, and its capacity."""
    cdag = random_cdag(rng, int(rng.integers(5, 250)))
    rules = memory.Rules(0.3, 2.0, 2.0, int(rng.integers(0, 4)), 16)
    capacity = cdag.least_budget() + int(rng.integers(0, 300))
    random = same_form(memory, "core.compiled.random_kernels").Random(int(rng.integers(99)))
    order = cdag.order[~cdag.is_input()[cdag.order]]
    parents, children = cdag.parents, cdag.children
    state = memory.State(
        parents.starts, parents.targets, children.starts, children.targets, cdag.weights, cdag.given.view(np.uint8),
        order, rules, capacity, random,
    )  # fmt: skip
    return state, capacity


def waiting(state: Any) -> list[Any]:
    names = ("done", "red", "saved", "absent", "which", "left", "final", "net", "solo", "cursor", "rank")
    return [*(getattr(state, name) for name in names), state.room, state.dirty, state.work]


def memories(kernels: ModuleType, rng: np.random.Generator) -> Any:
    return waiting(scheduler(kernels, rng)[0])


def schedules(kernels: ModuleType, rng: np.random.Generator) -> Any:
    memory = same_form(kernels, "pebble.orders.list_scheduling_memory_kernels")
    state, capacity = scheduler(memory, rng)
    run = kernels.Run(state, int(0.8 * capacity), int(rng.choice([300, 10**6])))
    while not kernels.advance(run, 50):
        pass
    return run.order, kernels.work_of(run), waiting(state)


def groups(rng: np.random.Generator) -> tuple[Csr, Csr, np.ndarray, np.ndarray]:
    """Return what groups read, the edges between them, and the weights of classes and groups."""
    count, classes = int(rng.integers(4, 30)), int(rng.integers(2, 12))
    reads = {g: set(rng.integers(0, classes, int(rng.integers(0, 4))).tolist()) for g in range(count)}
    edges = [(p, g) for g in range(1, count) for p in set(rng.integers(0, g, int(rng.integers(0, 2))).tolist())]
    read = from_edges(max(count, classes), [(g, v) for g in range(count) for v in sorted(reads[g])])
    return read, from_edges(count, edges), rng.integers(1, 5, classes), rng.integers(1, 3, count)


def tiles(kernels: ModuleType, rng: np.random.Generator) -> Any:
    read, after, class_weights, weights = groups(rng)
    back, before, count = read.reversed(), after.reversed(), len(weights)
    made = rng.integers(-1, len(class_weights), count)
    reads = kernels.Reads(read.starts, read.targets, back.starts, back.targets, made, class_weights)
    is_target = (rng.random(count) < 0.9).astype(np.uint8)
    growth = kernels.Growth(
        np.arange(count), is_target, reads, after.starts, after.targets, before.degrees(), weights,
        int(rng.integers(1, 12)),
    )  # fmt: skip
    while not kernels.advance(growth, 5):
        pass
    tile = np.array(growth.tile)
    random = same_form(kernels, "core.compiled.random_kernels").Random(int(rng.integers(99)))
    kernels.Exchange(growth, before.starts, before.targets, random).anneal(int(rng.integers(1, 200)), 2.0, 0.1)
    level = [kernels.levels(np.arange(count), before.starts, before.targets, tile, late) for late in (False, True)]
    return tile, growth.tile, growth.turn, growth.work, level


def halves(kernels: ModuleType, rng: np.random.Generator) -> Any:
    cdag = random_cdag(rng, int(rng.integers(3, 60)))
    n, parents, children = cdag.n, cdag.parents, cdag.children
    of = rng.integers(0, 3, n)
    writers, readers = np.repeat(np.arange(n), children.degrees()), children.targets
    vertices = np.concatenate([np.arange(n), readers])
    nets = 3 * np.concatenate([np.arange(n), writers]) + of[vertices]  # a net joins vertices of one cluster
    joined = from_arrays(3 * n, nets, vertices)
    back = from_arrays(n, vertices, nets)
    nets = kernels.Nets(
        joined.starts, joined.targets, back.starts, back.targets, np.repeat(cdag.weights, 3), rng.integers(1, 4, n)
    )  # fmt: skip
    arcs = kernels.Arcs(parents.starts, parents.targets, children.starts, children.targets)
    members = cdag.order[np.argsort(of[cdag.order], kind="stable")]
    starts = np.searchsorted(of[members], np.arange(4))
    made = kernels.Halves(nets, arcs, of, members, starts, float(rng.choice([0.05, 0.25])), int(rng.integers(1, 4)))
    random = same_form(kernels, "core.compiled.random_kernels").Random(int(rng.integers(99)))
    first = rng.integers(0, 2, n).astype(np.uint8)
    seen = []
    for start in (AS_THEY_ARE, FIRST_PART, GROWN):
        made.take(first, bool(rng.random() < 0.5), bool(rng.random() < 0.5))
        at = 0
        while at >= 0:
            at = made.refine(start, at, 30, random)
            seen.append((at, made.work))
    heaviest = rng.integers(2, 9, n)
    return np.array(made.best), seen, kernels.matched(nets, rng.permutation(n), int(rng.integers(2, 9)), heaviest)


CASES: list[tuple[str, Case]] = [
    ("shorthaul.pebble.orders.order_kernels", orders),
    ("shorthaul.pebble.orders.belady_kernels", replays),
    ("shorthaul.pebble.orders.fusion_kernels", fused),
    ("shorthaul.pebble.orders.list_scheduling_memory_kernels", memories),
    ("shorthaul.pebble.orders.list_scheduling_kernels", schedules),
    ("shorthaul.pebble.orders.tile_kernels", tiles),
    ("shorthaul.pebble.orders.bisection_kernels", halves),
]


@pytest.mark.parametrize(("name", "case"), CASES)
def test_compiled_kernels_agree_with_their_twins(name: str, case: Case) -> None:
    assert_agree(name, case)
