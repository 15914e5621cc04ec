"""Loads of loop nests in tiles, as C has them, counted by replay of their instances."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import islpy as isl
import numpy as np
import numpy.typing as npt

from shorthaul.affine.integer_sets.points import pairs
from shorthaul.affine.model import Program
from shorthaul.affine.replay.cdag import ConcreteCdag, RowIndex
from shorthaul.graphs.replay import belady_loads

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class TimedPart:
    """Instances of one statement: ``time`` maps ``[origins, iterators]`` to time vectors, compared as they are.

    Origins are multiples of ``edges``, one each.
    """

    statement: str
    time: isl.Map
    edges: tuple[int, ...]


@dataclass(frozen=True)
class NestOrder:
    """Vertices in an order, shape (computed and copied,); ``operands[starts[v]:starts[v + 1]]`` are those of v."""

    order: IntArray
    starts: IntArray
    operands: IntArray

    def loads(self, capacity: int) -> int:
        """Return the least loads of the order into a memory of so many words."""
        return int(belady_loads(self.order, self.starts, self.operands, capacity).sum())


class NestReplay:
    """The values of a program at sizes, and which vertices its statements are."""

    def __init__(self, program: Program, cdag: ConcreteCdag, sizes: Mapping[str, int]) -> None:
        self.program, self.cdag, self.sizes = program, cdag, sizes
        self._found: dict[str, RowIndex] = {}

    def of(self, nests: Iterable[Sequence[TimedPart]], copied: Iterable[str]) -> NestOrder:
        """Return nests one after the other, and behind them reads of the last values of arrays ``copied``."""
        order = [self._order(parts) for parts in nests if parts]
        read = [self._last_values(array) for array in copied]
        operands = np.concatenate([self.cdag.operands, *read])
        many = len(operands) - len(self.cdag.operands)
        starts = np.concatenate([self.cdag.starts, self.cdag.starts[-1] + 1 + np.arange(many, dtype=np.int64)])
        order.append(self.cdag.n + np.arange(many, dtype=np.int64))
        return NestOrder(np.concatenate(order), starts, operands)

    def _order(self, parts: Sequence[TimedPart]) -> IntArray:
        """Return the vertices of a nest in the order of its time vectors."""
        vertices, times = [], []
        for part in parts:
            rows, when = pairs(_by_tile(part), self.sizes)
            vertices.append(self._vertices(part.statement, rows[:, len(part.edges) :]))
            times.append(when)
        return np.concatenate(vertices)[np.lexsort(np.concatenate(times).T[::-1])]

    def _vertices(self, statement: str, rows: IntArray) -> IntArray:
        """Return the vertices of instances."""
        if statement not in self._found:
            owner = self.cdag.names.index(statement, len(self.cdag.names) - len(self.program.statements))
            mine = np.flatnonzero(self.cdag.owner == owner)
            self._found[statement] = RowIndex(self.cdag.coordinates[mine, : self.cdag.widths[owner]], mine)
        return self._found[statement].find(rows)

    def _last_values(self, array: str) -> IntArray:
        """Return the vertices whose values the elements of an array have at the end, element by element."""
        elements, vertices = [], []
        for item in self.program.statements:
            if item.write.array == array:
                rows, written = pairs(item.write.relation, self.sizes)
                elements.append(written)
                vertices.append(self._vertices(item.name, rows))
        where, writers = np.concatenate(elements), np.concatenate(vertices)
        order = np.lexsort((writers, *where.T[::-1]))  # vertices are numbered in program order
        where, writers = where[order], writers[order]
        is_last = np.append(np.any(where[1:] != where[:-1], axis=1), [True] * (len(where) > 0))
        return writers[is_last.astype(np.bool_)]


def _by_tile(part: TimedPart) -> isl.Map:
    """Return the times of a part by the numbers of its tiles in place of their origins."""
    space = part.time.domain().get_space()
    moved = isl.MultiAff.identity(space.map_from_set())
    for at, edge in enumerate(part.edges):
        moved = moved.set_aff(at, moved.get_aff(at).scale_val(isl.Val(edge)))
    return part.time.preimage_domain_multi_aff(moved)
