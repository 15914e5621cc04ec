"""Groups cut into parts, where a graph is too wide for a diagram of all its groups.

Some links, of an operator to a tensor that its group may make for itself, are *cut*. A group that uses none of them is
a column as ever. Any other one falls into *parts*: what still hangs together without the links that are cut. A part
gets a tensor over such a link for nothing, and another part has to make the same slices of it; that is a row of the
linear program. No step takes less than a mean of its compute and its traffic, and at one weight for all parts of a
group those means add up. So a part costs its mean, where what others may load or find resident as well is divided among
all that take it. All groups with outputs of one shape have the same weight: it is a price too, of a row that says that
their parts take as long as all their compute does.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shorthaul.tensor.bounds.groups.pieces import Demand
from shorthaul.tensor.model import Tensor

Floats = NDArray[np.float64]

#: What a part costs that fits at no granularity.
_NEVER: Final = 1e300
#: A group that uses no link that is cut; a part that has used none so far, and may not end; and a part.
WHOLE: Final = 0
BEGUN: Final = 1
PART: Final = 2
#: Ways in which parts may ask for an output together, above which a graph is given up.
_MOST_GIVINGS: Final = 64


class Outputs(NamedTuple):
    """The shape of a group's outputs, and what it is."""

    shape: Tensor
    kind: int = WHOLE

    @property
    def is_part(self) -> bool:
        """True for a part of a group."""
        return self.kind != WHOLE


#: Links of operators to tensors that they take.
Links = frozenset[tuple[int, int]]


class Giving(NamedTuple):
    """Slices that a part makes for others: what each of them asks for, and the rows that this serves."""

    demands: frozenset[Demand] = frozenset()
    rows: tuple[int, ...] = ()


Taking = tuple[int, int, Tensor, frozenset[Demand]]


class Takings:
    """What parts take over links that are cut, as it is met: by operator, tensor, shape of outputs and slices."""

    def __init__(self, rows: dict[Taking, int], first: int) -> None:
        self.rows = rows
        self._first = first
        self._asked: dict[int, dict[Tensor, list[tuple[frozenset[Demand], int]]]] = {}
        self.are_too_many = False

    def row(self, index: int, tensor: int, shape: Tensor, demands: frozenset[Demand]) -> int:
        """Return the row of a taking."""
        key = index, tensor, shape, demands
        if key not in self.rows:
            self.rows[key] = self._first + len(self.rows)
            self._asked.setdefault(tensor, {}).setdefault(shape, []).append((demands, self.rows[key]))
        return self.rows[key]

    def shapes(self, tensor: int) -> list[Tensor]:
        """Return the shapes of outputs of the parts that take a tensor."""
        return [*self._asked.get(tensor, {})]

    def givings(self, tensor: int, shape: Tensor) -> list[Giving]:
        """Return what a part may make of a tensor for others: the slices of some takings, and whom they serve."""
        takings = self._asked.get(tensor, {}).get(shape, [])
        unions: set[frozenset[Demand]] = set()
        for demands in {demands for demands, _ in takings}:
            unions |= {demands | union for union in unions} | {demands}
            if len(unions) > _MOST_GIVINGS:
                self.are_too_many = True
                return []
        return [
            Giving(union, tuple(row for demands, row in takings if demands <= union))
            for union in sorted(unions, key=sorted)
        ]


class Means:
    """Compute and traffic of parts, as times, at the granularities where some mean of both is the least, by number."""

    def __init__(self) -> None:
        self._shapes: list[int] = []
        self._points: list[Floats] = []

    def add(self, shape: int, compute: Floats, traffic: Floats) -> int:
        """Add what a part takes at some granularities, none if there are none; return its number."""
        order = np.lexsort((traffic, compute))
        compute, traffic = compute[order], traffic[order]
        is_less = traffic < np.minimum.accumulate(np.append(np.inf, traffic))[:-1]
        hull: list[tuple[float, float]] = []
        for point in zip(compute[is_less].tolist(), traffic[is_less].tolist(), strict=True):
            while len(hull) > 1 and _is_above(hull[-2], hull[-1], point):
                hull.pop()
            hull.append(point)
        self._shapes.append(shape)
        self._points.append(np.array(hull or [(_NEVER, _NEVER)]).T)
        return len(self._points) - 1

    def least(self, weights: Floats) -> Floats:
        """Return by number the least mean, where compute has this weight by shape."""
        if not self._points:
            return np.zeros(0)
        lengths = [points.shape[1] for points in self._points]
        weight = np.repeat(weights[self._shapes], lengths)
        compute, traffic = np.concatenate(self._points, axis=1)
        begins = np.cumsum([0, *lengths[:-1]])
        least: Floats = np.minimum.reduceat(weight * compute + (1 - weight) * traffic, begins)
        return least

    def points(self, number: int) -> list[tuple[float, float]]:
        """Return compute and traffic at all these granularities."""
        return [(float(x), float(y)) for x, y in self._points[number].T if x < _NEVER]

    def at(self, number: int, weights: Floats) -> tuple[float, float, float]:
        """Return the least mean of one part, and its compute and traffic there."""
        compute, traffic = self._points[number]
        weight = weights[self._shapes[number]]
        means = weight * compute + (1 - weight) * traffic
        best = int(means.argmin())
        return float(means[best]), float(compute[best]), float(traffic[best])


def _is_above(one: tuple[float, float], middle: tuple[float, float], other: tuple[float, float]) -> bool:
    """True if the middle point is on or above the line from one to the other."""
    rise = (other[1] - one[1]) * (middle[0] - one[0])
    return (middle[1] - one[1]) * (other[0] - one[0]) >= rise
