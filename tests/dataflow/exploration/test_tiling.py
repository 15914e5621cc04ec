"""Mappings made tile by tile: the buffers they count are those of the network, and memories are used as they say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.dataflow.exploration.test_polishing import loads_of, made
from tests.dataflow.small import small_problem
from tests.dataflow.test_kernels import moved_between_tiles

from shorthaul.core.compiled.random_kernels import Random
from shorthaul.core.compiled.twins import plain
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


def test_mappings_keep_to_the_cores_given_and_fit() -> None:
    found_some, outcomes = 0, set()
    for seed in range(60):
        problem = small_problem(seed, most_actors=8)
        instance, at = made(problem, flips=False)
        if not begin(at, genes(instance, problem.mapping)):
            continue
        tile = instance.core_tile
        draw = np.random.default_rng(seed)
        cores = draw.permutation(len(tile))[: draw.integers(1, len(tile) + 1)].tolist()
        names = [core.id for core in problem.platform.cores]
        found = tiled(instance, at.best, Random(seed), 400, Search(), cores)
        assert (found is None) == (len(set(tile[cores].tolist())) == 1)
        outcomes.add(found is None)
        nowhere = replace(instance, tau=np.full_like(instance.tau, -1))
        assert tiled(nowhere, at.best, Random(seed), 400, Search(), cores) is None
        if found is None:
            continue
        assert begin(at, found)
        found_some += 1
        decisions = decisions_of(instance, found, 0)
        assert set(decisions.binding.values()) <= {names[core] for core in cores}
    assert found_some > 10
    assert len(outcomes) == 2


def afresh(at: Any) -> tuple[list[int], list[float]]:
    """Return where buffers are once memories are filled in order, and the loads of what is there."""
    ends = [[at.tile[a] for a in at.members[at.starts[b] : at.starts[b + 1]]] for b in range(len(at.size))]
    left, place, tiles = list(at.room), [-1] * len(ends), len(at.room)
    for b, accesses in np.asarray(at.order).tolist():
        home = max(ends[b][:2], key=lambda tile: (ends[b].count(tile), left[tile]))
        if place[b] < 0 and ends[b].count(home) >= accesses and left[home] >= at.size[b]:
            place[b] = home
            left[home] -= at.size[b]
    load = [0.0] * (2 * tiles + 1)
    for actor, tile in enumerate(at.tile):
        load[tile] += at.work[actor, tile]
    for b, home in enumerate(place):
        for tile in ends[b]:
            for resource in {tile} if tile == home else {tile, home, tiles} - {-1}:
                load[tiles + resource] += at.near[b] if tile == home else at.far[b]
    return place, load


def test_loads_after_every_move_are_those_worked_out_afresh(monkeypatch: pytest.MonkeyPatch) -> None:
    twin, full = plain("shorthaul.dataflow.exploration.tiles_kernels"), []
    energy = twin._energy

    def compared(at: Any, weight: float) -> Any:
        found = energy(at, weight)
        assert (list(at.tried_place), list(at.tried)) == afresh(at)
        full.append(-1 in list(at.tried_place))
        return found

    monkeypatch.setattr(twin, "_energy", compared)
    for seed in range(20):
        moved_between_tiles(twin, np.random.default_rng(seed))
    assert len(full) > 200
    assert len({*full}) == 2


def test_tiles_first_makes_shorter_periods_where_memories_are_full() -> None:
    """Buffers hold 1.5 times what all memories of cores and tiles do; the price of both starts is that of all cores."""
    problem = Problem(generators.random_graph(80, seed=1), generators.platform24())
    names = [actor.id for actor in problem.application.actors]
    binding = {name: problem.platform.cores[number % 24].id for number, name in enumerate(names)}
    away = {channel.id: "GLOBAL" for channel in problem.application.channels}
    xi = dict.fromkeys(problem.application.multicasts, 1)
    instance, at = made(problem, exchanges=True)
    assert begin(at, genes(instance, Decisions(binding, xi, away)))
    start, first, then = at.best, [], []
    for seed in range(3):
        search = Search(effort=1.0)
        found = tiled(instance, start, Random(seed), 6_000, search, range(24))
        assert 0 < search.spent() < 0.1
        assert found is not None
        assert begin(at, found)
        first.append(at.best_load)
        assert at.best_load == max(loads_of(instance, decisions_of(instance, found, 0)).values())
        assert begin(at, genes(instance, Decisions(binding, xi, away)))
        then.append(anneal(at, Random(seed), 6_000, 10**9, 1 << 60, 0.1, 0.0005, 2.0, 0.0))
    assert sum(first) < 0.9 * sum(then)
