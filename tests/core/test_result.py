from __future__ import annotations

import json
import math

import pytest

from shorthaul.core.amounts import Bound, Cost, gap
from shorthaul.core.check import CheckReport, Violation
from shorthaul.core.errors import DefectError
from shorthaul.core.result import Result, Status

BOUND = Bound("traffic", 10, "counting", "all of it")


def test_gap() -> None:
    assert gap(0, 0) == 0
    assert gap(1, 0) is None
    assert gap(15, 10) == 0.5
    assert gap(10 - 1e-12, 10) == 0  # rounding is no defect
    assert gap(math.inf, math.inf) == 0
    with pytest.raises(DefectError, match="beats the lower bound"):
        gap(9, 10)


def test_a_plan_needs_its_check() -> None:
    with pytest.raises(DefectError, match="was not made"):
        Result("k", Status.FEASIBLE, plan=[1])
    broken = CheckReport((Violation("over-capacity", "step 3", "too much", 5, 4),))
    with pytest.raises(DefectError, match="step 3: too much"):
        Result("k", Status.FEASIBLE, check=broken, plan=[1])
    assert Result("k", Status.INVALID, check=broken, plan=[1]).document()["check"]["ok"] is False


def test_a_cost_below_its_bound_is_refused() -> None:
    with pytest.raises(DefectError):
        Result("k", Status.FEASIBLE, cost=Cost(traffic=9), bound=BOUND)


def test_the_document_is_json_and_complete() -> None:
    result = Result("k", Status.OPTIMAL, Cost(traffic=10), BOUND, CheckReport(), [1], extra={"order": [2]})
    document = json.loads(json.dumps(result.document([1])))
    assert document["gap"] == 0
    assert document["order"] == [2]
    assert document["bound"] == {"of": "traffic", "value": 10, "method": "counting", "proof": "all of it"}
    assert "traffic" in result._repr_html_()


def test_bound_met_up_to_rounding() -> None:
    assert BOUND.is_met_by(10)
    assert BOUND.is_met_by(10 * (1 + 1e-12))
    assert not BOUND.is_met_by(10.001)
