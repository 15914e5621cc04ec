"""The weights of symm's instances: the inequality of one column for every choice, and the quotients of wide columns."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import sympy
from tests.affine.derived import bound_of

from shorthaul.affine.replay.cdag import concrete_cdag
from shorthaul.graphs.replay import belady_loads


def intervals(places: range) -> list[frozenset[int]]:
    found = {frozenset(range(low, high)) for low in places for high in range(low, places.stop + 1)}
    return sorted(found | {frozenset()}, key=sorted)


def columns(n: int) -> Iterator[tuple[tuple[frozenset[int], ...], tuple[frozenset[int], ...]]]:
    """Yield what the chains of both statements compute in one column: runs of places above and below their own."""
    above = [intervals(range(o + 1, n)) for o in range(n)]
    below = [intervals(range(o)) for o in range(n)]
    if n < 5:
        yield from itertools.product(itertools.product(*above), itertools.product(*below))
    rng = np.random.default_rng(n)
    for _ in range(4_000 if n > 4 else 0):
        up, down = ([line[rng.integers(len(line))] for line in part] for part in (above, below))
        yield tuple(up), tuple(down)


def test_what_chains_miss_in_one_column() -> None:
    """b c - e >= 2 (pairs in different runs) + (pairs in one run), and the weight is at most sqrt(a b c)."""
    checked = 0
    for up, down in itertools.chain(columns(4), columns(6), columns(8)):
        places = sorted(frozenset().union(*up, *down))
        run = {place: place - at for at, place in enumerate(places)}
        points = [(o, b) for part in (up, down) for o, line in enumerate(part) for b in line]
        pairs = [(o, b) for o, line in enumerate(up) for b in line if o in down[b]]
        chains = sum(1 for line in (*up, *down) if line)
        apart = sum(run[o] != run[b] for o, b in pairs)
        assert len(places) * chains - len(points) >= apart + len(pairs)
        for width in range(max(1, len(places)), 9):
            far = sum(abs(o - b) >= width for o, b in points)
            weight = far + (len(points) - far) * 3**0.5 / 2
            assert weight**2 <= (len(points) - len(pairs)) * len(places) * chains + 1e-9
        checked += 1
    assert checked > 10_000


def test_wide_columns_are_no_better() -> None:
    u = sympy.Symbol("u")
    first = sympy.Rational(9, 4) + 2 * u - 2 * u**2 * (3 - u**2)
    second = sympy.Rational(81, 16) - sympy.Rational(9, 8) * u + u**2 - sympy.Rational(9, 4) * u**2 * (3 - u**2)
    for polynomial in (first, second):
        assert sympy.Poly(polynomial, u).count_roots(0, 2) == 0
        assert polynomial.subs(u, 1) > 0


def test_symm_by_its_diagonal_blocks() -> None:
    """Squares of the symmetric matrix one after the other, those on the diagonal too: above the bound."""
    bound = bound_of("symm")
    sizes = {"M": 24, "N": 16}
    cdag = concrete_cdag(bound.program, sizes)
    names = np.array([cdag.names[at] for at in cdag.owner])
    for side in (4, 6, 8):
        place = {}
        for vertex in cdag.program_order.tolist():
            i, j, k = (int(value) for value in cdag.coordinates[vertex])
            row, column = (k, i) if names[vertex] == "S1" else (i, k) if names[vertex] == "S2" else (i, i)
            early = names[vertex] == "S0"
            place[vertex] = (column // side, row // side, j, 0 if early else 1, vertex)
        order = topological(cdag, place)
        for capacity in (side**2 // 2, side**2, 2 * side**2):
            loads = int(belady_loads(order, cdag.starts, cdag.operands, capacity + 8).sum())
            assert bound.value({**sizes, "S": capacity + 8}) <= loads


def topological(cdag, place) -> np.ndarray:
    """Return the order by place, in which a vertex waits for its operands."""
    done: set[int] = set()
    order: list[int] = []

    def visit(vertex: int) -> None:
        if vertex in done or vertex < cdag.inputs:
            return
        for operand in cdag.operands[cdag.starts[vertex] : cdag.starts[vertex + 1]].tolist():
            visit(operand)
        done.add(vertex)
        order.append(vertex)

    for vertex in sorted(place, key=place.__getitem__):
        visit(vertex)
    return np.array(order)
