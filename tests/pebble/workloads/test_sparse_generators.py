from __future__ import annotations

import numpy as np
import pytest

from shorthaul.core.errors import InputError
from shorthaul.pebble import case
from shorthaul.pebble.workloads import sparse


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("percent", [0.1, 25.0, 100.0])
def test_a_product_has_two_nodes_per_nonzero_and_two_per_row(seed: int, percent: float) -> None:
    cdag = sparse.spmv(n=12, percent=percent, most=1, seed=seed)
    degrees = cdag.parents.degrees()
    outputs = cdag.outputs()
    nonzeros = int(degrees[outputs].sum())
    assert len(outputs) == 12
    assert len(cdag.inputs()) == nonzeros + 12
    assert cdag.n == 2 * nonzeros + 24
    products = np.unique(np.concatenate([cdag.parents.neighbours(int(v)) for v in outputs]))
    assert degrees[products].tolist() == [2] * nonzeros
    assert nonzeros == 144 if percent == 100.0 else nonzeros >= 12


def test_powers_go_on_from_the_product_before() -> None:
    one, three = (sparse.exp(n=9, percent=30, k=k, most=1, seed=4) for k in (1, 3))
    assert len(three.inputs()) == len(one.inputs())
    assert three.n - len(three.inputs()) == 3 * (one.n - len(one.inputs()))
    assert len(three.outputs()) == 9


def test_a_neighbourhood_computes_no_zeros() -> None:
    for seed in range(5):
        whole = sparse.exp(n=30, percent=6, k=2, most=1, seed=seed)
        cdag = sparse.knn(n=30, percent=6, k=2, most=1, seed=seed)
        assert cdag.n < whole.n / 2
        assert cdag.parents.degrees()[cdag.outputs()].min() >= 1


def test_conjugate_gradients_have_a_scalar_that_a_whole_vector_reads() -> None:
    cdag = sparse.cg(n=7, percent=40, k=2, most=5, seed=3)
    assert len(cdag.outputs()) == 14
    assert np.count_nonzero(cdag.children.degrees() == 14) == 2  # the two steps' lengths
    assert cdag.weights.min() >= 1
    assert cdag.weights.max() <= 5


def test_they_are_cases_of_the_command_line() -> None:
    for name in ("spmv", "exp", "knn", "cg"):
        source = case(f"{name}:n=6,percent=35.5,seed=2")
        assert source.workload.n > 6
        assert source.workload.weights.max() == 1


def test_a_graph_too_large_to_make_is_refused() -> None:
    with pytest.raises(InputError, match="too large to generate"):
        sparse.exp(n=300, percent=100, k=200, most=1, seed=0)
