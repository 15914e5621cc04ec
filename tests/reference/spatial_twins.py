"""Slow, obvious twins of the spatial engine's fast algorithms."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Sequence

import networkx as nx
import numpy as np

from shorthaul.spatial.formats.machines import machine_from_text
from shorthaul.spatial.model import Fabric, Tree, tree_from_parents


def children_lists(parent: Sequence[int]) -> list[list[int]]:
    kids: list[list[int]] = [[] for _ in parent]
    for v, p in enumerate(parent):
        if p >= 0:
            kids[p].append(v)
    return kids


def sizes(parent: Sequence[int]) -> list[int]:
    """Subtree sizes by walking up from every vertex."""
    size = [0] * len(parent)
    for v in range(len(parent)):
        while v >= 0:
            size[v] += 1
            v = parent[v]
    return size


def preorder(parent: Sequence[int], key: Callable[[int], int]) -> list[int]:
    """The vertices in preorder, children (and roots) sorted by key, ties as stored."""
    kids = children_lists(parent)
    stack = sorted((v for v, p in enumerate(parent) if p < 0), key=key)[::-1]
    order = []
    while stack:
        v = stack.pop()
        order.append(v)
        stack.extend(sorted(kids[v], key=key)[::-1])
    return order


def subtree_fold(parent: Sequence[int], values: Sequence, combine: Callable) -> list:
    """Fold of every subtree, for commutative operators."""
    result = []
    for u in range(len(parent)):
        total = values[u]
        for v in range(len(parent)):
            w = parent[v]
            while w >= 0 and w != u:
                w = parent[w]
            if w == u and v != u:
                total = combine(total, values[v])
        result.append(total)
    return result


def root_path(parent: Sequence[int], v: int) -> list[int]:
    path = [v]
    while parent[path[-1]] >= 0:
        path.append(parent[path[-1]])
    return path[::-1]


def path_fold(parent: Sequence[int], values: Sequence, combine: Callable) -> list:
    """Fold along the path from the root to every vertex, in order."""
    result = []
    for v in range(len(parent)):
        path = root_path(parent, v)
        total = values[path[0]]
        for w in path[1:]:
            total = combine(total, values[w])
        result.append(total)
    return result


def lca(parent: Sequence[int], u: int, v: int) -> int:
    above = root_path(parent, u)
    common = [w for w in above if w in set(root_path(parent, v))]
    return common[-1] if common else -1


def energy(parent: Sequence[int], x: Sequence[int], y: Sequence[int]) -> int:
    return sum(abs(x[v] - x[p]) + abs(y[v] - y[p]) for v, p in enumerate(parent) if p >= 0)


def link_loads(messages: Sequence[tuple[tuple[int, int], tuple[int, int]]]) -> dict[tuple, int]:
    """Load of every directed link, each message walked hop by hop: along the row first."""
    loads: dict[tuple, int] = {}
    for (sx, sy), (tx, ty) in messages:
        x, y = sx, sy
        while (x, y) != (tx, ty):
            nx, ny = (x + (1 if tx > x else -1), y) if x != tx else (x, y + (1 if ty > y else -1))
            loads[(x, y), (nx, ny)] = loads.get(((x, y), (nx, ny)), 0) + 1
            x, y = nx, ny
    return loads


def least_energy(tree: Tree, width: int, height: int) -> int:
    """Least energy over all placements on the grid."""
    cells = [(i % width, i // width) for i in range(width * height)]
    parent = tree.parent.tolist()
    return min(
        energy(parent, [c[0] for c in placed], [c[1] for c in placed])
        for placed in itertools.permutations(cells, tree.n)
    )


def random_tree(rng: np.random.Generator, largest: int = 40) -> Tree:
    """A random tree of one of five shapes, its vertices stored in random order."""
    n = int(rng.integers(1, largest + 1))
    shape = int(rng.integers(5))
    reach = {0: 1, 1: 3, 2: n, 3: n, 4: n}[shape]
    parent = [-1]
    for v in range(1, n):
        low = max(0, v - reach)
        parent.append(int(rng.integers(0, min(v, 2))) if shape == 3 else int(rng.integers(low, v)))
    name = rng.permutation(n)
    shuffled = np.full(n, -1)
    for v in range(1, n):
        shuffled[name[v]] = name[parent[v]]
    return tree_from_parents(shuffled)


def random_forest(rng: np.random.Generator, largest: int = 30) -> Tree:
    n = int(rng.integers(1, largest + 1))
    parent = [-1 if v == 0 or rng.random() < 0.2 else int(rng.integers(0, v)) for v in range(n)]
    return tree_from_parents(np.array(parent), forest=True)


def light_first_trees(n: int) -> Iterator[tuple[int, ...]]:
    """Every tree of n vertices numbered in light-first order, as its parents."""
    for below in light_first_forests(n - 1):
        parent = [-1]
        for tree in below:
            at = len(parent)
            parent += [p + at if p >= 0 else 0 for p in tree]
        yield tuple(parent)


def light_first_forests(n: int, least: int = 1) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Every sequence of such trees with n vertices in all, none smaller than ``least`` or than the one before it."""
    if n == 0:
        yield ()
    for size in range(least, n + 1):
        for tree in light_first_trees(size):
            for rest in light_first_forests(n - size, size):
                yield (tree, *rest)


def some_machine(rng: np.random.Generator, largest: int = 5) -> Fabric:
    """A small machine: mesh or torus, layers, dies, dead processors and links at random."""
    width, height = (int(side) for side in rng.integers(1, largest + 1, 2))
    layers = int(rng.integers(1, 3))
    places = [[x, y, z] for z in range(layers) for y in range(height) for x in range(width)]
    dead = [places[int(p)] for p in rng.permutation(len(places))[: len(places) // 5]]
    file = {
        "name": "some",
        "grid": {"width": width, "height": height, "layers": layers},
        "processor": {"memory_bytes": int(rng.integers(4, 40)), "dead": dead},
        "network": {
            "topology": str(rng.choice(["mesh", "torus"])),
            "forwards_through_dead": bool(rng.random() < 0.5),
        },
    }
    if rng.random() < 0.5:
        file["dies"] = {"width": 2, "height": 2, "crossing_hops": int(rng.integers(1, 4))}
    pairs = [
        [a, b] for a in places for b in places if a < b and sum(abs(i - j) for i, j in zip(a, b, strict=True)) == 1
    ]
    file["network"]["dead_links"] = [pairs[int(i)] for i in rng.permutation(len(pairs))[: len(pairs) // 8]]
    return machine_from_text(json.dumps(file))


def ways(fabric: Fabric) -> nx.DiGraph:
    """The processors and links of a machine as a graph, the slow way."""
    graph = nx.DiGraph()
    sides = (fabric.width, fabric.height, fabric.layers)
    steps = ((2, 1), (2, -1), (1, 1), (1, -1), (0, 1), (0, -1))
    for p in range(fabric.cells):
        graph.add_node(p)
        place = [p % sides[0], p // sides[0] % sides[1], p // (sides[0] * sides[1])]
        for way, (axis, step) in enumerate(steps):
            other = list(place)
            other[axis] = (place[axis] + step) % sides[axis]
            if fabric.links[way, p] > 0:
                q = (other[2] * sides[1] + other[1]) * sides[0] + other[0]
                graph.add_edge(p, q, hops=int(fabric.links[way, p]), way=way)
    return graph
