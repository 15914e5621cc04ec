"""The two searches through all layouts, and what prices of cells prove, compiled and as plain Python."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tests.spatial.bounds.test_placing import some_tree
from tests.twins import Case, assert_agree

from shorthaul.spatial.bounds import placing
from shorthaul.spatial.bounds.prices import HOP, shapes
from shorthaul.spatial.check import placing as checker
from shorthaul.spatial.model import Grid

NODES = 3_000


def planned(kernels: ModuleType, rng: np.random.Generator) -> Any:
    tree = some_tree(rng, int(rng.integers(6)), 12)
    _, *numbered = placing._rooted(tree.parent)
    return kernels.search_layout(*numbered, *placing._cells(Grid(4, 3), 8), 1, NODES, np.zeros(1, np.uint8))


def checked(kernels: ModuleType, rng: np.random.Generator) -> Any:
    tree = some_tree(rng, int(rng.integers(6)), 12)
    return kernels.flood(*checker._numbered(tree), *checker._cells(Grid(4, 3)), 1, NODES)


def priced(kernels: ModuleType, rng: np.random.Generator) -> Any:
    tree = some_tree(rng, int(rng.integers(6)), 14)
    price = np.append(0, rng.integers(0, 2 * HOP, 5)).astype(np.int64)
    return kernels.least_priced(*shapes(tree.parent, 0), price, 2, HOP)


@pytest.mark.parametrize(
    ("name", "case"),
    [
        ("shorthaul.spatial.bounds.placing_kernels", planned),
        ("shorthaul.spatial.check.placing_kernels", checked),
        ("shorthaul.spatial.bounds.price_kernels", priced),
    ],
)
def test_compiled_kernels_agree_with_their_twins(name: str, case: Case) -> None:
    assert_agree(name, case, 3)
