"""What every core does in one period: copies in and out and executions, in an order that cannot deadlock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from shorthaul.core.errors import InputError
from shorthaul.dataflow.graphs.multi_reader_buffers import Buffer
from shorthaul.dataflow.mapping.binding import MappedNetwork, Task
from shorthaul.dataflow.plan import Point


@dataclass(frozen=True, slots=True)
class Access:
    """An access to a buffer: ``edge`` is the channel that leads to the reader, ``reader`` its number; -1 for a write.

    A copy takes time on the core; any other access is made in place, while the actor executes.
    """

    task: Task
    buffer: Buffer
    edge: str
    reader: int

    @property
    def is_copy(self) -> bool:
        """True if the token crosses an interconnect."""
        return self.task.duration > 0


@dataclass(frozen=True, slots=True)
class Step:
    """An execution, or the copy of ``access``; iteration k of it happens ``age`` periods after period k began."""

    actor: str
    access: Access | None
    age: int


def accesses(net: MappedNetwork) -> dict[str, tuple[list[Access], list[Access]]]:
    """Return the reads and the writes of every actor."""
    found: dict[str, tuple[list[Access], list[Access]]] = {name: ([], []) for name in net.network.actors}
    reads = {name: iter(tasks) for name, tasks in net.reads.items()}
    writes = net.write_tasks()
    for buffer in net.network.buffers:
        found[buffer.writer][1].append(Access(writes[buffer.id], buffer, buffer.id, -1))
        for number, (reader, edge) in enumerate(zip(buffer.readers, buffer.edges, strict=True)):
            found[reader][0].append(Access(next(reads[reader]), buffer, edge, number))
    return found


def steps_of_cores(
    net: MappedNetwork, point: Point, found: Mapping[str, tuple[Sequence[Access], Sequence[Access]]]
) -> dict[str, list[Step]]:
    """Return what each core does in one period of ``point``, in order.

    Tasks that take time follow one another as in the plan. Those without are done first at their tick, the ones that
    hand over a token or a place before those that wait for it. Raises :class:`InputError` where they wait in a circle.
    """
    ranks = _ranks(net, point, found)
    keyed: dict[str, list[tuple[tuple[int, int, int], Step]]] = {}
    for actor, (reads, writes) in found.items():
        mine = keyed.setdefault(net.binding[actor], [])
        copies = [access for access in (*reads, *writes) if access.is_copy]
        tasks = [(actor, net.execution[actor], None), *((a.task.name, a.task.duration, a) for a in copies)]
        for name, length, access in tasks:
            age, tick = divmod(point.starts[name], point.period)
            order = (tick, int(length > 0), ranks[actor] if access is None else 0)
            mine.append((order, Step(actor, access, age)))
    return {core: [step for _, step in sorted(mine, key=lambda item: item[0])] for core, mine in keyed.items()}


def _ranks(
    net: MappedNetwork, point: Point, found: Mapping[str, tuple[Sequence[Access], Sequence[Access]]]
) -> dict[str, int]:
    """Return the order of executions without duration that happen at one tick of the period."""
    instant = {name for name in found if not net.execution[name]}
    local = {access.buffer.id for name in instant for access in found[name][1] if not access.is_copy}
    sorter: TopologicalSorter[str] = TopologicalSorter({name: [] for name in found})
    starts, period = point.starts, point.period
    for reader in found:
        for access in found[reader][0]:
            buffer, writer = access.buffer, access.buffer.writer
            if reader not in instant or reader == writer or access.is_copy or buffer.id not in local:
                continue
            if starts[writer] == starts[reader] + buffer.delay * period:
                sorter.add(reader, writer)
            if starts[reader] == starts[writer] + (point.capacities[buffer.id] - buffer.delay) * period:
                sorter.add(writer, reader)
    try:
        return {name: number for number, name in enumerate(sorter.static_order())}
    except CycleError as error:
        raise InputError(
            "these executions take no time and wait for one another at one tick",
            place="starts",
            value=" -> ".join(error.args[1]),
            cure="give one of them a duration, or schedule the mapping again",
        ) from None
