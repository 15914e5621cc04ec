"""Several applications on one platform: one period, firings by name, what each file asks for."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from tests.dataflow.formats.test_sdf3 import FILE, constrained

from shorthaul import dataflow
from shorthaul.core.errors import InfeasibleError, InputError
from shorthaul.dataflow.formats.documents import load_application
from shorthaul.dataflow.loading import load_problem
from shorthaul.dataflow.workloads.generators import figure7, random_graph

QUICK = {"generations": 1, "population": 4, "polish_effort": 0.0}


def document(tmp_path: Path, *members: object, **rest: object) -> Path:
    (tmp_path / "converter.xml").write_text(FILE.replace('"arm"', '"t1"').replace('"dsp"', '"t2"'))
    (tmp_path / "fast.xml").write_text(constrained("<throughput>0.001</throughput>").replace('"arm"', '"t1"'))
    path = tmp_path / "several.json"
    path.write_text(json.dumps({"kind": "shorthaul-dataflow-applications", "applications": [*members], **rest}))
    return path


@pytest.mark.parametrize("times", [2])
@pytest.mark.parametrize("seed", range(2))
def test_several_iterations_take_several_times_as_long(seed: int, times: int) -> None:
    single = random_graph(5, 0.8, 1, 50, seed)
    converter = load_application(Path("app.xml"), FILE.encode())
    for application in (single, converter):
        periods = [
            Fraction(dataflow.throughput(each, serial=True).extra["exact_period"])
            for each in (application, dataflow.together({"x": application}, {"x": times}))
        ]
        assert periods[1] == times * periods[0]
        free = dataflow.throughput(application).extra["exact_period"]
        unfolded = dataflow.throughput(dataflow.together({"x": application}, {"x": times})).extra["exact_period"]
        assert Fraction(unfolded) == times * Fraction(free)


def test_plans_of_several_applications_are_checked_as_one(tmp_path: Path) -> None:
    path = document(
        tmp_path, {"application": "fig7"}, {"application": "converter.xml", "iterations": 2}, platform="many-core-24"
    )
    result = dataflow.plan(path, **QUICK)
    assert result.check.ok
    assert {"fig7.a1", "converter.A#5", "converter.B#3"} <= set(result.plan.front[0].binding)
    assert dataflow.check(path, result).check.ok
    as_dict = {"kind": "shorthaul-dataflow-applications", "applications": [{"application": "fig7", "iterations": 2}]}
    assert dataflow.throughput(as_dict).cost == dataflow.throughput(json.dumps(as_dict)).cost
    alone = dataflow.plan(load_problem(path, path.read_bytes()).application, **QUICK)
    assert alone.plan == result.plan
    bound_to = dataflow.plan(path, bind={"converter.A": "p1"}, **QUICK)
    assert {point.binding["converter.A#3"] for point in bound_to.plan.front} == {"p1"}


def test_an_actor_of_several_iterations_is_one_function() -> None:
    both = dataflow.together({"x": figure7().application, "y": figure7().application}, {"x": 2})
    assert [actor.id for actor in dataflow.marked_graph(both).actors][-6:] == [
        "x.a5#1",
        *(f"y.a{n}" for n in range(1, 6)),
    ]
    files = dataflow.code(both, dataflow.plan(both, **QUICK).plan).extra["files"]
    assert "fire_x_a5(long firing" in files["actors.h"]
    assert "fire_x_a5(k * 2 + 1" in "".join(files.values())


def test_times_are_in_the_finest_unit() -> None:
    coarse, fine = figure7().application, random_graph(3, 0.5, 0, 9)
    assert (coarse.time_unit, fine.time_unit) == ("ms", "us")
    both = dataflow.together({"coarse": coarse, "fine": fine})
    assert both.time_unit == "us"
    assert both.actors[0].tau["t1"] == 1000 * coarse.actors[0].tau["t1"]
    assert both.actors[-1].tau == fine.actors[-1].tau


def test_the_tightest_constraint_holds_for_all(tmp_path: Path) -> None:
    path = document(
        tmp_path, {"application": "fast.xml", "iterations": 3}, {"application": "fast.xml", "name": "again"}
    )
    assert load_problem(path, path.read_bytes()).deadline == 1000
    path = document(tmp_path, {"application": "fast.xml", "iterations": 3}, {"application": "sobel"})
    with pytest.raises(InfeasibleError, match=r"wherever sobel\.gray is, its core or the crossbar"):
        dataflow.plan(path)


@pytest.mark.parametrize(
    ("members", "says"),
    [
        ([], "applications: names no application"),
        ([5], "applications[0]: expected 'object'"),
        ([{"name": "x"}], "applications[0].application: is missing"),
        ([{"application": "sobell"}], "did you mean 'sobel'"),
        ([{"application": "sobel", "iteration": 2}], "did you mean 'iterations'"),
        ([{"application": "sobel", "iterations": 0}], "iterations.sobel: is out of range"),
        ([{"application": "sobel", "iterations": "2"}], "applications[0].iterations: expected 'int'"),
        ([{"application": "sobel"}, {"application": "sobel"}], "applications[1].name: is no name of its own"),
        ([{"application": "several.json"}], "applications: holds several applications itself"),
    ],
)
def test_wrong_documents(tmp_path: Path, members: list[object], says: str) -> None:
    with pytest.raises(InputError) as caught:
        dataflow.plan(document(tmp_path, *members))
    assert says in str(caught.value)


def test_a_member_that_is_not_there_is_named_where_it_is_listed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"several\.json: applications\[1\]\.application: no such file"):
        dataflow.plan(document(tmp_path, {"application": "fig7"}, {"application": "lost.xml"}))


@pytest.mark.parametrize("way", ["../outside.xml", "{folder}/outside.xml", "link.xml", "a\0b", ""])
def test_what_a_document_names_lies_beside_it(tmp_path: Path, way: str) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "outside.xml").write_text(FILE)
    (inside / "link.xml").symlink_to("../outside.xml")
    name = way.format(folder=tmp_path)
    mapping = {"binding": {}, "channel_decision": {}}
    for text in (
        {"application": name, **mapping},
        {"application": "converter.xml", "platform": name, **mapping},
    ):
        document(inside, {"application": "fig7"}).write_text(json.dumps(text))
        with pytest.raises(InputError, match=r"document's folder|is no file name"):
            dataflow.schedule(inside / "several.json")
    for member, rest in (({"application": name}, {}), ({"application": "fig7"}, {"platform": name})):
        with pytest.raises(InputError, match=r"document's folder|is no file name"):
            dataflow.plan(document(inside, member, **rest), **QUICK)


def test_wrong_numbers_of_iterations() -> None:
    with pytest.raises(InputError, match="unknown application"):
        dataflow.together({"x": figure7().application}, {"y": 2})
