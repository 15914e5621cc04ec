"""One gene for all firings of an expanded actor: their core, or the cores on which they are in runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shorthaul.dataflow import tuning
from shorthaul.dataflow.mapping.arrays import Instance
from shorthaul.dataflow.model import DECISIONS

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Groups:
    """Genes that are one to the explorer, those of an expanded actor's firings: the first of each, and whose each is.

    A group of actors has a place: core p of P, or P + n - 2, where its firings are in n runs of about the same length
    on the first n cores. ``able`` holds the places that each can have, ``able_count`` their number.
    """

    first: tuple[IntArray, IntArray, IntArray]  # of multicasts, channels and actors
    of: tuple[IntArray, IntArray, IntArray]
    able: IntArray
    able_count: IntArray
    rank: IntArray  # of every actor in its group
    size: IntArray  # of its group
    last: IntArray  # per group of actors, its last one
    core_count: int

    @property
    def are_firings(self) -> bool:
        """True if some group has several members."""
        return len(self.first[2]) < len(self.of[2])

    def cores(self, places: IntArray) -> IntArray:
        """Return the core of every actor, shape (individuals, actors), from the places of groups."""
        place = np.take(places, self.of[2], axis=1)
        runs = place - self.core_count + 2
        return np.where(runs < 2, place, self.rank * runs // self.size)

    def places(self, cores: IntArray) -> IntArray:
        """Return the places of the groups, shape (individuals, groups), from the core of every actor."""
        first, last = np.take(cores, self.first[2], axis=1), np.take(cores, self.last, axis=1)
        return np.where(first == last, first, last + self.core_count - 1)


def groups_of(instance: Instance) -> Groups:
    """Return the groups of an application: firings ``a#0``, ``a#1``, ... of one actor that run on the same cores."""
    application = instance.application
    able = [cores.tobytes() for cores in instance.able]
    keys: tuple[list[object], ...] = (
        [name.partition("#")[0] for name in application.multicasts],
        [channel.id.partition("#")[0] for channel in application.channels],
        [(actor.id.partition("#")[0], cores) for actor, cores in zip(application.actors, able, strict=True)],
    )
    firsts, members = [], []
    for names in keys:
        number: dict[object, int] = {}
        members.append(np.array([number.setdefault(name, len(number)) for name in names], np.int64))
        firsts.append(np.array([names.index(name) for name in number], np.int64))
    of, core_count = members[2], len(instance.core_tile)
    counts = np.bincount(of, minlength=len(firsts[2]))
    rank, last = np.zeros(len(of), np.int64), np.zeros(len(counts), np.int64)
    seen = [0] * len(counts)
    for actor, group in enumerate(of.tolist()):
        rank[actor], last[group] = seen[group], actor
        seen[group] += 1
    places = []
    for actor, count in zip(firsts[2].tolist(), counts.tolist(), strict=True):
        cores = instance.able[actor]
        leading = int((np.append(cores, -1) != np.arange(len(cores) + 1)).argmax())  # the first ones, all of them
        most = min(leading, count, tuning.MOST_RUNS)
        places.append(np.concatenate((cores, core_count + np.arange(max(most - 1, 0)))))
    able_places = np.zeros((len(places), max(map(len, places), default=0)), np.int64)
    for group, found in enumerate(places):
        able_places[group, : len(found)] = found
    able_count = np.array([len(found) for found in places], np.int64)
    first, groups = (firsts[0], firsts[1], firsts[2]), (members[0], members[1], members[2])
    return Groups(first, groups, able_places, able_count, rank, counts[of], last, core_count)


def mappings_of_firings(instance: Instance, groups: Groups, most: int) -> tuple[IntArray, IntArray]:
    """Return at most so many places of expanded actors to start from, and for each the decision on all channels.

    All firings are in runs, on every number of cores.
    """
    runs = _runs(instance, groups)
    mappings = np.concatenate((runs, runs))
    decisions = np.repeat([DECISIONS.index("PROD"), DECISIONS.index("CONS")], len(runs))
    chosen = np.unique(np.linspace(0, len(mappings) - 1, min(most, len(mappings))).astype(np.int64))
    return mappings[chosen], decisions[chosen]


def _runs(instance: Instance, groups: Groups) -> IntArray:
    """Return places with the firings in 2, 3, ... runs, and what fires less often on a core beside.

    Every other one has that core also run what reads from such actors alone.
    """
    into: dict[int, set[int]] = {}
    for source, target in zip(groups.of[2][instance.src].tolist(), groups.of[2][instance.dst].tolist(), strict=True):
        if source != target:
            into.setdefault(target, set()).add(source)
    counts = groups.size[groups.first[2]].tolist()
    found = []
    for runs in range(2, min(groups.core_count, tuning.MOST_RUNS) + 1):
        rare = {group for group, count in enumerate(counts) if count < runs}
        behind = rare | {group for group, sources in into.items() if sources <= rare}
        for beside in (rare, behind):
            wanted = [
                min(runs, groups.core_count - 1) if group in beside else groups.core_count + runs - 2
                for group in range(len(counts))
            ]
            found.append([_nearest(groups, group, place) for group, place in enumerate(wanted)])
    return np.array(found, np.int64).reshape(-1, len(counts))


def _nearest(groups: Groups, group: int, place: int) -> int:
    """Return the place, or the first that the group can have."""
    able = groups.able[group, : groups.able_count[group]]
    return place if place in able else int(able[0])
