"""Loops that go through phases, taken apart: the colours of a sweep, and the planes of a buffer that rotates.

Apart, every phase has subscripts and domains without remainders of this counter, as if the loop were written out.
"""

from __future__ import annotations

from collections.abc import Iterator as Values
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

import islpy as isl
from pycparser import c_ast

from shorthaul.affine.frontend.constants import constant
from shorthaul.affine.frontend.expressions import bound_set, integer, variable
from shorthaul.affine.frontend.loops import Iterator
from shorthaul.affine.frontend.rewriting.trees import element_of, is_name, names_in, nodes

#: The most colours of a sweep, and the most planes of a buffer that rotates: each makes a copy of the body.
_MOST_PHASES: Final = 4


@dataclass(frozen=True, slots=True)
class Phase:
    """Some iterations of a loop: the value of its counter as syntax, and the parameters that reach it.

    ``counter`` numbers the iterations of each phase, None if there is one; ``value`` is None where it is the counter.
    """

    value: Any | None
    reached: isl.Set
    counter: Iterator | None


def phases(body: Sequence[Any], iterator: Iterator, reached: isl.Set) -> list[Phase]:
    """Return the phases of a loop in the order of one round, all iterations as one where nothing goes round.

    A counter of few values on which remainders depend has one phase for each: half-sweeps of red-black Gauss-Seidel. A
    counter by whose remainder a subscript of what is written goes round, as in ``u[(t + 1) % 2][i]``, has one for
    each remainder, if reads reach further than one place.
    """
    whole = [Phase(None, reached, iterator)]
    if not any(_remainders(item, iterator.written) for item in body):
        return whole
    falls = not iterator.value.is_equal(variable(iterator.internal))
    values = bound_set(reached, [iterator.internal], "").reset_tuple_id()
    values = values.project_out(isl.dim_type.param, 0, values.dim(isl.dim_type.param))
    least, most = values.dim_min_val(0), values.dim_max_val(0)
    if least.is_int() and most.is_int():  # else without an end, or empty
        first, last = least.to_python(), most.to_python()
        if last - first < _MOST_PHASES:
            return [*_colours(iterator, reached, range(last, first - 1, -1) if falls else range(first, last + 1))]
    period = _period(body, iterator.written)
    return [*_planes(iterator, reached, period, falls=falls)] if period else whole


def _colours(iterator: Iterator, reached: isl.Set, values: range) -> Values[Phase]:
    for value in values:
        where = reached.intersect(variable(iterator.internal).eq_set(integer(value)))
        yield Phase(c_ast.Constant("int", str(value)), _without(where, iterator.internal), None)


def _planes(iterator: Iterator, reached: isl.Set, period: int, *, falls: bool) -> Values[Phase]:
    name = f"{iterator.internal}_by_{period}"
    number = variable(name)
    counter = Iterator(name, name, number.neg() if falls else number, number.neg() if falls else number)
    for rest in range(period - 1, -1, -1) if falls else range(period):
        value = number.scale_val(isl.Val(period)).add(integer(rest))
        where = _without(reached.intersect(variable(iterator.internal).eq_set(value)), iterator.internal)
        times = c_ast.BinaryOp("*", c_ast.Constant("int", str(period)), c_ast.ID(name))
        yield Phase(c_ast.BinaryOp("+", times, c_ast.Constant("int", str(rest))), where, counter)


def _without(reached: isl.Set, name: str) -> isl.Set:
    at = reached.find_dim_by_name(isl.dim_type.param, name)
    return reached if at < 0 else reached.project_out(isl.dim_type.param, at, 1)


def _period(body: Sequence[Any], name: str) -> int:
    """Return the period of the subscripts that go round in what is written; 0 if there is none, or several.

    Neither is there one worth planes where reads reach one place at most: tiles hold such a buffer as it is.
    """
    blocks = [item.block_items or [] for item in nodes(body) if isinstance(item, c_ast.Compound)]
    declared = [item for item in chain(body, *blocks) if isinstance(item, c_ast.Decl) and item.init is not None]
    named = {item.name: item.init for item in declared}  # not the counters of loops
    found, far = set(), False
    for item in nodes(body):
        if isinstance(item, c_ast.Assignment) and isinstance(element_of(item.lvalue)[0], c_ast.ID):
            array, subscripts = element_of(item.lvalue)
            rounds = [_rounds(subscript, named, name) for subscript in subscripts]
            found |= set[int]().union(*rounds)
            if any(rounds):
                still = [at for at, each in enumerate(rounds) if not each]
                far = far or not still or any(_reach(body, array.name, subscripts, at) > 1 for at in still)
    return found.pop() if far and len(found) == 1 and max(found) <= _MOST_PHASES else 0


def _rounds(node: Any, named: Mapping[str, Any], counter: str) -> set[int]:
    """Return the divisors of remainders of a subscript, those of the variables in it too."""
    inner = names_in([node]) & named.keys()
    return _remainders(node, counter).union(*(_rounds(named[name], named, counter) for name in inner))


def _reach(body: Sequence[Any], array: str, written: Sequence[Any], at: int) -> int:
    """Return how far elements accessed are at most from what is written along one subscript, constants compared."""
    refs = [element_of(item) for item in nodes(body) if isinstance(item, c_ast.ArrayRef)]
    same = [subscripts[at] for base, subscripts in refs if is_name(base, array) and len(subscripts) == len(written)]
    return max(abs(_at_zero(item) - _at_zero(written[at])) for item in same)


def _at_zero(subscript: Any) -> int:
    """Return the value of a subscript where all names are 0; more than one place where there is none."""
    value = constant(subscript, dict.fromkeys(names_in([subscript]), 0))
    return _MOST_PHASES if value is None else value


def _remainders(node: Any, name: str) -> set[int]:
    """Return the divisors of remainders of expressions with ``name``; what is no constant counts as large."""
    divisor = None
    if isinstance(node, c_ast.BinaryOp) and node.op in {"%", "&"} and name in names_in([node]):
        divisor = constant(node.right, {})
        divisor = divisor + 1 if divisor is not None and node.op == "&" else divisor
    elif isinstance(node, c_ast.FuncCall) and is_name(node.name, "floor_mod") and name in names_in([node]):
        divisor = constant(node.args.exprs[1], {})
    else:
        return {each for _, child in node.children() for each in _remainders(child, name)}
    return {divisor if divisor is not None and divisor > 0 else _MOST_PHASES + 1}
