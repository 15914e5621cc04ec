"""How an operator lies on the array of a matrix unit: which of its dimensions are spread along which side."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence

from shorthaul.core.machines.schema import ArraySide
from shorthaul.tensor.networks.model import Access, Operator


def roles(operator: Operator) -> tuple[str, ...]:
    """Return what each dimension is in a product of two tensors; empty for none of them.

    ``rows`` are dimensions of the first tensor and the output, ``columns`` those of the second and the output,
    ``batch`` of all three; ``reduction`` is added up over, ``taps`` as well, where it moves along an axis together with
    another dimension, as in the window of a convolution.
    """
    if operator.barrier or len(operator.reads) < 2:
        return ("",) * len(operator.dims)
    used = [_dims(access) for access in operator.reads]
    first = used[0]
    second = next((dims for dims in used[1:] if not dims <= first), used[1])
    output = _dims(operator.writes[0])
    windows = {
        dim
        for access in operator.reads
        for index in access.axes
        if len(index.terms) > 1
        for dim, _ in index.terms
        if dim not in output
    }
    names = {
        (True, True, False): "rows",
        (True, False, True): "columns",
        (True, True, True): "batch",
        (False, True, True): "reduction",
    }
    return tuple(
        "taps" if dim in windows else names.get((dim in output, dim in first, dim in second), "")
        for dim in range(len(operator.dims))
    )


def _dims(access: Access) -> frozenset[int]:
    return frozenset(dim for index in access.axes for dim, _ in index.terms)


def spread(operator: Operator, sides: Sequence[ArraySide]) -> tuple[int, ...]:
    """Return how many positions of each dimension the array computes at once.

    A side takes one dimension of those that it can. Sides take different ones as far as there are such; of what is left
    the choice is the one that takes the fewest passes for the whole operator.

    >>> from shorthaul.tensor.networks.model import Index
    >>> a, b, c = (Access(t, (Index(((i, 1),)), Index(((j, 1),))), ()) for t, i, j in [(0, 0, 2), (1, 2, 1), (2, 0, 1)])
    >>> product = Operator("product", "MatMul", (10, 100, 1000), ("m", "n", "k"), (a, b), (c,), 2.0, "matrix")
    >>> spread(product, [ArraySide(16, ["columns"]), ArraySide(8, ["reduction", "taps"])])
    (1, 16, 8)
    """
    if operator.unit != "matrix" or not sides:
        return (1,) * len(operator.dims)
    found = roles(operator)
    offers: Iterable[list[int | None]] = (
        [dim for dim, role in enumerate(found) if role in side.spreads] or [None] for side in sides
    )
    best: tuple[int, int, tuple[int, ...]] | None = None
    for chosen in itertools.product(*offers):
        width = [1] * len(operator.dims)
        for side, dim in zip(sides, chosen, strict=True):
            if dim is not None:
                width[dim] *= side.size
        passes = math.prod(-(-size // at_once) for size, at_once in zip(operator.dims, width, strict=True))
        candidate = (-len(set(chosen) - {None}), passes, tuple(width))
        best = candidate if best is None else min(best, candidate)
    assert best is not None
    return best[2]
