"""The bound of a result document, its certificate verified: what ``check --bound`` does."""

from __future__ import annotations

from collections.abc import Mapping

from shorthaul.affine.check.certificate import verify
from shorthaul.affine.model import Program
from shorthaul.affine.sizes import FAST_MEMORY
from shorthaul.core.check import CheckReport
from shorthaul.core.document import load_bound
from shorthaul.core.errors import InputError


def certified(program: Program, path: str, kind: str) -> CheckReport:
    """Return what is wrong with the bound in the result document at ``path``, and in ``remarks`` what was verified.

    Raises :class:`InputError` if there is no such document, or it holds no certificate.
    """
    document, bound = load_bound(path, kind)
    if bound.get("branches") == "one":
        program = program.with_sure_reads()
    try:
        violations, remarks = verify(program, bound, _sizes(program, document, bound))
    except InputError as error:
        raise error.in_file(path) from None
    return CheckReport(tuple(violations), None, tuple(remarks))


def _sizes(program: Program, document: Mapping[str, object], bound: Mapping[str, object]) -> dict[str, int] | None:
    """Return the sizes of the bound's value, None if it has none."""
    if bound.get("value") is None:
        return None
    given = document.get("sizes")
    names = [*program.parameters, FAST_MEMORY]
    if not isinstance(given, Mapping) or any(type(given.get(name)) is not int or given[name] < 1 for name in names):
        raise InputError("must give every parameter and S", place="sizes", value=given, allowed="integers from 1")
    return {name: given[name] for name in names}
