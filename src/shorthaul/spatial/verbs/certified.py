"""The bound of a result document, its certificate verified: what ``check --bound`` does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shorthaul.core.check import CheckReport, Violation
from shorthaul.core.document import load_bound
from shorthaul.core.errors import InputError
from shorthaul.spatial.check.certificate import Room, verify
from shorthaul.spatial.model import Fabric, Grid, Load, Tree


def certified(
    path: str, kind: str, tree: Tree, machine: tuple[Fabric, Load] | None, known: tuple[float, Grid | int] | None
) -> CheckReport:
    """Return what is wrong with the bound in the result document at ``path``, and in ``remarks`` what was verified.

    ``machine`` is the one that the check is for, and what the tree puts on it; ``known`` is the energy of a layout, and
    its grid, or how many vertices are on a processor. Raises :class:`InputError` if there is
    no such document, it is of another tree or machine, or holds no certificate.
    """
    document, bound = load_bound(path, kind)
    try:
        if document.get("vertices") != tree.n:
            given = document.get("vertices")
            raise InputError("is of another tree", place="vertices", value=given, allowed=str(tree.n))
        _expect_machine(document, with_machine=machine is not None)
        if machine is None:
            where: Grid | Room = _grid(document.get("grid"))
            told = f"a grid of {where}"
        else:
            where = Room(*machine, _most(bound.get("per_processor")))
            told = f"{machine[0].name}, up to {where.most:,} vertices on a processor"
        violations, remarks = verify(tree, bound, where)
        if known is not None and known[0] < bound["value"] and _holds_for(known[1], where):
            message = "the layout takes less than the bound"
            violations.append(Violation("certificate", "bound.value", message, bound["value"], known[0]))
    except InputError as error:
        raise error.in_file(path) from None
    return CheckReport(tuple(violations), None, (f"the bound is on layouts on {told}", *remarks))


def _holds_for(used: Grid | int, where: Grid | Room) -> bool:
    """Return whether a layout on this grid, or with so many vertices on a processor, is one that the bound is on."""
    return used <= where.most if isinstance(where, Room) and isinstance(used, int) else used == where


def _expect_machine(document: Mapping[str, Any], *, with_machine: bool) -> None:
    made = document.get("provenance")
    options = made.get("options") if isinstance(made, Mapping) else None
    if not isinstance(options, Mapping) or "machine" not in options:
        raise InputError("must say on which machine the bound holds", place="provenance.options.machine")
    if (options["machine"] is not None) != with_machine:
        cure = "leave --machine out" if with_machine else f"give --machine {options['machine']}"
        raise InputError(
            "is of another machine", place="provenance.options.machine", value=options["machine"], cure=cure
        )


def _grid(given: object) -> Grid:
    if isinstance(given, list) and len(given) == 2 and all(type(side) is int for side in given):
        return Grid(*given)
    raise InputError("must be the width and height of the grid", place="grid", value=given)


def _most(given: object) -> int:
    if type(given) is int and given >= 1:
        return given
    place = "bound.per_processor"
    raise InputError("must be how many vertices a processor holds at most", place=place, value=given, allowed="from 1")
