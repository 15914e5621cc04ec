from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np
import pytest
from tests.pebble.exact.test_exact import random_cdag
from tests.pebble.states.test_symmetry import doubled
from tests.twins import Case, assert_agree

from shorthaul.core.search import Search
from shorthaul.pebble.bounds import moments, wavefront
from shorthaul.pebble.bounds.crossings import crossing, packing
from shorthaul.pebble.bounds.grids import isoperimetry
from shorthaul.pebble.model import Cdag
from shorthaul.pebble.orders import belady
from shorthaul.pebble.states import automorphisms, layered_search, pattern_databases, potentials, recomputation
from shorthaul.pebble.states.priced_parts import chains_of, problem_of
from shorthaul.pebble.workloads.kernels_as_graphs import fft, stencil
from shorthaul.pebble.workloads.sparse import cg

STATES = "shorthaul.pebble.states."
CROSSINGS = "shorthaul.pebble.bounds.crossings."
#: Which names of a module come from which module of kernels; None: the module itself.
NAMES: dict[ModuleType, dict[str, str]] = {
    automorphisms: {"kernels": STATES + "automorphism_kernels", "Group": STATES + "automorphism_kernels"},
    layered_search: {
        "kernels": STATES + "layered_search_kernels",
        "Expansion": STATES + "expansion_kernels",
        "Graph": STATES + "expansion_kernels",
        "turn": STATES + "automorphism_kernels",
        **dict.fromkeys(
            ("Comparison", "States", "group_hashes", "insert_all", "release_charges", "undominated"),
            STATES + "dominance_kernels",
        ),
    },
    pattern_databases: {
        "kernels": STATES + "pattern_database_kernels",
        **dict.fromkeys(("Parts", "Patterns", "SetTable"), STATES + "pattern_database_kernels"),
    },
    potentials: {
        "kernels": STATES + "potential_kernels",
        "lattice_kernels": STATES + "lattice_kernels",
        "Potential": STATES + "potential_kernels",
        **dict.fromkeys(("SetTable", "enter_all"), STATES + "pattern_database_kernels"),
    },
    recomputation: {"kernels": STATES + "recomputation_kernels"},
    wavefront: {"kernels": "shorthaul.pebble.bounds.wavefront_kernels"},
    moments: {"kernels": "shorthaul.pebble.bounds.moment_kernels"},
    crossing: {"part_kernels": CROSSINGS + "part_kernels", "path_kernels": CROSSINGS + "path_kernels"},
    packing: {"flow_kernels": CROSSINGS + "flow_kernels", "share_kernels": CROSSINGS + "share_kernels"},
    isoperimetry: {"kernels": "shorthaul.pebble.bounds.grids.segment_kernels"},
}


@contextmanager
def form_of(kernels: ModuleType) -> Iterator[None]:
    """Have the searches use kernels of the form, compiled or plain, that ``kernels`` has."""
    prefix = kernels.__name__[: kernels.__name__.index("shorthaul.")]
    with ExitStack() as stack:
        for module, names in NAMES.items():
            for name, source in names.items():
                found = importlib.import_module(prefix + source)
                value = found if name.endswith("kernels") else getattr(found, name)
                stack.enter_context(mock.patch.object(module, name, value))
        group = automorphisms.Group(np.zeros((0, 0), np.int64), np.zeros((0, 0, 16, 1), np.uint64))
        stack.enter_context(mock.patch.object(automorphisms, "NO_GROUP", group))
        nothing = {"GROUP": group, "PATTERNS": pattern_databases._nothing(), "POTENTIAL": potentials._nothing()}
        for name, value in nothing.items():
            stack.enter_context(mock.patch.object(layered_search, f"NO_{name}", value))
        yield


def sample(rng: np.random.Generator, largest: int) -> tuple[Cdag, int]:
    cdag = random_cdag(rng, int(rng.integers(5, largest + 1)), int(rng.choice([1, 2, 5])))
    return cdag, cdag.least_budget() + int(rng.integers(0, 3))


def searched(
    cdag: Cdag, budget: int, limit: int, rng: np.random.Generator, *, from_end: bool | None = None, **options: Any
) -> list[Any]:
    """Return the excess and all layers of a search that is complete or a beam."""
    given = {"patterns": layered_search.NO_PATTERNS, "potential": layered_search.NO_POTENTIAL, **options}
    if rng.integers(3) == 1:
        given["cut"] = layered_search.Cut(int(rng.integers(3, 12)), per_set=int(rng.integers(3)), greed=0.5)
    if from_end is None:
        from_end = not options and bool(rng.integers(2))
    whole = layered_search.Layers(cdag, budget, limit, layered_search.tables(cdag, from_end=from_end), **given)
    outcome = whole.run(Search())
    kinds = [] if outcome.plan is None else [outcome.plan.kinds, outcome.plan.nodes]
    return [str(outcome.excess), *kinds, *[(layer.sets, layer.numbers) for layer in whole._layers]]


def plain_layers(kernels: ModuleType, rng: np.random.Generator) -> Any:
    cdag, budget = sample(rng, 8)
    with form_of(kernels), mock.patch.object(layered_search, "_CHUNK", int(rng.choice([4, 4096]))):  # 4: little room
        return searched(cdag, budget, int(rng.choice([12, 10**9])), rng)


def wide_layers(kernels: ModuleType, rng: np.random.Generator) -> Any:
    cdag, budget = random_cdag(rng, 55, 3), 18
    with form_of(kernels):
        return searched(cdag, budget, 10**9, np.random.default_rng(1), cut=layered_search.Cut(4))


def layers_with_tables(kernels: ModuleType, rng: np.random.Generator) -> Any:
    cdag, budget = sample(rng, 8)
    from_end, most = bool(rng.integers(2)), int(rng.choice([10, 1000]))
    with form_of(kernels):
        chosen = [np.flatnonzero(rng.random(cdag.n) < 0.7).tolist() for _ in range(3)]
        made = [
            pattern_databases.table_of(cdag, nodes, budget, most=most, search=Search(), from_end=from_end)
            for nodes in chosen
        ]
        tables = [table for table in made if table is not None]
        if not tables:
            return 0
        patterns = pattern_databases.assembled(cdag.n, tables, [60 // len(tables)] * len(tables), 60)
        costs = [(table.costs, table.steps, table.ranks) for table in tables]
        return costs, searched(cdag, budget, int(rng.integers(5, 30)), rng, from_end=from_end, patterns=patterns)


def turned_layers(kernels: ModuleType, rng: np.random.Generator) -> Any:
    cdag = doubled(random_cdag(rng, int(rng.integers(4, 7)), 2), rng)
    budget = cdag.least_budget() + int(rng.integers(0, 2))
    with form_of(kernels):
        rows = automorphisms.automorphisms(cdag, search=Search())
        return rows, searched(cdag, budget, 14, rng, automorphisms=rows)


def layers_with_prices(kernels: ModuleType, rng: np.random.Generator) -> Any:
    cdag, budget = sample(rng, 8)
    with form_of(kernels):
        prices = potentials.initial_prices(cdag, budget)
        assert prices is not None
        limit = int(rng.integers(3, 30))
        for _ in range(2):
            if prices._settle(limit, Search()):
                prices._step_up(Search())
        found = searched(cdag, budget, limit, rng, potential=prices.potential(Search()))
        return prices.excess, prices._prices, prices._mean, prices._square, found


def graphs_that_are_too_large(kernels: ModuleType, rng: np.random.Generator) -> Any:
    cdag, budget = sample(rng, 9)
    with form_of(kernels):
        problem = problem_of(cdag, budget, chains_of(cdag))
        most = int(rng.integers(2, 60))
        found = potentials.lattice_of(problem, most_sets=most, most_steps=2 * most)
        return 0 if found is None else list(found)


def computed_again(kernels: ModuleType, rng: np.random.Generator) -> Any:
    cdag, budget = sample(rng, 8)
    start = belady.plan(cdag, budget)
    with form_of(kernels):
        plan, bound, is_proven = recomputation.solve(cdag, budget, search=Search(), incumbent=start)
        return bound, is_proven, plan.kinds, plan.nodes


def fronts(kernels: ModuleType, rng: np.random.Generator) -> Any:
    cdag, budget = sample(rng, 12)
    with form_of(kernels):
        found = wavefront.excess(cdag, budget, search=Search())
        turned = wavefront.turning(cdag, budget, search=Search()).excess
        return turned, found.excess, [(piece.nodes, piece.excess) for piece in found.pieces]


def between_moments(kernels: ModuleType, rng: np.random.Generator) -> Any:
    cdag = cg(n=3, percent=70.0, k=2, most=2, seed=int(rng.integers(9)))
    budget = cdag.least_budget() + int(rng.integers(0, 3))
    with form_of(kernels):
        found = moments.excess(cdag, budget, recompute=bool(rng.integers(2)), search=Search())
        return found.excess, found.nodes


def crossings(kernels: ModuleType, rng: np.random.Generator) -> Any:
    cdag = stencil(n=9, t=6, word=1) if rng.integers(2) else fft(n=16, word=1)
    with form_of(kernels):
        found = crossing.excess(cdag, cdag.least_budget() + int(rng.integers(0, 5)), search=Search(effort=0.004))
        return found.excess, [(piece.nodes, share) for piece, share in found.pieces]


def shared_paths(kernels: ModuleType, rng: np.random.Generator) -> Any:
    cdag = stencil(n=7, t=5, word=1)
    with form_of(kernels):
        found = packing.shared(cdag, cdag.least_budget() + int(rng.integers(0, 2)), [], search=Search(effort=0.005))
        assert found
        return [(part.nodes, part.then, part.moved, part.around, share) for part, share in found]


def grids(kernels: ModuleType, rng: np.random.Generator) -> Any:
    sides = tuple(rng.integers(2, 6, int(rng.integers(1, 4))).tolist())
    unit, most = int(rng.integers(1, 4)), int(rng.integers(1, 12))
    with form_of(kernels):
        search = Search(effort=float(rng.choice([1e-7, 1.0])))
        box = isoperimetry.box(sides, 2 * unit * most, search=search, has_corners=bool(rng.integers(2)))
        if box is None:
            return None
        is_open = bool(rng.integers(2)), bool(rng.integers(2))
        return box.grown, box.inner, isoperimetry.least_ends(box, unit, most, is_open=is_open)


#: Cases of the same name would be the same twice: all kernels are of one form.
CASES: list[tuple[str, Case, int]] = [
    ("shorthaul.pebble.states.layered_search_kernels", plain_layers, 7),  # "shorthaul.pebble.states.expansion_kernels"
    ("shorthaul.pebble.states.dominance_kernels", wide_layers, 1),
    ("shorthaul.pebble.states.pattern_database_kernels", layers_with_tables, 6),
    ("shorthaul.pebble.states.automorphism_kernels", turned_layers, 4),
    ("shorthaul.pebble.states.potential_kernels", layers_with_prices, 4),
    ("shorthaul.pebble.states.lattice_kernels", graphs_that_are_too_large, 10),
    ("shorthaul.pebble.states.recomputation_kernels", computed_again, 4),
    ("shorthaul.pebble.bounds.wavefront_kernels", fronts, 5),
    ("shorthaul.pebble.bounds.moment_kernels", between_moments, 2),
    (
        "shorthaul.pebble.bounds.crossings.part_kernels",
        crossings,
        1,
    ),  # "shorthaul.pebble.bounds.crossings.path_kernels", "shorthaul.pebble.bounds.crossings.laid_kernels"
    (
        "shorthaul.pebble.bounds.crossings.flow_kernels",
        shared_paths,
        1,
    ),  # "shorthaul.pebble.bounds.crossings.share_kernels"
    ("shorthaul.pebble.bounds.grids.segment_kernels", grids, 10),
]


@pytest.mark.parametrize(("name", "case", "rounds"), CASES)
def test_compiled_kernels_agree_with_their_twins(name: str, case: Case, rounds: int) -> None:
    assert_agree(name, case, rounds)
