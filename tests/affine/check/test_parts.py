"""The largest part of a partition by integer programming, against all subsets."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from tests.graphs.test_replay import arrays, random_graph

from shorthaul.affine.check.largest_part import largest_part


@pytest.mark.parametrize("seed", range(25))
def test_largest_part(seed: int) -> None:
    operands = random_graph(seed, 9)
    inside = np.array([bool(item) for item in operands])
    counted = inside & (np.arange(len(operands)) % 2 == seed % 2)
    budget = 1 + seed % 3
    found, proven, _ = largest_part(*arrays(operands), inside, counted, budget)
    computed = np.flatnonzero(inside).tolist()
    best = 0
    for size in range(len(computed) + 1):
        for part in combinations(computed, size):
            entering = {u for v in part for u in operands[v]} - set(part)
            if len(entering) <= budget:
                best = max(best, int(counted[list(part)].sum()))
    assert proven
    assert found == best
