"""The validity oracle over all kernels: no bound is beaten, no formula of a derived order is exceeded."""

from __future__ import annotations

from dataclasses import replace

import pytest
import sympy
from tests.affine.derived import flow_of

from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.options import BoundOptions
from shorthaul.affine.verbs.oracle import Findings, default_sizes, examine
from shorthaul.affine.workloads.cases import FURTHER, POLYBENCH
from shorthaul.core.search import Search


def findings(name: str, profile: str, largest: int = 3_000, *, raised: int = 0) -> Findings:
    flow = flow_of(name)
    found = lower_bound(flow.program, BoundOptions(profile=profile), flow=flow)
    found = replace(found, formula=found.formula + sympy.Integer(raised))
    return examine(flow, found, default_sizes(flow, largest=largest), Search())


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["iolb", "best"])
@pytest.mark.parametrize("name", [*POLYBENCH, *(item for item in FURTHER if item != "convolution")])
def test_no_kernel_violates_anything(name: str, profile: str) -> None:
    found = findings(name, profile)
    assert not found.violations
    assert found.comparisons


@pytest.mark.costly
@pytest.mark.parametrize("name", ["mvt", "jacobi-1d"])
def test_small_sizes(name: str) -> None:
    found = findings(name, "best", 30)
    assert not found.violations
    assert any(item.how == "derived order" for item in found.comparisons)


def test_a_bound_that_is_too_high_is_found() -> None:
    rules = {item.rule for item in findings("mvt", "best", 60, raised=40).violations}
    assert rules == {"bound-beaten", "upper-bound-wrong"}
