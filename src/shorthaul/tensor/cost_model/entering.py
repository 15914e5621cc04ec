"""A bound on the latency of a subgraph in every order of its tiles: a linear program over what comes before what.

Tiles are of few kinds, and so is what they find: it depends on the kind of the tile before, and on whether that is in
the same row, in the same column, or in neither. Every order enters every tile once, one of all first, and leaves every
tile once at most; in a row not all tiles are entered along it, nor in a column. The least cost of amounts that keep
this bounds every order, and so do any prices of it, exactly: rounding in the program does no harm.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

from shorthaul.tensor.cost_model import chance_kernels, order_kernels
from shorthaul.tensor.cost_model.profile import Profile


class _Arc(NamedTuple):
    """A tile of one kind right after one of another: which line they share, if any, and the time it takes."""

    before: int
    kind: int
    line: int | None
    time: float


def kinds_of(number: int, special: int | None) -> list[list[int]]:
    """Return places along an axis by kind; where ``special`` is one, it and the first one are kinds of their own.

    >>> kinds_of(6, None), kinds_of(6, 3), kinds_of(1, 0)
    ([[0, 1, 2, 3, 4], [5]], [[0], [3], [5], [1, 2, 4]], [[0]])
    """
    alone = {number - 1} if special is None else {0, number - 1, special} & set(range(number))
    kinds = [[place] for place in sorted(alone)]
    others = [place for place in range(number) if place not in alone]
    return [others, *kinds] if special is None and others else [*kinds, *[others][: len(others)]]


def least_of_orders(orders: order_kernels.Orders, profile: Profile, size: tuple[int, int, int]) -> float:
    """Return a bound on the latency of every order at a granularity that fits: width, height and step."""
    w, h, k = size
    chance_kernels.take(orders, w, h, k)
    down, across = -(-profile.height // h), -(-profile.width // w)
    last = -(-max(profile.reductions, default=1) // k) - 1  # slices of the tile there may be those of the last step
    axes = zip((down, across), profile.mixed_axes, strict=True)
    rows, columns = (kinds_of(number, last if is_mixed else None) for number, is_mixed in axes)
    kinds = [*product(rows, columns)]
    starts = [chance_kernels.entered(orders, -1, -1, mine[0], own[0]) for mine, own in kinds]
    counts = [len(mine) * len(own) for mine, own in kinds]
    caps = [len(mine) * (across - 1) for mine in rows] + [len(own) * (down - 1) for own in columns]
    arcs = []
    for (kind, mine), (before, old) in product(enumerate(kinds), repeat=2):
        i, j = mine[0][0], mine[1][0]
        old_i = next((place for place in old[0] if place != i), -1)
        old_j = next((place for place in old[1] if place != j), -1)
        ways: list[tuple[int, int, int | None]] = [(old_i, old_j, None)]
        ways += [(i, old_j, rows.index(mine[0]))] * (old[0] is mine[0])
        ways += [(old_i, j, len(rows) + columns.index(mine[1]))] * (old[1] is mine[1])
        for row, column, line in ways:
            if row >= 0 and column >= 0:
                arcs.append(_Arc(before, kind, line, chance_kernels.entered(orders, row, column, i, j)))
    rest = float(chance_kernels.later(orders))
    return rest + (_least(starts, counts, caps, arcs) if arcs else starts[0])


def _least(starts: list[float], counts: list[int], caps: list[int], arcs: list[_Arc]) -> float:
    """Return the least time of entering all tiles, by prices of having left a tile, and of entering along a line."""
    from ortools.linear_solver import pywraplp

    solver = pywraplp.Solver.CreateSolver("GLOP")
    entered = [solver.Constraint(count, count) for count in counts]
    left = [solver.Constraint(-solver.infinity(), count) for count in counts]
    lines = [solver.Constraint(-solver.infinity(), cap) for cap in caps]
    first = solver.Constraint(1, 1)
    objective = solver.Objective()
    objective.SetMinimization()
    for kind, time in enumerate(starts):
        variable = solver.NumVar(0, 1, "")
        objective.SetCoefficient(variable, time)
        entered[kind].SetCoefficient(variable, 1)
        first.SetCoefficient(variable, 1)
    for arc in arcs:
        variable = solver.NumVar(0, solver.infinity(), "")
        objective.SetCoefficient(variable, arc.time)
        entered[arc.kind].SetCoefficient(variable, 1)
        left[arc.before].SetCoefficient(variable, 1)
        if arc.line is not None:
            lines[arc.line].SetCoefficient(variable, 1)
    if solver.Solve() != pywraplp.Solver.OPTIMAL:
        return 0.0
    of_leaving, of_lines = ([max(0.0, -row.dual_value()) for row in rows] for rows in (left, lines))
    least = [float("inf")] * len(counts)
    for arc in arcs:
        priced = arc.time + of_leaving[arc.before] + (0.0 if arc.line is None else of_lines[arc.line])
        least[arc.kind] = min(least[arc.kind], priced)
    total = sum(count * time for count, time in zip(counts, least, strict=True))
    total += min(start - time for start, time in zip(starts, least, strict=True))
    paid = zip(counts + caps, of_leaving + of_lines, strict=True)
    return float(total - sum(count * price for count, price in paid))
