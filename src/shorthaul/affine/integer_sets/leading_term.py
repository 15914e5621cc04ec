"""The leading term of a bound: all sizes large, S large but small against every size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import sympy

from shorthaul.affine.effort import OutOfEffortError, step
from shorthaul.affine.integer_sets.quasi_polynomial import symbol
from shorthaul.affine.tuning import COMPARED_TERMS, LEADING_APART, LEADING_BRANCHES

#: The fast memory in words.
S = symbol("S")


def leading_term(
    expression: sympy.Expr, parameters: Sequence[str], like: Mapping[str, int] | None = None
) -> sympy.Expr:
    """Return the leading term of ``expression``: of highest total degree in the sizes, then highest order in S.

    Floors are dropped, a ``Max`` keeps its largest argument where the orders differ (and every one of the same order),
    piecewise counts are taken where all sizes are large: about equal ones, or as ``like`` each other as these.

    >>> N = symbol("N")
    >>> leading_term(sympy.Max(N**2, 2 * N**3 / sympy.sqrt(S) - 3 * N**2 - 2 * S), ["N"])
    2*N**3/sqrt(S)
    """
    sizes = [symbol(name) for name in parameters if name != "S"]
    like = like or {}
    terms = _terms(_plain(expression, sizes, like), sizes, _shares(sizes, like))
    return sympy.Add(*terms)


def _shares(sizes: Sequence[sympy.Symbol], like: Mapping[str, int]) -> dict[sympy.Symbol, int]:
    """Return a large value for every size, in the proportions of those given."""
    scale = max(1, COMPARED_TERMS.size // min(like.values(), default=1))
    return {size: scale * like[size.name] if like else COMPARED_TERMS.size for size in sizes}


def simplified(value: sympy.Expr) -> sympy.Expr:
    """Return ``sympy.simplify`` of a formula; the formula itself where the search ends before.

    >>> simplified(symbol("N") ** 2 / symbol("N"))
    N
    """
    try:
        step()
        return value if _is_monomial(value) else sympy.simplify(value, measure=_size)
    except OutOfEffortError:
        return value


@lru_cache(maxsize=1024)
def simplest(value: sympy.Expr) -> sympy.Expr:
    """Return ``sympy.simplify`` of a formula in S; many arguments have the same one, and each takes 20 ms.

    >>> simplest((S + 1) * (S - 1) + 1)
    S**2
    """
    return sympy.simplify(value)


def _is_monomial(value: sympy.Expr) -> bool:
    """True for a rational number times powers of symbols with rational exponents: as short as it gets."""
    for factor in sympy.Mul.make_args(value):
        base, exponent = factor.as_base_exp()
        if not (factor.is_Rational or (base.is_Symbol and exponent.is_Rational)):
            return False
    return True


def monomials(value: sympy.Expr) -> tuple[sympy.Expr, ...]:
    """Return the terms of a formula multiplied out, powers of one base together.

    >>> N = symbol("N")
    >>> sympy.Add(*monomials((N + 1) * (N - 1)))
    N**2 - 1
    """
    terms: tuple[sympy.Expr, ...] = sympy.Add.make_args(sympy.expand(value))
    if not all(map(_is_monomial, terms)):
        terms = sympy.Add.make_args(sympy.expand(sympy.powsimp(sympy.Add(*terms))))
    return terms


def _size(value: sympy.Expr) -> int:
    """Return what ``sympy.simplify`` makes as small as it can, a step of work each time it asks."""
    step()
    return int(value.count_ops(visual=False))


def order(term: sympy.Expr, sizes: Sequence[sympy.Symbol]) -> tuple[sympy.Expr, sympy.Expr]:
    """Return the total degree of a monomial in the sizes, and its power of S."""
    powers = term.as_powers_dict()
    return sympy.Add(*(powers.get(size, 0) for size in sizes)), powers.get(S, sympy.Integer(0))


def _plain(expression: sympy.Expr, sizes: Sequence[sympy.Symbol], like: Mapping[str, int]) -> sympy.Expr:
    """Return the expression without floors (x for floor x), and every Piecewise replaced by its first branch.

    Of a sum that is divided by, and of a power of a sum in S, only the highest order is kept.
    """
    if isinstance(expression, sympy.Piecewise):
        return _plain(_branch(expression, like), sizes, like)
    if isinstance(expression, sympy.floor):
        return _plain(expression.args[0], sizes, like)
    if not expression.args:
        return expression
    inner = tuple(_plain(item, sizes, like) for item in expression.args)
    if inner == expression.args:
        result = expression
    elif isinstance(expression, sympy.Max):
        result = sympy.Max(*inner, evaluate=False)  # comparing its arguments is slow, and `_terms` does it by order
    else:
        result = expression.func(*inner)
    is_sum = result.is_Pow and result.base.is_Add
    if not is_sum or not (result.exp.is_negative or result.base.free_symbols == {S}):
        return result
    terms = sympy.Add.make_args(sympy.expand(result.base))
    best = max(order(term, sizes) for term in terms)
    return sympy.Add(*(term for term in terms if order(term, sizes) == best)) ** result.exp


def _branch(item: sympy.Piecewise, like: Mapping[str, int]) -> sympy.Expr:
    return next((value for value, where in item.args if _holds_for_large(where, like)), item.args[0][0])


def _holds_for_large(where: sympy.Basic, like: Mapping[str, int]) -> bool:
    """True if the condition holds where sizes are large, about equal or ``like`` those, and S is small beside them."""
    if where in (sympy.true, True):
        return True
    where = where.replace(sympy.floor, lambda inner: inner)
    values = {
        name: LEADING_BRANCHES.size + LEADING_APART * at for at, name in enumerate(sorted(where.free_symbols, key=str))
    }
    scale = max(1, LEADING_BRANCHES.size // min(like.values(), default=1))
    values.update({name: scale * like[name.name] for name in values if name.name in like})
    values.update({S: LEADING_BRANCHES.fast_memory} if S in values else {})
    return bool(where.subs(values) == sympy.true)


def _terms(
    expression: sympy.Expr, sizes: Sequence[sympy.Symbol], large: Mapping[sympy.Symbol, int]
) -> list[sympy.Expr]:
    """Return the monomials of highest order."""
    if isinstance(expression, sympy.Max):
        options = [_terms(argument, sizes, large) for argument in expression.args]
        return max(options, key=lambda terms: _rank(terms, sizes, large))
    if isinstance(expression, sympy.Add):
        flat = [term for argument in expression.args for term in _terms(argument, sizes, large)]
    elif expression.has(sympy.Max):
        factors = sympy.Mul.make_args(expression)
        flat = [sympy.Mul(*(sympy.Add(*_terms(factor, sizes, large)) for factor in factors))]
    elif _is_monomial(expression):
        return [expression]
    else:
        flat = [*monomials(expression)]
    if len(flat) > 1:
        flat = list(sympy.Add.make_args(sympy.Add(*(sympy.expand(term) for term in flat))))
    best = max((order(term, sizes) for term in flat), default=(sympy.Integer(0), sympy.Integer(0)))
    return [term for term in flat if order(term, sizes) == best]


def _rank(
    terms: Sequence[sympy.Expr], sizes: Sequence[sympy.Symbol], large: Mapping[sympy.Symbol, int]
) -> tuple[sympy.Expr, sympy.Expr, float]:
    total = sympy.Add(*terms)
    values = dict.fromkeys(total.free_symbols, sympy.Integer(COMPARED_TERMS.small))
    values |= {size: sympy.Integer(value) for size, value in large.items()}
    values |= {S: sympy.Integer(COMPARED_TERMS.fast_memory)}
    number = float(total.xreplace(values))
    degree, power = order(terms[0], sizes) if terms else (sympy.Integer(0), sympy.Integer(0))
    return (degree, power, number) if number > 0 else (sympy.Integer(-1), sympy.Integer(0), number)
