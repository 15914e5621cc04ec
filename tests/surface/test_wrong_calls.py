"""Wrong calls of the Python surface end in an error that says what is wrong, never in one of Python's own."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

import shorthaul
from shorthaul.core.errors import InfeasibleError, InputError
from tests.surface.test_keywords import VERBS
from tests.surface.wrong_calls import wrong_calls

SMALL = {
    "affine": "matvec",
    "dataflow": "fig7",
    "pebble": "dwt:n=8,d=3,word=1",
    "spatial": "path:n=8",
    "tensor": "example-3",
}
#: Keywords without which a verb refuses every call, and those that make it quick.
KEYWORDS: dict[str, dict[str, object]] = {
    "affine code": {"size": "M=4,N=4,S=8"},
    "affine plan": {"size": {"M": 4, "N": 4, "S": 8}},
    "affine sweep": {"size": "M=4,N=4", "points": 2},
    "affine cdag": {"size": "M=4,N=4"},
    "dataflow buffers": {"serial": True},
    "dataflow plan": {"generations": 1, "population": 4},
    "dataflow run": {"generations": 1},
    "dataflow sweep": {"generations": 1, "population": 4},
    "spatial lca": {"queries": [[0, 1]]},
    "spatial sweep": {"orders": "bfs"},
}


@functools.cache
def plan_of(engine: str) -> object:
    match engine:
        case "affine":
            return shorthaul.affine.plan(SMALL[engine], size="M=4,N=4,S=8", effort=1)
        case "dataflow":
            return shorthaul.dataflow.plan(SMALL[engine], generations=1, population=4, polish_effort=0)
        case _:
            return getattr(shorthaul, engine).plan(SMALL[engine], effort=0.01)


@pytest.mark.parametrize(("engine", "name", "made"), VERBS, ids=[f"{engine} {name}" for engine, name, _ in VERBS])
def test_wrong_calls(engine: str, name: str, made: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    function = getattr(getattr(shorthaul, engine), name)
    calls = list(wrong_calls(made, SMALL[engine], plan_of(engine), KEYWORDS.get(f"{engine} {name}", {})))
    assert len(calls) > 100
    wrong = []
    for call in calls:
        try:
            function(*call.positional, **call.keywords)
            wrong.append(f"no error: {call}")
        except (InputError, InfeasibleError) as error:
            if not str(error):
                wrong.append(f"no message: {call}")
        except Exception as error:
            wrong.append(f"{type(error).__name__} ({str(error)[:100]}): {call}")
    assert not wrong, "\n".join(wrong)
