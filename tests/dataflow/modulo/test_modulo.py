"""The exact decoder against trying every order, against CP-SAT, and against what is known of the given mappings."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise, product

import numpy as np
import pytest
from tests.dataflow.small import small_problem
from tests.reference.dataflow_cp_model import start_at
from tests.reference.dataflow_orders import cycle_ratio, schedulable

from shorthaul.core.errors import InfeasibleError, InputError
from shorthaul.core.search import Search
from shorthaul.dataflow import tuning
from shorthaul.dataflow.bounds.period import period_bound
from shorthaul.dataflow.check.replay import check_point
from shorthaul.dataflow.exploration.decoders import Exact, decoder_for
from shorthaul.dataflow.graphs.multi_reader_buffers import substitute_mrbs
from shorthaul.dataflow.mapping.arrays import build, decisions_of
from shorthaul.dataflow.mapping.binding import MappedNetwork, determine_channel_bindings, mapped, needed_capacities
from shorthaul.dataflow.mapping.mapping_kernels import Genotypes
from shorthaul.dataflow.mapping.start_times import add_periods, serial_schedule, tokens_to_itself
from shorthaul.dataflow.model import Actor, Application, Channel, Core, CoreType, Platform, Tile, tile_memory
from shorthaul.dataflow.modulo import branching_kernels, differences_kernels, propagation_kernels, selection_kernels
from shorthaul.dataflow.modulo.disjunctive_graph import (
    disjunctive_graph,
    fixed_differences,
    resources,
    starts_of,
    times_of,
    turns,
)
from shorthaul.dataflow.modulo.memory_limits import fits, schedule_in_memories
from shorthaul.dataflow.modulo.periodic import modulo_schedule, modulo_schedule_within
from shorthaul.dataflow.modulo.solver import decide_mapping, solve_mapping
from shorthaul.dataflow.options import Decoding
from shorthaul.dataflow.verbs.planning import plan, schedule, sweep
from shorthaul.dataflow.workloads import generators


def networks(seeds: range, most_actors: int = 5) -> Iterator[tuple[int, MappedNetwork, dict[str, int]]]:
    """Seed, mapped network and least capacities of small random problems that do not deadlock."""
    for seed in seeds:
        problem = small_problem(seed, most_actors)
        application, platform, decisions = problem.application, problem.platform, problem.mapping
        try:
            network = substitute_mrbs(application, decisions.xi)
        except InputError:
            continue
        least = {buffer.id: max(1, buffer.delay) for buffer in network.buffers}
        memory = determine_channel_bindings(network, platform, decisions, least)
        yield seed, mapped(application, platform, network, decisions.binding, memory), least


def sobel_mappings(make, n: int) -> tuple[Exact, list]:
    instance = build(make(), generators.platform24())
    random = np.random.default_rng(7)
    genotypes = Genotypes(
        np.ones(n, np.int8),
        random.integers(0, 2, (n, len(instance.feeding))).astype(np.int8),
        random.integers(0, 5, (n, len(instance.src))).astype(np.int8),
        random.integers(0, 24, (n, len(instance.tau))),
    )
    decoder = decoder_for(instance, Decoding(decoder="modulo"))
    assert isinstance(decoder, Exact)
    return decoder, [decisions_of(instance, genotypes, i) for i in range(n)]


def selection(graph, time: list[int], period: int) -> list[tuple[int, int, int, int]]:
    """The arcs (from, to, ticks, periods) between what follows one another, by the definition."""
    arcs = [tuple(map(int, row)) for row in graph.tokens]

    def follow(chain: list[tuple[int, int]], *, around: bool) -> None:
        for k in range(len(chain) if around else len(chain) - 1):
            (_, last), (begin, _) = chain[k], chain[(k + 1) % len(chain)]
            first = chain[k][0]
            turns = time[first] // period - time[begin] // period + (k == len(chain) - 1) if around else 0
            arcs.append((last, begin, int(graph.duration[last]), turns))

    for begin, middle, stop in zip(graph.first.tolist(), graph.execution.tolist(), graph.stop.tolist(), strict=True):
        reads, writes = (
            sorted(part, key=time.__getitem__) for part in (range(begin + 1, middle), range(middle + 1, stop - 1))
        )
        follow([(node, node) for node in (begin, *reads, middle, *writes, stop - 1)], around=False)
    for low, high in pairwise(graph.on_at.tolist()):
        members = sorted(graph.on[low:high].tolist(), key=lambda node: (time[node] % period, node))
        follow([(node, node) for node in members], around=True)
    for low, high in pairwise(graph.core_at.tolist()):
        firings = [(int(graph.first[f]), int(graph.stop[f]) - 1) for f in graph.at_core[low:high]]
        follow(sorted(firings, key=lambda ends: (time[ends[0]] % period, ends[0])), around=True)
    return arcs


def test_whole_periods_bring_firings_together_however_far_apart_they_are() -> None:
    random = np.random.default_rng(1)
    seen = 0
    for _, net, _ in networks(range(20)):
        period, starts = serial_schedule(net)
        near = add_periods(net, starts, period, {}, atomic=False)
        owner = {task.name: name for name in net.network.actors for task in (*net.reads[name], *net.writes[name])}
        away = {name: period * int(random.integers(0, 60)) for name in net.network.actors}
        apart = {name: at + away[owner.get(name, name)] for name, at in starts.items()}
        assert near is not None
        found = add_periods(net, apart, period, {}, atomic=False)
        assert found is not None
        assert needed_capacities(net, found, period) == needed_capacities(net, near, period)
        seen += 1
    assert seen > 10


def test_a_selection_has_the_period_of_its_worst_cycle() -> None:
    random = np.random.default_rng(0)
    never = 0
    for _, net, _ in networks(range(60)):
        graph = disjunctive_graph(net)
        period, starts = serial_schedule(net)
        time = times_of(graph, starts)
        time[:] += random.integers(0, 3 * period, len(graph.first))[graph.firing] * (len(graph.tokens) == 0)
        arcs = selection(graph, time.tolist(), period)
        kernel = selection_kernels.Graph(graph)
        found = selection_kernels.evaluate(kernel, selection_kernels.Selection(kernel), time, period, 1, 100 * period)
        expected = cycle_ratio(len(graph.names), arcs)
        assert found == (1 << 60 if expected is None else max(1, expected))
        never += expected is None
        for u, v, ticks, periods in arcs:
            assert expected is None or time[v] >= time[u] + ticks - periods * found
    assert 0 < never < 30


def test_branch_and_bound_against_every_order() -> None:
    compared = 0
    for seed, net, least in networks(range(200), most_actors=3):
        for graph in (disjunctive_graph(net), disjunctive_graph(net, least)):
            if not 1 <= len(turns(graph)[2]) <= 6:
                continue
            load = int(period_bound(net).value)
            for period in range(max(1, load - 1), load + 4):
                compared += 1
                assert branched(graph, period) == schedulable(graph, period), (seed, period)
    assert compared > 200


def branched(graph, period: int) -> bool:
    root = fixed_differences(graph, period)
    if root is None:
        return False
    before, after, ticks = turns(graph)
    tree = branching_kernels.Tree(len(ticks), 40, 1 + period % 3)
    at = differences_kernels.Differences(period, graph.duration, before, after, ticks, root)
    on = propagation_kernels.Resources(*resources(graph), 64)
    outcome, _ = branching_kernels.branch(tree, at, on, 10**6, 10**9, 10**7, np.zeros(len(graph.names), np.int64))
    assert outcome in {branching_kernels.FOUND, branching_kernels.EXHAUSTED}
    return bool(outcome == branching_kernels.FOUND)


def test_a_tree_gives_up_where_it_may_keep_no_changes() -> None:
    graph = next(
        graph for _, net, _ in networks(range(50)) if len(turns(graph := disjunctive_graph(net))[2]) >= 3
    )  # fmt: skip
    period = int(graph.duration.sum())
    root = fixed_differences(graph, period)
    before, after, ticks = turns(graph)
    at = differences_kernels.Differences(period, graph.duration, before, after, ticks, root)
    on, time = propagation_kernels.Resources(*resources(graph), 64), np.zeros(len(graph.names), np.int64)
    tree = branching_kernels.Tree(len(ticks), 40, 9)
    assert branching_kernels.branch(tree, at, on, 100, 10**9, 0, time) == (branching_kernels.TOO_DEEP, 0)
    assert branching_kernels.branch(tree, at, on, 100, 10**9, 10**6, time)[0] == branching_kernels.FOUND


@pytest.mark.parametrize("seeds", [range(300, 320), pytest.param(range(320, 400), marks=pytest.mark.slow)])
def test_cp_sat_agrees_on_small_networks(seeds: range) -> None:
    """The least period found has a schedule in the other model, and one tick less has none."""
    decided = 0
    for seed, net, _ in networks(seeds):
        found = modulo_schedule(net, 1, Search(effort=5.0), None)
        assert found.least == found.period, seed
        assert start_at(net, found.period, Search(effort=1.0), found.starts), seed
        answer = start_at(net, found.period - 1, Search(effort=0.1), found.starts)
        assert answer in (None, {}), seed
        decided += answer == {}
    assert decided > 0.7 * len(seeds)


def test_a_limit_on_buffers_never_helps_and_is_kept() -> None:
    dearer = 0
    for seed, net, least in networks(range(400, 460)):
        free = modulo_schedule(net, 1, Search(effort=5.0), None)
        within = modulo_schedule_within(net, free.least, Search(effort=5.0), least)
        if within is None:
            continue
        assert within.period >= free.period, seed
        dearer += within.period > free.period
        need = needed_capacities(net, within.starts, within.period)
        for buffer in net.network.buffers:  # what an actor hands to itself in no time may need a place more
            assert need[buffer.id] == least[buffer.id] or buffer.writer in buffer.readers, seed
    assert dearer


@pytest.mark.costly
@pytest.mark.parametrize("atomic", [False, True])
def test_memories_of_limited_size_against_every_capacity(atomic: bool) -> None:
    """The least period within the memories is the least over all capacities that fit, one proof each."""
    compared = dearer = 0
    for seed, net, _ in networks(range(500, 528), most_actors=4):
        writes = net.write_tasks()
        least = {b.id: tokens_to_itself(net, b, writes[b.id], atomic=atomic) for b in net.network.buffers}
        free = modulo_schedule(net, 1, Search(effort=5.0), None, atomic=atomic)
        need = needed_capacities(net, free.starts, free.period, atomic_firing=atomic)
        memory = next((net.memory[name] for name in need if need[name] > least[name]), None)
        if memory is None:
            continue
        here = [b for b in net.network.buffers if net.memory[b.id] == memory]
        limit = sum(need[b.id] * b.token_bytes for b in here) - 1
        limits = dict.fromkeys(net.memory.values()) | {memory: limit}
        found = schedule_in_memories(net, free, limits, Search(effort=5.0), None, atomic=atomic)
        periods = []
        for extra in product(range(4), repeat=len(here)):
            tokens = {b.id: least[b.id] + more for b, more in zip(here, extra, strict=True)}
            if fits(net, limits, least | tokens):
                one = modulo_schedule_within(net, 1, Search(effort=5.0), tokens, atomic=atomic)
                if one is not None:
                    assert one.period == one.least
                    periods.append(one.period)
        if found is None:
            assert not periods
            continue
        compared += 1
        assert found.least == found.period == min(periods, default=found.period), seed
        dearer += found.period > free.period
        assert fits(net, limits, needed_capacities(net, found.starts, found.period, atomic_firing=atomic))
    assert compared >= 5
    assert dearer


def test_random_sobel_mappings_are_proven() -> None:
    decoder, mappings = sobel_mappings(generators.sobel, 30)
    for decisions in mappings:
        solved = decoder.solve(decisions)
        assert solved.least == solved.point.period
        assert check_point(decoder.instance.application, decoder.instance.platform, solved.point).ok


def test_random_sobel4_mappings_are_proven() -> None:
    decoder, mappings = sobel_mappings(generators.sobel4, 8)
    for decisions in mappings:
        solved = decoder.solve(decisions)
        assert solved.least == solved.point.period
        assert check_point(decoder.instance.application, decoder.instance.platform, solved.point).ok


@pytest.mark.slow
def test_cp_sat_never_contradicts_on_sobel_mappings() -> None:
    decoder, mappings = sobel_mappings(generators.sobel, 60)
    instance = decoder.instance
    proven = 0
    for decisions in mappings:
        point = decoder.solve(decisions).point
        network = substitute_mrbs(instance.application, decisions.xi)
        net = mapped(instance.application, instance.platform, network, point.binding, point.channel_binding)
        if point.period == period_bound(net).value:
            continue
        graph = disjunctive_graph(net)
        answer = start_at(net, point.period - 1, Search(effort=0.5), starts_of(graph, times_of(graph, point.starts)))
        assert answer in (None, {})
        proven += answer == {}
    assert proven


def test_the_answer_is_counted_not_clocked() -> None:
    """Whatever else the machine does: the same work, the same schedule."""
    decoder, mappings = sobel_mappings(generators.sobel4, 3)
    points = []
    for seconds in (0.02, 0.02, 5.0):
        found = [
            solve_mapping(decoder.instance, d, Decoding(decoder="modulo", solver_effort=seconds), None).point
            for d in mappings
        ]
        points.append([point.document() for point in found])
    assert points[0] == points[1]
    assert all(a["period"] >= b["period"] for a, b in zip(points[0], points[2], strict=True))


def test_the_same_front_on_one_process_and_several() -> None:
    fronts = []
    for workers in (1, 3):
        search = Search(seed=3, workers=workers)
        found = plan(
            generators.sobel(),
            decoder="modulo",
            solver_effort=0.1,
            generations=3,
            population=8,
            offspring=8,
            search=search,
        )
        fronts.append([point.document() for point in found.plan.front])
    assert fronts[0] == fronts[1]


@pytest.mark.slow  # sweeps of the default decoder are tried
def test_the_same_sweep_on_one_process_and_several() -> None:
    sweeps = [
        sweep(
            generators.sobel(),
            decoder="modulo",
            generations=1,
            population=4,
            offspring=4,
            search=Search(workers=workers),
        )
        for workers in (1, 2)
    ]
    assert [p.document() for p in sweeps[0].plan.front] == [p.document() for p in sweeps[1].plan.front]


@pytest.mark.costly
@pytest.mark.parametrize("limit", [{"effort": 0.3}, {"time_limit": 1, "started": -1e6}])
def test_a_limit_ends_a_solve(limit: dict[str, float]) -> None:
    decoder, mappings = sobel_mappings(generators.multicamera, 1)
    search = Search(**limit)
    solved = schedule(
        generators.multicamera(), mappings[0], decoder="modulo", search=search, platform=decoder.instance.platform
    )
    assert solved.check.ok
    assert search._spent < 0.6
    assert solved.bound.value <= solved.cost["period"]


def test_equal_accesses_of_one_firing_take_a_fixed_order() -> None:
    application = Application(
        "fork",
        (Actor("a", {"x": 3}), Actor("b", {"x": 2}), Actor("c", {"x": 2})),
        (Channel("l", "a", "b", 4, 1), Channel("r", "a", "c", 4, 1)),
        "s",
    )
    tile = Tile("T", tuple(Core(f"p{i}", "x", 0) for i in range(3)), 100, 1.0)
    platform = Platform("one", {"x": CoreType(1.0)}, (tile,), 1.0, None)
    network = substitute_mrbs(application, {})
    net = mapped(
        application, platform, network, {"a": "p0", "b": "p1", "c": "p2"}, dict.fromkeys("lr", tile_memory("T"))
    )
    graph = disjunctive_graph(net)
    left, right = graph.names.index("(a,l)"), graph.names.index("(a,r)")
    least = fixed_differences(graph, 40)
    assert least[left, right] == 4
    found = modulo_schedule(net, 1, Search(effort=5.0), None)
    assert found.period == found.least == 16


@pytest.mark.costly
@pytest.mark.parametrize(("atomic", "many"), [(False, 1.0), (True, 1.0), (False, 1e12)])
def test_trees_decide_whether_a_mapping_has_a_shorter_period(monkeypatch, atomic: bool, many: float) -> None:
    """They never find one below the least, and never rule out the least; most of the time they tell.

    With few tokens first, or with any and then those that fit.
    """
    monkeypatch.setattr(tuning, "MANY_DIVES", many)
    rule = "atomic-firing" if atomic else "access"
    decoding = Decoding(decoder="modulo", capacity_rule=rule, solver_effort=5.0)
    met = told = slim = wider = compared = 0
    for seed in range(1160, 1182):
        problem = small_problem(seed, most_actors=6)
        instance = build(problem.application, problem.platform)
        tokens = {channel.id: max(1, channel.delay) for channel in problem.application.channels}
        try:
            solved = solve_mapping(instance, problem.mapping, decoding, None)
        except InfeasibleError:
            continue
        network = substitute_mrbs(problem.application, problem.mapping.xi)
        few = {buffer.id: tokens[buffer.id] for buffer in network.buffers}
        if solved.point.channel_binding != determine_channel_bindings(network, problem.platform, problem.mapping, few):
            continue  # the least period of other memories
        ask = partial(decide_mapping, instance, problem.mapping, tokens, decoding, tries=4, effort=2.0)
        none, some = ask(search=Search(effort=2.0), most=solved.least), ask(search=Search(effort=2.0), most=10**6)
        if none is None or some is None or solved.point.period > solved.least:
            continue
        compared += 1
        assert none.point is None, seed
        assert max(none.least, some.least) <= solved.least, seed
        told += none.least >= solved.least
        if some.point is not None:
            check = check_point(problem.application, problem.platform, some.point)
            assert check.ok, (seed, check)
            assert some.point.period >= solved.least, seed
            met += some.point.period == solved.least
        small = ask(search=Search(effort=2.0), most=10**6, small=True)
        assert small is not None
        if small.point is not None:
            assert check_point(problem.application, problem.platform, small.point).ok, seed
            assert all(small.point.capacities[name] <= held for name, held in few.items()), seed
            slim += 1
            most_bytes = small.point.footprint_bytes * 3 // 2
            large = ask(search=Search(effort=2.0), most=small.point.period, small=True, most_bytes=most_bytes)
            if large is not None and large.point is not None:
                assert check_point(problem.application, problem.platform, large.point).ok, seed
                assert large.point.footprint_bytes <= most_bytes, seed
                wider += 1
    assert compared > 15
    assert wider > 0
    assert slim > 0.4 * compared
    assert told > 0.7 * compared
    assert met > 0.6 * compared
