"""Measures the spatial engine's figures: energies of layouts and algorithms beside their baselines, and speed.

``python benchmarks/spatial.py [--quick] [--only TITLE]`` prints tables and writes ``benchmarks/results/spatial.json``
(only the sections with TITLE in their name; nothing with ``--quick``, which measures n = 2^16). Times are user
CPU seconds of one process with kernels already compiled, the best of three.
"""

from __future__ import annotations

import gc
import json
import math
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import shorthaul.spatial as engine
from shorthaul.core import machines
from shorthaul.core.search import Search
from shorthaul.report.text import print_table
from shorthaul.spatial.algorithms.euler_tour import rank_list
from shorthaul.spatial.bounds.energy import energy_bound
from shorthaul.spatial.computer.machine import Machine
from shorthaul.spatial.layout import curves, orders
from shorthaul.spatial.layout.cost_kernels import edge_energy
from shorthaul.spatial.model import Grid, Tree
from shorthaul.spatial.options import SweepOptions
from shorthaul.spatial.verbs.sweep import sweep
from shorthaul.spatial.workloads import generators

RESULTS = Path(__file__).parent / "results" / "spatial.json"
QUICK = "--quick" in sys.argv
ONLY = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else ""
POWER = 16 if QUICK else 20
N = 2**POWER


def shapes(n: int) -> dict[str, Tree]:
    return {
        "path": generators.path(n),
        "caterpillar": generators.caterpillar(n),
        "perfect-binary": generators.perfect_binary(n),
        "yule": generators.yule(n, 1),
        "uniform-binary": generators.uniform_binary(n, 1),
        "random-recursive": generators.random_recursive(n, 1),
        "preferential-attachment": generators.preferential_attachment(n, 1),
        "star": generators.star(n),
    }


def cpu(function: Callable[[], Any], repeat: int = 3) -> float:
    """The least user CPU time of one call, in seconds."""
    best = math.inf
    for _ in range(repeat):
        gc.collect()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        function()
        best = min(best, resource.getrusage(resource.RUSAGE_SELF).ru_utime - before)
    return best


def layouts() -> list[dict[str, Any]]:
    rows = []
    for name, tree in shapes(N).items():
        result = engine.plan(tree, order="light-first", refine=0)
        extra = result.extra
        row = {"tree": name, "light-first": extra["energy_per_vertex"]}
        row["through the virtual tree"] = extra["virtual_tree"]["energy_per_vertex"]
        for baseline in extra["baselines"]:
            row[baseline["placement"].split(" + ")[0]] = baseline["energy_per_vertex"]
        row["bound"] = result.bound.value / tree.n
        row["bound by"] = result.bound.method
        rows.append(row)
    return rows


def treefix_runs() -> list[dict[str, Any]]:
    rows = []
    variants = [
        ("rake-compress", "random-mate"),
        ("rake-compress", "local-maximum"),
        ("heavy-path", ""),
        ("convergecast", ""),
    ]
    for name, tree in shapes(N).items():
        for direction in ("up", "down"):
            for method, coins in variants:
                chosen = {"coins": coins} if coins else {}
                result = engine.treefix(
                    tree, direction=direction, method=method, order="light-first", refine=0, **chosen
                )
                rows.append(
                    {
                        "tree": name,
                        "direction": direction,
                        "method": f"{method} {coins}".strip(),
                        "energy/n": result.cost["energy_hops"] / tree.n,
                        "depth/log2 n": result.cost["depth"] / math.log2(tree.n),
                        "distance": result.cost["distance_hops"],
                        "link load": result.cost["link_load"],
                        "rounds": result.extra["rounds"],
                        "words": result.extra["words_per_processor"],
                        "cycles": result.extra["cycles"],
                    }
                )
    return rows


def default_runs() -> list[dict[str, Any]]:
    """Treefix sums on default layouts, by every method and by auto, beside light-first layouts."""
    rows = []
    for name, tree in shapes(N).items():
        for layout, options in (("light-first", {"order": "light-first", "refine": 0}), ("default", {})):
            for direction in ("up", "down"):
                result = engine.treefix(tree, direction=direction, **options)
                row = {"tree": name, "layout": layout, "direction": direction, "method": result.extra["method"]}
                row |= {"energy/n": result.extra["energy_per_vertex"], "cycles": result.extra["cycles"]}
                rows.append(row | result.extra["cycles_by_method"])
    return rows


def seeds() -> list[dict[str, Any]]:
    """Energy per vertex of the random trees over ten seeds."""
    rows = []
    for name in ("yule", "uniform_binary", "random_recursive", "preferential_attachment"):
        direct, virtual = [], []
        for seed in range(1, 11):
            tree = getattr(generators, name)(N, seed)
            extra = engine.plan(tree, order="light-first", refine=0, baselines=False).extra
            direct.append(extra["energy_per_vertex"])
            virtual.append(extra["virtual_tree"]["energy_per_vertex"])
        for what, found in (("direct", direct), ("through the virtual tree", virtual)):
            row = {"tree": name.replace("_", "-"), "messages": what, "mean": float(np.mean(found))}
            row |= {"standard deviation": float(np.std(found, ddof=1)), "least": min(found), "most": max(found)}
            rows.append(row)
    return rows


def growth_fit(points: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return least-squares fits of growth over the number n of vertices: energy c n^a, and depth b log2 n + d.

    ``energy_exponent`` is a, ``energy_factor`` is c, ``energy_misfit`` the largest relative distance of a point from
    the fit; ``depth_per_doubling`` is b, ``depth_offset`` is d. ``depth_exponent`` is that of a power of n in place of
    the logarithm: near 0 if the depth is logarithmic, 0.5 if it grows like the square root.
    """
    n, energy, depth = (np.array([p[key] for p in points], float) for key in ("vertices", "energy_hops", "depth"))
    log = np.log2(n)
    exponent, factor = np.polyfit(log, np.log2(np.maximum(energy, 1)), 1)
    misfit = np.abs(np.maximum(energy, 1) / 2 ** (exponent * log + factor) - 1).max()
    slope, offset = np.polyfit(log, depth, 1)
    figures = {
        "energy_exponent": exponent,
        "energy_factor": 2**factor,
        "energy_misfit": misfit,
        "depth_per_doubling": slope,
        "depth_offset": offset,
        "depth_exponent": np.polyfit(log, np.log2(np.maximum(depth, 1)), 1)[0],
    }
    return {name: round(float(value), 4) + 0.0 for name, value in figures.items()}


def growth() -> list[dict[str, Any]]:
    """Energy and depth of every algorithm on several trees over n = 2^10 .. 2^20, fitted."""
    rows = []
    for tree in ("yule:seed=1", "perfect-binary", "uniform-binary:seed=1", "preferential-attachment:seed=1"):
        options = SweepOptions(
            sizes=f"2^10..2^{POWER}", orders="light-first", methods="rake-compress,convergecast,heavy-path"
        )
        result = sweep(tree, options=options)
        lines: dict[str, list[Any]] = {}
        for point in result.extra["points"]:
            line = point["what"] if point["what"].startswith("treefix") else "light-first"
            lines.setdefault(line, []).append(point)
        rows += [{"tree": tree.partition(":")[0], "what": what, **growth_fit(run)} for what, run in lines.items()]
    points = []
    for power in range(10, POWER + 1, 2):
        made = engine.plan(generators.yule(2**power, 1), refine=0, baselines=False, create=True)
        points.append({"vertices": made.extra["vertices"], **made.extra["creation"]})
    rows.append({"tree": "yule", "what": "layout creation by messages", **growth_fit(points)})
    return rows


def other_algorithms() -> list[dict[str, Any]]:
    rows = []
    for power in (12, 16, POWER):
        n, grid = 2**power, Grid(2 ** (power // 2), 2 ** (power // 2))
        order = np.random.default_rng(0).permutation(n).astype(np.int32)
        following = np.full(n, -1, np.int32)
        following[order[:-1]] = order[1:]
        for kind in ("random-mate", "local-maximum"):
            computer = Machine.on(grid, curve="hilbert", count_links=False)  # 4 n^1.5 links are taken
            held = computer.load("list", following), computer.load("weight", np.ones(n, np.int64))
            rank_list(computer, computer.processors, *held, kind=kind)
            rows.append(_algorithm(f"list ranking, random list, {kind}", n, computer.cost(), n**1.5, "n^1.5"))
    for power in (10, 12, 14, 16, 18, 20):
        if power <= POWER:
            tree = generators.yule(2**power, 1)
            made = engine.plan(tree, refine=0, baselines=False, create=True).extra["creation"]
            rows.append(_algorithm("layout creation, yule", tree.n, made, tree.n**1.5, "n^1.5"))
    tree = generators.yule(N, 1)
    for method in ("convergecast", "rake-compress"):
        for barriers in (False, True):
            result = engine.lca(
                tree, random=N // 2, method=method, barriers=barriers, order="light-first", refine=0, seed=1
            )
            what = f"lca of n/2 random pairs, yule, {method}{', barriers' if barriers else ''}"
            rows.append(_algorithm(what, tree.n, result.cost, tree.n, "n"))
    return rows


def _algorithm(what: str, n: int, cost: Any, unit: float, name: str) -> dict[str, Any]:
    return {
        "algorithm": what,
        "n": n,
        "energy": f"{cost['energy_hops'] / unit:.2f} {name}",
        "depth": cost["depth"],
        "distance": cost["distance_hops"],
    }


def refinement() -> list[dict[str, Any]]:
    """Energy per vertex by the effort of the local search, and the CPU seconds it takes."""
    rows = []
    for name, tree in {**shapes(2**16), "yule-4096": generators.yule(4096, 1)}.items():
        row: dict[str, Any] = {"tree": name, "n": tree.n, "bound": engine.bound(tree).bound.value / tree.n}
        for effort in (0.0, None, 6.0):
            began = time.process_time()
            found = engine.plan(tree, refine=effort, baselines=False).extra["energy_per_vertex"]
            what = "default" if effort is None else f"effort {effort:g}"
            row |= {what: found, f"{what}, CPU s": time.process_time() - began}
        rows.append(row)
    return rows


def bounds() -> list[dict[str, Any]]:
    """Bounds on energy alone, hops per edge."""
    rows = []
    for name, tree in {**shapes(N), "yule, 65,535, seed 7": generators.yule(2**16 - 1, 7)}.items():
        grid = curves.choose("auto", tree.n, None)[1]
        seconds = time.process_time()
        bound = energy_bound(tree, grid)
        row = {"tree": name, "hops per edge": bound.value / (tree.n - 1), "method": bound.method}
        rows.append(row | {"CPU s": time.process_time() - seconds})
    return rows


def small_trees() -> list[dict[str, Any]]:
    """Energy beside the bound of small trees by default, on the smallest square."""
    rows = []
    for name in ("perfect_binary", "yule", "uniform_binary", "random_recursive", "preferential_attachment"):
        for n in (31, 63, 127, 255):
            tree = getattr(generators, name)(*((n,) if name == "perfect_binary" else (n, 41)))
            seconds = time.process_time()
            result = engine.plan(tree, baselines=False)
            row = {"tree": name.replace("_", "-"), "vertices": n, "energy": result.cost["energy_hops"]}
            row |= {"bound": result.bound.value, "method": result.bound.method, "gap in %": 100 * result.gap}
            rows.append(row | {"CPU s": time.process_time() - seconds})
    return rows


def wafer() -> list[dict[str, Any]]:
    """Trees larger than the grid: several vertices on each of the wafer's processors, one in a hundred of them dead."""
    text = (Path(machines.__file__).parent / "data" / "wafer-750x994.yaml").read_text()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "wafer.yaml"
        file.write_text(text.replace("processor:", "processor:\n  dead_share: 0.01\n  dead_seed: 1"))
        for name in ("yule", "uniform_binary", "random_recursive", "preferential_attachment"):
            tree = getattr(generators, name)(2_600_000 // (16 if QUICK else 1), 1)
            row: dict[str, Any] = {"tree": name.replace("_", "-"), "n": tree.n}
            for effort in (0.0, None):
                began = time.process_time()
                made = engine.plan(tree, machine=file, refine=effort, baselines=False)
                what = "default" if effort is None else "without refining"
                row |= {what: made.extra["energy_per_vertex"], f"{what}, CPU s": time.process_time() - began}
            row |= {"bound": made.bound.value / tree.n, "per processor": made.extra["machine"]["per_processor"]}
            rows.append(row)
    return rows


def speeds() -> list[dict[str, Any]]:
    rows = []
    yule = generators.yule(N, 1)
    grid = curves.choose("auto", yule.n, None)[1]

    def place() -> None:
        x, y = curves.cells("auto", grid, yule.n)
        position = orders.positions(yule, "light-first")
        edge_energy(yule.parent, x[position], y[position])

    rows.append({"what": f"order + curve + energy, yule n = {yule.n}", "CPU s": cpu(place), "figure": 0.2})
    for links_too, figure in ((False, 0.7), (True, 1.5)):
        for direction in ("up", "down"):
            timed = _treefix_time(yule, direction, links_too)
            what = f"treefix {direction} run{' with link load and words' if links_too else ''}, n = {yule.n}"
            rows.append({"what": what, "CPU s": timed, "figure": figure})
    large = generators.random_recursive(2_600_000 // (16 if QUICK else 1), 1)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tree.npy"
        np.save(file, large.parent)
        for baselines in (True, False):
            what = f"plan from a NumPy file, n = {large.n}, {'all' if baselines else 'no'} baselines"
            timed = cpu(partial(_plan, file, baselines=baselines))
            rows.append({"what": what, "CPU s": timed, "figure": 3.0})
    text = engine.newick_from_tree(generators.yule(200_001, 1))
    tree = engine.tree_from_newick(text)
    calls = {"read": partial(engine.tree_from_newick, text), "written": partial(engine.newick_from_tree, tree)}
    for what, call in calls.items():
        rows.append({"what": f"Newick {what}, {tree.n} vertices", "CPU s": cpu(call), "figure": 1.0})
    return rows


def _plan(file: Path, **options: Any) -> None:
    engine.plan(engine.case(str(file)).workload, refine=0, **options)


def _treefix_time(tree: Tree, direction: str, count_links: bool) -> float:
    from shorthaul.spatial.algorithms.stored import stored_nodes
    from shorthaul.spatial.computer.operators import OPERATORS
    from shorthaul.spatial.layout.stored_tree import store
    from shorthaul.spatial.options import PlacingOptions
    from shorthaul.spatial.verbs.planning import place
    from shorthaul.spatial.verbs.treefix import run_treefix

    stored = store(tree, place(tree, PlacingOptions(order="light-first"), Search())[0])
    virtual = stored.virtual()
    values = np.ones(tree.n, np.int64)

    def run() -> None:
        machine = Machine(stored.x, stored.y, stored.grid, count_links=count_links)
        held = machine.load("values", values)
        known = stored_nodes(machine, virtual)
        run_treefix(machine, known, held, OPERATORS["sum"], direction=direction, method="rake-compress")
        machine.cost()

    return cpu(run)


def main() -> None:
    sections = {
        f"Energy per vertex, one message from every parent to each child, n = 2^{POWER}": layouts,
        f"Treefix sums, n = 2^{POWER}": treefix_runs,
        f"Treefix sums by auto, n = 2^{POWER}": default_runs,
        f"Energy per vertex over the seeds 1 to 10, n = 2^{POWER}": seeds,
        f"Growth over n = 2^10 .. 2^{POWER}": growth,
        "Other algorithms": other_algorithms,
        "Refinement, energy per vertex, n = 2^16": refinement,
        f"Bounds on energy, hops per edge, n = 2^{POWER}": bounds,
        "Small trees by default": small_trees,
        "Trees on a wafer of 750 x 994 with 1 % dead processors, energy per vertex": wafer,
        "Speed": speeds,
    }
    document: dict[str, Any] = json.loads(RESULTS.read_text()) if ONLY else {}
    document["date"] = time.strftime("%Y-%m-%d")
    for title, measure in sections.items():
        if ONLY not in title:
            continue
        rows = measure()
        document[title] = rows
        print_table(list(rows[0]), [[row.get(name) for name in rows[0]] for row in rows], file=sys.stdout, title=title)
        sys.stdout.flush()
    if not QUICK:
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
