"""Changes of event sequences, priced by the events that they replace, beside the whole sequence priced again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.pebble.exact.test_prices import sample

from shorthaul.core.compiled.random_kernels import Random
from shorthaul.core.search import Search
from shorthaul.pebble.local_search import sequence_kernels, sequences
from shorthaul.pebble.local_search.sequence_state_kernels import Annealer, Sequence

PER_EVENT = ("nodes", "loads", "last_use", "held", "firsts", "slides", "following")
PER_NODE = ("head", "loaded")


def state(sequence: Any) -> list[Any]:
    """All that is known of a sequence."""
    arrays = [np.asarray(getattr(sequence, name))[: sequence.size].tolist() for name in PER_EVENT]
    return [sequence.price, sequence.excess, *arrays, *(np.asarray(getattr(sequence, name)) for name in PER_NODE)]


def agree(seeds: range, largest: int) -> int:
    """What is known after many changes is what the sequence alone tells; return how many different ones there were."""
    different = 0
    for seed in seeds:
        game, _ = sample(seed, largest)
        annealer, _ = sequences._annealer(game, sequences.in_order(game), Search(seed=seed))
        assert sequence_kernels.set_up(annealer)
        last: list[int] = []
        for turn in range(40):
            sequence_kernels.anneal(annealer, 5.0, 0.5, 0.3, turn / 40, (turn + 1) / 40, 80)
            now = annealer.now
            again = Sequence(
                np.array(now.nodes)[: now.size], np.array(now.loads)[: now.size], now.size, game.cdag.n
            )  # fmt: skip
            assert sequence_kernels.set_up(Annealer(annealer.board, Random(0), again, again)), (seed, turn)
            for ours, theirs in zip(state(now), state(again), strict=True):
                assert np.array_equal(ours, theirs), (seed, turn)
            nodes = np.asarray(now.nodes)[: now.size].tolist()
            different += nodes != last
            last = nodes
    return different


def test_changes_agree_with_the_whole_sequence() -> None:
    assert agree(range(60), 14) > 500


@pytest.mark.slow
def test_changes_agree_with_the_whole_sequence_on_many_more() -> None:
    assert agree(range(5000, 6000), 14) > 8000
    assert agree(range(6000, 6100), 40) > 1000
