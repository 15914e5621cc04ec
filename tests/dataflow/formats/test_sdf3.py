from __future__ import annotations

import json
from pathlib import Path

import pytest

from shorthaul.bridges.conversion import convert
from shorthaul.core.errors import InfeasibleError, InputError
from shorthaul.dataflow.formats.documents import application_document, load_application, write_sdf3
from shorthaul.dataflow.formats.sdf3 import read_sdf3, sdf3_text
from shorthaul.dataflow.graphs.expansion import from_sdf, marked_graph
from shorthaul.dataflow.graphs.multirate import repetition_vector
from shorthaul.dataflow.loading import case, load_graph
from shorthaul.dataflow.model import UNTIMED
from shorthaul.dataflow.verbs.analysing import buffers, throughput
from shorthaul.dataflow.verbs.planning import bound, plan

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
        (('type="sdf" version', 'type="sadf" version'), "another type"),
        (('type="sdf" version', 'type="csdf" version'), "has no element csdf"),
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
        (("</sdf3>", "<applicationGraph name='other'/></sdf3>"), "several elements applicationGraph"),
        (("<sdfProperties>", "<sdf name='other'/><sdfProperties>"), "several elements sdf"),
        (('name="s" rate="1"', 'name="o" rate="1"'), "actor A, port o: is given twice"),
        (('srcPort="t"', 'srcPort="o"'), "channel ab is at this port of actor A already"),
        (('srcPort="o"', 'srcPort="s"'), "uses this port the other way"),
        (('dstPort="s"', 'dstPort="t"'), "uses this port the other way"),
        (('<actorProperties actor="B">', '<actorProperties actor="A">'), "actorProperties of A: is given twice"),
        (('type="dsp"', 'type="arm"'), "processor arm: is given twice"),
        (('<actorProperties actor="B">', '<actorProperties actor="}{">'), "'}{'"),
        (('<executionTime time="7"/>', '<executionTime time="7"/><executionTime time="9"/>'), "is given several times"),
        (('time="12"', 'time="1_2"'), "is not an integer"),
        (('time="12"', 'time="nan"'), "is not an integer"),
        (('rate="2"', 'rate="1,2,1"'), "is not an integer"),
        (('rate="2"', f'rate="{"9" * 6000}"'), "integers from 1 to 1000000"),
        (('time="12"', 'time="1000000001"'), "integers from 0 to 1000000000"),
        (('<port type="in" name="i" rate="3"/>', ""), "has no port of type 'in'"),
    ],
)
def test_wrong_files(change: tuple[str, str], says: str) -> None:
    assert change[0] in FILE
    with pytest.raises(InputError) as caught:
        read(FILE.replace(*change, 1))
    assert says in str(caught.value)
    assert "app.xml" in str(caught.value)


CYCLO_STATIC = """<sdf3 type="csdf" version="1.0"><applicationGraph name="phases"><csdf name="phases" type="P">
  <actor name="A" type="a"><port type="out" name="o" rate="3, 0,1"/></actor>
  <actor name="B" type="b"><port type="in" name="i" rate="2"/><port type="out" name="t" rate="1"/><port type="in" name="s" rate="1,1"/></actor>
  <channel name="ab" srcActor="A" srcPort="o" dstActor="B" dstPort="i"/>
  <channel name="bb" srcActor="B" srcPort="t" dstActor="B" dstPort="s" initialTokens="1"/>
  </csdf><csdfProperties>
    <actorProperties actor="A"><processor type="arm" default="true"><executionTime time="7"/></processor></actorProperties>
    <actorProperties actor="B"><processor type="arm" default="true"><executionTime time="5,11"/></processor></actorProperties>
    <channelProperties channel="ab"><tokenSize sz="64"/></channelProperties>
  </csdfProperties></applicationGraph></sdf3>"""


def test_cyclo_static_graphs_have_an_actor_per_phase() -> None:
    graph = read(CYCLO_STATIC)
    assert (graph.channels[0].production, graph.channels[0].consumption) == ((3, 0, 1), 2)
    assert repetition_vector(graph) == {"A": 3, "B": 2}
    application = marked_graph(load_application(Path("app.xml"), CYCLO_STATIC.encode()))
    assert [(actor.id, dict(actor.tau)) for actor in application.actors] == [
        *((f"A#{k}", {"arm": 7}) for k in range(3)),
        ("B#0", {"arm": 5}),
        ("B#1", {"arm": 11}),
    ]
    assert [(c.src, c.dst, c.delay, c.token_bytes) for c in application.channels] == [
        ("A#0", "B#0", 0, 16),
        ("A#0", "B#1", 0, 8),
        ("A#2", "B#1", 0, 8),
        ("B#1", "B#0", 1, 1),
        ("B#0", "B#1", 0, 1),
    ]


def test_cyclo_static_graphs_keep_their_phases() -> None:
    application = load_application(Path("app.xml"), CYCLO_STATIC.encode())
    assert application.actors[1].tau == {"arm": (5, 11)}
    assert load_application(Path("app.xml"), write_sdf3(application).encode()) == application
    document = application_document(application)
    assert document["channels"][0]["produce"] == (3, 0, 1)
    text = json.dumps(document)
    assert load_application(Path("app.json"), text.encode()) == application
    for right, wrong, says in (
        ("[3, 0, 1]", "[0, 0]", "channels[0] (ab).produce: is out of range"),
        ("[3, 0, 1]", "[3, -1, 1]", "channels[0] (ab).produce: is out of range"),
        ("[3, 0, 1]", '"3,0,1"', "produce"),
        ("[5, 11]", "[]", "actors[1] (B).tau.arm: is not an execution time"),
        ("[5, 11]", "[5, 11.5]", "actors[1].tau"),
    ):
        assert right in text
        with pytest.raises(InputError) as caught:
            load_application(Path("app.json"), text.replace(right, wrong).encode())
        assert says in str(caught.value)


def test_lists_that_share_no_round_are_written_in_full() -> None:
    application = load_application(Path("app.xml"), CYCLO_STATIC.encode())
    text = json.dumps(application_document(application)).replace("[5, 11]", "[5, 11, 6]")
    graph = load_graph(Path("app.json"), text.encode())
    again = read(sdf3_text(graph))
    assert again.actors[1].times == {"arm": (5, 11, 6) * 2}
    assert again.phase_counts() == graph.phase_counts() == {"A": 3, "B": 6}


def test_sdf3s_example_of_buffer_sizing_for_cyclo_static_graphs() -> None:
    """A writes 3, 1 for B, which reads 4, 2 and writes 2, 4 for C, which reads 6, 6; each fires alone."""
    rounds = {"A": ("1,3", 3), "B": ("2,2", 2), "C": ("2,3", 1)}
    ports = {"A": (("out", "3,1"),), "B": (("in", "4,2"), ("out", "2,4")), "C": (("in", "6,6"),)}
    actors, channels, properties = "", "", ""
    for name, (times, _) in rounds.items():
        ends = "".join(f'<port type="{way}" name="{way}" rate="{rate}"/>' for way, rate in ports[name])
        own = '<port type="out" name="o" rate="1,1"/><port type="in" name="i" rate="1,1"/>'
        actors += f'<actor name="{name}">{ends}{own}</actor>'
        channels += (
            f'<channel name="{name}" srcActor="{name}" srcPort="o" dstActor="{name}" dstPort="i" initialTokens="1"/>'
        )
        properties += f'<actorProperties actor="{name}"><processor type="p"><executionTime time="{times}"/></processor></actorProperties>'
    for source, target in ("AB", "BC"):
        ends = f'srcActor="{source}" srcPort="out" dstActor="{target}" dstPort="in"'
        channels += f'<channel name="{source}{target}" {ends}/>'
    text = f"<applicationGraph><csdf>{actors}{channels}</csdf><csdfProperties>{properties}</csdfProperties></applicationGraph>"
    graph = read(f'<sdf3 type="csdf">{text}</sdf3>')
    assert repetition_vector(graph) == {name: 2 * count for name, (_, count) in rounds.items()}
    least = bound(from_sdf(graph))
    assert least.bound is not None
    assert least.bound.value == 12  # A: three rounds of 1 + 3 ticks


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (('rate="3, 0,1"', 'rate="3,,1"'), "actor A, port o: rate: is not an integer"),
        (('rate="3, 0,1"', 'rate="0,0"'), "actor A, port o: rate: never moves a token"),
        (('rate="2"', 'rate="0"'), "actor B, port i: rate: never moves a token"),
        (('time="5,11"', 'time="5;11"'), "processor arm: executionTime: is not an integer"),
        (('dstPort="s" initialTokens="1"', 'dstPort="s"'), "the graph deadlocks"),
        (('rate="1,1"', 'rate="1,2"'), "B writes 1, B reads 1,2"),
        (('time="7"', 'time="7,8"'), "actor A, processor arm: executionTime: does not fit the 3 phases"),
        (('rate="1,1"', 'rate="1,1,1"'), "actor B, processor arm: executionTime: does not fit the 3 phases"),
    ],
)
def test_wrong_phases(change: tuple[str, str], says: str) -> None:
    assert change[0] in CYCLO_STATIC
    with pytest.raises(InputError) as caught:
        load_application(Path("app.xml"), CYCLO_STATIC.replace(*change, 1).encode())
    assert says in str(caught.value)


def constrained(text: str) -> str:
    constraint = f"<graphProperties><timeConstraints>{text}</timeConstraints></graphProperties></sdfProperties>"
    return FILE.replace("</sdfProperties>", constraint)


def test_plans_keep_to_the_throughput_that_a_file_asks_for() -> None:
    quick = {"generations": 2, "population": 6, "polish_effort": 0.0}
    free = plan(FILE, **quick).plan
    assert max(point.period for point in free.front) > 40
    kept = plan(constrained("<throughput>2.5e-2</throughput>"), **quick).plan
    assert 15 <= max(point.period for point in kept.front) <= 40
    assert len(plan(constrained("<throughput>0.1</throughput>"), deadline=10**6, **quick).plan.front) == len(free.front)
    with pytest.raises(InfeasibleError) as caught:
        plan(constrained("<throughput>.01</throughput><throughput>0.3</throughput>"), **quick)
    assert "the input's throughput constraint" in str(caught.value)
    assert "the limit is 3" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("<throughput>fast</throughput>", "timeConstraints: throughput: is not a throughput"),
        ("<throughput>0</throughput>", "is not a throughput"),
        ("<throughput>1e-999</throughput>", "is not a throughput"),
        ("<throughput>-0.1</throughput>", "is not a throughput"),
        ("<throughput/>", "is not a throughput"),
        ("<latency>5</latency>", "timeConstraints: latency: is a constraint of another kind"),
    ],
)
def test_wrong_constraints(text: str, says: str) -> None:
    with pytest.raises(InputError) as caught:
        plan(constrained(text))
    assert says in str(caught.value)


def test_without_any_execution_time_all_take_one_tick() -> None:
    start, end = FILE.index("      <actorProperties"), FILE.index("      <channelProperties")
    graph = read(FILE[:start] + FILE[end:])
    assert [dict(actor.times) for actor in graph.actors] == [{"default": 1}, {"default": 1}]
    assert throughput(graph, serial=True).check.remarks == buffers(graph, serial=True).check.remarks == (UNTIMED,)
    assert not throughput(read(FILE), serial=True).check.remarks


def test_other_roots() -> None:
    with pytest.raises(InputError, match="is not an SDF3 file"):
        read("<svg/>")
    with pytest.raises(InputError, match="has no element applicationGraph"):
        read('<sdf3 type="sdf"/>')
    with pytest.raises(InputError, match="has no actor"):
        read('<sdf3 type="sdf"><applicationGraph><sdf/></applicationGraph></sdf3>')


def test_other_encodings_and_empty_files() -> None:
    with pytest.raises(InputError, match="is not UTF-8") as caught:
        read_sdf3(Path("app.xml"), FILE.encode("utf-16"))
    assert caught.value.cure == "save the file as UTF-8"
    for text in ("", " ", "{}", FILE[:700]):
        with pytest.raises(InputError, match="is not XML"):
            load_application(Path("app.xml"), text.encode())
    assert load_application(Path("app.xml"), b"\xef\xbb\xbf" + FILE.encode()).name == "converter"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (('name="s" rate="1"', 'name="s" rate="2"'), "channel aa: the rates are inconsistent"),
        (('dstPort="s" initialTokens="1"', 'dstPort="s"'), "the graph deadlocks"),
        (('rate="2"', 'rate="100003"'), "has too many firings"),
    ],
)
def test_no_verb_and_no_conversion_takes_what_cannot_run(tmp_path: Path, change: tuple[str, str], says: str) -> None:
    source, target = tmp_path / "app.xml", tmp_path / "app.json"
    source.write_text(FILE.replace(*change, 1))
    messages = []
    for action in (lambda: convert(source, target), lambda: case(str(source))):
        with pytest.raises(InputError) as caught:
            action()
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    assert says in messages[0]
    assert "app.xml" in messages[0]
    assert not target.exists()


def test_a_large_token_count_takes_no_longer() -> None:
    """One firing each way moves a million tokens: counted, not gone through one by one."""
    text = FILE.replace('rate="2"', 'rate="1000000"').replace('rate="3"', 'rate="1000000"')
    marked = marked_graph(load_application(Path("app.xml"), text.encode()))
    assert [(c.src, c.dst, c.delay, c.token_bytes) for c in marked.channels[:2]] == [
        ("A", "B", 1, 5),  # the initial token
        ("A", "B", 0, 5 * 999_999),
    ]
