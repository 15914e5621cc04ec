"""The signs that distances take, one for each of their coordinates."""

from __future__ import annotations

import islpy as isl

from shorthaul.affine import effort
from shorthaul.affine.tuning import STEPS_PER_SIGN

_PARAM, _SET = isl.dim_type.param, isl.dim_type.set

Signs = tuple[int, ...]


def signs_of(distances: isl.Set) -> frozenset[Signs]:
    """Return all patterns of signs in a set of distances, for parameters of at least 1."""
    for at in range(distances.dim(_PARAM)):
        distances = distances.lower_bound_val(_PARAM, at, isl.Val(1))
    return _collected(distances.project_out(_PARAM, 0, distances.dim(_PARAM)), {})


def _collected(distances: isl.Set, known: dict[isl.Set, frozenset[Signs]]) -> frozenset[Signs]:
    """Return the patterns of a set without parameters; what is left behind a sign is often the same for several."""
    if distances.is_empty():
        return frozenset()
    if not distances.dim(_SET):
        return frozenset({()})
    if distances not in known:
        effort.step(STEPS_PER_SIGN)
        parts = {
            -1: distances.upper_bound_val(_SET, 0, isl.Val(-1)),
            0: distances.fix_val(_SET, 0, isl.Val(0)),
            1: distances.lower_bound_val(_SET, 0, isl.Val(1)),
        }
        known[distances] = frozenset(
            (sign, *rest) for sign, part in parts.items() for rest in _collected(part.project_out(_SET, 0, 1), known)
        )
    return known[distances]
