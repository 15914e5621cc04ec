"""A memory of a machine as the fast memory: budget, and bytes, seconds and joules beside the traffic."""

from __future__ import annotations

from pathlib import Path

import pytest

from shorthaul.bridges.graph_files import GraphOptions, cdag_source
from shorthaul.core.errors import InputError, NoPlanError
from shorthaul.pebble import bound, check, from_pairs, plan, run, sweep

MACHINE = """
name: three levels
levels:
  - {name: DRAM, bandwidth_bytes_per_s: 100, read_pj_per_byte: 5, write_pj_per_byte: 7}
  - {name: SRAM, capacity_bytes: 63, bandwidth_bytes_per_s: 400, read_pj_per_byte: 1, write_pj_per_byte: 2}
  - {name: buffer, capacity_bytes: 30, bandwidth_bytes_per_s: 900}
"""
#: The tree of docs/pebble.md: at 15 its optimum is 21.
TREE = from_pairs([7, 7, 1, 8, 5, 4, 2], [(0, 2), (1, 2), (2, 3), (4, 5), (3, 6), (5, 6)])


def test_a_memory_is_the_budget_and_its_traffic_is_priced(machine: str) -> None:
    result = plan(TREE, machine=machine, weight_bytes=4)  # 63 bytes hold 15 units of 4
    cost, least = result.cost, result.bound
    assert cost is not None
    assert least is not None
    assert result.extra["problem"]["budget"] == 15
    assert cost["traffic"] == 21
    assert cost["traffic_bytes"] == 84
    assert cost["traffic_s"] == 0.84
    loaded, stored = 4 * cost["loads"], 4 * cost["stores"]
    assert cost["traffic_j"] == pytest.approx((loaded * (5 + 2) + stored * (1 + 7)) * 1e-12)
    assert (least.details["value_bytes"], least.details["value_s"]) == (84, 0.84)
    assert least.details["value_j"] == pytest.approx(84 * 7e-12)  # at least: as if all were loaded
    assert result.extra["machine"]["level"] == "SRAM"
    seen = check(TREE, result.plan, machine=machine, weight_bytes=4)
    assert seen.cost is not None
    assert seen.cost["traffic_j"] == cost["traffic_j"]
    narrow = check(TREE, result.plan, machine=machine, weight_bytes=5)
    assert narrow.check is not None
    assert narrow.check.violations[0].rule == "over-budget"


def test_a_plan_that_a_search_leaves_when_it_ends_early_is_priced(
    machine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ends(*_: object) -> None:
        raise NoPlanError("no plan found before the search ended")

    monkeypatch.setattr("shorthaul.pebble.verbs.planning.priced", ends)
    made = plan(TREE, machine=machine, weight_bytes=4, effort=0.1)
    assert made.cost is not None
    assert made.cost["traffic_s"] == 4 * made.cost["traffic"] / 100


def test_inner_memories_lie_over_the_next_outer_one(machine: str) -> None:
    made = bound(TREE, machine=machine, machine_level="buffer", weight_bytes=2)
    assert made.bound is not None
    assert made.bound.value == 21
    assert made.bound.details["value_s"] == 42 / 400
    assert "value_j" not in made.bound.details  # the buffer has no energies
    assert run(TREE, machine=machine, machine_level="buffer", weight_bytes=2, effort=0.1).extra["run"]["agrees"]
    points = sweep(TREE, machine=machine, weight_bytes=2, budgets="15,40", effort=0.1).extra["points"]
    assert [point["traffic_bytes"] for point in points] == [2 * point["traffic"] for point in points]


def test_c_files_weigh_in_bytes(machine: str, tmp_path: Path) -> None:
    source = tmp_path / "sum.c"
    source.write_text(
        "void f(int N, float *x, float *y) {\n#pragma scop\nfor (int i = 0; i < N; i++) y[i] = x[i] + 1;\n"
        "#pragma endscop\n}\n"
    )
    made = plan(cdag_source(str(source), GraphOptions(size="N=5")), machine=machine, effort=0.1)
    assert made.cost is not None
    assert made.cost["traffic_bytes"] == made.cost["traffic"] == 40


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({}, "weight_bytes"),
        ({"weight_bytes": 2, "budget": 15}, "budget"),
        ({"weight_bytes": 2, "machine_level": "DRAM"}, "machine_level"),
        ({"weight_bytes": 64}, "weight_bytes"),
        ({"weight_bytes": 2, "machine": None}, "weight_bytes"),
        ({"weight_bytes": 2, "machine": "wafer-750x994"}, "machine"),
    ],
)
def test_what_does_not_fit_together(machine: str, given: dict[str, object], place: str) -> None:
    with pytest.raises(InputError, match=place):
        plan(TREE, **{"machine": machine, **given})
