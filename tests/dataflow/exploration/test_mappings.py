"""What ``schedule`` and ``bound`` take as mapping: a result, its plan or a point stand for the mapping in them."""

from __future__ import annotations

import pytest

from shorthaul.core.errors import InputError
from shorthaul.dataflow import bound, plan, schedule


def test_a_result_a_plan_and_a_point_are_mappings() -> None:
    found = plan("fig7", effort=0.2)
    assert found.plan is not None
    point = found.plan.front[1]
    periods = {
        schedule("fig7", mapping=given, point=number).cost["period"]  # type: ignore[index]
        for given, number in ((found, 1), (found.plan, 1), (point, 0))
    }
    assert len(periods) == 1
    assert bound("fig7", mapping=point).bound.value <= periods.pop()  # type: ignore[union-attr]
    with pytest.raises(InputError, match="has no such point"):
        schedule("fig7", mapping=found, point=99)
    with pytest.raises(InputError, match="mapping: is of another type"):
        schedule("fig7", mapping=5)  # type: ignore[arg-type]
