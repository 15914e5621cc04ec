"""Kernels of the checker: sequential folds over subtrees and along root paths, shared with no program."""

from __future__ import annotations

import cython
from cython.cimports.libc.math import isnan
from cython.cimports.shorthaul.core.compiled.bits import wrapped_product, wrapped_sum

#: Affine maps are composed modulo this prime.
PRIME = cython.declare(cython.ulonglong, 2147483647)


def fold_words(
    parent: cython.const_int[::1],
    parents_first: cython.const_int[::1],
    values: cython.ulonglong[:, ::1],
    code: cython.int,
    up: cython.bint,
) -> None:
    """Replace every value by the fold of its subtree, or of its path from the root; shape (n, words).

    By sum, max, min, product, xor, or, and by their code, 0 to 6. Code 7 composes affine maps modulo 2^31 - 1: first
    the parent's, (a0, a1), then (b0, b1), where (m, c) maps t to m t + c. Sums and products are modulo 2^64; words are
    compared as unsigned numbers.
    """
    a: cython.Py_ssize_t
    out: cython.Py_ssize_t
    with cython.nogil:
        n: cython.Py_ssize_t = parent.shape[0]
        for i in range(n):
            v = n - 1 - i if up else i
            if parents_first.shape[0] > 0:
                v = parents_first[v]
            a = parent[v]
            if a < 0:
                continue
            out = a if up else v
            one = values[a, 0]
            other = values[v, 0]
            if code == 0:
                values[out, 0] = wrapped_sum(one, other)
            elif code == 1:
                values[out, 0] = max(one, other)
            elif code == 2:
                values[out, 0] = min(one, other)
            elif code == 3:
                values[out, 0] = wrapped_product(one, other)
            elif code == 4:
                values[out, 0] = one ^ other
            elif code == 5:
                values[out, 0] = one | other
            elif code == 6:
                values[out, 0] = one & other
            else:
                values[out, 1] = (values[a, 1] * other + values[v, 1]) % PRIME
                values[out, 0] = one * other % PRIME


def fold_reals(
    parent: cython.const_int[::1],
    parents_first: cython.const_int[::1],
    values: cython.double[::1],
    code: cython.int,
    up: cython.bint,
) -> None:
    """Replace every number by the fold of its subtree, or of its path from the root: sum, max, min, product."""
    with cython.nogil:
        n: cython.Py_ssize_t = parent.shape[0]
        for i in range(n):
            v = n - 1 - i if up else i
            if parents_first.shape[0] > 0:
                v = parents_first[v]
            if parent[v] < 0:
                continue
            one = values[parent[v]]
            other = values[v]
            if code == 0:
                other = one + other
            elif code == 3:
                other = one * other
            elif isnan(one) or (code == 1 and one > other) or (code == 2 and one < other):
                other = one
            values[parent[v] if up else v] = other
