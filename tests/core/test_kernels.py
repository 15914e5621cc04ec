from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tests.twins import Case, assert_agree

from shorthaul.core.compiled import queue_kernels


def queues(kernels: ModuleType, rng: np.random.Generator) -> Any:
    count = int(rng.integers(1, 300))
    keys, items = rng.integers(0, 9, count) / 4, rng.integers(0, 20, count)
    return kernels.sorted_pairs(keys, items, int(rng.integers(1, count + 1)))


CASES: list[tuple[str, Case]] = [("shorthaul.core.compiled.queue_kernels", queues)]


@pytest.mark.parametrize(("name", "case"), CASES)
def test_compiled_kernels_agree_with_their_twins(name: str, case: Case) -> None:
    assert_agree(name, case)


def test_a_heap_sorts_pairs() -> None:
    rng = np.random.default_rng(0)
    keys, items = rng.integers(0, 9, 200) / 4, rng.integers(0, 20, 200)
    assert queue_kernels.sorted_pairs(keys, items, 200) == sorted(zip(keys.tolist(), items.tolist(), strict=True))
