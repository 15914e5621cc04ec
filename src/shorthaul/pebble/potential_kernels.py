"""What holding each value may still be charged, per computed set of a small graph: kernels of :mod:`potentials`.

A potential bounds the charges to come after a state (computed set D, red values R) by a(D) plus the sum of the prices
b(D, u) of the values u of R. Any prices between 0 and the charge of letting a value go will do: a(D) then follows
backwards. Computing one more node, to D', gains the prices of what was computed or read, as it is in fast memory
afterwards, and loses at most what the other values that fit beside it drop in price, a fractional knapsack.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shorthaul.core.jit import kernel
from shorthaul.pebble.pattern_kernels import slot_of

IntArray = npt.NDArray[np.int64]
WordArray = npt.NDArray[np.uint64]
BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)

#: Less than this share of the flow is not followed.
_LEAST_FLOW = 1e-6
#: How long the averages of gradients and of their squares remember (Kingma and Ba's Adam), and what is added to a root.
_MEAN, _SQUARE, _SMALL = 0.9, 0.99, 1e-4


class Problem(NamedTuple):
    """A graph of up to 64 nodes: weights, sets of parents and children, inputs, and the room beside each computation.

    ``room`` is the budget less the weights of a node and its operands; all arrays have shape (n,).
    """

    weights: IntArray
    parents: WordArray
    children: WordArray
    given: BoolArray
    room: IntArray


class Lattice(NamedTuple):
    """Computed sets, the steps between them, and their live values.

    The steps from set d are numbers ``step_first[d]`` to ``step_first[d + 1]``: they compute ``nodes`` and lead to the
    sets ``targets``. Entries ``live_first[d]`` to ``live_first[d + 1]`` of ``live`` are the values that are read after
    d, ascending. The first set is the start, the last is everything; steps lead to later sets.
    """

    sets: WordArray
    step_first: IntArray
    nodes: IntArray
    targets: IntArray
    live_first: IntArray
    live: IntArray


class Potential(NamedTuple):
    """A potential for the search: ``ahead`` and ``prices`` (saved, unsaved) are counted in parts of ``whole``.

    ``keys`` and ``ranks`` are a hash table of the lattice's sets. Plans below the limit lead through no other sets.
    """

    keys: WordArray
    ranks: IntArray
    live_first: IntArray
    live: IntArray
    ahead: IntArray
    prices: IntArray
    whole: int


@kernel
def enumerate_steps(
    problem: Problem,
    start: np.uint64,
    sets: WordArray,
    step_first: IntArray,
    nodes: IntArray,
    targets: IntArray,
    keys: WordArray,
    ranks: IntArray,
) -> int:
    """Write all computed sets, small ones first, and the steps between them; return how many, -1 if they are too many.

    ``keys`` and ``ranks`` become their hash table.
    """
    sets[0] = start
    slot = slot_of(keys, ranks, 0, len(keys), start)
    keys[slot], ranks[slot] = start, 0
    count = 1
    steps = 0
    at = 0
    while at < count:
        done = sets[at]
        step_first[at] = steps
        for v in range(len(problem.parents)):
            own = _ONE << np.uint64(v)
            if done & own != _ZERO or problem.parents[v] & ~done != _ZERO:
                continue
            grown = done | own
            slot = slot_of(keys, ranks, 0, len(keys), grown)
            if ranks[slot] < 0:
                if count == len(sets):
                    return -1
                keys[slot], ranks[slot] = grown, count
                sets[count] = grown
                count += 1
            if steps == len(nodes):
                return -1
            nodes[steps], targets[steps] = v, ranks[slot]
            steps += 1
        at += 1
    step_first[count] = steps
    return count


@kernel
def find_live(problem: Problem, sets: WordArray, live_first: IntArray, live: IntArray) -> None:
    """Write the values that are read after each set, ascending; with no room in ``live`` only ``live_first``."""
    entries = 0
    for d in range(len(sets)):
        live_first[d] = entries
        for u in range(len(problem.weights)):
            if sets[d] >> np.uint64(u) & _ONE != _ZERO and problem.children[u] & ~sets[d] != _ZERO:
                if len(live):
                    live[entries] = u
                entries += 1
    live_first[len(sets)] = entries


@kernel
def _priced(
    problem: Problem,
    lattice: Lattice,
    prices: FloatArray,
    at: int,
    step: int,
    flow: float,
    gradient: FloatArray,
    drops: FloatArray,
    items: IntArray,
    ranks: IntArray,
) -> tuple[float, int]:
    """Return what a step gains in prices of what it computes and reads, and how many other values drop in price.

    The drops of those go to ``drops``, their entries before and after, and whether unsaved, to ``items``; ``ranks``
    orders them, most per weight first. With a ``flow`` the gains are entered in ``gradient``.
    """
    live = lattice.live
    v = lattice.nodes[step]
    new = lattice.live_first[lattice.targets[step]]
    end = lattice.live_first[lattice.targets[step] + 1]
    operands = problem.parents[v]
    gain = 0.0
    count = 0
    for old in range(lattice.live_first[at], lattice.live_first[at + 1]):
        u = live[old]
        if new < end and live[new] == v:
            new += 1
        alive = new < end and live[new] == u
        if operands >> np.uint64(u) & _ONE != _ZERO:
            saved = prices[0, new] if alive else 0.0
            unsaved = prices[1, new] if alive else 0.0
            kind = 0
            change = saved - prices[0, old]
            if unsaved - prices[1, old] < change and not problem.given[u]:
                kind = 1
                change = unsaved - prices[1, old]
            if saved < change:  # it was not in fast memory
                gain += saved
                if flow > 0 and alive:
                    gradient[0, new] += flow
            else:
                gain += change
                if flow > 0:
                    gradient[kind, old] -= flow
                    if alive:
                        gradient[kind, new] += flow
        else:
            kind = 0
            drop = prices[0, old] - prices[0, new]
            if prices[1, old] - prices[1, new] > drop and not problem.given[u]:
                kind = 1
                drop = prices[1, old] - prices[1, new]
            if drop > 0:
                place = count
                weight = problem.weights[u]
                while place > 0 and drops[ranks[place - 1]] * weight < drop * items[ranks[place - 1], 3]:
                    ranks[place] = ranks[place - 1]
                    place -= 1
                ranks[place] = count
                drops[count] = drop
                items[count, 0], items[count, 1], items[count, 2], items[count, 3] = old, new, kind, weight
                count += 1
        if alive:
            new += 1
    if problem.children[v] != _ZERO:
        new = lattice.live_first[lattice.targets[step]]
        while live[new] != v:
            new += 1
        gain += prices[1, new]
        if flow > 0:
            gradient[1, new] += flow
    return gain, count


@kernel
def look_ahead(
    problem: Problem,
    lattice: Lattice,
    prices: FloatArray,
    temperature: float,
    is_whole: bool,
    ahead: FloatArray,
    through: FloatArray,
) -> None:
    """Write a(D) of every set into ``ahead``, and the same for each step out of it into ``through``.

    With a ``temperature`` the minimum over steps is softened. If ``is_whole``, prices are whole numbers, and what is
    written is rounded down to whole numbers, exactly.
    """
    n = len(problem.weights)
    drops, items, ranks = np.empty(n), np.empty((n, 4), dtype=np.int64), np.empty(n, dtype=np.int64)
    none = np.empty((2, 0))
    if len(ahead) == 0:
        return
    ahead[len(ahead) - 1] = 0.0
    for at in range(len(ahead) - 2, -1, -1):
        least = np.inf
        for step in range(lattice.step_first[at], lattice.step_first[at + 1]):
            gain, count = _priced(problem, lattice, prices, at, step, 0.0, none, drops, items, ranks)
            value = ahead[lattice.targets[step]] + gain
            room = problem.room[lattice.nodes[step]]
            for q in range(count):
                item = ranks[q]
                weight = items[item, 3]
                if weight > room:
                    part = drops[item] * room / weight
                    value -= np.ceil(part) if is_whole else part
                    break
                value -= drops[item]
                room -= weight
            through[step] = value
            least = min(least, value)
        ahead[at] = least
        if temperature > 0 and least < np.inf:
            total = 0.0
            for step in range(lattice.step_first[at], lattice.step_first[at + 1]):
                total += np.exp((least - through[step]) / temperature)
            ahead[at] -= temperature * np.log(total)


@kernel
def follow(
    problem: Problem,
    lattice: Lattice,
    prices: FloatArray,
    temperature: float,
    ahead: FloatArray,
    through: FloatArray,
    flow: FloatArray,
    gradient: FloatArray,
) -> None:
    """Write the gradient of the softened a(start) by the prices: what a flow over all ways, best ones first, meets."""
    n = len(problem.weights)
    drops, items, ranks = np.empty(n), np.empty((n, 4), dtype=np.int64), np.empty(n, dtype=np.int64)
    gradient[:] = 0.0
    flow[:] = 0.0
    flow[0] = 1.0
    for at in range(len(ahead) - 1):
        if flow[at] < _LEAST_FLOW:
            continue
        for step in range(lattice.step_first[at], lattice.step_first[at + 1]):
            part = flow[at] * np.exp((ahead[at] - through[step]) / temperature)
            if part < _LEAST_FLOW:
                continue
            flow[lattice.targets[step]] += part
            _, count = _priced(problem, lattice, prices, at, step, part, gradient, drops, items, ranks)
            room = problem.room[lattice.nodes[step]]
            for q in range(count):
                item = ranks[q]
                weight = items[item, 3]
                held = part * min(room, weight) / weight
                gradient[items[item, 2], items[item, 0]] -= held
                gradient[items[item, 2], items[item, 1]] += held
                room -= weight
                if room <= 0:
                    break


@kernel
def climb(
    problem: Problem,
    lattice: Lattice,
    gradient: FloatArray,
    number: int,
    rate: float,
    mean: FloatArray,
    square: FloatArray,
    prices: FloatArray,
) -> None:
    """Change the prices along the averaged gradient, each by about ``rate`` of its range (Adam's step ``number``)."""
    for kind in range(2):
        for entry in range(prices.shape[1]):
            g = gradient[kind, entry]
            mean[kind, entry] = _MEAN * mean[kind, entry] + (1 - _MEAN) * g
            square[kind, entry] = _SQUARE * square[kind, entry] + (1 - _SQUARE) * g * g
            if square[kind, entry] > 0:
                most = np.float64((1 + kind) * problem.weights[lattice.live[entry]])
                root = np.sqrt(square[kind, entry] / (1 - _SQUARE**number)) + _SMALL
                price = prices[kind, entry] + rate * most * mean[kind, entry] / (1 - _MEAN**number) / root
                prices[kind, entry] = min(max(price, 0.0), most)


@kernel
def look_back(lattice: Lattice, ahead: FloatArray, through: FloatArray) -> FloatArray:
    """Return what the way to each set takes from the potential of the start at least, shape (sets,)."""
    behind = np.full(len(ahead), np.inf)
    behind[0] = 0.0
    for at in range(len(ahead) - 1):
        for step in range(lattice.step_first[at], lattice.step_first[at + 1]):
            target = lattice.targets[step]
            behind[target] = min(behind[target], behind[at] + through[step] - ahead[target])
    return behind


@kernel
def rank_of(potential: Potential, done: np.uint64) -> int:
    """Return the number of a computed set, -1 if no plan below the limit leads through it."""
    return int(potential.ranks[slot_of(potential.keys, potential.ranks, 0, len(potential.keys), done)])


@kernel
def potential_of(potential: Potential, state: WordArray, words: int, rank: int, own: IntArray) -> int:
    """Return the potential of a state, and write the price of each red value into ``own`` (shape (n,))."""
    total = potential.ahead[rank]
    for entry in range(potential.live_first[rank], potential.live_first[rank + 1]):
        u = potential.live[entry]
        if state[words + (u >> 6)] >> np.uint64(u & 63) & _ONE != _ZERO:
            kind = np.int64(state[2 * words + (u >> 6)] >> np.uint64(u & 63) & _ONE)
            own[u] = potential.prices[kind, entry]
            total += own[u]
    return int(total)
