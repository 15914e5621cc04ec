"""What sums of products move at least, by the rent of the memory that operands and sums take while terms are computed.

Stretches of a schedule know what the memory holds at their ends alone; here it is counted at every term, so that sums
and operands never take the same place. In small memories that is what is missing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shorthaul.core.search import Search
from shorthaul.pebble import tuning
from shorthaul.pebble.bounds.sums_of_products import Contraction
from shorthaul.pebble.model import IntArray

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Rented:
    """What is moved beyond inputs and outputs, by the rent per word and term, with so many terms near one another."""

    moved: float
    rent: float
    near: int


def most(found: Contraction, rooms: int, *, search: Search) -> Rented:
    """Return the most that is proven with any rent; ``rooms`` is the memory of use after each term, all together.

    **Theorem.** N terms of Z sums; those of one k are a slice: its operands are in no other one, and its terms are of
    different sums. Any word in memory as a term is computed pays a rent r, in all r times the rooms at most. An
    operand, of weight w or more, is loaded once for each stay in memory, but for its first one.

    *One slice.* Its stays are the vertices of a graph, its e terms the edges. As a term is computed, so many stays have
    had a term or have it now, and have one to come or have it now. Let B(e) be the least of the number of vertices V
    and r times the sum of these numbers over all e terms. Then B(e) is at least the least of V and r times the sum of
    d (d + 1) over V degrees, e in all, of which the first n make up n^2 / 4 at most, for any n. For let u and v stays
    of either side be there, m pairs of which have no term yet, and take any price c. With

        F = (c - r (u + v)) m + (u + v) / 2 - c u v / 2 + r u v (u + v) / 2,

    a term changes F by r (u + v) - c. Let p(d) = 1 - c d + r d (d + 1). A stay that begins beside d of the other side
    adds at most 1 - p(d) / 2, one that ends beside d at most -p(d) / 2, as long as c >= r (u + v); terms where that is
    not so pay c anyway, leave them out. In the end F is 0 again: V and all rents are at least c e and half of all p. As
    stays begin, each pair that has a term is counted once in all d, so are pairs of the first n at most n^2 / 4; so
    too, from the end, as stays end. The best c for V makes the degrees e in all. Where operands of both sides are the
    same values, it is d + d (d + 1) / 2 and n (n - 1) / 2: the stay that is done first, with d terms, has those beside
    it with which it has had one, and without it the same holds of the rest.

    *Terms nearby.* Let D be the number of terms ``near`` a term in its slice, on either side. A term t pays r s,
    s the weight of a sum's value, for its own sum and for those of the terms near it that are in memory at t. The
    others are missing at t: count them, for now, as if they paid. Then e terms pay A(e) = r s (e + 2 (e - 1) + ... + 2
    (e - D)). Between two terms of a slice others may be computed, g of them, while m of its stays go on. These pay r g
    m w. So cut the slice there with a probability of r g (or 1), which adds m stays: rent pays for them. With one phase
    for all cuts of a slice, two terms with g others in between stay together with a probability of 1 - r g: let a pair
    count for so much. So all slices come to N L at least, L the least of (w B(e) + A(e)) / e.

    *Missing sums.* Say that a sum z is missing at a term t, and that t' is the term of z in the slice of t, t' < t.
    Take the first term u after t' at which z is missing. If z has terms before and after u, its value at u is stored
    after the last term before u, and loaded: 2 s for each such gap, in which no other gap has a part. All pairs (t',
    t) that lead to this gap have different terms t from u on, at most D of one slice, at the places x_1 < x_2 < ... of
    these from u on; from t' to t there are x_b - b terms of other slices since u, for the b-th of a slice, and before
    u those t' of the other slices that are later. In all they count for D n r s (1 - r (D + 1) (n - 1) / 2) at most,
    with n slices that have D each: the most of this over n is P, and P <= s. The same holds for t < t'. So what is
    missing is paid by stores and loads, but for 2 P for each sum, as it begins and ends. In all, beyond inputs and
    outputs,

        N L - r rooms - 2 Z P - w (number of operands).

    Values that are read wherever an operand is count with it: for each of w units of weight take one of them.
    """
    none = Rented(0.0, 0.0, 0)
    if found.duplicates > 1 or found.products.any() or (found.is_shared and not found.is_symmetric):
        return none
    operand, value, terms = min(found.left_weight, found.right_weight), found.sum_weight, len(found.terms)
    size = int(np.bincount(np.unique(found.places[:, 2], return_inverse=True)[1]).max())
    held = rooms / terms / value
    if held > tuning.MOST_RENTED:
        return none
    few = min(size, tuning.RENTED_TERMS)
    vertices, beside = _graphs(few, is_symmetric=found.is_symmetric)
    vertices = _readers(found, vertices, few)
    count, known = np.arange(1, few + 1), len(np.unique(found.pairs)) * operand
    near = np.unique(np.geomspace(1, 1 + 4 * held, tuning.RENTED_NEAR).astype(np.int64) - 1)
    pairs = np.minimum(near[:, None], count - 1)
    together = count + pairs * (2 * count - pairs - 1)
    number, best = int(found.sums.max()) + 1, none
    for rent in (np.geomspace(*tuning.RENTS) * held**-1.5).tolist():
        if rent > 1 or search.expired():
            break
        search.spend(vertices.size / tuning.SEGMENT_RATE + tuning.SEGMENT_EFFORT)
        graphs = operand * (vertices + rent * beside).min(axis=0)
        beyond = operand * _mean(rent, is_symmetric=found.is_symmetric) if size > few else math.inf
        sums = rent * value * together
        least = np.minimum(((graphs + sums) / count).min(axis=1), beyond + sums[:, -1] / few)
        for terms_near, each in zip(near.tolist(), least.tolist(), strict=True):
            missing = missing_at_once(terms_near, rent, value)
            if missing > value:
                continue
            moved = terms * each - rent * rooms - 2 * number * missing - known
            if moved > best.moved:
                best = Rented(moved, rent, terms_near)
    return best


def missing_at_once(near: int, rent: float, value: float) -> float:
    """Return what pairs count for at most that one gap of a sum, of weight ``value``, is between, on one side.

    >>> missing_at_once(1, 0.5, 1.0)
    0.5
    """
    loss = rent * (near + 1)
    most = max(1, int(1 / loss + 0.5))  # a parabola: best at 1 / loss + 1 / 2
    return max(near * n * rent * value * (1 - loss * (n - 1) / 2) for n in (most, most + 1))


def _graphs(edges: int, *, is_symmetric: bool) -> tuple[FloatArray, FloatArray]:
    """Return numbers of vertices, shape (sizes, 1), and what their edges have beside them, shape (sizes, edges).

    The n-th vertex adds n / 2 edges at most, or n - 1: least have degrees as equal as these limits let them.
    """
    sizes = np.arange(2, edges + 2)
    beside = np.full((edges, edges), np.inf)
    for row, size in enumerate(sizes.tolist()):
        degree = np.arange(size)
        room = np.maximum(0, size - 1 - degree * (1 if is_symmetric else 2))
        further = degree + 2 if is_symmetric else 2 * degree + 2
        together = np.cumsum(np.repeat(further, np.minimum(room, edges))[:edges])
        beside[row, : len(together)] = together
    return sizes[:, None].astype(np.float64), beside


def _mean(rent: float, *, is_symmetric: bool) -> float:
    """Return what an edge takes at least in the mean: (1 + rent d (d + 1)) / d, or with (d + 3) / 2 for d + 1."""
    return math.sqrt(2 * rent) + 1.5 * rent if is_symmetric else 2 * math.sqrt(rent) + rent


def _readers(found: Contraction, vertices: FloatArray, edges: int) -> FloatArray:
    """Return the vertices that graphs count as at least, as none has more terms than its operand, shape (sizes, e)."""
    sides: list[IntArray] = [found.left, found.right]
    if found.is_symmetric:
        sides = [np.unique(found.pairs, return_inverse=True)[1].ravel()] * 2
    least = sum(1 / int(np.bincount(side).max()) for side in sides)
    counted: FloatArray = np.maximum(vertices, np.arange(1, edges + 1) * least)
    return counted
