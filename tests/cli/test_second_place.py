"""An answer whose file cannot be written at the end goes to a second place, or to standard output."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import typer
from tests import commands
from tests.cli import full_disk
from typer.testing import CliRunner

import shorthaul
from shorthaul.cli import output as cli_output
from shorthaul.cli.app import app
from shorthaul.cli.flags import Output
from shorthaul.cli.output import finish
from shorthaul.core.files import outputs


@pytest.fixture
def gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Output:
    """Return flags whose folder vanishes during the search."""
    folder = tmp_path / "gone"
    folder.mkdir()
    output = Output(output=folder / "plan.json", result=folder / "result.json")
    folder.rmdir()
    monkeypatch.setattr(outputs, "MISPLACED", {})
    monkeypatch.setattr(cli_output, "MISPLACED", outputs.MISPLACED)
    return output


def ended(output: Output) -> int:
    result = shorthaul.spatial.plan([-1, 0, 0], baselines=False)
    with pytest.raises(typer.Exit) as exit_:
        finish(result, output)
    return exit_.value.exit_code


def test_a_second_place(
    gone: Output, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert ended(gone) == 2
    printed = capsys.readouterr()
    places = [Path(line.split(": ")[1]) for line in printed.err.splitlines() if "kept in: " in line]
    assert [path.name for path in places] == ["plan.json", "result.json"]
    assert json.loads(places[0].read_text()) == json.loads(places[1].read_text())["plan"]
    assert "its folder does not exist" in printed.err
    assert "energy_hops" in printed.out


def test_no_second_place_either(
    gone: Output, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    monkeypatch.setenv("HOME", str(tmp_path / "nowhere"))
    assert ended(gone) == 2
    assert json.loads(capsys.readouterr().out)["plan"]["parent"] == [-1, 0, 0]


def without_room(most: int, folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command for which a limit on the size of files stands for a full disk: writes fail, none before the end."""
    code = (
        "import resource, signal, sys\n"
        "sys.dont_write_bytecode = True\n"  # Python 3.11 keeps what is cut short
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({most}, {most}))\n"
        "from shorthaul.cli.main import main\n"
        f"sys.argv = {['shorthaul', *command]}\n"
        "main()\n"
    )
    line = [sys.executable, "-c", code]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 2, done.stderr
    return done


@pytest.mark.parametrize(
    "command",
    [
        "spatial plan yule:n=100 --effort 0.1 --machine wafer-750x994 --table t.npz --routes r.npz",
        pytest.param("pebble code fft:n=8,word=1 --budget 6 --effort 0.1 -o plan.c", marks=pytest.mark.slow),
        pytest.param("affine code gemm --size NI=8,NJ=8,NK=8,S=40 --effort 0.1 -o tiled.c", marks=pytest.mark.slow),
        pytest.param("dataflow plan sobel --generations 2 --effort 0.1 -o front.csv", marks=pytest.mark.slow),
    ],
)
def test_no_room_beside_the_answer(command: str, tmp_path: Path) -> None:
    document = json.loads(without_room(0, tmp_path, *command.split()).stdout)
    assert document["plan"] or document["code"]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("most", [pytest.param(0, marks=pytest.mark.slow), 16])
def test_no_file_may_grow(most: int, tmp_path: Path) -> None:
    asked = ("pebble", "plan", "dwt:n=8,d=3,word=1", "--effort", "0.1", "-o", "plan.json", "--journal", "j")
    done = without_room(most, tmp_path, *asked)
    assert json.loads(done.stdout)["plan"]["moves"]
    assert "the journal cannot be written" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["j"]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a result, a graph and a point to work on, and a folder that gets no file."""
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "full").mkdir()
    (folder / "graph.dot").write_text("digraph { a -> b }")
    shorthaul.spatial.plan([-1, 0, 0], baselines=False).save(folder / "answer.json")
    commands.shorthaul("dataflow", "plan", "sobel", "--generations", "1", "-o", "point.json", cwd=folder)
    return folder


@pytest.mark.skipif(not Path("/dev/shm").exists(), reason="a system without files in memory")
@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("report answer.json -o full/page.html", "<!doctype html>"),
        ("export answer.json full/table.csv", ","),
        ("convert graph.dot full/graph.json", '{"kind"'),
        ("affine cdag gemm --size NI=3,NJ=3,NK=3 -o full/gemm.json", '{\n "'),
    ],
)
def test_text_without_a_second_place_is_printed(command: str, said: str, inputs: Path) -> None:
    done = commands.shorthaul(*command.split(), cwd=inputs, before=functools.partial(full_disk.fill, "/full"))
    assert done.returncode == 2, done.stderr
    assert said in done.stdout[:200]
    if command.endswith("json"):
        json.loads(done.stdout)


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("report answer.json -o full/page.html", 2),
        ("export answer.json full/table.csv", 2),
        ("convert graph.dot full/graph.json", 2),
        ("affine cdag gemm --size NI=3,NJ=3,NK=3 -o full/gemm.json", 2),
        ("dataflow code sobel point.json -o full/c", 2),
        ("pebble plan fft:n=64 --budget 2 --result full/none.json", 3),
    ],
)
def test_every_verb_has_a_second_place(command: str, status: int, inputs: Path, tmp_path: Path) -> None:
    fill = functools.partial(full_disk.fill, str(tmp_path))
    done = commands.shorthaul(*command.split(), cwd=inputs, before=fill)
    assert done.returncode == status, done.stderr
    assert "No space left" in done.stderr
    (kept,) = tmp_path.glob("shorthaul-*/*")
    assert f"kept in: {kept}" in done.stderr
    assert kept.stat().st_size > 0


def test_the_next_command_of_a_process_has_lost_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(outputs.MISPLACED, tmp_path / "plan.json", None)
    done = CliRunner().invoke(app, ["spatial", "plan", "yule:n=20", "--effort", "0.1"])
    assert (done.exit_code, outputs.MISPLACED) == (0, {}), done.output
