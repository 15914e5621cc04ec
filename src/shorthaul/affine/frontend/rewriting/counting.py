"""Loops that count, as for loops with one counter: ``while``, ``do``, ``for (i = 0, j = n; i < j; i++, j--)``."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pycparser import c_ast

from shorthaul.affine.frontend.expressions import c_text
from shorthaul.affine.frontend.rewriting.trees import (
    STEPS,
    assigned,
    in_blocks,
    is_name,
    names_in,
    nodes,
    rewritten,
    statements_of,
)


def with_one_counter(items: Sequence[Any]) -> list[Any]:
    r"""Return statements in which while and do loops that count are for loops, and every for loop has one counter.

    What is not understood stays as it is.

    >>> from pycparser import c_generator, c_parser
    >>> text = "void f(void) { i = 0; j = n; while (i < j) { a[i] = b[j]; i++; j -= 2; } }"
    >>> (loop,) = with_one_counter(c_parser.CParser().parse(text).ext[0].body.block_items)
    >>> print(c_generator.CGenerator().visit(loop).replace("\n", " "))
    for (i = 0; i < (n - (2 * i)); i += 1) {   a[i] = b[n - (2 * i)]; }
    """
    made = _counted(items)
    for node in [item for item in nodes(made) if isinstance(item, c_ast.For)]:
        _join_counters(node, made)
    return made


# -- while and do loops


def _counted(items: Sequence[Any]) -> list[Any]:
    result: list[Any] = []
    for item in items:
        node = in_blocks(item, _counted)
        made = None
        if isinstance(node, c_ast.For | c_ast.While | c_ast.DoWhile) and _continues(node.stmt):
            node.stmt = c_ast.Compound(without_continue(statements_of(node.stmt)), node.stmt.coord)
        if isinstance(node, c_ast.While | c_ast.DoWhile):
            made = _as_for(result, node)
        elif isinstance(node, c_ast.For):
            _move_steps(result, node)
        result = [*result, *_alone(node)] if made is None else made
    return result


def _alone(node: Any) -> list[Any]:
    """Return ``i = j = 0`` as two statements, and ``n++`` as ``n += 1``."""
    if isinstance(node, c_ast.UnaryOp) and node.op in STEPS:
        sign = f"{node.op[-1]}="
        return [c_ast.Assignment(sign, node.expr, c_ast.Constant("int", "1", node.coord), node.coord)]
    value = node.rvalue if isinstance(node, c_ast.Assignment) and node.op == "=" else None
    if not isinstance(value, c_ast.Assignment) or not isinstance(value.rvalue, c_ast.Constant) or value.op != "=":
        return [node]
    return [value, c_ast.Assignment("=", node.lvalue, value.rvalue, node.coord)]


def without_continue(items: Sequence[Any]) -> list[Any]:
    r"""Return the statements of a loop's body where what ``continue`` skips stands under the other branch of its if.

    >>> from pycparser import c_generator, c_parser
    >>> text = "void f(void) { for (;;) { if (a) { x = 1; continue; } y = 2; } }"
    >>> loop = c_parser.CParser().parse(text).ext[0].body.block_items[0]
    >>> print(c_generator.CGenerator().visit(without_continue(loop.stmt.block_items)[0]).replace("\n", " "))
    if (a) {   x = 1; } else {   y = 2; }
    """
    for at, item in enumerate(items):
        if isinstance(item, c_ast.Continue):
            return list(items[:at])
        if not _continues(item):
            continue
        rest = items[at + 1 :]
        if isinstance(item, c_ast.Compound):
            return [*items[:at], *without_continue([*statements_of(item), *rest])]
        then = without_continue([*statements_of(item.iftrue), *rest])
        other = without_continue([*statements_of(item.iffalse), *copy.deepcopy(rest)])
        made = c_ast.If(item.cond, c_ast.Compound(then), c_ast.Compound(other) if other else None, item.coord)
        return [*items[:at], made]
    return list(items)


def _continues(node: Any) -> bool:
    """True if a statement of this loop, and of no loop inside, leads to its next iteration."""
    if isinstance(node, c_ast.If):
        return _continues(node.iftrue) or _continues(node.iffalse)
    return isinstance(node, c_ast.Continue) or (
        isinstance(node, c_ast.Compound) and any(map(_continues, statements_of(node)))
    )


def _as_for(before: Sequence[Any], loop: Any) -> list[Any] | None:
    """Return the statements ``before`` a while or do loop, and it as a for loop that sets its counters itself."""
    body = statements_of(loop.stmt)
    cond, steps = _condition(loop)
    is_first = bool(steps) and isinstance(loop, c_ast.While)  # the counter moves before the body
    tested = [node.name for node in nodes([cond]) if isinstance(node, c_ast.ID)]
    if not is_first:
        steps = [*_steps_at_end(body, {*tested, *_indices(body)} - {*map(_counter, steps)}), *steps]
    found, starts = list(before), []
    for name in map(str, map(_counter, steps)):
        start = _start(found, name)
        if start is None:
            return None
        if is_first:
            start = _plus(start, c_ast.Constant("int", "1"), STEPS[steps[0].op])
        starts.append(c_ast.Assignment("=", c_ast.ID(name, loop.coord), start, loop.coord))
    main = next((item for item in starts if item.lvalue.name in tested), None)
    if main is None or assigned(body) & {item.lvalue.name for item in starts}:
        return None
    if isinstance(loop, c_ast.DoWhile):  # once at least
        once = c_ast.BinaryOp("==", main.lvalue, copy.deepcopy(main.rvalue), loop.coord)
        cond = c_ast.BinaryOp("||", once, cond, loop.coord)
    return [*found, c_ast.For(_listed(starts), cond, _listed(steps), c_ast.Compound(body), loop.coord)]


def _move_steps(before: list[Any], loop: Any) -> None:
    """Let a for loop set and move, in its header, what its body counts at the end and uses as a subscript."""
    body = statements_of(loop.stmt)
    if loop.next is None:
        _move_test(loop)
    steps = _steps_at_end(body, _indices(body) - assigned(_parts(loop.next)))
    names = [str(_counter(item)) for item in steps]
    first = set() if loop.init is None else assigned([loop.init])
    if not steps or loop.next is None or assigned(body) & {*names}:
        return
    rest, added = list(before), []
    for name in names:
        start = None if name in first else _start(rest, name)
        if name not in first and start is None:
            return
        if start is not None:
            added.append(c_ast.Assignment("=", c_ast.ID(name, loop.coord), start, loop.coord))
    before[:] = rest
    if isinstance(loop.init, c_ast.DeclList):
        for item in added:
            made = copy.deepcopy(loop.init.decls[0])
            made.name, made.init = item.lvalue.name, item.rvalue
            loop.init.decls.append(made)
    else:
        loop.init = _listed([*_parts(loop.init), *added])
    loop.next = _listed([*_parts(loop.next), *steps])
    loop.stmt = c_ast.Compound(body, loop.stmt.coord)


def _steps_at_end(body: list[Any], wanted: set[str]) -> list[Any]:
    """Take from the end of a body the statements that count one of the names ``wanted``."""
    kept: list[Any] = []
    steps: list[Any] = []
    while body and (name := _counter(body[-1])) is not None and name not in map(_counter, steps):
        (steps if name in wanted else kept).insert(0, body.pop())
    body += kept
    return steps


def _indices(items: Iterable[Any]) -> set[str]:
    """Return the names in subscripts and in headers of loops and choices."""
    found: set[str] = set()
    for node in nodes(items):
        inner = [node.subscript] if isinstance(node, c_ast.ArrayRef) else []
        if isinstance(node, c_ast.For):
            inner = [part for part in (node.init, node.cond, node.next) if part is not None]
        found |= names_in([node.cond] if isinstance(node, c_ast.If) else inner)
    return found


def _move_test(loop: Any) -> None:
    """Let the header of ``for (i = n; i-- > 0;)`` move the counter, in place, if it sets nothing else."""
    cond, steps = (loop.cond, []) if loop.cond is None else _condition(loop)
    inits = loop.init.decls if isinstance(loop.init, c_ast.DeclList) else _parts(loop.init)
    value = None if not steps or len(inits) != 1 else _value(inits[0], steps[0].expr.name)
    if value is not None:
        moved = _plus(value, c_ast.Constant("int", "1"), STEPS[steps[0].op])
        setattr(inits[0], "init" if isinstance(inits[0], c_ast.Decl) else "rvalue", moved)
        loop.cond, loop.next = cond, steps[0]


def _condition(loop: Any) -> tuple[Any, list[Any]]:
    """Return what a loop tests once the counter that its condition moves has moved, and the step of that counter."""
    cond = copy.copy(loop.cond)
    if _counter(cond):
        cond = c_ast.BinaryOp("!=", cond, c_ast.Constant("int", "0"), cond.coord)
    for mine, other in (("left", "right"), ("right", "left")):
        move = getattr(cond, mine) if isinstance(cond, c_ast.BinaryOp) else None
        if isinstance(move, c_ast.UnaryOp) and _counter(move):
            setattr(cond, mine, move.expr)
            if move.op.startswith("p"):  # the value before it moved is tested
                setattr(cond, other, _plus(getattr(cond, other), c_ast.Constant("int", "1"), STEPS[move.op]))
            return cond, [move]
    return loop.cond, []


def _start(items: list[Any], name: str) -> Any:
    """Take the statement that sets ``name`` from the end of ``items``, and return its value; None if there is none."""
    for at in range(len(items) - 1, -1, -1):
        item, later = items[at], items[at + 1 :]
        value = _value(item, name)
        if value is None:
            if _mentions([item], name):
                return None
            continue
        if names_in([value]) & {*assigned(later), name}:
            return None
        if isinstance(item, c_ast.Decl):
            items[at] = copy.copy(item)
            items[at].init = None
        else:
            del items[at]
        return value
    return None


def _value(item: Any, name: str) -> Any:
    if isinstance(item, c_ast.Decl) and item.name == name:
        return item.init
    is_set = isinstance(item, c_ast.Assignment) and item.op == "=" and is_name(item.lvalue, name)
    return item.rvalue if is_set and not isinstance(item.rvalue, c_ast.Assignment) else None


def _listed(items: Sequence[Any]) -> Any:
    return items[0] if len(items) == 1 else c_ast.ExprList(list(items), items[0].coord)


# -- several counters


@dataclass(frozen=True, slots=True)
class _Counters:
    """The counters of a for loop: their first values, and by how much each moves (0: not at all)."""

    first: dict[str, Any]
    steps: dict[str, int]
    main: str

    def value(self, name: str) -> Any:
        """Return the value of another counter in terms of the main one."""
        start, step = self.first[self.main], self.steps[self.main]
        turn: Any = c_ast.ID(self.main)
        if getattr(start, "value", None) != "0":
            turn = c_ast.BinaryOp("-", turn, start)
        if step < 0:
            turn, step = c_ast.UnaryOp("-", turn), -step
        if step > 1:
            turn = c_ast.BinaryOp("/", turn, c_ast.Constant("int", str(step)))
        return copy.deepcopy(_plus(self.first[name], turn, self.steps.get(name, 0)))


def _plus(first: Any, turn: Any, step: int) -> Any:
    """Return ``first + step * turn``."""
    if step == 0:
        return first
    size = abs(step)
    term = turn if size == 1 else c_ast.BinaryOp("*", c_ast.Constant("int", str(size)), turn)
    return term if getattr(first, "value", None) == "0" and step > 0 else c_ast.BinaryOp("+-"[step < 0], first, term)


def _write_out(node: Any, region: Sequence[Any]) -> None:
    """Write out what a header sets by one expression at first and after each step: ``t1 = (t + 1) % 2``, in place."""
    first = {item.name: item.init for item in node.init.decls} if isinstance(node.init, c_ast.DeclList) else {}
    steps = _parts(node.next)
    for at, item in enumerate(steps):
        name = item.lvalue.name if isinstance(item, c_ast.Assignment) and isinstance(item.lvalue, c_ast.ID) else ""
        if first.get(name) is None or item.op != "=" or c_text(first[name]) != c_text(item.rvalue):
            continue
        inside = names_in([item.rvalue])
        later = {*assigned([node.stmt, *steps[at + 1 :]])}
        if later & {name, *inside} or name in inside | names_in([node.cond]) or _is_free(region, name, node):
            continue
        node.stmt = rewritten(node.stmt, partial(_in_place_of, name, item.rvalue))
        node.init.decls = [each for each in node.init.decls if each.name != name]
        node.next = _listed([each for each in _parts(node.next) if each is not item])


def _in_place_of(name: str, value: Any, node: Any) -> Any:
    return copy.deepcopy(value) if is_name(node, name) else node


def _join_counters(node: Any, region: Sequence[Any]) -> None:
    """Write all counters of a loop but one as what they are in terms of this one, in place."""
    _write_out(node, region)
    found = _counters(node)
    if found is None:
        return
    others = [name for name in {**found.first, **found.steps} if name != found.main]
    body, used = [node.stmt], {*found.steps, *names_in([node.cond])}
    unused = [name for name in others if name not in used and not _is_free(body, name)]
    joined = [name for name in others if name not in unused]
    if any(_is_free(region, name, node) for name in others) or not {*joined} <= found.first.keys():
        return
    first = [found.first[name] for name in (*joined, found.main)]
    if assigned(body) & {*joined, found.main} or names_in(first) & {*others, found.main}:
        return

    def replaced(item: Any) -> Any:
        return found.value(item.name) if isinstance(item, c_ast.ID) and item.name in joined else item

    node.cond, node.stmt = rewritten(node.cond, replaced), rewritten(node.stmt, replaced)
    node.next = next(item for item in _parts(node.next) if _counter(item) == found.main)
    if isinstance(node.init, c_ast.DeclList):
        node.init.decls = [item for item in node.init.decls if item.name == found.main]
    else:
        node.init = c_ast.Assignment("=", c_ast.ID(found.main, node.coord), found.first[found.main], node.coord)


def _counters(node: Any) -> _Counters | None:
    """Return the counters of a for loop that has several."""
    first: dict[str, Any] = {}
    for item in node.init.decls if isinstance(node.init, c_ast.DeclList) else _parts(node.init):
        names = []
        value = item
        if isinstance(item, c_ast.Decl):
            names, value = [item.name], item.init
        while isinstance(value, c_ast.Assignment) and value.op == "=" and isinstance(value.lvalue, c_ast.ID):
            names.append(value.lvalue.name)
            value = value.rvalue
        if not names or value is None:
            return None
        first |= dict.fromkeys(names, value)
    steps = {}
    for item in _parts(node.next):
        name = _counter(item)
        if name is None or name in steps:
            return None
        steps[name] = _amount(item)
    tested = [item.name for item in nodes([node.cond] if node.cond is not None else []) if isinstance(item, c_ast.ID)]
    main = next((name for name in tested if name in first and name in steps), None)
    return None if main is None or len({**first, **steps}) < 2 else _Counters(first, steps, main)


def _parts(node: Any) -> list[Any]:
    return [] if node is None else list(node.exprs) if isinstance(node, c_ast.ExprList) else [node]


# -- statements and names


def _counter(node: Any) -> str | None:
    """Return what a statement counts, by a number: ``i++``, ``i -= 2``, ``i = i + 1``."""
    if isinstance(node, c_ast.UnaryOp) and node.op in STEPS and isinstance(node.expr, c_ast.ID):
        return str(node.expr.name)
    if isinstance(node, c_ast.Assignment) and isinstance(node.lvalue, c_ast.ID) and _amount(node):
        return str(node.lvalue.name)
    return None


def _amount(node: Any) -> int:
    """Return by how much a counter moves; 0 if that is no number."""
    if isinstance(node, c_ast.UnaryOp):
        return STEPS[node.op]
    value, sign = node.rvalue, node.op
    if sign == "=" and isinstance(value, c_ast.BinaryOp) and is_name(value.left, node.lvalue.name):
        value, sign = value.right, f"{value.op}="
    is_number = isinstance(value, c_ast.Constant) and value.type == "int" and value.value.isdecimal()
    return {"+=": 1, "-=": -1}.get(sign, 0) * int(value.value) if is_number else 0


def _mentions(items: Iterable[Any], name: str) -> bool:
    return any(is_name(node, name) or (isinstance(node, c_ast.Decl) and node.name == name) for node in nodes(items))


def _is_free(items: Iterable[Any], name: str, without: Any = None) -> bool:
    """True if statements use a variable that no loop around them sets, but for the statement ``without``."""
    for item in items:
        if item is without or (isinstance(item, c_ast.Decl) and item.name == name and item.init is None):
            continue
        if isinstance(item, c_ast.For) and item.init is not None and name in assigned([item.init]):
            continue
        if is_name(item, name) or (isinstance(item, c_ast.Decl) and item.name == name):
            return True
        if _is_free([child for _, child in item.children()], name, without):
            return True
    return False
