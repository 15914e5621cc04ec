"""The bound of a result document, its certificate verified: what ``check --bound`` does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final

import islpy as isl

from shorthaul.affine.bounds.best import AffineBound
from shorthaul.affine.check.certificate import verify
from shorthaul.affine.check.formulas import value_of
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.model import Program, Statement
from shorthaul.affine.options import BoundOptions
from shorthaul.affine.sizes import FAST_MEMORY
from shorthaul.affine.verbs.deriving import bytes_of_loads, rests_on
from shorthaul.affine.verbs.machines import memories
from shorthaul.core.amounts import Bound
from shorthaul.core.check import CheckReport
from shorthaul.core.document import convert, load_bound
from shorthaul.core.errors import ABSENT, InputError
from shorthaul.core.search import Search

#: The sizes at which bounds without sizes are compared.
_LARGE, _FAST = 10_000, 1_000
_PROOF: Final = "By its certificate, which check --bound verifies."


@dataclass(frozen=True, slots=True)
class _Share:
    """A part that a value rests on, as results hold it."""

    part: int
    method: str
    statements: list[str]
    loads_words: float | None


@dataclass(frozen=True, slots=True)
class _Verified:
    """What a certificate proves of a bound, as journals hold it."""

    value: float | None
    formula: str
    inputs: str
    certificate: dict[str, Any]
    rests_on: list[_Share]


_VERIFIED: Final = tuple(field.name for field in fields(_Verified))


def certified(program: Program, path: str, kind: str) -> CheckReport:
    """Return what is wrong with the bound in the result document at ``path``, and in ``remarks`` what was verified.

    Raises :class:`InputError` if there is no such document, or it holds no value or no certificate, or was made for
    another program.
    """
    document, bound = load_bound(path, kind)
    if bound.get("branches") == "one":
        program = program.with_sure_reads()
    try:
        _require_same(program, document)
        violations, remarks = verify(program, bound, _sizes(program, document, bound))
    except InputError as error:
        raise error.in_file(path) from None
    return CheckReport(tuple(violations), None, tuple(remarks))


def _require_same(program: Program, document: Mapping[str, Any]) -> None:
    """Raise for a document of other statements: each has its text, which names its arrays, and its instances."""
    given, made = document.get("program"), document.get("provenance")
    if not isinstance(given, Mapping) or not isinstance(told := given.get("statements"), list):
        cure = "write it anew with affine bound --result"
        raise InputError("does not tell of which program it is", place="program", value=given, cure=cure)
    named = {item.get("name"): item for item in told if isinstance(item, Mapping)}
    for name in [*program.by_name, *named]:
        own, other = program.by_name.get(str(name)), named.get(name)
        if own is None or other is None or not _is_same(own, other):
            both = f"{name} is {_shown(other)} there, {_shown(own)} here"
            raise InputError(
                f"is of another program, or of another version of it: {both}",
                place="program",
                value=made.get("input") if isinstance(made, Mapping) else None,
                cure="write it anew with affine bound --result",
            )


def _is_same(own: Statement, other: Mapping[str, Any]) -> bool:
    if own.text != other.get("text"):
        return False
    try:
        domain = isl.Set.read_from_str(isl.DEFAULT_CONTEXT, str(other.get("domain")))
        return bool(own.domain.is_equal(domain))
    except isl.Error:
        return False


def _shown(item: Statement | Mapping[str, Any] | None) -> str:
    if item is None:
        return "nothing"
    text, domain = (item.text, item.domain) if isinstance(item, Statement) else (item.get("text"), item.get("domain"))
    return f"{text!r} on {domain}"


def _sizes(program: Program, document: Mapping[str, object], bound: Mapping[str, object]) -> dict[str, int] | None:
    """Return the sizes of the bound's value, None if it has none."""
    given = document.get("sizes")
    value = bound.get("value", ABSENT)
    if value is None and not given:
        return None
    if type(value) not in {int, float}:
        allowed = "the number at the sizes of the document, null where it has none"
        raise InputError("holds no value", place="bound.value", value=value, allowed=allowed)
    names = [*program.parameters, FAST_MEMORY]
    if not isinstance(given, Mapping) or any(type(given.get(name)) is not int or given[name] < 1 for name in names):
        raise InputError("must give every parameter and S", place="sizes", value=given, allowed="integers from 1")
    return {name: given[name] for name in names}


def keep(search: Search, found: AffineBound, sizes: Mapping[str, int] | None) -> None:
    """Keep a bound where the search is for one, if all of it has a certificate."""
    certificate = found.proof.certificate() if search.proves else {"parts": [{"kind": "formula"}]}
    if not _is_certified(certificate):
        return
    value = None if sizes is None else max(0, found.value(sizes))
    values = value, str(found.formula), str(found.inputs), certificate, rests_on(found, sizes)
    kept = dict(zip(_VERIFIED, values, strict=True))
    search.keep(-_rank(kept, found.program, sizes), kept, proves=True)


def higher(
    made: Bound, search: Search, program: Program, sizes: Mapping[str, int] | None, flow: DataFlow | None
) -> Bound:
    """Return the bound, or with what a certificate proves the one that the search has kept, if that is higher."""
    own = {name: made.details[name] for name in _VERIFIED}
    if _is_certified(own["certificate"]):
        search.keep(-_rank(own, program, sizes), own, proves=True)
    kept = search.best(proves=True)
    if kept is None or _rank(kept, program, sizes) <= _rank(made.details, program, sizes):
        return made
    details = {**made.details, **{name: kept[name] for name in _VERIFIED}, "latex": {}, "steps": []}
    if sizes is None:
        return replace(made, method="certificate", proof=_PROOF, details=details)
    width, surplus = bytes_of_loads(program, sizes, flow)
    details |= {"value_bytes": kept["value"] * width + surplus, "suits_sizes": True}
    return Bound("loads_words", kept["value"], "certificate", _PROOF, details)


def bound_of_journal(program: Program, kept: Mapping[str, Any], options: BoundOptions) -> CheckReport | None:
    """Return what is wrong with the bound in a journal, None if not all of it can be verified."""
    sizes = None
    if options.size is not None or options.level is not None or options.machine is not None:
        sizes = memories(options, program)[0]
    bound = convert(kept, _Verified)
    if set(kept) != {*_VERIFIED} or (bound.value is None) != (sizes is None):
        raise InputError("holds no bound")
    violations, _ = verify(program.with_sure_reads() if options.one_branch else program, kept, sizes)
    if options.reassociate and not bound.certificate.get("any_order", False):
        raise InputError("holds a bound for one order of the terms")
    return CheckReport(tuple(violations)) if violations or _is_certified(kept["certificate"]) else None


def _is_certified(certificate: Mapping[str, Any]) -> bool:
    """True if it has parts, and none of them is a formula alone."""
    return bool(certificate["parts"]) and all(part["kind"] != "formula" for part in certificate["parts"])


def _rank(bound: Mapping[str, Any], program: Program, sizes: Mapping[str, int] | None) -> float:
    at = {**dict.fromkeys(program.parameters, _LARGE), FAST_MEMORY: _FAST} if sizes is None else sizes
    return float(value_of(bound["formula"], at))
