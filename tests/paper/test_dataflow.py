"""The numbers of Letras, Falk, Teich (IEEE Access 2024), as corrected: figures, byte totals, the counterexample."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shorthaul.dataflow.check.replay import check_point
from shorthaul.dataflow.formats.documents import load_application
from shorthaul.dataflow.formats.platforms import load_platform
from shorthaul.dataflow.graphs.multi_reader_buffers import MultiReaderBuffer, substitute_mrbs
from shorthaul.dataflow.loading import load_problem
from shorthaul.dataflow.model import Problem
from shorthaul.dataflow.verbs.planning import schedule
from shorthaul.dataflow.workloads import generators

DATA = Path(__file__).parents[3] / "shared" / "data" / "dataflow"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the given instances are not beside the repository")

FIGURES = {
    "fig4": (generators.figure1(replaced=True), 8),
    "fig5": (generators.figure1(replaced=False), 7),
    "fig7": (generators.figure7(), 10),
}
WINDOW = {"fig4": 10, "fig5": 12, "fig7": 12}


def test_figure_3_trace() -> None:
    buffer = MultiReaderBuffer[int](4, ["a3", "a4"])

    def state() -> tuple[int, int, int]:
        return buffer.write_index, buffer.read_index["a3"], buffer.read_index["a4"]

    assert state() == (0, -1, -1)
    for token in range(3):
        buffer.write([token])
    assert state() == (3, 0, 0)
    assert (buffer.available("a3"), buffer.available("a4")) == (3, 3)
    assert [buffer.read("a3")[0] for _ in range(3)] == [0, 1, 2]
    buffer.write([3])
    assert state() == (0, 3, 0)
    assert (buffer.available("a3"), buffer.available("a4"), buffer.free) == (1, 4, 0)
    assert (buffer.read("a4"), buffer.read("a3")) == ([0], [3])
    assert state() == (0, -1, 1)
    assert (buffer.available("a3"), buffer.available("a4"), buffer.free) == (0, 3, 1)


def test_figure_2_bytes() -> None:
    application = generators.figure1(replaced=True).application
    separate = sum(c.capacity * c.token_bytes for c in application.channels[:3])
    merged = substitute_mrbs(application, {"a2": 1}).buffers[0]
    assert separate == 228_000
    assert merged.capacity == 4
    assert merged.capacity * merged.token_bytes == 152_000


@pytest.mark.parametrize("decoder", ["caps", "multistart", "modulo"])
@pytest.mark.parametrize("order", ["topological", "inverse"])
@pytest.mark.parametrize("name", FIGURES)
def test_figures_reach_their_periods(name: str, order: str, decoder: str) -> None:
    problem, period = FIGURES[name]
    result = schedule(problem, order=order, decoder=decoder)
    assert result.cost["period"] == period
    assert result.bound.value == period
    assert result.status.value == "optimal"


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name == "fig7" else []) for name in FIGURES]
)
def test_the_printed_model_is_not_exact(name: str) -> None:
    assert schedule(FIGURES[name][0], decoder="window").cost["period"] == WINDOW[name]


def test_figure_7_starts() -> None:
    point = schedule(FIGURES["fig7"][0], decoder="caps", order="topological").plan.front[0]
    assert [point.starts[name] for name in ("a1", "a2", "a3", "a4", "a5")] == [0, 4, 8, 11, 20]


def test_figure_5_starts_of_caps_hms() -> None:
    point = schedule(FIGURES["fig5"][0], decoder="caps", order="topological").plan.front[0]
    assert [point.starts[name] for name in ("a1", "a2", "a3", "a4", "a5")] == [0, 1, 4, 4, 13]


@needs_data
@pytest.mark.parametrize("name", ["fig4", "fig5", "fig7"])
def test_drawn_schedules_have_the_figures_durations(name: str) -> None:
    """The cases map to the communications of the given figure files: same tasks, durations and crossbar."""
    given = json.loads((DATA / "figures.json").read_text())[name]
    point = schedule(FIGURES[name][0], decoder="caps").plan.front[0]
    on_crossbar = sum(1 for item in given["communications"] if item["interconnects"])
    assert len(point.routes) == on_crossbar
    assert dict(point.binding) == given["binding"]
    assert given["expected"]["P_paper"] == FIGURES[name][1]


@pytest.mark.parametrize(
    ("build", "counts", "kept", "replaced"),
    [
        (generators.sobel, (7, 7, 1), 74_613_612, 58_024_812),
        (generators.sobel4, (23, 29, 4), 74_685_636, 58_072_828),
        (generators.multicamera, (62, 111, 23), 52_928_000, 33_715_200),
    ],
)
def test_counts_and_bytes(build, counts, kept, replaced) -> None:
    application = build()
    assert (len(application.actors), len(application.channels), len(application.multicasts)) == counts
    assert sum(channel.token_bytes for channel in application.channels) == kept
    merged = substitute_mrbs(application, dict.fromkeys(application.multicasts, 1))
    assert sum(buffer.token_bytes for buffer in merged.buffers) == replaced


@needs_data
@pytest.mark.parametrize("name", ["sobel", "sobel4", "multicamera"])
def test_generators_equal_the_given_files(name: str) -> None:
    path = DATA / f"{name}.json"
    given = load_application(path, path.read_bytes())
    made = getattr(generators, name)()
    assert (made.actors, made.channels, made.time_unit) == (given.actors, given.channels, given.time_unit)


@needs_data
def test_platform_equals_the_given_file() -> None:
    given, made = load_platform(DATA / "platform24.json"), generators.platform24()
    assert (made.core_types, made.tiles, made.noc_bytes_per_s) == (given.core_types, given.tiles, given.noc_bytes_per_s)


def counterexample() -> Problem:
    path = DATA / "sobel_eq19_counterexample.json"
    return load_problem(path, path.read_bytes())


@needs_data
def test_counterexample_is_solved_to_its_bound() -> None:
    problem = counterexample()
    result = schedule(problem, decoder="modulo")
    assert (result.cost["period"], result.bound.value, result.status.value) == (14_926, 14_926, "optimal")
    assert check_point(problem.application, problem.platform, result.plan.front[0]).ok


@needs_data
@pytest.mark.slow
def test_counterexample_in_the_printed_model() -> None:
    assert schedule(counterexample(), decoder="window", solver_effort=120.0).cost["period"] == 15_693
