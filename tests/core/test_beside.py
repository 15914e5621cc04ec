from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

KERNELS = "from shorthaul.core.jit import kernel\n\n@kernel\ndef {0}(a: int) -> int:\n    return a + 1\n"
#: A program that compiles two modules, the second when a file lets it.
PROGRAM = """
import sys, time
from pathlib import Path
from shorthaul.core import beside
import first_kernels, second_kernels

def second():
    while not Path("go").exists():
        time.sleep(0.01)
    second_kernels.second(1)

beside.serve({"first_kernels": lambda: first_kernels.first(1), "second_kernels": second}, sys.argv[1:])
"""
BEGIN = """
import sys, time
from pathlib import Path
from shorthaul.core import beside, jit
import first_kernels, second_kernels

names = ("first_kernels", "second_kernels")
print("ready before", *map(jit.is_ready, names))
print("begun", beside.begin("program", names, 3, "sums are slow"), beside.begin("program", names, 3, "sums are slow"))
while not jit.is_ready("first_kernels"):
    time.sleep(0.01)
print("left", sorted(jit.compiled_elsewhere), jit.is_ready("second_kernels"))
"""
FINISH = """
print("affordable", jit.affordable("second_kernels", 3, 100.0, "adding"))
Path("go").touch()
print("awaited", jit.affordable("second_kernels", 3, float("inf"), "adding"), jit.is_ready("second_kernels"))
print("waited", jit.compiling_s() > 0, first_kernels.first(1), second_kernels.second(2))
"""


def run(folder: Path, code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    for name in ("first", "second"):
        folder.joinpath(f"{name}_kernels.py").write_text(KERNELS.format(name))
    folder.joinpath("program.py").write_text(PROGRAM)
    path = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
    together = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": path, **environment}
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=together, capture_output=True, text=True, check=True
    )


def test_modules_are_compiled_one_after_another_and_waited_for_without_a_limit(tmp_path: Path) -> None:
    done = run(tmp_path, BEGIN + FINISH)
    assert done.stdout.splitlines() == [
        "ready before False False",
        "begun True True",
        "left ['second_kernels'] False",
        "affordable False",
        "awaited True True",
        "waited True 2 3",
    ]
    assert done.stderr.count("compiling in a process beside this one: about 3 s, only this first time; sums") == 1


def test_the_process_ends_after_what_it_is_at(tmp_path: Path) -> None:
    code = BEGIN + "print(beside._started['program']._process.pid)"
    pid = int(run(tmp_path, code).stdout.splitlines()[-1])
    tmp_path.joinpath("go").touch()
    deadline = time.monotonic() + 60
    while Path(f"/proc/{pid}/stat").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not Path(f"/proc/{pid}/stat").exists()


def test_a_process_that_fails_leaves_the_compilation_to_this_one(tmp_path: Path) -> None:
    code = (
        (BEGIN + FINISH)
        .replace('"program", names', '"no_program", names')
        .replace('while not jit.is_ready("first_kernels")', "while jit.compiled_elsewhere")
    )
    done = run(tmp_path, code)
    assert "left [] False" in done.stdout
    assert "affordable True" in done.stdout


def test_without_a_cache_or_compilation_no_process_is_begun(tmp_path: Path) -> None:
    code = "from shorthaul.core import beside, jit\n"
    code += "jit._uncached.add('somewhere')\nprint(beside.begin('program', ['first_kernels'], 3, 'sums are slow'))"
    assert run(tmp_path, code).stdout == "False\n"
    assert run(tmp_path, code, SHORTHAUL_JIT="0").stdout == "False\n"
