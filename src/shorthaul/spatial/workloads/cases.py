"""Built-in trees, usable wherever a tree file is: ``yule:n=1048576,seed=1``."""

from __future__ import annotations

from typing import Final

from shorthaul.core.cases import Case, Parameter
from shorthaul.spatial.model import Tree
from shorthaul.spatial.workloads import generators

_N = Parameter(1024, "vertices", least=1, most=2**26)
_SEED = Parameter(0, "seed of the random choices", least=0)


CASES: Final[tuple[Case[Tree], ...]] = (
    Case("path", "a path from its root", generators.path, {"n": _N}),
    Case("star", "a root with n - 1 leaves", generators.star, {"n": _N}),
    Case("caterpillar", "a path with a leaf at every vertex", generators.caterpillar, {"n": _N}),
    Case("perfect-binary", "perfect binary, at most n vertices", generators.perfect_binary, {"n": _N}),
    Case(
        "yule",
        "a Yule tree: random leaves split in two; odd, at most n vertices",
        generators.yule,
        {"n": _N, "seed": _SEED},
    ),
    Case(
        "uniform-binary",
        "a uniformly random binary tree; odd, at most n vertices",
        generators.uniform_binary,
        {"n": _N, "seed": _SEED},
    ),
    Case("random-recursive", "vertices under earlier ones", generators.random_recursive, {"n": _N, "seed": _SEED}),
    Case(
        "preferential-attachment",
        "vertices under earlier ones, by degree",
        generators.preferential_attachment,
        {"n": _N, "seed": _SEED},
    ),
    Case("random-path", "a path stored in random order", generators.random_path, {"n": _N, "seed": _SEED}),
)
