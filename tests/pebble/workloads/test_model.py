"""The model, the generators and the cases."""

from __future__ import annotations

import numpy as np
import pytest
from tests.samples import samples

from shorthaul.core.errors import InfeasibleError, InputError
from shorthaul.pebble.model import LARGEST_TOTAL, build, from_pairs, require_budget
from shorthaul.pebble.workloads import kernels_as_graphs
from shorthaul.pebble.workloads.cases import CASES


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_case_builds_at_its_smallest(case) -> None:
    values = {name: parameter.default for name, parameter in case.parameters.items()}
    small = {
        name: max(2, int(parameter.least))
        for name, parameter in case.parameters.items()
        if isinstance(parameter.default, int)
    }
    small |= {"d": 1} if case.name == "dwt" else {}
    small |= {"k": 1} if case.name == "conv" else {}
    cdag = case.build(**(values | small))
    assert cdag.name.startswith(case.name)
    assert not (cdag.is_input() & cdag.is_output()).any()
    cdag.children.reversed()
    assert case.build(**values).n > 1


@pytest.mark.parametrize(
    ("cdag", "nodes", "inputs", "outputs", "bound"),
    [
        (kernels_as_graphs.dwt(n=8, d=3, word=1), 22, 8, 8, 16),
        (kernels_as_graphs.mvm(m=3, n=2, word=1), 17, 8, 3, 11),
        (kernels_as_graphs.matmul(m=2, n=2, k=3, word=1), 32, 12, 4, 16),
        (kernels_as_graphs.fft(n=16, word=1), 80, 16, 16, 32),
        (kernels_as_graphs.kary(k=3, depth=3, word=1), 40, 27, 1, 28),
        (kernels_as_graphs.stencil(n=5, t=2, word=1), 15, 5, 5, 10),
        (kernels_as_graphs.pyramid(n=10, word=1), 66, 11, 1, 12),
        (kernels_as_graphs.conv(h=4, w=5, c=2, f=3, k=2, word=1), 2 * 20 + 3 * 8 + 36 * 8 + 36 * 7, 64, 36, 100),
        (kernels_as_graphs.attention(n=3, d=2, word=1), 18 + 9 * 3 + 9 + 6 + 9 + 6 * 5, 18, 6, 24),
    ],
)
def test_sizes(cdag, nodes: int, inputs: int, outputs: int, bound: int) -> None:
    assert (cdag.n, len(cdag.inputs()), len(cdag.outputs()), cdag.algorithmic_bound()) == (
        nodes,
        inputs,
        outputs,
        bound,
    )


def test_definition_3_1() -> None:
    cdag = kernels_as_graphs.dwt(n=4, d=2)
    children = {v + 1: [c + 1 for c in sorted(cdag.children.neighbours(v).tolist())] for v in range(cdag.n)}
    # v1..v4 samples; 5, 7 averages, 6, 8 coefficients; 9 average, 10 coefficient
    assert children == {1: [5, 6], 2: [5, 6], 3: [7, 8], 4: [7, 8], 5: [9, 10], 6: [], 7: [9, 10], 8: [], 9: [], 10: []}


def test_random_graphs_have_no_isolated_node() -> None:
    for seed in samples(200):
        kernels_as_graphs.random_cdag(n=2 + seed % 9, degree=2, window=3, most=3, seed=seed)


@pytest.mark.parametrize(
    ("weights", "edges", "message"),
    [
        ([], [], "has no nodes"),
        ([1.5, 2], [(0, 1)], "is not an integer"),
        ([True, True], [(0, 1)], "is not an integer"),
        ([1, 0], [(0, 1)], "must be positive"),
        ([1, -4], [(0, 1)], "must be positive"),
        ([LARGEST_TOTAL, 1], [(0, 1)], "are too large"),
        ([1, 1], [(0, 2)], "names a node that does not exist"),
        ([1, 1], [(0, 1), (1, 0)], "the graph has a cycle"),
        ([1, 1, 1], [(0, 1)], "a node has no edge"),
    ],
)
def test_broken_graphs(weights, edges, message: str) -> None:
    pairs = np.array(edges, dtype=np.int64).reshape(-1, 2)
    with pytest.raises(InputError, match=message):
        build(weights, pairs[:, 0], pairs[:, 1])


def test_edges_in_any_order_count_once() -> None:
    rng = np.random.default_rng(3)
    repeated = 0
    for _ in range(200):
        n = int(rng.integers(2, 8))
        pairs = [sorted(rng.choice(n, 2, replace=False).tolist()) for _ in range(int(rng.integers(1, 14)))]
        used = sorted({v for pair in pairs for v in pair})
        edges = [(used.index(a), used.index(b)) for a, b in pairs]
        repeated += len(set(edges)) < len(edges)
        cdag = build([1] * len(used), *zip(*edges, strict=True))
        for v in range(cdag.n):
            assert cdag.parents.neighbours(v).tolist() == [a for a, b in dict.fromkeys(edges) if b == v]
            assert cdag.children.neighbours(v).tolist() == [b for a, b in dict.fromkeys(edges) if a == v]
    assert 20 < repeated < 180


def test_edges_given_twice_count_once() -> None:
    assert from_pairs([1, 1], [(0, 1), (0, 1)]).edges == 1
    rng = np.random.default_rng(0)
    for operands in (3, 8, 9, 20):  # compared pair by pair, or sorted
        for again in (0, 1, 3):
            sources = [*rng.permutation(operands).tolist(), *rng.choice(operands, again, replace=False).tolist()]
            assert from_pairs([1] * (operands + 1), [(source, operands) for source in sources]).edges == operands


def test_an_operation_that_cannot_fit_names_node_need_and_budget() -> None:
    with pytest.raises(InfeasibleError) as caught:
        require_budget(from_pairs([2, 3, 4], [(0, 2), (1, 2)]), 8)
    assert str(caught.value) == (
        "infeasible at node 2: fast memory: 9 needed, the limit is 8\n  operand 0: 2\n  operand 1: 3\n"
        "  the result 2: 4\n  do:      give a budget of at least 9"
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: kernels_as_graphs.dwt(n=6, d=2), "must be a multiple of 2"),
        (lambda: kernels_as_graphs.fft(n=6), "must be a power of two"),
        (lambda: kernels_as_graphs.conv(h=2, w=2, c=1, f=1, k=3), "must not exceed h and w"),
        (lambda: kernels_as_graphs.kary(k=64, depth=20), "is too large to generate"),
        (lambda: kernels_as_graphs.mvm(m=2**16, n=2**16), "is too large to generate"),
    ],
)
def test_broken_parameters(call, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()
