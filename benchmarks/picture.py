"""Draws the picture of the README: loads of a matrix product by size of the fast memory.

    python benchmarks/picture.py

Three curves: the proven lower bound of the affine engine, the loads of the order that it derives, and those of the
usual square tiling, three tiles of one edge in the fast memory. All are formulas, evaluated at the sizes drawn.
"""

from __future__ import annotations

import math
from pathlib import Path

import matplotlib as mpl

import shorthaul

mpl.use("svg")
mpl.rcParams["svg.hashsalt"] = "shorthaul"

import matplotlib.pyplot as plt  # noqa: E402 -- after the choice of what draws

TARGET = Path(__file__).parents[1] / "docs" / "images" / "matmul-loads.svg"
EDGE = 2000
MEMORIES = [round(2 ** (power / 4)) for power in range(4 * 8, 4 * 20 + 1)]


def usual_tiling(memory: int) -> float:
    """Return the loads of C += A B, cubes of edge b with 3 b^2 words in the fast memory."""
    edge = math.isqrt(memory // 3)
    return 2 * EDGE**2 * math.ceil(EDGE / edge) + EDGE**2


def main() -> None:
    """Evaluate, draw and write the picture."""
    program = shorthaul.affine.case("gemm").workload
    sizes = dict.fromkeys(program.parameters, EDGE)
    derived = shorthaul.affine.upper_bound(program)
    least = [
        shorthaul.affine.bound(
            program, size=",".join(f"{k}={v}" for k, v in {**sizes, "S": s}.items()), upper=False
        ).bound.value
        for s in MEMORIES
    ]
    order = [derived.value({**sizes, "S": memory}) for memory in MEMORIES]
    assert all(low <= high * (1 + 1e-9) for low, high in zip(least, order, strict=True))
    figure, axes = plt.subplots(figsize=(7.2, 3.6), layout="constrained")
    axes.plot(MEMORIES, [usual_tiling(memory) for memory in MEMORIES], color="#b0b0b0", label="usual square tiling")
    axes.plot(MEMORIES, order, color="#3949ab", label="order derived by shorthaul")
    axes.plot(MEMORIES, least, color="#d81b60", linestyle="--", label="proven: no order loads less")
    axes.set(xscale="log", yscale="log", xlabel="fast memory (words)", ylabel="loads (words)")
    axes.set_xscale("log", base=2)
    axes.set_title(f"C += A B, {EDGE} x {EDGE}: how much must be loaded", loc="left", fontsize=11)
    axes.grid(visible=True, which="major", linewidth=0.4)
    axes.legend(frameon=False)
    TARGET.parent.mkdir(exist_ok=True)
    figure.savefig(TARGET, metadata={"Date": None, "Title": "Loads of a matrix product by size of the fast memory"})


if __name__ == "__main__":
    main()
