"""Journals: what a cut, a damaged or a foreign one is good for, and that a search goes on from its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.commands import shorthaul as command
from tests.commands import shorthaul_json

import shorthaul
from shorthaul.core.errors import InputError
from shorthaul.core.searching.journal import Journal, read_journal

ASKED = {"command": "engine plan", "input": "sha256:1", "options": {"budget": 3}}
#: A search of every engine: its arguments, the entry of its cost, the effort of the first and of the second run.
SEARCHES = {
    "pebble": ("fft:n=16,word=1", "--budget", "6"),
    "tensor": ("mlp-chain:layers=2",),
    "dataflow": ("sobel", "--population", "10", "--offspring", "5"),
    "spatial": ("yule:n=256", "--no-baselines"),
    "affine": ("matvec", "--size", "M=20,N=20,S=16"),
}


def journal(path: Path, *costs: float) -> Path:
    made = Journal(path, ASKED, bytes)
    for cost in costs:
        made.note(cost, b"plan %d" % cost)
        made.write(now=True)
    made.close()
    return path


def test_the_best_record_is_read(tmp_path: Path) -> None:
    found = read_journal(journal(tmp_path / "j", 5, 4, 3), ASKED)
    assert found is not None
    assert [*found] == [3, b"plan 3"]
    again = read_journal(journal(tmp_path / "j", 4), ASKED)  # a second search adds to it
    assert again == found


def test_a_cut_tail_costs_one_record(tmp_path: Path) -> None:
    path = journal(tmp_path / "j", 5, 4)
    data = path.read_bytes()
    first = data.index(b"\n") + 1
    costs = []
    for length in range(len(data) + 1):
        path.write_bytes(data[:length])
        found = read_journal(path, ASKED)
        costs.append(None if found is None else found[0])
        if length >= first:
            assert read_journal(journal(path, 3), ASKED) is not None, "a search goes on after a cut line"
    second = data.index(b"\n", first)
    assert costs == [None] * second + [5] * (len(data) - 1 - second) + [4] * 2


def test_a_damaged_record_is_skipped(tmp_path: Path) -> None:
    path = journal(tmp_path / "j", 5, 4)
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)
    found = read_journal(path, ASKED)
    assert found is not None
    assert found[0] == 5


@pytest.mark.parametrize("change", [{"input": "sha256:2"}, {"options": {"budget": 4}}, {"command": "engine sweep"}])
def test_a_journal_of_something_else_is_refused(change: dict[str, object], tmp_path: Path) -> None:
    path = journal(tmp_path / "j", 5)
    before = path.read_bytes()
    with pytest.raises(InputError, match="journal of another search"):
        read_journal(path, {**ASKED, **change})
    with pytest.raises(InputError, match="journal of another search"):
        Journal(path, {**ASKED, **change}, bytes)
    assert path.read_bytes() == before


def test_an_empty_file_is_a_journal_of_any_search(tmp_path: Path) -> None:
    path = tmp_path / "j"
    path.touch()
    assert read_journal(path, {**ASKED, "options": {"budget": 4}}) is None
    assert read_journal(journal(path, 5), ASKED) is not None


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "letter"
    path.write_text("Dear all,\n")
    with pytest.raises(InputError, match="is not a journal"):
        Journal(path, ASKED, bytes)
    assert path.read_text() == "Dear all,\n"
    with pytest.raises(InputError, match="no such file"):
        read_journal(tmp_path / "none", ASKED)
    with pytest.raises(InputError, match="its folder does not exist"):
        Journal(tmp_path / "none" / "j", ASKED, bytes)


def test_two_searches_do_not_share_one(tmp_path: Path) -> None:
    path = journal(tmp_path / "j", 5)
    code = "import fcntl, sys; f = open(sys.argv[1], 'ab'); fcntl.lockf(f, fcntl.LOCK_EX); print(flush=True); input()"
    command_line = [sys.executable, "-c", code, str(path)]
    with subprocess.Popen(command_line, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(InputError, match="is in use by another search"):
            Journal(path, ASKED, bytes)
        other.kill()


def test_what_cannot_be_written_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    journal(Path("/dev/full"), 5, 4, 3)
    assert capsys.readouterr().err.count("the journal cannot be written") == 1


@pytest.mark.parametrize("engine", SEARCHES)
def test_a_search_goes_on_from_its_journal(engine: str, tmp_path: Path) -> None:
    arguments = (engine, "plan", *SEARCHES[engine])
    first = shorthaul_json(*arguments, "--effort", "0.1", "--seed", "1", "--journal", "j", cwd=tmp_path)
    assert len(tmp_path.joinpath("j").read_bytes().splitlines()) >= 2
    second = shorthaul_json(*arguments, "--effort", "0.001", "--seed", "2", "--resume", "j", cwd=tmp_path)
    for name, value in first["cost"].items():
        if engine == "dataflow" or name == next(iter(first["cost"])):
            assert second["cost"][name] <= value
    other = command(*arguments[:2], *OTHER[engine], "--resume", "j", cwd=tmp_path)
    assert other.returncode == 2
    assert "is a journal of another search" in other.stderr


OTHER = {
    "pebble": ("fft:n=16,word=1", "--budget", "7"),
    "tensor": ("example-3",),
    "dataflow": ("fig7", "--population", "10", "--offspring", "5"),
    "spatial": ("yule:n=257", "--no-baselines"),
    "affine": ("matvec", "--size", "M=20,N=20,S=17"),
}


def test_a_plan_that_breaks_the_rules_is_refused(tmp_path: Path) -> None:
    tree = [-1, *range(30)]
    path = tmp_path / "j"
    shorthaul.spatial.plan(tree, journal=path)
    lines = path.read_bytes().splitlines(keepends=True)
    other = tmp_path / "k"
    shorthaul.spatial.plan([-1, *[0] * 30], journal=other)
    path.write_bytes(lines[0] + other.read_bytes().splitlines(keepends=True)[-1])
    with pytest.raises(InputError, match="holds a plan that breaks the rules"):
        shorthaul.spatial.plan(tree, resume=path)
