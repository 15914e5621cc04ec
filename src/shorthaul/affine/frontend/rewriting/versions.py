"""Integers that are set several times in one block, as names that are set once: ``l = i - 1; if (l < 0) l = 0;``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

from pycparser import c_ast

from shorthaul.affine.frontend.rewriting.choices import choices
from shorthaul.affine.frontend.rewriting.counting import alone
from shorthaul.affine.frontend.rewriting.structures import declaration_of, free_name, named
from shorthaul.affine.frontend.rewriting.trees import (
    copied,
    in_blocks,
    is_integer,
    names_in,
    nodes,
    rewritten,
    target_of,
    words_of,
)

_UNSIGNED = re.compile(r"u|size_t|_?[Bb]ool|char")


def with_versions(items: Sequence[Any], declarations: Mapping[str, Any], given: Set[str] = frozenset()) -> list[Any]:
    r"""Return statements in which integers of a block, computed from integers alone, are set once.

    Those are meant that nothing else of ``items`` names, and that statements of the block set, or choices among these.
    Parameters that are ``given`` have a value before.

    >>> from pycparser import c_generator, c_parser
    >>> text = "void f(int i, double *a) { int l = i - 1; if (l < 0) { l = 0; } a[l] = 1; }"
    >>> items = with_versions(c_parser.CParser().parse(text).ext[0].body.block_items, {})
    >>> print("; ".join(map(c_generator.CGenerator().visit, items)))
    int l = i - 1; int l_ = (l < 0) ? (0) : (l); a[l_] = 1
    """
    kinds = {**declarations, **{node.name: node.type for node in nodes(items) if isinstance(node, c_ast.Decl)}}
    return _Versions(kinds, _named(items)).of(items, given)


def _named(items: Iterable[Any]) -> Counter[str]:
    return Counter(node.name for node in nodes(items) if isinstance(node, c_ast.ID))


class _Versions:
    def __init__(self, kinds: dict[str, Any], named: Counter[str]) -> None:
        self.kinds, self.named = kinds, named

    def of(self, items: Sequence[Any], given: Set[str] = frozenset()) -> list[Any]:
        """Return a block with versions of its integers, those of inner blocks first."""
        inner = [in_blocks(item, self.of) for item in items]
        flat = [part for item in _flat(inner) for part in alone(item)]
        chosen = self._chosen(flat, {*map(id, inner)}, given)
        return self._apart(flat, chosen) if chosen else inner

    def _chosen(self, flat: Sequence[Any], direct: set[int], given: Set[str]) -> set[str]:
        """Return the integers that are set several times, or in a block inside, by statements of ``flat`` alone."""
        found: dict[str, list[Any]] = {}
        for item in flat:
            for name in _set_by(item):
                found.setdefault(name, []).append(item)
        here = _named(flat)
        chosen = {
            name
            for name, by in found.items()
            if self._is_signed(name) and here[name] == self.named[name]
            if len(by) > 1 or name in given or not direct.issuperset(map(id, by))
        }
        while wrong := {name for name in chosen if not self._is_plain(name, flat, chosen, given)}:
            chosen -= wrong
        return chosen

    def _is_signed(self, name: str) -> bool:
        """True for integers that may be below 0: others have other values there."""
        kind = self.kinds.get(name)
        return kind is not None and is_integer(kind) and not any(_UNSIGNED.match(word) for word in words_of(kind))

    def _is_plain(self, name: str, flat: Sequence[Any], chosen: set[str], given: Set[str]) -> bool:
        """True if all that sets an integer are assignments, and choices, of values of integers, an assignment first."""
        is_set = name in given
        for item in flat:
            if name not in {*map(target_of, nodes([item]))}:
                if not is_set and name in names_in([item]):
                    return False
                continue
            made = _settings(item)
            used = names_in([item.cond]) if isinstance(item, c_ast.If) else set()
            if made is None or any(target_of(one) not in chosen for one in made):
                return False
            for one in made:
                value = one.init if isinstance(one, c_ast.Decl) else one.rvalue
                used |= set() if value is None else names_in([value])
                if any(
                    isinstance(node, c_ast.ArrayRef | c_ast.StructRef | c_ast.FuncCall)
                    for node in nodes([value or one])
                ):
                    return False
                is_set |= target_of(one) == name and value is not None and name not in names_in([value])
            if not all(self._is_signed(other) for other in used & self.kinds.keys()):
                return False
            if not is_set and not isinstance(item, c_ast.Decl):
                return False
        return True

    def _apart(self, flat: Sequence[Any], chosen: set[str]) -> list[Any]:
        """Return a block in which what sets an integer declares a new one."""
        now: dict[str, str] = {}
        result: list[Any] = []

        def renamed(node: Any) -> Any:
            return c_ast.ID(now[node.name], node.coord) if isinstance(node, c_ast.ID) and node.name in now else node

        for item in flat:
            if chosen.isdisjoint(_set_by(item)):
                result.append(rewritten(item, renamed))
                continue
            for one in _settings(copied(item)) or ():
                name, value = target_of(one), one.init if isinstance(one, c_ast.Decl) else one.rvalue
                if value is None:
                    continue
                value = rewritten(value, renamed)
                word = name if isinstance(one, c_ast.Decl) else free_name(name, self.kinds)
                now[name] = word
                self.kinds[word] = named(copied(self.kinds[name]), word)
                result.append(declaration_of(word, self.kinds[word], value, one.coord))
        return result


def _flat(items: Iterable[Any]) -> list[Any]:
    """Return statements without blocks among them; names are apart."""
    result: list[Any] = []
    for item in items:
        result += _flat(item.block_items or []) if isinstance(item, c_ast.Compound) else [item]
    return result


def _set_by(item: Any) -> set[str]:
    return {*map(target_of, nodes([item]))} - {""}


def _settings(item: Any) -> list[Any] | None:
    """Return what sets integers as assignments and declarations, one after the other; None where it does more."""
    if isinstance(item, c_ast.If):
        return choices(item)
    if isinstance(item, c_ast.Assignment) and isinstance(item.lvalue, c_ast.ID):
        if item.op == "=":
            return [item]
        value = c_ast.BinaryOp(item.op[:-1], item.lvalue, item.rvalue, item.coord)
        return [c_ast.Assignment("=", item.lvalue, value, item.coord)]
    return [item] if isinstance(item, c_ast.Decl) else None
