"""Formulas of certificates as numbers: exact fractions, and 60 decimal digits where there are roots.

The text is SymPy's, read here by Python's parser and a few rules: nothing in a document is executed.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any, Final, cast

from shorthaul.core.errors import InputError

Number = Fraction | Decimal
#: What names are, and parts of a formula as a function has evaluated them.
_Known = dict[str | tuple[ast.AST, Any], Any]
#: How a function of a name is evaluated on its arguments.
_Call = Callable[[str, list[ast.expr], _Known], Any]

_DIGITS: Final = Context(prec=60)
#: What floors forgive, as roots are rounded.
_ROUNDING: Final = Decimal("1e-40")
#: Two numbers are the same up to this part.
_SAME: Final = Decimal("1e-30")
_KEPT: Final = Context(prec=28)

_ARITHMETIC: Final[dict[type[ast.AST], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_COMPARED: Final[dict[type, Callable[[Any, Any], bool]]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_DIGITAL: Final[dict[type[ast.AST], str]] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
}


def value_of(text: str, sizes: Mapping[str, int], *, opaque: bool = False) -> Number:
    """Return the number that a formula is at ``sizes``.

    Where it is ``opaque``, floors, extremes and pieces are some fixed functions of what they are given: two formulas
    are the same number only if they are one up to arithmetic, whatever a floor or a maximum hides at these sizes.

    Raises :class:`InputError` for anything that is no formula in these names.

    >>> value_of("2*S*floor(N**3/S**(3/2)) - Max(N, 1)/2", {"N": 6, "S": 4})
    Fraction(213, 1)
    >>> [
    ...     value_of(text, {"N": 6}, opaque=True) == value_of("Max(N, 2*N + 1)", {"N": 6}, opaque=True)
    ...     for text in ("Max(N + N + 1, N)", "Max(2*N + 1, N - 1)")
    ... ]
    [True, False]
    """
    try:
        given = tuple((name, sizes[name]) for name in _names(text) if name in sizes)
        found = _evaluated(text, given, _hidden if opaque else _called)
    except (SyntaxError, ValueError, RecursionError, ArithmeticError, KeyError, TypeError) as error:
        raise InputError(f"is no formula: {error}", place="formula", value=text[:80]) from None
    if isinstance(found, Fraction | Decimal):
        return found
    raise InputError("is no number", place="formula", value=text[:80])


def as_decimal(number: Number) -> Decimal:
    """Return a number in decimal digits."""
    if isinstance(number, Decimal):
        return number
    return _DIGITS.divide(Decimal(number.numerator), Decimal(number.denominator))


def is_same(a: Number, b: Number) -> bool:
    """True if two numbers are equal, up to the rounding of roots."""
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return a == b
    x, y = as_decimal(a), as_decimal(b)
    return abs(x - y) <= _SAME * max(Decimal(1), abs(x), abs(y))


@functools.lru_cache(1024)
def power(base: Number, exponent: Fraction) -> Number:
    """Return ``base ** exponent``, exact where it is rational."""
    if exponent.denominator == 1 and isinstance(base, Fraction):
        return base**exponent.numerator
    if base == 0:
        return Fraction(0)
    if isinstance(base, Fraction) and exponent.denominator == 2:
        root = Fraction(math.isqrt(base.numerator), math.isqrt(base.denominator)) if base > 0 else Fraction(0)
        if root * root == base:
            return root**exponent.numerator
    if exponent.denominator == 2 and base > 0:  # a root and products of it are found faster than a logarithm
        return _DIGITS.power(_DIGITS.sqrt(as_decimal(base)), exponent.numerator)
    return _DIGITS.power(as_decimal(base), as_decimal(exponent))


def floor(number: Number) -> Fraction:
    """Return the whole number below; what lies under one by rounding only counts as that one."""
    if isinstance(number, Fraction):
        return Fraction(math.floor(number))
    return Fraction(math.floor(_DIGITS.fma(_ROUNDING, max(Decimal(1), number.copy_abs()), number)))


def least_events(given: Any, events: Fraction, segments: Number, capacity: int) -> Fraction:
    """Return the least number of events of so many segments, by the lemma on segments.

    Where the text ``given`` for the events of a segment is a number, the first segment has ``capacity`` more.

    >>> least_events("100", Fraction(100), Fraction(7, 2), 30), least_events("5*S", Fraction(150), Fraction(7, 2), 30)
    (Fraction(330, 1), Fraction(450, 1))
    """
    if not is_number(given):
        return events * floor(segments)
    further = -floor(combined(ast.Sub, Fraction(0), segments)) - 1
    return events * further + capacity * min(Fraction(1), further)


def is_number(given: Any) -> bool:
    """Return whether a text is a whole number."""
    return str(given).isdecimal()


def events_of(given: Mapping[str, Any], here: Mapping[str, int]) -> Fraction:
    """Return the events of a segment; raises :class:`InputError` where they are no whole number."""
    events = value_of(str(given["events"]), here)
    if not isinstance(events, Fraction) or events.denominator != 1 or events < 1:
        raise InputError("is no whole number of events", place="events", value=given["events"])
    return events


def other_counts(
    given: Mapping[str, Any], known: Mapping[str, int], sizes: Mapping[str, int], *, at_least: bool = False
) -> Iterator[str]:
    """Yield the counts ``given`` as formulas that are not those ``known`` at ``sizes``, or not ``at_least`` these."""
    for name, number in known.items():
        stated = value_of(str(given[name]), sizes)
        if not is_same(stated, Fraction(number)) and not (at_least and stated > number):
            yield f"{name} is {as_decimal(stated):g}, {number} are counted"


def other_value(given: Mapping[str, Any], value: Number, here: Mapping[str, int]) -> Iterator[str]:
    """Yield if the value of a certificate is another one."""
    if not is_same(value, value_of(str(given["value"]), here)):
        yield f"the value does not follow from the counts at {dict(here)}"


def combined(kind: type[ast.AST], a: Number, b: Number) -> Number:
    """Return the result of ``ast.Add``, ``Sub``, ``Mult`` or ``Div``."""
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return cast("Fraction", _ARITHMETIC[kind](a, b))
    return Decimal(getattr(_DIGITS, _DIGITAL[kind])(as_decimal(a), as_decimal(b)))


@functools.lru_cache(256)
def _parsed(text: str) -> ast.expr:
    """Return the expression of a text, equal parts as one; a certificate's formulas are asked for at many sizes."""
    try:
        return cast("ast.expr", _shared(ast.parse(text, mode="eval").body, {}))
    except MemoryError:  # so Python's parser calls what is nested too deeply
        raise RecursionError from None


def _shared(node: ast.AST, known: dict[Any, ast.AST]) -> ast.AST:
    """Return a tree in which equal parts are one object: two of three parts of a formula stand in it before."""
    key: list[Any] = [type(node)]
    for name, value in ast.iter_fields(node):
        items = value if isinstance(value, list) else [value]
        made = [_shared(item, known) if isinstance(item, ast.AST) else item for item in items]
        setattr(node, name, made if isinstance(value, list) else made[0])
        key.append(tuple(id(item) if isinstance(item, ast.AST) else (type(item), item) for item in made))
    return known.setdefault(tuple(key), node)


@functools.lru_cache(256)
def _names(text: str) -> frozenset[str]:
    return frozenset(node.id for node in ast.walk(_parsed(text)) if isinstance(node, ast.Name))


@functools.lru_cache(10_000)
def _evaluated(text: str, sizes: tuple[tuple[str, int], ...], call: _Call) -> Any:
    """Return the value of a text; certificates repeat their formulas, and most have not all parameters in them."""
    return _value(_parsed(text), {**dict(sizes)}, call)


@functools.lru_cache(1024)
def _constant(value: float) -> Fraction:
    return Fraction(str(value))


def _value(node: ast.AST, known: _Known, call: _Call) -> Any:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, bool) else _constant(node.value)
    if isinstance(node, ast.Name):
        return Fraction(known[node.id])
    if (node, call) not in known:
        known[node, call] = _part(node, known, call)
    return known[node, call]


def _part(node: ast.AST, known: _Known, call: _Call) -> Any:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return combined(ast.Sub, Fraction(0), _value(node.operand, known, call))
    if isinstance(node, ast.BinOp):
        return _binary(node, known, call)
    if isinstance(node, ast.Compare):
        items = [_value(item, known, call) for item in (node.left, *node.comparators)]
        signs = [_COMPARED[type(item)] for item in node.ops]
        ordered = [as_decimal(item) if any(isinstance(one, Decimal) for one in items) else item for item in items]
        return all(sign(a, b) for sign, a, b in zip(signs, ordered, ordered[1:], strict=False))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        return call(node.func.id, node.args, known)
    raise ValueError(f"{ast.unparse(node)[:40]} is not understood")


def _binary(node: ast.BinOp, known: _Known, call: _Call) -> Any:
    a, b = _value(node.left, known, call), _value(node.right, known, call)
    if isinstance(node.op, ast.BitAnd | ast.BitOr):
        if not (isinstance(a, bool) and isinstance(b, bool)):
            raise TypeError("conditions are joined that are none")
        return (a and b) if isinstance(node.op, ast.BitAnd) else (a or b)
    if isinstance(node.op, ast.Pow):
        if not isinstance(b, Fraction) or abs(b) > 64:
            raise ValueError("an exponent is no small fraction")
        return power(a, b)
    return combined(type(node.op), a, b)


def _called(name: str, arguments: list[ast.expr], known: _Known) -> Any:
    if name == "Piecewise":
        for item in arguments:
            if not isinstance(item, ast.Tuple) or len(item.elts) != 2:
                raise ValueError("a piece is no pair")
            if _value(item.elts[1], known, _called) is True:
                return _value(item.elts[0], known, _called)
        raise ValueError("no piece holds")
    values = [_value(item, known, _called) for item in arguments]
    if name in {"Max", "Min"} and values:
        key = None if all(isinstance(item, Fraction) for item in values) else as_decimal
        return (max if name == "Max" else min)(values, key=key)
    if name == "Mod" and len(values) == 2:
        return values[0] - values[1] * floor(combined(ast.Div, *values))
    if name == "Eq" and len(values) == 2:
        return is_same(*values)
    if name == "Ne" and len(values) == 2:
        return not is_same(*values)
    (only,) = values
    if name == "floor":
        return floor(only)
    if name == "ceiling":
        return -floor(combined(ast.Sub, Fraction(0), only))
    if name == "sqrt":
        return power(only, Fraction(1, 2))
    raise ValueError(f"{name} is not known")


def _stand_in(name: str, values: Iterable[Number | str]) -> Fraction:
    """Return a fixed number in place of a function of some values, the same for values that are :func:`is_same`."""
    texts = [item if isinstance(item, str) else str(_KEPT.plus(as_decimal(item)).normalize()) for item in values]
    digest = hashlib.sha256("|".join((name, *texts)).encode()).digest()
    return Fraction(int.from_bytes(digest[:8], "big"), 2**40)


def _hidden(name: str, arguments: list[ast.expr], known: _Known) -> Any:
    if name == "sqrt":
        return _called(name, arguments, known)
    if name == "Piecewise":
        pairs = [item.elts for item in arguments if isinstance(item, ast.Tuple) and len(item.elts) == 2]
        return _stand_in(name, (key for a, b in pairs for key in (_value(a, known, _hidden), ast.dump(b))))
    if name not in {"Max", "Min"}:
        return _stand_in(name, (_value(item, known, _hidden) for item in arguments))
    values = (_value(item, known, _hidden) for item in _flat(name, arguments))
    kept = {_KEPT.plus(as_decimal(item)).normalize(): item for item in values}
    return next(iter(kept.values())) if len(kept) == 1 else _stand_in(name, sorted(kept))


def _flat(name: str, arguments: list[ast.expr]) -> Iterator[ast.expr]:
    """Yield the arguments of an extreme, those of the same one inside of it among them."""
    for item in arguments:
        if isinstance(item, ast.Call) and isinstance(item.func, ast.Name) and item.func.id == name:
            yield from _flat(name, item.args)
        else:
            yield item
