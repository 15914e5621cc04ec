"""The compiled loop of :mod:`local_search`: annealing over topological orders."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from shorthaul.core.jit import kernel
from shorthaul.pebble.belady_kernels import replay

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


@kernel
def traffic(
    order: IntArray, starts: IntArray, parents: IntArray, weights: IntArray, is_output: BoolArray,
    budget: int, penalty: float,
) -> int:  # fmt: skip
    """Return the weight that :func:`replay` loads and stores."""
    kinds, nodes = replay(order, starts, parents, weights, is_output, budget, penalty)
    total = 0
    for place in range(len(kinds)):
        if kinds[place] <= 1:
            total += weights[nodes[place]]
    return total


@kernel
def anneal(
    order: IntArray, starts: IntArray, parents: IntArray, child_starts: IntArray, children: IntArray,
    weights: IntArray, is_output: BoolArray, budget: int, penalty: float, steps: int, hot: float, cold: float,
    seed: int,
) -> tuple[IntArray, int]:  # fmt: skip
    """Return the best order met, and its traffic, in ``steps`` moves of a run of nodes to another place.

    ``order`` holds the nodes that are no inputs. A run is moved only as far as its parents and children allow. The
    temperature falls geometrically from ``hot`` to ``cold``, in the unit of the weights.
    """
    np.random.seed(seed)
    count = len(order)
    position = np.full(len(weights), -1, np.int64)
    for place in range(count):
        position[order[place]] = place
    current = order.copy()
    candidate = order.copy()
    cost = traffic(current, starts, parents, weights, is_output, budget, penalty)
    best = current.copy()
    best_cost = cost
    for step in range(steps):
        heat = hot * (cold / hot) ** (step / steps)
        first = np.random.randint(0, count)
        length = 1
        while length < 8 and first + length < count and np.random.random() < 0.45:
            length += 1
        last = first + length - 1
        # where the run may begin: after its last parent, before its first child
        low = 0
        high = count
        for place in range(first, last + 1):
            node = current[place]
            for edge in range(starts[node], starts[node + 1]):
                parent = position[parents[edge]]
                if parent < first:
                    low = max(low, parent + 1)
            for edge in range(child_starts[node], child_starts[node + 1]):
                child = position[children[edge]]
                if child > last:
                    high = min(high, child)
        high -= length
        if high <= low:
            continue
        target = np.random.randint(low, high + 1)
        if np.random.random() < 0.5:  # mostly short ways
            target = min(high, max(low, first + np.random.randint(-4, 5)))
        if target == first:
            continue
        candidate[:] = current
        if target < first:
            candidate[target : target + length] = current[first : last + 1]
            candidate[target + length : last + 1] = current[target:first]
        else:
            candidate[first:target] = current[last + 1 : target + length]
            candidate[target : target + length] = current[first : last + 1]
        found = traffic(candidate, starts, parents, weights, is_output, budget, penalty)
        if found <= cost or np.random.random() < math.exp((cost - found) / heat):
            for place in range(min(first, target), max(last, target + length - 1) + 1):
                position[candidate[place]] = place
            current, candidate = candidate, current
            cost = found
            if cost < best_cost:
                best_cost = cost
                best[:] = current
    return best, best_cost
