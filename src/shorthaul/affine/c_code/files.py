"""A whole C file: the program as written, the derived order beside it, and a driver that compares them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Final

import islpy as isl

from shorthaul.affine.c_code.legal import LegalOrder
from shorthaul.affine.c_code.legality import Order
from shorthaul.affine.c_code.loops import c_expressions, c_value, declaration_of, loops_text
from shorthaul.affine.c_code.parts import Nest, Part, program_nest
from shorthaul.affine.c_code.strips import Strips
from shorthaul.affine.model import Fragment, Program, Statement
from shorthaul.affine.orders.boxes.storage import Buffer
from shorthaul.affine.sizes import assumption, sizes_text
from shorthaul.core.errors import InputError

_OUT = isl.dim_type.out


@dataclass(frozen=True)
class _Data:
    """One array or scalar: its declaration, the type of one element, and the extents in C ("" where unknown).

    It is a table where elements are behind pointers to rows, as those of ``double **A`` and ``double *A[N]``.
    """

    name: str
    declaration: str
    element: str
    extents: tuple[str, ...]
    is_global: bool
    is_table: bool

    def lengths(self, integers: Sequence[str]) -> list[str]:
        """Return the extents, as far as subscripts reach where they are unknown."""
        reached = f"({', '.join(integers)})"
        return [text or f"reach_of_{self.name}_{at}{reached}" for at, text in enumerate(self.extents)]

    @property
    def is_array(self) -> bool:
        """True if it has subscripts."""
        return bool(self.extents)


def c_file(program: Program, order: LegalOrder, sizes: Mapping[str, int], remarks: Sequence[str]) -> str:
    """Return the C file of ``order`` for ``sizes``, which are its defaults; raises InputError where there is no C."""
    return _File(program, order, sizes, remarks).text()


def remarks_of(order: LegalOrder) -> list[str]:
    """Return what a reader has to know of the order."""
    result = [f"{', '.join(nest.names)}: {nest.remark}" for nest in order.nests if nest.remark]
    result += [f"{name} has room for {_room(item)}" for name, item in order.storage.buffers.items()]
    return result


def _room(buffer: Buffer) -> str:
    """Return what a buffer has room for."""
    if not buffer.depth:
        return "what unrelated statements write, each apart"
    return f"a value per iteration of {buffer.depth} loops"


#: Names of the emitted file that a program's would hide.
_OWN: Final = re.compile(r"sh_\w*|first_origin|PARALLEL|VECTOR|LINKAGE|OUTSIDE")


class _File:
    def __init__(self, program: Program, order: LegalOrder, sizes: Mapping[str, int], remarks: Sequence[str]) -> None:
        self.program, self.order, self.sizes, self.remarks = program, order, sizes, remarks
        self.code = program.code
        self.name = program.name
        for name in (*self.code.declarations, *self.code.integers):
            if _OWN.fullmatch(name):
                raise InputError("is a name of the emitted file", place="identifier", value=name, cure="rename it")
        writes = {item.write.array for item in program.statements}
        known = self.code.arguments
        self.data = [
            _data(name, text, is_global=name in writes and name not in known)
            for name, text in self.code.declarations.items()
            if name not in {*self.code.private, self.code.result.local}
        ]
        passed = [item.name for item in self.data if not item.is_global]
        self.constant = {item.name for item in self.data if len(item.extents) == 1} & self.code.constant - writes
        self.arguments = [*known, *(name for name in (*self.code.integers, *passed) if name not in known)]

    def text(self) -> str:
        """Return the whole file."""
        signature = ", ".join(self._declared(name) for name in self.arguments) or "void"
        template = resources.files("shorthaul.affine.c_code").joinpath("data", "driver.c").read_text(encoding="utf-8")
        parts = {
            "HEAD": self._head(),
            "SIZES": self._sizes(),
            "GLOBALS": "\n".join([*self.code.tables, *(f"OUTSIDE {item.declaration};" for item in self._outside())]),
            "NAME": self.name,
            "RESULT": self.code.result.kind,
            "RETURN": f"  return {self.code.result.value};" if self.code.result.value else "",
            "SIGNATURE": signature,
            "TILED": ", ".join(self._signed(name) for name in self.arguments) or "void",
            "UNUSED": "\n".join(f"  (void){name};" for name in self.arguments),
            "LOCALS": "\n".join(f"  {item}" for item in self.code.locals),
            "BODY": self.code.body,
            "PRIVATE": "\n".join(f"  {declaration_of(name, self.code.declarations[name])}" for name in self._private()),
            "STATEMENTS": self._statements(),
            "BUFFERS": self._buffers(),
            "LOOPS": "\n".join(
                f"  /* {', '.join(nest.names)} */\n{self._loops(nest, found)}"
                for nest, found in zip(self.order.nests, self.order.orders, strict=True)
            ),
            "AFTER": self._after(),
            "UNDEFINED": "\n".join(f"#undef {item.name}" for item in self.program.statements),
            "REACH": self._reaches(),
            "DRIVER": self._driver(),
        }
        return re.sub(r"@(\w+)@", lambda match: parts[match[1]], template)

    # -- the parts

    def _head(self) -> str:
        lines = [f"The order that shorthaul derived for {self.name}, beside the program as written."]
        others = f"any other sizes with {wanted}" if (wanted := assumption(self.program)) else "any other sizes"
        lines.append(f"Tiles are for {sizes_text(self.sizes)}; {others} are legal.")
        lines += list(self.remarks)
        if names := ", ".join(item.name for item in self._outside()):
            lines.append(f"{self.name}_tiled alone reads and sets variables of your program, by these names: {names}.")
        if names := ", ".join(self.code.missing):
            lines.append(f"{self.name}_tiled has no argument of these names, as others stand for them: {names}.")
        return "\n".join(f" * {item}".replace("*/", "* /") for item in lines)

    def _outside(self) -> list[_Data]:
        """Return the scalars that the region sets and others may have set before, or may read after."""
        return [item for item in self.data if item.is_global and not item.is_array]

    def _sizes(self) -> str:
        defaults = [(name, self.sizes[name]) for name in self.program.parameters if name not in self.code.integers]
        defaults += [(_size_of(name), self.sizes.get(name, max(self.sizes.values()))) for name in self.code.integers]
        known = {name for name, _ in defaults}
        fixed = [f"#define {name} {value}" for name, value in self.code.macros.items() if name not in known]
        tiles = [item for nest in self.order.nests for item in nest.tiles.items()]
        free = [f"#ifndef {name}\n#define {name} {value}\n#endif" for name, value in (*defaults, *tiles)]
        return "\n".join([*fixed, *free])

    def _private(self) -> list[str]:
        """Return the local data that loops do not declare: values go from one nest, or from one block, to another."""
        used = {
            item.array
            for nest, order in zip(self.order.nests, self.order.orders, strict=True)
            for statement in map(self.program.by_name.__getitem__, nest.names)
            for item in (*statement.reads, statement.write)
            if order is None or item.array not in order.local
        }
        kept = [self.code.result.local] if self.code.result.local else []
        return kept + sorted(used.intersection(self.code.private) - self.order.storage.buffers.keys())

    def _declared(self, name: str) -> str:
        return {**self.code.declarations, **self.code.unused, **self.code.integers}[name]

    def _signed(self, name: str) -> str:
        """Return the declaration for loops that begin below 0, of arrays that share no memory."""
        text = f"{'const ' if name in self.constant else ''}{_distinct(self._declared(name), name)}"
        return f"long {name}" if name in self.code.integers and re.search(r"unsigned|_t\b|uint", text) else text

    def _statements(self) -> str:
        return "\n".join(
            f"#define {item.name}({', '.join(item.iterators)}) {self._assignment(item)}"
            for item in self.program.statements
        )

    def _assignment(self, statement: Statement) -> str:
        if not statement.code:
            raise InputError("the program has no C text", cure="read it from a C file")
        target, sign, *value = statement.code
        tags = {item.tag: item for item in (*statement.reads, statement.write)}
        buffers = self.order.storage.buffers

        def shown(item: Fragment) -> str:
            if item.tag is None or tags[item.tag].array not in buffers:
                return item.text
            return self._in_buffer(buffers[tags[item.tag].array], item, statement)

        right = "".join(shown(item) for item in value)
        operator = sign.text.strip()
        if operator != "=" and statement.write.array in buffers:
            assert target.read is not None
            right = f"{shown(Fragment(target.text, target.read))} {operator[:-1]} ({right})"
            operator = "="
        text = f"{shown(target)} {operator} {right}"
        for name, values in statement.implied:
            found = c_expressions(values, statement.iterators)[0]
            text = re.sub(rf"\({re.escape(name)}\)", f"({found})", text)
        return text

    def _in_buffer(self, buffer: Buffer, item: Fragment, statement: Statement) -> str:
        assert item.tag is not None
        found = c_expressions(buffer.subscripts[item.tag], statement.iterators)
        names = "|".join(map(re.escape, statement.iterators))
        if names:
            found = [re.sub(rf"\b({names})\b", r"(\1)", text) for text in found]
        extra = "".join(f"[({text}) - ({least})]" for text, (least, _) in zip(found, _extents(buffer), strict=True))
        array = buffer.array
        return f"{array}_values{extra}{item.text[len(array) :]}"

    def _buffers(self) -> str:
        lines = []
        for name, buffer in self.order.storage.buffers.items():
            item = _data(name, self.code.declarations[name], is_global=False)
            extents = [*(count for _, count in _extents(buffer)), *item.extents]
            inner = "".join(f"[{text if text.isdigit() else f'max(1, {text})'}]" for text in extents[1:])
            pointer = f"(*restrict {name}_values)" if inner else f"*restrict {name}_values"
            lines.append(f"  {item.element} {pointer}{inner} = sh_room(({extents[0]}), sizeof *{name}_values);")
        return "\n".join(lines)

    def _after(self) -> str:
        """Return the copies of last values into arrays that outlive the function, and the end of the buffers."""
        lines, copies = [], self.order.copies
        for name, buffer in self.order.storage.buffers.items():
            if name in copies:
                lines.append(self._copied(buffer, copies[name]))
            lines.append(f"  free({name}_values);")
        return "\n".join(lines)

    def _copied(self, buffer: Buffer, moved: isl.Map) -> str:
        width = moved.dim(isl.dim_type.in_)
        elements = moved.reset_tuple_id(isl.dim_type.in_).wrap().flatten().set_tuple_name("COPY")
        part = Part("COPY", "COPY", elements.identity().reset_tuple_id(_OUT), elements.identity(), {})
        names = [f"e{at}" for at in range(width)]
        extra = [f"x{at}" for at in range(buffer.width)]
        place = "".join(f"[{name}]" for name in names)
        where = "".join(f"[({name}) - ({least})]" for name, (least, _) in zip(extra, _extents(buffer), strict=True))
        text = loops_text(Nest(("COPY",), (part,)), self.program, None)
        made = f"{buffer.array}{place} = {buffer.array}_values{where}{place}"
        return f"#define COPY({', '.join([*names, *extra])}) {made}\n{text}\n#undef COPY"

    def _loops(self, nest: Nest, order: Order | None) -> str:
        strips = (
            None if order is None else Strips(self.program, self.order.conflicts, nest.tiles, self.sizes, order.local)
        )
        return loops_text(nest, self.program, order, strips)

    def _reaches(self) -> str:
        """Return functions that tell how far subscripts reach where arrays have no extent."""
        unknown = [(item, at) for item in self.data for at, text in enumerate(item.extents) if not text]
        return "\n".join(self._reach(item, at) for item, at in unknown)

    def _reach(self, item: _Data, axis: int) -> str:
        given = ", ".join(self._signed(name) for name in self.code.integers) or "void"
        lines = [f"static long reach_of_{item.name}_{axis}({given}) {{"]
        lines += [f"  (void){name};" for name in self.code.integers]
        lines.append("  long reach = 0;")
        used = []
        for statement in self.program.statements:
            found = [_subscripts(text)[axis] for text in _accesses(statement, item.name)]
            if found:
                used.append(statement.name)
                calls = " ".join(f"reach = max(reach, (long)({text}) + 1);" for text in found)
                for name, values in statement.implied:
                    calls = re.sub(
                        rf"\({re.escape(name)}\)", f"({c_expressions(values, statement.iterators)[0]})", calls
                    )
                lines.insert(0, f"#define {statement.name}({', '.join(statement.iterators)}) {calls}")
        lines.append(loops_text(program_nest(self.program, used), self.program, None))
        return "\n".join([*lines, "  return reach;", "}", *(f"#undef {name}" for name in used)])

    # -- the driver

    def _driver(self) -> str:
        lines = [f"  const {self.code.integers[name]} = {_size_of(name)};" for name in self.code.integers]
        lines += [f"  (void){name};" for name in self.code.integers]
        arrays = [item for item in self.data if item.is_array]
        scalars = [item for item in self.data if not item.is_array]
        for number, item in enumerate(arrays):
            lengths = item.lengths([*self.code.integers])
            for at, text in enumerate(lengths):
                lines.append(f"  const long sh_length_{item.name}_{at} = {text};")
            names = [f"sh_length_{item.name}_{at}" for at in range(len(lengths))]
            lines.append(f"  const long sh_size_{item.name} = {' * '.join(names)};")
            for kind in ("", "sh_first_"):
                lines.append(
                    f"  {item.element} *{kind}{item.name} = sh_room(sh_size_{item.name}, sizeof *{kind}{item.name});"
                )
            square = "0"
            if len(names) > 1 and item.extents[-1] == item.extents[-2]:
                square = f"({names[-1]} == {names[-2]} ? {names[-1]} : 0)"
            drawn = (
                f"sh_value(sh_at, {square}, {number})" if item.element in _REAL else f"(sh_mixed(sh_at, {number}) & 3)"
            )
            for kind in ("", "first_") if item.is_table else ():
                given = f"sh_lengths_{item.name}, {len(names)}, sizeof *{item.name}"
                data = f"sh_{kind}{item.name}" if kind else item.name
                if not kind:
                    lines.append(f"  const long sh_lengths_{item.name}[] = {{{', '.join(names)}}};")
                lines.append(f"  void **sh_{kind}rows_{item.name} = sh_rows({data}, {given});")
            each = f"for (long sh_at = 0; sh_at < sh_size_{item.name}; sh_at++)"
            lines.append(f"  {each} {item.name}[sh_at] = ({item.element}){drawn};")
            lines.append(
                f"  memcpy(sh_first_{item.name}, {item.name}, (size_t)sh_size_{item.name} * sizeof *{item.name});"
            )
        for item in scalars:
            target = item.name if item.is_global else f"{item.declaration}"
            lines.append(f"  {target} = ({item.element})0.25;")

        for name, text in self.code.unused.items():  # volatile: compilers would warn of an array that is none
            is_array = re.search(r"[*\[]", text) is not None
            lines.append(f"  {'void *' if is_array else 'const int '}volatile sh_unused_{name} = 0;")

        def call(kind: str, prefix: str) -> str:
            passed = {name: f"sh_unused_{name}" for name in self.code.unused}
            passed |= {item.name: f"(void *){prefix}{item.name}" for item in arrays}
            passed |= {item.name: f"(void *){prefix or 'sh_'}rows_{item.name}" for item in arrays if item.is_table}
            return f"{self.name}_{kind}({', '.join(passed.get(name, name) for name in self.arguments)})"

        kept = "" if self.code.result.kind == "void" else f"const {self.code.result.kind} "
        first, second = (kept and f"{kept}{name} = " for name in ("sh_first_sh_returned", "sh_returned"))
        lines += [
            "  double sh_start = sh_seconds();",
            f"  {first}{call('original', 'sh_first_')};",
            "  const double sh_original = sh_seconds() - sh_start;",
        ]
        for item in self._outside():
            lines += [
                f"  const {item.element} sh_first_{item.name} = {item.name};",
                f"  {item.name} = ({item.element})0.25;",
            ]
        lines += [
            "  sh_start = sh_seconds();",
            f"  {second}{call('tiled', '')};",
            "  const double sh_tiled = sh_seconds() - sh_start;",
        ]
        lines += [f"  COMPARE({item.name}, sh_size_{item.name});" for item in arrays]
        names = [item.name for item in self._outside()] + (["sh_returned"] if kept else [])
        lines += [f"  COMPARE_SCALAR({name});" for name in names]
        lines += [f"  free({item.name});\n  free(sh_first_{item.name});" for item in arrays]
        tables = [item.name for item in arrays if item.is_table]
        lines += [f"  free(sh_rows_{name});\n  free(sh_first_rows_{name});" for name in tables]
        return "\n".join(lines)


def _extents(buffer: Buffer) -> list[tuple[str, str]]:
    """Return (least value, number of values) of the further subscripts, as C."""
    result = []
    for at in range(buffer.width):
        least, most = (c_value(end) for end in (buffer.elements.dim_min(at), buffer.elements.dim_max(at)))
        result.append((least, f"({most}) - ({least}) + 1"))
    return result


def _distinct(declaration: str, name: str) -> str:
    """Return the declaration of an array that shares no memory with others: all arrays of a program are such."""
    array = re.sub(rf"\b{re.escape(name)}\[", f"{name}[restrict ", declaration, count=1)
    return re.sub(rf"\* *{re.escape(name)}\b", f"*restrict {name}", array, count=1)


_REAL = ("float", "double", "long double")


def _size_of(name: str) -> str:
    return f"SIZE_{name}"


def _data(name: str, declaration: str, *, is_global: bool) -> _Data:
    """Take a declaration apart: "double (*A)[N]" has the extents "", "N", "double *A[N]" the extents "N", ""."""
    before, after = re.split(rf"\b{re.escape(name)}\b", declaration, maxsplit=1)
    pointers = ("",) * before.count("*")
    element = before.replace("*", "").replace("(", "").strip()
    given = tuple(re.findall(r"\[([^\]]*)\]", after))
    is_table = "(" not in before and len(pointers) + len(given) > max(1, len(given))
    extents = (*given, *pointers) if is_table else (*pointers, *given)
    return _Data(name, declaration, element, extents, is_global and not extents, is_table)


def _accesses(statement: Statement, array: str) -> list[str]:
    tags = {item.tag for item in (*statement.reads, statement.write) if item.array == array}
    return list(dict.fromkeys(item.text for item in statement.code if item.tag in tags))


def _subscripts(text: str) -> list[str]:
    """Return what stands between the outer brackets."""
    found, depth = [""], 0
    for sign in text[text.index("[") :]:
        depth -= sign == "]"
        if depth:
            found[-1] += sign
        elif sign == "]":
            found.append("")
        depth += sign == "["
    return found[:-1]
