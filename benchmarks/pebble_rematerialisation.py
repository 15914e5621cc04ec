"""Recomputation under a memory budget: what is paid beyond computing everything once, without a slow memory.

    python benchmarks/pebble_rematerialisation.py [--effort 8] [--seed 0] [--given FOLDER] [--only random|training]

The budget is 90 % and 80 % of the peak of the given order, rounded up: what is in fast memory when a node is computed,
its operands and its result included, values freed after their last use. Overhead and its lower bound are in percent of
the cost of computing every node once. Graphs are generated: layered random ones (a node reads nodes of the layer before
and now and then of earlier ones; sizes and costs at random), and networks with their backward pass (chains, residual
blocks, U shapes). Another seed gives graphs not looked at. ``--given`` takes the node-link files of a folder instead:
sizes are ``out_cost`` or ``cost_ram``, costs ``duration`` or ``cost_cpu``, the order ``graph.order`` or a topological
one. Prints a table and writes ``benchmarks/results/pebble_rematerialisation.json``.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from shorthaul.core.errors import NoPlanError
from shorthaul.graphs.csr import from_arrays, topological_order
from shorthaul.pebble import Cdag, build, check, plan, plan_of
from shorthaul.pebble.plan import Move

TARGET = Path(__file__).parent / "results" / "pebble_rematerialisation.json"
NO_SLOW_MEMORY = {"load_price": math.inf, "store_price": math.inf}
SHARES = (0.9, 0.8)


def layered(n: int, rng: np.random.Generator) -> Cdag:
    """A layered random graph in a random order that is topological."""
    width = max(2, round(0.4 * math.sqrt(n)))
    layers: list[list[int]] = [[0]]
    count, edges = 1, []
    while count < n:
        size = min(n - count, max(1, round(rng.normal(width, 0.75 * width / 2))))
        layers.append(list(range(count, count + size)))
        count += size
    for depth, layer in enumerate(layers[1:], 1):
        for node in layer:
            near = [other for other in layers[depth - 1] if rng.random() < 0.3] or [int(rng.choice(layers[depth - 1]))]
            far = [int(rng.choice(layers[rng.integers(depth)])) for _ in range(2) if rng.random() < 0.14 * 2]
            edges += [(other, node) for other in {*near, *far}]
    sources, targets = np.array(edges).T
    rank = rng.random(n)
    order = _order(n, sources, targets, rank)
    weights, compute = 10 * rng.integers(5, 500, n), rng.integers(50, 1000, n)
    return _in_order(order, sources, targets, weights, compute, f"layered {n}")


def network(kind: str, depth: int, rng: np.random.Generator) -> Cdag:
    """A network of ``depth`` layers and its backward pass: each gradient reads the next one and what its layer read."""
    reads: list[list[int]] = [[]]
    for layer in range(1, depth):
        skips = {"chain": [], "residual": [layer - 3] if layer % 3 == 0 else [], "u": [depth - 1 - layer]}[kind]
        reads.append([layer - 1, *(other for other in skips if 0 <= other < layer - 1)])
    sizes = 2 ** rng.integers(4, 9) * np.sort(rng.integers(1, 40, depth))[::-1]
    if kind == "u":
        sizes = np.minimum(sizes[::-1], sizes) + 1
    costs = rng.integers(0, 100, depth) * np.where(rng.random(depth) < 0.3, 1, 30)
    readers: list[list[int]] = [[] for _ in range(depth)]
    for layer, operands in enumerate(reads):
        for other in operands:
            readers[other].append(layer)
    edges = [(other, layer) for layer in range(depth) for other in reads[layer]] + [(depth - 1, depth)]
    for layer in range(depth - 1, -1, -1):
        gradient = 2 * depth - 1 - layer
        operands = {2 * depth - 1 - reader for reader in readers[layer]} | set(reads[layer]) | {layer}
        edges += [(other, gradient) for other in operands if other != gradient]
    sources, targets = np.array(sorted(set(edges))).T
    weights, compute = np.concatenate([sizes, sizes[::-1]]), np.concatenate([costs, 2 * costs[::-1]])
    return _in_order(np.arange(2 * depth), sources, targets, weights, compute, f"{kind} {2 * depth}")


def _order(n: int, sources: np.ndarray, targets: np.ndarray, rank: np.ndarray) -> np.ndarray:
    """Return a topological order, the node of least rank first among those that can come."""
    missing = np.bincount(targets, minlength=n)
    ready = np.flatnonzero(missing == 0).tolist()
    order = []
    while ready:
        node = min(ready, key=lambda item: rank[item])
        ready.remove(node)
        order.append(node)
        for reader in targets[sources == node].tolist():
            missing[reader] -= 1
            if missing[reader] == 0:
                ready.append(reader)
    return np.array(order)


def _in_order(order: Any, sources: Any, targets: Any, weights: Any, compute: Any, name: str) -> Cdag:
    """Return the graph with its nodes numbered along ``order``, every value computed."""
    place = np.argsort(order)
    none = np.zeros(len(order), dtype=bool)
    return build(weights[order], place[sources], place[targets], given=none, compute=compute[order], name=name)


def read(path: Path) -> Cdag:
    """Return the graph of a node-link file."""
    document = json.loads(path.read_text())
    nodes = document["nodes"]
    number = {node.get("id", node.get("name")): at for at, node in enumerate(nodes)}
    ends = ("0", "1") if "0" in document["links"][0] else ("source", "target")
    sources, targets = (np.array([number[link[end]] for link in document["links"]]) for end in ends)
    weights, compute = (
        np.array([next(node[key] for key in keys if key in node) for node in nodes])
        for keys in (("out_cost", "cost_ram"), ("duration", "cost_cpu"))
    )
    given = document["graph"].get("order")
    order = (
        topological_order(from_arrays(len(nodes), sources, targets)) if given is None else [number[v] for v in given]
    )
    return _in_order(np.array(order), sources, targets, weights, compute, path.stem)


def generated(seed: int) -> Iterator[Cdag]:
    """Yield the graphs of a seed."""
    rng = np.random.default_rng(seed)
    for n in (100, 250, 500, 1000):
        yield layered(n, rng)
    for kind, depth in (("chain", 40), ("residual", 30), ("residual", 90), ("u", 32), ("u", 100)):
        yield network(kind, depth, rng)


def peak(cdag: Cdag) -> int:
    """Return the peak of the given order, values freed after their last use."""
    last = np.arange(cdag.n)
    sources, targets = cdag.edge_arrays()
    np.maximum.at(last, sources, targets)
    gone: list[list[int]] = [[] for _ in range(cdag.n)]
    for node, at in enumerate(last.tolist()):
        gone[at].append(node)
    moves = [
        move for node in range(cdag.n) for move in ((Move.COMPUTE, node), *((Move.DELETE, old) for old in gone[node]))
    ]
    return int(check(cdag, plan_of(moves), effort=0.01, **NO_SLOW_MEMORY).cost["peak"])


def measured(cdag: Cdag, share: float, order: str, effort: float) -> dict[str, Any]:
    """Plan within this share of the peak; return what came out."""
    budget, once = math.ceil(share * peak(cdag)), int(cdag.compute.sum())
    began = time.process_time()
    row: dict[str, Any] = {"graph": cdag.name, "nodes": cdag.n, "edges": cdag.edges, "share": share, "order": order}
    try:
        asked = {"budget": budget, "recompute": True, "order": order, **NO_SLOW_MEMORY}
        result = plan(cdag, effort=effort, workers=1, **asked)
        row["overhead"] = round(100 * (result.cost["total"] / once - 1), 4)
        row["bound"] = round(100 * (result.bound.value / once - 1), 4)
        row["status"] = str(result.status)
    except NoPlanError:
        row["status"] = "no plan"
    return {**row, "cpu_s": round(time.process_time() - began, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--effort", type=float, default=8.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--given", type=Path)
    parser.add_argument("--only", choices=("random", "training"))
    given = parser.parse_args()
    graphs = [read(path) for path in sorted(given.given.glob("*.json"))] if given.given else list(generated(given.seed))
    rows = []
    for cdag in graphs:
        if given.only is None or (given.only == "random") == ("layered" in cdag.name):
            for share in SHARES:
                for order in ("free", "given"):
                    rows.append(measured(cdag, share, order, given.effort))
                    print("  ".join(f"{key} {value}" for key, value in rows[-1].items()), flush=True)
    if given.only is None and given.given is None:
        TARGET.parent.mkdir(exist_ok=True)
        TARGET.write_text(json.dumps({"effort": given.effort, "seed": given.seed, "graphs": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
