"""Bounds hold: below Belady's misses on the program order at random small sizes, below exact play on tiny graphs."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from shorthaul.affine.bound import AffineBound, lower_bound
from shorthaul.affine.cases import FURTHER, POLYBENCH, kernel
from shorthaul.affine.cdag import concrete_cdag
from shorthaul.affine.options import BoundOptions
from shorthaul.graphs.replay import belady_loads, least_loads


@cache
def bound_of(name: str, profile: str = "best") -> AffineBound:
    return lower_bound(kernel(name), BoundOptions(profile=profile))


def random_sizes(names: tuple[str, ...], rng: np.random.Generator, low: int, high: int) -> dict[str, int]:
    return {name: int(rng.integers(low, high)) for name in names}


def high_of(depth: int) -> int:
    return {1: 40, 2: 24, 3: 12}.get(depth, 7)


@pytest.mark.parametrize("name", [*POLYBENCH, *FURTHER])
def test_no_schedule_in_program_order_beats_the_bound(name: str) -> None:
    bound = bound_of(name)
    program = bound.program
    depth = max(len(item.iterators) for item in program.statements)
    rng = np.random.default_rng(7)
    for _ in range(3):
        sizes = random_sizes(program.parameters, rng, 1, high_of(depth))
        cdag = concrete_cdag(program, sizes)
        if cdag.n == cdag.inputs:
            continue
        least = int(np.diff(cdag.starts).max(initial=0)) + 1
        for capacity in (least, least + 2, 3 * least):
            loads = int(belady_loads(cdag.program_order, cdag.starts, cdag.operands, capacity).sum())
            assert bound.value({**sizes, "S": capacity}) <= loads, (sizes, capacity)


@pytest.mark.parametrize("name", POLYBENCH)
def test_no_exact_play_beats_the_bound(name: str) -> None:
    bound = bound_of(name)
    program = bound.program
    for size in (3, 2):
        sizes = dict.fromkeys(program.parameters, size)
        cdag = concrete_cdag(program, sizes)
        if not cdag.n - cdag.inputs > 0 or cdag.n > 30:
            continue
        least = int(np.diff(cdag.starts).max(initial=0)) + 1
        for capacity in (least, least + 1):
            exact = least_loads(cdag.operand_lists(), capacity, most_states=30_000)
            if exact.proven:
                assert bound.value({**sizes, "S": capacity}) <= exact.loads, (sizes, capacity)
