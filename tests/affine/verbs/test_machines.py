"""A memory of a machine as S, and seconds and joules beside the loads."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shorthaul.affine import bound, cdag, check, code, plan, sweep
from shorthaul.core.errors import InputError, NoPlanError

MACHINE = """
name: two levels
levels:
  - {name: DRAM, bandwidth_bytes_per_s: 100, read_pj_per_byte: 5}
  - {name: SRAM, capacity_bytes: 71, bandwidth_bytes_per_s: 400, read_pj_per_byte: 1}
"""
#: Elements of 4 and 8 bytes.
MIXED = """void f(int N, float x[N], double y[N]) {
#pragma scop
  for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) y[i] += x[j];
#pragma endscop
}
"""


def test_a_memory_is_s_and_its_loads_are_priced(machine: str) -> None:
    made = plan("matvec", size="M=4,N=4", machine=machine, effort=0.02)  # 71 bytes hold 8 doubles
    same = plan("matvec", size="M=4,N=4,S=8", effort=0.02)
    assert made.cost is not None
    assert same.cost is not None
    assert made.extra["sizes"]["S"] == 8
    assert made.cost["loads_words"] == same.cost["loads_words"]
    assert made.cost["loads_s"] == made.cost["loads_bytes"] / 100
    assert made.cost["loads_j"] == pytest.approx(made.cost["loads_bytes"] * 6e-12)
    seen = check("matvec", made.plan, machine=machine, effort=0.02)
    assert seen.cost == made.cost
    assert made.bound is not None
    assert made.bound.details["value_s"] == made.bound.value * 8 / 100
    written = code("matvec", size="M=4,N=4", machine=machine, effort=0.02)
    assert written.extra["sizes"]["S"] == 8
    points = sweep("matvec", size="M=4,N=4", machine=machine, least=4, most=4, effort=0.02).extra["points"]
    assert points[0]["bound_s"] == points[0]["bound_bytes"] / 100


def test_an_order_that_a_search_leaves_when_it_ends_early_is_priced(
    machine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ends(*_: object) -> None:
        raise NoPlanError("no plan found before the search ended")

    monkeypatch.setattr("shorthaul.affine.verbs.planning.priced", ends)
    made = plan("matvec", size="M=4,N=4", machine=machine, effort=0.1)
    assert made.cost is not None
    assert made.cost["loads_s"] == made.cost["loads_bytes"] / 100


def test_an_order_too_long_to_be_listed_is_priced(machine: str) -> None:
    made = plan(MIXED, size="N=100000", machine=machine, effort=0.4)
    assert made.cost is not None
    assert 8 * made.cost["loads_words"] >= made.cost["loads_bytes"] > 0
    assert made.cost["loads_s"] == made.cost["loads_bytes"] / 100


def test_elements_of_several_widths(machine: str) -> None:
    found, made = bound(MIXED, size="N=4", machine=machine), plan(MIXED, size="N=4", machine=machine)
    assert found.extra["sizes"]["S"] == 17  # no memory of 71 bytes holds more values
    assert made.extra["sizes"]["S"] == 8  # any 8 values fit
    assert found.bound is not None
    assert "value_s" in found.bound.details
    assert made.bound is not None
    assert "value_s" not in made.bound.details  # it is one for 8 values


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({"size": "M=4,N=4,S=9"}, "leave out S"),
        ({"level": "9,20"}, "level"),
        ({"machine": None, "machine_level": "SRAM"}, "machine_level"),
        ({"machine_level": "SRAMM"}, "did you mean 'SRAM'"),
        ({"size": "M=4"}, "no size is given for N"),
    ],
)
def test_what_does_not_fit_together(machine: str, given: dict[str, str], place: str) -> None:
    with pytest.raises(InputError, match=place):
        plan("matvec", **{"size": "M=4,N=4", "machine": machine, **given})


def test_plans_and_bounds_that_no_machine_can_judge(machine: str) -> None:
    larger = plan("matvec", size="M=4,N=4,S=9")
    with pytest.raises(InputError, match="is for a larger memory"):
        check("matvec", larger.plan, machine=machine)
    with pytest.raises(InputError, match="does not apply"):
        check("matvec", machine=machine)


@pytest.mark.parametrize("verb", [sweep, cdag])
def test_one_fast_memory_where_none_is_asked_for(verb: Callable[..., object]) -> None:
    with pytest.raises(InputError, match="leave S out of size"):
        verb("matvec", size="M=4,N=4,S=9")
