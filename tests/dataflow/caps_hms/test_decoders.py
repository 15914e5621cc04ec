"""CAPS-HMS against its tick-by-tick twin, the exact model against every schedule there is, bounds against both."""

from __future__ import annotations

import dataclasses
from itertools import product

import pytest
from tests.dataflow.small import small_problem
from tests.reference.dataflow_caps_hms import decode
from tests.samples import ALL, samples

from shorthaul.core.errors import InfeasibleError, InputError
from shorthaul.dataflow.bounds.period import front_bound, maximum_cycle_ratio, period_bound
from shorthaul.dataflow.caps_hms.heuristic import make_decoder, topological_rank
from shorthaul.dataflow.check.replay import check_point
from shorthaul.dataflow.graphs.multi_reader_buffers import substitute_mrbs
from shorthaul.dataflow.mapping.arrays import build
from shorthaul.dataflow.mapping.binding import mapped_point
from shorthaul.dataflow.model import Application, Platform, Problem
from shorthaul.dataflow.modulo.solver import solve_mapping
from shorthaul.dataflow.options import CAPACITY_RULES, MRB_CONSUMERS, Decoding
from shorthaul.dataflow.plan import Point
from shorthaul.dataflow.workloads import generators


@pytest.mark.parametrize("compact", [True, False])
@pytest.mark.parametrize("order", ["inverse", "topological"])
def test_kernels_do_what_the_slow_twin_does(order: str, compact: bool) -> None:
    compared = 0
    for seed in samples(60):
        problem = small_problem(seed)
        application, platform = problem.application, problem.platform
        start = "compact" if compact else "earliest"
        decoder = make_decoder(build(application, platform), Decoding(order=order, start=start, tolerance=0.0))
        ranks = topological_rank(application, inverse=order == "inverse")
        rank = {actor.id: int(r) for actor, r in zip(application.actors, ranks, strict=True)}
        try:
            slow = decode(application, platform, problem.mapping, rank, compact=compact)
        except InputError:  # the replacement deadlocks
            with pytest.raises(InputError, match="deadlock"):
                decoder.point(problem.mapping)
            continue
        fast = decoder.point(problem.mapping)
        assert slow is not None
        # galloping may skip a period that the step by one finds; at the same period, the schedules are the same
        assert fast.period >= slow[0]
        if fast.period == slow[0]:
            assert dict(fast.starts) == slow[2], seed
            assert fast.footprint_bytes == slow[1]
            compared += 1
    assert compared > len(samples(60)) * 3 // 4


@pytest.mark.costly
@pytest.mark.parametrize("rule", CAPACITY_RULES)
@pytest.mark.parametrize("consumer", MRB_CONSUMERS)
def test_every_decoded_point_passes_the_check(rule: str, consumer: str) -> None:
    for seed in range(100, 180):
        problem = small_problem(seed, most_actors=8)
        instance = build(problem.application, problem.platform)
        for start in ("compact", "earliest"):
            decoder = make_decoder(instance, Decoding(start=start, capacity_rule=rule, mrb_consumer=consumer))
            try:
                point = decoder.point(problem.mapping)
            except InputError:
                continue
            report = check_point(problem.application, problem.platform, point)
            assert report.ok, (seed, [str(v) for v in report.violations])
            assert not report.remarks
            assert point.period >= period_bound(mapped_point(problem.application, problem.platform, point)).value


def test_compact_starts_need_no_more_than_the_initial_tokens() -> None:
    problem = Problem(generators.multicamera(), generators.platform24())
    application = problem.application
    decoder = make_decoder(build(application, problem.platform), Decoding())
    cores = [core.id for core in problem.platform.cores]
    binding = {actor.id: cores[i % 24] for i, actor in enumerate(application.actors)}
    from shorthaul.dataflow.model import Decisions

    point = decoder.point(Decisions(binding, dict.fromkeys(application.multicasts, 1), {}))
    assert point.footprint_bytes == 33_715_200


def shortest_period(application: Application, platform: Platform, point: Point) -> int:
    """The least period of the mapping by trying every start of every firing's parts, for firings without gaps."""
    net = mapped_point(application, platform, point)
    period = int(period_bound(net).value)
    while not feasible(net, period):
        period += 1
    return period


def feasible(net, period: int) -> bool:
    from tests.reference.dataflow_caps_hms import offsets, ticks

    names = net.network.actors
    layout = {name: offsets(net, name) for name in names}
    reads = net.read_tasks()
    if any(layout[name][2] > period for name in names):
        return False
    for residues in product(range(period), repeat=len(names) - 1):
        begin = dict(zip(names, (0, *residues), strict=True))
        used: dict[str, set[int]] = {}
        clash = False
        for name in names:
            _, at, total = layout[name]
            wanted = [(net.binding[name], begin[name], total)]
            wanted += [
                (r, begin[name] + at[t.name], t.duration)
                for t in (*net.reads[name], *net.writes[name])
                for r in t.route
            ]
            for resource, start, length in wanted:
                taken = ticks(period, start, length)
                clash = bool(used.setdefault(resource, set()) & taken) or clash
                used[resource] |= taken
        if clash:
            continue
        # residues fixed, whole periods may be added: longest paths must have no positive cycle
        edges = []
        for buffer in net.network.buffers:
            write = net.write_tasks()[buffer.id]
            for task in reads[buffer.id]:
                end = begin[buffer.writer] + layout[buffer.writer][1][write.name] + write.duration
                start = begin[task.actor] + layout[task.actor][1][task.name]
                edges.append((buffer.writer, task.actor, -((start + buffer.delay * period - end) // period)))
        stage = dict.fromkeys(names, 0)
        for _ in range(len(names) + 1):
            changed = False
            for u, v, w in edges:
                if stage[u] + w > stage[v]:
                    stage[v], changed = stage[u] + w, True
            if not changed:
                return True
    return False


def test_the_exact_model_is_exact() -> None:
    """Never above the best gapless schedule, never below the bound; every answer proven and checked."""
    compared = 0
    for seed in samples(120):
        problem = small_problem(seed, most_actors=3)
        instance = build(problem.application, problem.platform)
        try:
            solved = solve_mapping(instance, problem.mapping, Decoding(decoder="modulo"), None)
        except InputError:
            continue
        assert check_point(problem.application, problem.platform, solved.point).ok, seed
        assert solved.least == solved.point.period
        net = mapped_point(problem.application, problem.platform, solved.point)
        assert solved.point.period >= period_bound(net).value
        if len(net.network.actors) <= 3 and solved.point.period <= 14:
            assert solved.point.period <= shortest_period(problem.application, problem.platform, solved.point)
            compared += 1
        caps = make_decoder(instance, Decoding(tolerance=0.0)).point(problem.mapping)
        if dict(caps.channel_binding) == dict(solved.point.channel_binding):
            assert solved.point.period <= caps.period
    assert compared > 5


def test_the_printed_model_never_beats_the_exact_one() -> None:
    for seed in range(12 if ALL else 4):
        problem = small_problem(seed, most_actors=3)
        instance = build(problem.application, problem.platform)
        try:
            exact = solve_mapping(instance, problem.mapping, Decoding(decoder="modulo"), None)
            window = solve_mapping(instance, problem.mapping, Decoding(decoder="window"), None)
        except InputError:
            continue
        assert check_point(problem.application, problem.platform, window.point).ok, seed
        if dict(exact.point.channel_binding) == dict(window.point.channel_binding):
            assert exact.point.period <= window.point.period


def test_no_mapping_beats_the_bounds_on_all_mappings() -> None:
    for seed in range(10):
        problem = small_problem(seed)
        application, platform = problem.application, problem.platform
        for strategy, value in (("mrb-explore", None), ("mrb-always", 1), ("reference", 0)):
            xi = problem.mapping.xi if value is None else dict.fromkeys(application.multicasts, value)
            mapping = dataclasses.replace(problem.mapping, xi=xi)
            replaced = dict.fromkeys(application.multicasts, 0 if strategy == "reference" else 1)
            try:
                network = substitute_mrbs(application, replaced)
                point = solve_mapping(build(application, platform), mapping, Decoding(decoder="modulo"), None).point
            except (InputError, InfeasibleError):
                continue
            bounds = front_bound(application, platform, strategy, network)
            assert all(b <= p for b, p in zip(bounds.ideal, point.objectives, strict=True)), (seed, strategy)
            for cost, period in bounds.period_at_cost:
                assert point.period >= period or point.core_cost > cost


def test_maximum_cycle_ratio_against_every_cycle() -> None:
    import random
    from fractions import Fraction
    from itertools import permutations

    for seed in samples(60):
        draw = random.Random(seed)
        n = draw.randint(2, 5)
        nodes = [str(i) for i in range(n)]
        best: dict[tuple[str, str], list[tuple[int, int]]] = {}
        edges = []
        for _ in range(draw.randint(2, 9)):
            u, v = draw.choice(nodes), draw.choice(nodes)
            edge = (u, v, draw.randint(0, 9), draw.randint(1, 3))
            edges.append(edge)
            best.setdefault((u, v), []).append(edge[2:])
        ratios = [Fraction(-1)]
        for size in range(1, n + 1):
            for cycle in permutations(nodes, size):
                steps = [best.get(pair, []) for pair in zip(cycle, (*cycle[1:], cycle[0]), strict=True)]
                for chosen in product(*steps):
                    ratios.append(Fraction(sum(t for t, _ in chosen), sum(d for _, d in chosen)))
        found = maximum_cycle_ratio(nodes, edges)
        assert (Fraction(-1) if found is None else found.ratio) == max(ratios)
        for above in range(10):
            found = maximum_cycle_ratio(nodes, edges, above=above)
            assert (found is None) == (max(ratios) <= above)
            assert found is None or found.ratio == max(ratios)


def test_maximum_cycle_ratio_of_a_long_ring_in_any_order() -> None:
    """Edges against the direction of the paths: one pass of Bellman-Ford must still follow a path to its next token."""
    n = 3000
    nodes = [str(i) for i in range(n)]
    ring = [(str(i), str((i + 1) % n), 1 + i % 3, 1 if i == n - 1 else 0) for i in range(n)]
    for edges in (ring, ring[::-1]):
        found = maximum_cycle_ratio(nodes, edges)
        assert found is not None
        assert found.ratio == 2 * n
        assert len(found.actors) == n
