"""The game of :mod:`tests.reference.pebble_game`, compiled: the same positions and moves, a queue of one list per cost."""

from __future__ import annotations

import numba
import numpy as np

from shorthaul.pebble.model import Cdag

#: Positions that fit at first, and eight times as many each time they do not.
_ROOM = 2**13


def least_traffic(cdag: Cdag, budget: int, *, recompute: bool) -> int | None:
    """Return the least traffic of any schedule, None if there is none."""
    assert cdag.n <= 20
    sources, targets = cdag.edge_arrays()
    parents = np.zeros(cdag.n, dtype=np.int64)
    np.bitwise_or.at(parents, targets, 1 << sources)
    inputs, outputs = (int((1 << nodes).sum()) for nodes in (cdag.inputs(), cdag.outputs()))
    most = 2 * cdag.n * int(cdag.weights.sum())
    found, room = -2, _ROOM
    while found == -2:
        found = _played(cdag.n, cdag.weights, parents, inputs, outputs, budget, recompute, most, room)
        room *= 8
    return None if found < 0 else int(found)


@numba.njit(cache=True)
def _slot(keys, key):  # type: ignore[no-untyped-def]
    mask = len(keys) - 1
    slot = ((key * 0x9E3779B97F4A7C1) >> 11) & mask
    while keys[slot] >= 0 and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@numba.njit(cache=True)
def _played(n, weight, parents, inputs, outputs, budget, recompute, most, room):  # type: ignore[no-untyped-def]
    """Return the least cost, -1 if there is no schedule, -2 if ``room`` does not suffice."""
    keys = np.full(2 * room, -1, dtype=np.int64)
    best = np.empty(2 * room, dtype=np.int64)
    entry_key = np.empty(room, dtype=np.int64)
    entry_next = np.empty(room, dtype=np.int64)
    first = np.full(most + 1, -1, dtype=np.int64)
    start = inputs << n
    slot = _slot(keys, start)
    keys[slot], best[slot] = start, 0
    entry_key[0], entry_next[0], first[0] = start, -1, 0
    filled = 1
    members = (1 << n) - 1
    for cost in range(most + 1):
        while first[cost] >= 0:
            key = entry_key[first[cost]]
            first[cost] = entry_next[first[cost]]
            if best[_slot(keys, key)] < cost:
                continue
            red, blue, done = key & members, key >> n & members, key >> 2 * n
            if blue & outputs == outputs:
                return cost
            held = 0
            for v in range(n):
                held += weight[v] * (red >> v & 1)
            for v in range(n):
                bit = 1 << v
                for move in range(4):
                    price, new_red, new_blue, new_done = cost, red, blue, done
                    if move == 0 and red & bit:  # delete
                        new_red = red ^ bit
                    elif move == 1 and red & bit and not blue & bit:  # store
                        price, new_blue = cost + weight[v], blue | bit
                    elif move == 2 and not red & bit and blue & bit and held + weight[v] <= budget:  # load
                        price, new_red = cost + weight[v], red | bit
                    elif (  # compute
                        move == 3
                        and not (red | inputs) & bit
                        and held + weight[v] <= budget
                        and red & parents[v] == parents[v]
                        and (recompute or not done & bit)
                    ):
                        new_red = red | bit
                        new_done = done if recompute else done | bit
                    else:
                        continue
                    if price > most:
                        continue
                    following = new_red | new_blue << n | new_done << 2 * n
                    slot = _slot(keys, following)
                    if keys[slot] < 0 or price < best[slot]:
                        if filled == room:
                            return -2
                        keys[slot], best[slot] = following, price
                        entry_key[filled], entry_next[filled] = following, first[price]
                        first[price] = filled
                        filled += 1
    return -1
