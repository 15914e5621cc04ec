from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.commands import shorthaul as run_shorthaul
from tests.commands import shorthaul_json

import shorthaul
from shorthaul.core.errors import InputError
from shorthaul.core.search import Search
from shorthaul.core.searching import cluster as subject
from shorthaul.core.searching.signals import Allowance
from shorthaul.core.searching.tasks import run_tasks

SEARCH = ("tensor", "plan", "transformer-block", "--restarts", "3", "--effort", "0.05")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    from distributed import LocalCluster  # a second, which other processes of the tests need not take

    threads = {"processes": False, "protocol": "tcp://", "host": "127.0.0.1"}
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, **threads) as cluster:
        yield cluster.scheduler_address
        subject.connected.cache_clear()


def square(value: int, _: Search) -> int:
    return value * value


def until_stopped(value: int, search: Search) -> int:
    """Wait for the end of the search; -1 where it did not come."""
    search.report(best=100 - value)
    began = time.monotonic()
    while not search.expired():
        if time.monotonic() - began > 60:
            return -1
        time.sleep(0.02)
    return value


def how_long(_: int, search: Search) -> float | None:
    return None if search.deadline == float("inf") else search.remaining_s()


def test_answers_come_from_the_workers(address: str) -> None:
    search = Search(cluster=address)
    assert sorted(run_tasks(square, list(range(7)), search=search)) == [(i, i * i) for i in range(7)]
    assert dict(run_tasks(how_long, [0, 0], search=search)) == {0: None, 1: None}
    left = dict(run_tasks(how_long, [0, 0], search=Search(cluster=address, time_limit=1e6)))
    assert all(item is not None and 9e5 < item <= 1e6 for item in left.values())


def test_the_time_limit_reaches_the_workers_and_their_best_the_search(address: str) -> None:
    seen: list[float] = []
    search = Search(cluster=address, time_limit=2)
    answers = dict(run_tasks(until_stopped, list(range(9)), search=search, watch=seen.append, shares_time=False))
    assert answers.items() <= {0: 0, 1: 1}.items(), "at most as many as there are threads, stopped; the others dropped"
    assert seen[-1:] == [100 - at for at in sorted(answers)][-1:]


def test_an_interrupt_reaches_the_workers(address: str) -> None:
    def interrupt(_: float) -> None:
        if search.elapsed_s() > 0.5 and not search.interrupted:
            signal.raise_signal(signal.SIGINT)

    with Search(cluster=address) as search:
        assert dict(run_tasks(until_stopped, [5, 6], search=search, watch=interrupt)) == {0: 5, 1: 6}


def test_a_part_of_a_search_stays_on_the_cluster() -> None:
    assert Search(cluster="tcp://here:1").part(0.5).cluster == "tcp://here:1"


def test_other_versions_on_the_workers_are_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    client = subject.connected(address, 1)
    monkeypatch.setattr(subject, "VERSION", "0.0.0")
    monkeypatch.setattr(client, "run", lambda _: {"worker": "9.9.9"})
    with pytest.raises(InputError, match=r"workers have shorthaul 9\.9\.9"):
        subject._expect_same_version(client, address)
    monkeypatch.setattr(client, "run", lambda _: {})
    with pytest.raises(InputError, match="has no workers"):
        subject._expect_same_version(client, address)


@pytest.mark.parametrize("wrong", ["nonsense", "tcp://127.0.0.1:1", ""])
def test_an_address_where_nobody_answers(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "_CONNECT_S", 1)
    with pytest.raises(InputError, match="cannot be reached"):
        subject.connected(wrong, 1)


def test_without_dask_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match="needs Dask") as caught:
        subject.connected("tcp://nowhere:8786", 1)
    assert "shorthaul[cluster]" in str(caught.value)


def test_processes_of_a_local_cluster_find_the_same_plan(tmp_path: Path) -> None:
    here = shorthaul_json(*SEARCH, "--workers", "1", cwd=tmp_path)
    there = shorthaul_json(*SEARCH, "--cluster", "local", "--workers", "2", cwd=tmp_path)
    assert here["plan"] == there["plan"]
    assert here["cost"] == there["cost"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        "pebble bound pyramid:n=30 --budget 160 --effort 0.3",
        "tensor bound transformer-block:heads=8,layers=2 --rules contest --effort 1",
        "dataflow bound fig7 --effort 0.5",
        "dataflow buffers sobel --serial --effort 0.01",
        "affine bound matvec --size M=90,N=90,S=9",
    ],
)
def test_bounds_and_fronts_of_storage_are_the_same_on_a_local_cluster(command: str, tmp_path: Path) -> None:
    here = shorthaul_json(*command.split(), "--workers", "1", cwd=tmp_path)
    there = shorthaul_json(*command.split(), "--cluster", "local", "--workers", "2", cwd=tmp_path)
    del here["provenance"], there["provenance"]
    assert here == there


def test_a_wrong_address_is_refused_before_the_search(tmp_path: Path) -> None:
    done = run_shorthaul("tensor", "plan", "example-1", "--cluster", "nonsense", cwd=tmp_path)
    assert done.returncode == 2
    assert "cannot be reached" in done.stderr


@pytest.mark.slow
def test_control_c_in_a_search_on_processes_of_a_cluster(tmp_path: Path) -> None:
    search = ["tensor", "plan", "transformer-block", "--cluster", "local", "--workers", "2", "--effort", "100000"]
    process = subprocess.Popen(
        [sys.executable, "-m", "shorthaul", *search, "-o", "plan.json"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    while "best" not in process.stderr.readline():  # the first line of progress: the search is under way
        assert process.poll() is None
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    assert "Traceback" not in errors
    assert tmp_path.joinpath("plan.json").exists()


def test_plans_reach_the_search_before_a_task_ends(address: str) -> None:
    def watch(_: float) -> None:
        if search.kept is not None:
            HEARD.set()

    HEARD.clear()
    search = Search(cluster=address)
    search.begin()
    assert dict(run_tasks(keeping, [5, 3], search=search, watch=watch)) == {0: True, 1: True}


HEARD = threading.Event()


def keeping(value: int, search: Search) -> bool:
    search.keep(value, f"plan {value}")
    return HEARD.wait(30)


def test_what_was_cut_off_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    class Unreachable:
        def __init__(self, _: str) -> None: ...

        def is_set(self) -> bool:
            raise TimeoutError

    monkeypatch.setattr("distributed.Event", Unreachable)
    with pytest.raises(ConnectionError):
        subject._run(cut_off, None, Allowance(None, None, 0), "search", 0)


def cut_off(_: None, search: Search) -> bool:
    while not search.expired():
        time.sleep(0.01)
    return True


def test_a_cluster_that_was_lost_is_not_asked_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def lost(work: object) -> Iterator[tuple[int, float]]:
        raise subject.ClusterLostError("the cluster is lost")
        yield 0, 0.0

    monkeypatch.setattr(subject, "run_on_cluster", lost)
    search = Search(cluster="tcp://127.0.0.1:1", workers=1, effort=1)
    for _ in range(2):
        assert len(dict(run_tasks(how_long, [0, 0], search=search.part(0.5)))) == 2
    assert capsys.readouterr().err.count("the cluster is lost: what is left to do is done on this machine") == 1


@pytest.mark.parametrize(("status", "lines"), [("running", 0), ("connecting", 1)])
def test_a_scheduler_that_died_when_nothing_was_left_is_told(
    status: str, lines: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(subject, "connected", lambda *_: SimpleNamespace(status=status))
    assert shorthaul.pebble.bound("fft:n=4", budget=48, cluster="tcp://127.0.0.1:1", effort=0.1).bound is not None
    told = "the scheduler at tcp://127.0.0.1:1 is gone: nothing was left to do there"
    assert capsys.readouterr().err.count(told) == lines
