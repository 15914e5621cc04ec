from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from tests.commands import shorthaul
from tests.samples import ALL

from shorthaul.cli import demo


def run(*arguments: str) -> str:
    """Run a job in a process that is forked, not in an interpreter that has to start; the last test takes one."""
    done = shorthaul(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_demo_runs_every_engine_and_draws_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    if not ALL:  # the same jobs, which search less, and a smaller tree
        less = [(engine, arguments.replace("n=65536", "n=1024")) for engine, arguments in demo.JOBS]
        monkeypatch.setattr(demo, "JOBS", [(engine, f"{arguments} --effort 0.1") for engine, arguments in less])
        monkeypatch.setattr(
            demo, "_run", lambda arguments: print(f"$ shorthaul {shlex.join(arguments)}", run(*arguments))
        )
    demo.app(["-o", "shown"], standalone_mode=False)
    lines = capfd.readouterr().out.splitlines()
    assert lines[-1] == f"report: {tmp_path / 'shown' / 'demo.html'}"
    for engine in ("tensor", "pebble", "affine", "dataflow", "spatial"):
        assert any(line.startswith(f"$ shorthaul {engine}") for line in lines)
        document = json.loads(tmp_path.joinpath("shown", f"{engine}.json").read_text())
        assert document["check"] is None or document["check"]["ok"]
    assert "Side by side" in tmp_path.joinpath("shown", "demo.html").read_text()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    tmp_path.joinpath("file").write_text("")
    done = shorthaul("demo", "-o", "file/below", cwd=tmp_path)
    assert done.returncode == 2
    assert "file/below" in done.stderr


def test_commands_take_no_modules_from_the_folder_they_are_called_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    tmp_path.joinpath("json.py").write_text("raise SystemExit('not the json of Python')")
    monkeypatch.chdir(tmp_path)
    demo._run(["tensor", "cases"])
    printed = capfd.readouterr().out
    assert "$ shorthaul tensor cases" in printed
    assert "example-1" in printed
