"""Throughput without expansion: the same as of the expanded graph, by schedules that an independent replay accepts."""

from __future__ import annotations

import dataclasses
import json
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from tests.dataflow.graphs.test_multirate import random_cyclo_static_graph, random_graph
from tests.samples import ALL

from shorthaul import dataflow
from shorthaul.core.errors import InputError
from shorthaul.core.search import Search
from shorthaul.dataflow.bounds.period import maximum_cycle_ratio
from shorthaul.dataflow.check.periodic import check_schedule
from shorthaul.dataflow.graphs.multirate import expand
from shorthaul.dataflow.graphs.periodic import least_period
from shorthaul.dataflow.graphs.timing import bounded, timed
from shorthaul.dataflow.model import SdfActor, SdfChannel, SdfGraph, phases


def random_limited_graph(seed: int) -> SdfGraph:
    """Times from 0 up, SDF and CSDF, every third with channels of limited capacity, which may deadlock."""
    rng = np.random.default_rng(seed)
    graph = (random_graph if seed % 2 else random_cyclo_static_graph)(rng)
    if seed % 2:
        graph = dataclasses.replace(
            graph, actors=tuple(SdfActor(a.id, {"t": int(rng.integers(0, 9))}) for a in graph.actors)
        )
    if seed % 3:
        return graph
    rooms = {
        c.id: max(c.tokens, *phases(c.production), *phases(c.consumption)) + int(rng.integers(0, 3))
        for c in graph.channels
        if c.source != c.target
    }
    return bounded(graph, rooms)


def expanded_period(graph: SdfGraph) -> Fraction:
    marked = expand(graph)
    times = {actor.id: phases(next(iter(actor.times.values())))[0] for actor in marked.actors}
    edges = [(c.source, c.target, times[c.source], c.tokens) for c in marked.channels]
    cycle = maximum_cycle_ratio([actor.id for actor in marked.actors], edges, above=0)
    return Fraction(0) if cycle is None else cycle.ratio


def test_the_period_is_that_of_the_expanded_graph() -> None:
    dead = shorter = 0
    for seed in range(250 if ALL else 80):
        graph = random_limited_graph(seed)
        try:
            period = expanded_period(graph)
        except InputError:
            with pytest.raises(InputError, match="deadlocks"):
                least_period(graph, Search())
            dead += 1
            continue
        cycle, schedule = least_period(graph, Search())
        assert Fraction(schedule.period, schedule.denominator) == period == (cycle.ratio if cycle else 0)
        assert check_schedule(graph, schedule).ok
        shorter += any(len(starts) < schedule.firings[actor] for actor, starts in schedule.starts.items())
    assert dead > 1
    assert shorter > 15


def test_the_replay_finds_a_firing_that_starts_too_early() -> None:
    found = kept = 0
    for seed in range(60):
        graph = random_limited_graph(6 * seed + 1)
        _, schedule = least_period(graph, Search())
        for actor, starts in schedule.starts.items():
            for place in range(len(starts)):
                moved = (*starts[:place], starts[place] - 1, *starts[place + 1 :])
                changed = dataclasses.replace(schedule, starts={**schedule.starts, actor: moved})
                ok = check_schedule(graph, changed).ok
                assert ok == keeps_every_token(graph, changed)
                found, kept = found + (not ok), kept + ok
    assert found > 50
    assert kept > 50


def test_a_hundred_million_firings_are_replayed_without_unrolling_them() -> None:
    actors = tuple(SdfActor(name, {"t": time}) for name, time in (("a", 3), ("b", [2, 5]), ("c", 1)))
    channels = (
        SdfChannel("ab", "a", 9973, "b", [4000, 5967], 77, 1),
        SdfChannel("bc", "b", [0, 9949], "c", 9941, 5, 1),
    )
    graph = timed(SdfGraph("primes", actors, channels), None, serial=True)
    _, schedule = least_period(graph, Search())
    assert sum(schedule.firings.values()) > 10**8
    assert check_schedule(graph, schedule).ok
    early = {**schedule.starts, "b": tuple(start - 1 for start in schedule.starts["b"])}
    violation = check_schedule(graph, dataclasses.replace(schedule, starts=early)).violations[0]
    assert (violation.place, violation.required) == ("channel ab", violation.available + 1)


def keeps_every_token(graph: SdfGraph, schedule: dataflow.PeriodicSchedule) -> bool:
    """Count the tokens of every channel through some iterations, event by event."""
    times = {actor.id: phases(next(iter(actor.times.values()))) for actor in graph.actors}

    def moves(actor: str, rate: object, end: bool) -> list[tuple[int, int]]:
        amounts, starts = phases(rate), schedule.starts[actor]
        result = []
        for firing in range(-20 * schedule.firings[actor], 20 * schedule.firings[actor]):
            number, place = divmod(firing, len(starts))
            time = starts[place] + number * schedule.period * len(starts) // schedule.firings[actor]
            time += times[actor][firing % len(times[actor])] * schedule.denominator if end else 0
            result += [time] * amounts[firing % len(amounts)]
        return result

    for channel in graph.channels:
        written = moves(channel.source, channel.production, end=True)
        read = moves(channel.target, channel.consumption, end=False)
        for number, time in enumerate(read):
            place = number - channel.tokens
            if 0 <= place < len(written) and written[place] > time:
                return False
    return True


def test_firings_in_turn_and_core_types() -> None:
    actors = (SdfActor("a", {"slow": 4, "fast": 2}), SdfActor("b", {"slow": 6}))
    graph = SdfGraph("g", actors, (SdfChannel("c", "a", 2, "b", 3, 0, 1, 5),))
    unlimited = dataflow.throughput(graph)
    assert unlimited.cost["period"] == 0
    assert "--serial" in unlimited.check.remarks[0]
    assert dataflow.throughput(graph, serial=True).cost["period"] == 12
    assert dataflow.throughput(graph, serial=True, capacities=True).cost["period"] == 16
    assert (
        dataflow.throughput(
            dataclasses.replace(graph, actors=(actors[0], SdfActor("b", {"slow": 5}))), core_type="slow", serial=True
        ).cost["period"]
        == 12
    )
    with pytest.raises(InputError, match="no execution time on this core type"):
        dataflow.throughput(graph, core_type="fast")


def test_large_graphs_name_a_cycle_of_actors() -> None:
    actors = tuple(SdfActor(name, {"t": time}) for name, time in (("a", 7), ("b", 3), ("c", 5)))
    chain = SdfGraph(
        "g", actors, (SdfChannel("ab", "a", 9_973, "b", 10_007, 0, 1), SdfChannel("bc", "b", 2, "c", 1, 0, 1))
    )
    result = dataflow.throughput(bounded(chain, {"ab": 30_000, "bc": 3}), serial=True)
    assert result.plan.firings == {"a": 10_007, "b": 9_973, "c": 19_946}
    assert result.bound.details["actors"] == ["c"]
    assert result.cost["period"] == result.bound.value == 99_730
    assert sum(map(len, result.plan.starts.values())) < 40_000


def test_numbers_beyond_64_bits() -> None:
    primes = (997, 991, 983, 977, 971, 967)
    actors = tuple(SdfActor(f"a{p}", {"t": 10**9}) for p in primes)
    channels = tuple(SdfChannel(f"c{p}", f"a{p}", q, f"a{q}", p, p * q, 1) for p, q in pairwise(primes))
    result = dataflow.throughput(SdfGraph("g", actors, channels), serial=True)
    assert result.cost["period"] == 10**9 * max(result.plan.firings.values())


def test_a_cycle_whose_ticks_pass_64_bits_has_its_ratio() -> None:
    ticks = 2**62
    edges = [(str(at), str((at + 1) % 12), ticks, int(at == 0)) for at in range(12)]
    cycle = maximum_cycle_ratio([str(at) for at in range(12)], edges)
    assert cycle is not None
    assert cycle.ratio == 12 * ticks


def test_documents_of_any_number_of_firings_are_analysed_and_hold_no_capacity_that_was_not_given(tmp_path) -> None:
    channel = {"id": "c", "src": "a", "dst": "b", "token_bytes": 4, "delay": 3, "produce": 9973, "consume": 9967}
    actors = [{"id": name, "kind": "actor", "tau": {"t": 2}} for name in "ab"]
    kind = {"kind": "shorthaul-dataflow-application", "version": 1}
    path = tmp_path / "app.json"
    path.write_text(json.dumps({**kind, "actors": actors, "channels": [{**channel, "produce": 997_300}]}))
    assert dataflow.throughput(path, serial=True).cost["period"] == 2 * 997_300
    path.write_text(json.dumps({**kind, "actors": actors, "channels": [{**channel, "produce": 2, "consume": 3}]}))
    with pytest.raises(InputError, match="no channel has a capacity"):
        dataflow.throughput(path, capacities=True)
    assert "bufferSize" not in dataflow.write_sdf3(dataflow.case(str(path)).workload.application)


def test_an_unknown_key_is_told_with_its_file(tmp_path: Path) -> None:
    document = {"kind": "shorthaul-dataflow-application", "actors": [{"id": "a", "taus": {"t": 1}}], "channels": []}
    tmp_path.joinpath("wrong.json").write_text(json.dumps(document))
    with pytest.raises(InputError, match=r"wrong\.json: actors\[0\]: unknown key"):
        dataflow.throughput(tmp_path / "wrong.json")
