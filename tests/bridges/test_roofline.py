from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.commands import shorthaul, shorthaul_json

from shorthaul.bridges.roofline import roofline
from shorthaul.core.errors import InputError
from shorthaul.core.figure import Series, Table

MEASURED = {
    "kind": "shorthaul/pebble-result",
    "cost": {"traffic": 40},
    "bound": {"of": "traffic", "value": 20},
    "operations": 80,
    "provenance": {"input": "fft"},
}


def test_a_plan_and_its_limit_lie_on_the_roof() -> None:
    curve, table = roofline([MEASURED], names=["result.json"], peak=12, bandwidth=4)
    assert isinstance(curve, Series)
    assert isinstance(table, Table)
    placed = {line.name: (line.x[0], line.y[0]) for line in curve.lines[1:]}
    assert placed == {"fft: this plan": (2, 8), "fft: limit from the bound": (4, 12)}
    roof = curve.lines[0]
    assert all(y == min(12, 4 * x) for x, y in zip(roof.x, roof.y, strict=True))
    assert 3 in roof.x, "the ridge"
    assert table.rows == (("fft", 80, 2, 4, pytest.approx(2 / 3), "bandwidth"),)


def test_a_bound_without_a_plan_and_results_that_count_nothing() -> None:
    alone = {**MEASURED, "cost": None}
    other = {"kind": "shorthaul/spatial-result", "cost": {"energy_hops": 3}, "provenance": None}
    curve, table = roofline([alone, other], names=["a", "b"], peak=12, bandwidth=4)
    assert [line.name for line in curve.lines[1:]] == ["fft: limit from the bound"]
    assert table.rows == (("fft", 80, None, 4, 1, "peak"),)
    with pytest.raises(InputError, match="no result counts its operations") as caught:
        roofline([other], names=["b"], peak=12, bandwidth=4)
    assert "shorthaul/spatial-result" in str(caught.value)


@pytest.mark.parametrize("wrong", [0.0, -1.0, float("nan"), float("inf")])
def test_a_machine_has_amounts_above_0(wrong: float) -> None:
    for flags in ({"peak": wrong, "bandwidth": 1.0}, {"peak": 1.0, "bandwidth": wrong}):
        with pytest.raises(InputError, match="is out of range"):
            roofline([MEASURED], names=["a"], **flags)


def test_results_of_three_engines_on_one_roofline(tmp_path: Path) -> None:
    commands = {
        "tensor": ("plan", "example-3", "--effort", "0.1"),
        "pebble": ("bound", "fft:n=4,word=1", "--budget", "4"),
        "affine": ("bound", "atax", "--size", "M=100,N=100,S=64", "--effort", "0.05"),
    }
    plan = shorthaul_json("pebble", "plan", "fft:n=4,word=1", "--budget", "4", cwd=tmp_path)
    assert plan["operations"] == 8, "n log n nodes are computed"
    documents = [plan, *(shorthaul_json(engine, *command, cwd=tmp_path) for engine, command in commands.items())]
    assert documents[1]["operations"] == 3 * 128 * 128, "one for every element of three pointwise operators"
    assert documents[3]["operations"] == 4 * 100 * 100, "a multiplication and an addition, twice per element"
    files = []
    for number, document in enumerate(documents):
        files.append(f"{number}.json")
        tmp_path.joinpath(files[-1]).write_text(json.dumps(document))
    done = shorthaul("report", *files, "--peak", "100", "--bandwidth", "10", "-o", "r.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "<h2>Roofline</h2>" in tmp_path.joinpath("r.html").read_text()
    for flags, says in ((("--peak", "5"), "needs both"), (("--peak", "0", "--bandwidth", "1"), "is out of range")):
        refused = shorthaul("report", files[0], *flags, "-o", "other.html", cwd=tmp_path)
        assert refused.returncode == 2
        assert says in refused.stderr
    tmp_path.joinpath("damaged.json").write_text(json.dumps({**plan, "bound": "x"}))
    refused = shorthaul("report", "damaged.json", "--peak", "5", "--bandwidth", "1", "-o", "other.html", cwd=tmp_path)
    assert refused.returncode == 2
    assert "damaged.json: bound: is damaged" in refused.stderr
    assert not tmp_path.joinpath("other.html").exists()
