"""Bounds of random programs of many kinds, by every profile, against plays: a hunt for one that is beaten.

The default run takes a few programs; the study (``-m slow``) some hundred, at more sizes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from tests.reference.affine_programs import random_order, random_program, thrifty_order

from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.counting import card
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.options import BoundOptions
from shorthaul.affine.replay.cdag import ConcreteCdag, concrete_cdag
from shorthaul.graphs.replay import belady_loads, least_loads

OPTIONS = (BoundOptions(profile="iolb"), BoundOptions())
#: N and M: nothing, next to nothing, uneven, and what a second of replays allows.
SIZES = ((1, 1), (1, 3), (2, 1), (2, 2), (3, 2), (3, 3), (4, 7), (7, 4), (9, 9), (16, 5), (6, 18), (16, 16), (60, 30))


def least_known(cdag: ConcreteCdag, capacity: int, rng: np.random.Generator) -> int:
    """Return the fewest loads of some orders with Belady's replacement, and of exact play on tiny graphs."""
    orders = [cdag.program_order]
    if cdag.n < 2_500:
        parts = (cdag.starts, cdag.operands, cdag.inputs)
        orders += [random_order(*parts, rng, style) for style in ("depth", "breadth", "random")]
        if cdag.n < 250:
            orders.append(thrifty_order(*parts, capacity))
    loads = min(int(belady_loads(order, cdag.starts, cdag.operands, capacity).sum()) for order in orders)
    if cdag.n <= 20:
        exact = least_loads(cdag.operand_lists(), capacity, most_states=8_000)
        loads = min(loads, exact.loads) if exact.proven else loads
    return loads


def graphs(program, flow, most: int) -> Iterator[tuple[dict[str, int], ConcreteCdag]]:
    done = []
    for n, m in SIZES:
        sizes = {name: {"N": n, "M": m}[name] for name in program.parameters}
        if sizes not in done and 0 < sum(card(item.domain).at(sizes) for item in program.statements) <= most:
            done.append(sizes)
            yield sizes, concrete_cdag(program, sizes, flow)


def compare(seed: int, most: int) -> int:
    """Compare at every size with up to ``most`` instances; return how often a bound was above the inputs."""
    text = random_program(seed)
    program = program_from_text(text)
    flow = flow_dependences(program)
    bounds = [lower_bound(program, options, flow=flow) for options in OPTIONS]
    rng = np.random.default_rng(seed)
    active = 0
    for sizes, cdag in graphs(program, flow, most):
        least = int(np.diff(cdag.starts).max(initial=0)) + 1
        for capacity in sorted({least, least + 1, least + 3, 2 * least, 4 * least, 8 * least}):
            loads = least_known(cdag, capacity, rng)
            for options, bound in zip(OPTIONS, bounds, strict=True):
                value = bound.value({**sizes, "S": capacity})
                assert value <= loads, (seed, options, sizes, capacity, text)
                active += value > cdag.inputs
    return active


def test_a_random_program() -> None:
    assert compare(1004, 120) > 5


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_random_programs_of_many_kinds(block: int) -> None:
    assert sum(compare(seed, 15_000) for seed in range(3_000 + 15 * block, 3_015 + 15 * block)) > 50
