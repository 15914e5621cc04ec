from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time

import pytest

from shorthaul.cli.endings import process_start
from shorthaul.core.errors import InputError
from shorthaul.core.search import Search
from shorthaul.core.searching.ending import ENDING, ENDING_COMMANDS
from shorthaul.core.searching.progress import Progress


def test_limits_are_checked() -> None:
    for wrong in (0, -1, float("nan"), float("inf")):
        with pytest.raises(InputError, match=r"^time_limit: is out of range"):
            Search(time_limit=wrong)
    for wrong in (0, -1, float("nan"), float("inf")):
        with pytest.raises(InputError, match=r"^effort: is out of range"):
            Search(effort=wrong)
    with pytest.raises(InputError, match=r"^seed: is out of range"):
        Search(seed=-1)
    with pytest.raises(InputError, match=r"^workers: is out of range"):
        Search(workers=0)


def test_the_same_seed_draws_the_same_numbers() -> None:
    search = Search(seed=5)
    assert search.generator().integers(1000, size=4).tolist() == search.generator().integers(1000, size=4).tolist()


def test_the_clock_may_start_before_the_budget() -> None:
    search = Search(time_limit=5, started=time.monotonic() - 6)
    assert search.expired()
    assert search.remaining_s() == 0
    assert time.monotonic() - process_start() >= 0


def test_one_interrupt_ends_the_search_two_the_program() -> None:
    before = signal.getsignal(signal.SIGINT)  # a process in the background may have it ignored
    with Search() as search:
        os.kill(os.getpid(), signal.SIGINT)
        assert search.interrupted
        assert search.expired()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.skipif(not ENDING_COMMANDS, reason="a system without such signals")
def test_the_end_of_a_terminal_or_of_processor_time_ends_the_search_of_a_command_and_no_answer() -> None:
    before = [signal.signal(number, signal.SIG_DFL) for number in ENDING_COMMANDS]
    try:
        for number in ENDING_COMMANDS:
            with Search(is_command=True) as search:
                for _ in range(3):
                    signal.raise_signal(number)
                assert search.interrupted
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
        with Search(is_command=True) as search:
            signal.raise_signal(signal.SIGHUP)
            assert not search.interrupted
    finally:
        for number, handler in zip(ENDING_COMMANDS, before, strict=True):
            signal.signal(number, handler)
        for number in ENDING:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


def test_processor_time_that_ends_at_once_is_announced_before() -> None:
    code = (
        "import resource\n"
        "from shorthaul.core.searching.ending import keep_processor_time, use_processor_time\n"
        "resource.setrlimit(resource.RLIMIT_CPU, (50, 50))\n"
        "for step in keep_processor_time, use_processor_time:\n"
        "    step()\n"
        "    print(resource.getrlimit(resource.RLIMIT_CPU))\n"
    )
    pytest.importorskip("resource")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "(45, 50)\n(50, 50)\n"


def test_a_part_ends_with_the_whole_and_tells_its_progress() -> None:
    out = io.StringIO()
    with Search(time_limit=100, seed=7, progress=Progress(out), started=time.monotonic() - 3) as whole:
        part = whole.part(0.5)
        assert part.seed == 7
        assert part.time_limit is not None
        assert 40 < part.time_limit < 50
        part.report(best=5, bound=4, what="inside")
        assert "inside" in out.getvalue()
        os.kill(os.getpid(), signal.SIGINT)
        assert part.interrupted
        assert part.expired()
    assert Search().part(0.5).is_unlimited
    assert Search().part(0.5, unlimited=9).effort == 9


def test_effort_is_shared_out_and_spent_in_every_part() -> None:
    whole = Search(effort=8)
    half = whole.part(0.5)
    quarter = half.part(0.5)
    assert (half.effort, quarter.effort) == (4, 2)
    quarter.spend(2)
    assert quarter.expired()
    assert (quarter.left(), half.left(), whole.left()) == (0, 2, 6)
    half.spend(6)
    assert whole.spent() == 8
    assert quarter.part(1.0).expired()


def test_as_much_again_is_not_charged_and_keeps_its_best_for_the_whole() -> None:
    search = Search(effort=2)
    search.begin()
    again = search.again()
    again.part(1.0).spend(2)
    again.part(0.5).keep(3, "a plan")
    assert again.expired()
    assert (search.left(), search.best()) == (2.0, "a plan")
    assert search.affords(2)
    assert Search(time_limit=10).again().remaining_s() <= 5
    assert Search().again().is_unlimited


def test_effort_does_not_pass_with_time_but_the_deadline_holds() -> None:
    search = Search(effort=1, time_limit=50, started=time.monotonic() - 40)
    assert search.left() == 1
    assert 8 < search.remaining_s() <= 10
    part = search.part(0.5)
    assert part.effort == 0.5
    assert part.deadline == search.deadline
    search.keep_back(20)
    assert part.expired()


def test_progress_is_quiet_at_first_and_plain_without_a_terminal() -> None:
    out = io.StringIO()
    progress = Progress(out)
    progress.show(1.0, 5, 4, "early")
    assert not out.getvalue()
    progress.show(2.5, 5, 4, "beam")
    progress.show(3.0, 5, 4, "too soon after")
    assert out.getvalue() == "    2.5 s  best 5  bound 4  gap 25.00%  beam\n"


def test_an_interrupt_within_a_part_ends_the_whole() -> None:
    whole = Search(time_limit=100)
    with whole.part(0.5) as part:
        signal.raise_signal(signal.SIGINT)
        assert part.interrupted
    assert whole.interrupted
    assert whole.part(0.5).expired()


def test_interrupt_in_a_real_process() -> None:
    code = (
        "import time\n"
        "from shorthaul.core.search import Search\n"
        "with Search() as search:\n"
        "    print('go', flush=True)\n"
        "    while not search.expired(): time.sleep(0.01)\n"
        "print('best so far')\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "go\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=600)[0] == "best so far\n"
    assert process.returncode == 0


def test_a_search_is_late_after_its_limit_also_what_was_kept_back_of_it() -> None:
    search = Search(time_limit=100, started=time.monotonic() - 99)
    search.keep_back(50)
    assert search.expired()
    assert not search.is_late()
    assert Search(time_limit=100, started=time.monotonic() - 101).part(0.5).is_late()
    assert not Search(effort=1).is_late()


def test_one_process_for_each_core_it_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: {1, 4, 5}, raising=False)
    assert Search().workers == 3
