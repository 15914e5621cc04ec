"""Graphs of well-known algorithms, one value a node, for ``pebble_algorithms.py``."""

from __future__ import annotations

import math
from itertools import product

from pebble_grids import Graph, Place


def chain(graph: Graph, terms: list[tuple[int, ...]]) -> int:
    """Return a sum to which one term is added after the other, each made of some operands."""
    total = graph.node(*terms[0])
    for term in terms[1:]:
        total = graph.node(total, *term)
    return total


def sorting(n: int) -> Graph:
    """Return Batcher's bitonic sorting network: each comparison has two results."""
    graph = Graph()
    lanes, high = graph.inputs(n), 2
    while high <= n:
        step = high // 2
        while step:
            lower = [at for at in range(n) if not at & step]
            for at in lower:
                pair = lanes[at], lanes[at + step]
                lanes[at], lanes[at + step] = graph.node(*pair), graph.node(*pair)
            step //= 2
        high *= 2
    return graph


def scans(n: int, rounds: int) -> Graph:
    """Return prefix sums (Blelloch's two sweeps), the results of which are scanned again."""
    graph = Graph()
    lanes = graph.inputs(n)
    for _ in range(rounds):
        step, kept = 1, list(lanes)
        while step < n:
            for at in range(2 * step - 1, n, 2 * step):
                lanes[at] = graph.node(lanes[at - step], lanes[at])
            step *= 2
        step //= 2
        while step:
            for at in range(3 * step - 1, n, 2 * step):
                lanes[at] = graph.node(lanes[at - step], lanes[at])
            step //= 2
        lanes = [graph.node(one, other) for one, other in zip(lanes, kept, strict=True)]
    return graph


def multigrid(n: int, cycles: int) -> Graph:
    """Return V-cycles on a square of n x n cells: smoothed before and after, residuals restricted, errors added."""
    graph = Graph()

    def around(values: dict[Place, int], i: int, j: int) -> list[int]:
        near = ((i, j), (i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1))
        return [values[place] for place in near if place in values]

    def smoothed(values: dict[Place, int], right: dict[Place, int]) -> dict[Place, int]:
        return {place: graph.node(*around(values, *place), right[place]) for place in values}

    def cycle(values: dict[Place, int], right: dict[Place, int], side: int) -> dict[Place, int]:
        values = smoothed(values, right)
        if side > 2:
            rest = {place: graph.node(*around(values, *place), right[place]) for place in values}
            half = side // 2
            coarse = {
                (i, j): graph.node(*(rest[2 * i + a, 2 * j + b] for a, b in product((0, 1), repeat=2)))
                for i, j in product(range(half), repeat=2)
            }
            error = cycle(coarse, coarse, half)
            values = {(i, j): graph.node(at, error[i // 2, j // 2]) for (i, j), at in values.items()}
        return smoothed(values, right)

    places = list(product(range(n), repeat=2))
    values, right = (dict(zip(places, graph.inputs(n * n), strict=True)) for _ in range(2))
    for _ in range(cycles):
        values = cycle(values, right, n)
    return graph


def mixed_fft(radices: tuple[int, ...]) -> Graph:
    """Return a Fourier transform whose stages have different radices."""
    graph, n, stride = Graph(), math.prod(radices), 1
    lanes = graph.inputs(n)
    for radix in radices:
        after = list(lanes)
        for at in range(n):
            first = at - (at // stride % radix) * stride
            after[at] = graph.node(*(lanes[first + k * stride] for k in range(radix)))
        lanes, stride = after, stride * radix
    return graph


def householder(rows: int, columns: int) -> Graph:
    """Return a QR factorisation by reflections, one column after the other."""
    graph = Graph()
    a = {(i, j): graph.node() for i in range(rows) for j in range(columns)}
    for k in range(columns):
        norm = chain(graph, [(a[i, k],) for i in range(k, rows)])
        v = {i: graph.node(a[i, k], norm) for i in range(k, rows)}
        for j in range(k + 1, columns):
            dot = chain(graph, [(v[i], a[i, j]) for i in range(k, rows)])
            for i in range(k, rows):
                a[i, j] = graph.node(a[i, j], v[i], dot)
    return graph


def layer(graph: Graph, weights: list[list[int]], values: list[int]) -> list[int]:
    """Return a matrix times a vector."""
    return [chain(graph, list(zip(row, values, strict=True))) for row in weights]


def attention(tokens: int, width: int, heads: int, blocks: int) -> Graph:
    """Return blocks of attention with projections, softmax and a residual sum."""
    graph = Graph()
    x, part = [graph.inputs(width) for _ in range(tokens)], width // heads
    for _ in range(blocks):
        q, k, v = (
            [layer(graph, w, row) for row in x] for w in ([graph.inputs(width) for _ in range(width)] for _ in "qkv")
        )
        mixed = [list[int]() for _ in x]
        for head in range(heads):
            at = range(head * part, (head + 1) * part)
            for i in range(tokens):
                scores = [graph.node(chain(graph, [(q[i][c], k[j][c]) for c in at])) for j in range(tokens)]
                total = chain(graph, [(one,) for one in scores])
                shares = [graph.node(one, total) for one in scores]
                mixed[i] += [chain(graph, [(shares[j], v[j][c]) for j in range(tokens)]) for c in at]
        x = [[graph.node(one, other) for one, other in zip(*rows, strict=True)] for rows in zip(x, mixed, strict=True)]
    return graph


def broadcasts(n: int, rounds: int) -> Graph:
    """Return rounds of a tree that adds all values up and of all values taking the sum in."""
    graph = Graph()
    values = graph.inputs(n)
    for _ in range(rounds):
        level = values
        while len(level) > 1:
            level = [graph.node(*level[at : at + 2]) for at in range(0, len(level), 2)]
        values = [graph.node(value, level[0]) for value in values]
    return graph


def recurrent(hidden: int, steps: int) -> Graph:
    """Return an LSTM unrolled: four gates of the state before and the input, with the same weights each step."""
    graph = Graph()
    weights = [[graph.inputs(2 * hidden) for _ in range(hidden)] for _ in range(4)]
    h, c = graph.inputs(hidden), graph.inputs(hidden)
    for _ in range(steps):
        read = h + graph.inputs(hidden)
        i, f, o, g = (layer(graph, w, read) for w in weights)
        c = [graph.node(*cell) for cell in zip(c, i, f, g, strict=True)]
        h = [graph.node(*pair) for pair in zip(o, c, strict=True)]
    return graph


def triangular(n: int, sides: int) -> Graph:
    """Return solves with the factor of an n x n grid (incomplete, five points) of several right-hand sides."""
    graph = Graph()
    places = list(product(range(n), repeat=2))
    entries = {(i, j): graph.inputs(1 + (i > 0) + (j > 0)) for i, j in places}
    for _ in range(sides):
        x = dict[Place, int]()
        for i, j in places:
            value, factor = graph.node(), list(entries[i, j])
            for before in ((i - 1, j), (i, j - 1)):
                value = graph.node(value, x[before], factor.pop()) if before in x else value
            x[i, j] = graph.node(value, *factor)
    return graph


def convolutions(side: int, channels: int, layers: int) -> Graph:
    """Return a network of 3 x 3 convolutions of so many channels each, rectified."""
    graph = Graph()
    image = [{place: graph.node() for place in product(range(side), repeat=2)} for _ in range(channels)]
    for _ in range(layers):
        weights = {key: graph.node() for key in product(range(channels), range(channels), range(3), range(3))}
        after = []
        for f in range(channels):
            out = {}
            for i, j in image[0]:
                taps = [
                    (c, a, b)
                    for c, a, b in product(range(channels), range(3), range(3))
                    if (i + a - 1, j + b - 1) in image[0]
                ]
                out[i, j] = graph.node(
                    chain(graph, [(image[c][i + a - 1, j + b - 1], weights[f, c, a, b]) for c, a, b in taps])
                )
            after.append(out)
        image = after
    return graph


def training(width: int, depth: int, batch: int) -> Graph:
    """Return a step of training dense layers: forward, backward, and weights updated by their gradients."""
    graph = Graph()
    weights = [[graph.inputs(width) for _ in range(width)] for _ in range(depth)]
    values = [[graph.inputs(width) for _ in range(batch)]]
    for rows in weights:
        values.append([[graph.node(one) for one in layer(graph, rows, x)] for x in values[-1]])
    slopes = [[graph.node(one, graph.node()) for one in x] for x in values[-1]]
    for rows, before in zip(weights[::-1], values[-2::-1], strict=True):
        columns = [list(column) for column in zip(*rows, strict=True)]
        for r, c in product(range(width), repeat=2):
            terms: list[tuple[int, ...]] = [(slope[r], x[c]) for slope, x in zip(slopes, before, strict=True)]
            graph.node(rows[r][c], chain(graph, terms))
        if before is not values[0]:
            pairs = zip([layer(graph, columns, slope) for slope in slopes], before, strict=True)
            slopes = [[graph.node(*both) for both in zip(*pair, strict=True)] for pair in pairs]
    return graph
