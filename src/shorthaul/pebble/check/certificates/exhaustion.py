"""Exhaustive searches of a few nodes, verified: all of their schedules, searched anew with code of the checker's own.

Strike the moves of all others out of a schedule: what is left keeps the rules on ``nodes`` (null: all), with operands
outside taking their room while a node is computed. So they are ``moved`` at least as much as in the cheapest of all
schedules of theirs, beyond the first loads of inputs and the last stores of what none of them reads. Those are searched
from the start, and where positions are many from the end: a schedule read backwards keeps the same rules.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from shorthaul.pebble.check.certificates import exhaustion_kernels as kernels
from shorthaul.pebble.check.certificates.part import Game, Proven, UnverifiedError, WrongError, whole
from shorthaul.pebble.model import IntArray

#: Nodes have a bit each. Positions after equally many computations, and in all, each way.
_MOST_NODES = 64
_FEW_BESIDE, _MOST_BESIDE = 2**10, 2**18
_MOST_POSITIONS = 2**20


def proven(game: Game, part: Mapping[str, Any]) -> Proven:
    """Return what a part of the kind ``exhaustion`` proves.

    Raises
    ------
    WrongError
        If it proves nothing.
    UnverifiedError
        If the search would take too long.
    """
    nodes = np.arange(game.cdag.n) if part.get("nodes") is None else np.sort(game.different(part, "nodes"))
    moved = whole(part, "moved", 0)
    if len(nodes) > _MOST_NODES:
        raise UnverifiedError(f"has more than {_MOST_NODES} nodes")
    outcomes = [has_cheaper(game, nodes, moved, from_end=False)]
    if outcomes[0] is None:
        outcomes.append(has_cheaper(game, nodes, moved, from_end=True))
    if outcomes[-1] is None:
        raise UnverifiedError(f"has more than {_MOST_POSITIONS:,} positions")
    if outcomes[-1]:
        raise WrongError(f"moved: some schedule of these nodes moves less than {moved:,} beyond inputs and outputs")
    return Proven(moved, nodes)


def has_cheaper(game: Game, nodes: IntArray, moved: int, *, from_end: bool) -> bool | None:
    """Return whether some schedule moves less than ``moved``; None if there are too many positions."""
    place = {node: number for number, node in enumerate(nodes.tolist())}
    weights, given = game.cdag.weights, game.cdag.given
    unit = math.gcd(*weights[nodes].tolist())
    touched, touchers, before = [0] * len(nodes), [0] * len(nodes), [0] * len(nodes)
    outside, computed = [0] * len(nodes), 0
    for node, number in place.items():
        if given[node]:
            continue
        computed |= 1 << number
        for operand in (node, *game.operands()[node]):
            other = place.get(operand)
            if other is None:
                outside[number] += int(weights[operand])
                continue
            touched[number] |= 1 << other
            touchers[other] |= 1 << number
            if operand != node and not given[operand]:
                before[other if from_end else number] |= 1 << (number if from_end else other)
    sizes = weights[nodes] // unit
    rooms = np.array([(game.budget - beside) // unit for beside in outside], dtype=np.int64)
    own, other_way, first = (np.array(sets, dtype=np.uint64) for sets in (touched, touchers, before))
    part = kernels.Nodes(sizes, rooms, own, other_way, first, computed)
    return _searched(part, computed.bit_count(), -(-moved // unit))


def _searched(nodes: kernels.Nodes, steps: int, limit: int) -> bool | None:
    found = _searched_within(_FEW_BESIDE, nodes, steps, limit)  # most parts are small
    return _searched_within(_MOST_BESIDE, nodes, steps, limit) if found is None else found


def _searched_within(room: int, nodes: kernels.Nodes, steps: int, limit: int) -> bool | None:
    now, then = kernels.Positions(room), kernels.Positions(room)
    kernels.begin(now)
    seen = 0
    for _ in range(steps if limit > 0 else 0):
        found = kernels.step(nodes, now, then, limit)
        seen += found
        if found == 0:
            return False
        if found < 0 or seen > _MOST_POSITIONS:
            return None
        now, then = then, now
    return limit > 0
