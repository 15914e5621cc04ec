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
from shorthaul.pebble.states.pattern_database_kernels import slot_of

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

    ``room`` is the budget less the weights of a node and its operands. Entries ``touched_first[v]`` to
    ``touched_first[v + 1]`` of ``touched`` are v and its operands, ascending. The other arrays have shape (n,).
    """

    weights: IntArray
    parents: WordArray
    children: WordArray
    given: BoolArray
    room: IntArray
    touched_first: IntArray
    touched: IntArray


class Lattice(NamedTuple):
    """Computed sets, the steps between them, and their live values.

    The steps from set d are numbers ``step_first[d]`` to ``step_first[d + 1]``: they compute ``nodes`` and lead to the
    sets ``targets``. Entries ``live_first[d]`` to ``live_first[d + 1]`` of ``live`` are the values that are read after
    d, ascending; ``masks`` are the same as sets. The first set is the start, the last is everything; steps lead to
    later sets.
    """

    sets: WordArray
    step_first: IntArray
    nodes: IntArray
    targets: IntArray
    live_first: IntArray
    live: IntArray
    masks: WordArray


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
def find_live(problem: Problem, sets: WordArray, masks: WordArray, live_first: IntArray) -> None:
    """Write the values that are read after each set, and where their entries begin."""
    entries = 0
    for d in range(len(sets)):
        live_first[d] = entries
        masks[d] = _ZERO
        for u in range(len(problem.weights)):
            if sets[d] >> np.uint64(u) & _ONE != _ZERO and problem.children[u] & ~sets[d] != _ZERO:
                masks[d] |= _ONE << np.uint64(u)
                entries += 1
    live_first[len(sets)] = entries


@kernel
def _size(mask: np.uint64) -> np.int64:
    mask -= mask >> _ONE & np.uint64(0x5555555555555555)
    mask = (mask & np.uint64(0x3333333333333333)) + (mask >> np.uint64(2) & np.uint64(0x3333333333333333))
    mask = mask + (mask >> np.uint64(4)) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64(mask * np.uint64(0x0101010101010101) >> np.uint64(56))


@kernel
def _priced(
    problem: Problem,
    lattice: Lattice,
    saved: FloatArray,
    unsaved: FloatArray,
    at: int,
    step: int,
    flow: float,
    gradient: FloatArray,
    drops: FloatArray,
) -> float:
    """Return what a step gains in prices of what it computes and reads; write what other live values drop to ``drops``.

    With a ``flow`` the gains are entered in ``gradient``. Inputs are never unsaved, and have price 0 there.
    """
    v = lattice.nodes[step]
    target = lattice.targets[step]
    mask, then = lattice.masks[at], lattice.masks[target]
    first = lattice.live_first[at]
    old, shift = first, lattice.live_first[target] - first
    gain = 0.0
    for k in range(problem.touched_first[v], problem.touched_first[v + 1]):
        u = problem.touched[k]
        own = _ONE << np.uint64(u)
        end = first + _size(mask & (own - _ONE))
        for i in range(old, end):
            drops[i - first] = max(saved[i] - saved[i + shift], unsaved[i] - unsaved[i + shift])
        old = end
        new = old + shift
        alive = then & own != _ZERO
        if u == v:
            if alive:
                gain += unsaved[new]
                shift += 1
                if flow > 0:
                    gradient[1, new] += flow
            continue
        saved_then = saved[new] if alive else 0.0
        change = saved_then - saved[old]
        kind = 0
        if not problem.given[u]:
            other = (unsaved[new] if alive else 0.0) - unsaved[old]
            if other < change:
                change, kind = other, 1
        is_out = saved_then < change  # it was not in fast memory
        gain += saved_then if is_out else change
        if flow > 0:
            if not is_out:
                gradient[kind, old] -= flow
            if alive:
                gradient[0 if is_out else kind, new] += flow
        if not alive:
            shift -= 1
        drops[old - first] = 0.0
        old += 1
    for i in range(old, lattice.live_first[at + 1]):
        drops[i - first] = max(saved[i] - saved[i + shift], unsaved[i] - unsaved[i + shift])
    return gain


@kernel
def _held(
    weights: IntArray, live: IntArray, first: int, count: int, room: int, end: float, is_whole: bool,
    drops: FloatArray, rates: FloatArray, amounts: FloatArray, sizes: IntArray,
) -> tuple[float, float]:  # fmt: skip
    """Return by how much the values that fit may drop in price at most, and the drop per weight where the room ends.

    Values may be divided; a whole number is rounded up. ``end`` is a guess of the second answer. The last three arrays
    are scratch of shape (n,). Drops per weight compare exactly, as weights are small (see :mod:`potentials`).
    """
    found = 0
    inside = 0  # values before this number are taken
    taken = np.int64(0)
    for i in range(count):
        drop = drops[i]
        if drop > 0:
            size = weights[live[first + i]]
            rate = drop / size
            rates[found], amounts[found], sizes[found] = rate, drop, size
            if rate > end:
                _swap(found, inside, rates, amounts, sizes)
                inside += 1
                taken += size
            found += 1
    while inside > 0 and taken > room:
        least = 0
        for i in range(1, inside):
            if rates[i] < rates[least]:
                least = i
        inside -= 1
        taken -= sizes[least]
        _swap(least, inside, rates, amounts, sizes)
    while inside < found:
        most = inside
        for i in range(inside + 1, found):
            if rates[i] > rates[most]:
                most = i
        _swap(most, inside, rates, amounts, sizes)
        if taken + sizes[inside] > room:
            break
        taken += sizes[inside]
        inside += 1
    total = 0.0
    for i in range(inside):
        total += amounts[i]
    if inside == found:
        return total, 0.0
    rest = amounts[inside] * (room - taken) / sizes[inside]
    return total + (np.ceil(rest) if is_whole else rest), rates[inside]


@kernel
def _swap(i: int, j: int, rates: FloatArray, amounts: FloatArray, sizes: IntArray) -> None:
    rates[i], rates[j] = rates[j], rates[i]
    amounts[i], amounts[j] = amounts[j], amounts[i]
    sizes[i], sizes[j] = sizes[j], sizes[i]


@kernel
def look_ahead(
    problem: Problem,
    lattice: Lattice,
    prices: FloatArray,
    temperature: float,
    is_whole: bool,
    ahead: FloatArray,
    through: FloatArray,
    ends: FloatArray,
) -> None:
    """Write a(D) of every set into ``ahead``, and the same for each step out of it into ``through``.

    ``ends`` becomes the drop in price per weight at which each step's room ends, and is a guess of it before. With a
    ``temperature`` the minimum over steps is softened. If ``is_whole``, prices are whole numbers, and so is what is
    written, rounded down.
    """
    n = len(problem.weights)
    drops, rates, amounts, sizes = np.empty(n), np.empty(n), np.empty(n), np.empty(n, dtype=np.int64)
    none = np.empty((2, 0))
    saved, unsaved = prices[0], prices[1]
    if len(ahead) == 0:
        return
    ahead[len(ahead) - 1] = 0.0
    for at in range(len(ahead) - 2, -1, -1):
        least = np.inf
        first, count = lattice.live_first[at], lattice.live_first[at + 1] - lattice.live_first[at]
        for step in range(lattice.step_first[at], lattice.step_first[at + 1]):
            gain = _priced(problem, lattice, saved, unsaved, at, step, 0.0, none, drops)
            room = problem.room[lattice.nodes[step]]
            lost, ends[step] = _held(
                problem.weights, lattice.live, first, count, room, ends[step], is_whole, drops, rates, amounts, sizes
            )
            through[step] = ahead[lattice.targets[step]] + gain - lost
            least = min(least, through[step])
        ahead[at] = least
        if temperature > 0 and least < np.inf:
            total = 0.0
            for step in range(lattice.step_first[at], lattice.step_first[at + 1]):
                total += np.exp((least - through[step]) / temperature)
            ahead[at] -= temperature * np.log(total)


@kernel
def _enter_drops(
    problem: Problem,
    lattice: Lattice,
    saved: FloatArray,
    unsaved: FloatArray,
    at: int,
    step: int,
    flow: float,
    end: float,
    drops: FloatArray,
    gradient: FloatArray,
) -> None:
    """Enter what the values that drop most, as far as they fit, lose to a step; equals share what room is left."""
    first = lattice.live_first[at]
    v, then = lattice.nodes[step], lattice.masks[lattice.targets[step]]
    begin = lattice.live_first[lattice.targets[step]]
    room = np.float64(problem.room[v])
    count = lattice.live_first[at + 1] - first
    equal = 0.0
    for i in range(count):
        if drops[i] > 0:
            weight = problem.weights[lattice.live[first + i]]
            drops[i] /= weight
            if drops[i] > end:
                room -= weight
            elif drops[i] == end:
                equal += weight
    share = flow * min(1.0, max(0.0, room) / equal) if equal > 0 else 0.0
    for i in range(count):
        if drops[i] > 0 and drops[i] >= end:
            part = flow if drops[i] > end else share
            old = first + i
            new = begin + _size(then & ((_ONE << np.uint64(lattice.live[old])) - _ONE))
            kind = 1 if unsaved[old] - unsaved[new] > saved[old] - saved[new] else 0
            gradient[kind, old] -= part
            gradient[kind, new] += part


@kernel
def follow(
    problem: Problem,
    lattice: Lattice,
    prices: FloatArray,
    temperature: float,
    ahead: FloatArray,
    through: FloatArray,
    ends: FloatArray,
    flow: FloatArray,
    gradient: FloatArray,
) -> None:
    """Write the gradient of the softened a(start) by the prices: what a flow over all ways, best ones first, meets."""
    drops = np.empty(len(problem.weights))
    saved, unsaved = prices[0], prices[1]
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
            _priced(problem, lattice, saved, unsaved, at, step, part, gradient, drops)
            _enter_drops(problem, lattice, saved, unsaved, at, step, part, ends[step], drops, gradient)


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
