"""Journals of sweeps: points on file are taken over, the others are done and added."""

from __future__ import annotations

from pathlib import Path

import pytest

import shorthaul
from shorthaul.core.errors import InputError
from shorthaul.core.search import Search
from shorthaul.core.searching.points import journaled_points
from shorthaul.core.searching.tasks import run_tasks

ASKED = {"command": "engine sweep", "input": "sha256:1", "options": {"points": 4}}
#: A sweep of every engine that sweeps: its input and its keywords.
SWEEPS = {
    "pebble": ("fft:n=8,word=1", {"budgets": "3,5,9", "effort": 0.3}),
    "tensor": ("mlp-chain", {"points": 3, "effort": 0.1}),
    "affine": ("matvec", {"size": "M=40,N=40", "least": 9, "points": 3, "effort": 0.2}),
    "dataflow": ("fig7", {"generations": 1, "population": 4, "seeds": 1}),
    "spatial": ("yule", {"sizes": "31,63", "methods": "convergecast"}),
}


def counted(number: int, search: Search) -> int:
    search.spend(number)
    return 10 * number


def swept(path: Path, tasks: list[int], *, resume: bool = False) -> tuple[dict[int, int], float]:
    """Return the answers of a sweep with a journal, and the effort that it took."""
    search = Search(effort=100, workers=1, journal=None if resume else path, resume=path if resume else None)
    with journaled_points(search, ASKED, int):
        return dict(run_tasks(counted, tasks, search=search)), 100 - search.left()


def test_points_on_file_are_not_done_again(tmp_path: Path) -> None:
    path = tmp_path / "sweep.journal"
    assert swept(path, [1, 2, 3, 4]) == ({0: 10, 1: 20, 2: 30, 3: 40}, 10)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:3]) + lines[3][:40])  # the third is cut off, the fourth is lost
    assert swept(path, [1, 2, 3, 4], resume=True) == ({0: 10, 1: 20, 2: 30, 3: 40}, 7)
    assert swept(path, [1, 2, 3, 4], resume=True)[1] == 0


def test_points_go_to_the_journal_that_is_named(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    swept(first, [1, 2])
    before = first.read_bytes()
    search = Search(workers=1, journal=second, resume=first)
    with journaled_points(search, ASKED, int):
        assert dict(run_tasks(counted, [1, 2, 3], search=search)) == {0: 10, 1: 20, 2: 30}
    assert first.read_bytes() == before
    assert swept(second, [1, 2, 3], resume=True)[1] == 0


def test_a_point_cut_short_is_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "sweep.journal"
    search = Search(workers=1, journal=path)
    with journaled_points(search, ASKED, int):
        search.stop()
        assert dict(run_tasks(counted, [1, 2], search=search)) == {0: 10}
    assert swept(path, [1, 2], resume=True)[1] == 3


def test_points_of_another_form_and_of_another_sweep(tmp_path: Path) -> None:
    path = tmp_path / "sweep.journal"
    swept(path, [1])
    with (
        pytest.raises(InputError, match=r"point 0.*array") as caught,
        journaled_points(Search(resume=path), ASKED, list[int]),
    ):
        pass
    assert caught.value.file == str(path)
    for other in ({**ASKED, "input": "sha256:2"}, {**ASKED, "options": {"points": 5}}):
        with (
            pytest.raises(InputError, match="journal of another search"),
            journaled_points(Search(resume=path), other, int),
        ):
            pass


@pytest.mark.parametrize("engine", SWEEPS)
def test_a_sweep_goes_on(engine: str, tmp_path: Path) -> None:
    workload, keywords = SWEEPS[engine]
    path = tmp_path / "sweep.journal"
    sweep = getattr(shorthaul, engine).sweep
    whole = sweep(workload, journal=path, workers=1, **keywords)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:1], *lines[2:]]))
    again = sweep(workload, resume=path, workers=1, **keywords)
    assert again.extra == whole.extra
    assert again.plan == whole.plan
    assert sorted(path.read_bytes().splitlines(keepends=True)) == sorted([*lines, b"\n"])
    with pytest.raises(InputError, match="journal of another search"):
        getattr(shorthaul, engine).plan(
            workload if engine != "spatial" else "yule:n=31",
            resume=path,
            effort=0.1,
            **({"budget": 9} if engine == "pebble" else {}),
        )
