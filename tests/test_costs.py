"""No test of the default run takes far more than the others: it is told."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests import costs


def ran(seconds: float, **markers: tuple[float, ...]) -> None:
    """Run a test that takes so long, with some markers."""
    now = iter((1.0, 1.0 + seconds))
    found = {name: SimpleNamespace(args=args) for name, args in markers.items()}
    item: Any = SimpleNamespace(get_closest_marker=found.get)
    with pytest.MonkeyPatch.context() as patch:  # what runs this test looks at the same functions afterwards
        patch.setattr(costs, "taken", lambda: next(now))
        patch.setattr(costs, "pace", lambda: costs.PACE_S)
        patch.setattr(costs, "ALL", False)
        patch.delenv("SHORTHAUL_CHECKED", raising=False)
        running = costs.pytest_runtest_call(item)
        next(running)
        with pytest.raises(StopIteration):
            running.send(None)


def test_what_takes_too_long_fails() -> None:
    ran(4.4)
    with pytest.raises(AssertionError, match=r"took 4\.6 processor seconds"):
        ran(4.6)
    ran(4.6, slow=())
    ran(4.6, dear=(2.0,))
    with pytest.raises(AssertionError, match=r"three times as much as 2\.0"):
        ran(6.1, dear=(2.0,))


def test_a_slow_machine_has_more_time() -> None:
    assert costs.wrong_cost(8, 1.5, 2) is None
    assert costs.wrong_cost(10, 1.5, 2)
