"""What points take in seconds, bytes and joules, beside ticks."""

from __future__ import annotations

from collections.abc import Sequence

from shorthaul.core.amounts import Cost
from shorthaul.dataflow.mapping.binding import MappedNetwork, mapped_point
from shorthaul.dataflow.model import NOC, Application, Platform
from shorthaul.dataflow.plan import Point

Passed = tuple[int, int]


def priced(cost: Cost, application: Application, platform: Platform, passed: Sequence[Passed]) -> Cost:
    """Return the cost with seconds, with bytes and, where the platform has the figures, joules of one iteration.

    ``traffic_bytes`` counts a byte on every crossbar and on the network between tiles; of several points it is, as
    every cost, the least of what is ``passed`` in them.
    """
    seconds = {f"{name}_s": cost[name] / application.ticks_per_second for name in ("period", "latency") if name in cost}
    more = {**seconds, "traffic_bytes": min((inside + between for inside, between in passed), default=0)}
    inside_pj, between_pj = platform.crossbar_pj_per_byte, platform.noc_pj_per_byte
    if inside_pj is not None and between_pj is not None:
        joules = (1e-12 * (inside * inside_pj + between * between_pj) for inside, between in passed)
        more["energy_j"] = min(joules, default=0.0)
    return Cost(**cost, **more)


def of_points(cost: Cost | None, application: Application, platform: Platform, points: Sequence[Point]) -> Cost | None:
    """Return the same of points that were replayed with this cost."""
    if cost is None or not points:
        return cost
    return priced(cost, application, platform, [passed_in(mapped_point(application, platform, p)) for p in points])


def passed_in(net: MappedNetwork) -> Passed:
    """Return the bytes that pass crossbars, and the network between tiles, in one iteration."""
    token_bytes = {buffer.id: buffer.token_bytes for buffer in net.network.buffers}
    inside = between = 0
    for accesses in (net.reads, net.writes):
        for tasks in accesses.values():
            for task in tasks:
                passes = task.route.count(NOC)
                between += passes * token_bytes[task.buffer]
                inside += (len(task.route) - passes) * token_bytes[task.buffer]
    return inside, between
