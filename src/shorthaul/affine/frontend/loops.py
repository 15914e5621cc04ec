"""The iterations of one for loop of C."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

import islpy as isl
from pycparser import c_ast

from shorthaul.affine.frontend.constants import constant
from shorthaul.affine.frontend.expressions import Names, affine, bound_set, c_text, condition, integer, variable
from shorthaul.affine.frontend.rewriting.trees import STEPS, UNSIGNED, is_name, names_in, words_of
from shorthaul.core.errors import InputError

#: Levels of loops: reading so many takes half a second, eight times what half as many take.
_MOST_NESTED: Final = 40
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True, slots=True)
class Iterator:
    """A loop iterator as written, the name it has in isl's sets, and its value and the iteration's number in time."""

    written: str
    internal: str
    value: isl.PwAff
    count: isl.PwAff


def iterations(node: Any, names: Names, params: isl.Set, outer: Sequence[str]) -> tuple[Iterator, isl.Set]:
    """Return the iterator of the loop ``node``, and the iterations reached from ``params``.

    The loop may go up or down by any constant; iterations are exactly those that C makes: the loop ends for good
    where its condition fails first.
    """
    if len(outer) >= _MOST_NESTED:
        raise InputError(
            "has too many loops around it",
            place=str(names.place(node)),
            allowed=f"loops in up to {_MOST_NESTED} levels",
        )
    names = replace(names, kinds=None)  # a loop that wraps has no end
    name, start = _start(node, names)
    step = _step(node, name, names)
    _require_integer(node, name, step, names)
    if name in names.iterators:
        problem, cure = "a loop counts with the iterator of a loop around it", "give the inner loop one of its own"
        raise InputError(problem, place=str(names.place(node)), value=name, cure=cure)
    internal = name
    while internal in outer:
        internal += "_"
    iterator = variable(internal)
    known = replace(names, iterators={**names.iterators, name: iterator})
    first = affine(start, names)
    after = iterator.ge_set(first) if step > 0 else iterator.le_set(first)
    if abs(step) > 1:
        after = after.intersect(iterator.sub(first).mod_val(isl.Val(abs(step))).zero_set())
    reached = params.intersect(after)
    if node.cond is None:
        cure = "write the limit: for (i = start; i < end; i++)"
        raise InputError("the loop has no condition", place=str(names.place(node)), value=_header(node), cure=cure)
    tested = _tested(node.cond, name, first, known, params)
    end = _ordered(tested, name, step)
    holds = condition(end, known)
    result = reached.intersect(holds)
    if end is not tested and not names.assume_none(params.intersect(_passed(end, first, names))):
        raise _never_ends(node, names)
    if not _is_plain(end, name, step):
        result = result.subtract(from_failure_on(reached.subtract(holds), internal, step))
    _require_end(result, internal, node, names)
    sign = isl.Val(1 if step > 0 else -1)
    value, done = iterator.scale_val(sign), iterator.sub(first).scale_val(sign)
    count = value if abs(step) == 1 else done.scale_down_val(isl.Val(abs(step))).floor()
    return Iterator(name, internal, value, count), result.coalesce()


@dataclass(frozen=True, slots=True)
class Factors:
    """A loop over a product ``n * m`` as ``loops`` over its factors, and the value of its iterator in them."""

    loops: Any
    name: str
    value: Any


def by_factors(node: Any, names: Names) -> Factors | None:
    """Return ``for (i = 0; i < n * m; i++)`` as loops over n and m, where i is ``i_0 * m + i_1``.

    None for any other loop, and where macros make the product a number of times one of them.
    """
    end = node.cond
    if not (isinstance(end, c_ast.BinaryOp) and end.op == "<" and isinstance(end.left, c_ast.ID)):
        return None
    factors = _factors(end.right, names)
    if len(factors) == 1 or any(isinstance(item, c_ast.Constant) and constant(item, {}) is None for item in factors):
        return None
    with suppress(InputError):
        affine(end.right, names)
        return None
    name, start = _start(node, names)
    if end.left.name != name or constant(start, {}) != 0 or _step(node, name, names) != 1:
        return None
    loops, value = node.stmt, None
    for at, factor in reversed([*enumerate(factors)]):
        inner = c_ast.ID(f"{name}_{at}", node.coord)
        first = c_ast.Assignment("=", inner, c_ast.Constant("int", "0"), node.coord)
        body = loops if at == len(factors) - 1 else c_ast.Compound([loops], node.coord)
        test = c_ast.BinaryOp("<", inner, factor, node.coord)
        loops = c_ast.For(first, test, c_ast.UnaryOp("p++", inner, node.coord), body, node.coord)
    for at, factor in enumerate(factors):
        place = c_ast.ID(f"{name}_{at}", node.coord)
        value = place if value is None else c_ast.BinaryOp("+", c_ast.BinaryOp("*", value, factor), place, node.coord)
    return Factors(loops, name, value)


def _factors(node: Any, names: Names) -> list[Any]:
    """Return the factors of a product, those of integers that have a name too."""
    if isinstance(node, c_ast.Cast):
        return _factors(node.expr, names)
    if isinstance(node, c_ast.ID) and node.name in names.locals and node.name not in names.iterators:
        inner = _factors(names.locals[node.name], names)
        return inner if len(inner) > 1 else [node]
    if isinstance(node, c_ast.BinaryOp) and node.op == "*":
        return [*_factors(node.left, names), *_factors(node.right, names)]
    return [node]


def _tested(end: Any, name: str, first: isl.PwAff, names: Names, params: isl.Set) -> Any:
    """Return ``i == start || rest``, the condition of a do loop, as its rest if that holds at the start."""
    if not (isinstance(end, c_ast.BinaryOp) and end.op == "||" and isinstance(end.left, c_ast.BinaryOp)):
        return end
    if end.left.op != "==" or not is_name(end.left.left, name):
        return end
    if not affine(end.left.right, names).is_equal(first):
        return end
    holds = condition(end.right, replace(names, iterators={**names.iterators, name: first}))
    for parameter in names.parameters:
        params = params.intersect(variable(parameter).ge_set(integer(1)))
    return end.right if params.is_subset(holds) else end


def _header(node: Any) -> str:
    parts = ("" if part is None else c_text(part) for part in (node.init, node.cond, node.next))
    return f"for ({'; '.join(parts)})"


def _start(node: Any, names: Names) -> tuple[str, Any]:
    init = node.init
    if isinstance(init, c_ast.DeclList) and len(init.decls) == 1 and init.decls[0].init is not None:
        return init.decls[0].name, init.decls[0].init
    if isinstance(init, c_ast.Assignment) and init.op == "=" and isinstance(init.lvalue, c_ast.ID):
        return init.lvalue.name, init.rvalue
    raise InputError(
        "the loop does not start by setting one iterator",
        place=str(names.place(node)),
        value=_header(node),
        allowed="for (i = start; i < end; i++)",
        cure="set the iterator, and nothing else, in the first part of the header",
    )


_NOT_INTEGER = frozenset({"float", "double", "_Bool", "bool", *(f"_Float{bits}" for bits in (16, 32, 64, 128))})


def _require_integer(node: Any, name: str, step: int, names: Names) -> None:
    """Raise for an iterator that is no integer, and for one without a sign that is to fall below 0."""
    words = {*words_of(node.init.decls[0])} if isinstance(node.init, c_ast.DeclList) else set[str]()
    place = str(names.place(node))
    if words & _NOT_INTEGER or (not words and name in names.data):
        raise InputError(
            "the loop's iterator is no integer", place=place, value=_header(node), cure=f"declare {name} as int"
        )
    falls = isinstance(node.cond, c_ast.BinaryOp) and node.cond.op == ">=" and is_name(node.cond.left, name)
    if words & UNSIGNED and step < 0 and falls and constant(node.cond.right, names.numbers) == 0:
        raise InputError(
            "the loop never ends: an unsigned iterator is never below 0",
            place=place,
            value=_header(node),
            cure=f"declare {name} as int",
        )


def _step(node: Any, name: str, names: Names) -> int:
    step = node.next
    value: int | None = None
    if isinstance(step, c_ast.UnaryOp) and is_name(step.expr, name):
        value = STEPS.get(step.op)
    elif isinstance(step, c_ast.Assignment) and is_name(step.lvalue, name):
        amount = step.rvalue
        if step.op in {"+=", "-="}:
            found = constant(amount, names.numbers)
            value = None if found is None else found if step.op == "+=" else -found
        elif step.op == "=" and isinstance(amount, c_ast.BinaryOp) and amount.op in {"+", "-"}:
            left, right = amount.left, amount.right
            if amount.op == "+" and is_name(right, name):
                left, right = right, left
            found = constant(right, names.numbers) if is_name(left, name) else None
            value = None if found is None else found if amount.op == "+" else -found
    if not value:
        raise InputError(
            "the loop's step is not a constant",
            place=str(names.place(node if step is None else step)),
            value=_header(node),
            allowed="i++, i--, i += c, i -= c, i = i + c",
            cure="let the iterator grow or fall by an integer constant other than 0",
        )
    return value


def _is_plain(node: Any, name: str, step: int) -> bool:
    """True if the condition, once false, stays false: the iterator against a limit in the direction of the step."""
    if isinstance(node, c_ast.BinaryOp) and node.op == "&&":
        return _is_plain(node.left, name, step) and _is_plain(node.right, name, step)
    if not isinstance(node, c_ast.BinaryOp):
        return False
    op, left, right = node.op, node.left, node.right
    if is_name(right, name):
        op, left, right = _TURNED.get(op, op), right, left
    return is_name(left, name) and name not in names_in([right]) and op in ({"<", "<="} if step > 0 else {">", ">="})


def _ordered(node: Any, name: str, step: int) -> Any:
    """Return ``i != end`` of a loop that meets its end as ``i < end``, or ``i > end`` for a step of -1."""
    if not isinstance(node, c_ast.BinaryOp) or node.op != "!=" or abs(step) != 1:
        return node
    left, right = (node.right, node.left) if is_name(node.right, name) else (node.left, node.right)
    if not is_name(left, name) or name in names_in([right]):
        return node
    return c_ast.BinaryOp("<" if step > 0 else ">", left, right, node.coord)


def _passed(end: Any, first: isl.PwAff, names: Names) -> isl.Set:
    """Return where the loop starts beyond its end."""
    limit = affine(end.right, names)
    return first.gt_set(limit) if end.op == "<" else first.lt_set(limit)


def from_failure_on(failed: isl.Set, name: str, step: int, *, after: bool = False) -> isl.Set:
    """Return the iterations at which the loop has ended: those at or ``after`` one where the condition fails."""
    if failed.is_empty():
        return failed
    points = bound_set(failed, [name], "").reset_tuple_id()
    order = f"{'>' if step > 0 else '<'}{'' if after else '='}"
    later = isl.Map.read_from_str(isl.DEFAULT_CONTEXT, f"{{ [a] -> [b] : b {order} a }}")
    ended = points.apply(later)
    ended = ended.move_dims(isl.dim_type.param, ended.dim(isl.dim_type.param), isl.dim_type.set, 0, 1)
    return ended.set_dim_name(isl.dim_type.param, ended.dim(isl.dim_type.param) - 1, name).params()


def _is_bounded(points: isl.Set) -> bool:
    if not (points.dim_has_upper_bound(isl.dim_type.set, 0) and points.dim_has_lower_bound(isl.dim_type.set, 0)):
        return False
    try:  # with remainders in the condition, only some parameters may leave the set without an end
        return points.is_empty() or bool(points.dim_max(0).dim(isl.dim_type.in_) >= 0 and points.dim_min(0) is not None)
    except isl.Error:
        return False


def _require_end(result: isl.Set, name: str, node: Any, names: Names) -> None:
    if not _is_bounded(bound_set(result, [name], "")):
        raise _never_ends(node, names)


def _never_ends(node: Any, names: Names) -> InputError:
    return InputError(
        "the loop never ends",
        place=str(names.place(node)),
        value=_header(node),
        cure="write < or > in place of !=, which may never be met"
        if isinstance(node.cond, c_ast.BinaryOp) and node.cond.op == "!="
        else "let the iterator run towards its limit",
    )
