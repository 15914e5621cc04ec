"""Least periods of drawn cyclo-static graphs beside a self-timed execution of their own: processor time, differences.

    python benchmarks/dataflow_cyclostatic.py --actors 100 1000 --channels 160 2000 --seeds 1 2

Firings of one actor take turns. Graphs of more firings than ``--executed`` are analysed alone. A difference ends the
run. Small ones, also those that deadlock: ``--actors 6 --channels 9 --repetitions 4 --seeds 1 2 3 4 5 --scarce``.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import math
import random
import time
from fractions import Fraction

from shorthaul import dataflow
from shorthaul.core.errors import InputError

#: Iterations executed; the last half of them tells the period.
ITERATIONS = 60


def shared(draw: random.Random, total: int, phases: int) -> tuple[int, ...]:
    """Return a drawn number of tokens for every phase, ``total`` together."""
    cuts = [0, *sorted(draw.randint(0, total) for _ in range(phases - 1)), total]
    return tuple(high - low for low, high in itertools.pairwise(cuts))


def drawn(actors: int, channels: int, most: int, seed: int, *, scarce: bool) -> tuple[dataflow.SdfGraph, list[int]]:
    """Return a connected graph, and how often all phases of each actor fire in an iteration, at most ``most`` times."""
    draw = random.Random(seed)
    phases = [draw.randint(1, 5) for _ in range(actors)]
    turns = [min(most, draw.choice((1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 24, 30))) for _ in range(actors)]
    turns = [count // math.gcd(*turns) for count in turns]
    pairs = [(draw.randrange(max(0, v - 8), v), v) for v in range(1, actors)]
    pairs += [(u, v) for u, v in (draw.sample(range(actors), 2) for _ in range(channels - len(pairs)))]
    made = []
    for number, (u, v) in enumerate(pairs):
        each = math.lcm(turns[u], turns[v]) * draw.choice((1, 1, 2))
        tokens = draw.choice((0, 0, 1))
        if u > v:
            tokens = each * (1 if scarce else 2) // 2 + draw.randint(0, each // turns[v])
        made.append(
            dataflow.SdfChannel(
                f"c{number}",
                f"a{u}",
                shared(draw, each // turns[u], phases[u]),
                f"a{v}",
                shared(draw, each // turns[v], phases[v]),
                tokens,
                4,
            )
        )
    times = [tuple(draw.randint(0, 20 if draw.random() < 0.9 else 200) for _ in range(count)) for count in phases]
    return dataflow.SdfGraph(
        "drawn", tuple(dataflow.SdfActor(f"a{i}", {"cpu": time}) for i, time in enumerate(times)), tuple(made)
    ), turns


def executed(graph: dataflow.SdfGraph, turns: list[int]) -> Fraction | None:
    """Return the ticks per iteration of the slowest actor where all fire as soon as they can; None for a deadlock."""
    actors, channels = [*range(len(turns))], graph.channels
    times = [next(iter(actor.times.values())) for actor in graph.actors]
    number = {actor.id: i for i, actor in enumerate(graph.actors)}
    into = [[k for k, channel in enumerate(channels) if number[channel.target] == actor] for actor in actors]
    out = [[k for k, channel in enumerate(channels) if number[channel.source] == actor] for actor in actors]
    total = [count * len(time) for count, time in zip(turns, times, strict=True)]
    tokens, begun, ended = [channel.tokens for channel in channels], [0] * len(actors), [0] * len(actors)
    ends: list[list[int]] = [[] for _ in actors]
    running: list[tuple[int, int, int]] = []
    now, asked = 0, actors
    while True:
        for actor in asked:
            phase = begun[actor] % len(times[actor])
            is_free = begun[actor] == ended[actor] < total[actor] * ITERATIONS
            if is_free and all(tokens[k] >= channels[k].consumption[phase] for k in into[actor]):
                for k in into[actor]:
                    tokens[k] -= channels[k].consumption[phase]
                begun[actor] += 1
                heapq.heappush(running, (now + times[actor][phase], actor, phase))
        if not running:
            break
        now, actor, phase = heapq.heappop(running)
        for k in out[actor]:
            tokens[k] += channels[k].production[phase]
        ended[actor] += 1
        if ended[actor] % total[actor] == 0:
            ends[actor].append(now)
        asked = [actor, *(number[channels[k].target] for k in out[actor])]
    half = ITERATIONS // 2
    if min(map(len, ends)) < ITERATIONS:
        return None
    return max(Fraction(each[-1] - each[half - 1], ITERATIONS - half) for each in ends)


def main() -> None:
    """Analyse, execute, compare and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--actors", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--channels", type=int, nargs="+", default=[160, 2000])
    parser.add_argument("--repetitions", type=int, default=30, help="most turns of all phases of an actor")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--scarce", action="store_true", help="fewer tokens on the way back")
    parser.add_argument("--executed", type=int, default=5000)
    given = parser.parse_args()
    print("actors channels seed firings | period s | executed")
    for actors, channels in zip(given.actors, given.channels, strict=True):
        for seed in given.seeds:
            graph, turns = drawn(actors, channels, given.repetitions, seed, scarce=given.scarce)
            firings = sum(c * len(next(iter(a.times.values()))) for a, c in zip(graph.actors, turns, strict=True))
            began = time.process_time()
            try:
                period = Fraction(dataflow.throughput(graph, serial=True).extra["exact_period"])
            except InputError as error:
                if "deadlock" not in str(error):
                    raise
                period = None
            seconds = time.process_time() - began
            found = executed(graph, turns) if firings <= given.executed else period
            print(f"{actors:6} {channels:8} {seed:4} {firings:7} | {period} {seconds:.2f} | {found}", flush=True)
            assert found == period, "the execution has another period"


if __name__ == "__main__":
    main()
