"""Energy beside the bound of trees that programs and biology make, by default, numbered at random.

``python benchmarks/spatial_families.py [N ...]`` prints tables and writes ``benchmarks/results/spatial_families.json``
(nothing if sizes are given; else 255, 1,023, 16,383 and 262,143 vertices or a few more). Seeds are fixed.
"""

from __future__ import annotations

import bisect
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import shorthaul.spatial as engine
from shorthaul.report.text import print_table

RESULTS = Path(__file__).parent / "results" / "spatial_families.json"
SIZES = (255, 1_023, 16_383, 262_143)
Parents = list[int]
Generator = np.random.Generator


def search_tree(n: int, rng: Generator) -> Parents:
    """Random insertions: the parent is the later one of the two keys next to a new one."""
    parent, known, since = [-1] * n, list[int](), [0] * n
    for turn, key in enumerate(rng.permutation(n).tolist()):
        at = bisect.bisect(known, key)
        beside = known[max(at - 1, 0) : at + 1]
        parent[key] = max(beside, key=since.__getitem__, default=-1)
        known.insert(at, key)
        since[key] = turn
    return parent


def galton_watson(n: int, rng: Generator) -> Parents:
    """Geometric numbers of children, n vertices: a uniformly random ordered tree."""
    steps = np.full(2 * n - 1, -1)
    steps[rng.choice(2 * n - 1, n - 1, replace=False)] = 1
    steps = np.roll(steps, -1 - int(np.argmin(np.cumsum(steps))))[:-1]  # a walk that ends where it began
    parent, at = [-1], 0
    for step in steps.tolist():
        if step > 0:
            parent.append(at)
            at = len(parent) - 1
        else:
            at = parent[at]
    return parent


def b_tree(n: int, rng: Generator, most: int = 8) -> Parents:
    """Half of ``most`` to ``most`` children each, level by level."""
    parent = [-1]
    for v in range(n):
        parent += [v] * int(rng.integers(most // 2, most + 1))
    return parent[:n]


def suffix_tree(n: int, rng: Generator, letters: int = 4, power: float = 0) -> Parents:
    """The compact tree of all suffixes of a random text, letter k as frequent as 1 / k^power; about n vertices."""
    share = 1 / np.arange(1.0, letters + 1) ** power
    text = bytes(rng.choice(letters, int(n / 1.55), p=share / share.sum()).astype(np.uint8) + 1) + b"\0"
    begins = sorted(range(len(text)), key=lambda i: text[i : i + 200])  # far more than two suffixes share
    parent, depth, above, before = [-1], [0], [0], b""
    for begin in begins:
        suffix = text[begin : begin + 200]
        shared = next((k for k, (a, b) in enumerate(zip(before, suffix, strict=False)) if a != b), 0)
        last = -1
        while depth[above[-1]] > shared:
            last = above.pop()
        if depth[above[-1]] < shared:
            parent.append(parent[last])
            depth.append(shared)
            above.append(len(parent) - 1)
            parent[last] = above[-1]
        parent.append(above[-1])
        depth.append(len(text) - begin)
        above.append(len(parent) - 1)
        before = suffix
    return parent


def coalescent(n: int, rng: Generator) -> Parents:
    """Two of the lineages at a time meet."""
    live = list(range((n + 1) // 2))
    parent = [-1] * (2 * len(live) - 1)
    for v in range(len(live), len(parent)):
        for _ in range(2):
            at = int(rng.integers(len(live)))
            live[at], live[-1] = live[-1], live[at]
            parent[live.pop()] = v
        live.append(v)
    return parent


def phylogeny(n: int, rng: Generator) -> Parents:
    """Splits of k leaves into i and k - i, with weight 1 / (i (k - i)): the shapes of published phylogenies."""
    parent, left = [-1], [(0, (n + 1) // 2)]
    while left:
        v, k = left.pop()
        if k > 1:
            i = np.arange(1, k)
            sums = np.cumsum(1 / (i * (k - i)))
            one = 1 + int(np.searchsorted(sums, rng.random() * sums[-1]))
            for size in (min(one, k - 1), k - min(one, k - 1)):
                parent.append(v)
                left.append((len(parent) - 1, size))
    return parent


def comb(n: int, rng: Generator) -> Parents:
    """A path with small random clades at its vertices."""
    parent, spine = [-1], 0
    while len(parent) < n:
        first = len(parent)
        parent.append(spine)
        for _ in range(int(rng.geometric(0.25)) - 1):
            parent.append(int(rng.integers(first, len(parent))))
        parent.append(spine)
        spine = len(parent) - 1
    return parent[:n]


def folders(n: int, rng: Generator) -> Parents:
    """Folders below earlier ones, by their number of folders; files in them, by a power law."""
    count = max(1, n // 12)
    parent = [-1]
    for v in range(1, count):
        u = int(rng.integers(v))
        parent.append(u if rng.random() < 0.5 else max(parent[u], 0))
    files = rng.zipf(1.7, count).clip(max=n)
    held = np.repeat(np.arange(count), files)
    return parent + rng.permutation(held)[: n - count].tolist()


def hubs(n: int, rng: Generator) -> Parents:
    """A random recursive tree of hubs of unlike sizes; six in seven of the other vertices are at one of these."""
    count = max(3, n // 30)
    sizes = np.cumsum(rng.dirichlet(np.full(count, 2.0)))
    parent = [-1, *(int(rng.integers(v)) for v in range(1, count))]
    for v in range(count, n):
        is_leaf = v == count or rng.random() < 6 / 7
        parent.append(int(np.searchsorted(sizes, rng.random() * sizes[-1])) if is_leaf else int(rng.integers(count, v)))
    return parent


FAMILIES: dict[str, Callable[[int, Generator], Parents]] = {
    "search tree": search_tree,
    "Galton-Watson": galton_watson,
    "B-tree of 8": b_tree,
    "B-tree of 64": lambda n, rng: b_tree(n, rng, 64),
    "suffix tree, 4 letters": suffix_tree,
    "suffix tree, 27 letters of 1 / k": lambda n, rng: suffix_tree(n, rng, 27, 1.0),
    "coalescent": coalescent,
    "phylogeny": phylogeny,
    "comb": comb,
    "folders": folders,
    "hubs": hubs,
}


def measured(n: int) -> list[dict[str, Any]]:
    """Return a row for every family."""
    rows = []
    for name, family in FAMILIES.items():
        rng = np.random.default_rng(n)
        parent = np.array(family(n, rng))
        number = rng.permutation(len(parent))
        tree = np.empty(len(parent), np.int32)
        tree[number] = np.where(parent < 0, -1, number[parent])
        began = time.process_time()
        result = engine.plan(tree, baselines=False)
        row = {"tree": name, "vertices": len(tree), "energy": result.cost["energy_hops"], "bound": result.bound.value}
        row |= {"method": result.bound.method, "ratio": result.cost["energy_hops"] / result.bound.value}
        rows.append(row | {"CPU s": time.process_time() - began})
    return rows


def main() -> None:
    document: dict[str, Any] = {"date": time.strftime("%Y-%m-%d")}
    for n in [int(size) for size in sys.argv[1:]] or SIZES:
        document[str(n)] = rows = measured(n)
        print_table(list(rows[0]), [list(row.values()) for row in rows], file=sys.stdout, title=f"Families, n = {n}")
        sys.stdout.flush()
    if len(sys.argv) == 1:
        RESULTS.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
