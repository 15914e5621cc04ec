"""Places that several words stand for, as bodies with three coordinates and a mass: as many as by hand, and no play beats it."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
import sympy
from tests.affine.bounds.test_random_study import least_known
from tests.affine.derived import quick

from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.bounds.partition.brascamp_lieb import best_exponents
from shorthaul.affine.bounds.partition.candidates import instances
from shorthaul.affine.bounds.partition.merged_statements import groups_of_statements
from shorthaul.affine.check.certificate import verify
from shorthaul.affine.effort import charged_to
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.integer_sets.quasi_polynomial import symbol
from shorthaul.affine.replay.cdag import concrete_cdag
from shorthaul.affine.verbs.deriving import bound_of as as_bound
from shorthaul.core.search import Search

N, M, S = (symbol(name) for name in ("N", "M", "S"))
ROWS, COLUMNS = ((0, 1),), ((1, 0),)


def body(statements: str, arrays: str, loops: str = "for (int i = 0; i < N; i++) for (int j = 0; j < M; j++)") -> str:
    return f"void f(int N, int M, {arrays}) {{\n#pragma scop\n{loops} {{ {statements} }}\n#pragma endscop\n}}"


#: name, text, leading term (for x words of a place i and y of a place j x y N M / S, half of a word of both each)
BODIES = {
    "two species": (
        body(
            "e[i] += q[j] * (u[j] - x[i]) * (v[j] - y[i]) * (w[j] - z[i]);",
            "double x[N], double y[N], double z[N], double u[M], double v[M], double w[M], double q[M], double e[N]",
        ),
        16 * M * N / S,
    ),
    "distances": (
        body(
            "d[i][j] = (p[i][0] - q[j][0]) * (p[i][1] - q[j][1]) * (p[i][2] - q[j][2]);",
            "double p[N][3], double q[M][3], double d[N][M]",
        ),
        9 * M * N / S,
    ),
    "bodies": (
        body(
            "a[i] += m[j] * (x[j] - x[i]) * (y[j] - y[i]) * (z[j] - z[i]);",
            "double x[N], double y[N], double z[N], double m[N], double a[N]",
            "for (int i = 0; i < N; i++) for (int j = 0; j < N; j++)",
        ),
        25 * N**2 / (4 * S),
    ),
    # A sums and J bodies: A + 2 J <= 2 S, as x[i] may be among x[j], so at most A J of 2 N^2 terms in a segment
    "forces": (
        body(
            "double r = (x[i] - x[j]) * (y[i] - y[j]); f[i] += r * (x[i] - x[j]); g[i] += r * (y[i] - y[j]);",
            "double x[N], double y[N], double f[N], double g[N]",
            "for (int i = 0; i < N; i++) for (int j = 0; j < N; j++)",
        ),
        4 * N**2 / S,
    ),
}


@pytest.mark.parametrize("name", quick(BODIES, ("bodies", "forces")))
def test_every_word_of_a_place_counts(name: str) -> None:
    text, leading = BODIES[name]
    program = program_from_text(text)
    found = lower_bound(program)
    assert sympy.simplify(found.leading - leading) == 0
    document = as_bound(program, found, None, flow_dependences(program)).document()
    violations, remarks = verify(program, json.loads(json.dumps(document)), None)
    assert not violations
    assert remarks
    assert all(text.endswith(": verified") for text in remarks)


@pytest.mark.parametrize("words", range(1, 5))
def test_exponents_are_small_fractions(words: int) -> None:
    """One of each pair of families may be added, one more family of each kernel in any case."""
    pairs = [(at, words + at) for at in range(words)]
    cliques = tuple((*chosen, 2 * words, 2 * words + 1) for chosen in itertools.product(*pairs))
    kernels = (*[ROWS] * words, *[COLUMNS] * words, ROWS, COLUMNS)
    found = best_exponents(kernels, 2, cliques)
    assert found is not None
    assert sum(found.shares) == 1
    assert found.powers() == ((1 / (1 + Fraction(words, 2)), 2),)
    assert all(value.denominator <= 60 for value in found.shares)


def words(seed: int) -> str:
    """Return interactions of places that have random words each, summed in random ways."""
    rng = np.random.default_rng(seed)
    names = "ABCDE"[: int(rng.integers(2, 6))]
    reads = [f"{name}[{at}]" for name in names for at in "ij" if rng.random() < 0.7] + ["F[i]", "F[j]"]
    targets = [
        ["X[i] +=", "X[j] +=", "X[i][j] =", "X[0] +=", f"{names[0]}[j] +="][at] for at in rng.choice(5, 2, False)
    ]
    kept = [" * ".join(rng.permutation(reads)[: max(2, len(reads) - at)]) for at in range(2)]
    lines = [f"{target.replace('X', 'XY'[at])} {kept[at]};" for at, target in enumerate(targets)]
    lines = lines[: int(rng.integers(1, 3))]
    arrays = ", ".join(f"double {name}[N]" for name in (*names, "F"))
    arrays += "".join(f", double {name}[N]{'[N]' if f'{name}[i][j]' in ' '.join(lines) else ''}" for name in "XY")
    most = "i" if rng.random() < 0.3 else "N"
    loops = f"for (int i = 0; i < N; i++) for (int j = 0; j < {most}; j++)"
    return body(" ".join(lines), arrays, loops).replace("int M, ", "")


@pytest.mark.parametrize("seed", quick(range(24), (3,)))
def test_no_play_beats_the_bound(seed: int) -> None:
    program = program_from_text(words(seed))
    found, active = lower_bound(program), 0
    for size in (2, 3, 5, 9, 20):
        cdag = concrete_cdag(program, {"N": size})
        least = int(np.diff(cdag.starts).max(initial=0)) + 1
        for capacity in (least, least + 1, 2 * least):
            value = found.value({"N": size, "S": capacity})
            active += value > cdag.inputs
            assert value <= least_known(cdag, capacity, np.random.default_rng(seed))
    assert active


def test_a_search_for_groups_goes_on_where_it_ended() -> None:
    text = "C[i][j] += A[i][k] * B[k][j]; D[i][j] += A[i][k] * E[k][j];"
    loops = "for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) for (int k = 0; k < N; k++)"
    arrays = ", ".join(f"double {name}[N][N]" for name in "ABCDE")
    flow = flow_dependences(program_from_text(body(text, arrays, loops)))
    find = partial(groups_of_statements, flow, instances(), {"N": 100, "M": 100, "S": 16}, symmetric=True)
    with charged_to(Search(effort=0.01)):
        first = find()
    with charged_to(Search(effort=10)) as search:
        later, spent = find(), search.spent()
        assert list(map(id, find())) == list(map(id, later))
    assert search.spent() < 1.1 * spent
    assert [max(len(item.argument.parts) for item in found) for found in (first, later)] == [1, 2]
