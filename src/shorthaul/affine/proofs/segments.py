"""The least number of events of a play, from the segments that it has (lemma on segments)."""

from __future__ import annotations

import math

import sympy

from shorthaul.affine.integer_sets.leading_term import S


def least_events(segments: sympy.Expr, events: sympy.Expr) -> sympy.Expr:
    """Return the least number of events where the instances fill so many ``segments``, in general no whole number.

    ``events`` are those of a segment. Where they are a number, the first segment has S more: it begins with an empty
    memory, so it computes no more than the others.

    >>> least_events(sympy.Rational(7, 2), sympy.Integer(100)).subs({S: 30}).doit()
    330
    >>> least_events(sympy.Rational(7, 2), 2 * S).doit()
    6*S
    """
    if events.has(S):
        return events * sympy.floor(segments, evaluate=False)
    further = sympy.ceiling(segments, evaluate=False) - 1
    return events * further + S * sympy.Min(1, further, evaluate=False)


def events_of_parts(weight: sympy.Expr, most: sympy.Expr, events: sympy.Expr) -> sympy.Expr:
    """Return the least number of events of weight / most segments or more where the last one is not counted."""
    if events.has(S):
        return events / S * weight / sympy.expand(most / S) - events  # without S in both
    return least_events(weight / most, events)


def events_at(segments: float, events: int, capacity: int) -> float:
    """Return the same as :func:`least_events` for numbers.

    >>> events_at(3.5, 100, 30), events_at(1.0, 100, 30)
    (330, 0)
    """
    return events * (math.ceil(segments) - 1) + (capacity if segments > 1 else 0)


def value_text(size: str, most: str, T: sympy.Expr) -> str:
    """Return the bound of the lemma on segments in words, without what is taken off."""
    if T.has(S):
        return f"T floor({size}/{most})"
    return f"T (ceil({size}/{most}) - 1) + S (no S unless {size} > {most})"
