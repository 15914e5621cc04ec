"""The number that the lemma on rows that are read whole gives."""

from __future__ import annotations

import sympy

#: Kinds of lines where those of column x and step x are one; narrowing: W(c,t) <= W(b,c).
ONE_LINE = ("same", "narrowing")


def most_weight(
    K: sympy.Expr, lines: str, parts: tuple[sympy.Expr, sympy.Expr, sympy.Expr, sympy.Expr], most: sympy.Expr
) -> sympy.Expr:
    """Return what the instances of a stretch weigh at most: ``parts`` are w, delta, h and M, ``most`` is K0.

    ``lines`` tells whether those of columns and steps are "apart", are "crossing", or are the "same", also "narrowing".

    >>> most_weight(sympy.Integer(100), "apart", (10, 0, 1, 10), sympy.Integer(0))
    2500
    """
    w, delta, h, M = map(sympy.sympify, parts)
    e, m, q = 1 + delta / w, 2 * h * M, w**2

    def product(x: sympy.Expr) -> sympy.Expr:
        return (e * x * K + m) ** 2 / (4 * e * x)

    def largest(*items: sympy.Expr) -> sympy.Expr:
        return sympy.Max(*items, evaluate=not K.free_symbols)

    def beyond(value: sympy.Expr) -> sympy.Expr:
        return sympy.Min(1, largest(0, value), evaluate=not K.free_symbols)

    if lines == "apart":
        return largest(e * K**2 / 4, m * K)
    if lines in ONE_LINE:
        pairs = product(sympy.Integer(1))
        if lines == "narrowing":
            pairs = sympy.Min(pairs, largest(e * K**2 / 4, m * K) + m**2 / e, evaluate=not K.free_symbols)
        return largest(pairs, beyond(K - most) * (e * K**2 / 2 + m * K))
    first = product(q / largest(q - 2 * K / 3, q / 3)) + 2 * e * h * (2 * K / 3) ** 2 / w
    always = beyond(9 * K - 7 * q + 1)
    second = e * (2 * K**2 * q / (9 * largest(q - K, 2 * q / 9)) + 2 * h * K**2 / w)
    return largest(first, second + m * K * (1 + 2 * always) / 3)
