"""The kernels of the game with prices against their plain twins."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np
import pytest
from tests.pebble.exact.test_partial import sample as partial_sample
from tests.pebble.exact.test_prices import sample
from tests.twins import Case, assert_agree

from shorthaul.core.search import Search
from shorthaul.pebble.exact import accumulation, priced_search
from shorthaul.pebble.local_search import sequences


def anneals(kernels: ModuleType, rng: np.random.Generator) -> Any:
    game, _ = sample(int(rng.integers(2**31)), 12)
    prefix = kernels.__name__[: kernels.__name__.index("shorthaul.pebble")]
    kernels = importlib.import_module(prefix + "shorthaul.pebble.local_search.sequence_kernels")
    state = importlib.import_module(prefix + "shorthaul.pebble.local_search.sequence_state_kernels")
    random = importlib.import_module(prefix + "shorthaul.core.compiled.random_kernels")
    names = {"Annealer": state.Annealer, "Board": state.Board, "Sequence": state.Sequence, "Random": random.Random}
    with mock.patch.multiple(sequences, **names):
        annealer, _ = sequences._annealer(game, sequences.in_order(game), Search(seed=int(rng.integers(99))))
    fine = kernels.set_up(annealer)
    for begin, most in ((0.0, 3000), (0.5, 5000)):
        kernels.anneal(annealer, 3.0, 0.1, 0.5, begin, begin + 0.5, most)
    kernels.restart(annealer)
    best = annealer.best
    found = np.asarray(best.nodes)[: best.size], np.asarray(best.loads)[: best.size]
    return fine, annealer.has_best, best.price, best.excess, annealer.work, *found


def searches(kernels: ModuleType, rng: np.random.Generator) -> Any:
    game, _ = sample(int(rng.integers(2**31)), 7)
    with mock.patch.object(priced_search, "kernels", kernels):
        positions = kernels.Positions(
            priced_search._rules(game), int(rng.integers(50, 500)), int(rng.choice([40, 1 << 61]))
        )
    for most in (50, 2000):
        kernels.search(positions, most)
    path = kernels.events_to(positions, positions.found) if positions.found >= 0 else []
    return path, positions.least, positions.is_done, positions.is_full, positions.work


def accumulates(kernels: ModuleType, rng: np.random.Generator) -> Any:
    game, _ = partial_sample(int(rng.integers(2**31)), 9)
    prefix = kernels.__name__[: kernels.__name__.index("shorthaul.pebble")]
    random = importlib.import_module(prefix + "shorthaul.core.compiled.random_kernels")
    with mock.patch.multiple(accumulation, kernels=kernels, Random=random.Random):
        order = rng.permutation(game.cdag.edges)
        annealer = accumulation._annealer(game, order, Search(seed=int(rng.integers(99))))
    for begin, most in ((0.0, 3000), (0.5, 5000)):
        kernels.anneal(annealer, 3.0, 0.1, begin, begin + 0.5, most)
    kernels.restart(annealer)
    moves = kernels.moves_of_best(annealer) if annealer.least < 1 << 62 else []
    return annealer.price, annealer.least, annealer.work, [int(part) for move in moves for part in move]


#: Annealing takes all of "shorthaul.pebble.local_search.sequence_state_kernels" and
#: "shorthaul.pebble.local_search.sequence_change_kernels" in one form.
CASES: list[tuple[str, Case]] = [
    ("shorthaul.pebble.local_search.sequence_kernels", anneals),
    ("shorthaul.pebble.exact.priced_search_kernels", searches),
    ("shorthaul.pebble.exact.accumulation_kernels", accumulates),
]


@pytest.mark.parametrize(("module", "case"), CASES, ids=lambda value: getattr(value, "__name__", value))
def test_kernels_agree_with_their_twins(module: str, case: Case) -> None:
    assert_agree(module, case)
