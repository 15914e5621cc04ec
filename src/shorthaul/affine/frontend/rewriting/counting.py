"""Loops that count, as for loops with one counter: ``while``, ``do``, ``for (i = 0, j = n; i < j; i++, j--)``."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from pycparser import c_ast

from shorthaul.affine.frontend.expressions import c_text
from shorthaul.affine.frontend.rewriting.pointers import is_name, names_in, nodes
from shorthaul.affine.frontend.rewriting.structures import rewritten

_STEPS: Final = {"p++": 1, "++": 1, "p--": -1, "--": -1}


def with_one_counter(items: Sequence[Any]) -> list[Any]:
    r"""Return statements in which while and do loops that count are for loops, and every for loop has one counter.

    What is not understood stays as it is.

    >>> from pycparser import c_generator, c_parser
    >>> text = "void f(void) { i = 0; j = n; while (i < j) { a[i] = b[j]; i++; j -= 2; } }"
    >>> (loop,) = with_one_counter(c_parser.CParser().parse(text).ext[0].body.block_items)
    >>> print(c_generator.CGenerator().visit(loop).replace("\n", " "))
    for (i = 0; i < (n - (2 * i)); i++) {   a[i] = b[n - (2 * i)]; }
    """
    made = _counted(items)
    for node in [item for item in nodes(made) if isinstance(item, c_ast.For)]:
        _join_counters(node, made)
    return made


# -- while and do loops


def _counted(items: Sequence[Any]) -> list[Any]:
    result: list[Any] = []
    for item in items:
        node = _inside(item)
        made = None
        if isinstance(node, c_ast.While | c_ast.DoWhile):
            made = _as_for(result, node)
        elif isinstance(node, c_ast.For):
            _move_steps(result, node)
        result = [*result, *_apart(node)] if made is None else made
    return result


def _apart(node: Any) -> list[Any]:
    """Return ``i = j = 0`` as two statements."""
    value = node.rvalue if isinstance(node, c_ast.Assignment) and node.op == "=" else None
    if not isinstance(value, c_ast.Assignment) or not isinstance(value.rvalue, c_ast.Constant) or value.op != "=":
        return [node]
    return [value, c_ast.Assignment("=", node.lvalue, value.rvalue, node.coord)]


def _inside(node: Any) -> Any:
    """Rewrite the blocks of a statement."""
    if isinstance(node, c_ast.Compound):
        node.block_items = _counted(node.block_items or [])
    elif isinstance(node, c_ast.For | c_ast.While | c_ast.DoWhile | c_ast.If):
        for name in ("stmt", "iftrue", "iffalse"):
            if getattr(node, name, None) is not None:
                setattr(node, name, _inside(getattr(node, name)))
    return node


def _as_for(before: Sequence[Any], loop: Any) -> list[Any] | None:
    """Return the statements ``before`` a while or do loop, and it as a for loop that sets its counters itself."""
    body = list(loop.stmt.block_items or []) if isinstance(loop.stmt, c_ast.Compound) else [loop.stmt]
    cond, steps = _condition(loop)
    tested = [node.name for node in nodes([cond]) if isinstance(node, c_ast.ID)]
    if not steps or not isinstance(loop, c_ast.While):
        steps = [*_steps_at_end(body, {*tested, *_indices(body)} - {*map(_counter, steps)}), *steps]
    found, starts = list(before), []
    for name in map(str, map(_counter, steps)):
        start = _start(found, name)
        if start is None:
            return None
        starts.append(c_ast.Assignment("=", c_ast.ID(name, loop.coord), start, loop.coord))
    main = next((item for item in starts if item.lvalue.name in tested), None)
    if main is None or _has_continue(body) or _assigned(body) & {item.lvalue.name for item in starts}:
        return None
    if isinstance(loop, c_ast.DoWhile):  # once at least
        once = c_ast.BinaryOp("==", main.lvalue, copy.deepcopy(main.rvalue), loop.coord)
        cond = c_ast.BinaryOp("||", once, cond, loop.coord)
    moves = None if cond is loop.cond and any(_counter(node) for node in nodes([cond])) else _listed(steps)
    return [*found, c_ast.For(_listed(starts), cond, moves, c_ast.Compound(body), loop.coord)]


def _move_steps(before: list[Any], loop: Any) -> None:
    """Let a for loop set and move, in its header, what its body counts at the end and uses as a subscript."""
    body = list(loop.stmt.block_items or []) if isinstance(loop.stmt, c_ast.Compound) else []
    steps = _steps_at_end(body, _indices(body) - _assigned(_parts(loop.next)))
    names = [str(_counter(item)) for item in steps]
    first = set() if loop.init is None else _assigned([loop.init])
    if not steps or loop.next is None or _has_continue(body) or _assigned(body) & {*names}:
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
    loop.stmt.block_items = body


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


def _condition(loop: Any) -> tuple[Any, list[Any]]:
    """Return what a loop tests when its counters have moved, and the step that the condition of a do loop makes."""
    moves = [node for node in nodes([loop.cond]) if _counter(node) is not None]
    if len(moves) != 1:
        return loop.cond, []
    (move,) = moves
    if isinstance(loop, c_ast.While):
        return loop.cond, moves
    later = move.op.startswith("p")  # the value before it moved is tested
    value = _plus(move.expr, c_ast.Constant("int", "1"), -_STEPS[move.op]) if later else move.expr
    return rewritten(copy.deepcopy(loop.cond), lambda node: value if _is_move(node, move) else node), [move]


def _is_move(node: Any, move: Any) -> bool:
    return isinstance(node, c_ast.UnaryOp) and node.op == move.op and is_name(node.expr, move.expr.name)


def _start(items: list[Any], name: str) -> Any:
    """Take the statement that sets ``name`` from the end of ``items``, and return its value; None if there is none."""
    for at in range(len(items) - 1, -1, -1):
        item, later = items[at], items[at + 1 :]
        value = _value(item, name)
        if value is None:
            if _mentions([item], name):
                return None
            continue
        if names_in([value]) & {*_assigned(later), name}:
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


def _has_continue(items: Iterable[Any]) -> bool:
    """True if a statement leads to the next iteration of the loop whose body ``items`` are."""
    inner = (c_ast.For, c_ast.While, c_ast.DoWhile)
    return any(
        isinstance(item, c_ast.Continue) or (not isinstance(item, inner) and _has_continue(_children(item)))
        for item in items
    )


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
        later = {*_assigned([node.stmt, *steps[at + 1 :]])}
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
    if _assigned(body) & {*joined, found.main} or names_in(first) & {*others, found.main}:
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
    if isinstance(node, c_ast.UnaryOp) and node.op in _STEPS and isinstance(node.expr, c_ast.ID):
        return str(node.expr.name)
    if isinstance(node, c_ast.Assignment) and isinstance(node.lvalue, c_ast.ID) and _amount(node):
        return str(node.lvalue.name)
    return None


def _amount(node: Any) -> int:
    """Return by how much a counter moves; 0 if that is no number."""
    if isinstance(node, c_ast.UnaryOp):
        return _STEPS[node.op]
    value, sign = node.rvalue, node.op
    if sign == "=" and isinstance(value, c_ast.BinaryOp) and is_name(value.left, node.lvalue.name):
        value, sign = value.right, f"{value.op}="
    is_number = isinstance(value, c_ast.Constant) and value.type == "int" and value.value.isdecimal()
    return {"+=": 1, "-=": -1}.get(sign, 0) * int(value.value) if is_number else 0


def _children(node: Any) -> list[Any]:
    return [child for _, child in node.children()]


def _mentions(items: Iterable[Any], name: str) -> bool:
    return any(is_name(node, name) or (isinstance(node, c_ast.Decl) and node.name == name) for node in nodes(items))


def _assigned(items: Iterable[Any]) -> set[str]:
    """Return the names that statements set, count or declare."""
    found = set()
    for node in nodes(items):
        target = node.lvalue if isinstance(node, c_ast.Assignment) else None
        if isinstance(node, c_ast.UnaryOp) and node.op in {*_STEPS, "&"}:
            target = node.expr
        if isinstance(target, c_ast.ID):
            found.add(target.name)
        if isinstance(node, c_ast.Decl) and node.name:
            found.add(node.name)
    return found


def _is_free(items: Iterable[Any], name: str, without: Any = None) -> bool:
    """True if statements use a variable that no loop around them sets, but for the statement ``without``."""
    for item in items:
        if item is without or (isinstance(item, c_ast.Decl) and item.name == name and item.init is None):
            continue
        if isinstance(item, c_ast.For) and item.init is not None and name in _assigned([item.init]):
            continue
        if is_name(item, name) or (isinstance(item, c_ast.Decl) and item.name == name):
            return True
        if _is_free(_children(item), name, without):
            return True
    return False
