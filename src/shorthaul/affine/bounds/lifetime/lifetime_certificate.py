"""Arguments on what waits in fast memory as data that a checker of its own verifies: relations, and what is summed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import islpy as isl

from shorthaul.affine.integer_sets.quasi_polynomial import Polynomial
from shorthaul.affine.model import Program


def lifetime_certificate(
    kind: str, statements: Sequence[str], sums: Sequence[Mapping[str, Any]], rests_on: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the certificate of an argument; ``rests_on`` are the relations of its kind, as isl's texts."""
    return {"kind": kind, "statements": list(statements), "sums": [dict(item) for item in sums], **rests_on}


def summed(
    alive: isl.UnionMap, pieces: Sequence[tuple[isl.Set, Polynomial]], program: Program, times: int = 1, less: int = 0
) -> dict[str, Any]:
    """Return what waits at each event (``alive``: event -> vertex), and of how many the excess over S - 1 is summed.

    All but ``less`` of them wait. A load counts up to ``times`` times. Where a count is affine, only events with a
    positive excess are summed.
    """
    return {
        "alive": str(alive),
        "times": times,
        "less": less,
        "pieces": [
            {
                "events": str(_inside(where, program).coalesce()),
                "count": str(count.sympy()),
                "positive": count.affine_text() is not None,
            }
            for where, count in pieces
        ],
    }


def _inside(where: isl.Set, program: Program) -> isl.Set:
    """Return the events of a piece that are instances, where they are those of a statement."""
    statement = program.by_name.get(where.get_tuple_name())
    if statement is None:
        return where
    domain = statement.domain
    for at in range(domain.dim(isl.dim_type.set)):  # as in the piece, so that the text has one kind of names
        domain = domain.set_dim_name(isl.dim_type.set, at, f"x{at}")
    return where.intersect(domain)
