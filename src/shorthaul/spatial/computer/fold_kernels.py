"""Kernels of the built-in operators: folds along messages that arrive one after the other."""

from __future__ import annotations

import cython
from cython.cimports.libc.math import isnan
from cython.cimports.shorthaul.core.compiled.bits import wrapped_product, wrapped_sum

#: Affine maps are composed modulo this prime.
PRIME = cython.declare(cython.ulonglong, 2147483647)


def fold_words(
    source: cython.const_int[::1], target: cython.const_int[::1], values: cython.ulonglong[:, ::1], code: cython.int
) -> None:
    """Let every source in turn put its value before its target's; ``values`` has shape (nodes, words).

    Sums and products are modulo 2^64, and the larger of two words is that of two unsigned numbers.
    """
    a: cython.Py_ssize_t
    b: cython.Py_ssize_t
    with cython.nogil:
        for i in range(source.shape[0]):
            a = source[i]
            b = target[i]
            one = values[a, 0]
            other = values[b, 0]
            if code == 0:
                values[b, 0] = wrapped_sum(one, other)
            elif code == 1:
                values[b, 0] = max(one, other)
            elif code == 2:
                values[b, 0] = min(one, other)
            elif code == 3:
                values[b, 0] = wrapped_product(one, other)
            elif code == 4:
                values[b, 0] = one ^ other
            elif code == 5:
                values[b, 0] = one | other
            elif code == 6:
                values[b, 0] = one & other
            else:
                values[b, 1] = (other * values[a, 1] + values[b, 1]) % PRIME
                values[b, 0] = one * other % PRIME


def fold_reals(
    source: cython.const_int[::1], target: cython.const_int[::1], values: cython.double[::1], code: cython.int
) -> None:
    """Let every source in turn add its value to its target's: sum, max, min, product; no number wins over others."""
    b: cython.Py_ssize_t
    with cython.nogil:
        for i in range(source.shape[0]):
            b = target[i]
            one = values[source[i]]
            other = values[b]
            if code == 0:
                values[b] = one + other
            elif code == 3:
                values[b] = one * other
            elif isnan(one) or (code == 1 and one > other) or (code == 2 and one < other):
                values[b] = one
