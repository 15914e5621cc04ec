"""Architectures and mappings in SDF3 files."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.dataflow.formats.test_sdf3 import FILE

from shorthaul import dataflow
from shorthaul.core.errors import InputError

TILE = (
    '<tile name="{}"><processor name="p" type="{}"><arbitration type="TDMA" wheelsize="9"/></processor>'
    '<memory name="m" size="{}"/><networkInterface name="n" inBandwidth="96" outBandwidth="{}"/></tile>'
)
JOINED = "".join(f'<connection name="{a}{b}" srcTile="{a}" dstTile="{b}" delay="1"/>' for a, b in ("xy", "yx"))
ARCHITECTURE = (
    f'<architectureGraph name="two">{TILE.format("x", "arm", 8000, 80)}{TILE.format("y", "dsp", 6400, 160)}{JOINED}'
    "</architectureGraph>"
)
MAPPING = (
    '<mapping appGraph="converter" archGraph="two"><tile name="x"><processor name="p" timeslice="9"><actor name="B"/>'
    '</processor><memory><channel name="ab"/></memory></tile><tile name="y"><processor name="p" timeslice="9">'
    '<actor name="A"/></processor></tile></mapping>'
)


def whole(*parts: str) -> str:
    return FILE.replace("</sdf3>", "".join(parts) + "</sdf3>")


def test_a_file_with_all_three_is_planned_on_its_architecture() -> None:
    problem = dataflow.case(whole(ARCHITECTURE, MAPPING)).workload
    first, second = problem.platform.tiles
    assert [(core.id, core.type, core.local_bytes) for core in problem.platform.cores] == [
        ("x.p", "arm", 1000),
        ("y.p", "dsp", 800),
    ]
    assert (first.crossbar_bytes_per_s, second.crossbar_bytes_per_s) == (10e6, 12e6)  # 80 and 96 bits in a microsecond
    result = dataflow.schedule(whole(ARCHITECTURE, MAPPING))
    assert result.check.ok
    (point,) = result.plan.front
    assert point.binding == {"A#0": "y.p", "A#1": "y.p", "A#2": "y.p", "B#0": "x.p", "B#1": "x.p"}
    assert {point.channel_binding[name] for name in point.channel_binding if name.startswith("ab")} == {"q_x.p"}
    # A fires three times 5 ticks and writes four times through its interface, a tick each
    assert (result.cost["period"], result.bound.value) == (19, 19)
    planned = dataflow.plan(whole(ARCHITECTURE, MAPPING), generations=1, population=4, polish_effort=0.0)
    assert planned.check.ok
    assert {core for point in planned.plan.front for core in point.binding.values()} <= {"x.p", "y.p"}


def test_files_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "app.xml").write_text(FILE)
    (tmp_path / "arch.xml").write_text(f'<sdf3 type="sdf">{ARCHITECTURE}</sdf3>')
    (tmp_path / "map.xml").write_text(f'<sdf3 type="sdf">{MAPPING}</sdf3>')
    alone = dataflow.schedule(tmp_path / "app.xml", tmp_path / "map.xml", platform=tmp_path / "arch.xml")
    assert alone.plan == dataflow.schedule(whole(ARCHITECTURE, MAPPING)).plan
    for keywords, says in (
        ({"platform": tmp_path / "app.xml"}, "app.xml: sdf3: has no architectureGraph"),
        ({"platform": tmp_path / "arch.xml", "mapping": tmp_path / "app.xml"}, "app.xml: sdf3: has no mapping"),
    ):
        with pytest.raises(InputError) as caught:
            dataflow.schedule(tmp_path / "app.xml", **keywords)
        assert says in str(caught.value)


def test_processors_of_one_tile_share_its_memory() -> None:
    tile = TILE.format("x", "arm", 8000, 80).replace("<memory", '<processor name="q" type="dsp"/><memory')
    platform = dataflow.case(whole(f"<architectureGraph>{tile}</architectureGraph>")).workload.platform
    assert [(core.id, core.local_bytes) for core in platform.cores] == [("x.p", 0), ("x.q", 0)]
    assert platform.tiles[0].tile_memory_bytes == 1000


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        (JOINED, JOINED[: len(JOINED) // 2], "connections: tiles are not joined"),
        ('dstTile="y"', 'dstTile="t9"', "connection xy: names something that does not exist"),
        ('size="8000"', 'size="many"', "tile x: memory: is not an integer"),
        ('inBandwidth="96"', 'inBandwidth="0"', "tile x: inBandwidth: is out of range"),
        ('name="y"', 'name="x"', "tile x: is given twice"),
        ('<actor name="A"/>', "", "an actor is not bound to a core"),
        ('<actor name="A"/>', '<actor name="B"/>', "mapping: actor B: is given twice"),
        ('<actor name="A"/>', '<actor name="C"/>', "unknown actor"),
        ('<channel name="ab"/>', '<channel name="ba"/>', "mapping: memory of tile x: names something that does not"),
        ('<processor name="p" timeslice="9"><actor name="A"', '<processor name="q"><actor name="A"', "unknown core"),
    ],
)
def test_wrong_files(right: str, wrong: str, says: str) -> None:
    text = whole(ARCHITECTURE, MAPPING)
    assert right in text
    with pytest.raises(InputError) as caught:
        dataflow.schedule(text.replace(right, wrong))
    assert says in str(caught.value)


def test_everything_wrong_in_an_architecture_is_told_at_once() -> None:
    text = whole(ARCHITECTURE).replace(' size="8000"', "").replace('outBandwidth="160"', 'outBandwidth="-1"')
    with pytest.raises(InputError) as caught:
        dataflow.plan(text)
    for part in ("architectureGraph: has 2 faults", "<memory name=", "lacks the attribute", "tile y: outBandwidth"):
        assert part in str(caught.value)
