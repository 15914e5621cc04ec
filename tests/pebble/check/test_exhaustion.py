from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.pebble.exact.test_exact import random_cdag
from tests.reference.pebble_game_kernels import least_traffic
from tests.samples import samples

import shorthaul
from shorthaul.core.search import Search
from shorthaul.pebble.bounds import parts
from shorthaul.pebble.check.certificates import exhaustion
from shorthaul.pebble.check.certificates.part import Game, UnverifiedError, WrongError


def is_accepted(game: Game, nodes: list[int] | None, moved: int) -> bool:
    try:
        return exhaustion.proven(game, {"nodes": nodes, "moved": moved}).moved == moved
    except WrongError:
        return False


def test_the_optimum_is_accepted_and_more_is_refused() -> None:
    for seed in samples(160):
        rng = np.random.default_rng(seed)
        cdag = random_cdag(rng, int(rng.integers(3, 9)), int(rng.choice([1, 2, 5])))
        budget = cdag.least_budget() + int(rng.integers(3))
        moved = int(least_traffic(cdag, budget, recompute=False)) - cdag.algorithmic_bound()
        game = Game(cdag, budget)
        everything = exhaustion.touchers_of(game, np.arange(cdag.n))
        assert is_accepted(game, None, moved), seed
        assert not is_accepted(game, None, moved + 1), seed
        assert exhaustion.has_cheaper(game, everything, moved, from_end=True) is False
        assert exhaustion.has_cheaper(game, everything, moved + 1, from_end=True) is True


def test_parts_move_what_the_search_of_bounds_says() -> None:
    moving = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        cdag = random_cdag(rng, 14, int(rng.choice([1, 3])))
        nodes = sorted(rng.choice(cdag.n, 10, replace=False).tolist())
        found = parts.restriction(cdag, nodes)
        budget = cdag.least_budget()
        moved = None if found is None else parts.excess(found[0], budget, search=Search())
        if moved:
            moving += 1
            assert is_accepted(Game(cdag, budget), nodes, moved), seed
            assert not is_accepted(Game(cdag, budget), nodes, moved + 1), seed
    assert moving > 5


def test_what_is_touched_once_takes_no_bit() -> None:
    cdag = shorthaul.pebble.case("spmv:n=12,percent=20,most=1,seed=5").workload
    assert cdag.n == 76
    assert is_accepted(Game(cdag, cdag.least_budget() + 1), None, 1)


def test_what_takes_long_is_not_verified() -> None:
    game = Game(shorthaul.pebble.case("fft:n=32,word=1").workload, 6)
    with pytest.raises(UnverifiedError, match="64 computations"):
        exhaustion.proven(game, {"nodes": None, "moved": 5})
    with pytest.raises(WrongError, match="no node"):
        exhaustion.proven(game, {"nodes": [1000], "moved": 5})


def test_an_exhausted_search_is_searched_again(tmp_path: Path) -> None:
    file = tmp_path / "bound.json"
    result = shorthaul.pebble.bound("fft:n=8,word=1", budget=5, effort=5)
    assert result.bound is not None
    for more in (0, 1):
        document = json.loads(json.dumps(result.document()))
        document["bound"]["value"] += more
        document["bound"]["certificate"]["parts"][1]["moved"] += more
        file.write_text(json.dumps(document))
        found = shorthaul.pebble.check("fft:n=8,word=1", bound=str(file)).check
        assert found is not None
        assert found.ok == (more == 0)
        assert not any("taken as it is" in remark for remark in found.remarks)
