from __future__ import annotations

import itertools

import numpy as np
from tests.pebble.orders.test_belady import is_topological, random_cdag

from shorthaul.core.compiled.random_kernels import Random
from shorthaul.core.search import Search
from shorthaul.pebble import from_pairs
from shorthaul.pebble.model import Cdag, IntArray
from shorthaul.pebble.orders import belady, bisection_kernels
from shorthaul.pebble.orders.bisection import AS_THEY_ARE, FIRST_PART, Bisector, Cuts
from shorthaul.pebble.orders.bisection import plan as bisected


def test_orders_are_topological_and_hold_what_is_computed() -> None:
    for seed in range(16):
        cdag = random_cdag(np.random.default_rng(seed), 3 + 6 * seed)
        for base, slack in itertools.product(belady.ORDERS, (0.05, 0.3)):
            order = Bisector(cdag).order(Cuts(base, slack, seed), Search())
            assert order is not None
            assert sorted(order.tolist()) == np.flatnonzero(~cdag.is_input()).tolist()
            assert is_topological(cdag, order)


def cut(cdag: Cdag, side: IntArray) -> int:
    """Return the weight of the values that both sides read or write."""
    sources, targets = cdag.edge_arrays()
    return int(cdag.weights[np.unique(sources[side[sources] != side[targets]])].sum())


def test_halves_are_acyclic_even_and_near_the_best_of_all() -> None:
    found_of_all, least_of_all = 0, 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        cdag = random_cdag(rng, 9)
        n, (sources, targets) = cdag.n, cdag.edge_arrays()
        most = n // 2 + 1
        splits = (np.array(bits) for bits in itertools.product((0, 1), repeat=n))
        least = min(
            cut(cdag, side)
            for side in splits
            if n - most <= side.sum() <= most and (side[sources] <= side[targets]).all()
        )
        back = cdag.children
        keys = np.unique(np.concatenate([sources * n + targets, np.arange(n) * (n + 1)]))
        nets, pins = keys // n, keys % n
        starts = np.searchsorted(nets, np.arange(n + 1))
        by_pin = np.argsort(pins, kind="stable")
        kernel = bisection_kernels.Halves(
            bisection_kernels.Nets(
                starts, pins, np.searchsorted(pins[by_pin], np.arange(n + 1)), nets[by_pin], cdag.weights,
                np.ones(n, np.int64),
            ),
            bisection_kernels.Arcs(cdag.parents.starts, cdag.parents.targets, back.starts, back.targets),
            np.zeros(n, np.int64), cdag.order, np.array([0, n]), 0.05, 3,
        )  # fmt: skip
        kernel.refine(FIRST_PART, 0, 10**6, Random(1))
        for turned, late in itertools.product((False, True), repeat=2):
            kernel.take(rng.integers(0, 2, n).astype(np.uint8), turned, late)
            kernel.refine(AS_THEY_ARE, 0, 10**6, Random(1))
        side = np.array(kernel.best).astype(np.int64)
        assert n - most <= side.sum() <= most
        assert (side[sources] <= side[targets]).all()
        assert cut(cdag, side) >= least
        found_of_all, least_of_all = found_of_all + cut(cdag, side), least_of_all + least
    assert found_of_all <= 1.05 * least_of_all


def strassen(size: int) -> list[tuple[int, int]]:
    """Return the edges of Strassen's product of two matrices, all the way down, numbered as the recursion goes."""
    pairs: list[tuple[int, int]] = []
    count = 2 * size * size

    def node(*parents: int) -> int:
        nonlocal count
        pairs.extend((parent, count) for parent in parents)
        count += 1
        return count - 1

    def add(one: IntArray, other: IntArray) -> IntArray:
        return np.vectorize(node)(one, other)

    def product(a: IntArray, b: IntArray) -> IntArray:
        if len(a) == 1:
            return np.array([[node(a[0, 0], b[0, 0])]])
        half = len(a) // 2
        (a11, a12), (a21, a22) = (np.hsplit(rows, [half]) for rows in np.vsplit(a, [half]))
        (b11, b12), (b21, b22) = (np.hsplit(rows, [half]) for rows in np.vsplit(b, [half]))
        m1, m2 = product(add(a11, a22), add(b11, b22)), product(add(a21, a22), b11)
        m3, m4 = product(a11, add(b12, b22)), product(a22, add(b21, b11))
        m5, m6 = product(add(a11, a12), b22), product(add(a21, a11), add(b11, b12))
        m7 = product(add(a12, a22), add(b21, b22))
        return np.block([[add(add(m1, m4), add(m5, m7)), add(m3, m5)], [add(m2, m4), add(add(m1, m2), add(m3, m6))]])

    inputs = np.arange(count).reshape(2, size, size)
    product(inputs[0], inputs[1])
    return pairs


def test_a_recursive_algorithm_moves_no_more_than_in_the_order_of_its_recursion() -> None:
    pairs = np.array(strassen(8))
    count = int(pairs.max()) + 1
    number = np.random.default_rng(1).permutation(count)
    natural, shuffled = (from_pairs([1] * count, edges.tolist()) for edges in (pairs, number[pairs]))
    for budget in (6, 12, 24):
        recursion = belady.plan(natural, budget, np.arange(count)).traffic(natural.weights)
        first = belady.plan(shuffled, budget)
        found = bisected(shuffled, budget, search=Search(effort=0.4, seed=1), incumbent=first)
        assert found.traffic(natural.weights) <= recursion
