from __future__ import annotations

import importlib
from itertools import product
from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np
import pytest
from tests.dataflow.bounds.test_core_sets import drawn_core
from tests.dataflow.small import small_problem
from tests.twins import Case, assert_agree

from shorthaul.core.errors import InputError
from shorthaul.dataflow.bounds import tile_items
from shorthaul.dataflow.bounds.constraints import Constraints
from shorthaul.dataflow.bounds.period import period_bound
from shorthaul.dataflow.caps_hms.heuristic import topological_rank
from shorthaul.dataflow.exploration import enumeration
from shorthaul.dataflow.graphs.multi_reader_buffers import substitute_mrbs
from shorthaul.dataflow.graphs.storage_kernels import ANY, unmet
from shorthaul.dataflow.mapping import trees
from shorthaul.dataflow.mapping.arrays import build
from shorthaul.dataflow.mapping.binding import MappedNetwork, determine_channel_bindings, mapped
from shorthaul.dataflow.mapping.start_times import serial_schedule
from shorthaul.dataflow.modulo.disjunctive_graph import (
    disjunctive_graph,
    fixed_differences,
    resources,
    times_of,
    turns,
)
from shorthaul.dataflow.options import PlanOptions

PACKAGE = "shorthaul.dataflow."
MAPPING = PACKAGE + "mapping.mapping_kernels"


def beside(kernels: ModuleType, name: str) -> ModuleType:
    """Another module of kernels, compiled or plain as this one is."""
    return importlib.import_module(kernels.__name__.partition("shorthaul")[0] + name)


def annealed(kernels: ModuleType, rng: np.random.Generator) -> Any:
    mappings, draws = (beside(kernels, name) for name in (MAPPING, "shorthaul.core.compiled.random_kernels"))
    held, annealing = (
        beside(kernels, PACKAGE + name) for name in ("mapping.loads_kernels", "exploration.load_kernels")
    )
    problem = small_problem(int(rng.integers(1000)), most_actors=8)
    instance = build(problem.application, problem.platform)
    actors, multicasts, cores = len(instance.tau), len(instance.feeding), len(instance.core_tile)
    start = mappings.Genotypes(
        np.zeros(1, np.int8),
        rng.integers(0, 2, (1, multicasts)).astype(np.int8),
        rng.integers(0, 5, (1, len(instance.src))).astype(np.int8),
        rng.integers(0, cores, (1, actors)),
    )
    able, fixed = np.tile(np.arange(cores), (actors, 1)), (rng.random(actors) < 0.1).astype(np.uint8)
    flips, common, exchanges = (int(bit) for bit in rng.integers(0, 2, 3))
    loads = held.Loads(mappings.Problem(instance), able, np.full(actors, cores), fixed, flips, common, exchanges)
    begun = annealing.begin(loads, start)
    found = annealing.anneal(loads, draws.Random(int(rng.integers(99))), 300, 2_000_000, 1 << 40, 0.2, 0.01, 0.1, 1.0)
    best = loads.best
    kept = (best.xi, best.decision, best.binding, loads.best_bytes, loads.best_price)
    return begun, found, *kept, annealing.evaluate(loads), loads.steps


def moved_between_tiles(kernels: ModuleType, rng: np.random.Generator) -> Any:
    actors, tiles, buffers = int(rng.integers(2, 7)), int(rng.integers(1, 4)), int(rng.integers(1, 8))
    counts = rng.integers(2, 4, buffers)
    pairs = [(b, count) for b in range(buffers) for count in range(int(counts[b]), 0, -1)]
    work = rng.integers(-1, 9, (actors, tiles)).astype(float)
    work[:, 0] = 3.0
    tile, place = np.zeros(actors, np.int64), np.zeros(buffers, np.int64)
    at = kernels.Tiling(
        np.cumsum([0, *counts]), rng.integers(0, actors, int(counts.sum())), rng.integers(0, 9, buffers),
        rng.integers(1, 5, buffers), rng.integers(1, 9, buffers), rng.permutation(pairs), work, rng.integers(0, 20, tiles),
        np.arange(actors), tile, place,
    )  # fmt: skip
    random = beside(kernels, "shorthaul.core.compiled.random_kernels").Random(int(rng.integers(99)))
    return kernels.anneal_tiles(at, random, 60, 0.1, 0.001, 0.1), tile, place


def enumerated(kernels: ModuleType, rng: np.random.Generator) -> Any:
    mappings = beside(kernels, MAPPING)
    used = {name: getattr(kernels, name) for name in ("first_branch", "mapping_of", "next_mapping")}
    used |= {"Genotypes": mappings.Genotypes, "Problem": mappings.Problem}
    of_trees = {"Tree": kernels.Tree, "layout": kernels.layout, "Genotypes": mappings.Genotypes}
    of_trees["Mapping"] = mappings.Mapping
    problem = small_problem(int(rng.integers(1000)), most_actors=6)
    found: list[Any] = []
    with mock.patch.multiple(enumeration, **used), mock.patch.multiple(trees, **of_trees):
        every = enumeration.Enumeration(build(problem.application, problem.platform), PlanOptions(), Constraints())
        for tree in every.trees:
            rival = int(rng.integers(1, 2 * every.never))
            tree.at.compete(np.array([every.dearest]), np.array([rival]))
            for turn in range(40):
                if turn == 30:
                    kernels.begin_again(tree.at)
                    tree.at.loosen(int(rng.integers(2**20)))
                told = kernels.next_mapping(tree.at, 200)
                found += [told, tree.at.steps, tree.at.paid, kernels.first_branch(tree.at)]
                if told > 0:
                    one = mappings.Genotypes(*(np.array(array) for array in tree.one))
                    found += [kernels.mapping_of(tree.at, one), one.binding, one.decision]
    return found


def decoded(kernels: ModuleType, rng: np.random.Generator) -> Any:
    mappings, placement = (beside(kernels, name) for name in (MAPPING, PACKAGE + "caps_hms.placement_kernels"))
    problem = small_problem(int(rng.integers(1000)), most_actors=8)
    instance = build(problem.application, problem.platform)
    n, cores = 4, len(instance.core_tile)
    genotypes = mappings.Genotypes(
        rng.integers(0, 2, n).astype(np.int8),
        rng.integers(0, 2, (n, len(instance.feeding))).astype(np.int8),
        rng.integers(0, 5, (n, len(instance.src))).astype(np.int8),
        rng.integers(0, cores, (n, len(instance.tau))),
    )
    arrays = mappings.Problem(instance)
    rank = topological_rank(problem.application, inverse=bool(rng.integers(2)))
    rules = mappings.Rules(rank, bool(rng.integers(2)), bool(rng.integers(2)), float(rng.choice([0.0, 0.01])))
    mapping, schedule = mappings.Mapping(arrays), placement.Schedule(arrays)
    answer = np.zeros((n, 3))
    decode = beside(kernels, PACKAGE + "caps_hms.heuristic_kernels").decode
    stopped = decode(arrays, rules, genotypes, 0, n, int(rng.choice([20, 10**6])), mapping, schedule, answer)
    return stopped, answer, mapping.live, mapping.root, mapping.memory, mapping.crossed, schedule.start, schedule.need


def generations(kernels: ModuleType, rng: np.random.Generator) -> Any:
    n, children, multicasts, channels, actors, cores = 12, 9, int(rng.integers(3)), 5, 4, 3
    points = rng.integers(0, 4, (n, 3)).astype(float)
    points[rng.random(n) < 0.2] = np.inf
    rank, crowd = np.zeros(n, np.int64), np.zeros(n)
    kernels.rank_and_crowd(points, np.argsort(points.T, axis=1, kind="stable"), rank, crowd)
    candidates = rng.integers(0, 4, (children, 3)).astype(float)
    candidates[rng.random(children) < 0.2] = np.inf
    kept, entered = np.zeros(n, np.uint8), np.zeros(children, np.uint8)
    kernels.entering(points, candidates, kept, entered)
    parents, offspring = (
        (
            rng.integers(0, 2, k).astype(np.int8),
            rng.integers(0, 2, (k, multicasts)).astype(np.int8),
            rng.integers(0, 5, (k, channels)).astype(np.int8),
            rng.integers(0, cores, (k, actors)),
        )
        for k in (n, children)
    )
    genotypes = beside(kernels, MAPPING).Genotypes
    able = np.array([rng.permutation(cores) for _ in range(actors)])
    draws = rng.random((children, 16 + 3 * (1 + multicasts + channels + actors)))
    draws[:, 6] *= 0.4
    counts = rng.integers(1, cores + 1, actors)
    kernels.vary(kernels.Variation(draws, 0.7, rank, crowd, genotypes(*parents), genotypes(*offspring), able, counts))
    return rank, crowd, kept, entered, *offspring


def network(rng: np.random.Generator) -> MappedNetwork:
    while True:
        problem = small_problem(int(rng.integers(1000)))
        try:
            net = substitute_mrbs(problem.application, problem.mapping.xi)
        except InputError:  # a deadlock
            continue
        least = {buffer.id: max(1, buffer.delay) for buffer in net.buffers}
        memory = determine_channel_bindings(net, problem.platform, problem.mapping, least)
        return mapped(problem.application, problem.platform, net, problem.mapping.binding, memory)


def selections(kernels: ModuleType, rng: np.random.Generator) -> Any:
    net = network(rng)
    graph = disjunctive_graph(net)
    period, starts = serial_schedule(net)
    selection = beside(kernels, PACKAGE + "modulo.selection_kernels")
    arrays = selection.Graph(graph)
    room = selection.Selection(arrays)
    random = beside(kernels, "shorthaul.core.compiled.random_kernels").Random(int(rng.integers(99)))
    best = times_of(graph, starts)
    low = int(period_bound(net).value)
    improve = beside(kernels, PACKAGE + "modulo.annealing_kernels").improve
    found = improve(arrays, room, random, best, period, low, 60, 0.2 * low, 0.05 * low)
    other = times_of(graph, starts) + rng.integers(0, 3 * period, len(graph.first))[graph.firing]
    return found, best, selection.evaluate(arrays, room, other, period, low, 3 * period), other, room.steps


def executed(kernels: ModuleType, rng: np.random.Generator) -> Any:
    net = network(rng)
    graph = disjunctive_graph(net, {b.id: b.delay + int(rng.integers(1, 3)) for b in net.network.buffers})
    arrays = beside(kernels, PACKAGE + "modulo.selection_kernels").Graph(graph)
    times = np.zeros((int(rng.integers(4, 8)), len(graph.names)), np.int64)
    at = kernels.Execution(arrays, times, 4)
    return kernels.execute(at, int(period_bound(net).value), 1.05), times, at.steps


def branches(kernels: ModuleType, rng: np.random.Generator) -> Any:
    net = network(rng)
    graph = disjunctive_graph(net)
    period = int(period_bound(net).value) + int(rng.integers(3))
    root = fixed_differences(graph, period)
    propagation = beside(kernels, PACKAGE + "modulo.propagation_kernels")
    branching = beside(kernels, PACKAGE + "modulo.branching_kernels")
    if root is None:
        return None
    before, after, ticks = turns(graph)
    at = beside(kernels, PACKAGE + "modulo.differences_kernels").Differences(
        period, graph.duration, before, after, ticks, root
    )
    tree, on = branching.Tree(len(ticks), 40, int(rng.integers(1, 5))), propagation.Resources(*resources(graph), 64)
    time = np.zeros(len(graph.names), np.int64)
    outcomes = [branching.branch(tree, at, on, nodes, steps, 10**5, time) for nodes, steps in ((3, 10**6), (40, 5000))]
    return outcomes, time, at.steps


def ratios(kernels: ModuleType, rng: np.random.Generator) -> Any:
    n, m = int(rng.integers(2, 8)), int(rng.integers(4, 20))
    source, target = rng.integers(0, n, m), np.sort(rng.integers(0, n, m))
    starts = np.searchsorted(target, np.arange(n + 1))
    ticks, delay = rng.integers(0, 9, m), rng.integers(1, 4, m)
    distance, best = np.zeros(n), np.full(n, -1)
    on_best = kernels.critical(kernels.EventGraph(starts, source, ticks, delay.astype(float), distance, best), 50)
    order = np.argsort(source, kind="stable")
    out = np.searchsorted(source[order], np.arange(n + 1))
    exact, into = np.zeros(n, np.int64), np.full(n, -1)
    weight = ticks - int(rng.integers(1, 9)) * delay
    found = kernels.settle(kernels.Weights(starts, source, target, out, order, weight, exact, into))
    return on_best, distance, best, found, exact, into


def dearest_sets(kernels: ModuleType, rng: np.random.Generator) -> Any:
    core = drawn_core(rng)
    asked = (core[name] for name in ("ticks", "first", "buffer", "near", "size"))
    at = kernels.CoreSets(*asked, int(rng.integers(4, 9)))
    done = kernels.dearest(at, int(rng.integers(30)), core["earned"], core["price"], 0, int(rng.integers(2000)))
    return done, at.best, at.found, at.taken, at.local, at.per_tick, at.per_byte, at.steps


def cheapest_columns(kernels: ModuleType, rng: np.random.Generator) -> Any:
    actors, units = int(rng.integers(2, 7)), 6
    pairs = [(int(one), int(other)) for one, other in (rng.choice(actors, 2, replace=False) for _ in range(8))]
    with mock.patch.object(tile_items, "Elimination", kernels.Elimination):
        tables, _ = tile_items.best_order(actors, pairs).tables(pairs, units)
    asked = (rng.integers(0, units + 2, (8, 2, 3)), rng.integers(0, 50, (8, 2, 3)))
    kernels.prepare(tables, *asked, rng.integers(0, 3, actors), rng.integers(-90, 10, actors))
    filled = [kernels.fill(tables, 0, 300), kernels.fill(tables, 0, 10**9)]
    return [*filled, kernels.cheapest(tables, units), tables.inside, tables.way, tables.steps]


def checked_prices(kernels: ModuleType, rng: np.random.Generator) -> Any:
    core = drawn_core(rng)
    asked = (core[name] for name in ("ticks", "first", "buffer", "near", "size", "earned", "price"))
    found = kernels.Core(int(rng.integers(30)), int(rng.integers(4, 9)), *asked)
    return [kernels.earns_more(found, most, 10**4, 10**4, 500) for most in (10**5, 10**6, 3 * 10**6)]


def drawn_demands(rng: np.random.Generator) -> tuple[Any, ...]:
    """Return demands on up to four buffers, in rooms of one step, and a box."""
    demands, buffers = int(rng.integers(1, 6)), int(rng.integers(1, 5))
    most = np.where(rng.random((demands, buffers)) < 0.6, rng.integers(0, 5, (demands, buffers)), ANY)
    least = rng.integers(0, 3, buffers)
    box = np.stack([least, least + rng.integers(0, 4, buffers)])
    return most, np.ones(buffers, np.int64), rng.integers(1, 4, buffers), box


def unmet_demands(kernels: ModuleType, rng: np.random.Generator) -> Any:
    most, steps, weights, box = drawn_demands(rng)
    rows = np.zeros((2, len(most)), np.int64)
    return kernels.unmet(most, steps, weights, box, *rows, np.zeros(len(weights), np.uint8))


def test_no_room_that_meets_all_demands_costs_less_than_said() -> None:
    for seed in range(200):
        most, steps, weights, box = drawn_demands(np.random.default_rng(seed))
        rows = np.zeros((2, len(most)), np.int64)
        shortest, price = unmet(most, steps, weights, box, *rows, np.zeros(len(weights), np.uint8))
        rooms = np.array(list(product(*(range(low, high + 1) for low, high in box.T))))
        met = rooms[(rooms[:, None, :] > most).any(axis=2).all(axis=1)]
        added = (met - box[0]) @ weights
        ways = ((most >= box[0]) & (most < box[1])).sum(axis=1)
        lacking = [row for row in range(len(most)) if (most[row] >= box[0]).all()]
        assert shortest == min(lacking, key=lambda row: int(ways[row]), default=-1)
        assert price <= added.min() if len(added) else price > 0
        assert (price == ANY) == any(ways[row] == 0 for row in lacking)


CASES: list[tuple[str, Case]] = [
    ("shorthaul.dataflow.mapping.mapping_kernels", decoded),
    ("shorthaul.dataflow.caps_hms.placement_kernels", decoded),
    ("shorthaul.dataflow.caps_hms.heuristic_kernels", decoded),
    ("shorthaul.dataflow.exploration.nsga2_kernels", generations),
    ("shorthaul.dataflow.exploration.load_kernels", annealed),
    ("shorthaul.dataflow.mapping.loads_kernels", annealed),
    ("shorthaul.dataflow.mapping.mappings_kernels", enumerated),
    ("shorthaul.dataflow.exploration.tiles_kernels", moved_between_tiles),
    ("shorthaul.dataflow.modulo.annealing_kernels", selections),
    ("shorthaul.dataflow.modulo.selection_kernels", selections),
    ("shorthaul.dataflow.modulo.self_timed_kernels", executed),
    ("shorthaul.dataflow.modulo.differences_kernels", branches),
    ("shorthaul.dataflow.modulo.propagation_kernels", branches),
    ("shorthaul.dataflow.modulo.branching_kernels", branches),
    ("shorthaul.dataflow.graphs.ratio_kernels", ratios),
    ("shorthaul.dataflow.graphs.storage_kernels", unmet_demands),
    ("shorthaul.dataflow.bounds.core_sets_kernels", dearest_sets),
    ("shorthaul.dataflow.bounds.tile_sets_kernels", cheapest_columns),
    ("shorthaul.dataflow.check.core_prices_kernels", checked_prices),
]


@pytest.mark.parametrize(("name", "case"), CASES, ids=[name.rpartition(".")[2] for name, _ in CASES])
def test_compiled_kernels_agree_with_their_twins(name: str, case: Case) -> None:
    assert_agree(name, case)
