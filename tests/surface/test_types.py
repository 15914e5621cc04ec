"""Scripts as users write them, through mypy: right ones pass, every wrong keyword, value or type is an error."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted((ROOT / "tests" / "surface" / "scripts").glob("*.py"))


def test_scripts_are_checked_by_their_types() -> None:
    """``make lint`` does it, beside the sources: an error that does not come where one is expected is one itself."""
    checked = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]
    assert "tests/surface/scripts" in checked["files"]
    assert checked["strict"], "a type: ignore that is not needed is an error then"
    assert len(SCRIPTS) == 12
    assert sum(path.read_text().count("# type: ignore[") for path in SCRIPTS) > 50
