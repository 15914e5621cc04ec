"""A machine that executes the steps of a group one after the other: the slow, obvious twin of their seconds."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from dataclasses import dataclass

from shorthaul.tensor.networks.array import spread
from shorthaul.tensor.networks.boxes import Span, tiles, touched
from shorthaul.tensor.networks.machine import Machine
from shorthaul.tensor.networks.model import Network
from shorthaul.tensor.networks.plan import Group

Box = tuple[tuple[int, int], ...]


@dataclass(slots=True)
class Job:
    """Bytes that pass once step ``release`` has begun, before step ``deadline`` begins."""

    release: int
    deadline: int
    left_s: float


def executed(compute_s: list[float], jobs: list[Job]) -> float:
    """Return when the last step and the last job are done; of the jobs there are, the most urgent one passes."""
    now = done = 0.0
    for step in range(len(compute_s) + 1):
        while True:
            waiting = [job for job in jobs if job.release < step and job.left_s > 0]
            urgent = [job for job in waiting if job.deadline <= step]
            if not urgent and (now >= done or not waiting):
                break
            job = min(waiting, key=lambda job: job.deadline)
            passed = job.left_s if urgent else min(job.left_s, done - now)
            job.left_s, now = job.left_s - passed if passed < job.left_s else 0.0, now + passed
        now = max(now, done)
        if step < len(compute_s):
            done = now + compute_s[step]
    return now


def steps_seconds(network: Network, group: Group, near: set[int], shared: set[int], machine: Machine) -> float:
    """Return the seconds of a group but for its first load and last store; reads ``shared``, by place, have no buffer."""
    sizes = {(loop.operator, loop.dim): network.operators[loop.operator].dims[loop.dim] for loop in group.loops}
    loops = {(loop.operator, loop.dim): tiles(sizes[loop.operator, loop.dim], loop.tile, (loop.operator, loop.dim))
             for loop in group.loops}  # fmt: skip
    trips = [len(span.low) for span in loops.values()]
    places = list(itertools.product(*map(range, trips)))
    follows = {name: set().union(*(span.of for span in box)) for name, box in _boxes(network, group, loops).items()}
    byte_s = 1 / machine.levels[0].bandwidth_bytes_per_s
    compute: list[float] = []
    jobs: list[Job] = []
    before: dict[tuple[str, int], Box] = {}
    sink, reduced = group.operators[-1], network.operators[group.operators[-1]].reduced
    for step, place in enumerate(places):
        here = {
            key: Span(span.low[[at]], span.high[[at]], span.of)
            for (key, span), at in zip(loops.items(), place, strict=True)
        }
        units: dict[str, float] = defaultdict(float)
        goes_on = any(
            at > 0 for (number, dim), at in zip(loops, place, strict=True) if number == sink and dim in reduced
        )
        for name, spans in _boxes(network, group, here).items():
            box = tuple((int(span.low[0]), int(span.high[0])) for span in spans)
            old, before[name] = before.get(name), box
            role, number = name
            if role == "work":
                operator = network.operators[number]
                each = operator.work * machine.seconds_per_operation(operator.unit, network.bits(number))
                units[operator.unit] += each * _passes(box, old, spread(operator, machine.array))
                continue
            for softmax, key in network.running_in(group.operators):
                if role == "made" and network.producer[number] == key[0] and key in loops:
                    operator = network.operators[softmax]
                    each = machine.seconds_per_operation(operator.unit, network.bits(softmax))
                    units[operator.unit] += each * _volume(box) * (place[list(loops).index(key)] > 0)
            tensor = number if role == "made" else touched(network, group.operators, here).read[number][1]
            if old is None or tensor in near or (role == "read" and number in shared):
                continue
            size = network.tensors[tensor].bits / 8 * byte_s
            inner = [at for at, key in enumerate(loops) if key in follows[name] and trips[at] > 1]
            each_block = math.prod(trips[inner[-1] + 1 :]) if inner else len(places)
            is_sink = tensor == network.operators[sink].writes[0].tensor
            if role == "read" or (is_sink and goes_on):
                jobs.append(Job(step - each_block, step, (_volume(box) - _common(box, old)) * size))
            if role == "made" and (is_sink or _others_read(network, group, tensor)):
                jobs.append(Job(step, step + each_block, (_volume(old) - _common(box, old)) * size))
        compute.append(max(units["matrix"], units["vector"]))
    return executed(compute, jobs) if machine.levels[1].double_buffered else sum(compute)


def _boxes(
    network: Network, group: Group, loops: dict[tuple[int, int], Span]
) -> dict[tuple[str, int], tuple[Span, ...]]:
    found = touched(network, group.operators, loops)
    boxes = {("work", number): box for number, box in found.regions.items()}
    boxes |= {("made", number): box for number, box in found.made.items()}
    return boxes | {("read", place): box for place, (_, _, box) in enumerate(found.read)}


def _others_read(network: Network, group: Group, tensor: int) -> bool:
    return network.tensors[tensor].is_output or not set(network.consumers[tensor]) <= set(group.operators)


def _volume(box: Box) -> int:
    return math.prod(max(0, high - low + 1) for low, high in box)


def _common(box: Box, old: Box) -> int:
    return math.prod(max(0, min(a[1], b[1]) - max(a[0], b[0]) + 1) for a, b in zip(box, old, strict=True))


def _passes(box: Box, old: Box | None, widths: tuple[int, ...]) -> float:
    """Return the positions that an array computes for what is new, a part of a pass as all of it."""
    every = math.prod(-(-(high - low + 1) // width) * width for (low, high), width in zip(box, widths, strict=True))
    if old is None:
        return every
    spared = 1
    for (low, high), (first, last), width in zip(box, old, widths, strict=True):
        both = max(0, min(high, last) - max(low, first) + 1)
        spared *= -(-both // width) * width if both == high - low + 1 else both // width * width
    return every - spared
