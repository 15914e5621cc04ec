"""Exploration times, fronts, decoding speed and exact solves of the dataflow engine, beside the published figures.

Published: Letras, Falk, Teich, IEEE Access 2024 (Intel i7-4790, 2500 generations). Times are wall seconds and user CPU
seconds of this process; on a shared machine the CPU seconds are the steadier of the two.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import statistics
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from shorthaul.core.compiled.random_kernels import Random
from shorthaul.core.document import load_json, save_json
from shorthaul.core.search import Search
from shorthaul.dataflow import tuning
from shorthaul.dataflow.caps_hms.heuristic import make_decoder
from shorthaul.dataflow.exploration.decoders import Exact, decoder_for
from shorthaul.dataflow.exploration.nsga2 import explore, hypervolume
from shorthaul.dataflow.exploration.tiling import tiled
from shorthaul.dataflow.mapping.arrays import build, decisions_of, genes
from shorthaul.dataflow.mapping.binding import mapped_point
from shorthaul.dataflow.mapping.mapping_kernels import Genotypes
from shorthaul.dataflow.model import Decisions
from shorthaul.dataflow.modulo.annealing_kernels import improve
from shorthaul.dataflow.modulo.branching_kernels import Tree, branch
from shorthaul.dataflow.modulo.differences_kernels import Differences
from shorthaul.dataflow.modulo.disjunctive_graph import (
    disjunctive_graph,
    fixed_differences,
    resources,
    times_of,
    turns,
)
from shorthaul.dataflow.modulo.propagation_kernels import Resources
from shorthaul.dataflow.modulo.selection_kernels import Graph, Selection
from shorthaul.dataflow.options import STRATEGIES, Decoding, PlanOptions
from shorthaul.dataflow.verbs.planning import plan
from shorthaul.dataflow.workloads import generators

APPLICATIONS = {"sobel": generators.sobel, "sobel4": generators.sobel4, "multicamera": generators.multicamera}
PUBLISHED = Path(__file__).parents[2] / "shared" / "data" / "dataflow" / "published_pareto_fronts.json"
PAPER_SECONDS = {"sobel": 322, "sobel4": 1892, "multicamera": 5779}
GOAL_SECONDS = {"sobel": 5, "sobel4": 15, "multicamera": 35}
PAPER_HYPERVOLUME = {
    "sobel": {"reference": 0.7108, "mrb-always": 0.8672, "mrb-explore": 0.8796},
    "sobel4": {"reference": 0.5573, "mrb-always": 0.7635, "mrb-explore": 0.7885},
    "multicamera": {"reference": 0.5023, "mrb-always": 0.7944, "mrb-explore": 0.9471},
}


def cpu() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def explorations(
    name: str, rule: str, seeds: int, generations: int, workers: int, polish: float
) -> list[dict[str, Any]]:
    """Every strategy and seed; relative hypervolumes scaled over all of them (0 the best, 1 the worst value)."""
    runs, fronts = [], []
    for strategy in STRATEGIES:
        for seed in range(seeds):
            began, used = time.perf_counter(), cpu()
            options = PlanOptions(strategy=strategy, generations=generations, capacity_rule=rule, polish_effort=polish)
            done = plan(APPLICATIONS[name](), options=options, search=Search(seed=seed, workers=workers))
            assert done.plan is not None
            fronts.append(np.array([point.objectives for point in done.plan.front], np.float64))
            runs.append(
                {
                    "application": name,
                    "capacity_rule": rule,
                    "strategy": strategy,
                    "seed": seed,
                    "wall_s": round(time.perf_counter() - began, 2),
                    "cpu_s": round(cpu() - used, 2),
                    "points": len(fronts[-1]),
                    "volume_before_polishing": done.extra["hypervolume"]["by_generation"][-1],
                    "volume": done.extra["hypervolume"]["of_front"],
                    "least": [float(value) for value in fronts[-1].min(axis=0)],
                }
            )
            print(runs[-1], flush=True)
    everything = np.concatenate(fronts)
    low, high = everything.min(axis=0), everything.max(axis=0)
    for run, front in zip(runs, fronts, strict=True):
        run["front"] = front.tolist()
        run["relative_hypervolume"] = round(hypervolume(front, low, high), 4)
    return runs


def beside_published(name: str, runs: list[dict[str, Any]], path: Path) -> dict[str, Any] | None:
    """Hypervolumes of the published CAPS-HMS fronts and of ours, scaled over both; None without the published data."""
    if not path.is_file():
        return None
    titles = {"sobel": "Sobel", "sobel4": "Sobel4", "multicamera": "Multicamera"}
    keys = {"Reference": "reference", "MRB_Always": "mrb-always", "MRB_Explore": "mrb-explore"}
    published = {
        keys[front["strategy"]]: np.array([(p["P_ms"] * 1e3, p["MF_MiB"] * 2**20, p["K"]) for p in front["points"]])
        for front in load_json(path)["fronts"]
        if front["app"] == titles[name] and front["decoder"] == "CAPS-HMS"
    }
    ours = [np.array(run["front"]) for run in runs]
    everything = np.concatenate([*published.values(), *ours])
    low, high = everything.min(axis=0), everything.max(axis=0)
    return {
        strategy: {
            "published": round(hypervolume(published[strategy], low, high), 4),
            "ours_median": round(
                statistics.median(
                    hypervolume(front, low, high)
                    for run, front in zip(runs, ours, strict=True)
                    if run["strategy"] == strategy
                ),
                4,
            ),
        }
        for strategy in STRATEGIES
    }


def random_genotypes(name: str, n: int, strategy: str = "mrb-explore") -> tuple[Any, Genotypes]:
    """Both starting rules alternating."""
    instance = build(APPLICATIONS[name](), generators.platform24())
    random = np.random.default_rng(1)
    xi = random.integers(0, 2, (n, len(instance.feeding))).astype(np.int8)
    decision = random.integers(0, 5, (n, len(instance.src))).astype(np.int8)
    binding = random.integers(0, 24, (n, len(instance.tau)))
    if strategy != "mrb-explore":
        xi[:] = strategy == "mrb-always"
    return instance, Genotypes((np.arange(n) % 2).astype(np.int8), xi, decision, binding)


def decoding_speed(n: int) -> list[dict[str, Any]]:
    """Decodes per CPU second of one thread on random genotypes."""
    rows = []
    for name in APPLICATIONS:
        instance, genotypes = random_genotypes(name, n)
        for tolerance in (0.001, 0.0):
            decoder = make_decoder(instance, Decoding(tolerance=tolerance))
            best = min(_timed(partial(decoder.objectives, genotypes, Search())) for _ in range(3))
            rows.append({"application": name, "tolerance": tolerance, "decodes_per_cpu_s": round(n / best)})
            print(rows[-1], flush=True)
    return rows


def _timed(work: Any) -> float:
    used = cpu()
    work()
    return cpu() - used


def exact(name: str, n: int, effort: float, strategy: str = "mrb-explore", rule: str = "access") -> dict[str, Any]:
    """How many random mappings the exact model proves optimal, how fast, and what CAPS-HMS loses on them."""
    instance, genotypes = random_genotypes(name, n, strategy)
    mappings = [decisions_of(instance, genotypes, i) for i in range(n)]
    title = {"application": name, "of": "random mappings", "strategy": strategy, "capacity_rule": rule}
    return title | _solved(instance, mappings, effort, rule)


def exact_on_front(name: str, generations: int, effort: float) -> dict[str, Any]:
    """The same for the mappings on an explored front (seed 0)."""
    done = plan(APPLICATIONS[name](), generations=generations, search=Search(workers=1))
    assert done.plan is not None
    instance = build(APPLICATIONS[name](), generators.platform24())
    mappings = [Decisions(p.binding, p.xi, p.channel_decision) for p in done.plan.front]
    return {"application": name, "of": "points of a front"} | _solved(instance, mappings, effort, "access")


def _solved(instance: Any, mappings: list[Decisions], effort: float, rule: str) -> dict[str, Any]:
    exactly = Decoding(decoder="modulo", solver_effort=effort, tolerance=0.0, capacity_rule=rule)
    decoder = decoder_for(instance, exactly)
    caps = make_decoder(instance, Decoding(tolerance=0.0, capacity_rule=rule))
    assert isinstance(decoder, Exact)
    proven, times, losses, starts = 0, [], [], []
    for mapping in mappings:
        genotype = genes(instance, mapping)
        warm = decoder.warm.point_of(genotype, 0)
        used = cpu()
        solved = decoder.solve(mapping)
        times.append(cpu() - used)
        period = solved.point.period
        proven += solved.least == period
        losses.append(caps.point_of(genotype, 0).period / period - 1)
        starts.append(warm.period / period - 1)
    row = {
        "mappings": len(mappings),
        "effort": effort,
        "proven": proven,
        "within_1_s": sum(used <= 1 for used in times),
        "median_cpu_s": round(statistics.median(times), 4),
        "slowest_cpu_s": round(max(times), 3),
        "caps_mean_excess": round(statistics.mean(losses), 4),
        "multistart_mean_excess": round(statistics.mean(starts), 4),
    }
    print(row, flush=True)
    return row


def rates() -> None:
    """Print how much work of every kind of ``tuning`` a CPU second does, on random mappings to five cores."""
    for name, moves, nodes in (("sobel", 20000, 2000), ("sobel4", 4000, 300), ("multicamera", 1500, 60)):
        application, machine = APPLICATIONS[name](), generators.platform24()
        instance, genotypes = random_genotypes(name, 400)
        np.asarray(genotypes.binding)[:] %= 5
        decoder = make_decoder(instance, Decoding())
        used, decoding = cpu(), Search()
        decoder.objectives(genotypes, decoding)
        row = {"application": name, "PLACEMENT_STEPS": decoding.spent() * tuning.PLACEMENT_STEPS / (cpu() - used)}
        point = decoder.point_of(genotypes, 0)
        net = mapped_point(application, machine, point)
        graph = disjunctive_graph(net)
        layout = Graph(graph)
        room, period, best = Selection(layout), point.period, times_of(graph, point.starts)
        used = cpu()
        improve(layout, room, Random(1), best, period, 1, moves, 0.003 * period, 0.001 * period)
        row["SELECTION_STEPS"] = room.steps / (cpu() - used)
        period, used = period - 1, cpu()
        root = fixed_differences(graph, period)
        row["CLOSING_STEPS"] = len(graph.names) ** 3 / (cpu() - used)
        if root is not None:
            before, after, ticks = turns(graph)
            at, on = Differences(period, graph.duration, before, after, ticks, root), Resources(*resources(graph), 256)
            tree = Tree(len(ticks), 4 * len(ticks) + 8, tuning.PATIENCE)
            used = cpu()
            branch(tree, at, on, nodes, 10**12, 10**7, np.zeros(len(graph.names), np.int64))
            row["BRANCHING_STEPS"] = at.steps / (cpu() - used)
        used, between = cpu(), Search()
        tiled(instance, genotypes, Random(1), 50_000, between, range(24))
        row["TILING_STEPS"] = between.spent() * tuning.TILING_STEPS / (cpu() - used)
        population = PlanOptions(generations=50, population=400, polish_effort=0)
        used, exploring = cpu(), Search(workers=1)
        explore(instance, decoder, population, exploring, lower=(0, 0, 0))
        pairs = 50 * (400 + population.offspring) ** 2
        decoding_s = exploring.spent() - pairs / tuning.RANKED_PAIRS
        row["RANKED_PAIRS"] = pairs / (cpu() - used - decoding_s)
        print({key: value if isinstance(value, str) else f"{value:.2g}" for key, value in row.items()}, flush=True)


def summary(name: str, rule: str, runs: list[dict[str, Any]], published: Path) -> dict[str, Any]:
    """Medians over the seeds, the ends of the fronts, and hypervolumes beside the published ones."""

    def of(strategy: str, key: str) -> list[Any]:
        return [run[key] for run in runs if run["strategy"] == strategy]

    volume = {strategy: statistics.median(of(strategy, "relative_hypervolume")) for strategy in STRATEGIES}
    paper = PAPER_HYPERVOLUME[name]
    return {
        "application": name,
        "capacity_rule": rule,
        "explore_wall_s": statistics.median(of("mrb-explore", "wall_s")),
        "explore_cpu_s": statistics.median(of("mrb-explore", "cpu_s")),
        "goal_s": GOAL_SECONDS[name],
        "paper_s": PAPER_SECONDS[name],
        "hypervolume": volume,
        # none where every point of the reference is the worst in some objective: its relative volume is 0
        "explore_over_reference": round(volume["mrb-explore"] / volume["reference"], 3)
        if volume["reference"]
        else None,
        "paper_explore_over_reference": round(paper["mrb-explore"] / paper["reference"], 3),
        "in_the_box_of_published_fronts": beside_published(name, runs, published),
        # of the worst seed, so that it holds for every front
        "least_core_cost_on_every_front": {s: max(least[2] for least in of(s, "least")) for s in STRATEGIES},
        "least_footprint_on_every_front": {s: max(least[1] for least in of(s, "least")) for s in STRATEGIES},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--generations", type=int, default=2500)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--polish-effort", type=float, default=PlanOptions().polish_effort)
    parser.add_argument("--sobel-mappings", type=int, default=1000)
    parser.add_argument("--sobel4-mappings", type=int, default=40)
    parser.add_argument("--published", type=Path, default=PUBLISHED)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "dataflow.json")
    parser.add_argument("--rates", action="store_true", help="only measure the work per second behind tuning.py")
    given = parser.parse_args()
    if given.rates:
        rates()
        return
    results: dict[str, Any] = {
        "machine": {"python": sys.version.split()[0], "cpu": platform.processor(), "cores": os.cpu_count()},
        "generations": given.generations,
        "polish_effort": given.polish_effort,
        "decoding": decoding_speed(400),
        "exact": [
            *(exact("sobel", given.sobel_mappings, 30.0, strategy) for strategy in STRATEGIES),
            exact("sobel", given.sobel_mappings // 5, 5.0, rule="atomic-firing"),
            exact("sobel4", given.sobel4_mappings, 30.0),
            exact("multicamera", 10, 30.0),
            exact_on_front("sobel", 500, 30.0),
            exact_on_front("sobel4", 500, 5.0),
        ],
        "explorations": [],
        "summary": [],
    }
    save_json(given.output, results)
    # the authors' own results count buffers from firing to firing
    for rule, name in (*(("access", name) for name in APPLICATIONS), ("atomic-firing", "sobel")):
        runs = explorations(name, rule, given.seeds, given.generations, given.workers, given.polish_effort)
        results["explorations"] += runs
        results["summary"].append(summary(name, rule, runs, given.published))
        print(results["summary"][-1], flush=True)
        save_json(given.output, results)


if __name__ == "__main__":
    main()
