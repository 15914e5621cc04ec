"""True certificates of every kind are accepted, and one thing changed in them is found."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

import numpy as np
import pytest
from tests.pebble.bounds.test_bound_segments import products_in_a_row
from tests.pebble.bounds.test_crossing import small
from tests.pebble.bounds.test_gathers import gathered
from tests.pebble.bounds.test_grid_links import fields
from tests.pebble.bounds.test_grids import FAR, inside, least_by_sets
from tests.pebble.bounds.test_moments import iterated
from tests.pebble.bounds.test_successors import product as matrices
from tests.pebble.bounds.test_tables import table
from tests.pebble.check.test_certificate import proven
from tests.pebble.families import Graph, doubled, fused_product, grid, lu, shuffled
from tests.reference.falsified import at
from tests.samples import samples

from shorthaul.core.search import Search
from shorthaul.pebble.bounds import gathers, moments, segments, successors, wavefront
from shorthaul.pebble.bounds.best import best_bound
from shorthaul.pebble.bounds.grids import histories
from shorthaul.pebble.bounds.piece import Piece
from shorthaul.pebble.check.certificates import grid as grid_check
from shorthaul.pebble.model import Cdag, build
from shorthaul.pebble.orders import belady
from shorthaul.pebble.states.layered_search import layered
from shorthaul.pebble.workloads import kernels_as_graphs, sparse

#: Graphs with a budget, and the kind of argument that carries their bound.
FAMILIES: dict[str, tuple[Callable[[], Cdag], int, str]] = {
    "stencil in a plane": (lambda: grid(12, 11, 8), 8, "grid"),
    "stencil on a line": (lambda: kernels_as_graphs.stencil(n=40, t=24, word=1), 6, "grid"),
    "table": (lambda: table((30, 30), np.random.default_rng(1), corner=True, letters=1.0), 10, "table"),
    "fields in a plane": (lambda: fields((20, 20), 9), 10, "grid"),
    "butterfly": (lambda: kernels_as_graphs.fft(n=64, word=1), 8, "crossing"),
    "product": (lambda: kernels_as_graphs.matmul(m=8, n=8, k=8, word=1), 6, "product"),
    "fused product": (lambda: fused_product(8, 8, 8), 6, "product"),
    "product of several values": (lambda: doubled(fused_product(7, 7, 7), np.arange(30)), 9, "product"),
    "LU": (lambda: lu(14), 10, "product"),
    "products in a row": (lambda: products_in_a_row(8, 8, 2), 12, "product"),
    "powers of a matrix": (lambda: sparse.exp(n=16, percent=20, k=4, most=1, seed=2), 8, "gather"),
    "conjugate gradients": (lambda: sparse.cg(n=12, percent=30, k=3, most=1, seed=2), 14, "moment"),
    "attention": (lambda: kernels_as_graphs.attention(n=6, d=3, word=1), 3, "successor"),
    "random": (lambda: kernels_as_graphs.random_cdag(n=150, degree=3, window=60, most=1, seed=0), 5, "wavefront"),
}


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return every place of a document that holds no list and no object."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return [found for key, item in items for found in places(item, (*path, key))]
    return [path]


def changed(parts: list[Any], rng: np.random.Generator) -> list[Any]:
    """Return a copy with one thing changed: a number, two that change places, one that is left out or there twice."""
    copied: list[Any] = json.loads(json.dumps(parts))
    every = places(copied)
    path = every[int(rng.integers(len(every)))]
    holder, key = at(copied, path[:-1]), path[-1]
    was, what = holder[key], int(rng.integers(5))
    if isinstance(was, bool):
        holder[key] = not was
    elif not isinstance(was, int) or what == 0 or not isinstance(holder, list):
        holder[key] = was + int(rng.choice([-1, 1])) if isinstance(was, int) else "changed"
    elif what == 1:
        holder[key] = at(copied, every[int(rng.integers(len(every)))])
    elif what == 2:
        other = int(rng.integers(len(holder)))
        holder[key], holder[other] = holder[other], was
    elif what == 3:
        del holder[key]
    else:
        holder.insert(int(rng.integers(len(holder))), was)
    return copied


def certified(name: str) -> tuple[Cdag, int, int, list[Any]]:
    """Return a shuffled graph of a family, its budget, what is proven, and its certificate without the trivial part."""
    make, budget, kind = FAMILIES[name]
    cdag = shuffled(make(), np.random.default_rng(7))
    bound = best_bound(cdag, budget, search=Search(effort=0.6), goal=cdag.algorithmic_bound() + 1)
    first, *parts = bound.details["certificate"]["parts"]
    assert first == {"kind": "algorithmic"}
    assert {part["kind"] for part in parts} == {kind}
    return cdag, budget, int(bound.value), parts


def shown(cdag: Cdag, pieces: Iterable[Piece]) -> list[dict[str, Any]]:
    """Return the certificate of some pieces."""
    return [part for piece in pieces if piece.shown is not None for part in piece.shown(cdag)]


@pytest.mark.costly
@pytest.mark.parametrize("name", FAMILIES)
def test_the_whole_bound_is_verified_and_changes_are_found(name: str) -> None:
    cdag, budget, value, parts = certified(name)
    assert value > cdag.algorithmic_bound()
    assert proven(cdag, parts, budget) >= value
    rng = np.random.default_rng(1)
    tries = [changed(parts, rng) for _ in range(10)]
    tries = [one for one in tries if one != parts]
    claims = [proven(cdag, one, budget) for one in tries]
    assert max(claims) <= belady.plan(cdag, budget).traffic(cdag.weights)
    # The others prove the bound still: sums in another order, a price of one more.
    assert sum(claim < value for claim in claims) >= 0.6 * len(tries)


def test_no_set_of_levels_reads_and_leaves_less_than_the_checker_says() -> None:
    for sides, levels in (((2, 3), 2), ((7,), 2), ((2, 2, 2), 2), ((5,), 4)):
        for is_open, corners in product(product((False, True), repeat=2), (False, True)):
            truth = least_by_sets(sides, levels, is_open, corners)
            cells, most = int(np.prod(sides)), int(np.flatnonzero(truth < FAR).max())
            for unit, known in product((1, 3), (1, 4)):
                for steps in range(1, most // unit + 1):
                    around = grid_check.neighbourhoods(sides, min(cells, known * steps * unit), has_corners=corners)
                    least = grid_check.least_ends(around, cells, unit, steps, is_open=is_open)
                    assert least <= truth[(steps - 1) * unit + 1 :].min()


def test_iterations_inside_any_graph_are_verified() -> None:
    rng = np.random.default_rng(3)
    lifted = 0
    for _ in samples(120):
        cdag = inside((int(rng.integers(15, 60)),), int(rng.integers(6, 20)), rng)
        budget = cdag.least_budget() + int(rng.integers(0, 4))
        found = histories.excess(cdag, budget, search=Search(effort=0.3))
        value = cdag.algorithmic_bound() + found.excess
        assert proven(cdag, shown(cdag, found.pieces), budget) >= value
        lifted += found.excess > 0
    assert lifted > 3


def test_first_levels_of_inputs_and_others_prove_nothing() -> None:
    cdag = grid(6, 6, 4)
    given = cdag.given.copy()
    given[0] = False
    mixed = build(cdag.weights, *cdag.edge_arrays(), given=given)
    part = {"kind": "grid", "sides": [5, 6, 6], "corners": False, "unit": 1, "segment": 20}
    part["nodes"] = list(range(cdag.n))
    assert proven(cdag, [part], 6) > cdag.algorithmic_bound()
    assert proven(mixed, [part], 6) == -1


def test_networks_and_products_are_verified_where_values_are_computed_again() -> None:
    graphs = [
        (kernels_as_graphs.fft(n=256, word=1), 6),
        (kernels_as_graphs.pyramid(n=30, word=2), 10),
        (kernels_as_graphs.stencil(n=50, t=50, word=1), 5),
        (kernels_as_graphs.matmul(m=8, n=8, k=8, word=1), 6),
    ]
    for number, (cdag, budget) in enumerate(graphs):
        found = segments.excess(cdag, budget, recompute=True, search=Search())
        parts = shown(cdag, found.pieces)
        assert found.excess > 0
        claimed = cdag.algorithmic_bound() + found.excess
        assert claimed <= proven(cdag, parts, budget, recompute=True) <= claimed + 2, number


def game(rng: np.random.Generator) -> tuple[Cdag, int]:
    """Return a small graph of any of the kinds that arguments are made for, and a budget."""
    kind = int(rng.integers(6))
    if kind == 0:
        cdag = shuffled(gathered(rng), rng)
    elif kind == 5:
        n, k, percent = int(rng.integers(2, 4)), int(rng.integers(1, 4)), float(rng.integers(40, 101))
        cdag = shuffled(sparse.exp(n=n, percent=percent, k=k, most=int(rng.choice([1, 1, 2])), seed=0), rng)
    elif kind == 1:
        cdag = iterated(rng, int(rng.integers(3, 6)), int(rng.integers(2, 4)))
    elif kind == 2:
        sizes, most = (int(rng.integers(2, 4)), 2, 2), int(rng.choice([1, 1, 2]))
        cdag = matrices(rng, sizes, from_nothing=bool(rng.integers(2)), most=most)
    elif kind == 3:
        cdag = shuffled(grid(int(rng.integers(1, 3)), 3, int(rng.integers(2, 4))), rng)
    else:
        cdag = small(rng)
    return (cdag, cdag.least_budget() + int(rng.integers(0, 3))) if cdag.n <= (28 if kind == 2 else 20) else game(rng)


def arguments(cdag: Cdag, budget: int) -> list[list[dict[str, Any]]]:
    """Return the certificates that are found for a graph, by kinds."""
    quick = Search(effort=0.2)
    fronts = wavefront.excess(cdag, budget, search=quick)
    turned = wavefront.turning(cdag, budget, search=quick)
    pieces = [
        segments.excess(cdag, budget, recompute=False, search=quick).pieces,
        moments.excess(cdag, budget, recompute=False, search=quick).pieces(),
        gathers.excess(cdag, budget, search=quick).pieces(),
        *([piece] for piece in successors.excess(cdag, budget, search=quick).pieces),
        histories.excess(cdag, budget, search=quick).pieces,
        fronts.pieces,
        [turned.piece(cdag, np.arange(cdag.n))] if turned.excess else [],
    ]
    return [shown(cdag, found) for found in pieces if found]


def likely(cdag: Cdag, rng: np.random.Generator) -> list[dict[str, Any]]:
    """Return the part of a certificate, made up: any nodes and numbers that might pass."""
    computed = np.flatnonzero(~cdag.given)
    adds = [node for node in computed.tolist() if len(cdag.parents.neighbours(node)) > 1] or computed.tolist()
    levels = rng.choice(8, int(rng.integers(2, 5)), replace=False)
    group = rng.choice(computed, int(rng.integers(1, 4)), replace=len(computed) < 4)
    nodes = rng.permutation(cdag.n)[: int(rng.integers(2, cdag.n + 1))].tolist()
    some = rng.permutation(computed)[: int(rng.integers(max(1, len(computed) // 3), len(computed) + 1))].tolist()
    values = rng.permutation([*some, *np.flatnonzero(cdag.given).tolist()])
    read = values[: int(rng.integers(max(1, len(values) // 2), len(values) + 1))].tolist()
    return [
        {"kind": "moment", "levels": np.sort(levels).tolist()},
        {"kind": "gather", "stretch": int(rng.integers(1, 3)), "charge": float(rng.choice([0.5, 1, 4 / 3, 1.5, 2])),
         "sums": rng.permutation(adds)[: int(rng.integers(1, len(adds) + 1))].tolist()},
        {"kind": "successor", "nodes": some, "prices": rng.integers(0, 9000, len(some)).tolist(), "values": read},
        {"kind": "wavefront", "turn": str(rng.choice(["at", "first", "last"])), "times": int(rng.integers(1, 3)),
         "of": sorted(set(group.tolist())), "nodes": None if rng.random() < 0.5 else nodes},
    ]  # fmt: skip


def accepted_below_optima(seeds: range) -> Counter[str]:
    """Return how often certificates of each kind say something, those made up and those with one thing changed."""
    counted: Counter[str] = Counter()
    for seed in seeds:
        rng = np.random.default_rng(seed)
        cdag, budget = game(rng)
        least: int | None = None
        known = cdag.algorithmic_bound()
        tries = [("found", parts) for parts in arguments(cdag, budget)]
        tries += [("changed", changed(parts, rng)) for _, parts in tries for _ in range(6)]
        tries += [("made up", [part]) for _ in range(4) for part in likely(cdag, rng)]
        for how, parts in tries:
            beyond = proven(cdag, parts, budget) - known
            if beyond <= 0:
                continue
            if least is None:
                least = layered(cdag, budget, limit=10**9, search=Search()).excess
                assert least is not None
            assert beyond <= least, (seed, how, parts)
            counted[f"{parts[0]['kind']} {how}"] += 1
    return counted


def test_no_certificate_that_is_accepted_exceeds_an_optimum() -> None:
    counted = accepted_below_optima(range(10))
    assert len(counted) > 4


@pytest.mark.slow
def test_no_certificate_that_is_accepted_exceeds_an_optimum_on_thousands() -> None:
    counted = accepted_below_optima(range(1000, 3000))
    kinds = ("moment", "gather", "successor", "wavefront", "product")
    assert all(counted[f"{kind} {how}"] > 20 for kind in kinds for how in ("found", "changed"))
    # the sums of a gather and the terms of a product are not met by chance
    assert all(counted[f"{kind} made up"] > 20 for kind in ("moment", "successor", "wavefront"))


def test_sums_of_wavefronts_of_parts_are_verified() -> None:
    one = kernels_as_graphs.fft(n=16, word=1)
    sources, targets = one.edge_arrays()
    both = build([1] * (2 * one.n), np.append(sources, sources + one.n), np.append(targets, targets + one.n))
    cdag = shuffled(both, np.random.default_rng(5))
    bound = best_bound(cdag, 7, search=Search(effort=2), goal=cdag.algorithmic_bound() + 40)
    first, *parts = bound.details["certificate"]["parts"]
    assert first == {"kind": "algorithmic"}
    assert [part["kind"] for part in parts] == ["wavefront"] * 2
    assert {len(part["nodes"]) for part in parts} == {one.n}
    assert proven(cdag, parts, 7) == bound.value > cdag.algorithmic_bound()
    assert proven(cdag, parts[:1], 7) < bound.value
    half = [{**part, "share": [1, 2]} for part in parts]
    assert cdag.algorithmic_bound() < proven(cdag, half, 7) < bound.value
    assert proven(cdag, [*half, *half], 7) == bound.value
    for share in ([2, 1], [1, 0], [-1, 2], [1], "all", [0.5, 1], [True, 1]):
        assert proven(cdag, [{**parts[0], "share": share}], 7) == -1
    assert proven(cdag, [*half, parts[0]], 7) == -1


def test_inputs_that_sums_begin_with_are_no_part_of_them() -> None:
    graph = Graph()
    left, right, begun = ([[graph.node() for _ in range(6)] for _ in range(6)] for _ in range(3))
    terms, places, sums = [], [], []
    for i, j in product(range(6), repeat=2):
        total = begun[i][j]
        sums.append([total, None])
        for k in range(6):
            one = graph.node(total, left[i][k], right[k][j])
            sums[-1][1] = one
            sums.append([one, None])
            terms.append([one, left[i][k], right[k][j]])
            places.append([i, j, k])
            total = one
    cdag = graph.done()
    prices = {"stretch": 12, "begun": 1.0, "left": 0.5}
    part = {"kind": "product", **prices, "terms": terms, "coordinates": places}
    computed = [pair for pair in sums if not cdag.given[pair[0]]]
    assert proven(cdag, [{**part, "sums": computed}], 6) > cdag.algorithmic_bound()
    assert proven(cdag, [{**part, "sums": sums}], 6) == -1
