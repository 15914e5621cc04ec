"""All pairs of elements with a row and a column of their array: pieces of one statement are one argument."""

from __future__ import annotations

import pytest
from tests.affine.bounds.lifetime.test_few_values import checked
from tests.affine.check.test_certificate import assert_is_verified
from tests.affine.derived import quick

from shorthaul.affine.bounds.best import fitted, lower_bound
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.workloads.cases import kernel
from shorthaul.core.search import Search

FRAME = (
    "void f(int n, double A[n][n], double B[n][n]) {\n#pragma scop\n"
    "for (int k = %s) for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) %s\n"
    "#pragma endscop\n}\n"
)
UP, DOWN = "0; k < n; k++", "n - 1; k >= 0; k--"
PROGRAMS = {
    "bottleneck paths": FRAME % (UP, "A[i][j] = max(A[i][j], min(A[i][k], A[k][j]));"),
    "from the last step on": FRAME % (DOWN, "A[i][j] += A[i][k] * A[k][j];"),
    "a factor of its own": FRAME % (UP, "A[i][j] += A[i][k] * B[k][j];"),
}


@pytest.mark.parametrize("name", quick(PROGRAMS, ("from the last step on",)))
def test_pieces_are_one_argument(name: str) -> None:
    text = PROGRAMS[name]
    found = checked(text, ((3,), (4,)))
    assert "K-partition, pieces merged" in [part.method for part in found.proof.parts]
    assert_is_verified(program_from_text(text), found)


@pytest.mark.slow
def test_sources_of_shortest_paths_count_once() -> None:
    """Of 5 N^2 sources N^2 are inputs: rows and columns before their step, and chains that begin again behind them."""
    general = lower_bound(kernel("floyd-warshall"))
    sizes = {"N": 2800, "S": 131_072}
    leading = 2 * 2800**3 / 131_072**0.5
    assert leading - 4.1 * 2800**2 < fitted(general, sizes, Search()).value(sizes) < leading - 3.9 * 2800**2


def test_what_is_not_written_has_one_piece() -> None:
    found = lower_bound(program_from_text(FRAME % (UP, "A[i][j] += B[i][k] * B[k][j];")))
    assert [part.method for part in found.proof.parts] == ["K-partition"]
