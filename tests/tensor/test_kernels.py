"""Compiled kernels and their plain twins."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tests.samples import samples
from tests.tensor.random_plans import random_problem
from tests.twins import Case, assert_agree

from shorthaul.tensor.cost_model.cost import kernel_arguments
from shorthaul.tensor.cost_model.profile import Profile, profile_of
from shorthaul.tensor.model import Machine
from shorthaul.tensor.search.schedules import graph_arguments


def some_profile(rng: np.random.Generator) -> tuple[Profile, Machine]:
    problem = random_problem(rng, operators=4)
    inside = frozenset(range(len(problem.operators)))
    outputs = [op.output for op in problem.operators if not set(problem.consumers[op.output]) & inside]
    shape = problem.tensors[outputs[0]]
    outputs = [tensor for tensor in outputs if problem.tensors[tensor] == shape]
    resident = frozenset({int(rng.integers(len(problem.tensors)))})
    return profile_of(problem, inside, outputs, resident, frozenset()), problem.machine


def beside(kernels: ModuleType, name: str) -> ModuleType:
    """The module of that name in the same folder, compiled or plain as ``kernels`` is."""
    return importlib.import_module(f"{kernels.__name__.rpartition('.')[0]}.{name}")


def costs(kernels: ModuleType, rng: np.random.Generator) -> Any:
    profile, machine = some_profile(rng)
    made = beside(kernels, "cost_kernels").Costs(*kernel_arguments(profile, machine))
    order_kernels = beside(kernels, "order_kernels")
    return [order_kernels.floor(made, *map(int, rng.integers(1, 13, 3))) for _ in samples(40)]


def orders(kernels: ModuleType, rng: np.random.Generator) -> Any:
    profile, machine = some_profile(rng)
    made = beside(kernels, "cost_kernels").Costs(*kernel_arguments(profile, machine))
    walked = kernels.Orders(made, *profile.mixed_axes)
    found = []
    for _ in range(6):
        w, h, k = map(int, rng.integers(1, 13, 3))
        kernels.set_size(walked, w, h, k)
        tiles = rng.permutation(-(-profile.height // h) * -(-profile.width // w))
        found += [kernels.follow(walked, tiles), kernels.isolated(walked), walked.peak]
        found.append(
            kernels.walk(walked, bool(rng.integers(2)), bool(rng.integers(2)), *map(int, rng.integers(0, 3, 2)))
        )
    return found


def chances(kernels: ModuleType, rng: np.random.Generator) -> Any:
    profile, machine = some_profile(rng)
    made = beside(kernels, "cost_kernels").Costs(*kernel_arguments(profile, machine))
    ordered = beside(kernels, "order_kernels").Orders(made, *profile.mixed_axes)
    found = []
    for _ in samples(24):
        w, h, k = map(int, rng.integers(1, 7, 3))
        rows, columns = -(-profile.height // h), -(-profile.width // w)
        found.append(kernels.floor(ordered, w, h, k))
        kernels.take(ordered, w, h, k)
        found += [kernels.later(ordered), kernels.entered(ordered, -1, -1, rows - 1, 0)]
        found.append(kernels.entered(ordered, rows - 1, columns - 1, 0, 0))
    return found


def granularity(kernels: ModuleType, rng: np.random.Generator) -> Any:
    profile, machine = some_profile(rng)
    made = beside(kernels, "cost_kernels").Costs(*kernel_arguments(profile, machine))
    w, h, k = profile.width, profile.height, max(1, profile.k_limit)
    limits = np.array([w, h, k, int(rng.integers(8)), int(rng.integers(8))])
    choices, line = kernels.Choices(made, limits, 1e6, 3), kernels.Choices(made, limits, 1e6, 1)
    lengths = [np.unique(rng.integers(1, most + 1, 5)) for most in (w, h, k)]
    kernels.search(choices, line, *lengths, np.array([0.5, 1.0, 1.5]))
    return choices.count, choices.w, choices.h, choices.k, choices.latency


def exhaustion(kernels: ModuleType, rng: np.random.Generator) -> Any:
    cost_kernels = beside(kernels, "cost_kernels")
    profile, machine = some_profile(rng)
    made = cost_kernels.Costs(*kernel_arguments(profile, machine))
    ordered = beside(kernels, "order_kernels").Orders(made, *profile.mixed_axes)
    limits = np.array([max(1, min(4, profile.k_limit)), int(rng.integers(8)), int(rng.integers(8))])
    work = kernels.Exhaustion(made, ordered, limits, float(rng.choice((60.0, np.inf))))
    boxes = np.sort(rng.integers(1, 7, (20, 2, 2)), axis=2).reshape(20, 4)
    values = np.empty(20)
    kernels.bound_boxes(work, boxes, values)
    place = kernels.exhaust(work, np.ascontiguousarray(boxes[np.isfinite(values), ::2]), values, 1000)
    return values, place, work.floor, np.array(kernels.kept(work))


def moves(kernels: ModuleType, rng: np.random.Generator) -> Any:
    """A hot and a cold walk with prices made up of their floors, in the modules beside ``kernels``."""
    groups, sequences = beside(kernels, "group_kernels"), beside(kernels, "sequence_kernels")
    problem = random_problem(rng, operators=9)
    graph = groups.Graph(*graph_arguments(problem))
    made = sequences.Sequences(
        groups.Groups(graph), bool(rng.integers(2)), bool(rng.integers(2)), np.zeros(0, np.int32)
    )
    walk = beside(kernels, "change_kernels").Moves(made, int(rng.integers(1 << 40)))
    numbers = [made.groups.find(np.array([operator], np.int32)) for operator in problem.topological_order]

    def settle(status: int) -> None:
        if status == 3:
            walk.reserve()
        for entry in np.asarray(made.wanted)[: made.missing].tolist() if status == 2 else ():
            group, found, kept, shared = made.key(entry)
            made.set_price(entry, float(1 + (group * 7 + found * 5 + kept * 3 + shared) % 23) + 60 / (1 + group % 5))

    while (status := beside(kernels, "move_kernels").begin(walk, numbers)) != 0:
        if status == 1:
            return None
        settle(status)
    for temperature in (1e3, 0.5):
        last = walk.steps + 150
        while walk.steps < last:
            settle(beside(kernels, "move_kernels").run(walk, last - walk.steps, temperature))
    return walk.best, walk.best_sequence(), walk.steps, walk.accepted, made.total, made.evaluated, made.steps()


def fronts(kernels: ModuleType, rng: np.random.Generator) -> Any:
    """A tree of operators, from the root up: operator i makes tensor i, which its parent takes; it takes an input too."""
    count = int(rng.integers(2, 9))
    parent = [int(rng.integers(i)) for i in range(1, count)]
    takers = [[], *([user] for user in parent), *([user] for user in range(count))]
    makers = [[child for child in range(1, count) if parent[child - 1] == user] for user in range(count)]
    rows = []
    for lists in (takers, makers):
        rows.append(np.cumsum([0, *map(len, lists)]))
        rows.append(np.array([item for items in lists for item in items], dtype=np.int64))
    order = np.arange(count)
    maker = np.append(np.arange(count), np.full(count, -1))
    name = kernels.__name__.replace("tensor.bounds.front_kernels", "core.compiled.random_kernels")
    random = importlib.import_module(name)
    made = kernels.Fronts(*rows, maker, np.arange(count), rng.random(2 * count), order)
    kernels.anneal(made, random.Random(int(rng.integers(1 << 40))), 60)
    return order


def completions(kernels: ModuleType, rng: np.random.Generator) -> Any:
    """Chains of arcs between few nodes, from the second layer to the end (node 0), with some boxes that do not fit."""
    layers, width, boxes = 4, 3, 7
    source, target = [], []
    for layer in range(layers):
        for node in range(width):
            for _ in range(2):
                source.append(1 + layer * width + node)
                last = layer == layers - 1 or rng.random() < 0.3
                target.append(0 if last else 1 + (layer + 1) * width + int(rng.integers(width)))
    tables = rng.integers(0, 40, (5, 8, boxes)).astype(float)
    tables[rng.integers(5), 0, rng.integers(boxes)] = np.inf
    ends = np.arange(0, len(source) + 1, 2 * width)
    made = kernels.Completions(
        np.array(source),
        np.array(target),
        rng.integers(0, 5, len(source)),
        ends[:-1],
        ends[1:],
        tables,
        rng.choice([-0.5, 0.0, 0.3, 1.0], (3, 6)),
        90.0,
        4,
        1 + layers * width,
        3,
    )
    found = []
    for first in (0, 3):
        kernels.prepare(made, rng.integers(0, 60, len(source)).astype(float), 0, np.array([first, first + 1, 3]))
        arcs = np.arange(len(source))
        states, hope = np.zeros((2 + len(arcs), 8, 3)), np.empty(len(arcs))
        states[:2] = rng.integers(0, 30, (2, 8, 3))
        worth = rng.integers(0, 90, len(arcs)).astype(float)
        free = rng.permutation(np.arange(2, len(states)))
        used = kernels.add(made, states, rng.integers(0, 2, len(arcs)), arcs, worth, free, hope)
        assert used == np.count_nonzero(hope)
        found += [states, hope]
    return found


CASES: list[tuple[str, Case]] = [
    ("shorthaul.tensor.cost_model.cost_kernels", costs),
    ("shorthaul.tensor.cost_model.order_kernels", orders),
    ("shorthaul.tensor.cost_model.chance_kernels", chances),
    ("shorthaul.tensor.cost_model.granularity_kernels", granularity),
    ("shorthaul.tensor.cost_model.exhaustion_kernels", exhaustion),
    ("shorthaul.tensor.bounds.completion_kernels", completions),
    ("shorthaul.tensor.bounds.front_kernels", fronts),
    ("shorthaul.tensor.search.group_kernels", moves),
    ("shorthaul.tensor.search.sequence_kernels", moves),
    ("shorthaul.tensor.search.change_kernels", moves),
    ("shorthaul.tensor.search.path_kernels", moves),
    ("shorthaul.tensor.search.move_kernels", moves),
]


@pytest.mark.parametrize(("name", "case"), CASES, ids=[case.__name__ for _, case in CASES])
def test_compiled_and_plain_agree(name: str, case: Case) -> None:
    # All kernels of the search run in either, whichever is named: rounds enough for one.
    assert_agree(name, case, 2 if case is moves else 10)
