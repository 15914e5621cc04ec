"""Compiled kernels and their plain twins."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tests.tensor.random_plans import random_problem
from tests.twins import Case, assert_agree

from shorthaul.tensor.cost_model.cost import kernel_arguments
from shorthaul.tensor.cost_model.profile import profile_of


def costs(kernels: ModuleType, rng: np.random.Generator) -> Any:
    problem = random_problem(rng, operators=4)
    inside = frozenset(range(len(problem.operators)))
    outputs = [op.output for op in problem.operators if not set(problem.consumers[op.output]) & inside]
    shape = problem.tensors[outputs[0]]
    outputs = [tensor for tensor in outputs if problem.tensors[tensor] == shape]
    profile = profile_of(problem, inside, outputs, frozenset({int(rng.integers(len(problem.tensors)))}), frozenset())
    made = kernels.Costs(*kernel_arguments(profile, problem.machine))
    w, h, k = (rng.integers(1, 13, 40) for _ in range(3))
    peak, latency, steps, values = np.empty(40), np.empty(40), np.empty(40), np.empty(25)
    kernels.peaks(made, w, h, k, peak)
    kernels.prices(made, w, h, k, latency, steps)
    kernels.classes(made, int(w[0]), int(h[0]), int(k[0]), values)
    return peak, latency, steps, values


CASES: list[tuple[str, Case]] = [("shorthaul.tensor.cost_model.cost_kernels", costs)]


@pytest.mark.parametrize(("name", "case"), CASES, ids=[case.__name__ for _, case in CASES])
def test_compiled_and_plain_agree(name: str, case: Case) -> None:
    assert_agree(name, case)
