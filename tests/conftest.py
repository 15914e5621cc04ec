"""Hypothesis draws the same cases in every run, and judges none by the clock: the machine may be busy."""

from __future__ import annotations

import gc
import os
import zlib
from collections.abc import Generator
from pathlib import Path

import pytest
from _pytest import runner
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from tests import costs
from tests.samples import ALL

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as in a command, before NumPy is imported
settings.register_profile("any machine", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")
# It also draws constants that it finds in every module loaded so far: 3 s in each process of a new clone, and the cases
# of a test depend on which others run beside it. No setting, phase or variable of Hypothesis (6.170) turns that off.
if hasattr(providers, "_get_local_constants"):
    providers._get_local_constants = lambda: providers._local_constants
gc.disable()  # nothing is garbage while modules are imported


class WhereExamplesAre:
    """Looks for doctests in files with examples alone: all others would be imported and walked, a third of collecting."""

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(self, file_path: Path) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
        found = yield
        return [node for node in found if type(node) is pytest.Module or b">>> " in file_path.read_bytes()]


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(WhereExamplesAre())  # a hook of this file is not asked about src
    config.pluginmanager.register(costs)
    if config.getoption("numprocesses", None) and not hasattr(config, "workerinput"):
        from tests.commands import share_server  # keeps the environment as it is by now

        share_server()
    elif hasattr(os, "sched_getaffinity"):
        # Searches of a test start processes where it says how many: other tests need the other cores, and the process
        # that forks for each process of the tests takes 2 s. Commands take one per core, as those of users do.
        os.sched_getaffinity = lambda _process: {0}


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Keep the cases that this run wants before they are items: most cases are slow, and listing them takes as long again.

    Of each costly test one case is tried, drawn by their names, unless all are asked for. Named tests keep theirs.
    """
    definition, cases, expression = metafunc.definition, metafunc._calls, metafunc.config.option.markexpr
    if not cases or any("::" in argument for argument in metafunc.config.args):
        return
    wanted = cases
    if expression in {"slow", "not slow"}:
        slow = {
            id(case) for case in cases if any(mark.name == "slow" for mark in [*case.marks, *definition.iter_markers()])
        }
        wanted = [case for case in cases if (id(case) in slow) == (expression == "slow")]
    if wanted and not ALL and definition.get_closest_marker("costly"):
        wanted = [min(wanted, key=lambda case: zlib.crc32(f"{definition.nodeid}[{case.id}]".encode()))]
    cases[:] = wanted or cases[:1]  # one that pytest leaves out


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Send what a test came to alone, where there are several processes: most messages are that it began and ended well."""
    if not hasattr(item.config, "workerinput"):
        return None
    for report in runner.runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    return True


def pytest_collection_finish(session: pytest.Session) -> None:
    """Keep what importing has made out of every later collection of garbage, and collect seldom: a tenth of the time."""
    gc.freeze()
    gc.set_threshold(100_000, 50, 1000)
    gc.enable()


@pytest.fixture
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the path of a machine file, ``MACHINE`` of the test's module."""
    path = tmp_path / "machine.yaml"
    path.write_text(request.module.MACHINE)
    return str(path)
