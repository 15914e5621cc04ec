from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tests.pebble.families import lu
from tests.twins import Case, assert_agree

from shorthaul.pebble.model import Cdag
from shorthaul.pebble.structured.forest import Forest, require_forest
from shorthaul.pebble.workloads.kernels_as_graphs import dwt, kary, random_tree


def sibling(kernels: ModuleType, name: str) -> ModuleType:
    """Return another module of this room, compiled or not as ``kernels`` is."""
    return importlib.import_module(f"{kernels.__name__.rpartition('.')[0]}.{name}")


def forest_of(rng: np.random.Generator) -> tuple[Cdag, Forest, int]:
    """Return a forest and a budget."""
    cdag = random_tree(
        n=int(rng.integers(3, 60)), k=int(rng.integers(1, 4)), most=int(rng.integers(1, 20)), seed=int(rng.integers(99))
    )
    if rng.random() < 0.2:
        cdag = dwt(n=16, d=3, word=1)
    if rng.random() < 0.2:
        cdag = kary(k=12, depth=2, word=1)
    return cdag, require_forest(cdag, "tree"), cdag.least_budget() + int(rng.integers(0, 9))


def step_functions(kernels: ModuleType, cdag: Cdag, forest: Forest, budget: int) -> Any:
    functions = kernels.StepFunctions(forest.parents.starts, forest.parents.targets, cdag.weights, forest.needs)
    while not kernels.advance(functions, forest.order, budget, 100):
        pass
    return functions


def recursions(kernels: ModuleType, rng: np.random.Generator) -> Any:
    functions = step_functions(kernels, *forest_of(rng))
    return functions.starts, functions.stops, functions.steps()


def recursion_moves(kernels: ModuleType, rng: np.random.Generator) -> Any:
    cdag, forest, budget = forest_of(rng)
    functions = step_functions(sibling(kernels, "tree_recursion_kernels"), cdag, forest, budget)
    emission = kernels.Emission(
        forest.roots, budget, cdag.parents.starts, cdag.parents.targets, forest.twins.starts, forest.twins.targets
    )
    while not kernels.emit(emission, functions, 100):
        pass
    return np.array(emission.kinds)[: emission.moves], np.array(emission.nodes)[: emission.moves]


def tree(kernels: ModuleType, cdag: Cdag, forest: Forest) -> Any:
    operands = cdag.needs() - cdag.weights
    twin_needs = np.where(forest.twins.degrees() > 0, operands + 1, 0)
    is_root = np.isin(np.arange(cdag.n), forest.roots).astype(np.uint8)
    parents = forest.parents
    return kernels.Tree(forest.order, parents.starts, parents.targets, cdag.weights, operands, twin_needs, is_root)


def cuts(kernels: ModuleType, rng: np.random.Generator) -> Any:
    cdag, forest, budget = forest_of(rng)
    limits = np.full(cdag.n, 3 * int(cdag.weights.sum()))
    given = tree(kernels, cdag, forest)
    relaxed = bool(rng.random() < 0.5)
    found = kernels.Cuts(given, limits, budget, int(rng.choice([2, 3, 20])), relaxed)
    while not kernels.advance(found, given, 60):
        pass
    starts = np.array(found.starts)
    whole = bool((np.diff(starts) > 0).all())
    cut = kernels.chosen_cuts(found, given) if whole else 0
    return starts, found.costs(), found.complete, found.work, cut


def pieces(kernels: ModuleType, rng: np.random.Generator) -> Any:
    cdag, forest, _ = forest_of(rng)
    given = tree(sibling(kernels, "tree_cuts_kernels"), cdag, forest)
    cut = np.zeros(cdag.n, np.int64)
    cut[np.setdiff1d(forest.order, forest.roots)] = 1
    cut *= rng.random(cdag.n) < 0.3
    found = kernels.Pieces(cut)
    while not kernels.advance(found, given, 10):
        pass
    moves = kernels.Moves(cdag.parents.starts, cdag.parents.targets, forest.twins.starts, forest.twins.targets)
    kernels.emit(moves, found, given)
    return found.peaks, np.array(moves.kinds)[: moves.count], np.array(moves.nodes)[: moves.count]


def numbers(kernels: ModuleType, rng: np.random.Generator) -> Any:
    size = int(rng.integers(2, 6))
    cdag = [lu(size), dwt(n=16, d=3, word=1), random_tree(n=40, k=3, most=2, seed=size)][int(rng.integers(3))]
    links = cdag.parents.starts, cdag.parents.targets, cdag.children.starts, cdag.children.targets
    nodes = np.argsort(cdag.weights, kind="stable")
    cells = kernels.Cells(*links, cdag.weights, nodes)
    while not kernels.advance(cells, 5):
        pass
    is_passed = (rng.random(cdag.n) < 0.9).view(np.uint8)
    far = kernels.distances(*links, is_passed, rng.permutation(cdag.n))
    return np.array(cells.nodes), cells.work, *far


def sorted_numbers(kernels: ModuleType, rng: np.random.Generator) -> Any:
    return numbers(sibling(kernels, "numbering_kernels"), rng)


CASES: list[tuple[str, Case]] = [
    ("shorthaul.pebble.structured.sorting_kernels", sorted_numbers),
    ("shorthaul.pebble.structured.numbering_kernels", numbers),
    ("shorthaul.pebble.structured.tree_recursion_kernels", recursions),
    ("shorthaul.pebble.structured.tree_recursion_moves_kernels", recursion_moves),
    ("shorthaul.pebble.structured.tree_cuts_kernels", cuts),
    ("shorthaul.pebble.structured.liu_kernels", pieces),
]


@pytest.mark.parametrize(("name", "case"), CASES)
def test_compiled_kernels_agree_with_their_twins(name: str, case: Case) -> None:
    assert_agree(name, case)
