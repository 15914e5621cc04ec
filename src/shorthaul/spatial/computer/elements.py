"""NumPy's functions of single elements, as registers apply them to arrays of elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.core.errors import InputError
from shorthaul.spatial.computer.memory import NUMBERS

Array = npt.NDArray[Any]
UFUNCS: dict[str, np.ufunc] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "floordiv": np.floor_divide, "truediv": np.true_divide,
    "mod": np.remainder, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "lshift": np.left_shift,
    "rshift": np.right_shift, "lt": np.less, "le": np.less_equal, "eq": np.equal, "ne": np.not_equal,
    "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip
#: NumPy says nothing of these on integers.
_SILENT = {*UFUNCS.values()} - {np.floor_divide, np.true_divide, np.remainder}
COMPARISONS = {UFUNCS[name] for name in ("lt", "le", "eq", "ne", "gt", "ge")}
#: NumPy's functions that look at one element at a time.
BY_ELEMENT = {one for one in vars(np).values() if isinstance(one, np.ufunc) and one.signature is None}


def by_element(ufunc: np.ufunc, arrays: Sequence[Any], keywords: Mapping[str, Any]) -> Array:
    """Return what a function gives; raises :class:`TypeError` if these are two results."""
    if ufunc in _SILENT and all(map(_is_whole, arrays)):
        found = ufunc(*arrays, **keywords)
    else:
        with np.errstate(all="ignore"):  # what NumPy says of the elements is nobody's to hear
            found = ufunc(*arrays, **keywords)
    if isinstance(found, tuple):
        raise TypeError(f"{ufunc.__name__} gives two results: call one function for each of them")
    return found  # type: ignore[no-any-return]


def _is_whole(array: Any) -> bool:
    return isinstance(array, int) or (not isinstance(array, float) and array.dtype.kind != "f")


def rows(arrays: list[Any]) -> list[Any]:
    """Return operands of which those with one number per node meet those with several."""
    if not [array for array in arrays if isinstance(array, np.ndarray) and array.ndim == 2]:
        return arrays
    return [array[:, None] if np.ndim(array) == 1 else array for array in arrays]


def size_of(data: Array) -> int:
    """Return the bytes of one element."""
    return data.itemsize if data.ndim == 1 else data.itemsize * data.shape[1]


def inputs(values: npt.ArrayLike, count: int, name: str) -> Array:
    """Return a copy of one number, or row of numbers, per node; raises :class:`InputError` for what is none."""
    try:
        data = np.array(np.asarray(values))  # a copy, whatever the object itself says of copies
    except ValueError:  # rows of several lengths
        data = np.array(None)
    if data.ndim not in {1, 2} or len(data) != count or data.dtype.kind not in NUMBERS:
        raise InputError(
            "does not have one value per node", place=name, value=f"shape {data.shape} of {data.dtype}",
            allowed=f"numbers, shape ({count},) or ({count}, width)",
        )  # fmt: skip
    return data
