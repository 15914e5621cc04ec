"""Choices between values: bounds for hardware that reads both branches, and for hardware that reads one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.affine.bounds.test_random_study import least_known
from tests.affine.derived import quick

from shorthaul.affine import bound, check, program_from_text
from shorthaul.affine.bounds.best import fitted, lower_bound
from shorthaul.affine.model import Program
from shorthaul.affine.replay.cdag import concrete_cdag
from shorthaul.affine.verbs.answer import printed
from shorthaul.core.errors import InputError
from shorthaul.core.result import Status
from shorthaul.core.search import Search

HEAD = (
    "void f(int N, double A[N + 2][N + 2], double B[N + 2][N + 2], double C[N + 2][N + 2], double w[N + 2]) {\n"
    "#pragma scop\n%s\n#pragma endscop\n}\n"
)
SUM = "for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) w[i] += %s;"
PRODUCT = "for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) for (int k = 0; k < N; k++) C[i][j] += %s;"
STEPS = "for (int i = 1; i < N; i++) for (int j = 1; j < N; j++) C[i][j] = %s;"
#: A condition and two branches within loops.
CHOICES = {
    "sum": (SUM, "C[i][j] > 0", "A[i][j]", "B[i][j]"),
    "gate": (PRODUCT, "A[i][k] > 0", "A[i][k] * B[k][j]", "w[k]"),
    "either product": (PRODUCT, "A[i][k] > B[k][j]", "A[i][k] * w[j]", "w[i]"),
    "alignment": (STEPS, "w[i] > w[j]", "C[i - 1][j - 1]", "C[i - 1][j] + C[i][j - 1]"),
}
SIZES = {"sum": (9,), "gate": (6, 10), "either product": (6, 10), "alignment": (9, 16)}


def program(name: str, value: str) -> Program:
    return program_from_text(HEAD % (CHOICES[name][0] % value))


@pytest.mark.costly
@pytest.mark.parametrize("name", quick(CHOICES, ("sum", "gate")))
def test_no_play_that_reads_one_branch_is_below(name: str) -> None:
    """Whatever is chosen: the first one always, the second one, by turns."""
    _, condition, one, other = CHOICES[name]
    made = lower_bound(program(name, f"{condition} ? {one} : {other}").with_sure_reads())
    asked = condition.replace(">", "+")
    rng = np.random.default_rng(1)
    for n in SIZES[name]:
        for chosen in (one, other, f"((i + 2 * j) % 3 == 0 ? {one} : {other})"):
            cdag = concrete_cdag(program(name, f"({asked}) * ({chosen})"), {"N": n})
            for capacity in (5, 8):
                sizes = {"N": n, "S": capacity}
                value = max(made.value(sizes), fitted(made, sizes, Search()).value(sizes))
                assert value <= least_known(cdag, capacity, rng)


def test_both_numbers_are_printed_and_either_is_certified(tmp_path: Path) -> None:
    name = "gate"
    chosen = program(name, "{} ? {} : {}".format(*CHOICES[name][1:]))
    size = "N=60,S=40"
    both, one = (bound(chosen, size=size, upper=False, one_branch=item, effort=0.1) for item in (False, True))
    assert both.bound.value > 2 * one.bound.value == 2 * both.bound.details["one_branch"]["value"]
    assert one.bound.details["both_branches"]["value"] == both.bound.value
    assert "Both branches of a choice" in both.bound.details["model"]
    assert "reads one of its branches" in one.bound.details["model"]
    assert f"where one branch is read (jumps) {one.bound.value:,.0f} words" in printed(both, "text", proof=False)
    for at, item in enumerate((both, one)):
        item.save(tmp_path / f"{at}.json")
        assert check(chosen, bound=str(tmp_path / f"{at}.json")).status is not Status.INVALID
    text = (tmp_path / "0.json").read_text()
    (tmp_path / "0.json").write_text(text.replace('"branches": "both"', '"branches": "one"'))
    assert check(chosen, bound=str(tmp_path / "0.json")).status is Status.INVALID


def test_without_choices_nothing_is_said() -> None:
    plain = program_from_text(HEAD % (SUM % "C[i][j] > A[i][j] ? C[i][j] : A[i][j]"))
    result = bound(plain, size="N=60,S=40", upper=False)
    assert "choices" not in printed(result, "text", proof=False)
    assert result.bound.details["branches"] is None
    with pytest.raises(InputError):
        bound(plain, size="N=60,S=40", one_branch="perhaps")  # type: ignore[arg-type]
