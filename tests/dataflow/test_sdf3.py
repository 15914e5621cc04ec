from __future__ import annotations

from pathlib import Path

import pytest

from shorthaul.core.errors import InputError
from shorthaul.dataflow.multirate import repetition_vector
from shorthaul.dataflow.sdf3 import read_sdf3, sdf3_text

FILE = """<?xml version="1.0" encoding="UTF-8"?>
<sdf3 type="sdf" version="1.0" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
  <applicationGraph name="converter">
    <sdf name="converter" type="C">
      <actor name="A" type="a"><port type="out" name="o" rate="2"/><port type="in" name="s" rate="1"/><port type="out" name="t" rate="1"/></actor>
      <actor name="B" type="b"><port type="in" name="i" rate="3"/></actor>
      <channel name="ab" srcActor="A" srcPort="o" dstActor="B" dstPort="i" initialTokens="1"/>
      <channel name="aa" srcActor="A" srcPort="t" dstActor="A" dstPort="s" initialTokens="1"/>
    </sdf>
    <sdfProperties>
      <actorProperties actor="A"><processor type="arm" default="true"><executionTime time="12"/></processor><processor type="dsp"><executionTime time="5"/></processor></actorProperties>
      <actorProperties actor="B"><processor type="arm" default="true"><executionTime time="7"/></processor></actorProperties>
      <channelProperties channel="ab"><bufferSize sz="6"/><tokenSize sz="33"/></channelProperties>
    </sdfProperties>
  </applicationGraph>
</sdf3>
"""


def read(text: str):
    return read_sdf3(Path("app.xml"), text.encode())


def test_reading() -> None:
    graph = read(FILE)
    assert graph.name == "converter"
    assert [(actor.id, dict(actor.times)) for actor in graph.actors] == [
        ("A", {"arm": 12, "dsp": 5}),
        ("B", {"arm": 7}),
    ]
    first, second = graph.channels
    assert (first.production, first.consumption, first.tokens, first.token_bytes, first.capacity) == (2, 3, 1, 5, 6)
    assert (second.source, second.target, second.capacity) == ("A", "A", None)
    assert repetition_vector(graph) == {"A": 3, "B": 2}


def test_round_trip() -> None:
    graph = read(FILE)
    assert read(sdf3_text(graph)) == graph


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("<sdf3 type", "<sdf4 type"), "is not XML"),
        (('type="sdf" version', 'type="csdf" version'), "another type"),
        (('rate="2"', 'rate="0"'), "out of range"),
        (('rate="2"', 'rate="two"'), "is not an integer"),
        (('srcActor="A" srcPort="o"', 'srcActor="C" srcPort="o"'), "names something that does not exist"),
        (('srcPort="o"', 'srcPort="oo"'), "has no such port"),
        (('<channel name="aa"', '<channel name="ab"'), "given twice"),
        (('<actor name="B"', '<actor name="A"'), "given twice"),
        (('dstActor="B" ', ""), "lacks the attribute 'dstActor'"),
        (('initialTokens="1"/>\n      <channel', 'initialTokens="-1"/>\n      <channel'), "out of range"),
        (('time="12"', 'time="1.5"'), "is not an integer"),
        (('actorProperties actor="A"', 'actorProperties actor="X"'), "names something that does not exist"),
        (('channelProperties channel="ab"', 'channelProperties channel="abc"'), "did you mean 'ab'"),
        (('type="in" name="i"', 'type="inn" name="i"'), "unknown port type"),
        (("<applicationGraph", "<!ENTITY x><applicationGraph"), "declares entities"),
        (('<executionTime time="7"/>', ""), "has no execution time, while others have"),
        (("</sdf3>", "<applicationGraph name='other'/></sdf3>"), "several application graphs"),
    ],
)
def test_wrong_files(change: tuple[str, str], says: str) -> None:
    assert change[0] in FILE
    with pytest.raises(InputError) as caught:
        read(FILE.replace(*change, 1))
    assert says in str(caught.value)
    assert "app.xml" in str(caught.value)


def test_without_any_execution_time_all_take_one_tick() -> None:
    start, end = FILE.index("      <actorProperties"), FILE.index("      <channelProperties")
    graph = read(FILE[:start] + FILE[end:])
    assert [dict(actor.times) for actor in graph.actors] == [{"default": 1}, {"default": 1}]


def test_other_roots() -> None:
    with pytest.raises(InputError, match="is not an SDF3 file"):
        read("<svg/>")
    with pytest.raises(InputError, match="has no applicationGraph"):
        read('<sdf3 type="sdf"/>')
    with pytest.raises(InputError, match="has no actor"):
        read('<sdf3 type="sdf"><applicationGraph><sdf/></applicationGraph></sdf3>')
