"""CDAGs in the formats of networkx: GraphML, GML and node-link JSON, which it reads, and edge lists."""

from __future__ import annotations

import io
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree as ET

import numpy as np

from shorthaul.core.errors import InputError
from shorthaul.pebble.formats.graphs import from_networkx
from shorthaul.pebble.model import Cdag, build

#: Suffixes of edge lists. They are read here: networkx takes seven times as long (10^6 edges).
_EDGE_LISTS: Final = (".edgelist", ".edges")
#: Suffixes of files that are read here, and then of those that networkx reads.
SUFFIXES: Final = (*_EDGE_LISTS, ".graphml", ".gml")


def read_network(text: str, suffix: str, *, file: str | Path | None = None) -> Cdag:
    r"""Return the CDAG of a GraphML, GML or edge-list file; the node attribute ``weight`` is the size.

    Raises :class:`InputError` for what cannot be read, and as :func:`from_networkx` does.

    >>> read_network("a c\nb c\n", ".edgelist").ids
    ('a', 'c', 'b')
    """
    if suffix in _EDGE_LISTS:
        return _from_edge_list(text)
    return _converted(lambda nx: (_from_gml if suffix == ".gml" else _from_graphml)(nx, text), file)


def _from_graphml(nx: Any, text: str) -> Any:
    """Return the graph of a GraphML file, its nodes with the defaults of attributes that they do not have.

    networkx keeps those apart.
    """
    graph = nx.read_graphml(io.BytesIO(text.encode()))
    parts = [(item.tag.rpartition("}")[2], item) for item in ET.fromstring(text.encode()).iter()]
    ends = [(item.get("source"), item.get("target")) for tag, item in parts if tag == "edge"]
    _require_nodes([item.get("id") for tag, item in parts if tag == "node"], ends)
    for key, value in graph.graph.get("node_default", {}).items():
        for data in graph.nodes.values():
            data.setdefault(key, value)
    return graph


def _from_gml(nx: Any, text: str) -> Any:
    """Return the graph of a GML file, nodes named by their labels if all have one of their own, else by their ids."""
    try:
        return nx.parse_gml(text, label="label")
    except nx.NetworkXError as error:
        if "label" not in str(error):
            raise
        return nx.parse_gml(text, label="id")


def _from_edge_list(text: str) -> Cdag:
    """Return the CDAG of lines with two names each, nodes in the order in which they are named.

    Raises :class:`InputError` for a line with a single name, and for one that says something of its edge: sizes belong
    to nodes. The empty attributes that networkx writes are none.
    """
    numbers: defaultdict[str, int] = defaultdict(count().__next__)
    ends: list[int] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = [] if line.startswith("%") else line.partition("#")[0].split()
        if len(words) == 1:
            allowed = "two names, with blanks between them"
            raise InputError("is no edge", place=f"line {number}", value=line.strip(), allowed=allowed)
        if len(words) > 2:
            if words[2:] != ["{}"]:
                cure = "write it with data=False; sizes of nodes go into .graphml, .gml or .json files, as their weight"
                raise InputError(
                    "has more than two names, and edges have neither weights nor attributes here",
                    place=f"line {number}",
                    value=line.strip(),
                    cure=cure,
                )
            del words[2:]
        ends += map(numbers.__getitem__, words)
    n, pairs = len(numbers), np.array(ends, np.int64).reshape(-1, 2)
    parents, children = np.divmod(np.sort(pairs[:, 1] * n + pairs[:, 0]), max(1, n))[::-1]  # by node, then by operand
    return build(np.ones(n, np.int64), parents, children, ids=tuple(numbers))


def from_node_link(document: dict[str, Any]) -> Cdag:
    """Return the CDAG of a document that ``networkx`` made: node-link (``edges`` or ``links``) or ``adjacency``."""
    directed = {"directed": True, **document}
    if "adjacency" in document:
        return _converted(lambda nx: nx.adjacency_graph(directed))
    edges = next((key for key in ("edges", "links") if key in document), None)
    if edges is None or (document.get("nodes") and document[edges] == []):
        cure = "write networkx.node_link_data(graph), or give the document its kind, 'shorthaul/cdag'"
        raise InputError("has nodes, but no edges", allowed="edges, links or adjacency", cure=cure)
    graph = _converted(lambda nx: nx.node_link_graph(directed, edges=edges))
    ends = [(repr(item["source"]), repr(item["target"])) for item in document[edges]]
    _require_nodes([repr(item.get("id", at)) for at, item in enumerate(document["nodes"])], ends)
    return graph


def _require_nodes(nodes: Sequence[Any], ends: Sequence[tuple[Any, Any]]) -> None:
    """Raise for a node that is given twice, and for an edge whose end is no node: networkx makes one of each."""
    known = Counter(nodes)
    for node, times in known.items():
        if times > 1:
            raise InputError("is given twice", place="nodes", value=str(node), cure="give every node its own id")
    for at, pair in enumerate(ends):
        for end in pair:
            if end not in known:
                cure = "add it to the nodes, or correct the edge"
                raise InputError("names no node", place=f"edges[{at}]", value=str(end), cure=cure)


def _converted(read: Callable[[Any], Any], file: str | Path | None = None) -> Cdag:
    try:
        import networkx as nx
    except ImportError:
        cure = "pip install 'shorthaul[graphs]'"
        raise InputError("needs networkx, which is not installed", file=file, cure=cure) from None
    try:
        graph = read(nx)
    except InputError:
        raise
    except Exception as error:
        problem = f"cannot be read: {error or type(error).__name__}"
        raise InputError(problem, file=file, allowed="a graph as networkx writes it") from None
    return from_networkx(graph)
