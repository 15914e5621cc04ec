"""The region as C that can be compiled again: statements in their iterators, declarations, and the body as written."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import islpy as isl
from pycparser import c_ast, c_generator

from shorthaul.affine.frontend.expressions import BITS, COMPARISONS, Names, c_text, is_unsigned, kind_of
from shorthaul.affine.frontend.parser import Region
from shorthaul.affine.frontend.rewriting.trees import NUMBERS, names_in, nodes, words_of
from shorthaul.affine.frontend.symbols import Symbols
from shorthaul.affine.model import CodeText, Fragment, Result


class _Statements(c_generator.CGenerator):  # type: ignore[misc]
    """Writes statements as they were read, without assertions."""

    def visit_FuncCall(self, node: Any) -> str:  # noqa: N802
        return "" if getattr(node.name, "name", "") == "assert" else str(super().visit_FuncCall(node))


_GENERATOR = _Statements()


def fragments(
    target: Any, operator: str, value: Any, names: Names, tags: Mapping[str, str], statement: str
) -> tuple[Fragment, ...]:
    """Return an assignment as fragments: the element written, the operator, and the value.

    ``tags`` gives the reference of every read by its text. Iterators bear the names of the statement's sets.
    """
    writer = _Writer(names, tags)
    writer.inside = 1
    pieces = [Fragment(writer.visit(target), f"{statement}.w", tags.get(c_text(target))), Fragment(f" {operator} ")]
    writer.inside, writer.wraps = 0, _is_mixed(value, names)
    for piece in writer.visit(value).split(_MARK):
        tag, found, text = piece.partition(_END)
        if piece:
            pieces.append(Fragment(" ".join((text if found else piece).split("\n")), tag if found else None))
    return tuple(pieces)


def _is_mixed(value: Any, names: Names) -> bool:
    """Return whether some number of a value has no sign, or few bits."""
    found = [item for item in nodes([value]) if isinstance(item, c_ast.ID | c_ast.Constant | c_ast.Cast)]
    inner = [item for item in found if isinstance(item, c_ast.ID) and item.name not in names.iterators]
    return any(
        is_unsigned(item, names) or (isinstance(item, c_ast.ID) and BITS.keys() & kind_of(item.name, names))
        for item in found
    ) or any(_is_mixed(names.locals[item.name], names) for item in inner if item.name in names.locals)


#: What encloses an access, and what ends its tag, in text that is being written.
_MARK, _END = "\0", "\1"


class _Writer(c_generator.CGenerator):  # type: ignore[misc]
    """Writes an expression with marked accesses; names of iterators stand in parentheses."""

    def __init__(self, names: Names, tags: Mapping[str, str]) -> None:
        super().__init__()
        self.names, self.tags = names, tags
        self.inside = 0
        self.wraps = False  #: numbers may leave their types

    def visit_BinaryOp(self, node: Any) -> str:  # noqa: N802
        before = self.wraps
        if self.inside and node.op in {*COMPARISONS, "%", "/", ">>"}:
            self.wraps |= any(getattr(item, "op", "") == "-" for item in nodes([node]))
        text = super().visit_BinaryOp(node)
        self.wraps = before
        return str(text)

    def _plain(self, name: str, text: str) -> str:
        """Return an integer, which is a long in emitted loops, of its type where that may matter."""
        kind = (self.names.kinds or {}).get(name, "")
        return f"(({kind}){text})" if self.wraps and kind else text

    def visit_ID(self, node: Any) -> str:  # noqa: N802
        if node.name in self.names.iterators:
            iterator = self.names.iterators[node.name]
            return self._plain(node.name, f"({iterator.get_dim_name(isl.dim_type.param, 0)})")
        if node.name in self.names.parameters:
            return self._plain(node.name, str(node.name))
        if node.name in self.names.locals:
            return self._plain(node.name, f"({self.visit(self.names.locals[node.name])})")
        return self._marked(node, str(node.name))

    def visit_ArrayRef(self, node: Any) -> str:  # noqa: N802
        before, self.wraps = self.wraps, False
        self.inside += 1
        text = self._array(node)
        self.inside -= 1
        self.wraps = before
        return self._marked(node, text)

    def _array(self, node: Any) -> str:
        if isinstance(node, c_ast.ArrayRef):
            return f"{self._array(node.name)}[{self.visit(node.subscript)}]"
        return str(node.name)

    def _marked(self, node: Any, text: str) -> str:
        tag = None if self.inside else self.tags.get(c_text(node))
        return text if tag is None else f"{_MARK}{tag}{_END}{text}{_MARK}"


def code_text(region: Region, symbols: Symbols, parameters: Sequence[str], arrays: Sequence[str]) -> CodeText:
    """Return the body of ``region`` and the declarations that it needs."""
    declared = symbols.declared
    body = "\n".join(_statement(item) for item in region.body if not isinstance(item, c_ast.Pragma))
    inside = {node.name for node in nodes(region.body) if isinstance(node, c_ast.Decl)}
    mentioned = names_in([*region.body, *declared.values()])
    needed = _needed(mentioned, symbols.constants)
    # what is never executed is part of the body, too
    arrays = sorted({*arrays, *(mentioned & symbols.data & {*declared})})
    macros = {**region.text.integers, **symbols.constants}
    # an iterator that the body does not declare itself is one of the function
    loops = [f"{_declared(name, declared, 'int')};" for name in sorted(symbols.loops - inside)]
    integers = {name: _declared(name, declared, "int") for name in parameters if name in declared}
    sized = {
        name: declared[name] if name in inside else _without_free_rows(declared[name], {*integers, *macros})
        for name in arrays
        if name in declared
    }
    # integers that only extents have, or statements without effect
    unread = mentioned & {*region.declarations} - symbols.written
    free = (names_in(sized.values()) & {*declared} | unread) - {*arrays}
    integers |= {name: _declared(name, declared, "int") for name in sorted(free - {*integers, *macros, *inside})}
    tables = {name: region.tables[name] for name in arrays if name in region.tables}
    data = {name: _declared(name, {**declared, **sized}, "double") for name in arrays if name not in tables}
    # what the region sets and others know is no value to be passed
    head, kept = region.signature, region.signature.local
    passed = [name for name in data if name in head.own or not _is_set(name, declared, symbols)]
    unused = {name: _declared(name, declared, "") for name in head.unused if _is_plain(declared.get(name))}
    unused = {name: text for name, text in unused.items() if name not in {*data, *integers}}
    known = {*passed, *integers, *unused} - {*inside, kept}
    made = [f"{_declared(kept, declared, '')} = 0;"] if kept and kept not in inside else []
    order = dict.fromkeys([*head.names, *region.declarations])
    return CodeText(
        body=body,
        declarations=data,
        tables=tuple(tables.values()),
        private=tuple(name for name in arrays if name in inside and name != kept),
        result=Result(head.value, " ".join(words_of(head.kind)), kept) if head.value else Result(),
        arguments=tuple(name for name in order if name in known),
        unused=unused,
        constant=head.constant - symbols.written,
        missing=tuple(name for name in head.names if name not in known),
        integers=integers,
        macros={name: value for name, value in region.text.integers.items() if name in mentioned},
        locals=(*loops, *(f"int {name} = {c_text(symbols.constants[name])};" for name in needed), *made),
    )


def _is_set(name: str, declared: Mapping[str, Any], symbols: Symbols) -> bool:
    """Return whether the region sets a variable that is no array."""
    return name in symbols.written and not isinstance(declared.get(name), c_ast.ArrayDecl | c_ast.PtrDecl)


def _is_plain(declared: Any) -> bool:
    """Return whether a type is one of numbers, or leads to numbers, so that it needs nothing of the file."""
    return set() < {*words_of(declared)} <= NUMBERS


def _without_free_rows(node: Any, known: Collection[str]) -> Any:
    """Return the type of data as a pointer, if no loop ends at its first extent: any number of rows will do."""
    if isinstance(node, c_ast.ArrayDecl) and node.dim is not None and not names_in([node.dim]) <= {*known}:
        return c_ast.PtrDecl([], node.type)
    return node


def _needed(mentioned: set[str], constants: Mapping[str, Any]) -> list[str]:
    """Return the constants that the body uses, directly or by others, in the order of their declarations."""
    wanted = set(mentioned)
    for name in reversed(list(constants)):
        if name in wanted:
            wanted |= names_in([constants[name]])
    return [name for name in constants if name in wanted]


def _declared(name: str, declared: Mapping[str, Any], unknown: str) -> str:
    """Return the declaration of ``name`` in C; of the type ``unknown`` where the file has none."""
    if name not in declared:
        return f"{unknown} {name}"
    made = c_ast.Decl(name, [], [], [], [], declared[name], None, None)
    return " ".join(_GENERATOR.visit(made).split())


def _statement(node: Any) -> str:
    return str(_GENERATOR._generate_stmt(node, add_indent=True)).rstrip("\n")
