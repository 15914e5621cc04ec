"""Associative operators on 64-bit integers and real numbers, on pairs of integers, and a program's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import index
from typing import Any, Final, NoReturn

import numpy as np
import numpy.typing as npt
from numpy.lib.mixins import NDArrayOperatorsMixin

from shorthaul.core.arguments import fields_checked
from shorthaul.core.errors import unknown_name
from shorthaul.spatial.computer.elements import BY_ELEMENT, rows
from shorthaul.spatial.computer.fold_kernels import fold_reals, fold_words
from shorthaul.spatial.computer.memory import NUMBERS, MachineError, Memory, made, sealed

Index = npt.NDArray[np.int32]
Values = npt.NDArray[Any]

_PRIME = 2**31 - 1


@dataclass(frozen=True, slots=True)
@fields_checked
class Operator:
    """An associative operator: ``combine(a, b)`` says what becomes of two values, the earlier operand first.

    It is asked once, and sees no number: it is built of NumPy's functions of single elements (``+``, ``np.maximum``),
    ``np.where``, numbers, ``astype``, ``a[..., k]`` for a word and ``np.stack([...], axis=-1)`` of words. ``identity``
    is neutral on both sides. A value has ``words`` words. ``code`` numbers the operators that kernels know, -1 for
    others. Sums and products of integers are modulo 2^64, so that a result which fits is right, whatever the order.
    """

    name: str
    combine: Callable[[Any, Any], Any]
    identity: Any
    commutative: bool = True
    words: int = 1
    code: int = -1


def _compose(a: Values, b: Values) -> Values:
    """First a, then b: t -> b0 (a0 t + a1) + b1, modulo 2^31 - 1."""
    return np.stack([a[..., 0] * b[..., 0] % _PRIME, (a[..., 1] * b[..., 0] + b[..., 1]) % _PRIME], axis=-1)


_LOWEST, _HIGHEST = np.int64(-(2**63)), np.int64(2**63 - 1)

OPERATORS: Final[dict[str, Operator]] = {
    operator.name: operator
    for operator in (
        Operator("sum", np.add, np.int64(0), code=0),
        Operator("max", np.maximum, _LOWEST, code=1),
        Operator("min", np.minimum, _HIGHEST, code=2),
        Operator("product", np.multiply, np.int64(1), code=3),
        Operator("xor", np.bitwise_xor, np.int64(0), code=4),
        Operator("or", np.bitwise_or, np.int64(0), code=5),
        Operator("and", np.bitwise_and, np.int64(-1), code=6),
        Operator("affine", _compose, (1, 0), commutative=False, words=2, code=7),
    )
}


_BUILT_IN = {operator.code: operator.combine for operator in OPERATORS.values()}
#: Codes of the operators that compare; kernels compare words without a sign.
_COMPARING = {1, 2}
_SIGN = np.uint64(1 << 63)


def operator_named(name: str, kind: Any = np.int64) -> Operator:
    """Return the built-in operator of this name for int64, uint64 or float64; raises :class:`InputError`.

    >>> operator_named("max").combine(np.array([1, 5]), np.array([3, 2])).tolist()
    [3, 5]
    """
    if name not in OPERATORS:
        raise unknown_name("operator", name, OPERATORS, place="--op")
    operator, kind = OPERATORS[name], np.dtype(kind)
    if kind == np.int64 or name == "affine":
        return operator
    if operator.code in _COMPARING:
        lowest, highest = (-np.inf, np.inf) if kind.kind == "f" else (0, 2**64 - 1)
        return replace(operator, identity=kind.type(lowest if name == "max" else highest))
    return replace(operator, identity=operator.identity.astype(kind))


def fold(source: Index, target: Index, values: Values, operator: Operator) -> None:
    """Let every source in turn put its value before its target's, in place, by a built-in operator."""
    if values.dtype.kind == "f":
        fold_reals(source, target, values, operator.code)
        return
    words = values.reshape(len(values), -1).view(np.uint64)
    flipped = values.dtype.kind == "i" and operator.code in _COMPARING
    if flipped:
        words ^= _SIGN
    fold_words(source, target, words, operator.code)
    if flipped:
        words ^= _SIGN


def is_built_in(operator: Operator) -> bool:
    """Whether the operator is what its code says, which kernels know."""
    return type(operator) is Operator and operator.combine is _BUILT_IN.get(operator.code)


@sealed
class Operand(NDArrayOperatorsMixin):
    """One of the two values that a program's own operator combines, or what it makes of them: steps, not numbers."""

    __slots__ = ("_at", "_steps")

    def _of(self, steps: list[_Step], at: int) -> Operand:
        self._steps = steps
        self._at = at
        return self

    def _step(self, function: Callable[..., Any], inputs: tuple[Any, ...]) -> Operand:
        taken: list[tuple[int, Any]] = []
        for one in inputs:
            if isinstance(one, Operand) and one._steps is self._steps:
                taken.append((one._at, None))
                continue
            given = None if isinstance(one, Operand) else np.asarray(one)
            if given is None or given.ndim or given.dtype.kind not in NUMBERS:
                raise MachineError("combines two values and numbers only", place="operator", value=type(one).__name__)
            taken.append((-1, one if type(one) in {int, float, bool} else given[()]))
        self._steps.append((function, tuple(taken)))
        return made(Operand)._of(self._steps, len(self._steps) + 1)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **keywords: Any) -> Operand:
        if method != "__call__" or type(ufunc) is not np.ufunc or ufunc not in BY_ELEMENT or keywords or ufunc.nout > 1:
            _refuse(f"{ufunc.__name__} {method} {sorted(keywords)}")
        return self._step(ufunc, inputs)

    def __array_function__(self, function: Any, _types: Any, args: Any, keywords: Any) -> Operand:
        if function is np.where and len(args) == 3 and not keywords:
            return self._step(np.where, args)
        if function is not np.stack or len(args) != 1 or keywords != {"axis": -1}:
            _refuse(f"{function.__name__}()")
        return self._step(_stacked, tuple(args[0]))

    def __getitem__(self, key: Any) -> Operand:
        """Return one word of a value of several, as arrays do: ``a[..., k]``."""
        if not isinstance(key, tuple) or len(key) != 2 or key[0] is not Ellipsis:
            _refuse(f"[{key}]")
        which = index(key[1])
        return self._step(lambda array: _word(array, which), (self,))

    def astype(self, dtype: Any) -> Operand:
        """Return the value as numbers of another type."""
        kind = np.dtype(dtype)
        return self._step(lambda array: array.astype(kind), (self,))

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        _refuse("an array")

    __bool__ = __iter__ = __len__ = __index__ = __float__ = __int__ = __array__
    __hash__ = None  # type: ignore[assignment]


def _quietly(operator: Operator, a: Values, b: Values) -> Values:
    with np.errstate(all="ignore"):
        return np.asarray(operator.combine(a, b)).astype(a.dtype, copy=False)


_Step = tuple[Callable[..., Any], tuple[tuple[int, Any], ...]]


def _refuse(what: str) -> NoReturn:
    raise MachineError(
        "looks at more than two values", place="operator", value=what,
        allowed="element-by-element functions of NumPy, np.where, a[..., k], np.stack([...], axis=-1), astype",
    )  # fmt: skip


def _stacked(*words: Values) -> Values:
    count = next(len(word) for word in words if np.ndim(word))
    if any(np.ndim(word) > 1 for word in words):
        raise ValueError("words are stacked, not values of several")
    return np.stack([np.broadcast_to(word, count) for word in words], axis=-1)


def _word(array: Values, which: int) -> Values:
    if array.ndim == 1 or not 0 <= which < array.shape[1]:
        raise ValueError(f"a value of {1 if array.ndim == 1 else array.shape[1]} words has none of number {which}")
    return array[:, which]


def combining(operator: Operator, memory: Memory) -> Callable[[Values, Values], Values]:
    """Return what applies ``operator`` to each pair of values, as numbers of the first one's type.

    An operator of the program's own is asked what it does here, once, by operands without numbers; what it writes into
    the computation counts among the constants. Raises :class:`MachineError` for what is more than that.
    """
    if is_built_in(operator):
        return lambda a, b: _quietly(operator, a, b)
    steps: list[_Step] = []
    result = operator.combine(*(made(Operand)._of(steps, at) for at in (0, 1)))
    if not isinstance(result, Operand) or result._steps is not steps:
        _refuse(f"its result is {type(result).__name__}")
    wanted, steps = result._at, steps[: max(result._at - 1, 0)]
    memory.constants += sum(at < 0 for _, taken in steps for at, _ in taken)

    def apply(a: Values, b: Values) -> Values:
        found = [a, b]
        try:
            with np.errstate(all="ignore"):
                for function, taken in steps:
                    inputs = [found[at] if at >= 0 else number for at, number in taken]
                    found.append(function(*(inputs if function is _stacked else rows(inputs))))
                    if found[-1].dtype.kind not in NUMBERS:
                        raise TypeError(f"{found[-1].dtype} is no number")
            if found[wanted].shape != a.shape:
                raise ValueError(f"gives another shape, {found[wanted].shape}")
        except (TypeError, ValueError, OverflowError) as error:
            raise memory.refused(str(error), place=f"operator {operator.name!r}") from error
        return found[wanted].astype(a.dtype, copy=found[wanted] is a or found[wanted] is b)

    return apply
