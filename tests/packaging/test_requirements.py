"""The files of requirements are in step with pyproject.toml: every bound, every package, every hash."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
IMPORTED = r"""(?:^\s*import |^\s*from (?=[\w.]+ import )|importorskip\(")(\w+)"""


def named(line: str) -> str:
    return re.split(r"[^\w.-]", line, maxsplit=1)[0].lower().replace("_", "-")


def pinned(file: str) -> dict[str, str]:
    lines = (ROOT / "requirements" / file).read_text().splitlines()
    return {named(line): line.split("==")[1].split()[0] for line in lines if re.match(r"\w.*==", line)}


def test_the_lowest_versions_are_those_stated() -> None:
    stated = [
        *PROJECT["dependencies"],
        *(item for name in ("sklearn", "onnx", "cluster", "plotly") for item in EXTRAS[name]),
    ]
    versions = pinned("lowest.txt")
    for item in stated:
        least = re.search(r">=([\d.]+)", item)
        assert least is not None, f"{item} has no lower bound"
        numbers = versions[named(item)].split(".")
        assert numbers[: least[1].count(".") + 1] == least[1].split("."), f"run 'make lock': {item}"


def test_the_lock_holds_everything_with_hashes() -> None:
    text = (ROOT / "requirements" / "dev.txt").read_text()
    assert {named(item) for item in [*PROJECT["dependencies"], *EXTRAS["dev"]]} <= set(pinned("dev.txt"))
    entries = re.split(r"\n(?=\w)", text)
    assert [entry for entry in entries if "--hash=sha256:" not in entry] == []
    assert not re.search(r"https?://|file:", text)


def test_tests_use_only_what_the_extra_installs() -> None:
    ours = {path.stem for path in (ROOT / "tests").rglob("*.py")} | {"shorthaul", "tests", "benchmarks"}
    known = {
        "sklearn": "scikit-learn",
        "joblib": "scikit-learn",
        "threadpoolctl": "scikit-learn",
        "Cython": "cython",
        "cython": "cython",
        "_pytest": "pytest",
        "distributed": "distributed",
    }
    allowed = {named(item) for item in [*PROJECT["dependencies"], *EXTRAS["dev"]]}
    allowed |= {"torch"}  # of some gigabytes: its test is skipped without it
    for path in (ROOT / "tests").rglob("*.py"):
        for name in re.findall(IMPORTED, path.read_text(), re.MULTILINE):
            if name not in sys.stdlib_module_names and name not in ours:
                assert known.get(name, name).replace("_", "-") in allowed, f"{path.name} imports {name}"
