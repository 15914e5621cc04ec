from __future__ import annotations

from pathlib import Path

import pytest

from shorthaul.core.cases import Case, Parameter, resolve
from shorthaul.core.errors import InputError


def build(n: int, kind: str, p: float) -> tuple[int, str, float]:
    return n, kind, p


PARAMETERS = {
    "n": Parameter(8, least=2, most=100),
    "kind": Parameter("yule", choices=("yule", "star")),
    "p": Parameter(0.5, least=0, most=1),
}
CASES = [Case("tree", "a tree", build, PARAMETERS)]


def load(path: Path, data: bytes) -> tuple[int, str, float]:
    return len(data), path.name, 0.0


def test_cases_and_files() -> None:
    assert resolve("tree", CASES, load).workload == (8, "yule", 0.5)
    assert resolve("tree:n=9, kind=star", CASES, load).workload == (9, "star", 0.5)
    assert resolve("tree:n=8", CASES, load).digest == resolve("tree", CASES, load).digest
    assert resolve("tree:n=9", CASES, load).digest != resolve("tree", CASES, load).digest


def test_a_file_wins_over_a_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tree").write_text("abc")
    assert resolve("tree", CASES, load).workload == (3, "tree", 0.0)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("tre", "did you mean 'tree'"),
        ("missing.json", "no such file"),
        ("tree:n=1", "2 to 100"),
        ("tree:n=1.5", "an integer from"),
        ("tree:n=x", "is not a number"),
        ("tree:p=nan", "out of range"),
        ("tree:kind=yul", "did you mean 'yule'"),
        ("tree:m=1", "unknown parameter"),
        ("tree:n", "name=value"),
        ("tree:n=3,n=4", "given twice"),
        ("a\0b", "unknown file or built-in case"),
        ("x" * 5000, "unknown file or built-in case"),
    ],
)
def test_wrong_inputs(text: str, says: str) -> None:
    with pytest.raises(InputError) as caught:
        resolve(text, CASES, load)
    assert says in str(caught.value)
