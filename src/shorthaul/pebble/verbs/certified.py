"""The bound of a result document, its certificate verified: what ``check --bound`` does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from shorthaul.core.amounts import Bound
from shorthaul.core.check import CheckReport
from shorthaul.core.document import load_bound
from shorthaul.core.errors import InputError
from shorthaul.pebble.bounds.best import uncertified
from shorthaul.pebble.check.certificate import AS_IT_IS, parts_of, verify
from shorthaul.pebble.model import Cdag, Terms
from shorthaul.pebble.options import PricedOptions
from shorthaul.pebble.verbs.terms import terms_of

#: The options that say in which game a bound holds.
_OF_THE_GAME = ("load_price", "store_price", "order", "partial", "in_place")


@dataclass(frozen=True, slots=True)
class Claim:
    """That plans within ``budget`` pay at least ``value`` of ``of``; ``verified``: all of its certificate is."""

    budget: int
    recompute: bool
    terms: Terms
    of: str
    value: float
    verified: bool


def with_certificate(bound: Bound) -> Bound:
    """Return the bound with its certificate; where it has none, that says so.

    >>> with_certificate(Bound("traffic", 3, "exhausted search", "")).details
    {'certificate': {'parts': [{'kind': 'algorithmic'}, {'kind': 'exhaustive', 'method': 'exhausted search'}]}}
    """
    if "certificate" in bound.details:
        return bound
    rest = [] if bound.method == "algorithmic" else [uncertified(bound.method)]
    return replace(bound, details={**bound.details, "certificate": {"parts": [{"kind": "algorithmic"}, *rest]}})


def is_certified(bound: Bound) -> bool:
    """True if all of a bound has a certificate."""
    return not any(part["kind"] in ("exhaustive", "formula") for part in bound.details["certificate"]["parts"])


def certified(cdag: Cdag, path: str, kind: str) -> tuple[CheckReport, Claim]:
    """Return what is wrong with the bound in the document at ``path``, in ``remarks`` what was verified, and its claim.

    Raises :class:`InputError` if there is no such document, or it holds no certificate.
    """
    document, bound = load_bound(path, kind)
    try:
        parts_of(bound)  # first: other verbs say less of their game
        budget, recompute, options = _game(document, cdag)
        terms = terms_of(cdag, options)
        violations, remarks = verify(cdag, bound, budget, recompute=recompute, terms=terms)
    except InputError as error:
        raise error.in_file(path) from None
    how = "values may be computed again" if recompute else "no value is computed twice"
    verified = not any(AS_IT_IS in line for line in remarks)
    claim = Claim(budget, recompute, terms, bound["of"], bound["value"], verified)
    told = (f"the bound is on plans within {budget:,} where {how}", *remarks)
    return CheckReport(tuple(violations), None, told), claim


def _game(document: Mapping[str, object], cdag: Cdag) -> tuple[int, bool, PricedOptions]:
    """Return the budget of a document, whether values may be computed again, the prices and the order."""
    problem, made = document.get("problem"), document.get("provenance")
    budget = problem.get("budget") if isinstance(problem, Mapping) else None
    if type(budget) is not int or budget < 1:
        raise InputError("must be the fast memory of the bound", place="problem.budget", value=budget, allowed="from 1")
    for name, size in (("nodes", cdag.n), ("edges", cdag.edges)):
        if isinstance(problem, Mapping) and problem.get(name) != size:
            raise InputError("is of another graph", place=f"problem.{name}", value=problem.get(name), allowed=str(size))
    given = made.get("options") if isinstance(made, Mapping) else None
    place = "provenance.options"
    if not isinstance(given, Mapping) or type(given.get("recompute")) is not bool:
        raise InputError("must say in which game the bound holds", place=place, allowed="the options of pebble bound")
    for name in _OF_THE_GAME:
        if type(given.get(name)) is not type(getattr(PricedOptions(), name)):
            raise InputError("must say in which game the bound holds", place=f"{place}.{name}", value=given.get(name))
    return budget, given["recompute"], PricedOptions(**{name: given[name] for name in _OF_THE_GAME})
