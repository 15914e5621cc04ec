"""The compiled game that the long studies use is the plain one."""

from __future__ import annotations

import pytest
from tests.pebble.exact.test_exact import sample
from tests.reference import pebble_game, pebble_game_kernels
from tests.samples import samples

from shorthaul.pebble.model import build


@pytest.mark.parametrize("recompute", [False, True])
def test_the_compiled_game_is_the_plain_one(recompute: bool) -> None:
    for seed in samples(40):
        cdag, budget = sample(seed, 7)
        known = pebble_game.least_traffic(cdag, budget, recompute=recompute)
        assert pebble_game_kernels.least_traffic(cdag, budget, recompute=recompute) == known, seed


def test_too_little_room_has_no_schedule() -> None:
    cdag = build([1, 1, 1], [0, 1], [2, 2])
    for game in (pebble_game, pebble_game_kernels):
        assert game.least_traffic(cdag, 2, recompute=False) is None
        assert game.least_traffic(cdag, 3, recompute=True) == 3
