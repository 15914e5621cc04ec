from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.commands import shorthaul

from shorthaul.cli.app import SUMMARIES, command
from shorthaul.core.document import digest


def test_version_and_help() -> None:
    assert shorthaul("--version").stdout == "0.1.0\n"
    shown = shorthaul("--help")
    assert shown.returncode == 0
    for engine in ("pebble", "affine", "tensor", "dataflow", "spatial", "report", "doctor"):
        assert engine in shown.stdout
    assert shorthaul("-h").stdout == shown.stdout
    assert "--size" in shorthaul("affine", "bound", "-h").stdout


@pytest.mark.parametrize("name", SUMMARIES)
def test_the_list_of_commands_says_what_each_says_of_itself(name: str) -> None:
    assert SUMMARIES[name] in " ".join((command(name).help or "").split())
    assert "..." not in SUMMARIES[name]
    assert len(SUMMARIES[name]) <= 64  # else a terminal of 80 columns cuts it


@pytest.mark.parametrize("engine", ["pebble", "affine", "tensor", "dataflow", "spatial"])
def test_the_list_of_verbs_has_whole_sentences(engine: str) -> None:
    longest = max(map(len, command(engine).commands))
    for verb in command(engine).commands.values():
        assert not verb.get_short_help_str(78 - 6 - longest).endswith("..."), verb.name  # on a terminal of 80 columns


def test_a_mistyped_command_names_the_nearest() -> None:
    done = shorthaul("tensr")
    assert done.returncode == 2
    assert "tensor" in done.stderr


def test_doctor_tells_versions_and_kernels() -> None:
    done = shorthaul("doctor", "--json")
    assert done.returncode == 0
    items = json.loads(done.stdout)["items"]
    assert {"numpy", "ortools", "islpy"} <= {item["name"] for item in items if item["state"] != "missing"}


def write_to_nobody() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    os.dup2(writer, 1)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


@pytest.mark.parametrize(
    "called", ["--help", "tensor cases", pytest.param("pebble plan --help", marks=pytest.mark.slow)]
)
def test_a_reader_that_goes_away_ends_quietly(called: str) -> None:
    """It is gone before the first line is written."""
    if called == "tensor cases":
        done = shorthaul(*called.split(), before=write_to_nobody)
        assert (done.returncode, done.stderr) == (0, "")
    else:  # with all of an interpreter's own end
        line = f"{sys.executable} -m shorthaul {called} | true; echo ${{PIPESTATUS[0]}}"
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
        assert (done.stdout, done.stderr) == ("0\n", "")


def test_engines_speak_to_each_other_through_pipes(tmp_path: Path) -> None:
    made = shorthaul("affine", "cdag", "matvec", "--size", "M=2,N=2")
    planned = shorthaul("pebble", "plan", "-", "--budget", "64", "--method", "belady", "--json", stdin=made.stdout)
    assert planned.returncode == 0, planned.stderr
    document = json.loads(planned.stdout)
    assert document["provenance"]["input"] == "-"
    assert document["provenance"]["input_digest"] == digest(made.stdout)
    drawn = shorthaul("report", "-", "-o", "page.html", cwd=tmp_path, stdin=planned.stdout)
    assert drawn.returncode == 0, drawn.stderr
    assert "pebble-result" in tmp_path.joinpath("page.html").read_text()


def test_nothing_in_the_pipe_is_told() -> None:
    done = shorthaul("tensor", "plan", "-", stdin="")
    assert done.returncode == 2
    assert "standard input: is empty" in done.stderr


def ask_to_complete() -> None:
    words = {"_SHORTHAUL_COMPLETE": "complete_bash", "COMP_WORDS": "shorthaul spatial tr", "COMP_CWORD": "2"}
    os.environ.update(words)


def test_completion_knows_engines_and_verbs() -> None:
    assert shorthaul(before=ask_to_complete).stdout.split() == ["treefix"]


@pytest.mark.parametrize("arguments", [("tensor", "bound", "example-3"), ("spatial", "sweep", "yule:n=16")])
def test_a_verb_without_a_plan_takes_no_place_for_one(arguments: tuple[str, ...], tmp_path: Path) -> None:
    done = shorthaul(*arguments, "-o", "plan.json", cwd=tmp_path)
    assert done.returncode == 2
    assert "No such option: -o" in done.stderr


def test_a_plan_with_violations_is_not_written_again(tmp_path: Path) -> None:
    lists = ("subgraphs", "granularities", "tensors_to_retain", "traversal_orders", "subgraph_latencies")
    tmp_path.joinpath("plan.json").write_text(json.dumps({name: [] for name in lists}))
    done = shorthaul("tensor", "check", "example-3", "plan.json", "-o", "again.json", cwd=tmp_path)
    assert done.returncode == 1
    assert "again.json: not written, since the plan has violations" in done.stderr
    assert not tmp_path.joinpath("again.json").exists()


COMMANDS = (
    "tensor bound example-3 --json",
    "doctor",
    "--help",
    "dataflow bound sobel --result kept",
    "spatial treefix star:n=9 -o kept.json",
)


def write_to_a_full_disk() -> None:
    os.dup2(os.open("/dev/full", os.O_WRONLY), 1)


@pytest.mark.parametrize(
    "command", [*COMMANDS, pytest.param("tensor bound example-3 --result kept", marks=pytest.mark.slow)]
)
def test_a_full_disk_behind_standard_output_is_told(command: str, tmp_path: Path) -> None:
    if " " in command:
        done = shorthaul(*command.split(), cwd=tmp_path, before=write_to_a_full_disk)
    else:  # with all of an interpreter's own end
        line = f"{sys.executable} -m shorthaul {command} > /dev/full"
        done = subprocess.run(line, shell=True, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 2
    assert "standard output: cannot be written: No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert len([*tmp_path.iterdir()]) == command.count("kept"), "files come before words"


def speak_ascii() -> None:
    sys.stderr = sys.__stderr__ = open(2, "w", encoding="ascii", closefd=False)  # noqa: SIM115


def test_a_terminal_without_a_sign_gets_its_number() -> None:
    refused = shorthaul("spatial", "plan", "tr\u00e9e.nwk", before=speak_ascii)
    assert refused.returncode == 2
    assert "tr\\xe9e.nwk: no such file" in refused.stderr


@pytest.mark.parametrize(
    ("given", "command"),
    [
        (None, ["spatial", "bound", "star:n=9"]),
        pytest.param("2", ["spatial", "cases"], marks=pytest.mark.slow),
    ],
)
def test_linear_algebra_takes_one_thread_if_nothing_else_is_asked_for(given: str | None, command: list[str]) -> None:
    script = f"""if True:
        import os, sys
        from shorthaul.cli.main import main
        sys.argv[1:] = {command}
        try:
            main()
        finally:
            from threadpoolctl import threadpool_info
            kept = {{pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}}
            print(os.environ["OPENBLAS_NUM_THREADS"], *kept, file=sys.stderr)
    """
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    environment |= {} if given is None else {"OPENBLAS_NUM_THREADS": given}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    asked, *kept = done.stderr.split()[-2:]
    assert asked == (given or "1")
    assert given is not None or kept == ["1"]


def test_an_input_without_a_name() -> None:
    done = shorthaul("tensor", "plan", "")
    assert done.returncode == 2
    assert "no input is named" in done.stderr
