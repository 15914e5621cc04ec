"""The lemma on segments in numbers, beside plays that compute as much as every segment may."""

from __future__ import annotations

from fractions import Fraction

import sympy
from hypothesis import given
from hypothesis import strategies as st

from shorthaul.affine.check.formulas import least_events as checked
from shorthaul.affine.integer_sets.leading_term import S
from shorthaul.affine.proofs.segments import events_at, events_of_parts, least_events

_NUMBERS = st.integers(1, 40)


def fewest_events(size: int, events: int, capacity: int, power: Fraction) -> int:
    """Return the fewest events of a play that computes ``size`` instances, K to the ``power`` with K values at hand.

    The first segment begins with an empty memory, so it may have S events more than the others.
    """
    done, most = 0, (capacity + events) ** power
    while _segments(done, events, capacity) * most < size:
        done += 1
    return done


def _segments(done: int, events: int, capacity: int) -> int:
    """Return how many segments a play of ``done`` events has, the first one with S more."""
    return 1 + max(0, -(-(done - capacity - events) // events))


@given(_NUMBERS, _NUMBERS, st.integers(1, 60_000), st.sampled_from([Fraction(3, 2), Fraction(2), Fraction(1)]))
def test_no_play_has_fewer_events(events: int, capacity: int, size: int, power: Fraction) -> None:
    at = {sympy.Symbol("N"): sympy.Integer(size), S: sympy.Integer(capacity)}
    formula = sympy.Symbol("N") / (S + events) ** sympy.Rational(power)
    value, segments = least_events(formula, sympy.Integer(events)).xreplace(at), formula.xreplace(at)
    least = fewest_events(size, events, capacity, power)
    assert value <= least <= value + 1 or (value == 0 and segments <= 1)
    assert events_of_parts(formula, sympy.Integer(1), sympy.Integer(events)).xreplace(at) <= least
    if segments.is_Rational:
        exact = Fraction(int(segments.p), int(segments.q))
        assert value == checked(str(events), Fraction(events), exact, capacity)
        assert value == events_at(size / float(capacity + events) ** float(power), events, capacity)
