"""Plans and bounds of dynamic programmes and iterations whose nodes are numbered at random.

    python benchmarks/pebble_grids.py [--effort 3] [--seed 1] [--times 1.5 3] [--only gaps] [--json FILE]

A seed draws the sides of each family; each is planned in its least budget taken so many times. Every plan is replayed
by the checker. Prints a row per run (family, nodes, budget, traffic, bound, processor seconds) and the geometric mean
of traffic over bound.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path
from statistics import geometric_mean

import numpy as np

from shorthaul.core.search import Search
from shorthaul.pebble import Cdag, plan
from shorthaul.pebble.check.replay import replay
from shorthaul.pebble.model import build

Place = tuple[int, ...]
Sides = Callable[[int, int], int]


class Graph:
    """A graph that grows node by node, numbered at random in the end."""

    def __init__(self) -> None:
        self._edges: list[tuple[int, int]] = []
        self._given: list[bool] = []

    def node(self, *operands: int) -> int:
        """Return a new node that reads some operands; an input without any."""
        self._edges += [(operand, len(self._given)) for operand in dict.fromkeys(operands)]
        self._given.append(not operands)
        return len(self._given) - 1

    def inputs(self, count: int) -> list[int]:
        """Return new inputs."""
        return [self.node() for _ in range(count)]

    def shuffled(self, rng: np.random.Generator) -> Cdag:
        """Return the graph with its nodes and edges in any order."""
        number = rng.permutation(len(self._given))
        edges = rng.permutation(number[np.array(self._edges)])
        given = np.zeros(len(number), dtype=np.bool_)
        given[number] = self._given
        return build(np.ones(len(number), np.int64), edges[:, 0], edges[:, 1], given=given)


def table(sides: Place, steps: Iterable[Place], *, letters: bool) -> Graph:
    """Return a table each place of which reads those some steps before it, and letters along two axes."""
    graph, cells = Graph(), dict[Place, int]()
    words = [graph.inputs(side) for side in sides[:2]] if letters else []
    for place in product(*map(range, sides)):
        before = [tuple(np.subtract(place, step).tolist()) for step in steps]
        read = [cells[one] for one in before if one in cells]
        cells[place] = graph.node(*read, *(word[at] for word, at in zip(words, place, strict=False)))
    return graph


def gaps(rows: int, columns: int, *, is_helped: bool) -> Graph:
    """Return an alignment with affine gaps: three values a place; scores are nodes of their own if ``is_helped``."""
    graph = Graph()
    words = [graph.inputs(rows), graph.inputs(columns)]
    best, along, down = dict[Place, int](), dict[Place, int](), dict[Place, int]()
    for i, j in product(range(rows), range(columns)):
        for lane, before in ((along, (i, j - 1)), (down, (i - 1, j))):
            if before in best:
                lane[i, j] = graph.node(best[before], *([lane[before]] if before in lane else []))
        read = [words[0][i], words[1][j]]
        read = [graph.node(*read)] if is_helped else read
        read += [values[place] for values, place in ((best, (i - 1, j - 1)), (along, (i, j)), (down, (i, j)))
                 if place in values]  # fmt: skip
        best[i, j] = graph.node(*read)
    return graph


def warping(rows: int, columns: int) -> Graph:
    """Return a time warping: the distance of two samples is a node of its own, and so is the least of three."""
    graph, cells = Graph(), dict[Place, int]()
    one, other = graph.inputs(rows), graph.inputs(columns)
    for i, j in product(range(rows), range(columns)):
        read = [cells[place] for place in ((i - 1, j), (i, j - 1), (i - 1, j - 1)) if place in cells]
        distance = graph.node(one[i], other[j])
        cells[i, j] = graph.node(distance, graph.node(*read)) if read else distance
    return graph


def iteration(sides: Place, steps: int, *, is_leapfrog: bool = False, corners: bool = False) -> Graph:
    """Return steps of a stencil on a grid; a leapfrog reads what a cell was two steps before."""
    graph = Graph()
    places = list(product(*map(range, sides)))
    now = dict(zip(places, graph.inputs(len(places)), strict=True))
    before = dict(zip(places, graph.inputs(len(places)), strict=True)) if is_leapfrog else now
    near = [by for by in product((-1, 0, 1), repeat=len(sides)) if corners or np.abs(by).sum() < 2]
    for _ in range(steps):
        after = {}
        for place in places:
            around = [tuple(np.add(place, by).tolist()) for by in near]
            past = [before[place]] if is_leapfrog else []
            after[place] = graph.node(*(now[one] for one in around if one in now), *past)
        before, now = now, after
    return graph


def families(side: Sides) -> dict[str, Callable[[], Graph]]:
    """Return the graphs by name, with sides drawn between two numbers."""
    corner = [(1, 0), (0, 1), (1, 1)]
    space = [step for step in product((0, 1), repeat=3) if any(step)]
    return {
        "subsequence": lambda: table((side(30, 60), side(30, 60)), corner, letters=True),
        "paths": lambda: table((side(40, 80), side(40, 80)), corner[:2], letters=False),
        "gaps": lambda: gaps(side(25, 50), side(25, 50), is_helped=False),
        "gaps, scores": lambda: gaps(side(25, 50), side(25, 50), is_helped=True),
        "warping": lambda: warping(side(25, 50), side(25, 50)),
        "three words": lambda: table((side(8, 14), side(8, 14), side(8, 14)), space, letters=True),
        "line": lambda: iteration((side(50, 100),), side(20, 50)),
        "plane": lambda: iteration((side(12, 20), side(12, 20)), side(6, 12)),
        "plane, corners": lambda: iteration((side(12, 18), side(12, 18)), side(5, 9), corners=True),
        "leapfrog": lambda: iteration((side(12, 18), side(12, 18)), side(6, 10), is_leapfrog=True),
        "space": lambda: iteration((side(6, 9), side(6, 9), side(6, 9)), side(4, 8)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--effort", type=float, default=3.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--times", type=float, nargs="+", default=[1.5, 3.0])
    parser.add_argument("--only", default="")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    rng, rows = np.random.default_rng(given.seed), []
    for name, make in families(lambda least, most: int(rng.integers(least, most + 1))).items():
        cdag = make().shuffled(rng)
        for times in given.times if given.only in name else ():
            budget, start = round(cdag.least_budget() * times), time.process_time()
            found = plan(cdag, budget=budget, search=Search(effort=given.effort))
            seconds = round(time.process_time() - start, 2)
            report = replay(cdag, found.plan, budget)
            if not report.ok or report.cost is None:
                raise SystemExit(f"{name} in {budget}: the plan breaks a rule")
            traffic = int(report.cost["traffic"])
            rows.append({"family": name, "nodes": cdag.n, "budget": budget, "traffic": traffic,
                         "bound": int(found.bound.value), "seconds": seconds})  # fmt: skip
            print("  ".join(str(value) for value in rows[-1].values()), flush=True)
    if rows:
        print(f"traffic / bound {geometric_mean(row['traffic'] / row['bound'] for row in rows):.2f} in the mean")
    if given.json is not None:
        found = {"effort": given.effort, "seed": given.seed, "grids": rows}
        given.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
