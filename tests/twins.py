"""Compares compiled kernels with their plain twins (see docs/kernels.md)."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from shorthaul.core.compiled.twins import plain
from tests.samples import SHARE

#: Makes its own inputs from the generator, calls kernels of the module, and returns all that they return and write.
Case = Callable[[ModuleType, np.random.Generator], Any]


def assert_agree(name: str, case: Case, rounds: int = 10) -> None:
    """Run a case with the compiled module and with its twin, on the same random inputs.

    Six of ten by default, twice as many as ``rounds`` where all are tried.
    """
    compiled, twin = importlib.import_module(name), plain(name)
    for seed in range(2 * rounds if SHARE == 1 else -(-6 * rounds // 10)):
        fast, slow = (case(module, np.random.default_rng(seed)) for module in (compiled, twin))
        assert_same(fast, slow, f"{name}, {case.__name__}, seed {seed}")


def assert_same(fast: Any, slow: Any, place: str) -> None:
    """Exact equality, floats included, of numbers, arrays, views, and tuples and lists of them."""
    if isinstance(fast, (tuple, list)):
        assert len(fast) == len(slow), place
        for one, other in zip(fast, slow, strict=True):
            assert_same(one, other, place)
    else:
        np.testing.assert_array_equal(np.asarray(fast), np.asarray(slow), err_msg=place)
