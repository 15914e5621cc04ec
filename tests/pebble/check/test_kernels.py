from __future__ import annotations

from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np
import pytest
from tests.pebble.exact.test_exact import random_cdag
from tests.twins import Case, assert_agree

from shorthaul.pebble.check.certificates import exhaustion
from shorthaul.pebble.check.certificates.part import Game
from shorthaul.pebble.check.replay_constants import BLUE, INPUT


def plays(kernels: ModuleType, rng: np.random.Generator) -> Any:
    cdag = random_cdag(rng, int(rng.integers(3, 12)), 5)
    moves = int(rng.integers(60))
    kinds, nodes = rng.integers(0, 4, moves).astype(np.uint8), rng.integers(0, cdag.n, moves)
    state = np.where(cdag.is_input(), np.uint8(INPUT | BLUE), np.uint8(0))
    occupancy, wrong = np.zeros(moves, np.int64), np.zeros(moves, np.uint8)
    graph = kernels.Graph(cdag.parents.starts, cdag.parents.targets, cdag.weights, bool(rng.integers(2)))
    kernels.play(graph, kinds, nodes, int(rng.integers(5, 30)), state, occupancy, wrong)
    return state, occupancy, wrong


def exhausts(kernels: ModuleType, rng: np.random.Generator) -> Any:
    cdag = random_cdag(rng, int(rng.integers(3, 9)), 3)
    game, limit = Game(cdag, cdag.least_budget() + int(rng.integers(3))), int(rng.integers(1, 12))
    with mock.patch.multiple(exhaustion, kernels=kernels, _FEW_BESIDE=8, _MOST_BESIDE=64):
        touchers = exhaustion.touchers_of(game, np.arange(cdag.n))
        return [str(exhaustion.has_cheaper(game, touchers, limit, from_end=from_end)) for from_end in (False, True)]


CASES: list[tuple[str, Case]] = [
    ("shorthaul.pebble.check.replay_kernels", plays),
    ("shorthaul.pebble.check.certificates.exhaustion_kernels", exhausts),
]


@pytest.mark.parametrize(("name", "case"), CASES)
def test_compiled_kernels_agree_with_their_twins(name: str, case: Case) -> None:
    assert_agree(name, case)
