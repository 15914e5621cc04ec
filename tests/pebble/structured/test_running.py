"""Plans executed on numbers that cancel, or that double precision cannot hold."""

from __future__ import annotations

import numpy as np
import pytest

from shorthaul import pebble
from shorthaul.core.errors import InputError
from shorthaul.pebble.structured import matrix_vector
from shorthaul.pebble.workloads.kernels_as_graphs import mvm


@pytest.mark.parametrize("seed", range(3))
def test_products_that_cancel_agree(seed: int) -> None:
    cdag = mvm(m=2, n=50, word=1)
    form = matrix_vector.recognise(cdag)
    assert form is not None
    rng, values = np.random.default_rng(seed), np.zeros(cdag.n)
    large = rng.standard_normal(25) * 1e8
    values[form.vector] = 1.0
    values[form.matrix] = np.concatenate([large, -rng.permutation(large)])
    assert pebble.run(cdag, budget=60, effort=0.05, data=values[cdag.inputs()]).extra["run"]["error"] < 1e-15


@pytest.mark.parametrize("kernel", ["mvm:m=2,n=3,word=1", "fft:n=8,word=1", "dwt:n=8,d=3,word=1"])
def test_results_beyond_double_precision_are_refused(kernel: str) -> None:
    count = 9 if kernel.startswith("mvm") else 8
    with pytest.raises(InputError, match="lead to results beyond double precision\n  found:   1e\\+308"):
        pebble.run(kernel, budget=16, effort=0.05, data=np.full(count, 1e308))
    assert pebble.run(kernel, budget=16, effort=0.05, data=np.full(count, 1e150)).extra["run"]["agrees"]
