"""One order for several memories: what is said of each holds when the order is replayed, and the C has its loops."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest
from tests.affine.c_code.test_code import SANITIZED, assert_agrees, needs_compiler, run, sizes_of
from tests.affine.derived import flow_of, kernel, quick, upper_of

import shorthaul
from shorthaul.affine.formats.plans import load_plan, save_plan
from shorthaul.affine.orders.boxes.fixed import FixedStep
from shorthaul.affine.orders.boxes.steps import BoxStep, WholeStep
from shorthaul.affine.orders.memories.levels import at_levels
from shorthaul.affine.orders.upper_bound import AnyStep
from shorthaul.affine.replay.cdag import concrete_cdag
from shorthaul.affine.replay.tile_order import tiled_order
from shorthaul.affine.workloads.cases import FURTHER, POLYBENCH, case
from shorthaul.graphs.replay import belady_loads

#: Kernels whose phases are all boxes.
QUICK = ("gemm", "convolution-1d")


@pytest.mark.parametrize("name", quick((*POLYBENCH, *FURTHER), ("convolution-1d",)))
def test_every_memory_loads_no_more_than_said(name: str) -> None:
    draw = random.Random(name)
    most = 9 if len(kernel(name).parameters) < 5 else 4
    least = 1 + max(len(item.reads) for item in kernel(name).statements)
    compared = 0
    for _ in range(3):
        sizes = {item: draw.randint(3, most) for item in kernel(name).parameters}
        words = sorted({draw.randint(least, 20), draw.randint(21, 60), draw.randint(61, 200)}, reverse=True)
        sizes["S"] = words[0]
        found = at_levels(upper_of(name), flow_of(name), sizes, words)
        cdag = concrete_cdag(kernel(name), sizes, flow_of(name))
        order = tiled_order(found.order, cdag, sizes)
        assert sorted(order.tolist()) == cdag.program_order.tolist()
        if not all(isinstance(item, BoxStep | WholeStep) for item in map(unfixed, found.steps)):
            continue
        compared += 1
        for item in words:
            loads = int(belady_loads(order, cdag.starts, cdag.operands, item).sum())
            assert loads <= found.value({**sizes, "S": item})
    assert compared >= 2 or name not in QUICK


def unfixed(step: AnyStep) -> AnyStep:
    """Return the phase itself; formulas of phases for all sizes are averages over the origins of the grid."""
    return step.step if isinstance(step, FixedStep) else step


@pytest.mark.slow
def test_boxes_within_boxes_are_near_the_best_for_each_memory() -> None:
    sizes = {"NI": 1000, "NJ": 1000, "NK": 1000, "S": 32768}
    found = at_levels(upper_of("gemm"), flow_of("gemm"), sizes, (32768, 4096))
    for words, single in found.alone.items():
        here = {**sizes, "S": words}
        assert found.value(here) <= 1.35 * single.value(here)


def test_plan_and_check_agree(tmp_path: Path) -> None:
    program = case("ik,kj->ij").workload
    made = shorthaul.affine.plan(
        program, size={"i": 8, "j": 9, "k": 7}, level=[12, 40], evaluations=4, workers=1, effort=0.2
    )
    assert made.plan is not None
    assert made.plan.levels == (12,)
    for name in ("plan.json", "plan.npz"):
        save_plan(tmp_path / name, made.plan, program)
        assert load_plan(tmp_path / name, program).levels == (12,)
    replayed = shorthaul.affine.check(program, tmp_path / "plan.json", effort=0.2)
    assert replayed.extra["levels"] == made.extra["levels"]
    assert replayed.status == made.status
    rows = made.extra["levels"]
    assert [item["S"] for item in rows] == [12, 40]
    assert all(item["bound"] <= (item["loads_words"] or 0) for item in rows)
    assert rows[1]["loads_words"] == made.cost["loads_words"]  # type: ignore[index]


@pytest.mark.slow
def test_a_search_for_several_memories_goes_on_from_its_journal(tmp_path: Path) -> None:
    asked = {"size": "NI=9,NJ=9,NK=9", "level": "12,50"}
    first = shorthaul.affine.plan("gemm", **asked, journal=tmp_path / "j", evaluations=8)
    again = shorthaul.affine.plan("gemm", **asked, resume=tmp_path / "j", effort=0.6)
    fresh = shorthaul.affine.plan("gemm", **asked, effort=0.6)
    means = [math.prod(row["loads_words"] for row in made.extra["levels"]) for made in (first, again, fresh)]
    assert means[1] <= means[0] < means[2]


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("name", quick(("gemm", "2mm", "convolution", "lu", "jacobi-2d", "attention"), ("gemm",)))
def test_nested_loops_agree(name: str, tmp_path: Path) -> None:
    size = sizes_of(name, 11, 60).rpartition(",")[0]
    extra = shorthaul.affine.code(name, size=size, level="24,150", effort=6).extra
    assert [item["S"] for item in extra["levels"]] == [24, 150]
    assert_agrees(run(extra["code"], tmp_path, *SANITIZED))
    if extra["tiles"]:
        tiles = [f"-D{tile}={2 + at % 5}" for at, tile in enumerate(extra["tiles"])]
        assert_agrees(run(extra["code"], tmp_path, "-O1", *tiles))


@pytest.mark.slow
def test_bounds_of_all_memories() -> None:
    found = shorthaul.affine.bound("gemm", size="NI=60,NJ=60,NK=60", level="64,400", effort=2)
    for row in found.extra["levels"]:
        alone = shorthaul.affine.bound("gemm", size=f"NI=60,NJ=60,NK=60,S={row['S']}", upper=False, effort=2).bound
        assert alone is not None
        assert row["bound"] == alone.value
