"""The trees of a NEXUS file (Maddison, Swofford, Maddison 1997), as Newick text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from shorthaul.core.errors import InputError
from shorthaul.core.search import Search
from shorthaul.core.searching.deadline import expect_time
from shorthaul.spatial.model import Tree

#: A comment, in which others may be, these with others in turn.
_COMMENT = rb"\[(?:[^][]|\[(?:[^][]|\[[^][]*\])*\])*\]"
#: Comments, quoted words, and the signs that end something.
_TOKENS = re.compile(_COMMENT + rb"|'(?:[^']|'')*'|[;=]")
_COMMENTS = re.compile(_COMMENT)
#: Pairs of words. A word begins after a blank or a comma: one begun at each of its bytes would take the square of them.
_ENTRIES = re.compile(rb"(?<![^\s,])('(?:[^']|'')*+'|[^\s,']++)\s++('(?:[^']|'')*+'|[^\s,']++)\s*+(?:,|$)")
_LABELS = re.compile(rb"'(?:[^']|'')*'|[^\s']+")
#: What Mesquite writes of a vertex: <color = 5>; what is quoted or in a comment is none.
_PROPERTIES = re.compile(_COMMENT + rb"|'(?:[^']|'')*'|(<[\w\s.%]+=[^<>();]*>)")
_NOT_A_BREAK = re.compile(rb"[^\n]")


def is_nexus(data: bytes) -> bool:
    """Return whether the text says that it is of NEXUS."""
    return data.removeprefix(b"\xef\xbb\xbf").lstrip()[:6].upper() == b"#NEXUS"


def newick_of_nexus(data: bytes, search: Search | None = None) -> tuple[bytes, dict[bytes, bytes]]:
    """Return the text with blanks for everything but its trees, and the names that stand for those in them.

    Lines and columns stay what they are. Raises :class:`InputError` if there is no tree, :class:`NoPlanError` if
    ``search`` ends before.
    """
    pieces: list[bytes] = []
    names: dict[bytes, bytes] = {}
    numbered: dict[bytes, bytes] = {}
    blocks: list[str] = []
    block, at = b"", 0
    for begin, middle, end in _commands(data):
        expect_time(search)
        words = _COMMENTS.sub(b" ", data[begin : min(end, begin + 1000)]).upper().split(maxsplit=2)
        first = words[0] if words else b""
        if first == b"BEGIN":
            block = words[1].rstrip(b";") if len(words) > 1 else b""
            blocks.append(block.decode("utf-8", "replace"))
        elif first in {b"END;", b"ENDBLOCK;", b"END", b"ENDBLOCK"}:
            block = b""
        elif block == b"TAXA" and first == b"TAXLABELS":
            labels = _LABELS.findall(_told(data[begin:end], first))
            numbered = {b"%d" % number: label for number, label in enumerate(labels, 1)}
        elif block == b"TREES" and first == b"TRANSLATE":
            names |= {_plain(word): name for word, name in _ENTRIES.findall(_told(data[begin:end], first))}
        elif block == b"TREES" and first in {b"TREE", b"UTREE"} and middle > begin:
            pieces += [_NOT_A_BREAK.sub(b" ", data[at:middle]), _PROPERTIES.sub(_blank, data[middle:end])]
            at = end
    if not pieces:
        found = f"blocks {', '.join(blocks)}" if blocks else "no block"
        raise InputError("holds no tree", value=found, allowed="a block TREES with commands as in: tree one = (a,b)c;")
    if not any(label.isdigit() for label in numbered.values()):  # a taxon may stand for its number, if it is none
        names = numbered | names
    return b"".join([*pieces, _NOT_A_BREAK.sub(b" ", data[at:])]), names


def _blank(found: re.Match[bytes]) -> bytes:
    """Return blanks for properties, and all else as it is."""
    return found[0] if found[1] is None else _NOT_A_BREAK.sub(b" ", found[1])


def _plain(word: bytes) -> bytes:
    """Return a word without quotes."""
    return word[1:-1].replace(b"''", b"'") if word[:1] == b"'" else word


def _told(command: bytes, word: bytes) -> bytes:
    """Return what a command says after its first word, without comments."""
    return _COMMENTS.sub(b" ", command[:-1]).strip()[len(word) :]


def _commands(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield where every command begins, where its first "=" ends (else where it begins), and where it ends."""
    header = data.upper().find(b"#NEXUS") + len(b"#NEXUS")
    begin = middle = header
    for token in _TOKENS.finditer(data, header):
        if token[0] == b"=" and middle == begin:
            middle = token.end()
        elif token[0] == b";":
            yield begin, middle, token.end()
            begin = middle = token.end()


def renamed(tree: Tree, names: dict[bytes, bytes]) -> Tree:
    """Return the tree with its labels replaced as ``names`` have them.

    A number at an inner vertex that a leaf has too says how well the vertex is supported: it stays.
    """
    if tree.labels is None or not names:
        return tree
    text, spans = tree.labels.text.tobytes(), tree.labels.name.copy()
    ends = len(text) + np.cumsum([len(name) for name in names.values()])
    where = dict(zip(names, zip(ends - [len(name) for name in names.values()], ends, strict=True), strict=True))
    given = [_plain(text[begin:end]) for begin, end in spans.tolist()]
    is_leaf = (tree.degrees() == 0).tolist()
    of_leaves = {name for name, leaf in zip(given, is_leaf, strict=True) if leaf}
    for v, name in enumerate(given):
        if (found := where.get(name)) is not None and (is_leaf[v] or name not in of_leaves):
            spans[v] = found
    longer = np.frombuffer(text + b"".join(names.values()), np.uint8)
    return replace(tree, labels=replace(tree.labels, text=longer, name=spans))
