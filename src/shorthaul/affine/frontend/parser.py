"""From C text to the syntax tree of one ``#pragma scop`` region."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pycparser import c_ast, c_parser

from shorthaul.affine.frontend.constants import constant
from shorthaul.affine.frontend.preprocess import Preprocessed, preprocess
from shorthaul.affine.frontend.rewriting.choices import with_conditions_kept
from shorthaul.affine.frontend.rewriting.counting import with_moves_apart, with_steps_as_numbers, without_rest
from shorthaul.affine.frontend.rewriting.exchanges import without_exchanges
from shorthaul.affine.frontend.rewriting.initial_values import (
    refuse_designators,
    tables_in,
    tables_text,
    with_values_assigned,
    without_static_lists,
    without_static_values,
    written_out,
)
from shorthaul.affine.frontend.rewriting.inlining import inlined
from shorthaul.affine.frontend.rewriting.jumps import without_jumps
from shorthaul.affine.frontend.rewriting.memory import without_calls_on_memory
from shorthaul.affine.frontend.rewriting.procedures import with_calls_written_out
from shorthaul.affine.frontend.rewriting.scopes import names_as_written, with_names_apart
from shorthaul.affine.frontend.rewriting.structures import Structures, flattened, named, structures_in
from shorthaul.affine.frontend.rewriting.trees import assigned, names_in, nodes, words_of
from shorthaul.affine.frontend.rewriting.values import value_at_end, with_value_set
from shorthaul.affine.frontend.rewriting.versions import with_versions
from shorthaul.affine.frontend.rewriting.walking import without_walking
from shorthaul.affine.model import Place
from shorthaul.core.errors import InputError, unknown_name

_PRELUDE = "typedef int {}; "
_TYPES = (
    *(f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *("size_t", "ssize_t", "ptrdiff_t", "bool", "FILE", "uint", "va_list"),
    *("__builtin_va_list", *(f"_Float{bits}" for bits in ("16", "32", "32x", "64", "64x", "128"))),
)
#: What says nothing of values: qualifiers, and extensions of compilers, which preprocessed headers are full of.
#: Before a list of values ``static`` stays: it tells an input from assignments.
_DROPPED = re.compile(
    r"\b(?:static(?![^;(){}]*=)|inline|__inline__|__inline|restrict|__restrict__|__restrict|register|extern|const"
    r"|volatile|_Noreturn"
    r"|__const|__volatile__|__extension__)\b"
    r"|\b__attribute__\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
)
_SYMBOL = re.compile(r"\b(?:__asm__|__asm|asm)\s*\([^()]*\)")  # what a declaration is called in assembler
_REAL = frozenset({"double", "float"})
_CURE_MISSING = "write a function around the loop nest, or mark its loops by '#pragma scop' and '#pragma endscop'"


@dataclass(frozen=True, slots=True)
class Signature:
    """What a function takes: ``names`` in order, of which ``own`` are values that the region alone names.

    ``unused`` are those that the function never names, ``constant`` lead to what it only reads. It returns ``value``, a
    number or a variable, of the type ``kind``; ``local`` is that variable if it is one of the function.
    """

    names: tuple[str, ...] = ()
    own: frozenset[str] = frozenset()
    unused: frozenset[str] = frozenset()
    constant: frozenset[str] = frozenset()
    value: str = ""
    local: str = ""
    kind: Any = None


@dataclass(frozen=True)
class Region:
    """One region between ``#pragma scop`` and ``#pragma endscop``: its statements and what is declared around it."""

    function: str
    body: tuple[Any, ...]
    declarations: Mapping[str, Any]  #: name -> pycparser type, of globals, parameters and locals
    constants: Mapping[str, Any]  #: locals before the region that are initialised -> expression
    text: Preprocessed
    renamed: Mapping[str, str] = field(default_factory=dict)  #: what names that hid others were
    tables: Mapping[str, str] = field(default_factory=dict)  #: arrays that keep the values of their declarations, in C
    signature: Signature = Signature()
    counts_from_end: bool = False  #: subscripts below 0 are those from the end, as in Python

    def place(self, node: Any) -> Place:
        """Return where in the file ``node`` stands."""
        coord = node.coord
        if coord is None:
            return Place(0, 0)
        return Place(coord.line, self.text.column(coord.line, coord.column or 1))


def parse(text: str, *, function: str | None = None, file: Path | None = None) -> Region:
    """Return the scop region of ``function`` (of the only function that has one, if None).

    Raises :class:`InputError` with line and column for wrong syntax, a missing or unclosed pragma, an unknown
    function, and a choice that is left open.
    """
    done = preprocess(text, file=file)
    chunks = list(_top_level(done))
    chosen = _chosen(chunks, function, done)
    declarations: dict[str, Any] = {}
    structures: Structures = {}
    typedefs: list[str] = []
    meanings: dict[str, Any] = {}
    before = [chunk.text for chunk in chunks if not chunk.is_function and chunk.start < chosen.start]
    integers = dict(done.integers)
    fixed = [text for text in before if re.search(r"\b(?:const|enum)\b", text)]
    constants_of_file = list(_declared(fixed, [*typedefs]))
    for item in constants_of_file:
        integers |= _numbers(item, integers)
    for item in _declared(before, typedefs):
        structures_in([item], structures)
        _resolve([item], meanings)
        if isinstance(item, c_ast.Typedef) and item.name not in structures:
            meanings[item.name] = item.type
        elif isinstance(item, c_ast.Decl) and item.name and item.name not in integers and not _is_prototype(item):
            declarations[item.name] = item.type
    definition = without_jumps(_parse_function(done, chosen, typedefs), integers)
    _resolve([definition], meanings)
    outside = {**declarations, **dict.fromkeys(integers)}
    if definition.decl.type.args is not None:
        for parameter in definition.decl.type.args.params:
            if getattr(parameter, "name", None):
                declarations[parameter.name] = parameter.type
                outside.pop(parameter.name, None)
    renamed = with_names_apart(definition.body, {*declarations, *integers})
    signature = _signature(definition, chosen.text)
    value = "" if "#pragma scop" in chosen.text else with_value_set(definition, declarations)
    without_static_values(definition.body)
    others = [chunk for chunk in chunks if chunk.is_function and chunk is not chosen]
    found = _declared(list(_called(chosen.text, others)), typedefs)
    called = [item for item in found if isinstance(item, c_ast.FuncDef) and isinstance(item.decl.type, c_ast.FuncDecl)]
    written = {item.decl.name: without_jumps(item, integers) for item in called}
    _resolve(written.values(), meanings)
    with names_as_written(renamed):
        renamed |= with_calls_written_out(definition.body, written, declarations, outside)
        definition.body.block_items = without_calls_on_memory(definition.body.block_items or [], declarations, outside)
        definition.body = inlined(definition.body, written, declarations, outside)
        find = _region if "#pragma scop" in chosen.text else _whole
        body, constants = find(definition.body, declarations, chosen.name)
        signature = replace(signature, own=signature.own - _names_outside(definition.body, body))
        counted = with_versions(with_moves_apart(with_steps_as_numbers(body, integers)), declarations, signature.own)
        items = without_exchanges(counted, declarations, constants)
        plain = c_ast.Compound(without_walking(items, declarations, constants))
        tables = tables_in([plain], plain)
        own = {node.name for node in nodes([plain]) if isinstance(node, c_ast.Decl)} | {*declarations} - outside.keys()
        of_file = {name: item for name, item in tables_in(constants_of_file, plain).items() if name not in own}
        lasting = {**of_file, **{name: item for name, item in tables.items() if "static" in item.storage}}
        told = tables_text(lasting, integers)
        known = replace(done, integers=integers)
        region = Region(chosen.name, (), declarations, constants, known, renamed, told, signature)
        refuse_designators(plain, region.place)
        plain = without_static_lists(plain, declarations)
        plain.block_items = written_out(plain.block_items, {**of_file, **tables}, integers)
        made = with_values_assigned(flattened(plain, declarations, structures), region.place)
        made, returned = value_at_end(value, made.block_items, declarations)
        made = with_conditions_kept(made, {*declarations, *integers})
        local = "" if returned in {*outside, *signature.names} or not returned.isidentifier() else returned
        signature = replace(signature, value=returned, local=local, kind=definition.decl.type.type)
        return replace(region, body=tuple(made), signature=signature)


def _signature(definition: Any, text: str) -> Signature:
    """Return what a function takes, all values as its own; ``text`` has the qualifiers that were dropped."""
    listed = definition.decl.type.args
    given = {item.name: item.type for item in ([] if listed is None else listed.params) if getattr(item, "name", None)}
    used = names_in([definition.body])
    head = text.partition("{")[0]
    before = r"\bconst\b[^,()*]*(?:\*[^,()]*\b{0}\b|\b{0}\s*\[)"
    constant = {name for name in given if re.search(before.format(name), head)}
    own = {name for name, kind in given.items() if isinstance(kind, c_ast.TypeDecl)}
    return Signature(tuple(given), frozenset(own), frozenset(given.keys() - used), frozenset(constant))


@dataclass(frozen=True, slots=True)
class _Chunk:
    """A stretch of lines at file level: a declaration, or the definition of a function."""

    first: int
    start: int
    text: str
    is_function: bool
    name: str


def _top_level(done: Preprocessed) -> Iterator[_Chunk]:
    text = "\n".join(done.lines)
    depth, start = 0, 0
    has_body = False
    for match in re.finditer(r"\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n])*'?|[{};=]", text):
        token = match[0]
        if token == "{":
            if depth == 0:
                has_body = text[start : match.start()].rstrip().endswith(")")
            depth += 1
        elif token == "}":
            depth -= 1
            if depth < 0:
                line = text.count("\n", 0, match.start()) + 1
                column = match.start() - text.rfind("\n", 0, match.start())
                cure = "remove it, or add the '{' that it closes"
                place = f"line {line} column {column}"
                raise InputError("a brace closes that was never opened", place=place, value="}", cure=cure)
        if depth == 0 and (token == ";" or (token == "}" and has_body)):
            piece = text[start : match.end()]
            lead = len(piece) - len(piece.lstrip())
            first = text.count("\n", 0, start + lead)
            name = re.search(r"\b(\w+)\s*\(", piece)
            yield _Chunk(first, start, piece, token == "}" and has_body, name[1] if name else "")
            start, has_body = match.end(), False
    if depth > 0:
        line = text.count("\n", 0, start + len(text[start:]) - len(text[start:].lstrip())) + 1
        raise InputError(
            "a brace that opens is never closed", place=f"line {line} column 1", value="{", cure="add the missing '}'"
        )


def _chosen(chunks: list[_Chunk], function: str | None, done: Preprocessed) -> _Chunk:
    functions = {chunk.name: chunk for chunk in chunks if chunk.is_function}
    if function is not None:
        if function not in functions:
            raise unknown_name("function", function, functions, place="--function")
        return functions[function]
    marked = [chunk for chunk in functions.values() if "#pragma scop" in chunk.text]
    if not marked:
        if any("#pragma scop" in line for line in done.lines):
            raise InputError("'#pragma scop' stands outside every function", cure="write a function around it")
        if not functions:
            raise InputError("has no function", allowed="C with a function around the loop nest", cure=_CURE_MISSING)
        loops = (r"\bfor\s*\(", r"\b(while|do|goto)\b")  # the latter are refused, with their place
        marked = next(filter(None, ([c for c in functions.values() if re.search(p, c.text)] for p in loops)), [])
        if not marked:
            raise InputError("has no loops", allowed="C with a function around a loop nest", cure=_CURE_MISSING)
        if "main" not in functions:  # of functions that call one another, the one that the others are for
            marked = [each for each in marked if not any(_calls(other, each) for other in marked)] or marked
    if len(marked) > 1:
        what = "a '#pragma scop'" if "#pragma scop" in marked[0].text else "loops"
        names = ", ".join(chunk.name for chunk in marked)
        raise InputError(f"several functions have {what}", value=names, cure="choose one with --function")
    return marked[0]


def _calls(chunk: _Chunk, other: _Chunk) -> bool:
    return chunk is not other and re.search(rf"\b{other.name}\s*\(", chunk.text) is not None


def _is_prototype(item: Any) -> bool:
    return isinstance(item.type, c_ast.FuncDecl)


def _numbers(item: Any, known: Mapping[str, int]) -> dict[str, int]:
    """Return the integers that a declaration names: enumerators, and a variable that keeps its value."""
    found: dict[str, int] = {}
    value: int | None = -1
    for node in nodes([item]):
        if isinstance(node, c_ast.Enumerator) and value is not None:
            value = value + 1 if node.value is None else constant(node.value, {**known, **found})
            if value is not None:
                found[node.name] = value
    kind = getattr(getattr(item, "type", None), "type", None)
    if isinstance(item, c_ast.Decl) and item.init is not None and isinstance(kind, c_ast.IdentifierType):
        value = None if {"float", "double"} & {*kind.names} else constant(item.init, known)
        if value is not None:
            found[item.name] = value
    return found


def _called(text: str, chunks: list[_Chunk]) -> Iterator[str]:
    """Yield the functions that ``text`` may call, and those that they may call."""
    found = [chunk for chunk in chunks if chunk.name and chunk.name in text]
    if found:
        yield from (chunk.text for chunk in found)
        rest = [chunk for chunk in chunks if chunk not in found]
        yield from _called("\n".join(chunk.text for chunk in found), rest)


def _resolve(items: Iterable[Any], meanings: Mapping[str, Any]) -> None:
    """Replace the names of types, and of arrays of them, by what they are defined as."""
    for node in nodes(items):
        inner = getattr(node, "type", None)
        if isinstance(inner, c_ast.TypeDecl) and isinstance(inner.type, c_ast.IdentifierType):
            meaning = meanings.get(" ".join(inner.type.names))
            if isinstance(meaning, c_ast.ArrayDecl | c_ast.PtrDecl):
                node.type = named(meaning, inner.declname)
        if isinstance(node, c_ast.IdentifierType) and len(node.names) == 1 and node.names[0] in meanings:
            node.names = words_of(meanings[node.names[0]]) or node.names


def _declared(texts: list[str], typedefs: list[str]) -> Iterator[Any]:
    """Yield what ``texts`` declare, without those that are not C as we read it; add the typedefs among them."""
    if not texts:
        return
    plain = [_SYMBOL.sub(" ", _DROPPED.sub(" ", text)) for text in texts]
    wanted = "\n".join(plain)
    try:
        found = c_parser.CParser().parse(f'{_prelude(wanted, typedefs)}\n# 1 "C"\n{wanted}')
    except (c_parser.ParseError, RecursionError):
        if len(texts) > 1:  # halves, so that a few wrong ones among many cost little
            yield from _declared(texts[: len(texts) // 2], typedefs)
            yield from _declared(texts[len(texts) // 2 :], typedefs)
        return
    typedefs.extend(text.replace("\n", " ").strip() for text in plain if text.lstrip().startswith("typedef"))
    yield from (item for item in found.ext if item.coord is not None and item.coord.file == "C")


def _prelude(text: str, typedefs: list[str]) -> str:
    """Return the typedefs that C text may need: known names of types that it has, and the file's own."""
    known = "".join(_PRELUDE.format(name) for name in _TYPES if name in text or any(name in item for item in typedefs))
    return known + " ".join(typedefs) + " "


def _parse_function(done: Preprocessed, chunk: _Chunk, typedefs: list[str]) -> Any:
    before = "\n".join(done.lines)[: chunk.start]
    blank = re.sub(r"[^\n]", " ", before)
    body = _DROPPED.sub(lambda match: " " * len(match[0]), chunk.text)
    parser = c_parser.CParser()
    try:
        tree = parser.parse(f'{_prelude(body, typedefs)}\n# 1 "C"\n{blank}{body}', "C")
    except c_parser.ParseError as error:
        if (found := re.search(r"\b(?:_C|c)omplex\b", body)) is not None:
            problem, cure = "complex numbers are not read", "write real and imaginary parts as arrays of their own"
            line = before.count("\n") + body.count("\n", 0, found.start()) + 1
            raise InputError(problem, place=f"line {line}", value=found[0], cure=cure) from None
        raise _syntax_error(_placed(str(error), parser), done) from None
    except RecursionError:
        raise InputError("is nested too deeply", allowed="a few hundred levels") from None
    for item in reversed(tree.ext):
        if isinstance(item, c_ast.FuncDef):
            _refuse_untyped(item, done)
            return item
    raise InputError("has no function definition", place=f"line {chunk.first + 1}", cure=_CURE_MISSING)


def _refuse_untyped(definition: Any, done: Preprocessed) -> None:
    """Refuse parameters that are names alone, whose types stand behind them if anywhere (C before 1989)."""
    listed = definition.decl.type.args
    for item in [] if listed is None else listed.params:
        if isinstance(item, c_ast.ID):
            place = f"line {item.coord.line} column {done.column(item.coord.line, item.coord.column)}"
            cure = "write its type in front of its name, between the parentheses"
            raise InputError("the parameter has no type", place=place, value=item.name, cure=cure)


def _placed(message: str, parser: Any) -> str:
    """Add the place of the next token to a message that pycparser gives without one."""
    stream = getattr(parser, "_tokens", None)
    token = None if stream is None or re.match(r"C:\d", message) else stream.peek()
    return message if token is None else f"C:{token.lineno}:{token.column}: before: {token.value}"


_CURE_SYNTAX = "look for a missing semicolon, operator, quote or bracket at this place or just before"


def _syntax_error(message: str, done: Preprocessed) -> InputError:
    place = re.match(r"C:(\d+):(\d+):\s*(.*)", message)
    if place is None:
        told = message.removeprefix("C:").strip().lower()
        return InputError(f"is not C: {told}", place="the function's end", cure=_CURE_SYNTAX)
    line, column = int(place[1]), done.column(int(place[1]), int(place[2]))
    found = done.lines[line - 1].strip() if 1 <= line <= len(done.lines) else ""
    where = f"line {line} column {column}"
    return InputError(f"is not C: syntax error {place[3]}", place=where, value=found, cure=_CURE_SYNTAX)


def _region(body: Any, declarations: dict[str, Any], function: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the statements between the pragmas, and the initial values of locals declared before."""
    constants: dict[str, Any] = {}
    found = _search(body, declarations, constants)
    if found is None:
        raise InputError(f"'#pragma scop' in {function} is not in front of a statement", cure=_CURE_MISSING)
    return (*_used_in(body, found), *found), constants


def _used_in(body: Any, region: Sequence[Any]) -> list[Any]:
    """Return the declarations before a region of numbers that nothing else of the function names."""
    inside, outside = {id(node) for node in nodes(region)}, _names_outside(body, region)
    declared = [node for node in nodes([body]) if isinstance(node, c_ast.Decl) and id(node) not in inside]
    used = assigned(region) - outside - {node.name for node in nodes(region) if isinstance(node, c_ast.Decl)}
    return [
        item
        for item in declared
        if item.name in used
        and item.init is None
        and isinstance(item.type, c_ast.TypeDecl)
        and _REAL & {*words_of(item)}
    ]


def _names_outside(body: Any, region: Sequence[Any]) -> set[str]:
    """Return what statements of a function outside of its region name."""
    inside = {id(node) for node in nodes(region)}
    return {node.name for node in nodes([body]) if isinstance(node, c_ast.ID) and id(node) not in inside}


def _whole(body: Any, _declarations: dict[str, Any], function: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return all statements of a function without pragmas; those behind a return, where it does not return."""
    items = without_rest(body.block_items or [], c_ast.Return)
    if not items:
        raise InputError(f"the function {function} is empty", place=f"line {body.coord.line}", cure=_CURE_MISSING)
    return tuple(items), {}


def _search(block: Any, declarations: dict[str, Any], constants: dict[str, Any]) -> tuple[Any, ...] | None:
    items = list(block.block_items or [])
    for at, item in enumerate(items):
        if isinstance(item, c_ast.Decl) and item.name:
            declarations[item.name] = item.type
            if item.init is not None:
                constants[item.name] = item.init
        if isinstance(item, c_ast.Pragma) and item.string == "scop":
            return _between(items[at:])
        for _, child in item.children() if not isinstance(item, c_ast.Decl) else ():
            if isinstance(child, c_ast.Compound):
                inner = _search(child, declarations, constants)
                if inner is not None:
                    return inner
        if isinstance(item, c_ast.Compound):
            inner = _search(item, declarations, constants)
            if inner is not None:
                return inner
    return None


def _between(items: list[Any]) -> tuple[Any, ...]:
    end = next(
        (at for at, item in enumerate(items) if isinstance(item, c_ast.Pragma) and item.string == "endscop"), None
    )
    line = items[0].coord.line
    if end is None:
        raise InputError(
            "'#pragma scop' is never closed",
            place=f"line {line}",
            cure="put '#pragma endscop' after the loop nest, in the same block",
        )
    if any(isinstance(item, c_ast.Pragma) and item.string == "scop" for item in items[1:]):
        raise InputError(
            "a function has several '#pragma scop'",
            place=f"line {line}",
            cure="keep one region per function: join them, or move one into a function of its own",
        )
    body = tuple(items[1:end])
    if not body:
        cure = "put the loop nest between the pragmas"
        raise InputError("the region is empty", place=f"line {line}", allowed="loops and assignments", cure=cure)
    return body
