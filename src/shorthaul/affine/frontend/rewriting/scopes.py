"""Names of C that hide others: what a block declares gets a name of its own where that name means something outside."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pycparser import c_ast

from shorthaul.affine.frontend.expressions import c_text
from shorthaul.affine.frontend.rewriting.structures import named
from shorthaul.affine.frontend.rewriting.trees import nodes
from shorthaul.core.errors import InputError


def with_names_apart(body: Any, outside: Iterable[str]) -> dict[str, str]:
    r"""Rename, in place, what hides a name, of ``outside`` or a block around, or has another type than one before.

    Return what the new names were.

    >>> from pycparser import c_generator, c_parser
    >>> tree = c_parser.CParser().parse("void f(int n) { int i = n; { int i = i; g(i); } g(i); }").ext[0]
    >>> with_names_apart(tree.body, ["n"])
    {'i_1': 'i'}
    >>> print(" ".join(c_generator.CGenerator().visit(tree.body).split()))
    { int i = n; { int i_1 = i; g(i_1); } g(i); }
    """
    taken = {node.name for node in nodes([body]) if isinstance(node, c_ast.ID | c_ast.Decl) and node.name}
    names = {name: name for name in outside}
    renamed: dict[str, str] = {}
    _walk(body, names, names, taken | {*names}, renamed, {})
    return renamed


@contextmanager
def names_as_written(renamed: Mapping[str, str]) -> Iterator[None]:
    """Tell errors with the names of the file in place of those that ``with_names_apart`` gave."""
    try:
        yield
    except InputError as error:
        for part in ("problem", "value", "cure"):
            if isinstance(text := getattr(error, part), str):
                setattr(error, part, re.sub(r"\w+", lambda word: renamed.get(word[0], word[0]), text))
        raise


def _walk(
    node: Any,
    known: dict[str, str],
    outer: Mapping[str, str],
    taken: set[str],
    renamed: dict[str, str],
    kinds: dict[str, str],
) -> None:
    """Give what is in ``node`` the names ``known`` in its block, of which ``outer`` are those of the blocks around.

    ``kinds`` are the types of names so far.
    """
    if isinstance(node, c_ast.ID):
        node.name = known.get(node.name, node.name)
        return
    if isinstance(node, c_ast.FuncDecl):
        node.args = None  # parameters of a prototype mean nothing in the block
    if isinstance(node, c_ast.FuncDecl | c_ast.Struct | c_ast.Union):
        return  # members hide nothing in the block
    if isinstance(node, c_ast.Compound | c_ast.For):
        known, outer = {**known}, known
    for field, child in node.children():
        if not (isinstance(node, c_ast.StructRef) and field == "field"):
            _walk(child, known, outer, taken, renamed, kinds)
    if isinstance(node, c_ast.Decl) and node.name and not isinstance(node.type, c_ast.FuncDecl):
        name, kind = node.name, c_text(node.type)
        if name in outer or kinds.setdefault(name, kind) != kind:
            node.name = next(word for at in itertools.count(1) if (word := f"{name}_{at}") not in taken)
            node.type = named(node.type, node.name)
            taken.add(node.name)
            renamed[node.name] = renamed.get(name, name)
        known[name] = node.name
