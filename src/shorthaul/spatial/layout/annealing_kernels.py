"""Kernel of the layout refinement: simulated annealing by swaps on the grid."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from shorthaul.core.jit import kernel

Index = npt.NDArray[np.int32]
State = npt.NDArray[np.uint64]


@kernel
def length_around(v: int, starts: Index, near: Index, x: Index, y: Index) -> int:
    """Return the summed distance from v to its neighbours in the tree."""
    total = 0
    for i in range(starts[v], starts[v + 1]):
        total += abs(x[v] - x[near[i]]) + abs(y[v] - y[near[i]])
    return total


@kernel
def draw(state: State) -> int:
    """Return the next 31 random bits (xorshift64*)."""
    s = state[0]
    s ^= s >> np.uint64(12)
    s ^= s << np.uint64(25)
    s ^= s >> np.uint64(27)
    state[0] = s
    bits: int = np.int64((s * np.uint64(2685821657736338717)) >> np.uint64(33))  # type: ignore[assignment]
    return bits


@kernel
def anneal(
    starts: Index,
    near: Index,
    x: Index,
    y: Index,
    holder: Index,
    width: int,
    height: int,
    temperature: float,
    moves: int,
    state: State,
) -> int:
    """Try ``moves`` swaps in place and return the change of energy.

    A random vertex moves next to one of its neighbours in the tree; whoever sat there takes its place. ``holder``
    is the vertex on every cell, -1 where there is none.
    """
    change = 0
    n = x.size
    for _ in range(moves):
        v = draw(state) % n
        degree = starts[v + 1] - starts[v]
        if degree == 0:
            continue
        u = near[starts[v] + draw(state) % degree]
        bits = draw(state)
        reach = 1 + ((bits >> 4) & 1) * ((bits >> 5) & 1)
        side = bits & 3
        tx = x[u] + (reach if side == 0 else -reach if side == 1 else 0)
        ty = y[u] + (reach if side == 2 else -reach if side == 3 else 0)
        if reach == 2 and bits & 256:  # a diagonal step
            tx = x[u] + (1 if bits & 1 else -1)
            ty = y[u] + (1 if bits & 2 else -1)
        if tx < 0 or ty < 0 or tx >= width or ty >= height:
            continue
        w = holder[ty * width + tx]
        if w == v:
            continue
        vx, vy = x[v], y[v]
        before = length_around(v, starts, near, x, y)
        if w >= 0:
            before += length_around(w, starts, near, x, y)
            x[w], y[w] = vx, vy
        x[v], y[v] = tx, ty
        after = length_around(v, starts, near, x, y)
        if w >= 0:
            after += length_around(w, starts, near, x, y)
        worse = after - before
        if worse > 0 and draw(state) / 2147483648.0 >= math.exp(-worse / temperature):
            x[v], y[v] = vx, vy
            if w >= 0:
                x[w], y[w] = tx, ty
            continue
        change += worse
        holder[ty * width + tx] = v
        holder[vy * width + vx] = w
    return change
