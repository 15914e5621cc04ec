"""Whole commands on damaged files: ``python -m tests.fuzz.commands 1000``. Each ends with a status that is documented.

Every command runs in a process of its own, forked from this one, with 2 GiB of memory and 10 seconds.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.fuzz.readers import AFFINE, DATAFLOW, PEBBLE, READERS, SPATIAL, TENSOR, Reader, mutated

STATUSES = (0, 1, 2, 3, 4, 70, 130, 143)
MEMORY, SECONDS = 2 << 30, 10
EXPLORE = ("--generations", "1", "--population", "4", "--offspring", "2", "--polish-effort", "0", "--effort", "2")
SIZE = ("--size", "M=3,N=3,S=8")
#: The commands that read a file of each reader, as written where FILE stands for it.
COMMANDS: dict[str, tuple[tuple[str, ...], ...]] = {
    "affine plan": (("affine", "check", AFFINE, "FILE", "--effort", "0.1"),),
    "affine columns": (("affine", "check", AFFINE, "FILE", "--effort", "0.1"),),
    "C": (
        ("affine", "bound", "FILE", "--effort", "0.1"),
        ("affine", "cdag", "FILE", "--size", "N=3,M=3"),
        ("pebble", "plan", "FILE", "--size", "N=3,M=3", "--effort", "0.05"),
    ),
    "dataflow network": (("dataflow", "plan", "FILE", *EXPLORE), ("dataflow", "bound", "FILE")),
    "SDF3": (("dataflow", "bound", "FILE"),),
    "dataflow platform": (("dataflow", "bound", DATAFLOW, "--platform", "FILE"),),
    "dataflow plan": (("dataflow", "check", DATAFLOW, "FILE"), ("dataflow", "schedule", DATAFLOW, "--mapping", "FILE")),
    "dataflow checkpoint": (("dataflow", "plan", DATAFLOW, "--resume", "FILE", *EXPLORE),),
    "dataflow images": (("dataflow", "run", "sobel", "--images", "FILE", "--generations", "1", "--effort", "1"),),
    "pebble graph": (("pebble", "plan", "FILE", "--effort", "0.05"), ("pebble", "bound", "FILE", "--effort", "0.05")),
    "DOT": (("pebble", "plan", "FILE", "--effort", "0.05"),),
    "MatrixMarket": (("pebble", "bound", "FILE", "--effort", "0.05"),),
    "HyperDAG": (("pebble", "plan", "FILE", "--effort", "0.05"),),
    "pebble plan": (("pebble", "check", PEBBLE, "FILE", "--effort", "0.05"), ("pebble", "run", PEBBLE, "--plan", "FILE")),
    "pebble columns": (("pebble", "check", PEBBLE, "FILE", "--effort", "0.05"),),
    "pebble numbers": (("pebble", "run", PEBBLE, "--data", "FILE", "--effort", "0.05"),),
    "Newick": (("spatial", "plan", "FILE", "--forest", "--effort", "0.02"),),
    "parents": (("spatial", "bound", "FILE"), ("spatial", "plan", "FILE", "--effort", "0.02")),
    "parents as text": (("spatial", "treefix", "FILE", "--refine", "0"),),
    "tree archive": (("spatial", "bound", "FILE"),),
    "layout": (("spatial", "check", SPATIAL, "FILE"), ("spatial", "lca", SPATIAL, "--layout", "FILE", "--refine", "0")),
    "layout columns": (("spatial", "check", SPATIAL, "FILE"),),
    "values": (("spatial", "treefix", SPATIAL, "--values", "FILE", "--refine", "0"),),
    "queries": (("spatial", "lca", SPATIAL, "--queries", "FILE", "--refine", "0"),),
    "tensor problem": (("tensor", "plan", "FILE", "--effort", "0.05"), ("tensor", "bound", "FILE", "--effort", "0.05")),
    "tensor plan": (("tensor", "check", TENSOR, "FILE"), ("tensor", "run", TENSOR, "FILE")),
    "tensor columns": (("tensor", "check", TENSOR, "FILE"),),
    "ONNX": (("tensor", "bound", "FILE", "--effort", "0.05"),),
    "result document": (("report", "FILE", "-o", "FILE.html"), ("tensor", "check", TENSOR, "--bound", "FILE")),
}  # fmt: skip


def run_command(arguments: tuple[str, ...], folder: Path) -> tuple[int, str]:
    """Return the exit status of a command in a process of its own, minus a signal, and what it said."""
    said = folder / "said"
    child = os.fork()
    if child == 0:
        try:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            signal.alarm(SECONDS)
            os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
            os.dup2(2, 1)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            sys.argv = ["shorthaul", *arguments]
            _main()
        finally:
            os._exit(99)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return code, said.read_text(errors="replace") if said.exists() else ""


def _main() -> None:
    from shorthaul.cli.main import main

    code: object = 0
    try:
        main()
    except SystemExit as ended:
        code = ended.code
    except BaseException:
        import traceback

        traceback.print_exc()
        code = 98
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


def fuzz_commands(reader: Reader, count: int, seed: int = 0) -> list[str]:
    """Return what went wrong with commands on mutated files: other statuses, tracebacks, defects, time and memory."""
    random, wrong = Random(f"command {reader.name} {seed}"), []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        reader.seeds(folder)
        seeds = [path.read_bytes() for path in sorted(folder.glob(f"*{reader.suffix}"))]
        target = folder / f"mutated{reader.suffix}"
        for number in range(count):
            target.unlink(missing_ok=True)
            data = mutated(reader, seeds, random)
            target.write_bytes(data)
            wrong += _wrong(reader, target, folder, random, f"{number}: {data[:2000]!r}")
    return wrong


def _wrong(reader: Reader, target: Path, folder: Path, random: Random, what: str) -> list[str]:
    """Return what went wrong with one command on a file."""
    command = tuple(part.replace("FILE", str(target)) for part in random.choice(COMMANDS[reader.name]))
    began = time.monotonic()
    status, said = run_command(
        (*command, *(("--json",) * (random.random() < 0.3 and command[0] != "report" and "cdag" not in command))),
        folder,
    )
    if status in STATUSES and status != 70 and "Traceback" not in said and (said or status == 0):
        return []
    return [f"{' '.join(command)}: status {status} after {time.monotonic() - began:.1f} s: {said[-1500:]}: {what}"]


def places(folder: Path, suffix: str) -> dict[str, Callable[[Path], object]]:
    """Return what may stand in place of a file: each a function that puts it there."""
    return {
        "nothing": lambda _: None,
        "empty file": Path.touch,
        "directory": Path.mkdir,
        "pipe": os.mkfifo,
        "link to itself": lambda path: path.symlink_to(path.name),
        "link to no end": lambda path: path.symlink_to("/dev/zero"),
        "link to nothing": lambda path: path.symlink_to("/dev/null"),
        "secret file": lambda path: (path.write_text("x"), path.chmod(0)),
        "one byte": lambda path: path.write_bytes(b"\xff"),
        "mark": lambda path: path.write_bytes(b"\xef\xbb\xbf"),
        "zeros": lambda path: path.write_bytes(bytes(100_000)),
        "brackets": lambda path: path.write_bytes(b"[" * 200_000),
        "parentheses": lambda path: path.write_bytes(b"(" * 200_000),
        "braces": lambda path: path.write_bytes(b'{"a":' * 100_000),
        "a long word": lambda path: path.write_bytes(b"a" * 1_000_000),
        "random bytes": lambda path: path.write_bytes(Random(suffix).randbytes(5000)),
        "huge and empty": lambda path: os.truncate(os.open(path, os.O_CREAT | os.O_WRONLY), 5 << 30),
        "of another format": lambda path: shutil.copy(__file__, path),
    }


def fuzz_places(reader: Reader) -> list[str]:
    """Return what went wrong with commands on what is no such file at all."""
    wrong = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for at, (place, put) in enumerate(places(folder, reader.suffix).items()):
            target = folder / f"{at}{reader.suffix}"
            put(target)
            wrong += _wrong(reader, target, folder, Random(at), place)
    return wrong


def main() -> None:
    """Print what went wrong, by reader."""
    for name in ("affine", "tensor", "pebble", "dataflow", "spatial", "report"):  # imported once, before the forks
        __import__(f"shorthaul.cli.{name}")
    for name in ("affine", "tensor", "pebble", "dataflow", "spatial"):
        __import__(f"shorthaul.{name}.verbs.planning")
    count, names, failed = int(sys.argv[1]), sys.argv[2:], 0
    for reader in READERS:
        if not names or reader.name in names:
            wrong = fuzz_places(reader) + fuzz_commands(reader, count)
            failed += len(wrong)
            print(f"{reader.name}: {len(wrong)} of {count + len(places(Path(), ''))} wrong", flush=True)
            for line in wrong[:6]:
                print(f"  {line[:2500]}", flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
