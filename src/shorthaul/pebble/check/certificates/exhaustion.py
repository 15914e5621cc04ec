"""Exhaustive searches of a few nodes, verified: all of their schedules, searched anew with code of the checker's own.

Strike the moves of all others out of a schedule: what is left keeps the rules on ``nodes`` (null: all), with operands
outside taking their room while a node is computed. So they are ``moved`` at least as much as in the cheapest of all
schedules of theirs, beyond the first loads of inputs and the last stores of what none of them reads. Those are searched
from the start, and where positions are many from the end: a schedule read backwards keeps the same rules.

What only one computation touches, an input that is read once or a result that none of them reads, is in fast memory
then only and moves no second time: it takes room. So values have a bit where two computations touch them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from shorthaul.pebble.check.certificates import exhaustion_kernels as kernels
from shorthaul.pebble.check.certificates.part import Game, Proven, UnverifiedError, WrongError, whole
from shorthaul.pebble.model import IntArray

#: Computations have a bit each, and so have values. Positions after equally many computations, and in all, each way.
_MOST_BITS = 64
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
    touchers = touchers_of(game, nodes)
    computed, shared = ~game.cdag.given[nodes], [len(steps) > 1 for steps in touchers.values()]
    if max(int(computed.sum()), sum(shared)) > _MOST_BITS:
        raise UnverifiedError(f"has more than {_MOST_BITS} computations, or values that two of them touch")
    outcomes = [has_cheaper(game, touchers, moved, from_end=False)]
    if outcomes[0] is None:
        outcomes.append(has_cheaper(game, touchers, moved, from_end=True))
    if outcomes[-1] is None:
        raise UnverifiedError(f"has more than {_MOST_POSITIONS:,} positions")
    if outcomes[-1]:
        raise WrongError(f"moved: some schedule of these nodes moves less than {moved:,} beyond inputs and outputs")
    return Proven(moved, nodes)


def touchers_of(game: Game, nodes: IntArray) -> dict[int, list[int]]:
    """Return for every node the nodes that are computed and touch it: itself and its readers."""
    given = game.cdag.given
    touchers: dict[int, list[int]] = {node: [] for node in nodes.tolist()}
    for node in touchers:
        for operand in () if given[node] else (node, *game.operands()[node]):
            if operand in touchers:
                touchers[operand].append(node)
    return touchers


def has_cheaper(game: Game, touchers: dict[int, list[int]], moved: int, *, from_end: bool) -> bool | None:
    """Return whether some schedule moves less than ``moved``; None if there are too many positions."""
    weights, given = game.cdag.weights, game.cdag.given
    steps = {node: number for number, node in enumerate(node for node in touchers if not given[node])}
    values = {node: number for number, node in enumerate(node for node in touchers if len(touchers[node]) > 1)}
    if not values:
        return moved > 0
    unit = math.gcd(*weights[list(values)].tolist())
    touched, before, beside = [0] * len(steps), [0] * len(steps), [0] * len(steps)
    for node, number in steps.items():
        for operand in (node, *game.operands()[node]):
            if operand in values:
                touched[number] |= 1 << values[operand]
            else:
                beside[number] += int(weights[operand])
            if operand != node and operand in steps:
                other = steps[operand]
                before[other if from_end else number] |= 1 << (number if from_end else other)
    sets = [sum(1 << steps[node] for node in touchers[value]) for value in values]
    computed = sum(1 << number for value, number in values.items() if not given[value])
    rooms = np.array([(game.budget - taken) // unit for taken in beside], dtype=np.int64)
    own, other_way, first = (np.array(members, dtype=np.uint64) for members in (touched, sets, before))
    part = kernels.Nodes(weights[list(values)] // unit, rooms, own, other_way, first, computed)
    return _searched(part, len(steps), -(-moved // unit))


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
