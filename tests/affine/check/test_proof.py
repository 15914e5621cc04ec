"""Printed proofs: nothing refers to code, every lemma that is named is stated and proven, numbers follow from facts."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import sympy
from tests.affine.derived import bound_of, quick

from shorthaul.affine.bounds.partition.isoperimetry import isoperimetric_constant
from shorthaul.affine.integer_sets.leading_term import S
from shorthaul.affine.proofs import lemmas

#: One kernel for every kind of argument.
KERNELS = quick(
    ("cholesky", "symm", "jacobi-1d", "jacobi-2d", "syr2k", "durbin", "ludcmp", "deriche", "atax", "lu"),
    ("cholesky", "symm", "jacobi-2d"),
)


@pytest.mark.costly
@pytest.mark.parametrize("name", KERNELS)
def test_a_proof_stands_by_itself(name: str) -> None:
    proof = bound_of(name).proof
    text = proof.text()
    assert "shorthaul" not in text + proof.latex() + str(proof.document())
    named = set(re.findall(r"Lemma \(([^)]+?)[;)]", text))
    stated = {item.name.split(";")[0] for item in proof.lemmas}
    assert named == stated
    assert all(item.proof and item.statement for item in proof.lemmas)
    for statement in bound_of(name).program.statements:
        assert f"{statement.name}: {statement.text};" in text
    for item in proof.parts:
        assert f"may-spill set: {item.may_spill}" in text
        assert "i0" not in item.may_spill


@pytest.mark.parametrize("name", KERNELS)
def test_latex_is_balanced(name: str) -> None:
    text = bound_of(name).proof.latex()
    plain = text.replace("\\{", "").replace("\\}", "")
    assert plain.count("{") == plain.count("}")
    assert text.count("\\[") == text.count("\\]")
    assert not re.search(r"(?<!\\)[#%]", text)


@pytest.mark.costly
@pytest.mark.parametrize("name", quick(("jacobi-1d", "jacobi-2d", "heat-3d"), ("jacobi-1d", "jacobi-2d")))
def test_the_numbers_of_the_balanced_form(name: str) -> None:
    """B, lambda, U and the value, computed again from the facts that stand above them."""
    (part,) = bound_of(name).proof.parts
    facts = part.facts
    n, c, K, T = (facts[key] for key in ("n", "c", "K", "T"))
    rho = (K / (2 ** (n + 1) - 1)) ** (1 / n)
    extra = 1 if n == 1 else 1 + 1 / n
    again = {"rho": rho, "lambda": rho / c, "B": 2 * n / ((n + 1) * c) * rho * K + extra * K}
    for at in (1, 7, 300):
        for key, value in again.items():
            assert float((facts[key] - value).subs(S, at)) == pytest.approx(0, abs=1e-9)
    balanced = (
        T * (facts["|D|"] + facts["lambda"] * (facts["sources"] - facts["|F|"])) / facts["B"] - T - facts["sources"]
    )
    sizes = dict.fromkeys(part.value.free_symbols, 40) | {S: 16}
    plain = T * sympy.floor(facts["|D|"] / facts["U"]) - facts["sources"]
    expected = max(float(balanced.subs(sizes)), float(plain.subs(sizes)))
    assert float(part.value.subs(sizes)) == pytest.approx(expected)


@pytest.mark.parametrize("offsets", [
    {(0, 0), (0, 1), (1, 0), (0, -1), (-1, 0)}, {(a, b) for a in (0, 1) for b in (-1, 0, 1)},
    {(0, 0, 0), (0, 0, 1), (0, 0, -1), (0, 1, 0), (0, -1, 0), (1, 0, 0), (-1, 0, 0)}, {(-1,), (0,), (2,)},
])  # fmt: skip
def test_sets_have_as_many_neighbours_as_said(offsets: set[tuple[int, ...]]) -> None:
    """Balls, boxes and random sets, grown point by point."""
    found = isoperimetric_constant(frozenset(offsets))
    assert found is not None
    c, n = float(found[0]), len(next(iter(offsets)))
    rng = np.random.default_rng(3)
    places = [tuple(int(value) for value in row) for row in np.indices((9,) * n).reshape(n, -1).T - 4]
    orders = [
        sorted(places, key=lambda place: (sum(map(abs, place)), place)),
        sorted(places, key=lambda place: (max(map(abs, place)), place)),
        [places[at] for at in rng.permutation(len(places))],
    ]
    for order in orders:
        reached: set[tuple[int, ...]] = set()
        for size, place in enumerate(order, 1):
            reached |= {tuple(a + b for a, b in zip(place, offset, strict=True)) for offset in offsets}
            assert len(reached) >= size + c * size ** ((n - 1) / n) - 1e-9


def test_every_lemma_of_the_page_is_used_by_its_name() -> None:
    used = {id(item) for item in vars(lemmas).values() if isinstance(item, lemmas.Lemma)}
    assert used == {id(item) for item in lemmas.LEMMAS.values()}
    page = Path(__file__).parents[3].joinpath("docs", "affine-theorems.md").read_text()
    assert len(used) == page.count("```text")
    assert all(item.text() in page for item in lemmas.LEMMAS.values())
