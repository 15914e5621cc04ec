"""How commands end that a signal, a defect or a full disk ends."""

from __future__ import annotations

import json
import os
import select
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.commands import shorthaul

LARGE = ("spatial", "plan", "yule:n=3000", "--refine", "0", "--json")
LONG = ("tensor", "plan", "transformer-block", "--effort", "100000", "-o", "plan.json")


def started(*arguments: str, cwd: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "shorthaul", *arguments]
    return subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_search_that_is_ended_writes_its_best(number: signal.Signals, tmp_path: Path) -> None:
    process = started(*LONG, cwd=tmp_path)
    assert process.stderr is not None
    assert process.stderr.readline(), "the first line of progress"
    process.send_signal(number)
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    assert tmp_path.joinpath("plan.json").exists()


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_the_first_moment_is_no_exception(number: signal.Signals, status: int) -> None:
    # The signal comes while the command line is imported.
    code = (
        "import os, sys, signal, threading\n"
        "from shorthaul.cli import main\n"
        f"sys.meta_path.insert(0, type('Find', (), {{'find_spec': lambda self, name, *_: os.kill(os.getpid(), {number.value})"
        " if name == 'typer' else None})())\n"
        "sys.argv = ['shorthaul', 'doctor']\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "main.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr


def test_a_defect_ends_in_70_with_a_file_to_report(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "import shorthaul.cli.doctor\n"
        "import importlib.metadata as m\n"
        "m.version = lambda name: 1 / 0\n"
        "sys.argv = ['shorthaul', 'doctor']\n"
        "from shorthaul.cli.main import main\n"
        "main()\n"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 70, done.stderr
    assert "Traceback" not in done.stderr
    (report,) = tmp_path.glob("shorthaul-defect-*.txt")
    assert str(report) in done.stderr
    assert "ZeroDivisionError" in report.read_text()


@pytest.mark.parametrize(("kind", "most", "status"), [("RLIMIT_NOFILE", 5, 70), ("RLIMIT_AS", 150 << 20, 4)])
def test_a_command_that_the_system_gives_nothing_ends_in_its_status(kind: str, most: int, status: int) -> None:
    resource = pytest.importorskip("resource")

    def limit() -> None:
        resource.setrlimit(getattr(resource, kind), (most, most))

    command = [sys.executable, "-m", "shorthaul", "spatial", "bound", "star:n=9"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=limit)
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a system without a full device")
def test_lost_streams_cost_no_answer(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from shorthaul.cli.main import open_closed_streams, prepare_outputs\n"
        "assert sys.stdout is None\n"
        "open_closed_streams()\n"
        "prepare_outputs()\n"
        "print('a message', file=sys.stderr)\n"
        "with open('answer', 'w') as file:\n"
        "    try:\n"
        "        print('an answer', flush=True)\n"
        "    except OSError:\n"
        "        print('refused', file.fileno() > 2, file=file)\n"
        "        sys.stdout = None\n"
    )
    with Path("/dev/full").open("w", encoding="ascii") as full:
        done = subprocess.run(
            [sys.executable, "-c", code], check=False, cwd=tmp_path, stderr=full, preexec_fn=lambda: os.close(1)
        )
    assert done.returncode == 0
    assert tmp_path.joinpath("answer").read_text() == "refused True\n"


def test_what_has_no_answer_ends_with_the_time_limit() -> None:
    code = (
        "from shorthaul.cli import endings\n"
        "from shorthaul.core.search import Search\n"
        "endings._LATE_S = 0\n"
        "with endings.answering_by(1000):\n"
        "    watch = endings._WATCHES[0]\n"
        "    watch._until = 0\n"
        "    search = Search()\n"
        "    endings.watch_answer(search)\n"
        "    search.begin()\n"
        "    search.keep(1, 'a plan')\n"
        "    watch._run()\n"
        "    print('answered', flush=True)\n"
        "    endings.watch_answer(Search())\n"
        "    watch._run()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (4, "answered\n")
    assert done.stderr.startswith("no answer within the time limit")


def test_modes_and_links_are_kept(tmp_path: Path) -> None:
    tmp_path.joinpath("inner").mkdir()
    target = tmp_path / "inner" / "plan.json"
    target.write_text("")
    target.chmod(0o600)
    tmp_path.joinpath("link.json").symlink_to(target)
    assert shorthaul("tensor", "plan", "example-3", "-o", "link.json", cwd=tmp_path).returncode == 0
    assert tmp_path.joinpath("link.json").is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert target.read_text().startswith("{")


def test_one_file_does_not_hold_plan_and_result(tmp_path: Path) -> None:
    done = shorthaul("tensor", "plan", "example-3", "-o", "a.json", "--result", "./a.json", cwd=tmp_path)
    assert done.returncode == 2
    assert "is to be written twice by this command" in done.stderr
    assert not tmp_path.joinpath("a.json").exists()


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("dataflow schedule sobel --chrome-trace net.json -o net.json", "net.json: is to be written twice"),
        ("dataflow schedule sobel -o point.npz", "point.npz: has the suffix of another format"),
        ("dataflow plan sobel -o nowhere/front.csv", "nowhere/front.csv: its folder does not exist"),
        ("spatial plan path:n=3 --machine wafer-750x994 --table a.csv -o a.csv", "a.csv: is to be written twice"),
    ],
)
def test_tables_are_outputs_too(command: str, says: str, tmp_path: Path) -> None:
    tmp_path.joinpath("net.json").write_text("{}")
    done = shorthaul(*command.split(), cwd=tmp_path)
    assert done.returncode == 2
    assert says in done.stderr
    assert tmp_path.joinpath("net.json").read_text() == "{}"


@pytest.mark.parametrize("name", ["/dev/zero", "pipe"])
def test_devices_and_pipes_are_no_files(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    done = shorthaul("tensor", "plan", name, cwd=tmp_path, timeout=600)
    assert done.returncode == 2
    assert "is not a regular file" in done.stderr


def test_a_second_signal_ends_at_once(tmp_path: Path) -> None:
    # Compiled code that lets no handler run stands between the two signals and the answer.
    code = (
        "import os, signal, sys, time\n"
        "import shorthaul.cli.doctor as doctor\n"
        "from shorthaul.cli import main\n"
        "from shorthaul.core.search import Search\n"
        "def wait():\n"
        "    with Search(is_command=True):\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        print('first', flush=True)\n"
        "        os.system('sleep 60')\n"  # a call that returns to Python after a minute
        "main._run = wait\n"
        "main.main()\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "first\n"
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=280) == 143
    process.stdout.close()


def test_signals_after_the_answer_change_nothing() -> None:
    code = (
        "import atexit, os, signal\n"
        "from shorthaul.cli import main\n"
        "atexit.register(lambda: os.kill(os.getpid(), signal.SIGTERM))\n"
        "main._run = lambda: print('answer')\n"
        "main.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "answer\n")


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux how full a pipe is")
@pytest.mark.parametrize("unbuffered", ["", pytest.param("1", marks=pytest.mark.slow)])
def test_an_answer_that_is_stopped_halfway_comes_whole(unbuffered: str) -> None:
    """A reader that is slow and a command that is stopped and goes on, as by Ctrl-Z and fg."""
    import fcntl
    import termios

    command = [sys.executable, "-m", "shorthaul", *LARGE]
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment) as process:
        assert process.stdout is not None
        room = fcntl.fcntl(process.stdout, fcntl.F_GETPIPE_SZ)
        while int.from_bytes(fcntl.ioctl(process.stdout, termios.FIONREAD, bytes(4)), sys.byteorder) < room:
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        process.send_signal(signal.SIGCONT)
        printed = process.stdout.read()
    assert process.returncode == 0
    assert len(printed) > room
    json.loads(printed)


@pytest.mark.skipif(sys.platform != "linux", reason="the size of a pipe is set")
def test_a_pipe_that_another_program_has_set_not_to_wait_takes_the_whole_answer() -> None:
    import fcntl

    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(writer, False)
    with subprocess.Popen([sys.executable, "-m", "shorthaul", "pebble", "cases", "--json"], stdout=writer) as process:
        os.close(writer)
        select.select([reader], [], [], 60)
        time.sleep(0.1)  # the pipe is full by now
        with os.fdopen(reader, "rb") as read:
            answer = json.loads(read.read())
        assert process.wait() == 0
    assert answer["kind"] == "shorthaul/cases"
