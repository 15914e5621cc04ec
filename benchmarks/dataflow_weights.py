"""Weights of annealing on loads beside one another, on drawn stage graphs that nothing else in the project uses.

    python benchmarks/dataflow_weights.py --effort 8 --graphs 10

Every pair of weights gets the same effort and seed. The mean is that of the least periods at ten core costs, over the
least that any of the pairs reached there.
"""

from __future__ import annotations

import argparse
import random
import statistics

import numpy as np

from shorthaul.core.search import Search
from shorthaul.dataflow import tuning
from shorthaul.dataflow.model import Actor, Application, Channel
from shorthaul.dataflow.verbs.planning import plan

PAIRS = ((0.1, 0.0), (0.5, 0.5), (2.0, 2.0))
COSTS = (1, 2, 3, 4, 6, 8, 10, 12, 16, 24)


def drawn(actors: int, seed: int) -> Application:
    """Return stages of one to eight parallel actors; each reads from one or two before it, some share data."""
    draw = random.Random(seed)
    made: list[Actor] = []
    channels: list[Channel] = []
    stage: list[str] = []
    longest, heaviest = draw.choice((3_000, 12_000)), draw.choice((2**18, 2**21, 2**24))

    def connect(source: str, target: str, size: int) -> None:
        channels.append(Channel(f"c{len(channels)}", source, target, size, delay=1))

    while len(made) < actors:
        names = []
        for _ in range(draw.choice((1, 2, 4, 8))):
            ticks = int(longest * draw.random() ** 2) + 6
            made.append(Actor(f"a{len(made)}", {"t1": ticks // 3, "t2": ticks // draw.choice((1, 2)), "t3": ticks}))
            names.append(made[-1].id)
        size = int(heaviest * draw.random() ** 3) + 1
        if len(stage) == 1 and len(names) > 1:
            made.append(Actor(f"m{len(made)}", {"t1": 10, "t2": 15, "t3": 30}, "multicast"))
            connect(stage[0], made[-1].id, size)
            stage = [made[-1].id]
        for number, name in enumerate(names):
            sources = {stage[number % len(stage)], draw.choice(stage)} if stage else set()
            for source in sorted(sources if stage and stage[0][0] == "a" else set(stage)):
                connect(source, name, size)
        stage = names
    return Application(f"drawn-{seed}", tuple(made), tuple(channels))


def least(application: Application, pair: tuple[float, float], effort: float, seed: int) -> list[float]:
    """Return the least period at every core cost."""
    tuning.LOAD_WEIGHTS = pair
    found = plan(application, search=Search(seed=seed, effort=effort, workers=1))
    assert found.plan is not None
    front = np.array([point.objectives for point in found.plan.front], np.float64)
    return [float(front[front[:, 2] <= cost, 0].min()) for cost in COSTS]


def main() -> None:
    """Plan and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", type=int, default=10)
    parser.add_argument("--effort", type=float, default=8.0)
    parser.add_argument("--first", type=int, default=0, help="seed of the first graph")
    given = parser.parse_args()
    excess: dict[tuple[float, float], list[float]] = {pair: [] for pair in PAIRS}
    for seed in range(given.first, given.first + given.graphs):
        application = drawn(round(50 * 6 ** ((seed - given.first) / max(1, given.graphs - 1))), seed)
        periods = {pair: least(application, pair, given.effort, seed) for pair in PAIRS}
        best = [min(column) for column in zip(*periods.values(), strict=True)]
        shown = []
        for pair, found in periods.items():
            excess[pair].append(statistics.mean(p / b - 1 for p, b in zip(found, best, strict=True)))
            shown.append(f"{pair} {excess[pair][-1]:.1%}")
        print(f"{len(application.actors)} actors, {len(application.channels)} channels: {', '.join(shown)}", flush=True)
    print("mean:", ", ".join(f"{pair} {statistics.mean(shares):.1%}" for pair, shares in excess.items()))


if __name__ == "__main__":
    main()
