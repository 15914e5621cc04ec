"""Loads replaced by computations, move by move."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shorthaul.core.jit import tiered

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
KindArray = npt.NDArray[np.uint8]

_LOAD, _STORE, _COMPUTE, _DELETE = np.uint8(0), np.uint8(1), np.uint8(2), np.uint8(3)


@tiered(seconds=2)
def compute_again(
    kinds: KindArray,
    nodes: IntArray,
    weights: IntArray,
    starts: IntArray,
    parents: IntArray,
    budget: int,
    new_kinds: KindArray,
    new_nodes: IntArray,
) -> int:
    """Write the moves with every load replaced that can be had more cheaply by computing; return how many there are.

    A value is computed again where all its operands are in fast memory, or all but one, which is lighter, is in slow
    memory and has room for the moment. There is room for three times as many moves.
    """
    red = np.zeros(len(weights), dtype=np.bool_)
    saved = np.zeros(len(weights), dtype=np.bool_)
    for v in range(len(weights)):
        saved[v] = starts[v] == starts[v + 1]
    held = np.int64(0)
    count = 0
    for i in range(len(kinds)):
        kind, v = kinds[i], nodes[i]
        missing = np.int64(-1)
        absent = 0
        if kind == _LOAD and not red[v] and starts[v] < starts[v + 1]:
            for e in range(starts[v], starts[v + 1]):
                if not red[parents[e]]:
                    absent += 1
                    missing = parents[e]
            fetched = np.int64(0)
            if absent == 1 and saved[missing]:
                fetched = weights[missing]
            if absent == 0 or (
                absent == 1 and saved[missing] and fetched < weights[v] and held + fetched + weights[v] <= budget
            ):
                kind = _COMPUTE
                if absent == 1:
                    new_kinds[count], new_nodes[count] = _LOAD, missing
                    count += 1
        new_kinds[count], new_nodes[count] = kind, v
        count += 1
        if kind != kinds[i] and absent == 1:
            new_kinds[count], new_nodes[count] = _DELETE, missing
            count += 1
        if kind == _STORE:
            saved[v] = True
        elif kind == _DELETE:
            if red[v]:
                held -= weights[v]
            red[v] = False
        else:
            if not red[v]:
                held += weights[v]
            red[v] = True
    return count


@tiered(seconds=2)
def needed(kinds: KindArray, nodes: IntArray, is_output: BoolArray) -> BoolArray:
    """Return which moves are needed: all but stores of values that are no outputs and are not loaded afterwards."""
    loaded = is_output.copy()
    keep = np.ones(len(kinds), dtype=np.bool_)
    for i in range(len(kinds) - 1, -1, -1):
        if kinds[i] == _LOAD:
            loaded[nodes[i]] = True
        elif kinds[i] == _STORE:
            keep[i] = loaded[nodes[i]]
    return keep
