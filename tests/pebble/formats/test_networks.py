"""Graphs of networkx and its formats: GraphML, GML, node-link JSON, edge lists, and what is wrong with broken ones."""

from __future__ import annotations

import json
import random
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from shorthaul.core.errors import InputError
from shorthaul.pebble.formats.documents import cdag_from_document, load_cdag
from shorthaul.pebble.formats.dot import read_dot
from shorthaul.pebble.formats.graphs import from_networkx
from shorthaul.pebble.formats.networks import read_network


@pytest.mark.parametrize(
    ("nodes", "ids"),
    [
        ("node [ id 1 weight 3 ] node [ id 2 ]", (1, 2)),
        ('node [ id 1 label "a" weight 3 ] node [ id 2 label "a" ]', (1, 2)),
        ('node [ id 1 label "a" weight 3 ] node [ id 2 label "b" ] node [ id 3 label "c" ]', ("a", "b")),
    ],
)
def test_nodes_of_gml_without_labels_of_their_own(nodes: str, ids: tuple[object, ...]) -> None:
    """Edges may have labels where nodes have none; nodes that touch no edge are left out."""
    cdag = read_network(f'graph [ directed 1 {nodes} edge [ source 1 target 2 label "x" ] ]', ".gml")
    assert (cdag.ids, cdag.weights.tolist()) == (ids, [3, 1])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("how", ["graphml", "gml", "edgelist", "node-link", "adjacency"])
def test_graphs_that_networkx_writes(how: str, seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    graph = nx.DiGraph((f"n{a}", f"n{b}") for b in range(1, 30) for a in {int(rng.integers(b)), int(rng.integers(b))})
    if how != "edgelist":
        nx.set_node_attributes(graph, {node: int(rng.integers(1, 9)) for node in graph}, "weight")
    path = tmp_path / f"graph.{how if how not in {'node-link', 'adjacency'} else 'json'}"
    if how == "adjacency":
        path.write_text(json.dumps(nx.adjacency_data(graph)))
    elif how == "node-link":
        path.write_text(json.dumps(nx.node_link_data(graph, edges="links" if seed else "edges")))
    elif how == "edgelist":
        nx.write_edgelist(graph, path, data=bool(seed))  # with empty attributes
    else:
        {"graphml": nx.write_graphml, "gml": nx.write_gml}[how](graph, path)
    read, made = load_cdag(path), from_networkx(graph)
    assert sorted(read.ids) == sorted(made.ids)
    for cdag in (read, made):
        ends = zip(*cdag.edge_arrays(), strict=True)
        assert sorted((cdag.ids[a], cdag.ids[b]) for a, b in ends) == sorted(graph.edges)
        assert {v: int(w) for v, w in zip(cdag.ids, cdag.weights, strict=True)} == {
            v: graph.nodes[v].get("weight", 1) for v in graph
        }


def test_edge_lists_are_read_as_networkx_reads_them() -> None:
    rng = random.Random(7)
    lines = ["", "# a comment", "\tx y  # another", "v0\u2003v1 {}"]
    lines += [f"v{rng.randrange(b)} v{b}" for b in rng.choices(range(1, 40), k=120)]
    text = "\r\n".join(lines)
    read = load_cdag("g.edges", text.encode())
    made = from_networkx(nx.parse_edgelist(lines, create_using=nx.DiGraph, data=False))
    assert (read.ids, read.edges) == (made.ids, made.edges)
    assert read.edges < 121
    for ours, theirs in ((read.parents, made.parents), (read.children, made.children)):
        assert (ours.starts.tolist(), ours.targets.tolist()) == (theirs.starts.tolist(), theirs.targets.tolist())
    with pytest.raises(InputError, match="cycle"):
        load_cdag("g.edges", b"a b\nb a\n")


@pytest.mark.parametrize("name", ["arcs", "edges", "links"])
def test_nodes_without_edges_are_told_what_is_missing(name: str) -> None:
    with pytest.raises(InputError, match="has nodes, but no edges"):
        cdag_from_document({"nodes": [{"id": 1}], name: []})


def test_sizes_under_either_name() -> None:
    graph = nx.DiGraph([("a", "b"), ("b", "c")])
    graph.nodes["a"].update(size=np.int64(3), compute=2)
    graph.nodes["b"].update(size=4, weight=4)
    text = "\n".join(nx.generate_graphml(graph))
    assert "size" in text
    for cdag in (
        from_networkx(graph),
        load_cdag("g.graphml", text.encode()),
        read_dot("digraph { a [size=3] b [weight=4, size=9]; a -> b -> c }"),
    ):
        assert dict(zip(cdag.ids, cdag.weights.tolist(), strict=True)) == {"a": 3, "b": 4, "c": 1}
    graph.nodes["b"]["size"] = 5
    with pytest.raises(InputError, match="has a weight and another size"):
        from_networkx(graph)
    with pytest.raises(InputError, match="size of a"):
        read_dot("digraph { a [size=0]; a -> b }")


def test_defaults_and_real_numbers_of_graphml() -> None:
    keys = (
        '<key id="w" for="node" attr.name="weight" attr.type="double"><default>2</default></key>'
        '<key id="i" for="node" attr.name="input" attr.type="string"/>'
    )
    text = (
        f'<graphml xmlns="http://graphml.graphdrawing.org/xmlns">{keys}<graph edgedefault="directed"><node id="a"/>'
        '<node id="c"><data key="i">False</data></node><node id="b"><data key="w">5.0</data></node>'
        '<edge source="a" target="b"/><edge source="c" target="b"/></graph></graphml>'
    )
    cdag = load_cdag("a.graphml", text.encode())
    assert dict(zip(cdag.ids, cdag.weights.tolist(), strict=True)) == {"a": 2, "c": 2, "b": 5}
    assert [cdag.ids[node] for node in cdag.constants()] == ["c"]
    assert read_dot("digraph { a [weight=3.0]; a -> b }").weights.tolist() == [3, 1]
    for old, new, message in (("5.0", "5.5", "positive integer"), ("False", "no", "is no truth value")):
        with pytest.raises(InputError, match=message):
            load_cdag("a.graphml", text.replace(old, new).encode())


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.graphml", "<graphml><graph", "cannot be read"),
        ("a.graphml", "nothing", "cannot be read"),
        ("a.gml", "graph [ node [ id 0 ]", "cannot be read"),
        (
            "a.gml",
            'graph [ node [ id 0 label "a" ] node [ id 1 label "b" ] edge [ source 0 target 1 ] ]',
            r"is not directed[\s\S]*edges to",
        ),
        ("a.edgelist", "a b\nc,d\n", "line 2: is no edge"),
        ("a.edgelist", "# nothing\n", "has no"),
        ("a.edgelist", "a b\nb c 2.5\n", "line 2: has more than two names"),
        ("a.json", '{"nodes": [1, 2], "links": [{"source": 1, "target": 2}]}', "cannot be read"),
        ("a.json", '{"nodes": [{"id": 1}], "edges": [{"source": 1, "target": 3}]}', "names no node"),
        (
            "a.json",
            '{"nodes": [{"id": 1}, {"id": 1}, {"id": 2}], "edges": [{"source": 1, "target": 2}]}',
            "is given twice",
        ),
        (
            "a.graphml",
            '<graphml><graph edgedefault="directed"><edge source="a" target="b"/></graph></graphml>',
            "names no node",
        ),
        (
            "a.json",
            '{"nodes": [{"id": 1}, {"id": 2, "weight": -1}], "links": [{"source": 1, "target": 2}]}',
            "positive",
        ),
    ],
)
def test_broken_networks(name: str, text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError, match=message) as error:
        load_cdag(path)
    assert name in str(error.value)
