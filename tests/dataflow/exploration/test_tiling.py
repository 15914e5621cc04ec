"""Mappings made tile by tile: the buffers they count are those of the network, and memories are used as they say."""

from __future__ import annotations

import numpy as np
from tests.dataflow.exploration.test_polishing import loads_of, made
from tests.dataflow.small import small_problem

from shorthaul.core.compiled.random_kernels import Random
from shorthaul.core.errors import InputError
from shorthaul.core.search import Search
from shorthaul.dataflow.exploration.load_kernels import anneal, begin
from shorthaul.dataflow.exploration.tiling import _buffers, tiled
from shorthaul.dataflow.graphs.multi_reader_buffers import substitute_mrbs
from shorthaul.dataflow.mapping.arrays import build, decisions_of, genes
from shorthaul.dataflow.model import Decisions, Problem
from shorthaul.dataflow.workloads import generators


def test_buffers_are_those_of_the_network() -> None:
    compared = 0
    for seed in range(60):
        problem = small_problem(seed, most_actors=8)
        application = problem.application
        try:
            network = substitute_mrbs(application, problem.mapping.xi)
        except InputError:  # the replaced multicasts lose the tokens of a cycle
            continue
        instance = build(application, problem.platform)
        found = _buffers(instance, np.asarray(genes(instance, problem.mapping).xi)[0])
        names = [actor.id for actor in application.actors]
        ids = [application.channels[root].id for root in found]
        assert dict(zip(ids, ([names[a] for a in ends] for ends in found.values()), strict=True)) == {
            buffer.id: [buffer.writer, *buffer.readers] for buffer in network.buffers
        }
        compared += any(problem.mapping.xi.values())
    assert compared > 5


def test_mappings_keep_to_the_cores_in_use_and_fit() -> None:
    compared = 0
    for seed in range(40):
        problem = small_problem(seed, most_actors=8)
        instance, at = made(problem, flips=False)
        start = genes(instance, problem.mapping)
        if not begin(at, start):
            continue
        replaced = {name for name, xi in problem.mapping.xi.items() if xi}
        found = tiled(instance, at.best, Random(seed), 400, Search())
        tiles = {
            problem.platform.tile_of[core].id for name, core in problem.mapping.binding.items() if name not in replaced
        }
        assert (found is None) == (len(tiles) == 1)
        if found is None:
            continue
        assert begin(at, found)
        compared += 1
        decisions = decisions_of(instance, found, 0)
        used = {core for name, core in problem.mapping.binding.items() if name not in replaced}
        assert set(decisions.binding.values()) <= used
    assert compared > 10


def test_tiles_first_makes_shorter_periods_where_memories_are_full() -> None:
    """Buffers hold 1.5 times what all memories of cores and tiles do; the price of both starts is that of all cores."""
    problem = Problem(generators.random_graph(80, seed=1), generators.platform24())
    names = [actor.id for actor in problem.application.actors]
    binding = {name: problem.platform.cores[number % 24].id for number, name in enumerate(names)}
    away = {channel.id: "GLOBAL" for channel in problem.application.channels}
    xi = dict.fromkeys(problem.application.multicasts, 1)
    instance, at = made(problem, exchanges=True)
    assert begin(at, genes(instance, Decisions(binding, xi, away)))
    start, search = at.best, Search(effort=1.0)
    found = tiled(instance, start, Random(1), 20_000, search)
    assert 0 < search.spent() < 0.1
    assert found is not None
    assert begin(at, found)
    load = at.best_load
    assert load == max(loads_of(instance, decisions_of(instance, found, 0)).values())
    assert begin(at, genes(instance, Decisions(binding, xi, away)))
    assert load < 0.9 * anneal(at, Random(1), 40_000, 10**9, 1 << 60, 0.1, 0.0005, 2.0, 0.0)
