from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time

import pytest

from shorthaul.core.errors import InputError
from shorthaul.core.search import Budget, Progress, process_start


def test_limits_are_checked() -> None:
    for wrong in (0, -1, float("nan"), float("inf")):
        with pytest.raises(InputError, match="time limit"):
            Budget(time_limit_s=wrong)
    with pytest.raises(InputError, match="seed"):
        Budget(seed=-1)
    with pytest.raises(InputError, match="processes"):
        Budget(workers=0)


def test_the_same_seed_draws_the_same_numbers() -> None:
    budget = Budget(seed=5)
    assert budget.generator().integers(1000, size=4).tolist() == budget.generator().integers(1000, size=4).tolist()


def test_the_clock_may_start_before_the_budget() -> None:
    budget = Budget(time_limit_s=5, started=time.monotonic() - 6)
    assert budget.expired()
    assert budget.remaining_s() == 0
    assert time.monotonic() - process_start() >= 0


def test_one_interrupt_ends_the_search_two_the_program() -> None:
    before = signal.getsignal(signal.SIGINT)  # a process in the background may have it ignored
    with Budget() as budget:
        os.kill(os.getpid(), signal.SIGINT)
        assert budget.interrupted
        assert budget.expired()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_part_ends_with_the_whole_and_tells_its_progress() -> None:
    out = io.StringIO()
    with Budget(time_limit_s=100, seed=7, progress=Progress(out), started=time.monotonic() - 3) as whole:
        part = whole.part(0.5)
        assert part.seed == 7
        assert part.time_limit_s is not None
        assert 40 < part.time_limit_s < 50
        part.report(best=5, bound=4, what="inside")
        assert "inside" in out.getvalue()
        os.kill(os.getpid(), signal.SIGINT)
        assert part.interrupted
        assert part.expired()
    assert Budget().part(0.5).time_limit_s is None
    assert Budget().part(0.5, endless_s=9).time_limit_s == 9


def test_progress_is_quiet_at_first_and_plain_without_a_terminal() -> None:
    out = io.StringIO()
    progress = Progress(out)
    progress.show(1.0, 5, 4, "early")
    assert not out.getvalue()
    progress.show(2.5, 5, 4, "beam")
    progress.show(3.0, 5, 4, "too soon after")
    assert out.getvalue() == "    2.5 s  best 5  bound 4  gap 25.00%  beam\n"


def test_an_interrupt_within_a_part_ends_the_whole() -> None:
    whole = Budget(time_limit_s=100)
    with whole.part(0.5) as part:
        signal.raise_signal(signal.SIGINT)
        assert part.interrupted
    assert whole.interrupted
    assert whole.part(0.5).expired()


def test_interrupt_in_a_real_process() -> None:
    code = (
        "import time\n"
        "from shorthaul.core.search import Budget\n"
        "with Budget() as budget:\n"
        "    print('go', flush=True)\n"
        "    while not budget.expired(): time.sleep(0.01)\n"
        "print('best so far')\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "go\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=20)[0] == "best so far\n"
    assert process.returncode == 0
