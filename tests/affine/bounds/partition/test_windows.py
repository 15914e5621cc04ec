"""Windows: convolutions with strides and dilations, transposed ones, frames that overlap."""

from __future__ import annotations

import json
from functools import cache
from math import sqrt
from random import Random

import numpy as np
import pytest
from tests.affine.bounds.test_random_study import least_known
from tests.affine.derived import partition_alone, quick

from shorthaul.affine.bounds.best import AffineBound, lower_bound
from shorthaul.affine.check.certificate import verify
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.counting import card
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.replay.cdag import concrete_cdag
from shorthaul.affine.verbs.deriving import bound_of
from shorthaul.core.search import Search

SIZES = {"n": 60, "m": 40, "S": 900}
#: A sum over channels and a filter of five, by how it is read or written.
ACCESSES = {
    "strided": ("k", "i", "c", "2 * i + r", "r"),
    "transposed": ("k", "2 * i + r", "c", "i", "r"),
    "padded": ("k", "i", "c", "2 * i + r - 1", "r"),
    "from the other end": ("k", "i", "c", "2 * i - r + 4", "r"),
    "behind": ("k", "i + 1", "c", "4 + r + 2 * i", "r + 3"),
}


def text(accesses: tuple[str, str, str, str, str]) -> str:
    out, at, channel, read, weight = accesses
    return (
        "void f(int n, int m, double O[m][3 * n + 9], double I[m][3 * n + 9], double W[m][m][9]) {\n"
        "for (int c = 0; c < m; c++) for (int k = 0; k < m; k++) for (int i = 1; i < n; i++) for (int r = 0; r < 5; r++)\n"
        f"O[{out}][{at}] += I[{channel}][{read}] * W[{out}][{channel}][{weight}]; }}\n"
    )


@cache
def bound(how: str) -> AffineBound:
    return lower_bound(program_from_text(text(ACCESSES[how])), sizes=SIZES, search=Search(effort=0.7))


@pytest.mark.slow
@pytest.mark.parametrize("how", quick(ACCESSES, ("strided",)))
def test_every_second_place_has_three_of_five(how: str) -> None:
    """2 V / sqrt(3 S) with the first loads, in place of 2 V / sqrt(5 S)."""
    V = 5 * SIZES["m"] ** 2 * (SIZES["n"] - 1)
    assert bound(how).value(SIZES) >= 0.97 * 2 * V / sqrt(3 * SIZES["S"])


@pytest.mark.parametrize("how", quick(["strided", "from the other end"], ("strided",)))
def test_the_certificate_is_verified(how: str) -> None:
    program = program_from_text(text(ACCESSES[how]))
    document = json.loads(partition_alone(program, SIZES))
    assert any(any(part["windows"]) for part in document["certificate"]["parts"])
    assert not verify(program, document, SIZES)[0]


def strided(draw: Random) -> str:
    """Return a sum with one or two subscripts that have strides or dilations, read or written, loops in any order."""
    loops, places, reads, weights = [("k", "m"), ("c", "m")], ["k"], ["c"], ["k", "c"]
    for at in range(draw.choice((1, 1, 2))):
        i, r, stride, width = f"i{at}", f"r{at}", draw.choice((1, 2, 2, 3)), draw.choice((2, 3, 4))
        loops += [(i, "n"), (r, str(width))]
        joined = draw.choice((f"{stride} * {i} + {r}", f"{stride} * {i} - {r} + {width}", f"{i} + {stride} * {r}"))
        one, other = (joined, i) if draw.random() < 0.5 else (i, joined)
        places.append(one)
        reads.append(other)
        weights.append(draw.choice((r, f"{r} + 1", f"2 * {r}")))
    draw.shuffle(loops)
    heads = " ".join(f"for (int {name} = 0; {name} < {end}; {name}++)" for name, end in loops)
    arrays = {"O": places, "I": reads, "W": weights}
    declared = ", ".join(f"double {name}" + "[5 * n + m + 9]" * len(listed) for name, listed in arrays.items())
    out, read, weight = ("".join(f"[{item}]" for item in listed) for listed in arrays.values())
    return f"void f(int n, int m, {declared}) {{ {heads} O{out} += I{read} * W{weight}; }}\n"


@pytest.mark.costly
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 12))])
def test_no_play_loads_less(seed: int) -> None:
    program = program_from_text(strided(Random(seed)))
    flow = flow_dependences(program)
    found = lower_bound(program, flow=flow, search=Search(effort=2))
    rng = np.random.default_rng(seed)
    for n, m in ((2, 3), (4, 4), (3, 6)):
        sizes = {"n": n, "m": m}
        if card(program.statements[0].domain).at(sizes) > 1_500:
            continue
        cdag = concrete_cdag(program, sizes, flow)
        for capacity in (4, 7, 12):
            assert found.value({**sizes, "S": capacity}) <= least_known(cdag, capacity, rng)


@pytest.mark.slow
def test_windows_that_do_not_overlap_are_a_product_of_matrices() -> None:
    program = program_from_text(text(("k", "i", "c", "5 * i + r", "r")).replace("3 * n + 9", "5 * n + 9"))
    found = lower_bound(program, sizes=SIZES, search=Search(effort=0.3))
    assert found.value(SIZES) >= 0.97 * 2 * 5 * SIZES["m"] ** 2 * (SIZES["n"] - 1) / sqrt(SIZES["S"])
    document = bound_of(program, found, SIZES, flow_dependences(program)).document()
    assert not verify(program, document, SIZES)[0]


FRAMES = (
    "void f(int F, int L, int K, double x[128 * F + L], double w[K][L], double y[F][K]) {\n"
    "for (int f = 0; f < F; f++) for (int k = 0; k < K; k++) for (int n = 0; n < L; n++)\n"
    "y[f][k] += x[128 * f + n] * w[k][n]; }\n"
)


@pytest.mark.slow
def test_frames_that_overlap_have_as_many_windows_as_they_are_wide() -> None:
    """A value is in four frames: 2 V / sqrt(4 S)."""
    program, sizes = program_from_text(FRAMES), {"F": 400, "L": 512, "K": 257, "S": 4096}
    found = lower_bound(program, sizes=sizes, search=Search(effort=0.5))
    value, V = found.value(sizes), 400 * 512 * 257
    assert value >= 0.98 * V / sqrt(sizes["S"]) - 128 * 400 - 400 * 257
