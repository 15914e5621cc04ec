"""Parameters that may be small against the fast memory, where another argument suits better: the sides of a filter.

A convolution reads its input at p + r. As long as r takes many values, a part of the computation has to be small in
every direction, and loads fall as 1/S; where r takes few, they fall as 1/sqrt(S), which is more for a large S. So
arguments are also compared where such parameters are small, and the formula is the largest of all.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import islpy as isl

from shorthaul.affine.bounds.partition.brascamp_lieb import least_sum
from shorthaul.affine.bounds.partition.candidates import usable_paths
from shorthaul.affine.bounds.partition.paths import Path
from shorthaul.affine.bounds.partition.windows import few_values, joined, window
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.integer_sets.subspaces import Subspace
from shorthaul.affine.tuning import COMPARED_ARGUMENTS, MOST_COMPARED_KERNELS, MOST_SMALL_PARAMETERS, MOST_SMALL_SETS

_SET = isl.dim_type.set


def small_sets(flow: DataFlow) -> Iterator[tuple[str, ...]]:
    """Yield the least sets of parameters that give exponents of a smaller sum where they are small.

    >>> from shorthaul.affine.workloads.cases import kernel
    >>> from shorthaul.affine.integer_sets.dependences import flow_dependences
    >>> [list(small_sets(flow_dependences(kernel(name))))[:1] for name in ("gemm", "convolution")]
    [[], [('Q', 'R')]]
    """
    found: list[tuple[str, ...]] = []
    for statement in flow.program.statements:
        domain, dimensions = statement.domain, statement.domain.dim(_SET)
        if dimensions < 2:
            continue
        kernels = _kernels(usable_paths(flow, statement.name))
        others = joined(kernels)
        names = _of_coordinates(domain, others, flow.program.parameters)
        sigma = least_sum(kernels, dimensions) if names else None
        if sigma is None:
            continue
        for size in range(1, MOST_SMALL_PARAMETERS + 1):
            for chosen in itertools.combinations(names, size):
                if any(set(other) <= set(chosen) for other in found):
                    continue
                extents = few_values(domain, chosen, others)
                at = dict.fromkeys(chosen, COMPARED_ARGUMENTS[0].small)
                spaces = [(space, [*joined([space]) & extents.keys()]) for space in kernels]
                windows = [(space, window(space, dimensions, extents, told, at)) for space, told in spaces]
                less = least_sum(tuple(space if one is None else one.finer for space, one in windows), dimensions)
                if less is not None and 1 < less < sigma:
                    found.append(chosen)
                    yield chosen
                    if len(found) == MOST_SMALL_SETS:
                        return


def _kernels(paths: Sequence[Path]) -> tuple[Subspace, ...]:
    """Return the kernels of the broadcasts and of one chain, that of a whole sum if there is one."""
    chains = sorted((path for path in paths if path.is_chain), key=lambda path: -len(path.kernel))
    chosen = [*chains[:1], *(path for path in paths if not path.is_chain)]
    return tuple(dict.fromkeys(path.kernel for path in chosen))[:MOST_COMPARED_KERNELS]


def _of_coordinates(domain: isl.Set, coordinates: set[int], parameters: tuple[str, ...]) -> list[str]:
    """Return the parameters that alone bound one of the coordinates."""
    found: dict[str, None] = {}
    alone = {name: few_values(domain, (name,), coordinates) for name in parameters}
    for at in sorted(coordinates, reverse=True):
        found |= dict.fromkeys(name for name in parameters if at in alone[name])
    return list(found)
