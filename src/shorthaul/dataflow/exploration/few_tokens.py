"""Buffers with few tokens: an order of the firings in which readers of delayed channels come before the writers."""

from __future__ import annotations

import heapq
from typing import Final

import numpy as np
import numpy.typing as npt

from shorthaul.core.errors import InfeasibleError, InputError
from shorthaul.core.search import Search
from shorthaul.dataflow import tuning
from shorthaul.dataflow.bounds.firings import channels_together
from shorthaul.dataflow.caps_hms.heuristic import topological_rank
from shorthaul.dataflow.graphs.multi_reader_buffers import substitute_mrbs
from shorthaul.dataflow.mapping.arrays import Instance, genes
from shorthaul.dataflow.mapping.fitting import fitting
from shorthaul.dataflow.mapping.mapping_kernels import Genotypes
from shorthaul.dataflow.model import Application

IntArray = npt.NDArray[np.int64]

#: More than all bytes together: no token is read before it is written.
_NEVER: Final = 1 << 60


def few_tokens(application: Application) -> IntArray:
    """Return a number of tokens per channel with which an order of the firings is a schedule, of few bytes together.

    A buffer holds its initial tokens, and one more where its writer comes before a reader. Multicasts may be replaced:
    the channel into one holds what all readers behind it need.
    """
    place = _order(application)
    number = {channel.id: i for i, channel in enumerate(application.channels)}
    tokens = np.zeros(len(application.channels), np.int64)
    for root, group in channels_together(application).items():
        for channel in group:
            readers = [one.dst for one in group] if channel.id == root else [channel.dst]
            written_first = any(place[channel.src] <= place[reader] for reader in readers)
            tokens[number[channel.id]] = max(1, channel.delay + written_first)
    return tokens


def _order(application: Application) -> dict[str, int]:
    """Return the places of the actors in an order that moving a single one does not make better."""
    number = {actor.id: i for i, actor in enumerate(application.actors)}
    # per actor and neighbour, the bytes that it costs to be before the neighbour, less those to be after it
    cost: list[dict[int, int]] = [{} for _ in number]
    for channel in application.channels:
        u, v = number[channel.src], number[channel.dst]
        if u == v:
            continue
        price = channel.token_bytes if channel.delay else -_NEVER
        cost[u][v] = cost[u].get(v, 0) + price
        cost[v][u] = cost[v].get(u, 0) - price
    rank = topological_rank(application, inverse=True).tolist()
    own = [(number[channel.src], number[channel.dst]) for channel in application.channels if not channel.delay]
    behind = [(number[writer], number[reader]) for writer, reader in _behind_multicasts(application)]
    order = _sorted(rank, own + behind)
    if len(order) == len(rank):
        for u, v in behind:
            cost[u][v] = cost[u].get(v, 0) - _NEVER
            cost[v][u] = cost[v].get(u, 0) + _NEVER
    else:
        order = _sorted(rank, own)  # not all multicasts can be replaced
    place = np.argsort(order).tolist()
    while sum(_moved(order, place, cost[actor], actor) for actor in range(len(order))):
        pass
    return {name: place[i] for name, i in number.items()}


def _behind_multicasts(application: Application) -> list[tuple[str, str]]:
    """Return the writers and readers of buffers without initial tokens once any of the multicasts are replaced."""
    multicasts = set(application.multicasts)
    feeding = {channel.dst: channel for channel in application.channels if channel.dst in multicasts}
    pairs = []
    for channel in application.channels:
        above = channel
        while above.src in feeding:
            above = feeding[above.src]
            if not above.delay:
                pairs.append((above.src, channel.dst))
    return pairs


def _sorted(rank: list[int], pairs: list[tuple[int, int]]) -> list[int]:
    """Return the actors by rank, the first of each pair before the second; not all of them where pairs form a cycle."""
    followers: list[list[int]] = [[] for _ in rank]
    waiting = [0] * len(rank)
    for u, v in pairs:
        followers[u].append(v)
        waiting[v] += 1
    ready = [(rank[a], a) for a in range(len(rank)) if not waiting[a]]
    heapq.heapify(ready)
    order: list[int] = []
    while ready:
        _, actor = heapq.heappop(ready)
        order.append(actor)
        for follower in followers[actor]:
            waiting[follower] -= 1
            if not waiting[follower]:
                heapq.heappush(ready, (rank[follower], follower))
    return order


def _moved(order: list[int], place: list[int], cost: dict[int, int], actor: int) -> bool:
    """Move an actor to where it costs least; False if that is where it is."""
    here = place[actor]
    best, target = 0, here
    beside = sorted((place[other], price) for other, price in cost.items())
    for places, sign in (
        ([one for one in reversed(beside) if one[0] < here], 1),
        ([one for one in beside if one[0] > here], -1),
    ):
        change = 0
        for at, price in places:
            change += sign * price
            if change < best:
                best, target = change, at
    if target != here:
        order.insert(target, order.pop(here))
        for at in range(min(here, target), max(here, target) + 1):
            place[order[at]] = at
    return target != here


def roomiest(instance: Instance, strategy: str, search: Search) -> list[Genotypes]:
    """Return mappings whose buffers fit memories that are all limited, as far as some are known.

    Raises :class:`InfeasibleError` where no mapping has room for the fewest tokens.
    """
    application = instance.application
    xi = dict.fromkeys(application.multicasts, 0 if strategy == "reference" else 1)
    try:
        network = substitute_mrbs(application, xi)
    except InputError:
        network = substitute_mrbs(application, dict.fromkeys(xi, 0))
    fewest = {buffer.id: max(1, buffer.delay) for buffer in network.buffers}
    found = fitting(instance, network, fewest, search.beside(tuning.FITTING_EFFORT))
    limit = instance.platform.global_memory_bytes or 0
    if isinstance(found, int):
        if found > limit and (strategy != "mrb-explore" or not xi):
            raise InfeasibleError(
                "the global memory (in any mapping those of cores and tiles have no room for so much)",
                demand=found, limit=limit, place="platform", cure="enlarge memories, or shrink tokens",
            )  # fmt: skip
        return []
    return [genes(instance, mapping) for mapping in found]
