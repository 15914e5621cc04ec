"""Associative operators on 64-bit integers and real numbers, and on pairs of integers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from shorthaul.core.arguments import fields_checked
from shorthaul.core.errors import unknown_name
from shorthaul.spatial.computer.fold_kernels import fold_reals, fold_words
from shorthaul.spatial.computer.memory import MachineError

Index = npt.NDArray[np.int32]
Values = npt.NDArray[Any]

_PRIME = 2**31 - 1
#: Mixes the nodes on which a program's own operator is tried: what an honest one gives does not depend on it.
_MIXER = np.random.default_rng()


@dataclass(frozen=True, slots=True)
@fields_checked
class Operator:
    """An associative operator: ``combine(a, b)`` works on arrays of values, the earlier operand first.

    ``identity`` is neutral on both sides. A value has ``words`` words; arrays have shape (m,), or (m, words) for more
    than one. ``code`` numbers the operators that kernels know, -1 for others. Sums and products of integers are modulo
    2^64, so that a result which fits is right, whatever the order.
    """

    name: str
    combine: Callable[[Values, Values], Values]
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


def combined(operator: Operator, a: Values, b: Values) -> Values:
    """Return ``operator`` applied to each pair of values, as numbers of the first one's type.

    Raises :class:`MachineError` if an operator of the program's own gives another result for a node where it sees
    other nodes with it. Such an operator gets copies, so that nothing else is changed by it, then or later.
    """
    with np.errstate(all="ignore"):
        if is_built_in(operator):
            return np.asarray(operator.combine(a, b)).astype(a.dtype, copy=False)
        found = np.array(np.asarray(operator.combine(a.copy(), b.copy())))
        if found.shape != a.shape:
            raise MachineError("gives another shape", place=f"operator {operator.name!r}", value=found.shape)
        if len(a) > 1:
            mixed = _MIXER.permutation(len(a))
            for part in (mixed[: len(a) // 2], mixed[len(a) // 2 :]):
                apart = np.asarray(operator.combine(a[part], b[part]))
                if not np.array_equal(apart, found[part], equal_nan=found.dtype.kind == "f"):
                    raise MachineError("looks at the values of other processors", place=f"operator {operator.name!r}")
        return found.astype(a.dtype, copy=False)
