"""Sums that read all their products at once, verified: what their products are made of is loaded again and again.

``sums`` are the nodes whose products count: operands that nothing else reads, with two operands that are inputs or such
sums. A schedule is cut after every ``stretch``-th of these sums. Products of one group hang together by operands; e of
them, from no more sums than a stretch has, have a least number of operands, each of which is loaded in the stretch, was
in the room beside the last sum before, is a sum of the stretch, or was read by that last sum. So ``charge`` per product
is paid, no more than its share of these operands, nor than a store and a load of a product computed in an earlier
stretch. Products that wait in that room spare a charge each, but need operands beyond the charges when they are
computed, and take the room. The mean over all ways to cut holds. The proof stands in ``bounds/gathers.py``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from shorthaul.pebble.check.certificates.part import Game, Proven, WrongError, whole
from shorthaul.pebble.model import IntArray

_ROUNDING = 5e-10
#: Products that wait are told apart up to so many; more are taken to need no operands.
_MOST_WAITING = 256
_MOST_TOGETHER = 10_000


def proven(game: Game, part: Mapping[str, Any]) -> Proven:
    """Return what a part of the kind ``gather`` proves; raises :class:`WrongError`."""
    sums = set(game.different(part, "sums").tolist())
    stretch = whole(part, "stretch", 1, _MOST_TOGETHER)
    products = _products(game, sums)
    if not products:
        raise WrongError("sums: none has a product that counts")
    groups = _groups(products)
    lightest = min(int(game.cdag.weights[one.node]) for one in products)
    operands = sorted({operand for one in products for operand in one.operands})
    operand = min(int(game.cdag.weights[node]) for node in operands)
    together = stretch * groups.of_a_sum
    if together > _MOST_TOGETHER:
        raise WrongError("stretch: too many products are together")
    least = groups.operands(together + _MOST_WAITING)
    charge = part.get("charge")
    if isinstance(charge, bool) or not isinstance(charge, int | float) or not 0 < charge <= 2**50:
        raise WrongError("charge must be a positive number")
    most = min(2 * lightest, *(operand * least[count] / count for count in range(1, together + 1)))
    if charge > most * (1 + 1e-12):
        raise WrongError(f"charge is more than {most}")
    gains = _gains(least, together, float(charge), operand, lightest)
    served = set(operands)
    weights = game.cdag.weights.tolist()
    spared = 0.0
    for node in sums:
        read = game.operands()[node]
        room = game.budget - weights[node] - sum(weights[other] for other in read)
        fit = max(0, room) // lightest
        gained = gains[fit] if fit < len(gains) else max(0.0, charge - lightest) * fit
        beside = sum(weights[other] for other in read if other in served)
        spared += (room + beside + gained) / stretch + (weights[node] if node in served else 0)
    known = sum(weights[node] for node in operands if game.cdag.given[node])
    moved = math.ceil(charge * len(products) * (1 - _ROUNDING) - spared - known)
    nodes = np.array(sorted(served.union(one.node for one in products)), dtype=np.int64)
    return Proven(max(0, moved), nodes)


@dataclass(frozen=True, slots=True)
class _Product:
    node: int
    total: int
    operands: tuple[int, int]


def _products(game: Game, sums: set[int]) -> list[_Product]:
    """Return the products that count: of a sum alone, made of two inputs or sums that count, and of no other ones."""
    cdag, operands = game.cdag, game.operands()
    alone = (cdag.children.degrees() == 1).tolist()
    private = [alone[node] and bool(operands[node]) for node in range(cdag.n)]
    adds = [sum(map(private.__getitem__, read)) > 1 for read in operands]
    given = cdag.given.tolist()
    found = []
    for total in sorted(sums):
        if not adds[total]:
            raise WrongError(f"sums: {game.id(total)} adds no products")
        for node in operands[total]:
            if private[node] and not adds[node]:
                made = [other for other in operands[node] if given[other] or adds[other]]
                if len(made) == 2 and all(given[other] or other in sums for other in made):
                    found.append(_Product(node, total, (made[0], made[1])))
    return found


@dataclass(frozen=True, slots=True)
class _Groups:
    """Products that hang together: how many ``of_a_sum`` and ``alike`` at most, and whether operands have sides."""

    of_a_sum: int
    alike: int
    sided: bool

    def operands(self, products: int) -> IntArray:
        """Return how many operands so many products of a group have at least, for 0..``products``."""
        found = np.zeros(products + 1, dtype=np.int64)
        count = 0
        for number in range(1, products + 1):
            while self.alike * (count * count // 4 if self.sided else count * (count - 1) // 2) < number:
                count += 1
            found[number] = count
        return found


def _groups(products: list[_Product]) -> _Groups:
    """Walk from operand to operand, each on the other side than the one before."""
    near: dict[int, list[int]] = {}
    for one in products:
        for here, there in (one.operands, one.operands[::-1]):
            near.setdefault(here, []).append(there)
    group: dict[int, tuple[int, int]] = {}
    sided = True
    for start in near:
        if start in group:
            continue
        group[start] = (start, 0)
        ahead = [start]
        while ahead:
            here = ahead.pop()
            label, side = group[here]
            for there in near[here]:
                if there not in group:
                    group[there] = (label, 1 - side)
                    ahead.append(there)
                sided &= group[there][1] != side
    of_a_sum: dict[tuple[int, int], int] = {}
    alike: dict[tuple[int, ...], int] = {}
    for one in products:
        key, pair = (one.total, group[one.operands[0]][0]), tuple(sorted(one.operands))
        of_a_sum[key] = of_a_sum.get(key, 0) + 1
        alike[pair] = alike.get(pair, 0) + 1
    return _Groups(max(of_a_sum.values()), max(alike.values()), sided)


def _gains(least: IntArray, together: int, charge: float, operand: int, lightest: int) -> list[float]:
    """Return what so many waiting products spare beyond their room at most, for 0.._MOST_WAITING, of any groups."""
    alone = [0.0]
    for count in range(1, _MOST_WAITING + 1):
        more = operand * least[count : count + together + 1] - charge * np.arange(together + 1)
        alone.append((charge - lightest) * count - float(more.min()))
    best = [0.0] * len(alone)
    for before, count in pairwise(range(len(alone))):
        best[count] = max(best[before], *(best[count - size] + alone[size] for size in range(1, count + 1)))
    return best
