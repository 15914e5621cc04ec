"""Oracles for trees of millions of vertices, written with NumPy alone: nothing here comes from the package."""

from __future__ import annotations

import ast
import itertools
from pathlib import Path

import numpy as np


def energy(file: Path) -> tuple[int, int, int]:
    """Energy, longest edge and largest link load of a written layout; refuses one that shares or leaves processors."""
    with np.load(file) as layout:
        parent, width, height = layout["parent"].astype(np.int64), *layout["grid"].tolist()
        x, y = layout["x"].astype(np.int64), layout["y"].astype(np.int64)
    assert x.min() >= 0
    assert x.max() < width
    assert y.min() >= 0
    assert y.max() < height
    assert len(np.unique(y * width + x)) == len(x)
    child = np.flatnonzero(parent >= 0)
    sx, sy, tx, ty = x[parent[child]], y[parent[child]], x[child], y[child]
    hops = np.abs(sx - tx) + np.abs(sy - ty)
    load = 0
    # A message goes along its row, then along its column; eastward, westward, southward, northward runs apart.
    for begin, end, line, lines, length in ((sx, tx, sy, height, width), (sy, ty, tx, width, height)):
        for low, high in ((begin, end), (end, begin)):
            run = low < high
            marks = np.bincount(line[run] * (length + 1) + low[run], minlength=lines * (length + 1))
            marks -= np.bincount(line[run] * (length + 1) + high[run], minlength=lines * (length + 1))
            load = max(load, int(np.cumsum(marks).max(initial=0)))
    return int(hops.sum()), int(hops.max(initial=0)), load


def levels(parent: np.ndarray) -> list[np.ndarray]:
    """The vertices by depth, by sorting children under parents."""
    by_parent = np.argsort(parent, kind="stable")
    first = np.searchsorted(parent[by_parent], np.arange(-1, len(parent) + 1))
    found = [by_parent[: first[1]]]
    while len(found[-1]):
        begin, count = first[found[-1] + 1], first[found[-1] + 2] - first[found[-1] + 1]
        within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        found.append(by_parent[np.repeat(begin, count) + within])
    return found[:-1]


def subtree_sums(parent: np.ndarray, values: np.ndarray) -> np.ndarray:
    total = values.copy()
    for vertices in reversed(levels(parent)[1:]):
        np.add.at(total, parent[vertices], total[vertices])
    return total


def path_sums(parent: np.ndarray, values: np.ndarray) -> np.ndarray:
    total = values.copy()
    for vertices in levels(parent)[1:]:
        total[vertices] += total[parent[vertices]]
    return total


def lowest_common_ancestors(parent: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """By binary lifting; -1 for vertices of different trees."""
    found = levels(parent)
    depth = np.empty(len(parent), np.int64)
    for level, vertices in enumerate(found):
        depth[vertices] = level
    above = np.append(parent, -1)  # -1 stays -1
    lifts = [above]
    while 2 ** len(lifts) < len(found):
        lifts.append(lifts[-1][lifts[-1]])
    a, b = first.copy(), second.copy()
    deeper = depth[a] < depth[b]
    a[deeper], b[deeper] = b[deeper], a[deeper]
    gap = depth[a] - depth[b]
    for power, lift in enumerate(lifts):
        a = np.where(gap >> power & 1, lift[a], a)
    for lift in reversed(lifts):
        apart = lift[a] != lift[b]
        a, b = np.where(apart, lift[a], a), np.where(apart, lift[b], b)
    return np.where(a == b, a, above[a])


def taxonomy(n: int, seed: int) -> np.ndarray:
    """Parents of a tree like a taxonomy: eight ranks, families of heavy-tailed sizes, numbers in no order."""
    rng = np.random.default_rng(seed)
    sizes = [1, *np.geomspace(40, 0.55 * n, 7).astype(int).tolist()]
    sizes.append(n - sum(sizes[:-1]) - sizes[-1])
    parent, begin = [np.array([-1])], 0
    for above, size in itertools.pairwise(sizes):
        share = rng.pareto(1.1, above) + 0.1
        parent.append(begin + rng.choice(above, size, p=share / share.sum()))
        begin += above
    flat = np.concatenate(parent)
    name = rng.permutation(len(flat))
    shuffled = np.empty_like(flat)
    shuffled[name] = np.where(flat >= 0, name[flat], -1)
    return shuffled


def syntax_tree(source: str) -> np.ndarray:
    """Parents of the abstract syntax tree of a Python text, nodes in the order of a walk over levels."""
    parent, nodes = [-1], [ast.parse(source)]
    for number, node in enumerate(nodes):  # grows as it goes
        for child in ast.iter_child_nodes(node):
            nodes.append(child)
            parent.append(number)
    return np.array(parent)
