"""Skewed tiles within tiles: legal, near each memory's own order, and what is said of every memory holds in replay."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from tests.affine.derived import flow_of, is_legal, kernel, quick, upper_of

from shorthaul.affine.orders.memories.levels import at_levels
from shorthaul.affine.orders.memories.nested import NestedStep, nested
from shorthaul.affine.orders.upper_bound import UpperBound
from shorthaul.affine.replay.cdag import concrete_cdag
from shorthaul.affine.replay.tile_order import tiled_order
from shorthaul.graphs.replay import belady_loads

LINES, PLANES = ("jacobi-1d", "heat-1d", "seidel-1d"), ("jacobi-2d", "seidel-2d", "jacobi-2d-9pt", "heat-3d")


def in_tiles(name: str, words: list[int], sizes: dict[str, int]) -> UpperBound | None:
    """Return the order of a kernel of one phase in tiles within tiles."""
    (step,) = upper_of(name).steps
    made = nested(step.plain if not hasattr(step, "policy") else step, words, sizes)  # type: ignore[arg-type]
    return None if made is None else replace(upper_of(name), steps=(made,))


@pytest.mark.parametrize("name", quick(LINES + PLANES, ("heat-1d",)))
def test_every_memory_loads_no_more_than_said(name: str) -> None:
    draw, compared = random.Random(name), 0
    for _ in range(4):
        sizes = {item: draw.randint(*((50, 100) if name in LINES else (8, 16))) for item in kernel(name).parameters}
        words = [
            few * (1 if name in LINES else 4)
            for few in (draw.randint(61, 120), draw.randint(25, 60), draw.randint(12, 24))
        ]
        order = in_tiles(name, words, sizes)
        if order is None:
            continue
        compared += 1
        cdag = concrete_cdag(kernel(name), sizes, flow_of(name))
        said = [order.value({**sizes, "S": item}) for item in words]
        assert sorted(said) == said
        for origin in ((), *(tuple(draw.choices(range(40), k=9)) for _ in range(8))):
            found = tiled_order(order, cdag, {**sizes, "S": words[0]}, origin)
            assert is_legal(found, cdag)
            loads = [int(belady_loads(found, cdag.starts, cdag.operands, item).sum()) for item in words]
            if all(one <= most for one, most in zip(loads, said, strict=True)):
                break
        else:
            raise AssertionError(f"no origin of the grids of {name} at {sizes} loads {said} words or less: {loads}")
    assert compared


@pytest.mark.slow
def test_tiles_are_within_tiles_and_near_the_order_of_each_memory_alone() -> None:
    sizes, words = {"TSTEPS": 500, "N": 1300}, [131_072, 32_768, 4_096]
    (step,) = upper_of("jacobi-2d").steps
    found = nested(step, words, sizes)  # type: ignore[arg-type]
    assert found is not None
    for outer, inner in zip(found.tiles, found.tiles[1:], strict=False):
        assert all(inner[at] <= outer[at] for at in outer)
    for item in words:
        assert found.loads(sizes, item) <= 1.7 * step.loads(sizes, item)
    assert found.room <= words[-1]
    less = found.with_less(1_000)
    assert less is not None
    assert less.room <= words[-1] - 1_000


def test_tiles_that_do_not_fit_are_not_made() -> None:
    (step,) = upper_of("jacobi-2d").steps
    assert nested(step, [400, 3], {"TSTEPS": 20, "N": 40}) is None  # type: ignore[arg-type]
    for step in upper_of("floyd-warshall").steps:
        plain = getattr(step, "plain", step)
        assert plain.policy is None or nested(plain, [400, 40], {"N": 20}) is None


@pytest.mark.slow
def test_stencils_are_nested_where_that_loads_less() -> None:
    sizes = {"TSTEPS": 500, "N": 1_300, "S": 131_072}
    found = at_levels(upper_of("jacobi-2d"), flow_of("jacobi-2d"), sizes, (131_072, 4_096))
    assert any(isinstance(item, NestedStep) for item in found.steps)
    for words, alone in found.alone.items():
        assert found.value({**sizes, "S": words}) <= 2.4 * alone.value({**sizes, "S": words})
