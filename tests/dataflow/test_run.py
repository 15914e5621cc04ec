from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from scipy import ndimage
from tests.commands import shorthaul, shorthaul_json

from shorthaul import dataflow
from shorthaul.core.errors import InputError
from shorthaul.dataflow.execution import sobel_filter
from shorthaul.dataflow.execution.machine import direct, execute, stand_in_functions
from shorthaul.dataflow.workloads import generators

PLATFORM = generators.platform24()
QUICK = {"generations": 5, "population": 20, "polish_effort": 0.1, "platform": PLATFORM}


def applications():
    return {
        "sobel": generators.sobel(),
        "sobel4": generators.sobel4(),
        "random": dataflow.case("random:actors=9,seed=5").workload.application,
        "chain": dataflow.case("random:actors=6,seed=2,density=0.6").workload.application,
    }


@pytest.mark.costly
@pytest.mark.parametrize("name", applications())
@pytest.mark.parametrize("strategy", ["mrb-always", "reference"])
def test_mapped_networks_compute_what_the_network_means(name: str, strategy: str) -> None:
    application = applications()[name]
    found = dataflow.plan(application, strategy=strategy, **QUICK).plan
    functions, initial = stand_in_functions(application), np.zeros(4)
    for point in found.front[:6]:
        done = execute(application, PLATFORM, point, functions, iterations=6, initial=initial)
        expected = direct(application, point.xi, functions, iterations=6, initial=initial)
        for actor, frames in expected.items():
            assert all(np.array_equal(a, b) for a, b in zip(frames, done.frames[actor], strict=True)), actor
        assert all(done.fullest[name] <= capacity for name, capacity in point.capacities.items())


def test_the_capacity_formula_leaves_no_place_over() -> None:
    """A buffer one token smaller than section 1.4's formula says does not survive a run."""
    application = applications()["random"]
    point = dataflow.plan(application, strategy="reference", **QUICK).plan.front[0]
    functions, initial = stand_in_functions(application), np.zeros(4)
    tried = 0
    for name, capacity in point.capacities.items():
        delay = next(channel.delay for channel in application.channels if channel.id == name)
        if capacity > max(1, delay):
            smaller = dataclasses.replace(point, capacities={**point.capacities, name: capacity - 1})
            with pytest.raises(InputError, match="full"):
                execute(application, PLATFORM, smaller, functions, iterations=8, initial=initial)
            tried += 1
    assert tried


def test_a_token_read_early_ends_the_run() -> None:
    application = generators.sobel()
    point = dataflow.plan(application, strategy="reference", **QUICK).plan.front[0]
    early = {**point.starts, "sink": point.starts["src"] - 3 * point.period}
    functions = stand_in_functions(application)
    with pytest.raises(InputError, match="tick"):
        execute(
            application,
            PLATFORM,
            dataclasses.replace(point, starts=early),
            functions,
            iterations=8,
            initial=np.zeros(4),
        )


def test_sobel_is_the_filter_of_the_text_books() -> None:
    (image,) = sobel_filter.drawn_images(1)
    luma = sobel_filter.gray(image)
    expected = np.hypot(ndimage.sobel(luma, axis=0), ndimage.sobel(luma, axis=1))[1:-1, 1:-1]
    assert np.allclose(sobel_filter.edges(image), expected)


def test_the_sink_receives_the_edges_of_every_image() -> None:
    application = generators.sobel()
    images = sobel_filter.drawn_images(12)
    found = dataflow.plan(application, **QUICK).plan
    functions, initial = sobel_filter.functions(images), np.zeros(images.shape[1:])
    for point in found.front[:3]:
        arrived = execute(application, PLATFORM, point, functions, iterations=12, initial=initial).frames["sink"]
        delay = next(
            k
            for k, frame in enumerate(arrived)
            if frame.ndim == 2 and np.array_equal(frame, sobel_filter.edges(images[0]))
        )
        assert 0 < delay <= 6
        for k in range(delay, 12):
            assert np.array_equal(arrived[k], sobel_filter.edges(images[k - delay]))


def test_run_on_the_command_line(tmp_path: Path) -> None:
    plan = (
        "dataflow",
        "plan",
        "sobel",
        "--generations",
        "5",
        "--population",
        "20",
        "--polish-effort",
        "0.1",
        "-o",
        "plan.json",
    )
    assert shorthaul(*plan, cwd=tmp_path).returncode == 0
    np.save(tmp_path / "images.npy", sobel_filter.drawn_images(2, height=9, width=12))
    document = shorthaul_json(
        "dataflow", "run", "sobel", "--plan", "plan.json", "--images", "images.npy", "--iterations", "9", cwd=tmp_path
    )
    assert document["check"]["ok"]
    assert document["run"]
    assert all(row["identical"] for row in document["run"])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("sobel4", "--images", "images.npy"), "Sobel application only"),
        (("sobel", "--images", "none.npy"), "no such file"),
        (("sobel", "--images", "text.npy"), "is not a NumPy array"),
        (("sobel", "--images", "flat.npy"), "flat.npy: images: are no colour images"),
        (("sobel", "--plan", "text.npy"), "is not JSON"),
        (("sobel", "--iterations", "0"), "--iterations"),
    ],
)
def test_wrong_runs(tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    tmp_path.joinpath("text.npy").write_text("no array")
    np.save(tmp_path / "flat.npy", np.zeros((4, 4)))
    np.save(tmp_path / "images.npy", sobel_filter.drawn_images(2))
    done = shorthaul("dataflow", "run", *arguments, "--generations", "1", cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert says in done.stderr
