"""Rewritings of the syntax tree of a C kernel: other loops, other statements, more of them, for one computation.

Each keeps the order of what is computed, or is tried and kept only where ``results`` says that every value is computed
from the same ones as before.
"""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from pycparser import c_ast, c_generator
from tests.reference.affine_interpreter import Interpreter
from tests.reference.affine_transformations import _joined, _parts

from shorthaul.affine.frontend.parser import Region, parse

TILE = 2


def _region(text: str) -> Region:
    region = parse(text)
    return Region(
        region.function, tuple(copy.deepcopy(region.body)), region.declarations, region.constants, region.text
    )


def _written(text: str, body: list[Any], more: Sequence[str] = ()) -> str:
    name, parameters, _ = _parts(text)
    head = "".join(line for line in text.splitlines(keepends=True) if line.startswith("#define"))
    listed = "\n".join(
        _C.visit(item) + ("" if isinstance(item, c_ast.For | c_ast.If | c_ast.Compound) else ";") for item in body
    )
    return head + _joined(name, [*parameters, *more], listed)


_C = c_generator.CGenerator()


def c(node: Any) -> str:
    return _C.visit(node)


# -- what is computed


def results(text: str, sizes: dict[str, int]) -> Counter[int]:
    """Return how often every value is computed: what it is computed from, down to the inputs."""
    region = _region(text)
    sizes = {**sizes, "TS": TILE}
    data = {name for name, kind in region.declarations.items() if name not in sizes}
    data |= {item.name for item in _nodes(list(region.body), c_ast.Decl) if "double" in c(item) or "float" in c(item)}
    data -= {item.name for item in _nodes(list(region.body), c_ast.Decl) if c(item).startswith("int ")}
    done = Interpreter(region, sizes, data).run()
    known: dict[Any, int] = {}
    for instance in done.instances:
        known[instance] = hash(tuple(sorted(known.get(item, hash(item)) for item in done.reads[instance])))
    return Counter(known.values())


def _nodes(items: list[Any], kind: type) -> list[Any]:
    found = []
    for item in items:
        found += [item] if isinstance(item, kind) else []
        found += _nodes([child for _, child in item.children()], kind)
    return found


def _replaced(node: Any, name: str, by: str) -> Any:
    """Replace an identifier by an expression."""
    if isinstance(node, c_ast.ID):  # its text is an expression where a loop further in was changed before
        text = re.sub(rf"\b{name}\b", by, node.name)
        return node if text == node.name else c_ast.ID(text)
    for where, child in node.children():
        made = _replaced(child, name, by)
        if made is not child:
            _put(node, where, made)
    return node


def _put(node: Any, where: str, made: Any) -> None:
    if "[" in where:
        attribute, at = where[:-1].split("[")
        getattr(node, attribute)[int(at)] = made
    else:
        setattr(node, where, made)


def _each(items: list[Any], change: Callable[[Any], Any]) -> list[Any]:
    """Return the statements changed, inner ones first."""
    for item in items:
        if isinstance(item, c_ast.For):
            item.stmt = _one(_each([item.stmt], change))
        elif isinstance(item, c_ast.If):
            item.iftrue = _one(_each([item.iftrue], change))
            if item.iffalse is not None:
                item.iffalse = _one(_each([item.iffalse], change))
        elif isinstance(item, c_ast.Compound):
            item.block_items = _each(item.block_items or [], change)
    return [change(item) for item in items]


def _one(items: list[Any]) -> Any:
    return items[0] if len(items) == 1 else c_ast.Compound(items)


# -- loops


def _plain(loop: Any) -> tuple[str, str, str, str] | None:
    """Return (iterator, start, comparison, end) of a loop that counts up by one."""
    if not isinstance(loop, c_ast.For) or not isinstance(loop.next, c_ast.UnaryOp) or "++" not in loop.next.op:
        return None
    if not isinstance(loop.cond, c_ast.BinaryOp) or loop.cond.op not in {"<", "<="}:
        return None
    first = loop.init.decls[0] if isinstance(loop.init, c_ast.DeclList) else None
    return None if first is None else (first.name, c(first.init), loop.cond.op, c(loop.cond.right))


def _loop(header: str, body: Any) -> Any:
    made = parse(f"void f(void) {{\n#pragma scop\nfor ({header}) ;\n#pragma endscop\n}}").body[0]
    made.stmt = body
    return made


def _inside(loop: Any) -> Any:
    body = loop.stmt
    while isinstance(body, c_ast.Compound) and len(body.block_items or []) == 1:
        body = body.block_items[0]
    return body


def _uses(text: str, name: str) -> bool:
    return re.search(rf"\b{name}\b", text) is not None


def _exchanged(loop: Any, inner: Any) -> None:
    for part in ("init", "cond", "next"):
        mine, its = getattr(loop, part), getattr(inner, part)
        setattr(loop, part, its)
        setattr(inner, part, mine)


def _tried(text: str, sizes: dict[str, int], *, tiles: bool = False) -> str:
    """Exchange every loop and the only one inside of it, where what is computed stays the same.

    With ``tiles``, only those over tiles with those inside of tiles.
    """
    wanted = results(text, sizes)
    for at in range(len(_nodes(list(_region(text).body), c_ast.For))):
        region = _region(text)
        loop = _nodes(list(region.body), c_ast.For)[at]
        inner = _inside(loop)
        if not all(isinstance(item, c_ast.For) and isinstance(item.init, c_ast.DeclList) for item in (loop, inner)):
            continue
        names = [item.init.decls[0].name for item in (loop, inner)]
        if _uses(c(inner.init) + c(inner.cond), names[0]):
            continue
        if tiles and [name.endswith("_0") for name in names] != [False, True]:
            continue
        _exchanged(loop, inner)
        made = _written(text, list(region.body))
        if results(made, sizes) == wanted:
            text = made
    return text


def interchanged(text: str, sizes: dict[str, int]) -> str:
    """Return the kernel with loops interchanged where nothing but a loop is inside of a loop."""
    return _tried(text, sizes)


def skewed(text: str) -> str:
    """Return the kernel in which every loop inside of another counts from its place in that."""
    region = _region(text)

    def walk(node: Any, outer: str | None) -> None:
        if isinstance(node, c_ast.For):
            header = _plain(node)
            if header is not None:
                name, start, comparison, end = header
                if outer is not None:
                    body = _replaced(node.stmt, name, f"({name} - {outer})")
                    new = _loop(
                        f"int {name} = {start} + {outer}; {name} {comparison} ({end}) + {outer}; {name}++", body
                    )
                    node.init, node.cond, node.next, node.stmt = new.init, new.cond, new.next, new.stmt
                outer = name
        for _, child in node.children():
            walk(child, outer)

    for item in region.body:
        walk(item, None)
    return _written(text, list(region.body))


def tiled(text: str, sizes: dict[str, int], *, macro: bool = False) -> str:
    """Return the kernel in tiles, loops over tiles outside where what is computed stays the same."""
    size = "TS" if macro else str(TILE)
    region = _region(text)

    def strips(item: Any) -> Any:
        header = _plain(item)
        if header is None:
            return item
        name, start, comparison, end = header
        limit = f"min({name}_0 + {size}, {end}{' + 1' if comparison == '<=' else ''})"
        inner = _loop(f"int {name} = {name}_0; {name} < {limit}; {name}++", item.stmt)
        return _loop(f"int {name}_0 = {start}; {name}_0 {comparison} {end}; {name}_0 += {size}", inner)

    made = _written(text, _each(list(region.body), strips))
    made = f"#define TS {TILE}\n{made}" if macro else made
    while True:
        before = made
        made = _tried(made, sizes, tiles=True)
        if made == before:
            return made


# -- statements


def _has_data(node: Any) -> bool:
    return bool(_nodes([node], c_ast.ArrayRef))


def split(text: str) -> str:
    """Return the kernel in which a part of every assignment is computed first, in a variable read once."""
    region = _region(text)
    names: list[str] = []

    def part(node: Any) -> tuple[Any, str] | None:
        """Return the place of the first operation with two operands in memory, or for sums that of its term."""
        for where, child in node.children():
            if isinstance(child, c_ast.BinaryOp) and _has_data(child.left) and _has_data(child.right):
                deeper = part(child)
                return deeper or (node, where)
            if isinstance(child, c_ast.BinaryOp | c_ast.UnaryOp | c_ast.Cast):
                found = part(child)
                if found:
                    return found
        return None

    def through(item: Any) -> Any:
        if not isinstance(item, c_ast.Assignment) or isinstance(
            item.rvalue, c_ast.ID | c_ast.Constant | c_ast.ArrayRef
        ):
            return item
        found = part(item)
        if found is None or (found[0] is item and item.op == "="):
            return item
        names.append(f"part{len(names)}")
        node, where = found
        value = dict(node.children())[where]
        _put(node, where, c_ast.ID(names[-1]))
        return c_ast.Compound([c_ast.Assignment("=", c_ast.ID(names[-1]), value), item])

    body = _each(list(region.body), through)
    return _written(text, body, [f"double {name}" for name in names])


def with_a_dead_statement(text: str) -> str:
    """Return the kernel in which every assignment is followed by one whose value nobody reads."""
    region = _region(text)
    names: list[str] = []

    def followed(item: Any) -> Any:
        if not isinstance(item, c_ast.Assignment) or not _has_data(item.lvalue):
            return item
        names.append(f"unread{len(names)}")
        twice = c_ast.BinaryOp("*", copy.deepcopy(item.lvalue), c_ast.Constant("double", "2.0"))
        return c_ast.Compound([item, c_ast.Assignment("=", c_ast.ID(names[-1]), twice)])

    return _written(text, _each(list(region.body), followed), [f"double {name}" for name in names])


def beside_itself(text: str) -> str:
    """Return the kernel behind another one of the same kind on data of its own."""
    name, parameters, body = _parts(text)
    words = {re.search(r"(\w+)(\[|$)", item)[1] for item in parameters if not re.fullmatch(r"int \w+", item)}  # type: ignore[index]
    words |= {item.name for item in _nodes(list(_region(text).body), c_ast.Decl) if not c(item).startswith("int ")}
    pattern = re.compile(rf"\b({'|'.join(sorted(words))})\b")
    other = [pattern.sub(r"\1_2", item) for item in parameters if pattern.search(item)]
    return _joined(name, [*parameters, *other], body + pattern.sub(r"\1_2", body))


def rewritten(text: str, how: str, sizes: dict[str, int]) -> str:
    """Return the kernel rewritten; what is computed is compared at ``sizes`` where that is needed."""
    return TRIED[how](text, sizes) if how in TRIED else ALWAYS[how](text)


#: What keeps the order, by name; and what is tried loop by loop.
ALWAYS = {
    "skewed": skewed,
    "split": split,
    "with a dead statement": with_a_dead_statement,
    "beside itself": beside_itself,
}
TRIED = {"interchanged": interchanged, "tiled": tiled, "tiled by a macro": partial(tiled, macro=True)}


# -- loops that run in other ways


def _changed(text: str, make: Callable[[Any, str, str, str], Any], *, inner: bool) -> str:
    """Return the kernel with all loops that count up by one made anew, with ``inner`` only those without loops inside.

    ``make`` gets the loop, its iterator, its start and the end before which it stops.
    """
    region = _region(text)

    def change(item: Any) -> Any:
        header = _plain(item)
        if header is None or (inner and _nodes([item.stmt], c_ast.For)):
            return item
        name, start, comparison, end = header
        return make(item, name, f"({start})", f"({end}{' + 1' if comparison == '<=' else ''})")

    return _written(text, _each(list(region.body), change))


def _if(condition: str, body: Any) -> Any:
    made = parse(f"void f(void) {{\n#pragma scop\nif ({condition}) {{ ; }}\n#pragma endscop\n}}").body[0]
    made.iftrue = c_ast.Compound([body])
    return made


def unrolled(text: str, *, inner: bool = False) -> str:
    """Return the kernel with two iterations of every loop in one."""

    def make(loop: Any, name: str, start: str, end: str) -> Any:
        second = _if(f"{name} + 1 < {end}", _replaced(copy.deepcopy(loop.stmt), name, f"({name} + 1)"))
        return _loop(f"int {name} = {start}; {name} < {end}; {name} += 2", c_ast.Compound([loop.stmt, second]))

    return _changed(text, make, inner=inner)


def halved(text: str, *, inner: bool = False) -> str:
    """Return the kernel with every loop as two, one after the other."""

    def make(loop: Any, name: str, start: str, end: str) -> Any:
        header = f"int {name} = {start}; {name} < {end}; {name}++"
        middle = f"2 * {name} < {start} + {end}"
        halves = [_if(middle, loop.stmt), _if(f"!({middle})", copy.deepcopy(loop.stmt))]
        return c_ast.Compound([_loop(header, half) for half in halves])

    return _changed(text, make, inner=inner)


def reflected(text: str, *, inner: bool = False) -> str:
    """Return the kernel with every loop counting down to what it was."""

    def make(loop: Any, name: str, start: str, end: str) -> Any:
        body = _replaced(loop.stmt, name, f"({start} + {end} - 1 - {name})")
        return _loop(f"int {name} = {end} - 1; {name} >= {start}; {name}--", body)

    return _changed(text, make, inner=inner)


def peeled(text: str, *, inner: bool = False) -> str:
    """Return the kernel with the first iteration of every loop before it."""

    def make(loop: Any, name: str, start: str, end: str) -> Any:
        first = _if(f"{start} < {end}", _replaced(copy.deepcopy(loop.stmt), name, start))
        return c_ast.Compound([first, _loop(f"int {name} = {start} + 1; {name} < {end}; {name}++", loop.stmt)])

    return _changed(text, make, inner=inner)


#: Loops that run in other ways, by name.
LOOPS = {item.__name__: item for item in (unrolled, halved, reflected, peeled)}
