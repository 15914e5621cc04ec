from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.commands import shorthaul

from shorthaul.bridges.conversion import convert
from shorthaul.dataflow.formats.platforms import load_platform


def test_dot_becomes_a_cdag_document(tmp_path: Path) -> None:
    tmp_path.joinpath("g.dot").write_text("digraph { a -> c; b -> c; }")
    done = shorthaul("convert", "g.dot", "g.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    document = json.loads(tmp_path.joinpath("g.json").read_text())
    assert document["kind"] == "shorthaul/cdag"
    assert len(document["nodes"]) == 3
    assert len(document["edges"]) == 2


EXAMPLES = Path(__file__).parents[2] / "examples"


def test_sdf3_there_and_back(tmp_path: Path) -> None:
    source = str(EXAMPLES / "cd2dat.xml")
    for first, second in ((source, "app.json"), ("app.json", "again.xml"), ("again.xml", "again.json")):
        done = shorthaul("convert", first, second, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    first, again = (json.loads(tmp_path.joinpath(name).read_text()) for name in ("app.json", "again.json"))
    assert first["channels"] == again["channels"]
    assert [actor["tau"] for actor in first["actors"]] == [actor["tau"] for actor in again["actors"]]


def test_an_architecture_of_sdf3_becomes_a_machine_file(tmp_path: Path) -> None:
    source, target = tmp_path / "two.xml", tmp_path / "two.yaml"
    tile = """<tile name="t{0}"><processor name="p" type="risc"/><memory name="m" size="8000"/>
        <networkInterface name="n" nrConnections="8" inBandwidth="96" outBandwidth="96"/></tile>"""
    tiles = tile.format(0) + tile.format(1)
    source.write_text(
        f'<sdf3 type="sdf" version="1.0"><architectureGraph name="two">{tiles}</architectureGraph></sdf3>'
    )
    convert(source, target)
    assert load_platform(target) == load_platform(source)


def test_newick_there_and_back(tmp_path: Path) -> None:
    source = str(EXAMPLES / "apes.nwk")
    for first, second in ((source, "tree.npz"), ("tree.npz", "again.nwk"), ("again.nwk", "again.npz")):
        done = shorthaul("convert", first, second, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    with np.load(tmp_path / "tree.npz") as first, np.load(tmp_path / "again.npz") as again:
        assert first["parent"].tolist() == again["parent"].tolist()


@pytest.mark.parametrize(
    ("name", "text", "newick"),
    [
        ("t.nex", "#NEXUS\nbegin trees;\ntranslate 1 ape, 2 man;\ntree t = (1:2,2:1)r;\nend;\n", "(ape:2,man:1)r;"),
        ("t.csv", "name,parent\nr,\nape,r\nman,r\n", "('ape','man')'r';"),
        ("t.json", "[-1, 0, 0]", "(1,2)0;"),
        ("t.txt", "-1\n0\n0\n", "(1,2)0;"),
    ],
)
def test_every_kind_of_tree_becomes_newick(tmp_path: Path, name: str, text: str, newick: str) -> None:
    tmp_path.joinpath(name).write_text(text)
    convert(tmp_path / name, tmp_path / "t.nwk")
    assert tmp_path.joinpath("t.nwk").read_text().strip() == newick


def test_an_edge_list_becomes_a_cdag_document(tmp_path: Path) -> None:
    pytest.importorskip("networkx")
    tmp_path.joinpath("g.edgelist").write_text("a c\nb c\n")
    convert(tmp_path / "g.edgelist", tmp_path / "g.json")
    assert json.loads(tmp_path.joinpath("g.json").read_text())["edges"] == [["a", "c"], ["b", "c"]]


def test_a_forest_there_and_back(tmp_path: Path) -> None:
    tmp_path.joinpath("two.nwk").write_text("(a,b)c;\n(d,e)f;\n")
    for first, second in (("two.nwk", "again.nwk"), ("again.nwk", "two.npy")):
        done = shorthaul("convert", first, second, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert np.load(tmp_path / "two.npy").tolist() == [-1, 0, 0, -1, 3, 3]


@pytest.mark.parametrize(
    ("source", "target", "says"),
    [
        ("none.dot", "g.json", "no such file"),
        ("g.dot", "g.jpeg", "no conversion between these suffixes"),
        ("broken.dot", "g.json", "broken.dot"),
        ("g.dot", "missing/g.json", "its folder does not exist"),
    ],
)
def test_wrong_conversions(tmp_path: Path, source: str, target: str, says: str) -> None:
    tmp_path.joinpath("g.dot").write_text("digraph { a -> c; b -> c; }")
    tmp_path.joinpath("broken.dot").write_text("digraph { a -> ")
    done = shorthaul("convert", source, target, cwd=tmp_path)
    assert done.returncode == 2
    assert says in done.stderr
    assert not tmp_path.joinpath(target).exists()
