"""An answer whose file cannot be written at the end goes to a second place, or to standard output."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import typer

import shorthaul
from shorthaul.cli.flags import Output
from shorthaul.cli.output import finish
from shorthaul.core.document import save_json


@pytest.fixture
def gone(tmp_path: Path) -> Output:
    """Return flags whose folder vanishes during the search."""
    folder = tmp_path / "gone"
    folder.mkdir()
    output = Output(output=folder / "plan.json", result=folder / "result.json")
    folder.rmdir()
    return output


def ended(output: Output) -> int:
    result = shorthaul.spatial.plan([-1, 0, 0], baselines=False)
    with pytest.raises(typer.Exit) as exit_:
        finish(
            result, output, plan_document=lambda: {"x": [0, 1]}, write_plan=lambda path: save_json(path, {"x": [0, 1]})
        )
    return exit_.value.exit_code


def test_a_second_place(
    gone: Output, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert ended(gone) == 2
    printed = capsys.readouterr()
    places = [Path(line.split(": ")[1]) for line in printed.err.splitlines() if "kept in: " in line]
    assert [path.name for path in places] == ["plan.json", "result.json"]
    assert json.loads(places[0].read_text()) == {"x": [0, 1]}
    assert json.loads(places[1].read_text())["plan"] == {"x": [0, 1]}
    assert "its folder does not exist" in printed.err
    assert "energy_hops" in printed.out


def test_no_second_place_either(
    gone: Output, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    monkeypatch.setenv("HOME", str(tmp_path / "nowhere"))
    assert ended(gone) == 2
    assert json.loads(capsys.readouterr().out)["plan"] == {"x": [0, 1]}


@pytest.mark.parametrize("most", [0, 16])
def test_no_file_may_grow(most: int, tmp_path: Path) -> None:
    # A limit on the size of files stands for a full disk: every write fails, none of them before the end.
    code = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({most}, {most}))\n"
        "from shorthaul.cli.main import main\n"
        "sys.argv = ['shorthaul', 'pebble', 'plan', 'dwt:n=8,d=3,word=1', '--effort', '0.1', '-o', 'plan.json', '--journal', 'j']\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 2, done.stderr
    assert json.loads(done.stdout)["plan"]["moves"]
    assert "the journal cannot be written" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["j"]
