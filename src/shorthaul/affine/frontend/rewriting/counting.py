"""What counts: steps, conditions that move a counter as in ``while (n-- > 0)``, and ``continue``."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pycparser import c_ast

from shorthaul.affine.frontend.rewriting.trees import (
    STEPS,
    UNSIGNED,
    assigned,
    copied,
    in_blocks,
    is_name,
    names_in,
    nodes,
    rewritten,
    statements_of,
    words_of,
)


def with_moves_apart(items: Sequence[Any]) -> list[Any]:
    r"""Return statements without ``continue``, in which conditions move no counters; what is not understood stays.

    >>> from pycparser import c_generator, c_parser
    >>> text = "void f(void) { while (n-- > 0) a[n] = 0; }"
    >>> (loop,) = with_moves_apart(c_parser.CParser().parse(text).ext[0].body.block_items)
    >>> print(c_generator.CGenerator().visit(loop).replace("\n", " "))
    for (n = n - 1; n > (0 - 1); n--)   a[n] = 0;
    """
    result: list[Any] = []
    for item in items:
        node = in_blocks(item, with_moves_apart)
        if isinstance(node, c_ast.For | c_ast.While | c_ast.DoWhile) and ends(node.stmt, c_ast.Continue):
            node.stmt = c_ast.Compound(without_rest(statements_of(node.stmt)), node.stmt.coord)
        if isinstance(node, c_ast.While | c_ast.DoWhile):
            node = _as_for(node)
        elif isinstance(node, c_ast.For):
            _move_test(node)
            _let_pass_zero(node)
        result += alone(node)
    return result


def with_steps_as_numbers(items: Sequence[Any], macros: Mapping[str, int]) -> list[Any]:
    r"""Return statements with the numbers of macros, everywhere, by which loops move what their conditions are on.

    >>> from pycparser import c_generator, c_parser
    >>> text = "void f(void) { for (; i + U <= n; i += U) a[i] = N; }"
    >>> (loop,) = with_steps_as_numbers(c_parser.CParser().parse(text).ext[0].body.block_items, {"U": 4, "N": 9})
    >>> print(c_generator.CGenerator().visit(loop).replace("\n", " "))
    for (; (i + 4) <= n; i += 4)   a[i] = N;
    """
    loops = [node for node in nodes(items) if isinstance(node, c_ast.For) and node.cond is not None]
    moves = [(loop, item) for loop in loops for item in parts(loop.next) if isinstance(item, c_ast.Assignment)]
    steps = {
        name
        for loop, item in moves
        if names_in([item.lvalue]) & names_in([loop.cond])
        for name in names_in([item.rvalue])
    }
    numbers = {name: str(macros[name]) for name in steps & macros.keys()}

    def change(node: Any) -> Any:
        is_step = isinstance(node, c_ast.ID) and node.name in numbers
        return c_ast.Constant("int", numbers[node.name], node.coord) if is_step else node

    return [rewritten(item, change) for item in items] if numbers else list(items)


def alone(node: Any) -> list[Any]:
    """Return ``i = j = 0`` as two statements, and ``n++`` as ``n += 1``."""
    if isinstance(node, c_ast.UnaryOp) and node.op in STEPS:
        sign = f"{node.op[-1]}="
        return [c_ast.Assignment(sign, node.expr, c_ast.Constant("int", "1", node.coord), node.coord)]
    value = node.rvalue if isinstance(node, c_ast.Assignment) and node.op == "=" else None
    if not isinstance(value, c_ast.Assignment) or not isinstance(value.rvalue, c_ast.Constant) or value.op != "=":
        return [node]
    return [value, c_ast.Assignment("=", node.lvalue, value.rvalue, node.coord)]


def without_rest(items: Sequence[Any], end: type = c_ast.Continue) -> list[Any]:
    r"""Return the statements of a body, what ``end`` skips under the other branch of its if.

    >>> from pycparser import c_generator, c_parser
    >>> text = "void f(void) { for (;;) { if (a) { x = 1; continue; } y = 2; } }"
    >>> loop = c_parser.CParser().parse(text).ext[0].body.block_items[0]
    >>> print(c_generator.CGenerator().visit(without_rest(loop.stmt.block_items)[0]).replace("\n", " "))
    if (a) {   x = 1; } else {   y = 2; }
    """
    for at, item in enumerate(items):
        if isinstance(item, end):
            return list(items[:at])
        if not ends(item, end):
            continue
        rest = items[at + 1 :]
        if isinstance(item, c_ast.Compound):
            return [*items[:at], *without_rest([*statements_of(item), *rest], end)]
        then = without_rest([*statements_of(item.iftrue), *rest], end)
        other = without_rest([*statements_of(item.iffalse), *copied(rest)], end)
        made = c_ast.If(item.cond, c_ast.Compound(then), c_ast.Compound(other) if other else None, item.coord)
        return [*items[:at], made]
    return list(items)


def ends(node: Any, end: type) -> bool:
    """True if a statement of this body, and of no loop inside, ends it."""
    if isinstance(node, c_ast.If):
        return ends(node.iftrue, end) or ends(node.iffalse, end)
    return isinstance(node, end) or (
        isinstance(node, c_ast.Compound) and any(ends(item, end) for item in statements_of(node))
    )


def _as_for(loop: Any) -> Any:
    """Return a while or do loop whose condition moves a counter, which the header of a for loop moves in its place."""
    cond, steps = _condition(loop)
    if not steps:
        return loop
    if isinstance(loop, c_ast.DoWhile):
        loop.cond, loop.stmt = cond, c_ast.Compound([*statements_of(loop.stmt), *steps], loop.coord)
        return loop
    first = _plus(steps[0].expr, c_ast.Constant("int", "1"), STEPS[steps[0].op])  # it moves before the body
    return c_ast.For(c_ast.Assignment("=", steps[0].expr, first, loop.coord), cond, steps[0], loop.stmt, loop.coord)


def _let_pass_zero(loop: Any) -> None:
    """Let a counter without a sign that falls beyond 0 have a sign, and its loop end there, in place."""
    first = loop.init.decls if isinstance(loop.init, c_ast.DeclList) and len(loop.init.decls) == 1 else []
    if not first or not UNSIGNED & {*words_of(first[0])}:
        return
    name, cond = first[0].name, loop.cond
    if not any(counter(item) == name and amount(item) < 0 for item in parts(loop.next)):
        return
    if name in assigned([loop.stmt]):
        return
    is_test = isinstance(cond, c_ast.BinaryOp) and is_name(cond.left, name) and name not in names_in([cond.right])
    if is_test and cond.op in {"<", "<="}:
        zero = c_ast.BinaryOp(">=", cond.left, c_ast.Constant("int", "0", cond.coord), cond.coord)
        loop.cond = c_ast.BinaryOp("&&", zero, cond, cond.coord)
    elif not is_test or cond.op not in {">", "!="} or getattr(cond.right, "op", "") != "-":  # as _condition makes it
        return
    signed, inside = name, [node for node in nodes([loop.stmt]) if isinstance(node, c_ast.BinaryOp | c_ast.Cast)]
    if any(getattr(node, "op", "") not in {"+", "*"} and name in names_in([node]) for node in inside):
        while signed in names_in([loop]):
            signed += "_"
        for node in nodes([loop.cond, loop.next]):
            if is_name(node, name):
                node.name = signed
        inner = c_ast.TypeDecl(None, [], None, c_ast.IdentifierType(words_of(first[0])))
        kind = c_ast.Typename(None, [], None, inner)

        def without_sign(node: Any) -> Any:
            return c_ast.Cast(kind, c_ast.ID(signed, node.coord), node.coord) if is_name(node, name) else node

        loop.stmt = rewritten(loop.stmt, without_sign)
    first[0].name = signed
    first[0].type = c_ast.TypeDecl(signed, [], None, c_ast.IdentifierType(["long"]))


def _move_test(loop: Any) -> None:
    """Let the header of ``for (i = n; i-- > 0;)`` move the counter, in place, if it sets nothing else."""
    cond, steps = (loop.cond, []) if loop.cond is None or loop.next is not None else _condition(loop)
    inits = loop.init.decls if isinstance(loop.init, c_ast.DeclList) else parts(loop.init)
    value = None if not steps or len(inits) != 1 else _value(inits[0], steps[0].expr.name)
    if value is not None:
        moved = _plus(value, c_ast.Constant("int", "1"), STEPS[steps[0].op])
        setattr(inits[0], "init" if isinstance(inits[0], c_ast.Decl) else "rvalue", moved)
        loop.cond, loop.next = cond, steps[0]


def _condition(loop: Any) -> tuple[Any, list[Any]]:
    """Return what a loop tests once the counter that its condition moves has moved, and the step of that counter."""
    cond = copy.copy(loop.cond)
    if counter(cond):
        cond = c_ast.BinaryOp("!=", cond, c_ast.Constant("int", "0"), cond.coord)
    for mine, other in (("left", "right"), ("right", "left")):
        move = getattr(cond, mine) if isinstance(cond, c_ast.BinaryOp) else None
        if isinstance(move, c_ast.UnaryOp) and counter(move):
            setattr(cond, mine, move.expr)
            if move.op.startswith("p"):  # the value before it moved is tested
                setattr(cond, other, _plus(getattr(cond, other), c_ast.Constant("int", "1"), STEPS[move.op]))
            return cond, [move]
    return loop.cond, []


def _value(item: Any, name: str) -> Any:
    if isinstance(item, c_ast.Decl) and item.name == name:
        return item.init
    is_set = isinstance(item, c_ast.Assignment) and item.op == "=" and is_name(item.lvalue, name)
    return item.rvalue if is_set and not isinstance(item.rvalue, c_ast.Assignment) else None


def listed(items: Sequence[Any]) -> Any:
    """Return the expressions of a header as one."""
    return items[0] if len(items) == 1 else c_ast.ExprList(list(items), items[0].coord)


def _plus(first: Any, turn: Any, step: int) -> Any:
    """Return ``first + step * turn``."""
    if step == 0:
        return first
    size = abs(step)
    term = turn if size == 1 else c_ast.BinaryOp("*", c_ast.Constant("int", str(size)), turn)
    return term if getattr(first, "value", None) == "0" and step > 0 else c_ast.BinaryOp("+-"[step < 0], first, term)


def parts(node: Any) -> list[Any]:
    """Return the expressions that one of a header consists of."""
    return [] if node is None else list(node.exprs) if isinstance(node, c_ast.ExprList) else [node]


# -- statements and names


def counter(node: Any) -> str | None:
    """Return what a statement counts, by a number: ``i++``, ``i -= 2``, ``i = i + 1``."""
    if isinstance(node, c_ast.UnaryOp) and node.op in STEPS and isinstance(node.expr, c_ast.ID):
        return str(node.expr.name)
    if isinstance(node, c_ast.Assignment) and isinstance(node.lvalue, c_ast.ID) and amount(node):
        return str(node.lvalue.name)
    return None


def amount(node: Any) -> int:
    """Return by how much a counter moves; 0 if that is no number."""
    if isinstance(node, c_ast.UnaryOp):
        return STEPS[node.op]
    value, sign = node.rvalue, node.op
    if sign == "=" and isinstance(value, c_ast.BinaryOp) and is_name(value.left, node.lvalue.name):
        value, sign = value.right, f"{value.op}="
    is_number = isinstance(value, c_ast.Constant) and value.type == "int" and value.value.isdecimal()
    return {"+=": 1, "-=": -1}.get(sign, 0) * int(value.value) if is_number else 0


def free_names(items: Iterable[Any], inside: frozenset[str] = frozenset()) -> set[str]:
    """Return the variables that statements use and that no loop around them sets, nor are ``inside``."""
    found = set[str]()
    for item in items:
        bound = inside
        if isinstance(item, c_ast.For) and item.init is not None:
            bound |= assigned([item.init])
        elif isinstance(item, c_ast.Decl) and item.init is None:
            bound |= {item.name}
        if isinstance(item, c_ast.ID | c_ast.Decl) and item.name is not None and item.name not in bound:
            found.add(item.name)
        found |= free_names([child for _, child in item.children()], bound)
    return found
