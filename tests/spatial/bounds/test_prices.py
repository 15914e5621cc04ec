"""Parts of trees around hubs: what prices of cells prove of them, and the certificate of that."""

from __future__ import annotations

import copy
import functools
import itertools
from typing import Any

import numpy as np
import pytest
from tests.samples import samples
from tests.spatial.bounds.test_hubs import document, square

from shorthaul.spatial import plan
from shorthaul.spatial.bounds.price_kernels import least_priced
from shorthaul.spatial.bounds.prices import HOP, Prices, shapes
from shorthaul.spatial.check.certificate import verify
from shorthaul.spatial.check.priced import priced_parts
from shorthaul.spatial.model import Grid, Tree


def hub_of_hubs(rng: np.random.Generator, n: int) -> Tree:
    """A vertex whose children have unlike numbers of children, some of which have more; numbered at random."""
    parent = [-1]
    for v in range(1, n):
        parent.append(0 if rng.random() < 0.1 or v < 4 else int(v * rng.random() ** 3))
    number = rng.permutation(n)
    found = np.full(n, -1)
    found[number[1:]] = number[np.array(parent[1:])]
    return Tree(found)


def test_the_least_of_all_places() -> None:
    """A vertex with a child of two leaves and a leaf, all places within two hops of each parent tried."""
    rng = np.random.default_rng(1)
    starts, kids = shapes(np.array([-1, 0, 0, 1, 1], np.int32), 0)
    around = [(x, y) for x in range(-2, 3) for y in range(-2, 3) if 0 < abs(x) + abs(y) <= 2]
    for _ in range(5):
        price = np.append(0, rng.integers(0, HOP // 2, 5)).astype(np.int64)  # up to two cells along an axis

        def paid(x: int, y: int, price: np.ndarray = price) -> int:
            a, b = max(abs(x), abs(y)), min(abs(x), abs(y))
            return int(price[a * (a + 1) // 2 + b]) if 0 < a <= 2 else 0 if a else 10**9

        best = 10**9
        for (cx, cy), (lx, ly) in itertools.permutations(around, 2):
            ways = sorted(HOP * (abs(x) + abs(y)) + paid(cx + x, cy + y) for x, y in around)
            both = HOP * (abs(cx) + abs(cy) + abs(lx) + abs(ly)) + paid(cx, cy) + paid(lx, ly)
            best = min(best, both + ways[0] + ways[1])
        assert least_priced(starts, kids, price, 2, HOP)[0] == best
    # Four leaves cannot all be beside their parent, or it is far.
    below = shapes(np.array([-1, 0, 1, 1, 1, 1], np.int32), 0)
    assert least_priced(*below, np.zeros(6, np.int64), 2, HOP)[0] == 6 * HOP


def test_both_reckonings_agree() -> None:
    rng = np.random.default_rng(2)
    for _ in range(12):
        tree = hub_of_hubs(rng, int(rng.integers(5, 40)))
        top = int(rng.integers(tree.n))
        prices = Prices(tree.parent, top)
        price = rng.integers(0, 2 * HOP, len(prices.prices)) * (rng.random(len(prices.prices)) < 0.7) / HOP
        price[0] = 0
        proven = prices.value(price)
        part = [top, [v for v in range(tree.n) if v != top], np.rint(price * HOP).astype(int).tolist()]
        spared, left = priced_parts(tree, {"parts": [part]})
        assert spared == max(0.0, proven)
        assert (left.parent < 0).all()


def test_hubs_beside_hubs_prove_more_and_no_layout_takes_less() -> None:
    rng, used = np.random.default_rng(3), 0
    for turn in samples(24):
        tree = hub_of_hubs(rng, int(rng.integers(20, 90)))
        grid = square(tree, turn % 3)
        planned = plan(tree, grid=str(grid), refine=0.02, baselines=False)
        bound = planned.bound.document()
        used += len(bound["certificate"].get("parts", []))
        assert not verify(tree, bound, grid)[0]
        assert planned.cost is not None
        assert planned.cost["energy_hops"] >= bound["value"]
    assert used > 1


@functools.cache
def example() -> tuple[Tree, Grid, dict[str, Any]]:
    tree = hub_of_hubs(np.random.default_rng(4), 110)
    grid = square(tree)
    return tree, grid, document(tree, grid)


@pytest.mark.parametrize("wrong", ["twice", "apart", "again", "below nothing", "rows", "none", "dear"])
def test_changed_parts_are_refused(wrong: str) -> None:
    tree, grid, bound = copy.deepcopy(example())
    parts = bound["certificate"]["parts"]
    top, kept, prices = parts[0]
    inner = next(v for v in kept if tree.parent[v] == top and (tree.parent[kept] == v).any())
    parts[0] = {
        "twice": [top, [*kept, kept[0]], prices],
        "apart": [top, [v for v in kept if v != inner], prices],
        "again": parts[0],
        "below nothing": [top, kept, [*prices[:-1], -1]],
        "rows": [top, kept, prices[:-1]],
        "none": [top, kept, []],
        "dear": [top, kept, [100 * one for one in prices]],
    }[wrong]
    if wrong == "again":
        parts.append(parts[0])
    violations, _ = verify(tree, bound, grid)
    assert violations
    assert ("bound.value" if wrong == "dear" else "parts") in violations[0].place
