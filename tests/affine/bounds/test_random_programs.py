"""Bounds of random loop nests against Belady's replacement on the program order and against exact play."""

from __future__ import annotations

import numpy as np
import pytest
from tests.affine.derived import quick

from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.replay.cdag import concrete_cdag
from shorthaul.graphs.replay import belady_loads, least_loads

INDICES = ["i", "j", "k"]


def subscript(rng: np.random.Generator) -> str:
    first = INDICES[rng.integers(3)]
    kind = rng.integers(6)
    if kind == 0:
        return f"{first} + {INDICES[rng.integers(3)]}"
    if kind == 1:
        return f"{first} + {rng.integers(1, 3)}"
    return first


def access(name: str, rng: np.random.Generator) -> str:
    return name + "".join(f"[{subscript(rng)}]" for _ in range(2))


def random_program(seed: int) -> str:
    rng = np.random.default_rng(seed)
    low_j = ["0", "i", "i + 1"][rng.integers(3)]
    low_k = ["0", "j", "i"][rng.integers(3)]
    lines = []
    for _ in range(int(rng.integers(1, 3))):
        target = access("CX"[rng.integers(2)], rng)
        reads = [access("ABCX"[rng.integers(4)], rng) for _ in range(int(rng.integers(1, 4)))]
        lines.append(f"{target} = {target} + {' * '.join(reads)};")
    body = "\n        ".join(lines)
    arrays = ", ".join(f"double {name}[2 * N + 4][2 * N + 4]" for name in "ABCX")
    return f"""
void kernel(int N, {arrays}) {{
#pragma scop
  for (int i = 0; i < N; i++)
    for (int j = {low_j}; j < N; j++)
      for (int k = {low_k}; k < N; k++) {{
        {body}
      }}
#pragma endscop
}}
"""


#: Seeds of the study that are run by default, in some tenths of a second each.
DEFAULT = (0, 2, 3, 5, 10, 17)


@pytest.mark.costly
@pytest.mark.parametrize("seed", quick(range(24), DEFAULT))
def test_bounds_of_random_programs_hold(seed: int) -> None:
    program = program_from_text(random_program(seed))
    bound = lower_bound(program)
    for size in (1, 2, 3, 7):
        cdag = concrete_cdag(program, {"N": size})
        if cdag.n == cdag.inputs:
            continue
        least = int(np.diff(cdag.starts).max(initial=0)) + 1
        for capacity in (least, least + 1, least + 4):
            value = bound.value({"N": size, "S": capacity})
            loads = int(belady_loads(cdag.program_order, cdag.starts, cdag.operands, capacity).sum())
            assert value <= loads, (size, capacity, random_program(seed))
            if cdag.n <= 24:
                exact = least_loads(cdag.operand_lists(), capacity, most_states=20_000)
                assert not exact.proven or value <= exact.loads
