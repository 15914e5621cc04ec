"""Orders of structured graphs: what ``auto`` finds without being told, beside tilings written by hand.

    python benchmarks/pebble_structured.py [--time-limit 20] [--only NAME]

For every graph and budget: the plain orders with Belady's replacement (``plain``), the best tiling of its kind, written
by hand below, its tile sizes searched and scheduled by the same replacement (``tiled``), ``auto`` (``ours``), and the
lower bound that ``auto`` reports. Every plan is replayed by the checker. Times are processor seconds of this process,
kernels compiled before. Prints a table and writes ``benchmarks/results/pebble_structured.json``.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from shorthaul.core.search import Search
from shorthaul.pebble import Cdag, build, case, plan
from shorthaul.pebble.check.replay import replay
from shorthaul.pebble.orders import belady

Order = list[int]
TARGET = Path(__file__).parent / "results" / "pebble_structured.json"


def spans(length: int, size: int) -> list[range]:
    """Return 0 .. length - 1 cut evenly into as few ranges of at most ``size`` as it takes."""
    count = -(-length // size)
    return [range(number * length // count, (number + 1) * length // count) for number in range(count)]


def matmul_tilings(*, m: int, n: int, k: int, budget: int) -> Iterator[Order]:
    """Tiles of the product are kept while the terms stream by."""
    products = m * k + k * n
    sums = products + m * n * k
    for high, wide in itertools.product(range(1, m + 1), range(1, n + 1)):
        if high * wide > budget:
            continue
        order = []
        for rows, columns in itertools.product(spans(m, high), spans(n, wide)):
            for term, i, j in itertools.product(range(k), rows, columns):
                order.append(products + term * m * n + i * n + j)
                if term:
                    order.append(sums + (term - 1) * m * n + i * n + j)
        yield order


def stencil_tilings(*, n: int, t: int, budget: int) -> Iterator[Order]:
    """Skewed bands of some time steps, every other one from right to left."""
    for height, turning in itertools.product(range(1, min(t, budget) + 1), (False, True)):
        order = []
        for number, low in enumerate(range(0, t, height)):
            steps = range(low + 1, min(t, low + height) + 1)
            for front in range(n + len(steps)):
                for step in steps:
                    cell = front - (step - low - 1)
                    if 0 <= cell < n:
                        order.append(step * n + (n - 1 - cell if turning and number % 2 else cell))
        yield order


def fft_tilings(*, n: int, budget: int) -> Iterator[Order]:
    """Blocks of 2^r points through r layers."""
    levels = n.bit_length() - 1
    for r in range(1, min(levels, budget.bit_length()) + 1):
        order = []
        for layers in spans(levels, r):
            masks = sum(1 << level for level in layers)
            groups: dict[int, list[int]] = {}
            for point in range(n):
                groups.setdefault(point & ~masks, []).append(point)
            for points in groups.values():
                for level in layers:
                    pairs = sorted(points, key=lambda point, bit=1 << level: (point & ~bit, point & bit))
                    order += [(level + 1) * n + point for point in pairs]
        yield order


def conv_tilings(*, h: int, w: int, c: int, f: int, k: int, budget: int) -> Iterator[Order]:
    """Blocks of filters, rows and columns are kept while the terms stream by."""
    rows, columns, terms = h - k + 1, w - k + 1, c * k * k
    outputs = f * rows * columns
    products = c * h * w + f * terms
    sums = products + terms * outputs
    sizes = [sorted({-(-length // parts) for parts in range(1, length + 1)}) for length in (f, rows, columns)]
    for filters, high, wide in itertools.product(*sizes):
        if not budget // 4 < filters * high * wide <= budget:
            continue
        order = []
        for block in itertools.product(spans(f, filters), spans(rows, high), spans(columns, wide)):
            for term in range(terms):
                for which, row, column in itertools.product(*block):
                    output = (which * rows + row) * columns + column
                    order.append(products + term * outputs + output)
                    if term:
                        order.append(sums + (term - 1) * outputs + output)
        yield order


def attention_tilings(*, n: int, d: int, budget: int) -> Iterator[Order]:
    """Blocks of query rows; keys stream by term or one by one, then the values by columns."""
    scores = 3 * n * d  # products of the scores, their sums, exponentials, totals, shares, products, sums
    sums = scores + n * n * d
    exponentials = sums + n * n * (d - 1)
    totals = exponentials + n * n
    shares = totals + n * (n - 1)
    products = shares + n * n
    outputs = products + n * d * n
    for high, by_key in itertools.product(range(1, min(n, budget) + 1), (False, True)):
        order = []
        for rows in spans(n, high):
            for j, term in itertools.product(range(n), range(d)) if by_key else ():
                order += [node for i in rows for node in _term(scores, sums, n * n, term, i * n + j)]
            for term, j in itertools.product(range(d), range(n)) if not by_key else ():
                order += [node for i in rows for node in _term(scores, sums, n * n, term, i * n + j)]
            for i, j in itertools.product(rows, range(n)):
                order.append(exponentials + i * n + j)
                order += [totals + (j - 1) * n + i] if j else []
            order += [shares + i * n + j for i in rows for j in range(n)]
            for column, j in itertools.product(range(d), range(n)):
                order += [node for i in rows for node in _term(products, outputs, n * d, j, i * d + column)]
        yield order


def _term(products: int, sums: int, size: int, term: int, place: int) -> list[int]:
    """Return the product of one term and, after the first, the sum it goes into."""
    product = [products + term * size + place]
    return [*product, sums + (term - 1) * size + place] if term else product


def triangular_solve(*, n: int, m: int) -> Cdag:
    """Return the solution of L X = B, L lower triangular of order n, B with m columns.

    Inputs: L by rows, then B by rows. Then by row, column and term: b - l x, and at last the division by l_ii.
    """
    lower, right = n * (n + 1) // 2, n * m
    edges = []
    node = lower + right
    solved = {}
    for i, column in itertools.product(range(n), range(m)):
        value = lower + i * m + column
        for j in range(i + 1):
            edges.append((i * (i + 1) // 2 + j, node))
            edges.append((value, node))
            if j < i:
                edges.append((solved[j, column], node))
            value = node
            node += 1
        solved[i, column] = value
    pairs = np.array(edges)
    return build(np.ones(node, np.int64), pairs[:, 0], pairs[:, 1], name=f"triangular-solve:n={n},m={m}")


def solve_tilings(*, n: int, m: int, budget: int) -> Iterator[Order]:
    """Blocks of the solution are kept: updated by the blocks above, then solved."""
    first = n * (n + 1) // 2 + n * m

    def node(i: int, column: int, j: int) -> int:
        return first + m * i * (i + 1) // 2 + column * (i + 1) + j

    for high, wide in itertools.product(range(1, n + 1), range(1, m + 1)):
        if high * wide > budget:
            continue
        order = []
        for columns, rows in itertools.product(spans(m, wide), spans(n, high)):
            for j in range(rows.stop):
                order += [node(i, column, j) for i in rows if i >= j for column in columns]
        yield order


#: Name, its parameters, budget; the graph is the built-in case of that name, or the triangular solve above.
PROBLEMS: tuple[tuple[str, dict[str, int], int], ...] = (
    ("matmul", {"m": 16, "n": 16, "k": 16}, 64),
    ("matmul", {"m": 32, "n": 32, "k": 32}, 128),
    ("stencil", {"n": 200, "t": 100}, 40),
    ("stencil", {"n": 1000, "t": 100}, 60),
    ("fft", {"n": 256}, 32),
    ("fft", {"n": 1024}, 40),
    ("attention", {"n": 16, "d": 8}, 64),
    ("attention", {"n": 32, "d": 16}, 128),
    ("conv", {"h": 16, "w": 16, "c": 4, "f": 4, "k": 3}, 64),
    ("triangular-solve", {"n": 24, "m": 24}, 64),
)
TILINGS: dict[str, Callable[..., Iterator[Order]]] = {
    "matmul": matmul_tilings,
    "stencil": stencil_tilings,
    "fft": fft_tilings,
    "conv": conv_tilings,
    "attention": attention_tilings,
    "triangular-solve": solve_tilings,
}


def graph(name: str, parameters: dict[str, int]) -> Cdag:
    """Return the CDAG of one problem, every value of weight 1."""
    if name == "triangular-solve":
        return triangular_solve(**parameters)
    given = ",".join(f"{key}={value}" for key, value in parameters.items())
    return case(f"{name}:{given},word=1").workload


def tiled(name: str, parameters: dict[str, int], budget: int) -> int:
    """Return the least traffic of the tilings by hand, at least one per size that can fit."""
    cdag = graph(name, parameters)
    best = None
    for order in TILINGS[name](budget=budget, **parameters):
        for penalty in belady.PENALTIES:
            found = belady.replay_order(cdag, budget, np.array(order), penalty=penalty).traffic(cdag.weights)
            best = found if best is None else min(best, found)
    assert best is not None
    return best


def measured(cdag: Cdag, budget: int, limit_s: float, **known: int) -> dict[str, object]:
    """Return one row of the table, with the figures ``known`` from elsewhere in it."""
    plain = belady.plan(cdag, budget).traffic(cdag.weights)
    began = time.process_time()
    result = plan(cdag, budget=budget, search=Search(time_limit=limit_s))
    cpu_s = time.process_time() - began
    assert result.plan is not None
    assert result.bound is not None
    report = replay(cdag, result.plan, budget, recompute=False)
    assert report.ok, report.violations[0]
    assert report.cost is not None
    return {
        "problem": cdag.name,
        "nodes": cdag.n,
        "budget": budget,
        "plain": plain,
        **known,
        "ours": report.cost["traffic"],
        "method": result.extra["method"],
        "bound": result.bound.value,
        "cpu_s": round(cpu_s, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--time-limit", type=float, default=20.0)
    parser.add_argument("--only", choices=sorted(TILINGS))
    given = parser.parse_args()
    plan(case("fft:n=256,word=1").workload, budget=32, search=Search(time_limit=5))  # compiles the kernels
    rows = []
    for name, parameters, budget in PROBLEMS:
        if given.only in {None, name}:
            known = tiled(name, parameters, budget)
            rows.append(measured(graph(name, parameters), budget, given.time_limit, tiled=known))
            print("  ".join(f"{key} {value}" for key, value in rows[-1].items()), flush=True)
    if given.only is None:
        TARGET.parent.mkdir(exist_ok=True)
        TARGET.write_text(json.dumps({"structured": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
