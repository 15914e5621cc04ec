"""CDAGs in DOT, the whole of its grammar.

The parser is our own: pydot 4 needs 44 to 73 times as long (``benchmarks/parsers.py``: 3 ms a node; graphs of 500 to
8,000 nodes), so that a graph of 10^5 nodes would take minutes, and Graphviz would have to be installed for the others.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise, product
from pathlib import Path

import numpy as np

from shorthaul.core.errors import InputError
from shorthaul.pebble.formats.graphs import MOST_ENTRIES, inputs_of
from shorthaul.pebble.model import LARGEST_TOTAL, Cdag, build

_TOKEN = re.compile(
    r'"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<name>[A-Za-z_\x80-\uffff][\w\x80-\uffff]*|-?(?:\d+(?:\.\d*)?|\.\d+)(?![\w.]))'
    r"|(?P<arrow>->|--)|(?P<mark>[{}\[\];,=:+])|(?P<html><)|(?P<space>\s+|//[^\n]*|^\#[^\n]*|/\*.*?\*/)",
    re.DOTALL | re.MULTILINE,
)
#: What stands for a text in the list of tokens, and the end of the file.
_TEXT, _END = "text", ""
_DEEPEST = 100


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    line: int


@dataclass(slots=True)
class _Graph:
    """What was read so far: attributes of every node, edges, and the nodes of subgraphs by name."""

    nodes: dict[str, dict[str, str]] = field(default_factory=dict)
    edges: list[tuple[str, str]] = field(default_factory=list)
    subgraphs: dict[str, dict[str, None]] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)


def decoded(data: bytes) -> str | None:
    """Return the text of a DOT file that says that it is in Latin-1; None if it does not.

    >>> decoded('digraph { charset="latin1"; é -> b }'.encode("latin-1"))
    'digraph { charset="latin1"; é -> b }'
    """
    is_latin = re.search(rb'\bcharset\s*=\s*"?(?:latin-?1|l1|iso[-_]8859-1|iso-ir-100)\b', data, re.IGNORECASE)
    return data.decode("latin-1") if is_latin else None


def read_dot(text: str, *, file: str | Path | None = None) -> Cdag:
    """Return the CDAG of a DOT digraph; a node's attribute ``weight``, or ``size``, is its size, else it is 1.

    The attribute ``compute`` is what computing it costs, 0 where it has none. A node that nothing leads to and that has
    ``input=false`` is computed from nothing, one that has ``output=true`` is an output though others read it. Edges
    from and to subgraphs stand for all pairs, also where a name stands for one that was read before; ``node [...]``
    gives the nodes after it attributes; ports and other attributes are ignored, inputs that nothing reads left out.
    Nodes come in the order in which they are named. Raises :class:`InputError` with the line of what cannot be read.

    >>> read_dot("digraph { a [weight=2]; a -> b -> c; a -> c }").ids
    ('a', 'b', 'c')
    >>> read_dot("digraph { {a b} -> {c d} }").edges
    4
    """
    graph = _Reader(_tokens(text, file), file).graph()
    ends = {name for edge in graph.edges for name in edge}
    constants = {name for name, found in graph.nodes.items() if found.get("input", "").lower() == "false"}
    graph.nodes = {name: found for name, found in graph.nodes.items() if name in ends or name in constants}
    number = {name: at for at, name in enumerate(graph.nodes)}
    starts, stops = [number[a] for a, _ in graph.edges], [number[b] for _, b in graph.edges]
    weights = [
        _number("size" if "size" in found and "weight" not in found else "weight", "1", name, graph, file)
        for name, found in graph.nodes.items()
    ]
    compute = [_number("compute", "0", name, graph, file) for name in graph.nodes]
    given = {number[name]: _flag("input", name, graph, file) for name, found in graph.nodes.items() if "input" in found}
    kept = ["output" in found and _flag("output", name, graph, file) for name, found in graph.nodes.items()]
    return build(
        np.array(weights, dtype=np.int64),
        starts,
        stops,
        given=inputs_of(len(number), stops, given),
        kept=np.array(kept, dtype=np.bool_),
        compute=np.array(compute, dtype=np.int64),
        ids=list(number),
        name="" if file is None else str(file),
    )


def _number(key: str, least: str, name: str, graph: _Graph, file: str | Path | None) -> int:
    """Return the number that an attribute gives, ``least`` where it is missing; it may not be below that."""
    size = graph.nodes[name].get(key, least)
    whole = re.fullmatch(r"(\d+)(?:\.0*)?", size)  # some tools write all numbers as real ones
    if whole is None or not int(least) <= int(whole[1][:30]) <= LARGEST_TOTAL:
        place = f"line {graph.lines[name]}: {key} of {name}"
        what = "must be an integer from 0" if key == "compute" else "must be a positive integer"
        raise InputError(what, file=file, place=place, value=size, allowed=f"integers from {least} to {LARGEST_TOTAL}")
    return int(whole[1])


def _flag(key: str, name: str, graph: _Graph, file: str | Path | None) -> bool:
    word = graph.nodes[name][key].lower()
    if word not in {"true", "false"}:
        place = f"line {graph.lines[name]}: {key} of {name}"
        raise InputError("is no truth value", file=file, place=place, value=word, allowed="true, false")
    return word == "true"


def _tokens(text: str, file: str | Path | None) -> list[_Token]:
    """Return the tokens: texts (names, numbers, quoted and HTML texts) and marks."""
    tokens: list[_Token] = []
    position, line = 0, 1
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise InputError("cannot be read", file=file, place=f"line {line}", value=text[position : position + 20])
        end = match.end()
        if match["html"]:
            end = _end_of_html(text, position, line, file)
            tokens.append(_Token(_TEXT, text[position + 1 : end - 1], line))
        elif match["quoted"] is not None:
            quoted = match["quoted"].replace("\\\n", "").replace('\\"', '"')
            if len(tokens) > 1 and tokens[-1].kind == "+" and tokens[-2].kind == _TEXT:
                tokens[-2:] = [_Token(_TEXT, tokens[-2].text + quoted, tokens[-2].line)]
            else:
                tokens.append(_Token(_TEXT, quoted, line))
        elif match["name"]:
            kind = match["name"].lower()
            words = {"node", "edge", "graph", "digraph", "subgraph", "strict"}
            tokens.append(_Token(kind if kind in words else _TEXT, match["name"], line))
        elif match["space"] is None:
            tokens.append(_Token(match[0], match[0], line))
        line += text.count("\n", position, end)
        position = end
    return tokens


def _end_of_html(text: str, position: int, line: int, file: str | Path | None) -> int:
    depth = 0
    for match in re.compile("<!--.*?-->|[<>]", re.DOTALL).finditer(text, position):
        depth += {"<": 1, ">": -1}.get(match[0], 0)
        if depth == 0:
            return match.end()
    raise InputError("a text in <> is not closed", file=file, place=f"line {line}", allowed="as many < as >")


class _Reader:
    """The grammar of DOT, by recursive descent."""

    def __init__(self, tokens: list[_Token], file: str | Path | None) -> None:
        self._tokens = tokens
        self._file = file
        self._at = 0
        self._graph = _Graph()

    def graph(self) -> _Graph:
        """Read a whole file."""
        if self._peek() == "strict":
            self._at += 1
        if self._peek() != "digraph":
            raise InputError("is no directed graph", file=self._file, allowed="digraph NAME { a -> b; ... }")
        self._at += 1
        if self._peek() == _TEXT:
            self._at += 1
        self._block({}, 0)
        if self._peek() != _END:
            raise self._wrong("one graph")
        return self._graph

    def _peek(self) -> str:
        return self._tokens[self._at].kind if self._at < len(self._tokens) else _END

    def _next(self, allowed: str, kind: str = _TEXT) -> _Token:
        if self._peek() != kind:
            raise self._wrong(allowed)
        self._at += 1
        return self._tokens[self._at - 1]

    def _wrong(self, allowed: str) -> InputError:
        if self._peek() == _END:
            return InputError("ends early: its braces do not match", file=self._file, allowed=allowed)
        token = self._tokens[self._at]
        return InputError(
            "cannot be read", file=self._file, place=f"line {token.line}", value=token.text, allowed=allowed
        )

    def _block(self, defaults: dict[str, str], depth: int) -> list[str]:
        """Read ``{ ... }``; return the nodes named in it. ``defaults`` are the attributes of new nodes."""
        if depth > _DEEPEST:
            raise InputError("subgraphs are nested too deeply", file=self._file, allowed=f"{_DEEPEST} levels")
        self._next("{", "{")
        defaults = dict(defaults)
        named: dict[str, None] = {}
        while self._peek() != "}":
            if self._peek() in {";", ","}:
                self._at += 1
            else:
                named.update(dict.fromkeys(self._statement(defaults, depth)))
        self._at += 1
        return list(named)

    def _statement(self, defaults: dict[str, str], depth: int) -> list[str]:
        """Read one statement; return the nodes it names."""
        if self._peek() in {"node", "edge", "graph"}:
            of_nodes = self._peek() == "node"
            self._at += 1
            found = self._attributes()
            defaults.update(found if of_nodes else {})
            return []
        first = self._tokens[self._at] if self._peek() == _TEXT else None
        path = [self._end(defaults, depth)]
        if first is not None and self._peek() == "=":  # an attribute of the graph
            self._graph_attribute(first)
            return []
        while self._peek() == "->":
            self._at += 1
            path.append(self._end(defaults, depth))
        if self._peek() == "--":
            raise self._wrong("a -> b between names")
        found = self._attributes()
        for a, b in pairwise(path):
            if len(self._graph.edges) + len(a) * len(b) > MOST_ENTRIES:
                raise InputError("is too large", file=self._file, allowed=f"up to {MOST_ENTRIES} edges")
            self._graph.edges.extend(product(a, b))
        if first is not None and len(path) == 1:
            self._graph.nodes[first.text].update(found)
        return [name for names in path for name in names]

    def _graph_attribute(self, first: _Token) -> None:
        self._at += 1
        self._next(f"{first.text} = value")

    def _end(self, defaults: dict[str, str], depth: int) -> list[str]:
        """Read a node or a subgraph; return its nodes."""
        if self._peek() == "subgraph":
            self._at += 1
            known: dict[str, None] = {}
            if self._peek() == _TEXT:
                known = self._graph.subgraphs.setdefault(self._next("subgraph name").text, known)
            if self._peek() == "{":
                known.update(dict.fromkeys(self._block(defaults, depth + 1)))
            return list(known)
        if self._peek() == "{":
            return self._block(defaults, depth + 1)
        token = self._next("a -> b; or a [weight=2];")
        while self._peek() == ":":  # a port
            self._at += 1
            self._next("name:port")
        if self._peek() != "=":
            self._graph.lines.setdefault(token.text, token.line)
            self._graph.nodes.setdefault(token.text, dict(defaults))
        return [token.text]

    def _attributes(self) -> dict[str, str]:
        """Read any number of ``[name=value, ...]``."""
        found: dict[str, str] = {}
        while self._peek() == "[":
            opened = self._tokens[self._at]
            self._at += 1
            while self._peek() != "]":
                if self._peek() in {";", ","}:
                    self._at += 1
                    continue
                if self._peek() != _TEXT:
                    place = f"line {opened.line}"
                    raise InputError("an attribute list is not closed", file=self._file, place=place, allowed="[a=b]")
                name = self._next("[name=value]").text
                if self._peek() == "=":
                    self._at += 1
                    found[name] = self._next("[name=value]").text
                else:
                    found[name] = "true"
            self._at += 1
        return found
