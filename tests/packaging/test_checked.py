"""The kernels that check every index: ``make checked`` builds them and compares them with their twins."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.test_architecture import module_name
from tests.test_kernels import KERNELS

BUILT = Path(__file__).parents[2] / "build" / "checked" / "lib"

pytestmark = pytest.mark.skipif(os.environ.get("SHORTHAUL_CHECKED") != "1", reason="make checked runs this")


def test_the_checked_kernels_are_loaded() -> None:
    for path in KERNELS:
        assert Path(importlib.import_module(module_name(path)).__file__).is_relative_to(BUILT)


def test_a_wrong_index_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    errors: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", errors.append)  # pytest's own makes these the warnings that end the run
    kernels = importlib.import_module("shorthaul.graphs.replay_kernels")
    no_room = np.zeros(0, np.int64)
    kernels.belady(np.array([1]), np.array([0, 0, 1]), np.array([0]), 5, no_room)
    assert [type(error.exc_value) for error in errors] == [IndexError]
