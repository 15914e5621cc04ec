"""The two memories of an execution: the far one with whole tensors, and what a group holds near, both counted."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.core.errors import InputError
from shorthaul.tensor.networks.execution.lookups import rows_of
from shorthaul.tensor.networks.execution.reading import Index, Reader, expect_rows, gathered, mesh
from shorthaul.tensor.networks.translation.network import Translation

Array = npt.NDArray[Any]
#: First and last position along every axis.
Ranges = tuple[tuple[int, int], ...]


def volume(box: Sequence[tuple[int, int]]) -> int:
    """Return how many positions a box has."""
    return math.prod(max(0, high - low + 1) for low, high in box)


def common(one: Ranges, other: Ranges) -> Ranges:
    """Return the positions in both boxes."""
    return tuple((max(a, c), min(b, d)) for (a, b), (c, d) in zip(one, other, strict=True))


def beyond(box: Ranges, known: Ranges | None) -> Iterator[Ranges]:
    """Yield disjoint boxes of all positions of ``box`` that are not in ``known``."""
    shared = None if known is None else common(box, known)
    if shared is None or volume(shared) == 0:
        if volume(box):
            yield box
        return
    left = list(box)
    for axis, (low, high) in enumerate(shared):
        first, last = left[axis]
        for part in ((first, low - 1), (high + 1, last)):
            if part[0] <= part[1]:
                yield (*left[:axis], part, *left[axis + 1 :])
        left[axis] = (low, high)


def slices(box: Sequence[tuple[int, int]], origin: Sequence[tuple[int, int]] | None = None) -> tuple[slice, ...]:
    """Return a box as slices of an array, which begins where ``origin`` does."""
    first = [0] * len(box) if origin is None else [low for low, _ in origin]
    return tuple(slice(low - at, high + 1 - at) for (low, high), at in zip(box, first, strict=True))


class Far:
    """Whole tensors: inputs, constants, and what was stored; it refuses what was not."""

    def __init__(self, translation: Translation, constants: Mapping[str, Array], inputs: Mapping[str, Array]) -> None:
        self.network = translation.network
        self.arrays: dict[int, Array] = {}
        self.written: dict[int, npt.NDArray[np.bool_]] = {}
        self.reader = Reader(translation, constants, self.fetch)
        self.tables = {
            self.reader.number.get(rows_of(node), -1): node for node in translation.nodes if node.kind == "Gather"
        }
        for number, tensor in enumerate(self.network.tensors):
            if tensor.role != "made" and number not in self.tables:
                source = inputs if tensor.role == "input" else constants
                if tensor.name in source:
                    self.arrays[number] = np.asarray(source[tensor.name])

    def fetch(self, number: int, index: Index) -> Array:
        """Return elements of a tensor that is stored whole."""
        if number not in self.arrays or (number in self.written and not self.written[number].all()):
            raise self._missing(number)
        found = gathered(self.arrays[number], [0] * self.arrays[number].ndim, index)
        assert found is not None, "an index beyond a tensor"
        return found

    def load(self, number: int, box: Ranges, near: Reader) -> Array:
        """Return a box of a tensor; rows of a table are those that indices in near memory name."""
        if number in self.tables:
            node = self.tables[number]
            places = mesh(*(np.arange(low, high + 1) for low, high in box))
            table, indices = node.inputs[:2]
            rank, shape = len(near.shape(indices)), near.shape(table)
            axis = int(node.attributes.get("axis", 0)) % len(shape)
            chosen = near.take(indices, tuple(places[axis : axis + rank])).astype(np.int64)
            rows = expect_rows(chosen, shape[axis], node)
            rows = rows.reshape((1,) * len(box)) if rank == 0 else rows
            return self.reader.take(table, (*places[:axis], rows, *places[axis + rank :]))
        at = slices(box)
        if number not in self.arrays or (number in self.written and not self.written[number][at].all()):
            raise self._missing(number)
        return self.arrays[number][at]

    def store(self, number: int, box: Ranges, values: Array) -> None:
        """Store a box of a tensor."""
        if number not in self.arrays:
            shape = self.network.tensors[number].shape
            self.arrays[number] = np.zeros(shape, values.dtype)
            self.written[number] = np.zeros(shape, bool)
        at = slices(box)
        self.arrays[number][at] = values
        self.written[number][at] = True

    def _missing(self, number: int) -> InputError:
        return InputError(
            "is read from far memory, where nobody stored it", place=f"tensor {self.network.tensors[number].name}"
        )
