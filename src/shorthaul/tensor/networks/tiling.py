"""The best tiling of a group: sizes of tiles on a grid, refined around the best, under orders of the loops."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from shorthaul.tensor.networks.array import spread
from shorthaul.tensor.networks.boxes import Key
from shorthaul.tensor.networks.loops import shape_of
from shorthaul.tensor.networks.machine import Machine
from shorthaul.tensor.networks.model import Network
from shorthaul.tensor.networks.plan import Group, Loop
from shorthaul.tensor.networks.pricing import Beside, GroupPricer, Prices

#: Sizes tried per loop, by how many loops there are: some 10^4 tilings in all.
_SIZES = {1: 48, 2: 32, 3: 16, 4: 9, 5: 6, 6: 5, 7: 4}
#: Orders tried where there are too many for all of them.
_MOST_ORDERS = 24
#: Where a group has many loops, one order of so many is looked at for alternatives.
_ORDERS_LEFT_OUT = 4
#: Sizes of the grid below the best that are tried once more with finer ones: a smaller step may make room.
_SMALLER = 3
#: The part of the weight of traffic that seconds of compute have: what is computed again costs energy too.
_WORK_WEIGHT = 0.7
#: The part of a group's time that a further step has to save: without it tiles would shrink for next to nothing.
_STEP_WEIGHT = 1e-6
#: Tilings of an order, the best by amounts, priced step by step before the others: in most orders nothing is left then.
_FIRST = 64


@dataclass(frozen=True, slots=True)
class Tiled:
    """A group with its best tiling: its cost to compare, in seconds, and the amounts."""

    group: Group
    score: float
    latency_s: float
    loads: float
    stores: float
    matrix_s: float
    vector_s: float
    peak: float
    ends: float
    steps_s: float
    first: float
    worth: float
    moved_s: float


def best_tiling(
    network: Network,
    operators: Sequence[int],
    machine: Machine,
    stored: frozenset[int],
    capacity: float,
    near: frozenset[int] = frozenset(),
    beside: Beside | None = None,
    *,
    coarse: bool = False,
    given: Mapping[Key, int] | None = None,
) -> Tiled | None:
    """Return the fastest tiling of a group that fits into ``capacity`` bytes, None if none does.

    ``stored`` are the tensors that the group makes and others need; those of ``near`` are held whole aside. With other
    groups ``beside`` it, their time counts as well. A ``coarse`` search tries fewer sizes. Tiles of some loops may be
    ``given``.
    """
    operator = network.operators[operators[-1]]
    if operator.barrier:
        return _barrier(network, operators[-1], machine, near)
    shape, given = shape_of(network, operators), given or {}
    late = frozenset[int]() if beside is None else beside.late
    pricer = GroupPricer(network, operators, machine, stored, shape, {}, near, late)
    keys = list(pricer.keys)
    count = _SIZES.get(len(keys) - len(given), 3)
    for key in keys:
        sizes_tried = grid(shape.sizes[key], -(-count * 2 // 3) if coarse else count)
        sizes_tried = _filling(sizes_tried, spread(network.operators[key[0]], machine.array)[key[1]])
        pricer.offer(key, [given[key]] if key in given else sizes_tried)
    if not pricer.covers:
        return None
    sink = [key for key in keys if key in shape.sink]
    inner = [key for key in keys if key in shape.inner]
    found = _search(pricer, sink, inner, capacity, beside)
    if found is None:
        return None
    order, sizes, prices = found
    for key in () if coarse else [key for key in keys if key not in given]:
        around = pricer.candidates[key]
        at = around.index(sizes[key])
        low = around[at - 1] if at else sizes[key]
        high = around[at + 1] if at + 1 < len(around) else sizes[key]
        finer_sizes = between(shape.sizes[key], low, sizes[key], high, count)
        pricer.offer(key, sorted({*finer_sizes, *around[max(0, at - _SMALLER) : at]}))
    finer = None if coarse else _search(pricer, sink, inner, capacity, beside, order)
    order, sizes, prices = found if finer is None or not pricer.covers else finer
    loops = tuple(Loop(key[0], key[1], sizes[key]) for key in order if sizes[key] < shape.sizes[key])
    group = Group(tuple(operators), loops)
    return (
        priced(network, group, machine, stored, near, beside)
        if pricer.reads_again
        else _tiled(group, prices, machine, beside)
    )


def priced(
    network: Network,
    group: Group,
    machine: Machine,
    stored: frozenset[int],
    near: frozenset[int],
    beside: Beside | None = None,
) -> Tiled:
    """Return a group with the price of its tiles."""
    cut = [(loop.operator, loop.dim) for loop in group.loops]
    shape = shape_of(network, group.operators)
    sizes = shape.sizes | {(loop.operator, loop.dim): loop.tile for loop in group.loops}
    late = frozenset[int]() if beside is None else beside.late
    pricer = GroupPricer(network, group.operators, machine, stored, shape, sizes, near, late)
    for key in pricer.keys:
        pricer.offer(key, [sizes[key]])
    order = [*cut, *(key for key in pricer.keys if key not in cut)]
    return _tiled(group, pricer.prices(order, dict.fromkeys(pricer.keys, np.zeros(1, np.int64))), machine, beside)


def alternatives(
    network: Network,
    operators: Sequence[int],
    machine: Machine,
    stored: frozenset[int],
    capacity: float,
    near: frozenset[int],
    beside: Beside | None = None,
) -> list[tuple[float, float, tuple[Loop, ...]]]:
    """Return tilings of a group, those of the least score first: one for the loops cut, their order and steps by fours.

    Each comes with its score and the seconds of its first loads and last stores.
    """
    late = frozenset[int]() if beside is None else beside.late
    found: dict[tuple[Loop, ...], tuple[float, float]] = {}
    shape = shape_of(network, operators)
    pricer = GroupPricer(network, operators, machine, stored, shape, {}, near, late)
    keys = list(pricer.keys)
    for key in keys:
        pricer.offer(key, grid(shape.sizes[key], _SIZES.get(len(keys), 3)))
    if not pricer.covers or not keys:
        return []
    mesh = np.indices([len(pricer.candidates[key]) for key in keys]).reshape(len(keys), -1)
    everything = dict(zip(keys, mesh, strict=True))
    cut = sum((everything[key] < len(pricer.candidates[key]) - 1) << at for at, key in enumerate(keys))
    inner = [key for key in keys if key in shape.inner]
    sink = [key for key in keys if key in shape.sink]
    for outer in _orders(pricer, sink)[:: 1 if len(sink) <= 3 else _ORDERS_LEFT_OUT]:
        order = (*outer, *inner)
        prices = pricer.prices(order, everything, by_step=False)
        score = np.where(prices.peak <= capacity, _score(prices, machine, beside), np.inf)
        ranked = score.argsort(kind="stable")
        ranked = ranked[: np.isfinite(score).sum()]
        kinds = cut * 64 + np.log2(prices.steps).astype(np.int64) // 2
        ranked = ranked[np.unique(kinds[ranked], return_index=True)[1]]
        if not ranked.size:
            continue
        chosen = {key: numbers[ranked] for key, numbers in everything.items()}
        exact = pricer.prices(order, chosen)
        ends_s = exact.ends / machine.levels[0].bandwidth_bytes_per_s
        for at, (least, ends) in enumerate(zip(_score(exact, machine, beside), ends_s, strict=True)):
            sizes = {key: pricer.candidates[key][int(chosen[key][at])] for key in keys}
            loops = tuple(Loop(*key, sizes[key]) for key in order if sizes[key] < shape.sizes[key])
            found.setdefault(loops, (float(least), float(ends)))
    ordered = sorted(found.items(), key=lambda one: one[1])
    return [(*amounts, loops) for loops, amounts in ordered]


def grid(size: int, count: int) -> list[int]:
    """Return sizes of tiles from 1 to ``size``, evenly spaced by ratio, divisors where one is near."""
    wanted = np.unique(np.round(np.geomspace(1, size, min(count, size))).astype(np.int64)).tolist()
    found = set()
    for size_wanted in wanted:
        parts = -(-size // size_wanted)
        near = [part for part in range(max(1, parts * 3 // 4), parts * 5 // 4 + 1) if size % part == 0]
        parts = min(near, key=lambda part: abs(part - parts)) if near else parts
        found.add(-(-size // parts))
    return sorted(found | {1, size})


def _filling(sizes: Sequence[int], width: int) -> list[int]:
    """Return sizes of tiles, and of those above half of an array's width, but for the whole, ones that fill it."""
    return sorted({*sizes, *(width * round(size / width) for size in sizes if width < 2 * size < 2 * sizes[-1])})


def between(size: int, low: int, middle: int, high: int, count: int) -> list[int]:
    """Return sizes of tiles from ``low`` to ``high`` that cut ``size`` evenly, ``middle`` among them."""
    wanted = np.unique(np.round(np.geomspace(low, high, max(3, count))).astype(np.int64)).tolist()
    return sorted({-(-size // -(-size // item)) for item in wanted} | {middle})


def _orders(pricer: GroupPricer, keys: Sequence[Key]) -> list[tuple[Key, ...]]:
    """Return orders of the loops: all, or those that a random sample and the natural ones give.

    Loops of one step come first, and those of which the tiles are given stand side by side.
    """
    still = tuple(key for key in keys if pricer.trips[key].max() <= 1)
    given = tuple(key for key in keys if key not in still and len(pricer.candidates[key]) == 1)
    units = [(key,) for key in keys if key not in still and key not in given] + [given] * bool(given)
    if len(units) <= 4:
        found = set(itertools.permutations(units))
    else:
        random, found = np.random.default_rng(0), {tuple(units), tuple(reversed(units))}
        while len(found) < _MOST_ORDERS:
            found.add(tuple(units[number] for number in random.permutation(len(units))))
    return [tuple(itertools.chain(still, *order)) for order in sorted(found)]


def _search(
    pricer: GroupPricer,
    sink: Sequence[Key],
    inner: Sequence[Key],
    capacity: float,
    beside: Beside | None = None,
    order: tuple[Key, ...] | None = None,
) -> tuple[tuple[Key, ...], dict[Key, int], Prices] | None:
    keys = [*sink, *inner]
    lengths = [len(pricer.candidates[key]) for key in keys]
    mesh = np.indices(lengths).reshape(len(keys), -1) if keys else np.zeros((0, 1), np.int64)
    everything = dict(zip(keys, mesh, strict=True))
    # Whatever the order is, what fits at all fits with some order. Once the order is known, all are tried.
    fits = np.zeros(mesh.shape[1], bool)
    orders = [(*outer, *inner) for outer in _orders(pricer, sink)] if order is None else [order]
    for one in orders[: 1 if order else 2]:
        fits |= pricer.prices(one, everything, by_step=False).peak <= capacity
    kept = _worth_trying(fits.reshape(lengths)) if keys and order is None else fits
    if not kept.any():
        return None
    chosen = {key: numbers[kept.ravel()] for key, numbers in everything.items()}
    least = []
    for one in orders:
        prices = pricer.prices(one, chosen, by_step=False)
        least.append(np.where(prices.peak <= capacity, _score(prices, pricer.machine, beside), np.inf))
    best: tuple[float, tuple[Key, ...], int, Prices] | None = None
    for number in sorted(range(len(orders)), key=lambda number: (least[number].min(), number)):
        ranked = least[number].argsort(kind="stable")
        for some in (ranked[:_FIRST], ranked[_FIRST:]):
            tried = some[least[number][some] < (np.inf if best is None else best[0] * (1 - 1e-12))]
            if not tried.size:
                break
            prices = pricer.prices(orders[number], {key: numbers[tried] for key, numbers in chosen.items()})
            score = _score(prices, pricer.machine, beside)
            at = int(score.argmin())
            if best is None or score[at] < best[0] * (1 - 1e-12):
                one_price = Prices(*(values[at : at + 1] for values in _arrays(prices)))
                best = float(score[at]), orders[number], int(tried[at]), one_price
    if best is None:
        return None
    _, found, at, prices = best
    return found, {key: pricer.candidates[key][int(chosen[key][at])] for key in keys}, prices


def _arrays(prices: Prices) -> tuple[npt.NDArray[np.float64], ...]:
    return tuple(getattr(prices, item.name) for item in fields(prices))


def _worth_trying(fits: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return the tilings that fit of which a neighbour with one larger tile does not, and every other one.

    Larger tiles move less; smaller ones make the first load and the last store shorter.
    """
    any_larger = np.zeros_like(fits)
    coarse = np.ones_like(fits)
    for axis in range(fits.ndim):
        larger = np.roll(fits, -1, axis)
        last = [slice(None)] * fits.ndim
        last[axis] = slice(-1, None)
        larger[tuple(last)] = False
        any_larger |= larger
        last[axis] = slice(-2, None, -2)
        coarse[tuple(last)] = False
    return fits & (coarse | ~any_larger)


def _score(prices: Prices, machine: Machine, beside: Beside | None = None) -> npt.NDArray[np.float64]:
    moved = prices.worth / machine.levels[0].bandwidth_bytes_per_s
    worked = prices.matrix_s + prices.vector_s
    latency = prices.latency(machine, beside) * (1 + _STEP_WEIGHT * prices.steps)
    return latency + machine.traffic_weight * (moved + _WORK_WEIGHT * worked)


def least_score(loads: float, stores: float, seconds: Mapping[str, float], machine: Machine) -> float:
    """Return the score of a group that moves and computes so much."""
    worth = min(machine.traffic_weights()) * (loads + stores)
    return float(_score(_of_one_step(loads, stores, seconds, worth, machine), machine)[0])


def _of_one_step(loads: float, stores: float, seconds: Mapping[str, float], worth: float, machine: Machine) -> Prices:
    """Return the amounts of a group in which nothing stays."""
    moved_s, steps_s = (loads + stores) / machine.levels[0].bandwidth_bytes_per_s, max(seconds.values())
    computed = (seconds["matrix"], seconds["vector"])
    amounts = (loads, stores, *computed, 0.0, 0.0, 1.0, 0.0, steps_s, 0.0, worth, moved_s)
    return Prices(*(np.array([amount]) for amount in amounts))


def _tiled(group: Group, prices: Prices, machine: Machine, beside: Beside | None = None) -> Tiled:
    amounts = [float(values[0]) for values in _arrays(prices)]
    score, latency_s = float(_score(prices, machine, beside)[0]), float(prices.latency(machine)[0])
    return Tiled(group, score, latency_s, *amounts[:6], *amounts[8:])


def _barrier(network: Network, number: int, machine: Machine, near: frozenset[int]) -> Tiled:
    """Return an operator of which only the traffic is known: everything passes once, and nothing stays."""
    operator = network.operators[number]
    read = [access.tensor for access in operator.reads if access.tensor not in near]
    written = [a.tensor for a in operator.writes if a.tensor not in near or network.tensors[a.tensor].is_output]
    loads = float(sum(network.tensors[tensor].bytes for tensor in read))
    stores = float(sum(network.tensors[tensor].bytes for tensor in written))
    seconds = {"matrix": 0.0, "vector": 0.0}
    seconds[operator.unit] = operator.work * machine.seconds_per_operation(operator.unit, network.bits(number))
    return _tiled(Group((number,)), _of_one_step(loads, stores, seconds, loads + stores, machine), machine)
