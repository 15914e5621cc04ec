"""The game of :mod:`tests.reference.pebble_game`, compiled: the same positions and moves, a queue of one list per cost.

``make kernels`` compiles it; uncompiled it gives the same answers, slowly.
"""

from __future__ import annotations

import cython
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
        game = Game(cdag.weights, parents, inputs, outputs, budget, recompute, most, room)
        found = game.played()
        room *= 8
    return None if found < 0 else int(found)


@cython.cclass
class Game:
    """What is given, and the positions met."""

    n: cython.longlong
    inputs: cython.longlong
    outputs: cython.longlong
    budget: cython.longlong
    recompute: cython.bint
    most: cython.longlong
    room: cython.longlong
    filled: cython.longlong
    weight: cython.longlong[::1]
    parents: cython.longlong[::1]
    keys: cython.longlong[::1]
    best: cython.longlong[::1]
    entry_key: cython.longlong[::1]
    entry_next: cython.longlong[::1]
    first: cython.longlong[::1]

    def __init__(self, weight, parents, inputs, outputs, budget, recompute, most, room):  # type: ignore[no-untyped-def]
        self.n = len(weight)
        self.inputs, self.outputs, self.budget = inputs, outputs, budget
        self.recompute, self.most, self.room, self.filled = recompute, most, room, 0
        self.weight, self.parents = np.array(weight), parents
        self.keys = np.full(2 * room, -1, dtype=np.int64)
        self.best = np.empty(2 * room, dtype=np.int64)
        self.entry_key = np.empty(room, dtype=np.int64)
        self.entry_next = np.empty(room, dtype=np.int64)
        self.first = np.full(most + 1, -1, dtype=np.int64)

    @cython.cfunc
    def slot(self, key: cython.longlong) -> cython.longlong:
        mask: cython.longlong = 2 * self.room - 1
        slot: cython.longlong = ((key ^ (key >> 17)) * 0x9E3779B1 >> 7) & mask
        while self.keys[slot] >= 0 and self.keys[slot] != key:
            slot = (slot + 1) & mask
        return slot

    @cython.cfunc
    def reach(self, key: cython.longlong, price: cython.longlong) -> cython.bint:
        """Note a position; False if there is no room."""
        slot: cython.longlong = self.slot(key)
        if self.keys[slot] >= 0 and price >= self.best[slot]:
            return True
        if self.filled == self.room:
            return False
        self.keys[slot] = key
        self.best[slot] = price
        self.entry_key[self.filled] = key
        self.entry_next[self.filled] = self.first[price]
        self.first[price] = self.filled
        self.filled += 1
        return True

    def played(self) -> int:
        """Return the least cost, -1 if there is no schedule, -2 if the room does not suffice."""
        n: cython.longlong = self.n
        members: cython.longlong = (1 << n) - 1
        cost: cython.longlong
        key: cython.longlong
        red: cython.longlong
        blue: cython.longlong
        done: cython.longlong
        held: cython.longlong
        v: cython.longlong
        bit: cython.longlong
        after: cython.longlong
        fits: cython.bint
        self.reach(self.inputs << n, 0)
        for cost in range(self.most + 1):
            while self.first[cost] >= 0:
                key = self.entry_key[self.first[cost]]
                self.first[cost] = self.entry_next[self.first[cost]]
                if self.best[self.slot(key)] < cost:
                    continue
                red, blue, done = key & members, key >> n & members, key >> 2 * n
                if blue & self.outputs == self.outputs:
                    return int(cost)
                held = 0
                for v in range(n):
                    held += self.weight[v] * (red >> v & 1)
                for v in range(n):
                    bit = 1 << v
                    fits = held + self.weight[v] <= self.budget
                    if red & bit:
                        if not self.reach(red ^ bit | blue << n | done << 2 * n, cost):  # delete
                            return -2
                        if blue & bit == 0 and cost + self.weight[v] <= self.most:  # store
                            if not self.reach(red | (blue | bit) << n | done << 2 * n, cost + self.weight[v]):
                                return -2
                        continue
                    if blue & bit and fits and cost + self.weight[v] <= self.most:  # load
                        if not self.reach(red | bit | blue << n | done << 2 * n, cost + self.weight[v]):
                            return -2
                    if self.inputs & bit == 0 and fits and red & self.parents[v] == self.parents[v]:  # compute
                        if self.recompute or done & bit == 0:
                            after = done if self.recompute else done | bit
                            if not self.reach(red | bit | blue << n | after << 2 * n, cost):
                                return -2
        return -1
