"""Proofs of least periods by prices of actors and buffers, verified: what a core executes earns no more than it costs.

Shares no code with bounds. In a mapping of a period, every core in use executes a set of actors. A set earns the prices
of its actors; it pays those of the buffers that are in the core's memory, each of which is in one core's. Where
multicasts are kept, each channel of a buffer is in some memory, so that no more cores hold parts of it than it has
channels. So all sets together earn the prices of all actors less those of all buffers, as often as they have channels,
at least. If no set that a core has the ticks and bytes for earns more than the core costs, cores of all sets cost that
much.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np

from shorthaul.core.check import Violation
from shorthaul.core.errors import InputError
from shorthaul.dataflow.check.core_prices_kernels import Core, earns_more
from shorthaul.dataflow.model import Application, Channel, Platform, ticks_for

#: Branches looked at for one kind of core: some minutes.
_MOST_NODES: Final = 10**9
#: Sums of prices have to stay whole numbers of 64 bits; so have products with multipliers.
_MOST_SUM: Final = 2**56
_RULE: Final = "core-prices"
_KEYS: Final = {"core_cost", "period", "units_per_core_cost", "actors", "buffers", "cores"}
_OF_CORE: Final = ("core_type", "local_bytes", "crossbar_bytes_per_s")


@dataclass(frozen=True, slots=True)
class SharedBuffer:
    """What shares a buffer if all multicasts are replaced: its first channel, least bytes, accesses and channels."""

    name: str
    size: int
    token_bytes: int
    of_actors: tuple[str, ...]
    channels: int


def verify_prices(
    application: Application, platform: Platform, strategy: str, proof: object, place: str
) -> list[Violation]:
    """Return what is wrong with one proof of a least period at a core cost; :class:`InputError` if it is none."""
    prices = _parsed(proof, place)
    multicasts = set(application.multicasts) if strategy != "reference" else set()
    actors = [actor for actor in application.actors if actor.id not in multicasts]
    buffers = shared_buffers(application, multicasts, separate=strategy == "reference")
    _known(prices["actors"], {actor.id for actor in actors}, f"{place}.actors")
    _known(prices["buffers"], {buffer.name for buffer in buffers}, f"{place}.buffers")
    copies = {buffer.name: 1 if strategy == "mrb-always" else buffer.channels for buffer in buffers}
    scale = _scale(prices["units_per_core_cost"], f"{place}.units_per_core_cost")
    kinds: dict[tuple[Any, ...], int] = {}
    for tile in platform.tiles:
        for core in tile.cores:
            key = (core.type, core.local_bytes, tile.crossbar_bytes_per_s)
            kinds[key] = kinds.get(key, 0) + 1
    given = {tuple(core[name] for name in _OF_CORE): core for core in prices["cores"]}
    if set(given) != set(kinds) or len(given) != len(prices["cores"]):
        raise InputError("are not the kinds of cores of the platform", place=f"{place}.cores")
    wrong = []
    total = sum(prices["actors"].values()) - sum(price * copies[name] for name, price in prices["buffers"].items())
    for number, (key, core) in enumerate(given.items()):
        total -= core["price"] * kinds[key]
        most = Fraction(platform.core_types[key[0]].cost) * scale + core["price"]
        found = _earns(application, actors, buffers, prices, core, int(most))
        if found is not False:
            told = "was not decided" if found is None else "does not hold: some earn more"
            message = f"that no set of actors earns more than a core of type {key[0]} costs {told}"
            wrong.append(Violation(_RULE, f"{place}.cores[{number}]", message))
    if not total > Fraction(prices["core_cost"]) * scale:
        message = f"all actors earn no more than cores of {prices['core_cost']:g} cost"
        wrong.append(Violation(_RULE, place, message, float(prices["core_cost"]), float(total / scale)))
    return wrong


def _earns(
    application: Application, actors: Sequence[Any], buffers: Sequence[SharedBuffer], prices: Mapping[str, Any],
    core: Mapping[str, Any], most: int,
) -> bool | None:  # fmt: skip
    """Return whether a set of actors that a core executes in less than the period earns more than ``most``."""
    period, room = prices["period"] - 1, core["local_bytes"]
    near = [ticks_for(b.token_bytes, core["crossbar_bytes_per_s"], application.ticks_per_second) for b in buffers]
    local = [number for number, buffer in enumerate(buffers) if buffer.size <= room]
    place = {number: i for i, number in enumerate(local)}
    rows = []
    for actor in actors:
        ticks, asked = actor.ticks.get(core["core_type"]), dict[int, int]()
        if ticks is None:
            continue
        for number, buffer in enumerate(buffers):
            accesses = buffer.of_actors.count(actor.id)
            if accesses and number in place:
                asked[place[number]] = min(period + 1, accesses * near[number])
            else:
                ticks += accesses * near[number]
        if ticks <= period:
            rows.append((ticks, prices["actors"].get(actor.id, 0), asked))
    rows.sort(key=lambda row: -Fraction(row[1], row[0]) if row[0] else -_MOST_SUM)
    price = [prices["buffers"].get(buffers[number].name, 0) for number in local]
    first = np.cumsum([0, *(len(asked) for _, _, asked in rows)])
    found = Core(
        period, room, _whole(row[0] for row in rows), first.astype(np.int64),
        _whole(b for _, _, asked in rows for b in asked), _whole(n for _, _, asked in rows for n in asked.values()),
        _whole(buffers[number].size for number in local), _whole(row[1] for row in rows), _whole(price),
    )  # fmt: skip
    most_tick, most_byte = _MOST_SUM // 2**8 // (period + 1), _MOST_SUM // 2**8 // max(1, room)
    per_tick, per_byte = min(core["per_tick"], most_tick), min(core["per_byte"], most_byte)
    return earns_more(found, most, per_tick, per_byte, _MOST_NODES)


def _whole(numbers: Any) -> Any:
    return np.fromiter(numbers, np.int64)


def shared_buffers(application: Application, multicasts: set[str], *, separate: bool) -> list[SharedBuffer]:
    """Return the buffers that are left if all multicasts are replaced, or one for every channel."""
    out: dict[str, list[Channel]] = {}
    for channel in application.channels:
        out.setdefault(channel.src, []).append(channel)
    found = []
    for channel in application.channels:
        if channel.src in multicasts and not separate:
            continue
        group = [channel]
        for member in group:  # which grows meanwhile
            if member.dst in multicasts and not separate:
                group += out[member.dst]
        ends = [end for member in group for end in (member.src, member.dst)]
        tokens = max(1, channel.delay) if len(group) == 1 else 1
        of_actors = tuple(end for end in ends if end not in multicasts)
        size = tokens * min(member.token_bytes for member in group)
        found.append(SharedBuffer(channel.id, size, channel.token_bytes, of_actors, len(group)))
    return found


def _scale(text: object, place: str) -> Fraction:
    try:
        scale = Fraction(str(text))
    except (ValueError, ZeroDivisionError):
        scale = Fraction(0)
    if not 0 < scale < _MOST_SUM:
        raise InputError("is no scale of prices", place=place, value=text, allowed="a fraction above 0")
    return scale


def _parsed(proof: object, place: str) -> Mapping[str, Any]:
    if not isinstance(proof, Mapping) or set(proof) != _KEYS:
        raise InputError("is no proof by prices", place=place, allowed=", ".join(sorted(_KEYS)))
    cost, period = proof["core_cost"], proof["period"]
    if isinstance(cost, bool) or not isinstance(cost, int | float) or not 0 <= cost <= 1e18:
        raise InputError("is no core cost", place=f"{place}.core_cost", value=cost)
    if type(period) is not int or not 1 <= period < 2**40:
        raise InputError("is no period", place=f"{place}.period", value=period)
    for name in ("actors", "buffers"):
        if not isinstance(proof[name], Mapping) or not all(_is_price(price) for price in proof[name].values()):
            raise InputError("are not prices by name", place=f"{place}.{name}", allowed="whole numbers")
        if sum(proof[name].values()) > _MOST_SUM:
            raise InputError("are too large together", place=f"{place}.{name}", allowed=f"up to {_MOST_SUM}")
    keys = {*_OF_CORE, "price", "per_tick", "per_byte"}
    if not isinstance(proof["cores"], list) or not all(
        isinstance(core, Mapping)
        and set(core) == keys
        and isinstance(core["core_type"], str)
        and isinstance(core["crossbar_bytes_per_s"], int | float)
        and all(_is_price(core[name]) for name in ("local_bytes", "price", "per_tick", "per_byte"))
        for core in proof["cores"]
    ):
        raise InputError("are not kinds of cores", place=f"{place}.cores", allowed=", ".join(sorted(keys)))
    return proof


def _is_price(value: object) -> bool:
    return type(value) is int and 0 <= value <= _MOST_SUM


def _known(names: Mapping[str, int], known: set[str], place: str) -> None:
    for name in names:
        if name not in known:
            raise InputError("is not of this application", place=place, value=name)
