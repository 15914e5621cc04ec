"""Certificates of bounds on energy: the weights and shares from which a checker of its own finds the bound again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.spatial.bounds.growth_kernels import weights_of_growth
from shorthaul.spatial.bounds.hubs import Hub
from shorthaul.spatial.bounds.part_kernels import reaches_of_volume
from shorthaul.spatial.bounds.prices import Part

Index = npt.NDArray[np.int32]
Counts = npt.NDArray[np.int64]
Flags = npt.NDArray[np.uint8]
Gains = npt.NDArray[np.float64]
#: What :func:`reaches_of_volume` is given, and what :func:`weights_of_growth` is.
Parts = tuple[Index, Counts, Counts, Flags, int, Counts, int]
Subtrees = tuple[Index, Counts, Counts, Gains, Gains, Flags, Gains]

#: Vertices of the largest tree whose bound gets a certificate: larger plans go to files of their own as well.
MOST_CERTIFIED = 300_000


@dataclass(frozen=True, slots=True)
class Apart:
    """What is proven of edges by nothing else: parts with prices, and vertices near hubs."""

    parts: Sequence[Part] = ()
    hubs: Sequence[Hub] = ()


def of_growth(subtrees: Subtrees, lone: Counts, parts: Parts, names: Index, apart: Apart) -> dict[str, Any]:
    """Return the roots, and the weights of what the vertices below one need, and of a long edge below it.

    Stars have what these and the ``layers`` leave. A layer holds certificates of subtrees that do not overlap, each as
    many times as its share says. All this is of the trees without the edges of what stands ``apart``, which is named
    already.
    """
    (parent, room, star, full, each, fan, widest), above = parts, subtrees[5]
    _, own, longer, shares = weights_of_growth(*subtrees, True)
    top, inside = shares > 0, np.zeros(len(parent), np.int64)  # how many subtrees with a share hold a vertex
    for v, at in enumerate(parent.tolist()):
        inside[v] = top[v] + (inside[at] if at >= 0 else 0)
    layers = []
    for depth in range(1, int(inside.max()) + 1):
        first, held = top & (inside == depth), inside >= depth
        part = np.where(held & ~first, parent, -1).astype(np.int32)
        upward = held & np.where(first, above, full)
        rest = np.where(held, np.where(first, lone, star), 0)
        layer = _of_parts((part, room, rest, upward.astype(np.uint8), each, fan, widest), names)
        layers.append({"shares": _weighed(names, shares * first), **layer})
    return {
        "kind": "growth",
        "roots": names[parent < 0].tolist(),
        "sums": _weighed(names, own),
        "longer": _weighed(names, longer),
        "upward": names[above.astype(bool)].tolist(),
        "layers": layers,
        "hubs": [[hub.top, hub.cap, hub.kept] for hub in apart.hubs],
        "parts": [[part.top, part.kept, part.prices] for part in apart.parts],
    }


def _of_parts(parts: Parts, names: Index) -> dict[str, Any]:
    """Return the tops of parts and other reaches that are not regular, weights, and what stars hold."""
    reach, weight, irregular = reaches_of_volume(*parts)
    own, tops = (np.flatnonzero(irregular == kind) for kind in (1, 2))
    return {
        "tops": _paired(names[tops], reach[tops]),
        "reaches": _paired(names[own], reach[own]),
        "weights": _weighed(names, weight),
        "upward": names[parts[3].astype(bool)].tolist(),
    }


def _weighed(names: Index, weight: npt.NDArray[np.float64]) -> Sequence[list[Any]]:
    some = np.flatnonzero(weight > 0)
    return _paired(names[some], weight[some])


def _paired(names: Index, value: npt.NDArray[Any]) -> Sequence[list[Any]]:
    return [list(pair) for pair in zip(names.tolist(), value.tolist(), strict=True)]
