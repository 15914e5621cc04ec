"""The proofs of least periods in a result document, verified: what ``check --bound`` does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shorthaul.core.check import CheckReport, Violation
from shorthaul.core.document import expect_kind, load_json
from shorthaul.core.errors import InputError
from shorthaul.dataflow.bounds.constraints import constrained, constraints_of
from shorthaul.dataflow.check.core_prices import verify_prices
from shorthaul.dataflow.check.tile_prices import KEYS, verify_tile_prices
from shorthaul.dataflow.formats.documents import RESULT_KIND
from shorthaul.dataflow.loading import prepared
from shorthaul.dataflow.model import Application, Platform, Problem
from shorthaul.dataflow.options import STRATEGIES, BoundOptions, PlanOptions


def certified(application: Application, platform: Platform, path: str) -> CheckReport:
    """Return what is wrong with the proofs in the result document at ``path``, and in ``remarks`` what they prove.

    Raises :class:`InputError` if there is no such document, or it holds no proofs.
    """
    document = expect_kind(load_json(path), RESULT_KIND, file=path)
    try:
        bounds = document.get("front_bound")
        proofs = bounds.get("proofs") if isinstance(bounds, Mapping) else None
        if not isinstance(bounds, Mapping) or not isinstance(proofs, list) or not proofs:
            cure = "write some with bound --effort E --result"
            raise InputError("holds no proofs of least periods", place="front_bound.proofs", cure=cure)
        strategy, limited = _assumed(document, application, platform)
        violations = [
            violation
            for number, proof in enumerate(proofs)
            for violation in _verified(limited, platform, strategy, proof, f"front_bound.proofs[{number}]")
        ]
        remarks = () if violations else _remarks(bounds, proofs)
    except InputError as error:
        raise error.in_file(path) from None
    return CheckReport(tuple(violations), None, remarks)


def bound_of_journal(
    problem: Problem, kept: Mapping[str, Any], options: BoundOptions, platform: Platform | None = None, **_: object
) -> CheckReport:
    """Return what is wrong with the proofs in a journal."""
    application, machine = prepared(problem, platform, options.platform, None, None)[1:3]
    proofs = kept.get("proofs")
    if not isinstance(proofs, list):
        raise InputError("holds no proofs of least periods")
    wrong = [found for one in proofs for found in _verified(application, machine, options.strategy, one, "proof")]
    return CheckReport(tuple(wrong))


def _verified(
    application: Application, platform: Platform, strategy: str, proof: object, place: str
) -> list[Violation]:
    """Return what is wrong with a proof by what cores execute, or by what tiles hold."""
    if isinstance(proof, Mapping) and set(proof) == KEYS:
        return verify_tile_prices(application, platform, proof, place)
    return verify_prices(application, platform, strategy, proof, place)


def _assumed(document: Mapping[str, Any], application: Application, platform: Platform) -> tuple[str, Application]:
    """Return the strategy that the bounds are for, and the application with the actors that they take to be bound."""
    made = document.get("provenance")
    given = made.get("options") if isinstance(made, Mapping) else None
    strategy = given.get("strategy") if isinstance(given, Mapping) else None
    if not isinstance(given, Mapping) or strategy not in STRATEGIES:
        raise InputError(
            "must say what the bounds assume", place="provenance.options.strategy", value=strategy,
            allowed=", ".join(STRATEGIES),
        )  # fmt: skip
    bind = given.get("bind")
    if bind is None:
        return str(strategy), application
    if not isinstance(bind, str):
        raise InputError("is no binding", place="provenance.options.bind", value=bind)
    return str(strategy), constrained(
        application, platform, constraints_of(application, platform, PlanOptions(bind=bind))
    )


def _remarks(bounds: Mapping[str, Any], proofs: list[Any]) -> tuple[str, ...]:
    """Say which least periods are proven so, and that others are not."""
    curve = bounds.get("period_at_core_cost")
    if not isinstance(curve, list) or not all(
        isinstance(pair, list) and len(pair) == 2 and all(isinstance(number, int | float) for number in pair)
        for pair in curve
    ):
        raise InputError("are not pairs of core cost and period", place="front_bound.period_at_core_cost")
    proven = {
        cost
        for cost, period in curve
        if any(proof["core_cost"] >= cost and proof["period"] >= period for proof in proofs)
    }
    shown = ", ".join(f"{proof['period']} at {proof['core_cost']:g}" for proof in proofs[::-1])
    remarks = [f"periods at core costs or below are at least: {shown}"]
    rest = [cost for cost, _ in curve if cost not in proven]
    if rest:
        remarks.append(f"of {len(curve)} bounds by core cost, {len(rest)} have no proofs: they are taken as they are")
    return tuple(remarks)
