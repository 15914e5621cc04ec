"""Storage against throughput: the exact front, against all distributions and an independent execution."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from tests.dataflow.graphs.test_multirate import random_cyclo_static_graph, random_graph
from tests.reference.dataflow_self_timed import self_timed_period

from shorthaul import dataflow
from shorthaul.core.errors import InfeasibleError, InputError, NoPlanError
from shorthaul.core.search import Search
from shorthaul.dataflow import tuning
from shorthaul.dataflow.check.periodic import check_storage
from shorthaul.dataflow.formats.schedules import storage_table
from shorthaul.dataflow.graphs.multirate import repetition_vector
from shorthaul.dataflow.graphs.periodic import least_period, period_of
from shorthaul.dataflow.graphs.storage import StorageFront, buffers_of, merged
from shorthaul.dataflow.graphs.timing import timed
from shorthaul.dataflow.model import SdfActor, SdfChannel, SdfGraph, phases
from shorthaul.dataflow.verbs.analysing import storage_front
from shorthaul.graphs.csr import component_of


def small_graph(seed: int) -> SdfGraph | None:
    """A connected graph of two or three actors, its firings in turn; None where the draw is not one."""
    rng = np.random.default_rng(seed)
    graph = (random_graph if seed % 2 else random_cyclo_static_graph)(rng)
    channels = tuple(c for c in graph.channels if c.source != c.target)[:3]
    names = sorted({name for c in channels for name in (c.source, c.target)})
    number = {name: i for i, name in enumerate(names)}
    ends = [
        np.array([number[name] for name in side], np.int64)
        for side in zip(*((c.source, c.target) for c in channels), strict=True)
    ]
    if not channels or len(names) > 3 or len(set(component_of(len(names), *ends).tolist())) > 1:
        return None
    times = {a.id: a.times["t"] if not seed % 2 else int(rng.integers(1, 6)) for a in graph.actors}
    kept = SdfGraph("g", tuple(SdfActor(name, {"t": times[name]}) for name in names), channels)
    if sum(repetition_vector(kept).values()) > 14 or sum(c.tokens for c in channels) > 12:
        return None
    return timed(kept, serial=True)


def all_points(graph: SdfGraph, members: dict[str, tuple[str, ...]], most: int) -> list[tuple[int, Fraction]]:
    """The front by enumeration of every distribution of a size up to ``most``."""
    repetitions = repetition_vector(graph)
    by_name = {c.id: c for c in graph.channels}
    least = [max(by_name[ids[0]].tokens, *phases(by_name[ids[0]].production)) for ids in members.values()]
    spare = most - sum(least)
    best: dict[int, Fraction] = {}
    for extra in product(range(spare + 1), repeat=len(least)):
        if sum(extra) > spare:
            continue
        capacities = dict(zip(members, map(sum, zip(least, extra, strict=True)), strict=True))
        period = self_timed_period(graph, members, capacities, repetitions)
        size = sum(capacities.values())
        if period is not None and (size not in best or period < best[size]):
            best[size] = period
    front: list[tuple[int, Fraction]] = []
    for size in sorted(best):
        if not front or best[size] < front[-1][1]:
            front.append((size, best[size]))
    return front


def compare(seeds: range) -> tuple[int, int]:
    graphs = points = 0
    for seed in seeds:
        graph = small_graph(seed)
        if graph is None:
            continue
        members = {c.id: (c.id,) for c in graph.channels if ":" not in c.id}
        front = StorageFront(graph, buffers_of(graph, members), Search())
        found = [*front.points()]
        assert front.is_whole
        most = found[-1].size + 1
        if most - sum(b.least for b in buffers_of(graph, members)) > 14:
            continue
        expected = all_points(graph, members, most)
        assert [(point.size, point.period) for point in found] == expected, seed
        for point in found:
            assert check_storage(graph, members, point.capacities, point.schedule).ok
            tight = {name: held - 1 for name, held in point.capacities.items()}
            assert not check_storage(graph, members, tight, point.schedule).ok
        graphs, points = graphs + 1, points + len(found)
    return graphs, points


def test_the_front_is_that_of_all_distributions() -> None:
    graphs, points = compare(range(60))
    assert graphs > 15
    assert points > 40


@pytest.mark.parametrize(("written", "read"), [((0, 2), (2, 0)), ((2, 0), (0, 2)), ((1, 1), (0, 2)), ((1, 2, 0), (1,))])
@pytest.mark.parametrize("tokens", [2, 5])
def test_a_channel_of_phases_to_its_own_actor(written: tuple[int, ...], read: tuple[int, ...], tokens: int) -> None:
    # What a phase reads makes room for what a later one writes: the least capacity is that of no single phase.
    actors = (SdfActor("a", {"t": (3, 1)}), SdfActor("b", {"t": 5}))
    channels = (SdfChannel("c", "a", 1, "b", 1, 0, 1), SdfChannel("own", "a", written, "a", read, tokens, 1))
    graph = timed(SdfGraph("g", actors, channels), serial=True)
    members = {"c": ("c",), "own": ("own",)}
    front = StorageFront(graph, buffers_of(graph, members), Search())
    found = [(point.size, point.period) for point in front.points()]
    assert found == all_points(graph, members, found[-1][0])


@pytest.mark.slow
def test_the_front_is_that_of_all_distributions_of_more_graphs() -> None:
    graphs, _ = compare(range(1000, 2500))
    assert graphs > 300


def test_readers_share_a_buffer() -> None:
    seen = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        actors = tuple(SdfActor(name, {"t": int(rng.integers(1, 6))}) for name in "ambc")
        tokens, rate = int(rng.integers(0, 3)), int(rng.integers(1, 4))
        channels = (
            SdfChannel("in", "a", rate, "m", 1, tokens, 8),
            SdfChannel("x", "m", 1, "b", int(rng.integers(1, 3)), 0, 8),
            SdfChannel("y", "m", 1, "c", int(rng.integers(1, 3)), 0, 8),
        )
        graph, members = merged(SdfGraph("g", actors, channels, ("m",)))
        assert members == {"in": ("x", "y")}
        graph = timed(graph, serial=True)
        found = [*StorageFront(graph, buffers_of(graph, members), Search()).points()]
        assert [(p.size, p.period) for p in found] == all_points(graph, members, found[-1].size + 1)
        seen += len(found)
    assert seen > 24


def chain(**changes: object) -> SdfGraph:
    actors = tuple(SdfActor(name, {"t": time}) for name, time in zip("abcdef", (5, 2, 3, 1, 4, 6), strict=True))
    rates = ((1, 1), (2, 3), (2, 7), (8, 7), (5, 1))
    channels = tuple(SdfChannel(f"c{i}", actors[i].id, p, actors[i + 1].id, c, 0, 4) for i, (p, c) in enumerate(rates))
    loops = tuple(SdfChannel(f"s{actor.id}", actor.id, 1, actor.id, 1, 1, 1) for actor in actors)
    return dataclasses.replace(SdfGraph("samplerate", actors, (*channels, *loops)), **changes)


def test_published_front_of_a_sample_rate_converter() -> None:
    result = dataflow.buffers(chain())
    throughput = [(point.size, round(float(1 / Fraction(point.period)), 6)) for point in result.plan.front]
    assert throughput == [(44, 0.000919), (45, 0.000972), (46, 0.001042)]
    assert result.extra["complete"]
    assert storage_table(result.plan)[1][0][:8] == [44, "1088", 1, 4, 8, 14, 5, 2]
    least = dataflow.buffers(chain(), deadline=1030, unit="bytes")
    assert least.bound.value == least.cost["storage_bytes"] == 4 * 33 + 12
    with pytest.raises(InfeasibleError, match="960 needed"):
        dataflow.buffers(chain(), deadline=959)


def test_no_room_is_enough_for_a_period_of_nothing() -> None:
    ends = (SdfActor("a", {"t": 1}), SdfActor("b", {"t": 2}))
    graph = SdfGraph("pair", ends, (SdfChannel("c", "a", 1, "b", 1, 0, 4),))
    assert dataflow.buffers(graph, deadline=1).cost["storage_tokens"] == 3
    with pytest.raises(InfeasibleError, match=r"room in a buffer.*limit is 1152921504606846976"):
        dataflow.buffers(graph, deadline=0)


def test_what_has_no_front_is_refused() -> None:
    with pytest.raises(InputError, match="never ends"):
        dataflow.buffers(chain(channels=chain().channels[:5]))
    with pytest.raises(NoPlanError, match="size of"):
        dataflow.buffers(chain(), effort=1e-6)


@pytest.mark.parametrize(("serial", "period"), [(False, "0"), (True, "3")])
def test_a_graph_without_channels_has_nothing_to_size(serial: bool, period: str) -> None:
    found = dataflow.buffers(SdfGraph("g", (SdfActor("a", {"t": 2}), SdfActor("b", {"t": 3})), ()), serial=serial)
    assert [(point.size, point.period) for point in found.plan.front] == [(0, period)]
    assert found.extra["complete"]
    assert ["nothing to size" in remark for remark in found.check.remarks] == [True, False][: 2 - serial]


def in_ranges(seeds: range, monkeypatch: pytest.MonkeyPatch) -> int:
    """Compare fronts found in ranges of periods with those found at once; return how many points ranges found."""
    beyond = 0
    for seed in seeds:
        graph = small_graph(seed)
        if graph is None:
            continue
        rooms = buffers_of(graph, {c.id: (c.id,) for c in graph.channels if ":" not in c.id})
        whole = [(point.size, point.period) for point in StorageFront(graph, rooms, Search()).points()]
        least = period_of(least_period(graph, Search())[0])
        for effort in (1e-4, 3e-3):
            monkeypatch.setattr(tuning, "STORAGE_FIRST_EFFORT", effort)
            first = [*StorageFront(graph, rooms, Search(effort=effort)).points()]
            found = storage_front(graph, rooms, least, Search(effort=30))
            assert found.is_whole
            assert [(point.size, point.period) for point in found.points] == whole, seed
            beyond += len(whole) - len(first) if first else 0
    return beyond


def test_ranges_of_periods_have_the_points_of_the_front(monkeypatch: pytest.MonkeyPatch) -> None:
    assert in_ranges(range(20), monkeypatch) > 5


@pytest.mark.slow
def test_ranges_of_periods_have_the_points_of_many_fronts(monkeypatch: pytest.MonkeyPatch) -> None:
    assert in_ranges(range(3000, 3400), monkeypatch) > 100


@pytest.mark.slow
def test_the_front_of_a_network_of_many_channels_comes_to_its_end() -> None:
    found = dataflow.buffers("multicamera", serial=True, effort=10)
    assert found.extra["complete"]
    assert found.check.ok
    assert (found.plan.front[0].size, found.plan.front[-1].size) == (111, 160)
    assert len(found.plan.front) == 15
