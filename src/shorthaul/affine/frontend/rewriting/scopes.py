"""Names of C that hide others: what a block declares gets a name of its own where that name means something outside."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

from pycparser import c_ast

from shorthaul.affine.frontend.rewriting.structures import named
from shorthaul.affine.frontend.rewriting.trees import nodes


def with_names_apart(body: Any, outside: Iterable[str]) -> None:
    r"""Rename, in place, what hides a name: one of ``outside``, or of a block around.

    >>> from pycparser import c_generator, c_parser
    >>> tree = c_parser.CParser().parse("void f(int n) { int i = n; { int i = i; g(i); } g(i); }").ext[0]
    >>> with_names_apart(tree.body, ["n"])
    >>> print(" ".join(c_generator.CGenerator().visit(tree.body).split()))
    { int i = n; { int i_1 = i; g(i_1); } g(i); }
    """
    taken = {node.name for node in nodes([body]) if isinstance(node, c_ast.ID | c_ast.Decl) and node.name}
    names = {name: name for name in outside}
    _walk(body, names, names, taken | {*names})


def _walk(node: Any, known: dict[str, str], outer: Mapping[str, str], taken: set[str]) -> None:
    """Give what is in ``node`` the names ``known`` in its block, of which ``outer`` are those of the blocks around."""
    if isinstance(node, c_ast.ID):
        node.name = known.get(node.name, node.name)
        return
    if isinstance(node, c_ast.FuncDecl | c_ast.Struct | c_ast.Union):
        return  # parameters and members hide nothing in the block
    if isinstance(node, c_ast.Compound | c_ast.For):
        known, outer = {**known}, known
    for field, child in node.children():
        if not (isinstance(node, c_ast.StructRef) and field == "field"):
            _walk(child, known, outer, taken)
    if isinstance(node, c_ast.Decl) and node.name:
        name = node.name
        if name in outer:
            node.name = next(word for at in itertools.count(1) if (word := f"{name}_{at}") not in taken)
            node.type = named(node.type, node.name)
            taken.add(node.name)
        known[name] = node.name
