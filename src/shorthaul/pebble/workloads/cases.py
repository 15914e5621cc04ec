"""Built-in CDAGs by name: the paper's, and the kernels that the field measures on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shorthaul.core.cases import Case, Parameter
from shorthaul.pebble.model import Cdag
from shorthaul.pebble.workloads import kernels_as_graphs
from shorthaul.pebble.workloads import sparse as sparse_generators

_WEIGHTS = {
    "weights": Parameter(
        "equal",
        "equal: every value is one word; double-accumulator: computed values are two words",
        choices=("equal", "double-accumulator"),
    ),
    "word": Parameter(16, "the weight of one word"),
}
_SEED = Parameter(0, "the seed of the random choices", least=0)

_SPARSE = {
    "n": Parameter(20, "rows and columns of the matrix", most=2**12),
    "percent": Parameter(20.0, "how many percent of the matrix are nonzeros", least=0.001, most=100),
}
_STEPS = Parameter(3, "steps", most=1024)
_DRAWN = {"most": Parameter(1, "largest weight", most=2**20), "seed": _SEED}


def _case(name: str, summary: str, build: Callable[..., Cdag], **parameters: Parameter) -> Case[Cdag]:
    def built(**values: Any) -> Cdag:
        given = ",".join(f"{key}={value}" for key, value in values.items())
        return build(**values, name=f"{name}:{given}")

    return Case(name, summary, built, parameters)


CASES: tuple[Case[Cdag], ...] = (
    _case(
        "dwt",
        "Haar wavelet transform of n samples over d levels (Definition 3.1)",
        kernels_as_graphs.dwt,
        n=Parameter(256, "samples, a multiple of 2^d", most=2**22),
        d=Parameter(8, "levels", most=22),
        **_WEIGHTS,
    ),
    _case(
        "mvm",
        "matrix-vector product with an m x n matrix (Definition 4.1)",
        kernels_as_graphs.mvm,
        m=Parameter(96, "rows", most=2**16),
        n=Parameter(120, "columns", most=2**16),
        **_WEIGHTS,
    ),
    _case(
        "matmul",
        "product of an m x k and a k x n matrix, sums accumulated one product at a time",
        kernels_as_graphs.matmul,
        m=Parameter(4, "rows of the product", most=2**12),
        n=Parameter(4, "columns of the product", most=2**12),
        k=Parameter(4, "terms of each sum", most=2**12),
        **_WEIGHTS,
    ),
    _case(
        "fft",
        "butterfly network of the fast Fourier transform on n points",
        kernels_as_graphs.fft,
        n=Parameter(16, "points, a power of two", least=2, most=2**20),
        **_WEIGHTS,
    ),
    _case(
        "kary",
        "complete tree: every node computed from k parents, depth levels of computation",
        kernels_as_graphs.kary,
        k=Parameter(3, "parents of each node", most=64),
        depth=Parameter(4, "levels above the inputs", most=20),
        **_WEIGHTS,
    ),
    _case(
        "tree",
        "random tree of n nodes with at most k parents each and random weights from 1 to most",
        kernels_as_graphs.random_tree,
        n=Parameter(1000, "nodes", least=2, most=2**22),
        k=Parameter(3, "most parents of a node", least=1, most=64),
        most=Parameter(16, "largest weight", most=2**20),
        seed=_SEED,
    ),
    _case(
        "stencil",
        "t steps of a three-point stencil on a line of n cells",
        kernels_as_graphs.stencil,
        n=Parameter(64, "cells", least=2, most=2**20),
        t=Parameter(8, "time steps", most=2**12),
        **_WEIGHTS,
    ),
    _case(
        "pyramid",
        "pyramid of n levels above n + 1 inputs, every node from two neighbours",
        kernels_as_graphs.pyramid,
        n=Parameter(10, "levels above the inputs", most=2**11),
        **_WEIGHTS,
    ),
    _case(
        "conv",
        "convolution of c channels of h x w cells with f filters of k x k",
        kernels_as_graphs.conv,
        h=Parameter(8, "rows", most=512),
        w=Parameter(8, "columns", most=512),
        c=Parameter(1, "input channels", most=512),
        f=Parameter(1, "filters", most=512),
        k=Parameter(3, "rows and columns of a filter", most=32),
        **_WEIGHTS,
    ),
    _case(
        "attention",
        "one attention head: softmax of Q times K transposed, times V, on n tokens of d numbers",
        kernels_as_graphs.attention,
        n=Parameter(8, "tokens", most=512),
        d=Parameter(4, "numbers per token", most=512),
        **_WEIGHTS,
    ),
    _case(
        "spmv",
        "sparse matrix times vector, fine-grained: every nonzero of a random n x n matrix is an input",
        sparse_generators.spmv,
        **_SPARSE,
        **_DRAWN,
    ),
    _case(
        "exp",
        "k products of the same random sparse matrix and the vector before, fine-grained",
        sparse_generators.exp,
        **_SPARSE,
        k=_STEPS,
        **_DRAWN,
    ),
    _case(
        "knn",
        "k-step neighbourhood of a vertex of a random graph: exp with one nonzero at the start, no zeros computed",
        sparse_generators.knn,
        **_SPARSE,
        k=_STEPS,
        **_DRAWN,
    ),
    _case(
        "cg",
        "k steps of conjugate gradients on a random sparse matrix, fine-grained",
        sparse_generators.cg,
        **_SPARSE,
        k=_STEPS,
        **_DRAWN,
    ),
    _case(
        "random",
        "random CDAG of n nodes, each computed from up to degree nodes among the window before it",
        kernels_as_graphs.random_cdag,
        n=Parameter(1000, "nodes", least=2, most=2**23),
        degree=Parameter(3, "most parents of a node", most=64),
        window=Parameter(64, "how far back parents lie", most=2**23),
        most=Parameter(8, "largest weight", most=2**20),
        seed=_SEED,
    ),
)
