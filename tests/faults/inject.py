"""Runs a search, breaks it at a random moment, and compares what is left with the best that it had shown."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

#: A search without end for every engine, and the entry of its cost that the progress line shows.
SEARCHES: dict[str, tuple[tuple[str, ...], str]] = {
    "pebble": (("fft:n=64,word=1", "--budget", "10"), "traffic"),
    "tensor": (("transformer-block:layers=2",), "latency"),
    "dataflow": (("sobel4", "--generations", "100000"), "period"),
    "spatial": (("yule:n=100000", "--no-baselines"), "energy_hops"),
    "affine": (("matvec", "--size", "M=300,N=300,S=50", "--evaluations", "100000"), "loads_words"),
}
#: What makes it work on two processes; affine has no such search.
TWO = dict.fromkeys(("pebble", "tensor", "dataflow", "spatial"), ("--restarts", "2", "--workers", "2"))
FAULTS = ("kill", "kill a worker", "SIGTERM", "SIGINT", "no space", "no memory", "pause", "stop one")
FAULTS += ("SIGHUP", "no reader", "other journal", "few files", "poor", "no shared memory", "wild clock")
#: Those that are there from the beginning: nothing strikes.
_LASTING = {"no space", "no memory", "few files", "poor", "no shared memory", "wild clock"}
#: Those after which the search goes on; then somebody wants its answer.
_OUTLIVED = {"kill a worker", "stop one", "no reader", "other journal"}
_SIGNALS = {"SIGTERM": signal.SIGTERM, "SIGINT": signal.SIGINT, "kill": signal.SIGKILL, "SIGHUP": signal.SIGHUP}
#: Files that may be open where they are few.
_FEW = 64
#: What runs a command where shared memory is a file system that is full.
_NO_SHARED = 'mount -t tmpfs -o size=4k none /dev/shm && head -c 9999 /dev/zero > /dev/shm/full; exec "$@"'
#: A clock that jumps back and forth by hours; that of the deadline cannot.
_WILD = "import random, time\nnow = time.time\ntime.time = lambda: now() + random.uniform(-9999, 9999)\n"
#: Seconds that one process of a search stands still.
_STILL_S = 3.0
#: The ends that are documented; 2 only where a file could not be written.
STATUSES = {0, 4, 130, 143}
#: Processor seconds of the command until a fault, at most: a busy machine must not have all faults come before the search.
LATEST_S = 6.0
#: The time limit, in seconds, of a search that is paused; the effort where no fault ends the search.
_LIMIT_S, _EFFORT = 5, 4
#: Numbers are shown with six digits.
_DIGITS = 1e-5
#: Seconds between two looks at a command, and as many without work are enough: it waits until its answer is read.
_LOOK_S, _IDLE = 0.1, 30
#: Processor seconds that a command may go on after its fault, and seconds by the clock in which it must have worked:
#: on a busy machine the clock alone tells little.
_LONGEST_S, _ASLEEP_S = 120.0, 60.0
#: Seconds by the clock until the fault comes in any case.
_STARTED_S = 240.0


@dataclass(slots=True)
class Outcome:
    """What became of one search: the best shown before its end, what is left, and what is wrong with that."""

    engine: str
    fault: str
    after_s: float
    status: int = 0
    shown: float | None = None
    left: float | None = None
    how: str = "nothing"
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        wrong = "; ".join(self.wrong) or "as it should be"
        ended = f"{self.engine}: {self.fault} after {self.after_s:.2f} s: status {self.status}"
        return f"{ended}, shown {self.shown}, left {self.left} ({self.how}): {wrong}"


class _Running:
    """A command on a terminal of its own, so that it shows its progress."""

    def __init__(self, arguments: list[str], folder: Path, fault: str) -> None:
        screen, terminal = pty.openpty()
        command, env = [sys.executable, "-m", "shorthaul", *arguments], {**os.environ, "HOME": str(folder)}
        if fault == "no shared memory" and os.geteuid() == 0:
            command = ["unshare", "--mount", "sh", "-c", _NO_SHARED, "sh", *command]
        elif fault == "few files":
            command = ["sh", "-c", f'ulimit -n {_FEW}; exec "$@"', "sh", *command]
        elif fault == "poor":
            env = {"PATH": env["PATH"], "PYTHONPATH": env.get("PYTHONPATH", ""), "LC_ALL": "C", "PYTHONUTF8": "0"}
        elif fault == "wild clock":
            (folder / "sitecustomize.py").write_text(_WILD)
            env["PYTHONPATH"] = f"{folder}:{env.get('PYTHONPATH', '')}"
        env["TMPDIR"] = "/nowhere" if fault == "poor" else str(folder)
        self.process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=terminal, text=True, env=env
        )
        os.close(terminal)
        self.said = ""
        self._screen = screen
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._screen, 4096)
            except OSError:  # the other end is closed
                return
            if not data:
                return
            self.said += data.decode(errors="replace")

    def best(self) -> float | None:
        """Return the best cost that was shown last."""
        found = re.findall(r"best ([\d.,e+-]*\d)", self.said)
        return float(found[-1].replace(",", "")) if found else None

    def finish(self) -> str:
        """Return what was printed by the end; raises TimeoutExpired for a command that works on and on, or not at all."""
        began_s = before_s = _worked_s(self.process.pid)
        while True:
            try:
                out, _ = self.process.communicate(timeout=_ASLEEP_S)
                break
            except subprocess.TimeoutExpired:
                now_s = _worked_s(self.process.pid)
                if now_s == before_s or now_s > began_s + _LONGEST_S:
                    raise
                before_s = now_s
        self._reader.join(2)
        os.close(self._screen)
        return out


def broken(
    engine: str, fault: str, random: Random, folder: Path, when: Callable[[Path], bool] | None = None
) -> Outcome:
    """Return what became of a search of ``engine`` that met ``fault``, at a random moment or ``when`` says so."""
    workload, entry = SEARCHES[engine]
    outcome = Outcome(engine, fault, random.uniform(0.05, LATEST_S))
    arguments = [engine, "plan", *workload, "--seed", str(random.randrange(1000)), "--json", "-o", "plan.json"]
    if fault in {"kill a worker", "stop one"} or random.random() < 0.3:
        arguments += TWO.get(engine, ())
    with _small_disk(folder, random) if fault == "no space" else contextlib.nullcontext() as largest:
        _run_and_break(outcome, arguments, random, folder, entry, when, largest)
    if outcome.shown is not None and (outcome.left is None or outcome.left > outcome.shown * (1 + _DIGITS)):
        outcome.wrong.append("worse than shown")
    return outcome


def _run_and_break(
    outcome: Outcome,
    arguments: list[str],
    random: Random,
    folder: Path,
    entry: str,
    when: Callable[[Path], bool] | None,
    largest: int | None,
) -> None:
    fault, journal = outcome.fault, folder / "journal"
    more = ["--memory-limit", f"{random.randrange(90, 250)}M"] if fault == "no memory" else []
    limit = ["--effort", str(_EFFORT) if fault in _LASTING else "100000"]
    if fault == "pause":
        limit = ["--time-limit", str(_LIMIT_S)]
    running = _Running([*arguments, *limit, *more, "--journal", journal.name], folder, fault)
    if largest is not None:
        resource.prlimit(running.process.pid, resource.RLIMIT_FSIZE, (largest, largest))
    began = time.monotonic()
    idle, worked_s = 0, -1.0
    while fault not in _LASTING and running.process.poll() is None:
        if time.monotonic() >= began + _STARTED_S or idle >= _IDLE:
            break
        before_s, worked_s = worked_s, _worked_s(running.process.pid)
        idle = idle + 1 if worked_s == before_s else 0
        if worked_s >= outcome.after_s if when is None else when(journal):
            break
        if fault == "pause" and time.monotonic() >= began + _LIMIT_S - 1:
            break
        time.sleep(_LOOK_S)
    _strike(running.process, fault, random, began + _LIMIT_S + 2)
    if fault == "other journal":
        journal.unlink(missing_ok=True)
        journal.write_bytes(random.randbytes(4000))
    if fault in _OUTLIVED:
        time.sleep(0.5)
        running.process.send_signal(signal.SIGTERM)
    try:
        printed = running.finish()
    except subprocess.TimeoutExpired:
        running.process.kill()
        printed = running.finish()
        outcome.wrong.append("does not end")
    outcome.status, outcome.shown = running.process.returncode, running.best()
    _judge(outcome, running.said, printed, fault)
    if printed.strip() and not (outcome.status == -signal.SIGKILL and not printed.endswith("}\n")):
        try:
            outcome.left, outcome.how = json.loads(printed)["cost"][entry], "its answer"
        except ValueError:
            outcome.wrong.append(f"its answer is cut after {len(printed)} characters")
    elif outcome.shown is not None:
        _resume(outcome, arguments, folder, entry)


@contextlib.contextmanager
def _small_disk(folder: Path, random: Random) -> Iterator[int | None]:
    """Let the folder be a file system of some pages; where that is not allowed, yield the most that a file may have."""
    size = 4096 * random.choice([1, 2, 5, 20, 100])
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)]
    if not shutil.which("mount") or subprocess.run(command, capture_output=True, check=False).returncode:
        yield size
        return
    try:
        yield None
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def _strike(process: subprocess.Popen[str], fault: str, random: Random, until: float) -> None:
    if fault in _SIGNALS:
        process.send_signal(_SIGNALS[fault])
    elif fault == "no reader":
        assert process.stdout is not None
        os.dup2(os.open(os.devnull, os.O_RDONLY), process.stdout.fileno())
    elif fault == "kill a worker":
        others = _descendants(process.pid)
        if others:
            os.kill(random.choice(others), signal.SIGKILL)
    elif fault == "stop one":
        one = random.choice([process.pid, *_descendants(process.pid)])
        for number in (signal.SIGSTOP, signal.SIGCONT):
            with contextlib.suppress(ProcessLookupError):
                os.kill(one, number)
            if number == signal.SIGSTOP:
                time.sleep(_STILL_S)
    elif fault == "pause":  # as on a machine that is busy with others, from some moment until after the deadline
        for number in (signal.SIGSTOP, signal.SIGCONT):
            for pid in (process.pid, *_descendants(process.pid)):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
            if number == signal.SIGSTOP:
                time.sleep(max(0.0, until - time.monotonic()))


def _judge(outcome: Outcome, said: str, printed: str, fault: str) -> None:
    allowed = STATUSES | ({2} if fault == "no space" else set()) | ({-signal.SIGKILL} if fault == "kill" else set())
    early: set[int] = set()
    if not said or ("<frozen site>" in said and "shorthaul" not in said):  # Python itself had not begun
        early = {1, -signal.SIGTERM, -signal.SIGINT}
    if outcome.status not in allowed | early:
        outcome.wrong.append(f"status {outcome.status}: {said[-300:]}")
    if outcome.status == 0 and not printed.strip() and fault != "no reader":
        outcome.wrong.append("status 0 without an answer")
    if "Traceback" in said and not early:
        outcome.wrong.append(f"a traceback: {said[-300:]}")


def _resume(outcome: Outcome, arguments: list[str], folder: Path, entry: str) -> None:
    command = [sys.executable, "-m", "shorthaul", *arguments, "--effort", "0.01", "--resume", "journal"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=10 * _LONGEST_S)
    if done.returncode:
        outcome.wrong.append(f"does not resume: {done.stderr[-300:]}")
    else:
        outcome.left, outcome.how = json.loads(done.stdout)["cost"][entry], "resumed"


def _worked_s(pid: int) -> float:
    """Return the processor seconds of a process and of all that it has started."""
    ticks = 0
    for one in (pid, *_descendants(pid)):
        with contextlib.suppress(OSError, IndexError):
            ticks += sum(map(int, Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _descendants(pid: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, ValueError):
                continue
            children.setdefault(parent, []).append(int(entry.name))
    found, waiting = [], [pid]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found
