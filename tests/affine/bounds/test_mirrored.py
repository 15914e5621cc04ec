"""The weights of symm's instances: the inequality of one column for every choice, and the quotients of wide columns."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator

import numpy as np
import pytest
import sympy
from tests.affine.derived import bound_of, partition_alone, quick
from tests.reference.affine_rewritings import split

from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.check.certificate import verify
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.replay.cdag import concrete_cdag
from shorthaul.affine.workloads.cases import kernel_text
from shorthaul.core.search import Search
from shorthaul.graphs.replay import belady_loads


def subsets(places: range) -> list[frozenset[int]]:
    counts = range(len(places) + 1)
    return [frozenset(chosen) for count in counts for chosen in itertools.combinations(places, count)]


def columns(n: int) -> Iterator[tuple[tuple[frozenset[int], ...], tuple[frozenset[int], ...]]]:
    """Yield what the chains of both statements compute in one column: places above and below their own."""
    above = [subsets(range(o + 1, n)) for o in range(n)]
    below = [subsets(range(o)) for o in range(n)]
    if n < 5:
        yield from itertools.product(itertools.product(*above), itertools.product(*below))
    rng = np.random.default_rng(n)
    for at in range(4_000 if n > 4 else 0):
        few = 2 ** (at % 5)  # the few smallest, or any
        up, down = ([line[rng.integers(max(1, len(line) // few))] for line in part] for part in (above, below))
        yield tuple(up), tuple(down)


def runs(line: Iterable[int]) -> int:
    places = set(line)
    return sum(place - 1 not in places for place in places)


def test_what_runs_miss_in_one_column() -> None:
    """b c - e >= 2 (pairs in two pieces) + (pairs in one piece), and the weight is at most sqrt(a b c)."""
    checked = 0
    for up, down in itertools.chain(columns(4), columns(7)):
        places = sorted(frozenset().union(*up, *down))
        run = {place: place - at for at, place in enumerate(places)}
        points = [(o, b) for part in (up, down) for o, line in enumerate(part) for b in line]
        pairs = [(o, b) for o, line in enumerate(up) for b in line if o in down[b]]
        used = sum(runs(line) for line in (*up, *down))
        apart = sum(run[o] != run[b] for o, b in pairs)
        assert len(places) * used - len(points) >= apart + len(pairs)
        for width in range(max(1, len(places)), 9):
            far = sum(abs(o - b) >= width for o, b in points)
            weight = far + (len(points) - far) * 3**0.5 / 2
            assert weight**2 <= (len(points) - len(pairs)) * len(places) * used + 1e-9
        checked += 1
    assert checked > 8_000


def test_no_set_of_instances_weighs_more() -> None:
    """Blocks on the diagonal and off it, with holes: at most (K/3)^(3/2), chains counted by their runs."""
    rng = np.random.default_rng(5)
    closest = 0.0
    for _ in range(2_000):
        n, across = rng.integers(2, 25, size=2)
        rows, cells = rng.random((2, n)) < rng.random((2, 1)), rng.random((n, n, across)) > rng.random() ** 3
        chosen = (rows[0][:, None, None] | rows[1][None, :, None]) & cells & ~np.eye(n, dtype=bool)[:, :, None]
        starts = chosen.copy()
        starts[:, 1:] &= ~chosen[:, :-1]
        pairs = chosen.any(axis=2)
        K = starts.sum() + chosen.any(axis=0).sum() + np.triu(pairs | pairs.T).sum()
        place = np.arange(n)
        is_far = np.abs(place[:, None] - place) >= np.ceil(9 / 4 * np.sqrt(K / 3))
        count = chosen.sum(axis=2)
        weight = count[is_far].sum() + count[~is_far].sum() * 3**0.5 / 2
        assert weight <= (K / 3) ** 1.5 + 1e-9
        closest = max(closest, weight / (K / 3) ** 1.5 if K else 0)
    assert closest > 0.7


def test_wide_columns_are_no_better() -> None:
    u = sympy.Symbol("u")
    first = sympy.Rational(9, 4) + 2 * u - 2 * u**2 * (3 - u**2)
    second = sympy.Rational(81, 16) - sympy.Rational(9, 8) * u + u**2 - sympy.Rational(9, 4) * u**2 * (3 - u**2)
    for polynomial in (first, second):
        assert sympy.Poly(polynomial, u).count_roots(0, 2) == 0
        assert polynomial.subs(u, 1) > 0


@pytest.mark.parametrize("how", quick(["as written", "split"], ["as written"]))
def test_symm_by_its_diagonal_blocks(how: str) -> None:
    """Squares of the symmetric matrix one after the other, those on the diagonal too: above the bound."""
    bound = (
        bound_of("symm")
        if how == "as written"
        else lower_bound(program_from_text(split(kernel_text("symm"))), search=Search(effort=0.3))
    )
    assert bound.leading == bound_of("symm").leading
    sizes = {"M": 24, "N": 16}
    cdag = concrete_cdag(bound.program, sizes)
    names = np.array([cdag.names[at] for at in cdag.owner])
    above, below = (("S1",), ("S2",)) if how == "as written" else (("S1", "S2"), ("S3", "S4"))
    active = 0
    for side in (4, 6, 8):
        place = {}
        for vertex in cdag.program_order.tolist():
            i, j, k = (int(value) for value in cdag.coordinates[vertex])
            row, column = (k, i) if names[vertex] in above else (i, k) if names[vertex] in below else (i, i)
            early = names[vertex] == "S0"
            place[vertex] = (column // side, row // side, j, 0 if early else 1, vertex)
        order = topological(cdag, place)
        for capacity in (side**2 // 2, side**2, 2 * side**2):
            loads = int(belady_loads(order, cdag.starts, cdag.operands, capacity + 8).sum())
            value = bound.value({**sizes, "S": capacity + 8})
            assert value <= loads
            active += value > cdag.inputs
    assert active


def test_the_certificate_of_a_split_step() -> None:
    """Verified with the products as own vertices, and only so."""
    program = program_from_text(split(kernel_text("symm")))
    sizes = {"M": 500, "N": 500, "S": 500}
    document = json.loads(partition_alone(program, sizes))
    violations, remarks = verify(program, document, sizes)
    assert not violations
    assert all(text.endswith(": verified") for text in remarks)
    (part,) = document["certificate"]["parts"]
    assert part["mirrored"]
    part["own"] = []
    assert verify(program, document, sizes)[0]


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
