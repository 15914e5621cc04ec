"""Limits of memory: searches end, work is given up, commands end, in this order."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from shorthaul.core.errors import InputError
from shorthaul.core.searching.memory import bytes_of, free_bytes, limit_of, used_bytes

pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="nothing tells what a process uses")

HEAD = """
import contextlib, os, sys, time
from shorthaul.core.search import Search
from shorthaul.core.searching.memory import limited, used_bytes
limit = used_bytes() + 200_000_000
held, most = [], 0
def hold():
    global most
    held.append(bytearray(b"x") * 5_000_000)
    most = max(most, used_bytes())
    time.sleep(0.005)
    assert most < 1.1 * limit, "not within a tenth"
def end(text):
    print(text, flush=True)
    os._exit(4)
"""


def ended(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", HEAD + code], capture_output=True, text=True, check=False, timeout=600)


def test_a_search_ends() -> None:
    done = ended(
        "search = Search()\n"
        "with limited(str(limit), end), search:\n"
        "    while not search.expired():\n"
        "        hold()\n"
        "assert most < limit\n"
    )
    assert done.returncode == 0, done.stderr
    assert "searches end with the best that they have" in done.stderr


def test_work_that_goes_on_is_given_up() -> None:
    code = "with limited(str(limit), end), contextlib.suppress(MemoryError):\n    while True:\n        hold()\nheld.clear()\n"
    done = ended(code)
    assert done.returncode == 0, done.stderr


def test_processes_that_go_on_are_ended_before_the_command() -> None:
    done = ended(
        "from shorthaul.core.searching.tasks import run_tasks\n"
        "here = os.getpid()\n"
        "def grow(task, search):\n"
        "    while not (os.getpid() == here and search.expired()):\n"
        "        held.append(bytearray(b'x') * 5_000_000)\n"
        "        time.sleep(0.01)\n"
        "    return 'here'\n"
        "search = Search(is_command=True, workers=2, effort=100)\n"
        "with limited(str(limit), end), search:\n"
        "    found = dict(run_tasks(grow, [0, 1], search=search, unlimited=1))\n"
        "print(*found.values())\n"
    )
    assert (done.returncode, done.stdout) == (0, "here\n"), done.stderr
    assert "died; what it had told so far counts" in done.stderr


def test_an_answer_that_is_on_its_way_is_not_given_up() -> None:
    done = ended(
        "from shorthaul.core.searching.memory import stop_watching\n"
        "with limited(str(limit), end):\n"
        "    stop_watching()\n"
        "    for _ in range(42):\n"
        "        hold()\n"
        "    time.sleep(0.3)\n"
        "print('out')\n"
    )
    assert (done.returncode, done.stdout) == (0, "out\n"), done.stderr


def test_a_command_that_goes_on_ends() -> None:
    # The library's calls take no notice of errors of Python's.
    done = ended("import re\nwith limited(str(limit), end):\n    held = bytes(200_000_000) * 1000\n")
    assert done.returncode in {1, 4}, done.stderr
    assert done.returncode == 4 or "MemoryError" in done.stderr


def test_a_limit_that_nobody_gave_grows_with_what_is_free() -> None:
    """A search that begins while others hold the memory goes on once they have given it back."""
    done = ended(
        "from shorthaul.core.searching import memory\n"
        "free = memory.free_bytes\n"
        "memory.free_bytes = lambda: 40_000_000\n"
        "search = Search()\n"
        "with limited(None, end), search:\n"
        "    memory.free_bytes = free\n"
        "    for _ in range(16):\n"
        "        hold()\n"
        "    time.sleep(0.3)\n"
        "    assert not search.expired()\n"
    )
    assert done.returncode == 0, done.stderr
    assert "is reached" not in done.stderr


@pytest.mark.parametrize("text", ["", "much", "0", "-3G", "4 potatoes", "1e400", "nan"])
def test_what_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is no amount of memory"):
        bytes_of(text)


def test_a_limit_that_is_used_up_is_refused() -> None:
    with pytest.raises(InputError, match="is less than the command already uses"):
        limit_of("1M")


def test_without_a_limit_most_of_what_is_free_is_taken() -> None:
    free, used, limit = free_bytes(), used_bytes(), limit_of(None)
    assert free is not None
    assert used is not None
    assert limit is not None
    assert 0.5 * free < limit < used + free


def test_a_profiler_may_look_on_afterwards() -> None:
    code = "import sys\nfrom shorthaul.core.searching.memory import limited\nwith limited('64G'):\n    pass\n"
    code += "sys.setprofile(lambda *_: None)\n(lambda: 0)()\n"  # went on forever
    subprocess.run([sys.executable, "-c", code], check=True, timeout=600)
