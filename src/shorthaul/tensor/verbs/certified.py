"""The bound of a result document, its certificate verified: what ``check --bound`` does."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from shorthaul.core.amounts import TOLERANCE, Bound
from shorthaul.core.check import Violation
from shorthaul.core.document import load_bound
from shorthaul.core.errors import InputError
from shorthaul.tensor.bounds.best import BY_FORMULA, CERTIFIED, certified_proof, lower_bound
from shorthaul.tensor.check.certificate import certificate_of, verify
from shorthaul.tensor.formats.documents import RESULT_KIND
from shorthaul.tensor.model import Problem, Rules

#: All that a bound with a certificate may say.
_WORDS: Final = {"of", "value", "method", "proof", "certificate", "linear_program", *BY_FORMULA}


def certified(path: str, problem: Problem, rules: Rules) -> tuple[list[Violation], Bound]:
    """Return what is wrong with the certificate in a result document, and the bound that it certifies.

    Raises :class:`InputError` if there is no such document, or it holds no certificate.
    """
    document, given = load_bound(path, RESULT_KIND)
    try:
        if document.get("rules", rules.name) != rules.name:
            cure = f"give --rules {document['rules']}"
            raise InputError("holds under other rules", place="rules", value=document["rules"], cure=cure)
        certificate = certificate_of(problem, given, "bound")
        wrong = verify(problem, rules, certificate) + _figures_beside(problem, rules, given)
    except InputError as error:
        raise error.in_file(path) from None
    proof = certified_proof(certificate.value, rules, is_cut=bool(certificate.parts.cuts))
    return wrong, Bound("latency", certificate.value, "certificate, verified", proof)


def _figures_beside(problem: Problem, rules: Rules, given: Mapping[str, Any]) -> list[Violation]:
    """Return which figures beside a certificate are not what they are for this problem; refuse what has no meaning."""
    for name, allowed in (("of", "latency"), ("method", CERTIFIED)):
        if given.get(name, allowed) != allowed:
            raise InputError("has no certificates", place=f"bound.{name}", value=given[name], allowed=repr(allowed))
    unknown = sorted({*given} - _WORDS)
    if unknown:
        cure = "leave it out: nothing says what it means"
        raise InputError("is not verified", place=f"bound.{unknown[0]}", value=given[unknown[0]], cure=cure)
    own = {"linear_program": given["value"]}
    if {*given} & {*BY_FORMULA}:
        own |= lower_bound(problem, rules).details
    wrong = []
    for name in sorted({*own} & {*given}):
        figure = given[name]
        is_number = isinstance(figure, int | float) and not isinstance(figure, bool)
        is_left_out = name == "streamed_operands" and is_number and figure == 0  # the time was up
        if not is_left_out and not (is_number and math.isclose(figure, own[name], rel_tol=TOLERANCE)):
            what = {"required": own[name], "available": figure if is_number else None}
            wrong.append(Violation("certificate-figure", name, "the figure beside the certificate is another", **what))
    return wrong
