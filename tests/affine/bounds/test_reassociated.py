"""Bounds for any order and tree of sums: their leading terms, and plays in other orders, which none may exceed."""

from __future__ import annotations

import numpy as np
import pytest
from tests.affine.derived import bound_of, flow_of, kernel, quick
from tests.reference.affine_programs import random_program
from tests.reference.reassociated_sums import Sums

from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.bounds.graphs import graphs
from shorthaul.affine.bounds.reassociated import reassociated
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.counting import card
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.options import BoundOptions
from shorthaul.affine.replay.cdag import concrete_cdag

ANY_ORDER = BoundOptions(reassociate=True)
MTTKRP = "ikl,lj,kj->ij"
SIZES = ((1, 3), (2, 2), (3, 3), (4, 7), (7, 4), (9, 9), (6, 18), (16, 5), (40, 20))


def compare(text: str, seed: int, most: int) -> int:
    """Compare with orders of the terms at random, as written and in blocks; return how often a sum was reordered."""
    program = program_from_text(text)
    bound = lower_bound(program, ANY_ORDER)
    rng = np.random.default_rng(seed)
    reordered, done = 0, []
    for n, m in SIZES:
        sizes = {name: {"N": n, "M": m}.get(name, n) for name in program.parameters}
        count = sum(card(item.domain).at(sizes) for item in program.statements)
        if sizes in done or not 0 < count <= most:
            continue
        done.append(sizes)
        cdag = concrete_cdag(program, sizes)
        sums = Sums(program, sizes, cdag)
        least = sums.least_capacity()
        for capacity in sorted({least, least + 2, 2 * least, 4 * least, 8 * least}):
            value = bound.value({**sizes, "S": capacity})
            side = max(1, round(capacity**0.5))
            tiles = rng.integers(1, 2 * side, size=cdag.coordinates.shape[1])
            blocked = (cdag.coordinates // tiles) @ (101 ** np.arange(len(tiles)))
            noise = rng.random(cdag.n + 2 * len(sums.terms))
            for rank in (
                lambda v, noise=noise: float(noise[v]),
                lambda v, n=cdag.n: float(v if v < n else 0),
                lambda v, blocked=blocked, n=cdag.n: float(blocked[v] + v / n if v < n else -1),
            ):
                loads = sums.play(capacity, rank)
                assert value <= loads, (seed, sizes, capacity, text)
                reordered += bool(sums.terms)
    return reordered


PRODUCT = """void f(int N, int M, double A[N][M], double B[M][N], double C[N][N]) {
for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) for (int k = 0; k < M; k++) C[i][j] += A[i][k] * B[k][j];
}"""
#: A x and its transposed product: all of x waits for the first sum.
TWICE = """void f(int N, int M, double A[N][M], double x[M], double y[M], double t[N]) {
for (int i = 0; i < N; i++) {
  t[i] = 0;
  for (int j = 0; j < M; j++) t[i] += A[i][j] * x[j];
  for (int j = 0; j < M; j++) y[j] += A[i][j] * t[i];
}}"""
#: Two statements add to one element, and a product of it with the sum so far fixes the order in between.
PREFIX = """void f(int N, int M, double A[N][M], double b[N], double s[1]) {
for (int i = 0; i < N; i++) {
  for (int j = 0; j < M; j++) s[0] += A[i][j];
  for (int j = 0; j < M; j++) s[0] = A[i][j] * b[i] + s[0];
  b[i] = s[0];
}}"""


@pytest.mark.costly
@pytest.mark.parametrize("text", [PRODUCT, TWICE, PREFIX])
def test_no_order_of_the_terms_beats_the_bound(text: str) -> None:
    assert compare(text, 1, 150) > 10


@pytest.mark.parametrize("seed", quick(range(7_000, 7_200), (7_002,)))
def test_no_order_beats_the_bound_of_a_random_program(seed: int) -> None:
    compare(random_program(seed), seed, 600)


@pytest.mark.parametrize("seed", [880_000, 880_006])
def test_other_names_beside_sums_in_any_order(seed: int) -> None:
    """Sums have reads that no statement has: their graphs keep their names."""
    flow = flow_dependences(program_from_text(random_program(seed)))
    for item in reassociated(flow):
        for graph in graphs(item):
            assert graph.flow.program.statements


def test_products_keep_their_bound() -> None:
    found = lower_bound(kernel("gemm"), ANY_ORDER, flow=flow_of("gemm"))
    assert found.leading == bound_of("gemm").leading
    assert "any order and tree" in found.proof.text()


def test_tensor_times_matrices_needs_less_in_any_order() -> None:
    program = program_from_text(MTTKRP)
    sizes = dict.fromkeys("ijkl", 1_000) | {"S": 32_768}
    blocked = 4.34e9  # loads of the classical blocking
    bound = lower_bound(program, ANY_ORDER)
    value = bound.value(sizes)
    assert value <= blocked <= 3 * value
    assert lower_bound(program).value(sizes) > blocked
    leading = bound.leading
    at = {item: 1_000 for item in leading.free_symbols if str(item) != "S"}
    by_memory = leading.subs(at)
    (memory,) = by_memory.free_symbols
    assert by_memory.subs({memory: 8_000}) * 4 == by_memory.subs({memory: 1_000})  # S^(2/3)
