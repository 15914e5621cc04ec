"""A K-partition argument as data that a checker of its own verifies: relations, kernels, exponents, counts."""

from __future__ import annotations

from typing import Any, Final

import sympy

from shorthaul.affine.bounds.partition.k_partition import Partition

#: What certificates without exponents hold in place of them.
_UNUSED: Final = {
    **dict.fromkeys(("shares", "exponents", "few_values", "symmetry", "most_instances", "hourglass")),
    "mirrored": False,
}


def partition_certificate(argument: Partition, facts: dict[str, sympy.Expr]) -> dict[str, Any]:
    """Return the certificate of an argument with the numbers ``facts``.

    Sets and relations are isl's texts, numbers exact fractions, formulas SymPy's texts.
    """
    if argument.far:
        return {**_families(argument, facts), **_UNUSED, "cliques": [[0, 1, 2]], "mirrored": True}
    symmetric = argument.symmetry is not None
    exponents, limit = argument.exponents, argument.exponents.limit
    return {
        **_families(argument, facts),
        "cliques": None if symmetric else [list(clique) for clique in argument.cliques],
        "shares": None if symmetric else [str(share) for share in exponents.shares],
        "exponents": None if symmetric else [str(value) for value in exponents.s],
        "few_values": None
        if limit is None
        else {
            "coordinates": list(limit.coordinates),
            "points": str(limit.points),
            "exponent": str(limit.exponent),
        },
        "symmetry": None
        if argument.symmetry is None
        else {"chain": argument.symmetry.chain, "pairs": [list(pair) for pair in argument.symmetry.pairs]},
        "mirrored": False,
        "hourglass": None,
        "most_instances": str(facts["U"]),
    }


def hourglass_certificate(argument: Partition, facts: dict[str, sympy.Expr], neck: dict[str, Any]) -> dict[str, Any]:
    """Return the certificate of an argument in which the lemma on hourglasses takes the place of exponents.

    ``neck`` tells steps, places and columns.
    """
    return {**_families(argument, facts), **_UNUSED, "cliques": [[0, 1]], "hourglass": neck}


def _families(argument: Partition, facts: dict[str, sympy.Expr]) -> dict[str, Any]:
    """Return what every certificate of families of paths holds."""
    return {
        "kind": "K-partition",
        "parts": [
            {
                "statement": part.statement,
                "domain": str(part.domain),
                "order": list(part.order),
                "families": [[str(level) for level in levels] for levels in part.all_levels],
            }
            for part in argument.parts
        ],
        "own": sorted(frozenset[str]().union(*(part.own for part in argument.parts))),
        "chains": [path.is_chain for path in argument.parts[0].paths],
        "kernels": [[list(row) for row in space] for space in argument.kernels],
        "folds": list(argument.folds),
        "moved": argument.moved,
        "sources": str(argument.sources),
        "events": str(facts["T"]),
        "instances_count": str(facts["|D|"]),
        "sources_count": str(facts["sources"]),
    }
