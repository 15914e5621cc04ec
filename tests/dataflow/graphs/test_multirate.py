from __future__ import annotations

from collections import Counter, deque
from itertools import pairwise

import numpy as np
import pytest
from tests.samples import samples

from shorthaul.core.errors import InfeasibleError, InputError
from shorthaul.dataflow.bounds.constraints import Constraints, constrained_instance
from shorthaul.dataflow.bounds.period import maximum_cycle_ratio
from shorthaul.dataflow.graphs.expansion import marked_graph
from shorthaul.dataflow.graphs.multirate import check_live, dependences, expand, repetition_vector
from shorthaul.dataflow.mapping.arrays import build
from shorthaul.dataflow.mapping.groups import groups_of
from shorthaul.dataflow.model import Actor, Application, Channel, SdfActor, SdfChannel, SdfGraph, phases
from shorthaul.dataflow.verbs.planning import plan
from shorthaul.dataflow.workloads.generators import platform24


def graph(*channels: tuple[str, int, str, int, int]) -> SdfGraph:
    names = sorted({name for channel in channels for name in (channel[0], channel[2])})
    edges = tuple(SdfChannel(f"c{i}", a, p, b, c, d, 10) for i, (a, p, b, c, d) in enumerate(channels))
    return SdfGraph("g", tuple(SdfActor(name, {"t": 1}) for name in names), edges)


def random_graph(rng: np.random.Generator) -> SdfGraph:
    """Consistent and live: rates follow from random repetitions, cycles carry a whole iteration of tokens."""
    n = int(rng.integers(2, 5))
    q = rng.integers(1, 5, n)
    channels = []
    for _ in range(int(rng.integers(1, 7))):
        a, b = (int(v) for v in rng.integers(0, n, 2))
        common = np.lcm(q[a], q[b])
        tokens = int(rng.integers(0, 6)) + (int(common) if a >= b else 0)
        channels.append((f"a{a}", int(common // q[a]), f"a{b}", int(common // q[b]), tokens))
    return graph(*channels)


def random_cyclo_static_graph(rng: np.random.Generator) -> SdfGraph:
    """Consistent and live: the rates of every port in a round of its actor's phases add up to what balances."""
    n = int(rng.integers(2, 5))
    q, rounds = rng.integers(1, 4, n), rng.integers(1, 4, n)

    def rate(actor: int, total: int) -> tuple[int, ...]:
        cuts = np.sort(rng.integers(0, total + 1, rounds[actor] - 1))
        return tuple(int(v) for v in np.diff([0, *cuts, total]))

    channels = []
    for number in range(int(rng.integers(1, 6))):
        a, b = (int(v) for v in rng.integers(0, n, 2))
        common = int(np.lcm(q[a], q[b]))
        tokens = int(rng.integers(0, 4)) + (common if a >= b else 0)
        rates = rate(a, common // int(q[a])), rate(b, common // int(q[b]))
        channels.append(SdfChannel(f"c{number}", f"a{a}", rates[0], f"a{b}", rates[1], tokens, 10))
    times = [tuple(int(v) for v in rng.integers(1, 9, count)) for count in rounds]
    return SdfGraph("g", tuple(SdfActor(f"a{i}", {"t": time}) for i, time in enumerate(times)), tuple(channels))


def simulated(sdf: SdfGraph, iterations: int) -> Counter[tuple[object, ...]]:
    """Play the queues token by token; every token remembers the firing that wrote it."""
    q = repetition_vector(sdf)
    queues = {c.id: deque([None] * c.tokens) for c in sdf.channels}
    fired = dict.fromkeys(q, 0)
    found: Counter[tuple[object, ...]] = Counter()
    progress = True
    while progress:
        progress = False
        for actor, count in q.items():
            if fired[actor] >= count * iterations:
                continue
            reads = [c for c in sdf.channels if c.target == actor]
            need = {c.id: phases(c.consumption)[fired[actor] % len(phases(c.consumption))] for c in reads}
            if any(len(queues[c.id]) < need[c.id] for c in reads):
                continue
            for c in reads:
                for _ in range(need[c.id]):
                    written = queues[c.id].popleft()
                    if written is not None and fired[actor] >= count * (iterations - 1):
                        source = c.source
                        delay = fired[actor] // count - written // q[source]
                        found[c.id, (source, written % q[source]), (actor, fired[actor] % count), delay] += 1
            for c in sdf.channels:
                if c.source == actor:
                    rate = phases(c.production)
                    queues[c.id].extend([fired[actor]] * rate[fired[actor] % len(rate)])
            fired[actor] += 1
            progress = True
    assert all(fired[actor] == count * iterations for actor, count in q.items()), "deadlock"
    return found


def test_expansion_agrees_with_the_queues() -> None:
    for seed in samples(400):
        sdf = random_graph(np.random.default_rng(seed))
        _, found = dependences(sdf)
        expected = simulated(sdf, iterations=12)
        assert Counter({(e.channel, e.source, e.target, e.delay): e.count for e in found}) == expected


def test_expansion_of_phases_agrees_with_the_queues() -> None:
    for seed in samples(400):
        sdf = random_cyclo_static_graph(np.random.default_rng(seed))
        repetitions, found = dependences(sdf)
        assert all(repetitions[actor] % count == 0 for actor, count in sdf.phase_counts().items())
        expected = simulated(sdf, iterations=12)
        assert Counter({(e.channel, e.source, e.target, e.delay): e.count for e in found}) == expected
        marked = expand(sdf)
        assert not marked.is_cyclo_static
        assert len(marked.actors) == sum(repetitions.values())


def test_expansion_keeps_bytes_and_is_live() -> None:
    for seed in samples(200):
        sdf = random_graph(np.random.default_rng(seed))
        q = repetition_vector(sdf)
        marked = expand(sdf)
        assert all(c.production == c.consumption == 1 for c in marked.channels)
        assert len(marked.actors) == sum(q.values())
        moved = sum(q[c.target] * c.consumption * c.token_bytes for c in sdf.channels)
        assert sum(c.token_bytes for c in marked.channels) == moved
        check_live(marked)


def test_inconsistent_rates_name_the_channel() -> None:
    with pytest.raises(InputError, match="inconsistent") as caught:
        repetition_vector(graph(("a", 1, "b", 1, 0), ("a", 2, "b", 1, 0)))
    assert "channel c1" in str(caught.value)


def test_deadlock_names_the_actors() -> None:
    check_live(graph(("a", 1, "b", 1, 0), ("b", 1, "a", 1, 1)))
    with pytest.raises(InputError, match="deadlocks") as caught:
        expand(graph(("a", 1, "b", 1, 0), ("b", 1, "a", 1, 0), ("b", 1, "d", 1, 0)))
    assert caught.value.value == "b, a"  # not d, which only follows
    assert caught.value.place == "channels c0, c1"
    with pytest.raises(InputError, match="deadlocks"):
        expand(graph(("a", 2, "a", 2, 1)))


def test_a_multicast_stays_where_a_buffer_would_change_the_order_of_tokens() -> None:
    names = {"s": "actor", "m": "multicast", "x": "actor", "y": "actor", "w": "actor"}
    actors = tuple(Actor(name, {"t1": 1}, kind) for name, kind in names.items())
    for delay, kind in ((1, "copy"), (2, "multicast")):
        ends = (("s", "m", 0, 1), ("m", "x", delay, 1), ("m", "y", 0, 1), ("x", "w", 0, 2))
        channels = tuple(Channel(f"c{i}", a, b, 8, d, 1, 1, r) for i, (a, b, d, r) in enumerate(ends))
        marked = marked_graph(Application("previous frame", actors, channels))
        assert [actor.kind for actor in marked.actors if actor.id.startswith("m#")] == [kind, kind]


def test_tokens_that_a_buffer_drops_are_told() -> None:
    names = {"s": "actor", "m": "multicast", "x": "actor", "y": "actor"}
    actors = tuple(Actor(name, {"t1": 1}, kind) for name, kind in names.items())
    channels = (Channel("c", "s", "m", 8), Channel("old", "m", "x", 8, 1), Channel("new", "m", "y", 8))
    result = plan(Application("previous frame", actors, channels), generations=1, population=4, polish_effort=0)
    assert "a buffer in place of m drops the initial tokens of old; kind 'copy' keeps both" in result.check.remarks


def test_huge_expansions_are_refused() -> None:
    chain = [(f"a{i}", 10, f"a{i + 1}", 1, 0) for i in range(6)]
    with pytest.raises(InputError, match="too many firings"):
        expand(graph(*chain))


def test_separate_components_each_have_their_own_iteration() -> None:
    assert repetition_vector(graph(("a", 2, "b", 4, 0), ("c", 3, "d", 3, 0))) == {"a": 2, "b": 1, "c": 1, "d": 1}


def test_compact_disc_to_digital_audio_tape() -> None:
    """The field's textbook example: 44.1 kHz to 48 kHz in four stages (Lee and Messerschmitt; Bhattacharyya et al.)."""
    rates = ((1, 1), (2, 3), (2, 7), (8, 7), (5, 1))
    chain = graph(*((f"s{i}", p, f"s{i + 1}", c, 0) for i, (p, c) in enumerate(rates)))
    assert list(repetition_vector(chain).values()) == [147, 147, 98, 28, 32, 160]
    assert len(expand(chain).actors) == 612


# Graphs of the field: execution times, the actors that fire one at a time, channels (from, rate, to, rate, tokens).
# Firings in an iteration and, with unlimited resources, ticks per iteration are those of a max-plus simulation.
FIELD = {
    "h263 decoder, QCIF": (
        {"vld": 26018, "iq": 559, "idct": 486, "mc": 10958},
        ("vld", "iq", "mc"),
        (("vld", 594, "iq", 1, 0), ("iq", 1, "idct", 1, 0), ("idct", 1, "mc", 594, 0)),
        1190,
        332_046,
    ),
    "h263 encoder": (
        {"me": 382_419, "mbe": 8409, "vlc": 26018, "mbd": 6264, "mc": 11356},
        ("vlc", "mc"),
        (
            ("mc", 1, "me", 1, 1),
            ("me", 99, "mbe", 1, 0),
            ("mbe", 1, "vlc", 99, 0),
            ("mbe", 1, "mbd", 1, 0),
            ("mbd", 1, "mc", 99, 0),
        ),
        201,
        408_448,
    ),
    "sample rate converter": (
        {"a": 5, "b": 2, "c": 3, "d": 1, "e": 4, "f": 6},
        "abcdef",
        (("a", 1, "b", 1, 0), ("b", 2, "c", 3, 0), ("c", 2, "d", 7, 0), ("d", 8, "e", 7, 0), ("e", 5, "f", 1, 0)),
        612,
        960,
    ),
    "mp3 playback": (
        {"mp3": 7510, "src": 10000, "app": 22, "dac": 22},
        ("mp3", "src", "app", "dac"),
        (("mp3", 1152, "src", 480, 0), ("src", 441, "app", 1, 0), ("app", 1, "dac", 1, 0), ("dac", 1, "app", 1, 2)),
        10601,
        120_000,
    ),
}


@pytest.mark.costly
@pytest.mark.parametrize("name", FIELD)
def test_graphs_of_the_field(name: str) -> None:
    times, alone, channels, firings, period = FIELD[name]
    ends = (*channels, *((actor, 1, actor, 1, 1) for actor in alone))
    sdf = SdfGraph(
        name,
        tuple(SdfActor(actor, {"p": time}) for actor, time in times.items()),
        tuple(SdfChannel(f"c{i}", a, p, b, c, d, 8) for i, (a, p, b, c, d) in enumerate(ends)),
    )
    assert sum(repetition_vector(sdf).values()) == firings
    marked = expand(sdf)
    assert len(marked.actors) == firings
    ticks = {actor.id: phases(actor.times["p"])[0] for actor in marked.actors}
    edges = [(c.source, c.target, ticks[c.source], c.tokens) for c in marked.channels]
    found = maximum_cycle_ratio(list(ticks), edges)
    assert found is not None
    assert found.ratio == period


def multirate(name: str, times: dict[str, int], *ends: tuple[str, int, str, int]) -> Application:
    """Return a network whose actors fire one at a time."""
    actors = tuple(Actor(actor, {"p": time}) for actor, time in times.items())
    channels = tuple(Channel(f"c{i}", a, b, 1, 0, 1, p, c) for i, (a, p, b, c) in enumerate(ends))
    turns = tuple(Channel(f"s{actor}", actor, actor, 1, 1) for actor in times)
    return Application(name, actors, (*channels, *turns))


def test_the_explorer_has_one_gene_per_expanded_actor() -> None:
    rates = (("a", 1, "b", 1), ("b", 2, "c", 3), ("c", 2, "d", 7), ("d", 8, "e", 7), ("e", 5, "f", 1))
    converter = multirate("samplerate", dict(zip("abcdef", (5, 2, 3, 1, 4, 6), strict=True)), *rates)
    result = plan(converter, generations=2, population=14, offspring=4, front=1, workers=1)
    assert 960 == result.extra["front_bound"]["period"]["value"] <= result.cost["period"] < 1200
    (point,) = result.plan.front
    for actor in converter.actors:
        cores = [core for name, core in point.binding.items() if name.partition("#")[0] == actor.id]
        assert 1 + sum(one != other for one, other in pairwise(cores)) == len(set(cores))


def test_firings_in_runs_go_below_the_load_of_whole_actors() -> None:
    ends = (("a", 1, "b", 4), ("b", 1, "q", 60), ("q", 60, "w", 1), ("b", 1, "v", 60), ("v", 60, "w", 1))
    gathering = multirate("gathering", dict.fromkeys("abqvw", 1), *ends)
    result = plan(gathering, generations=0, population=40, workers=1)
    # where b is on one core it runs 60 ticks, and a's 240 tokens are read or written in a tick each, or a runs there too
    assert result.extra["front_bound"]["period"]["value"] == 240 <= result.cost["period"] <= 250


def test_a_cycle_of_firings_is_told_in_few_words() -> None:
    application = multirate("chain", {"a": 2, "b": 1}, ("a", 1, "b", 50))
    with pytest.raises(InfeasibleError, match=r"one round of a#0 -> \.\.\. -> a#49 -> a#0 takes at least 100 ticks"):
        plan(application, deadline=99)


def test_places_of_firings_are_known_from_their_cores() -> None:
    seen = set()
    for seed in range(20):
        rng = np.random.default_rng(seed)
        counts = rng.integers(1, 9, 3).tolist()
        actors = tuple(Actor(f"{a}#{k}", {"t1": 1, "t2": 2}) for a, n in enumerate(counts) for k in range(n))
        groups = groups_of(build(Application("x", actors, ()), platform24(tiles=int(rng.integers(1, 3)))))
        drawn = rng.random((30, 3)) * groups.able_count
        places = groups.able[np.arange(3), drawn.astype(np.int64)]
        assert (groups.places(groups.cores(places)) == places).all()
        seen.update((places - groups.core_count + 2).ravel().tolist())
    assert max(seen) >= 4


def test_bound_firings_are_genes_of_their_own() -> None:
    pair = Application("pair", (Actor("a", {"t1": 5}), Actor("b", {"t1": 9})), (Channel("c", "a", "b", 4, 0, 1, 2, 1),))
    application = marked_graph(pair)
    constraints = Constraints(binding={"b#1": "p3"})
    groups = groups_of(constrained_instance(build(application, platform24()), constraints))
    assert [application.actors[first].id for first in groups.first[2]] == ["a", "b#0", "b#1"]
    assert groups.able_count.tolist()[2] == 1


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"token_bytes": 8}, ("differ in token size: 'in' and 'out'", "[4, 8]", "one token_bytes")),
        ({"consume": 2}, ("rates above 1: 'out'", "produce 1, consume 2", "make both rates 1")),
    ],
)
def test_a_multicast_names_the_channel_that_does_not_fit(wrong: dict[str, int], said: tuple[str, ...]) -> None:
    actors = (Actor("a", {"t1": 1}), Actor("m", {"t1": 1}, "multicast"), Actor("b", {"t1": 1}))
    channels = (Channel("in", "a", "m", 4), Channel("out", "m", "b", **{"token_bytes": 4, **wrong}))
    with pytest.raises(InputError) as caught:
        Application("x", actors, channels, "us")
    assert all(part in str(caught.value) for part in said), str(caught.value)
