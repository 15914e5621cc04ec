"""Journals of bounds, budgets, schedules and storage: never worse when resumed, refused when forged."""

from __future__ import annotations

import base64
import functools
import importlib
import json
import math
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shorthaul import dataflow
from shorthaul.core.document import digest
from shorthaul.core.errors import InputError
from shorthaul.core.search import Search
from tests.commands import shorthaul as command
from tests.commands import shorthaul_json
from tests.faults.short import end_at_the_first_answer

_GRAPH = "random:n=60,degree=3,window=20,most=1"
#: Searches that are no plan's: verb, arguments, effort, what the answer is worth.
SEARCHES: dict[str, tuple[tuple[str, ...], str, Callable[[Any], float]]] = {
    "pebble bound": ((_GRAPH, "--budget", "8"), "0.3", lambda found: found["bound"]["value"]),
    "affine bound": (("matvec", "--size", "M=20,N=20,S=16", "--no-upper"), "0.1", lambda found: found["bound"]["value"]),
    "tensor bound": (("transformer-block", "--rules", "contest"), "0.3", lambda found: found["bound"]["value"]),
    "dataflow bound": (
        ("multicamera:cameras=1",), "0.3",
        lambda found: max(one["period"] for one in found["front_bound"]["proofs"]),
    ),
    "pebble memory": ((_GRAPH,), "0.3", lambda found: -found["cost"]["budget"]),
    "dataflow schedule": (("fig4", "--decoder", "modulo"), "0.1", lambda found: -found["cost"]["period"]),
    "dataflow buffers": (("random:actors=14,seed=3", "--serial"), "0.1", lambda found: len(found["plan"]["front"])),
}  # fmt: skip
BOUNDS = [name for name in SEARCHES if name.endswith("bound")]


#: What the searches are called with in Python.
_KEYWORDS: dict[str, dict[str, object]] = {
    "pebble bound": {"budget": 8},
    "affine bound": {"size": "M=20,N=20,S=16", "upper": False},
    "tensor bound": {"rules": "contest"},
    "dataflow schedule": {"decoder": "modulo"},
    "dataflow buffers": {"serial": True},
}


def called(name: str, **keywords: object) -> dict[str, Any]:
    """Search in this process and return the document of the answer."""
    engine, verb = name.split()
    function = getattr(importlib.import_module(f"shorthaul.{engine}"), verb)
    document = function(SEARCHES[name][0][0], **_KEYWORDS.get(name, {}), **keywords).to_dict()
    assert isinstance(document, dict)
    return document


@functools.cache
def searched(name: str) -> tuple[dict[str, Any], bytes]:
    """Return the document of a search, a command, and its journal."""
    arguments, effort, _ = SEARCHES[name]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "j"
        document = shorthaul_json(*name.split(), *arguments, "--effort", effort, "--journal", str(path))
        return document, path.read_bytes()


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in {"pebble memory", "dataflow buffers"} else [])
        for name in SEARCHES
    ],
)
def test_what_is_resumed_is_never_worse(name: str, tmp_path: Path) -> None:
    """With next to no effort; a copy has the last record. Commands resume in the tests of forgeries and of signals."""
    first, second = tmp_path / "first", tmp_path / "second"
    worth = SEARCHES[name][2]
    document, journal = searched(name)
    first.write_bytes(journal)
    assert len(records(first)) > 0
    assert worth(called(name, effort=0.01, resume=first, journal=second)) >= worth(document)
    assert records(second)[0][1] == records(first)[-1][1]


@pytest.mark.slow
def test_all_least_periods_are_resumed_without_any_effort(tmp_path: Path) -> None:
    """Those by loads of tiles too, which have no certificates."""

    def periods(*more: object) -> list[Any]:
        found = shorthaul_json("dataflow", "bound", "sobel4", "--workers", "1", *map(str, more))
        return list(found["front_bound"]["period_at_core_cost"])

    found = periods("--effort", "0.7", "--journal", tmp_path / "j")
    assert periods("--resume", tmp_path / "j") == found != periods()


class Short(Search):
    """A search whose memory ends as soon as so many answers are kept."""

    answers, cost = 0, math.inf

    def _note(self, cost: float, plan: Any) -> None:
        super()._note(cost, plan)
        self.answers, self.cost = self.answers - 1, min(cost, self.cost)
        if not self.answers:
            raise MemoryError


#: How many answers they keep before memory ends.
_KEPT = {"pebble bound": 3, "tensor bound": 2, "pebble memory": 2, "dataflow buffers": 2}


@pytest.mark.parametrize("name", SEARCHES)
def test_where_memory_ends_the_answer_is_what_is_kept(name: str) -> None:
    """Also that of verbs which search for bounds."""
    search = Short(effort=float(SEARCHES[name][1]), workers=1)
    search.answers = _KEPT.get(name, 1)
    found = called(name, search=search)
    assert search.answers <= 0
    least = {"dataflow bound": 1, "dataflow buffers": 2}.get(name, -search.cost)  # their costs are of all periods
    assert SEARCHES[name][2](found) >= least
    assert search.interrupted or found.get("plan")


#: Plans and sweeps beside them, of commands.
_PLANS = {
    "pebble plan": ("fft:n=16,word=1", "--budget", "6"),
    "tensor plan": ("transformer-block",),
    "dataflow plan": ("sobel", "--population", "10", "--offspring", "5"),
    "spatial plan": ("yule:n=256", "--no-baselines"),
    "affine plan": ("matvec", "--size", "M=20,N=20,S=16"),
}
#: What ends as the others do, and whose searches go on from their journals in ``core/test_journal.py``.
_SAME = ("pebble", "tensor", "dataflow")
_SWEEPS = {
    "pebble sweep": ("fft:n=8,word=1",),
    "tensor sweep": ("mlp-chain:layers=2",),
    "dataflow sweep": ("sobel", "--population", "10", "--offspring", "5", "--generations", "2"),
    "spatial sweep": ("yule", "--sizes", "64,128"),
    "affine sweep": ("matvec", "--size", "M=20,N=20"),
}


@pytest.mark.parametrize(
    "name",
    ["spatial plan", *(pytest.param(f"{name} plan", marks=pytest.mark.slow) for name in ("affine", *_SAME))],
)
def test_a_command_whose_memory_ends_has_an_answer(name: str, tmp_path: Path) -> None:
    answered_without_memory(name, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", SEARCHES)
def test_a_command_that_is_no_plan_has_one_too(name: str, tmp_path: Path) -> None:
    """Each starts another interpreter, which resumes what is kept: see the tests of both above."""
    answered_without_memory(name, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", _SWEEPS)
def test_a_sweep_whose_memory_ends_has_an_answer(name: str, tmp_path: Path) -> None:
    """All sweeps note their points alike."""
    answered_without_memory(name, tmp_path)


def answered_without_memory(name: str, folder: Path) -> None:
    """Run a command whose memory ends, with a journal, and every other one without."""
    journal = ("--journal", "j") if len(name) % 2 else ()
    given = _PLANS.get(name) or _SWEEPS.get(name) or SEARCHES[name][0]
    arguments = (*given, "--effort", SEARCHES[name][1] if name in SEARCHES else "0.3", *journal, "--json")
    if name not in {"spatial plan", "dataflow schedule"}:
        arguments += ("--workers", "1")
    done = command(*name.split(), *arguments, cwd=folder, before=end_at_the_first_answer)
    assert done.returncode == 0, done.stderr
    assert "the answer is the best that was kept" in done.stderr
    found = json.loads(done.stdout)
    assert any(found.get(part) for part in ("plan", "bound", "points", "fronts"))
    assert not journal or records(folder / "j")


def test_a_journal_ends_with_the_storage_that_was_shown(tmp_path: Path) -> None:
    path = tmp_path / "j"
    found, journal = searched("dataflow buffers")
    path.write_bytes(journal)
    _, kept = records(path)[-1]
    assert all(point["capacities"] in kept for point in found["plan"]["front"])
    costs = [entry["cost"] for entry, _ in records(path)]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] == -len(kept)


@pytest.mark.parametrize("name", BOUNDS)
def test_a_forged_bound_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "j"
    path.write_bytes(searched(name)[1])
    head = path.read_bytes().partition(b"\n")[0]
    _, kept = records(path)[-1]
    for wrong in forged(kept):
        write(path, head, wrong)
        with pytest.raises(InputError):
            called(name, effort=0.01, resume=path, journal=tmp_path / "copy")
        assert not (tmp_path / "copy").exists(), "what is forged is not copied"
    done = command(*name.split(), *SEARCHES[name][0], "--effort", "0.01", "--resume", str(path))
    assert done.returncode == 2, done.stderr


def forged(kept: Any) -> list[Any]:
    """Return bounds that are higher than what their certificates prove, and what is no bound."""
    wrong: list[Any] = [[], {}, {"value": 10**6, "of": "traffic"}]
    if "proofs" in kept:
        return [*wrong, {"proofs": [{**kept["proofs"][0], "period": 10 * kept["proofs"][0]["period"]}]}]
    higher = {**kept, "value": 2 * kept["value"] + 1}
    bare = {**kept["certificate"], "parts": []} if "parts" in kept["certificate"] else {}
    wrong += [{**kept, "value": str(kept["value"])}, {key: kept[key] for key in list(kept)[1:]}]
    wrong += [{**kept, "of": "x"}, {**kept, "rests_on": [{"loads_words": kept["value"]}]}][: 1 if "of" in kept else 2]
    return [*wrong, higher, {**kept, "certificate": bare}]


def test_a_bound_for_one_order_is_refused_where_any_is_asked_for(tmp_path: Path) -> None:
    """Its certificate proves it, but of fewer plans; and the journal has the bound that was shown."""
    asked = ("affine", "bound", "lu", "--size", "N=20,S=8", "--no-upper")
    path = tmp_path / "j"
    found = shorthaul_json(*asked, "--effort", "0.3", "--journal", str(path))["bound"]["value"]
    _, kept = records(path)[-1]
    assert kept["value"] == found
    head = path.read_bytes().partition(b"\n")[0].partition(b"\t")[2]
    head = head.replace(b'"reassociate": false', b'"reassociate": true')
    write(path, digest(head).encode() + b"\t" + head, kept)
    done = command(*asked, "--reassociate", "--effort", "0.01", "--resume", str(path))
    assert done.returncode == 2
    assert "one order" in done.stderr


@pytest.mark.parametrize("name", ["dataflow buffers", "dataflow schedule", "pebble memory"])
def test_a_forged_plan_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "j"
    path.write_bytes(searched(name)[1])
    head = path.read_bytes().partition(b"\n")[0]
    forgeries: tuple[object, ...] = ([], {}, [{"a": -1}], [{"c0": 0}], [{"c0": 2**60}])
    for wrong in forgeries:
        write(path, head, wrong)
        copy = tmp_path / f"copy of {wrong}"
        if name == "dataflow buffers" and wrong == []:
            called(name, effort=0.01, resume=path, journal=copy)  # no storage yet, so nothing is forged
            assert copy.exists()
            continue
        with pytest.raises(InputError):
            called(name, effort=0.01, resume=path, journal=copy)
        assert not copy.exists(), "what is forged is not copied"
    done = command(*name.split(), *SEARCHES[name][0], "--effort", "0.01", "--resume", str(path))
    assert done.returncode == 2, done.stderr


def test_a_schedule_goes_on_from_one_of_its_mapping_alone(tmp_path: Path) -> None:
    """Its channels may be in other memories, for which the search proves nothing; of another mapping it is refused."""
    plan = dataflow.plan("sobel4", effort=0.3, generations=6).plan
    assert plan is not None
    front = plan.front[4:6]
    for number, point in enumerate(front):
        longer = dataflow.schedule("sobel4", point, decoder="modulo", effort=0.2, journal=tmp_path / f"{number}")
        shorter = dataflow.schedule("sobel4", point, decoder="modulo", effort=0.01, resume=tmp_path / f"{number}")
        assert longer.plan is not None
        assert shorter.plan is not None
        assert shorter.plan.front[0].period <= longer.plan.front[0].period
    heads, lines = zip(*((tmp_path / name).read_bytes().split(b"\n", 1) for name in ("0", "1")), strict=True)
    (tmp_path / "forged").write_bytes(heads[0] + b"\n" + lines[1])
    with pytest.raises(InputError, match="another mapping"):
        dataflow.schedule("sobel4", front[0], decoder="modulo", resume=tmp_path / "forged", journal=tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_a_killed_bound_is_not_lost(number: signal.Signals, tmp_path: Path) -> None:
    """Nor one that SIGTERM has ended."""
    arguments, path = (*SEARCHES["pebble bound"][0], "--seed", "3"), tmp_path / "j"
    line = [sys.executable, "-m", "shorthaul", "pebble", "bound", *arguments, "--effort", "1000"]
    with subprocess.Popen([*line, "--journal", str(path)], stdout=subprocess.PIPE, text=True) as process:
        while process.poll() is None and not (path.is_file() and records(path)):
            time.sleep(0.02)
        process.send_signal(number)
        process.communicate()
    assert process.returncode in (-9, 0)
    _, kept = records(path)[-1]
    done = shorthaul_json("pebble", "bound", *arguments, "--effort", "0.01", "--resume", str(path))
    assert done["bound"]["value"] >= kept["value"]


def records(path: Path) -> list[tuple[Any, Any]]:
    found = []
    for line in path.read_bytes().split(b"\n")[1:]:
        parts = line.split(b"\t")
        if len(parts) == 3:
            data = base64.b64decode(parts[2])
            found.append((json.loads(parts[1]), json.loads(data) if data[:1] in (b"{", b"[") else data))
    return found


def write(path: Path, head: bytes, kept: object) -> None:
    """Write a journal with one record."""
    text = json.dumps({"cost": -1.0}).encode() + b"\t" + base64.b64encode(json.dumps(kept).encode())
    path.write_bytes(head + b"\n" + digest(text).encode() + b"\t" + text + b"\n")
