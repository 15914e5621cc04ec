"""Platforms from documents and machine files: the same however written, and everything wrong in one message."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.commands import shorthaul
from tests.dataflow.platform_documents import platform_document

from shorthaul import dataflow
from shorthaul.core.errors import InputError
from shorthaul.dataflow.formats.platforms import platform_from
from shorthaul.dataflow.model import Decisions

TEXT = """
name: two clusters
many_core:
  core_types: {cpu: {cost: 1}, dsp: {cost: 2.5}}
  tiles:
    - cores: [{type: cpu, count: 2, local_bytes: 64}, {type: dsp, id: fast, local_bytes: 32}]
      tile_memory_bytes: 256
      crossbar_bytes_per_s: 2.0e9
    - count: 2
      cores: [{type: dsp, local_bytes: 32}]
      tile_memory_bytes: 128
      crossbar_bytes_per_s: 1e9
  noc_bytes_per_s: 1e9
"""


def test_the_bundled_platform_is_the_one_assumed() -> None:
    assert dataflow.load_platform(Path("many-core-24")) == dataflow.platform24()


def test_costs_in_seconds_bytes_and_joules_counted_by_hand() -> None:
    """A token of 1,000 bytes from tile to tile passes two crossbars and the network; on one core none."""
    tile = {"count": 2, "cores": [{"type": "t", "local_bytes": 10_000}], "tile_memory_bytes": 10_000}
    document = {
        "kind": "shorthaul-dataflow-platform",
        "version": 1,
        "core_types": {"t": {"cost": 1}},
        "tiles": [{**tile, "crossbar_bytes_per_s": 1e12}],
        "noc_bytes_per_s": 1e12,
    }
    plain = platform_from(document)
    platform = platform_from({**document, "crossbar_pj_per_byte": 0.5, "noc_pj_per_byte": 3})
    assert platform_from(platform_document(platform)) == platform
    actors = dataflow.Actor("a", {"t": 5}), dataflow.Actor("b", {"t": 7})
    application = dataflow.Application("pair", actors, (dataflow.Channel("c", "a", "b", 1000),), "ns")
    for cores, told in (("p1", "p2"), (8e-9, 3000, 4e-9)), (("p1", "p1"), (12e-9, 0, 0.0)):
        decisions = Decisions(dict(zip("ab", cores, strict=True)), {}, {"c": "PROD"})
        found = dataflow.schedule(application, decisions, platform=platform)
        names = ("period_s", "traffic_bytes", "energy_j")
        assert tuple(found.cost[name] for name in names) == pytest.approx(told)
        assert dict(dataflow.check(application, found.plan, platform=platform).cost) == dict(found.cost)
        assert "energy_j" not in dataflow.check(application, found.plan, platform=plain).cost


def test_a_platform_made_up_for_unknown_core_types_is_told() -> None:
    def remarks(core_type: str) -> str:
        application = dataflow.Application("one", (dataflow.Actor("a", {core_type: 3}),), ())
        return " ".join(dataflow.plan(application, generations=1, polish_effort=0).check.remarks)

    assert "no platform is given" in remarks("dsp")
    assert not remarks("t1")


def test_counts_and_names(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(TEXT)
    found = dataflow.load_platform(tmp_path / "m.yaml")
    assert [core.id for core in found.cores] == ["p1", "p2", "fast", "p4", "p5"]
    assert [(tile.id, tile.tile_memory_bytes) for tile in found.tiles] == [("T1", 256), ("T2", 128), ("T3", 128)]
    (tmp_path / "m.json").write_text(json.dumps(platform_document(found)))
    assert dataflow.load_platform(tmp_path / "m.json") == found
    (tmp_path / "m.txt").write_text(json.dumps(platform_document(found)))
    assert dataflow.load_platform(tmp_path / "m.txt") == found
    for text in (TEXT, (tmp_path / "m.json").read_text()):
        done = shorthaul("dataflow", "bound", "sobel", "--platform", "-", stdin=text)
        assert "no core" in done.stderr, "it is read, and has cores of other types"


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        ("id: fast", "id: fast, count: 2", r"tiles[0].cores[1].id: one id for several alike"),
        ("type: cpu", "type: gpu", "unknown core type"),
        ("many_core", "many_cores", "did you mean 'many_core'?"),
        ("id: fast", "id: p1", "an id is given twice"),
        ("count: 2", "count: 0", "expected 'int' >= 1"),
    ],
)
def test_wrong_machine_files(tmp_path: Path, right: str, wrong: str, says: str) -> None:
    (tmp_path / "m.yaml").write_text(TEXT.replace(right, wrong))
    with pytest.raises(InputError) as caught:
        dataflow.load_platform(tmp_path / "m.yaml")
    assert "m.yaml" in str(caught.value)
    assert says in str(caught.value)


def test_everything_wrong_in_a_document_is_told_at_once(tmp_path: Path) -> None:
    document = platform_document(dataflow.platform24(tiles=2))
    del document["noc_bytes_per_s"], document["tiles"][1]["cores"]
    document["core_types"]["t1"] = {}
    document["tiles"][0]["cores"] = [{"id": "p1", "type": "t1"}]
    (tmp_path / "p.json").write_text(json.dumps(document))
    with pytest.raises(InputError) as caught:
        dataflow.load_platform(tmp_path / "p.json")
    for part in (
        "p.json: has 4 faults", "core_types.t1.cost is missing", "tiles[0].cores[0].local_bytes is missing",
        "tiles[1].cores is missing", "noc_bytes_per_s is missing",
    ):  # fmt: skip
        assert part in str(caught.value)


def test_unknown_core_types_are_told_beside_what_is_missing(tmp_path: Path) -> None:
    text = TEXT.replace("type: cpu", "type: gpu").replace("type: dsp, id", "type: npu, id")
    (tmp_path / "m.yaml").write_text(text.replace("noc_bytes_per_s", "noc_bytes"))
    with pytest.raises(InputError, match="has 4 faults") as caught:
        dataflow.load_platform(tmp_path / "m.yaml")
    for part in ("noc_bytes_per_s is missing", "noc_bytes'", "an unknown core type", "'gpu'", "cores[1].type", "'npu'"):
        assert part in str(caught.value)


def test_all_actors_that_no_core_can_run_are_told_at_once() -> None:
    actors = tuple(dataflow.Actor(name, {kind: (1, 2)}) for name, kind in (("a", "T1"), ("b", "t1"), ("c", "T1")))
    with pytest.raises(InputError, match=r"no core of platform '24-core' can run 2 actors\n.*'a, c \(T1\)'"):
        dataflow.plan(dataflow.Application("three", actors, ()), platform="many-core-24")


@pytest.mark.costly
@pytest.mark.parametrize("verb", ["plan", "bound"])
@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--machine", "wafer-750x994"), ("without the sections that are needed here: many_core", "wafer-750x994")),
        (("--platform", "nosuch"), ("--platform: unknown machine", "allowed: many-core-24", "path of a machine file")),
        (("--machine=nosuch",), ("--machine: unknown machine", "allowed: many-core-24")),
        (("--platform", "many-core-24", "--machine", "m.yaml"), ("cannot be combined", "'many-core-24, m.yaml'")),
    ],
)
def test_platforms_that_cannot_be_taken(verb: str, flags: tuple[str, ...], said: tuple[str, ...]) -> None:
    done = shorthaul("dataflow", verb, "fig7", *flags)
    assert done.returncode == 2
    given = [flag.partition("=")[0] for flag in flags if flag.startswith("--")]
    assert done.stderr.startswith(" and ".join(given) + ": ")
    assert all(part in done.stderr for part in said), done.stderr


def test_plans_for_bundled_platforms_by_name() -> None:
    named = dataflow.plan("fig7", platform="many-core-24", generations=1, population=4, polish_effort=0)
    given = dataflow.plan("fig7", machine=dataflow.platform24(), generations=1, population=4, polish_effort=0)
    assert named.plan == given.plan
    with pytest.raises(InputError, match="machine: means the same as platform"):
        dataflow.plan("fig7", machine="many-core-24", platform="many-core-24")


def test_a_plan_for_another_platform_is_told_as_such(tmp_path: Path) -> None:
    plan = dataflow.plan("fig7", generations=1, population=4, polish_effort=0).plan
    own = dataflow.check("fig7", plan).check
    assert own.ok
    assert not own.remarks
    document = json.dumps(platform_document(dataflow.platform24())).replace('"id": "p', '"id": "q')
    (tmp_path / "q.json").write_text(document)
    found = dataflow.check("fig7", plan, platform=tmp_path / "q.json").check
    assert not found.ok
    assert [text for text in found.remarks if "planned for another platform" in text]
