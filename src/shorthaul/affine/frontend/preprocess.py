"""The C preprocessor, as far as loop kernels use it: comments, macros, conditionals, headers beside the file.

A macro whose value is one integer (``#define N 1000``) is not expanded in the program text: it becomes a parameter of
the analysis, with its value as default. Missing headers are skipped, PolyBench's own macros are built in, so that
PolyBench/C files are read unchanged without PolyBench being there.

The preprocessor is our own: pcpp 1.30 expands every macro, so that no size would stay a parameter, and has no limit on
what it expands (``benchmarks/parsers.py``: 25 macros that double one another did not end in 20 s).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

from shorthaul.affine.frontend.constants import constant_value
from shorthaul.core.document import read_bytes
from shorthaul.core.errors import InputError

_TOKEN = re.compile(
    r"""(?P<name>[A-Za-z_]\w*)|(?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)|(?P<string>"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)
    |(?P<operator>\.\.\.|<<=|>>=|->|\+\+|--|&&|\|\||<<|>>|[-+*/%<>=!&|^]=|\#\#|[^ \t\r\f\v\n])""",
    re.VERBOSE,
)
#: A text that is not closed ends with its line, as compilers have it, so that no place is looked at twice.
_COMMENT_OR_TEXT = re.compile(r"""/\*|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?""")
_COMMENT = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?""", re.DOTALL)
#: Brackets one behind the other, as in ``A[i][j]``: pycparser takes the square of their number.
_MOST_BRACKETS = 64
#: Macros expanded, and tokens put in their place, in one file.
_MOST_EXPANSIONS, _MOST_EXPANDED_TOKENS = 100_000, 1_000_000

#: What PolyBench's headers define, for files that are read without them.
_BUILT_IN = """
#define DATA_TYPE double
#define SCALAR_VAL(x) x
#define SQRT_FUN(x) sqrt(x)
#define EXP_FUN(x) exp(x)
#define POW_FUN(x,y) pow(x,y)
#define POLYBENCH_LOOP_BOUND(x,y) x
#define POLYBENCH_1D(var,d1,p1) var[d1]
#define POLYBENCH_2D(var,d1,d2,p1,p2) var[d1][d2]
#define POLYBENCH_3D(var,d1,d2,d3,p1,p2,p3) var[d1][d2][d3]
#define POLYBENCH_4D(var,d1,d2,d3,d4,p1,p2,p3,p4) var[d1][d2][d3][d4]
#define POLYBENCH_5D(var,d1,d2,d3,d4,d5,p1,p2,p3,p4,p5) var[d1][d2][d3][d4][d5]
#define POLYBENCH_DECL_VAR(x) x
"""
#: Constants of float.h, limits.h and math.h.
_NUMBERS = {
    "DBL_MAX": "1.7976931348623157e308",
    "DBL_MIN": "2.2250738585072014e-308",
    "DBL_EPSILON": "2.220446049250313e-16",
    "FLT_MAX": "3.40282347e38F",
    "FLT_MIN": "1.17549435e-38F",
    "FLT_EPSILON": "1.1920929e-7F",
    "INT_MAX": "2147483647",
    "INT_MIN": "(-2147483647 - 1)",
    "UINT_MAX": "4294967295U",
    "LONG_MAX": "9223372036854775807L",
    "LONG_MIN": "(-9223372036854775807L - 1)",
    "M_PI": "3.14159265358979323846",
    "M_PI_2": "1.57079632679489661923",
    "M_PI_4": "0.78539816339744830962",
    "M_1_PI": "0.31830988618379067154",
    "M_2_PI": "0.63661977236758134308",
    "M_2_SQRTPI": "1.12837916709551257390",
    "M_E": "2.7182818284590452354",
    "M_LOG2E": "1.4426950408889634074",
    "M_LOG10E": "0.43429448190325182765",
    "M_LN2": "0.69314718055994530942",
    "M_LN10": "2.30258509299404568402",
    "M_SQRT2": "1.41421356237309504880",
    "M_SQRT1_2": "0.70710678118654752440",
}


class Token(NamedTuple):
    """One token of C with the place where it, or the macro it comes from, stands in the file.

    A tuple, with which a file is split in three quarters of the time that frozen dataclasses take.
    """

    kind: str
    text: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro: ``parameters`` is None for one without parentheses; ``value`` is set if it stands for an integer."""

    body: tuple[Token, ...]
    parameters: tuple[str, ...] | None = None
    value: int | None = None


@dataclass(frozen=True)
class Preprocessed:
    """The program text after preprocessing, line by line as in the file, and the way back to the file's columns."""

    lines: tuple[str, ...]
    integers: Mapping[str, int]
    columns: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = field(repr=False)
    bounds: frozenset[str] = frozenset()  #: names X that were written _PB_X

    def column(self, line: int, column: int) -> int:
        """Return the column in the file of a place in the preprocessed text (both from 1)."""
        if not 1 <= line <= len(self.columns):
            return column
        starts, origins = self.columns[line - 1]
        found = bisect_right(starts, column) - 1
        return origins[found] if found >= 0 else column


def preprocess(text: str, *, file: Path | None = None) -> Preprocessed:
    """Return ``text`` with comments removed, conditionals decided and macros expanded.

    Raises :class:`InputError` with line and column for wrong directives and macro calls.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    state = _State(_built_in())
    state.read(text, keep=True, folder=None if file is None else file.parent)
    return state.finish(text.count("\n") + 1)


@cache
def _built_in() -> Mapping[str, Macro]:
    """Return the macros that every file begins with, read once."""
    state = _State({})
    state.read(_BUILT_IN + "".join(f"#define {name} {value}\n" for name, value in _NUMBERS.items()), keep=False)
    return state.macros


class _State:
    """Macros seen so far, and the tokens kept."""

    def __init__(self, macros: Mapping[str, Macro]) -> None:
        self.macros = dict(macros)
        self.kept: list[Token] = []
        self.bounds: set[str] = set()
        self.seen: set[Path] = set()
        self.expansions = self.expanded_tokens = 0

    def read(self, text: str, *, keep: bool, folder: Path | None = None) -> None:
        """Read one file; its tokens are kept only if it is the main file."""
        conditions: list[tuple[bool, bool]] = []  # (this branch is read, with all around it; some branch of it was)
        pending: list[Token] = []
        for line in _logical_lines(text):
            if line and line[0].text == "#" and line[0].kind == "operator":
                active = not conditions or conditions[-1][0]
                if len(line) > 1 and line[1].text == "pragma":
                    if active and keep:
                        self._keep(pending)
                        pending = []
                        self._pragma(line)
                else:
                    self._keep(pending)
                    pending = []
                    self._directive(line, conditions, active=active, folder=folder)
            elif keep and (not conditions or conditions[-1][0]):
                pending.extend(line)
        self._keep(pending)
        if conditions:
            raise InputError("has an #if without #endif", cure="close it")

    def _keep(self, tokens: list[Token]) -> None:
        if tokens:
            self.kept.extend(self.expand(tokens, frozenset()))

    def _pragma(self, words: list[Token]) -> None:
        if len(words) > 2 and words[2].text in {"scop", "endscop"}:
            # on a line of its own, however the file was broken into lines
            self.kept.append(Token("pragma", f"#pragma {words[2].text}", words[0].line, words[0].column))

    def _directive(
        self, words: list[Token], conditions: list[tuple[bool, bool]], *, active: bool, folder: Path | None
    ) -> None:
        name = words[1].text if len(words) > 1 else ""
        rest = words[2:]
        place = f"line {words[0].line} column {words[0].column}"
        if name in {"if", "ifdef", "ifndef"}:
            taken = active and self._condition(name, rest, place)
            conditions.append((taken, taken or not active))
        elif name in {"elif", "else", "endif"}:
            if not conditions:
                raise InputError(
                    f"#{name} without #if", place=place, cure="remove it, or add the #if that it belongs to"
                )
            _, was = conditions.pop()
            if name != "endif":
                taken = not was and (name == "else" or self._condition("if", rest, place))
                conditions.append((taken, was or taken))
        elif not active:
            return
        elif name == "define":
            self._define(rest, place)
        elif name == "undef" and rest:
            self.macros.pop(rest[0].text, None)
        elif name == "include" and rest and rest[0].kind == "string" and folder is not None:
            self._include(folder / rest[0].text[1:-1])
        elif name == "error":
            told = " ".join(token.text for token in rest)
            raise InputError(
                "#error is reached", place=place, value=told, cure="define the macros that the file asks for"
            )

    def _include(self, path: Path) -> None:
        """Read a header that is there for its macros; one that is missing is skipped."""
        try:
            if path in self.seen or path.stat().st_size > 2**20:
                return
            self.seen.add(path)
            text = read_bytes(path).decode(errors="replace").replace("\r", "")
        except (OSError, ValueError, InputError):
            return
        built_in = {name: macro for name, macro in self.macros.items() if name.startswith(("POLYBENCH_", "SCALAR_"))}
        self.read(text, keep=False, folder=path.parent)
        if path.name == "polybench.h":  # its own definitions serve allocation and timing
            self.macros.update(built_in)

    def _define(self, rest: list[Token], place: str) -> None:
        if not rest or rest[0].kind != "name":
            raise InputError("#define names no macro", place=place, cure="write #define NAME value")
        name, body = rest[0], rest[1:]
        parameters: tuple[str, ...] | None = None
        if body and body[0].text == "(" and body[0].column == name.column + len(name.text):
            close = next((at for at, token in enumerate(body) if token.text == ")"), None)
            if close is None:
                raise InputError(
                    "the macro's parameters are not closed", place=place, value=name.text, cure="add the missing ')'"
                )
            parameters = tuple(token.text for token in body[1:close] if token.text != ",")
            body = body[close + 1 :]
        is_size = parameters is None and name.text != "S"  # as the fast memory is called
        value = _integer(body) if is_size else None
        self.macros[name.text] = Macro(tuple(body), parameters, value)

    def _condition(self, name: str, rest: list[Token], place: str) -> bool:
        if name in {"ifdef", "ifndef"}:
            return bool(rest) and (rest[0].text in self.macros) == (name == "ifdef")
        tokens: list[Token] = []
        position = 0
        while position < len(rest):
            token = rest[position]
            if token.text == "defined":
                inner = [item for item in rest[position + 1 : position + 4] if item.kind == "name"][:1]
                known = bool(inner) and inner[0].text in self.macros
                tokens.append(Token("number", str(int(known)), token.line, token.column))
                position += 4 if position + 1 < len(rest) and rest[position + 1].text == "(" else 2
            else:
                tokens.append(token)
                position += 1
        expanded = self.expand(tokens, frozenset(), integers=True)
        text = " ".join("0" if token.kind == "name" else token.text for token in expanded)
        value = constant_value(text)
        if value is None:
            cure = "write integers, integer macros and defined(NAME)"
            raise InputError("is not a constant condition", place=place, value=text, cure=cure)
        return value != 0

    def expand(self, tokens: list[Token], hidden: frozenset[str], *, integers: bool = False) -> list[Token]:
        """Return ``tokens`` with every macro not in ``hidden`` expanded; integer macros only if asked for."""
        result: list[Token] = []
        position = 0
        while position < len(tokens):
            token = tokens[position]
            position += 1
            macro = self.macros.get(token.text) if token.kind == "name" and token.text not in hidden else None
            if macro is None:
                result.append(self._bound(token))
                continue
            if macro.parameters is None:
                if macro.value is not None and not integers:
                    result.append(token)
                    continue
                body = list(macro.body)
            else:
                arguments, position_after = _arguments(tokens, position)
                if arguments is None:
                    result.append(token)
                    continue
                position = position_after
                body = self._substitute(token, macro, arguments, hidden, integers=integers)
            self._count(token, len(body))
            placed = [Token(item.kind, item.text, token.line, token.column) for item in body]
            result.extend(self.expand(placed, hidden | {token.text}, integers=integers))
        return result

    def _count(self, token: Token, length: int) -> None:
        """Count one macro expanded; raise where they are too many, as with macros that double one another."""
        self.expansions += 1
        self.expanded_tokens += length
        if self.expansions > _MOST_EXPANSIONS or self.expanded_tokens > _MOST_EXPANDED_TOKENS:
            raise InputError(
                "a macro expands to too much",
                place=f"line {token.line} column {token.column}",
                value=token.text,
                allowed=f"{_MOST_EXPANSIONS:,} expansions, {_MOST_EXPANDED_TOKENS:,} tokens in one file",
                cure="write out what the macro stands for",
            )

    def _bound(self, token: Token) -> Token:
        """PolyBench writes a loop bound N as _PB_N."""
        if token.kind == "name" and token.text.startswith("_PB_") and len(token.text) > 4:
            self.bounds.add(token.text[4:])
            return Token("name", token.text[4:], token.line, token.column)
        return token

    def _substitute(
        self, token: Token, macro: Macro, arguments: list[list[Token]], hidden: frozenset[str], *, integers: bool
    ) -> list[Token]:
        parameters = macro.parameters or ()
        if len(arguments) != len(parameters) and not (not parameters and arguments == [[]]):
            raise InputError(
                f"the macro takes {len(parameters)} arguments, {len(arguments)} are given",
                place=f"line {token.line} column {token.column}",
                value=token.text,
                cure="give as many arguments as its #define has",
            )
        given = {
            name: self.expand(argument, hidden, integers=integers)
            for name, argument in zip(parameters, arguments, strict=False)
        }
        body: list[Token] = []
        for item in macro.body:
            body.extend(given.get(item.text, [item]) if item.kind == "name" else [item])
        return _pasted(body)

    def finish(self, lines: int) -> Preprocessed:
        """Lay the tokens out on the lines they come from."""
        _expect_few_brackets(self.kept)
        pieces: list[list[str]] = [[] for _ in range(lines)]
        lengths = [0] * lines
        starts: list[list[int]] = [[] for _ in range(lines)]
        origins: list[list[int]] = [[] for _ in range(lines)]
        for _, text, line, column in self.kept:
            row = line - 1
            gap = max(lengths[row] + (1 if lengths[row] else 0), column - 1)
            pieces[row] += [" " * (gap - lengths[row]), text]
            lengths[row] = gap + len(text)
            starts[row].append(gap + 1)
            origins[row].append(column)
        columns = tuple((tuple(first), tuple(second)) for first, second in zip(starts, origins, strict=True))
        integers = {name: macro.value for name, macro in self.macros.items() if macro.value is not None}
        texts = tuple("".join(parts) for parts in pieces)
        return Preprocessed(texts, integers, columns, frozenset(self.bounds))


def _expect_few_brackets(tokens: list[Token]) -> None:
    """Raise :class:`InputError` where too many brackets stand one behind the other."""
    runs, last = [0], ""
    for token in tokens:
        if token.text in {"[", "("}:
            runs[-1] = runs[-1] + 1 if last in {"]", ")"} else 1
            if runs[-1] > _MOST_BRACKETS:
                raise InputError(
                    "has too many brackets in a row",
                    place=f"line {token.line} column {token.column}",
                    allowed=f"at most {_MOST_BRACKETS}",
                    cure="write arrays of fewer dimensions",
                )
            runs.append(0)
        elif token.text in {"]", ")"} and len(runs) > 1:
            runs.pop()
        last = token.text


def _logical_lines(text: str) -> list[list[Token]]:
    """Return the tokens of every line, comments blanked and lines ending in a backslash joined."""
    blank: Callable[[re.Match[str]], str] = lambda match: (  # noqa: E731
        match[0] if match[0][0] in "\"'" else re.sub(r"[^\n]", " ", match[0])
    )
    text = _COMMENT.sub(blank, text)
    opened = next((match for match in _COMMENT_OR_TEXT.finditer(text) if match[0] == "/*"), None)
    if opened is not None:
        at = opened.start()
        place = f"line {text.count(chr(10), 0, at) + 1} column {at - text.rfind(chr(10), 0, at)}"
        raise InputError("the comment is never closed", place=place, value="/*", cure="add */")
    lines: list[list[Token]] = []
    current: list[Token] = []
    for number, line in enumerate(text.split("\n"), start=1):
        joined = line.endswith("\\")
        current.extend(
            Token(match.lastgroup or "", match[0], number, match.start() + 1)
            for match in _TOKEN.finditer(line[:-1] if joined else line)
        )
        if not joined:
            lines.append(current)
            current = []
    return [*lines, current] if current else lines


def _arguments(tokens: list[Token], position: int) -> tuple[list[list[Token]] | None, int]:
    """Return the arguments of the macro call that starts at ``position``, None if no parenthesis opens there."""
    if position == len(tokens) or tokens[position].text != "(":
        return None, position
    opened = tokens[position]
    depth, arguments = 1, [[]]  # type: tuple[int, list[list[Token]]]
    for at in range(position + 1, len(tokens)):
        token = tokens[at]
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(token.text, 0)
        if depth == 0:
            return arguments, at + 1
        if token.text == "," and depth == 1:
            arguments.append([])
        else:
            arguments[-1].append(token)
    place = f"line {opened.line} column {opened.column}"
    raise InputError("the parenthesis is never closed", place=place, value="(", cure="add the missing ')'")


def _pasted(body: list[Token]) -> list[Token]:
    """Return ``body`` with tokens joined at every ``##``."""
    result: list[Token] = []
    position = 0
    while position < len(body):
        token = body[position]
        if token.text == "##" and result and position + 1 < len(body):
            left, right = result.pop(), body[position + 1]
            result.append(Token("name", left.text + right.text, left.line, left.column))
            position += 2
        else:
            result.append(token)
            position += 1
    return result


def _integer(body: list[Token]) -> int | None:
    texts = [token.text for token in body if token.text not in {"(", ")"}]
    return int(texts[0]) if len(texts) == 1 and re.fullmatch(r"\d{1,18}", texts[0]) else None
