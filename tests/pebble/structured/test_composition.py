from __future__ import annotations

import numpy as np
import pytest
from tests.pebble.orders.test_belady import is_topological
from tests.reference.pebble_game_kernels import least_traffic

from shorthaul import pebble
from shorthaul.core.search import Search
from shorthaul.graphs.csr import layers
from shorthaul.pebble.check.replay import replay
from shorthaul.pebble.model import Cdag, IntArray
from shorthaul.pebble.orders import belady, composition, modules
from shorthaul.pebble.orders.order_kernels import levels
from shorthaul.pebble.plan import Plan
from shorthaul.pebble.workloads import kernels_as_graphs

GRAPHS = (
    kernels_as_graphs.fft(n=16, word=1),
    kernels_as_graphs.attention(n=3, d=2, word=1),
    kernels_as_graphs.stencil(n=12, t=6, word=1),
    kernels_as_graphs.conv(h=5, w=5, c=2, f=2, k=2, word=1),
    *(kernels_as_graphs.random_cdag(n=60, degree=3, window=20, most=5, seed=seed) for seed in range(4)),
)


def order_of(cdag: Cdag) -> IntArray:
    return cdag.order[~cdag.is_input()[cdag.order]]


@pytest.mark.parametrize("cdag", GRAPHS, ids=lambda cdag: f"{cdag.n}")
def test_modules_can_be_computed_one_after_another(cdag: Cdag) -> None:
    found = list(modules.decompositions(cdag, order_of(cdag)))
    assert found
    for decomposition in found:
        assert sorted(set(decomposition.of.tolist()) - {-1}) == list(range(decomposition.count))
        assert ((decomposition.of < 0) == cdag.is_input()).all()
        graph = modules.quotient(cdag, decomposition)  # a cycle is refused when it is built
        assert graph.n == decomposition.count + 1


@pytest.mark.costly
@pytest.mark.parametrize("cdag", GRAPHS, ids=lambda cdag: f"{cdag.n}")
def test_alike_modules_are_images_of_each_other(cdag: Cdag) -> None:
    edges = {(p, v) for v in range(cdag.n) for p in cdag.parents.neighbours(v).tolist()}
    for decomposition in modules.decompositions(cdag, order_of(cdag)):
        seen: list[int] = []
        for shape in modules.alike(cdag, decomposition, Search()):
            size = shape.members.shape[1]
            sources, targets = shape.part.edge_arrays()
            inner = {(a, b) for a, b in zip(sources.tolist(), targets.tolist(), strict=True) if a < size}
            for number, members in zip(shape.modules.tolist(), shape.members, strict=True):
                assert sorted(members.tolist()) == np.flatnonzero(decomposition.of == number).tolist()
                assert cdag.weights[members].tolist() == shape.part.weights[:size].tolist()
                mine = set(members.tolist())
                assert {(int(members[a]), int(members[b])) for a, b in inner} == {
                    (a, b) for a, b in edges if a in mine and b in mine
                }
            seen += shape.modules.tolist()
        assert sorted(seen) == list(range(decomposition.count))


@pytest.mark.parametrize("cdag", GRAPHS, ids=lambda cdag: f"{cdag.n}")
def test_levels_agree_with_their_plain_twin(cdag: Cdag) -> None:
    found = levels(cdag.order, cdag.parents.starts, cdag.parents.targets)
    assert found.tolist() == layers(cdag.children, cdag.order).tolist()


def test_the_modules_of_a_butterfly_are_one_shape() -> None:
    cdag = kernels_as_graphs.fft(n=256, word=1)
    level = np.concatenate([np.full(256, stage) for stage in range(9)])
    blocks = modules.bands(cdag, level, 4, shared=True)
    assert blocks.count == 32
    assert len(modules.alike(cdag, blocks, Search())) == 1


def by_belady(part: Cdag, budget: int, _: Search) -> Plan:
    return belady.plan(part, budget)


def test_compositions_are_valid_and_never_beat_the_game() -> None:
    for seed in range(6):
        cdag = kernels_as_graphs.random_cdag(n=9, degree=3, window=9, most=3, seed=seed)
        budget = cdag.least_budget() + seed % 3
        found = composition.plan(cdag, budget, search=Search(), planner=by_belady)
        assert replay(cdag, found, budget, recompute=False).ok
        optimum = least_traffic(cdag, budget, recompute=False)
        assert optimum is not None
        assert optimum <= found.traffic(cdag.weights) <= belady.plan(cdag, budget).traffic(cdag.weights)


@pytest.mark.costly
@pytest.mark.parametrize("cdag", GRAPHS, ids=lambda cdag: f"{cdag.n}")
def test_every_order_is_topological(cdag: Cdag) -> None:
    budget = cdag.least_budget() + 3
    found = composition.plan(cdag, budget, search=Search(), planner=by_belady)
    assert is_topological(cdag, found.nodes[found.kinds == 2])
    assert replay(cdag, found, budget, recompute=False).ok


@pytest.mark.costly
@pytest.mark.parametrize(
    ("cdag", "budget", "share"),
    [
        (kernels_as_graphs.fft(n=256, word=1), 32, 0.75),
        (kernels_as_graphs.stencil(n=60, t=30, word=1), 30, 0.2),
        (kernels_as_graphs.attention(n=8, d=4, word=1), 24, 0.95),
    ],
)
def test_larger_graphs_gain(cdag: Cdag, budget: int, share: float) -> None:
    """Butterflies in blocks of levels, stencils in slanted bands: what no order of the whole finds."""
    before = belady.plan(cdag, budget).traffic(cdag.weights)
    found = composition.plan(cdag, budget, search=Search(), planner=by_belady)
    assert replay(cdag, found, budget, recompute=False).ok
    assert found.traffic(cdag.weights) <= share * before


def test_modules_are_planned_by_the_methods_that_suit_them() -> None:
    cdag = kernels_as_graphs.fft(n=16, word=1)
    result = pebble.plan(cdag, budget=6, method="composition", search=Search(effort=1))
    assert result.extra["method"] == "composition"
    assert result.check.ok
