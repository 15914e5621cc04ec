"""A diagram of groups with less in it: only what lies on the way to a complete group, and decisions only.

Most nodes have one arc that leads to a complete group: what happens there is no decision, so what their arcs add is
added by the arcs that lead to them. An arc may pass several layers then.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from shorthaul.tensor.bounds.groups.cutting import Outputs
from shorthaul.tensor.model import Tensor

#: The node in which complete groups end, and the source of arcs that begin a group.
END: Final = 0
NOWHERE: Final = -1


class Addition(NamedTuple):
    """What an arc adds to the profile of a group: slices to load or compute, by number, and amounts."""

    pieces: tuple[int, ...] = ()
    stored: int = 0
    held: float = 0
    k_limit: float = float("inf")
    left_prologue: int = 0
    right_prologue: int = 0

    def plus(self, more: Addition) -> Addition:
        """Return what both add together."""
        return Addition(
            tuple(sorted(self.pieces + more.pieces)),
            self.stored + more.stored,
            self.held + more.held,
            min(self.k_limit, more.k_limit),
            max(self.left_prologue, more.left_prologue),
            max(self.right_prologue, more.right_prologue),
        )


class Choice(NamedTuple):
    """What an arc decides: the operator that joins, tensors found resident, and whether its output is retained."""

    operator: int
    resident: tuple[int, ...]
    is_retained: bool
    is_beside: bool = False  #: its output is stored beside being taken in its group


@dataclass
class Arcs:
    """Arcs, columns of a table: by layer those of its nodes, then those that begin a group (``starts``).

    ``row_end`` says where the rows of each arc end. ``additions`` numbers what arcs add, ``outputs`` are by arc.
    """

    source: list[int] = field(default_factory=list)
    target: list[int] = field(default_factory=list)
    addition: list[int] = field(default_factory=list)
    choices: list[tuple[Choice, ...]] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    signs: list[float] = field(default_factory=list)
    row_end: list[int] = field(default_factory=lambda: [0])
    starts: list[range] = field(default_factory=list)
    outputs: list[Outputs] = field(default_factory=list)
    outputs_of: list[Outputs] = field(default_factory=lambda: [Outputs(Tensor(1, 1))])  # by node
    layer_of: list[int] = field(default_factory=lambda: [0])
    additions: dict[Addition, int] = field(default_factory=lambda: {Addition(): 0})

    def node(self, outputs: Outputs, layer: int) -> int:
        """Add a node, and return it."""
        self.outputs_of.append(outputs)
        self.layer_of.append(layer)
        return len(self.outputs_of) - 1

    def add(
        self,
        source: int,
        target: int,
        outputs: Outputs,
        more: Addition,
        choices: tuple[Choice, ...],
        rows: list[int],
        signs: list[float],
    ) -> None:
        """Add an arc."""
        self.source.append(source)
        self.target.append(target)
        self.outputs.append(outputs)
        self.addition.append(self.additions.setdefault(more, len(self.additions)))
        self.choices.append(choices)
        self.rows += rows
        self.signs += signs
        self.row_end.append(len(self.rows))


def compacted(arcs: Arcs) -> Arcs:
    """Return the arcs without dead ends, and without nodes that leave no choice."""
    leads, only = _ways_out(arcs)
    found = Arcs()
    numbers = {END: END}
    additions = list(arcs.additions)
    sums: dict[tuple[int, ...], Addition] = {}
    begin = 0
    for place, starts in enumerate(arcs.starts):
        for arc in range(begin, starts.start):
            source = arcs.source[arc]
            if source not in only and leads[arc] and source not in numbers:
                numbers[source] = found.node(arcs.outputs_of[source], place)
        begin = starts.stop
    begin = 0
    for starts in arcs.starts:
        first = len(found.source)
        for arc in range(begin, starts.stop):
            if arc == starts.start:
                first = len(found.source)
            source = arcs.source[arc]
            if leads[arc] and source not in only:
                path = _path(arcs, arc, only)
                found.add(
                    NOWHERE if source == NOWHERE else numbers[source],
                    numbers[arcs.target[path[-1]]],
                    arcs.outputs[arc],
                    _sum(arcs, path, additions, sums),
                    tuple(choice for one in path for choice in arcs.choices[one]),
                    [row for one in path for row in arcs.rows[arcs.row_end[one] : arcs.row_end[one + 1]]],
                    [sign for one in path for sign in arcs.signs[arcs.row_end[one] : arcs.row_end[one + 1]]],
                )
        found.starts.append(range(first, len(found.source)))
        begin = starts.stop
    return found


def _path(arcs: Arcs, arc: int, only: dict[int, int]) -> list[int]:
    """Return an arc, and those that follow it without a choice."""
    path = [arc]
    while (target := arcs.target[path[-1]]) in only:
        path.append(only[target])
    return path


def _sum(arcs: Arcs, path: list[int], additions: list[Addition], sums: dict[tuple[int, ...], Addition]) -> Addition:
    """Return what arcs add together."""
    key = tuple(number for arc in path if (number := arcs.addition[arc]))
    if key not in sums:
        sums[key] = Addition()
        for number in key:
            sums[key] = sums[key].plus(additions[number])
    return sums[key]


def _ways_out(arcs: Arcs) -> tuple[list[bool], dict[int, int]]:
    """Return by arc whether it leads to a complete group, and the arc of each node with only one that does."""
    ways = [0] * len(arcs.outputs_of)
    ways[END] = 2
    leads = [False] * len(arcs.source)
    only: dict[int, int] = {}
    for arc in range(len(arcs.source) - 1, -1, -1):  # targets are in later layers
        if ways[arcs.target[arc]]:
            leads[arc] = True
            source = arcs.source[arc]
            if source != NOWHERE:
                ways[source] += 1
                only[source] = arc
    return leads, {node: arc for node, arc in only.items() if ways[node] == 1}
