"""Softmax in its online form: rows that one operator adds up over may be cut, as its sums can be scaled anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np

from shorthaul.tensor.networks.boxes import Span, box_of, full
from shorthaul.tensor.networks.model import Access, Operator
from shorthaul.tensor.networks.translation.builder import Builder
from shorthaul.tensor.networks.translation.graph import Node

#: What adds up products with elements of a row, each of them once.
_SUMS: Final = ("MatMul", "Gemm", "Einsum", "ReduceSum", "ReduceMean")
#: Types of real numbers, as ONNX counts them.
_REAL: Final = (1, 10, 11, 16)


def with_running_rows(builder: Builder) -> tuple[Operator, ...]:
    """Return the operators, where a softmax whose rows one operator adds up over may be cut there.

    A tile of a row is normalised by itself; sums of products of tiles are then weighed by the sums of exponentials
    (Milakov, Gimelshein 2018; Rabe, Staats 2021). What lies between may scale elements, or put 0 in their place: such
    operators make ``a`` times as much of ``a`` times a row, so that sums of what they make are weighed likewise.
    """
    return _Rows(builder).operators()


class _Rows:
    """The operators of a network, and who reads what they make."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.readers: dict[int, list[tuple[int, Access]]] = {}
        for number, item in enumerate(builder.operators):
            for access in item.reads:
                self.readers.setdefault(access.tensor, []).append((number, access))

    def operators(self) -> tuple[Operator, ...]:
        taken: set[int] = set()
        found = []
        for number, item in enumerate(self.builder.operators):
            adds = self._adding(number, item) if item.kind == "Softmax" and len(item.whole) == 1 else None
            is_free = adds is not None and adds not in taken
            taken |= {adds} if adds is not None else set()
            found.append(replace(item, whole=frozenset(), running=item.whole) if is_free else item)
        return tuple(found)

    def _adding(self, number: int, item: Operator) -> int | None:
        """Return the operator that adds up over the rows of a softmax, None if what reads them does anything else."""
        (row,), size = item.whole, 0
        while True:
            write = item.writes[0]
            axis = next((at for at, index in enumerate(write.axes) if index.terms == ((row, 1),)), None)
            size = size or item.dims[row]
            reader = self._reader(write.tensor)
            if item.barrier or axis is None or reader is None or self.builder.tensors[write.tensor].is_output:
                return None
            number, access = reader
            item = self.builder.operators[number]
            along = _along(access, item, axis, size)
            if item.barrier or along is None:
                return None
            node = self.builder.nodes[number]
            if item.reduced:
                adds = item.reduced == (along,) and item.kind in _SUMS and _scaled(self, node, write.tensor)
                return number if adds else None
            keeps_zero = _KEEP_ZERO.get(item.kind)
            if keeps_zero is None or not keeps_zero(self, node, write.tensor):
                return None
            row = along

    def _reader(self, tensor: int) -> tuple[int, Access] | None:
        """Return the one reader of a tensor, and what it reads: beside an ``IsNaN`` that only this one asks."""
        found = self.readers.get(tensor, [])
        last = found[-1][0] if found else -1
        asked = [number for number, _ in found[:-1]]
        for number in asked:
            made = self.builder.operators[number].writes[0].tensor
            is_guard = self.builder.operators[number].kind == "IsNaN" and len(asked) == 1
            only = [reader for reader, _ in self.readers.get(made, [])] == [last]
            if not (is_guard and only and not self.builder.tensors[made].is_output):
                return None
        return found[-1] if found else None

    def reads(self, name: str, tensor: int) -> bool:
        """Return whether an input is this tensor, or a view of it."""
        return any(number == tensor for number, _ in self.builder.parts.get(name, ()))

    def is_zero(self, name: str) -> bool:
        """Return whether an input is a constant of nothing but zeros."""
        value = self.builder.graph.values.get(name)
        return value is not None and not value.any()


def _along(access: Access, item: Operator, axis: int, size: int) -> int | None:
    """Return the dimension of a reader that counts the places of an axis of a tensor, and of this one alone."""
    for dim, length in enumerate(item.dims):
        places = np.arange(length, dtype=np.int64)
        probe = [full(other) for other in item.dims]
        probe[dim] = Span(places, places, frozenset(((0, dim),)))
        box = box_of(access, probe)
        follows = [at for at, span in enumerate(box) if span.of]
        if axis in follows:
            same = length == size and all(np.array_equal(end, places) for end in (box[axis].low, box[axis].high))
            return dim if follows == [axis] and same else None
    return None


def _scaled(rows: _Rows, node: Node, tensor: int) -> bool:
    """A product with what does not depend on the row, as nobody else reads that."""
    return [rows.reads(name, tensor) for name in node.inputs].count(True) == 1


def _divided(rows: _Rows, node: Node, tensor: int) -> bool:
    return rows.reads(node.inputs[0], tensor) and not rows.reads(node.inputs[1], tensor)


def _chosen(rows: _Rows, node: Node, tensor: int) -> bool:
    """A choice between the row and 0."""
    return any(rows.reads(node.inputs[at], tensor) and rows.is_zero(node.inputs[3 - at]) for at in (1, 2))


def _converted(rows: _Rows, node: Node, tensor: int) -> bool:
    del tensor
    return rows.builder.graph.types.get(node.outputs[0]) in _REAL


_KEEP_ZERO: Final[dict[str, Callable[[_Rows, Node, int], bool]]] = {
    "Mul": _scaled,
    "Div": _divided,
    "Where": _chosen,
    **dict.fromkeys(("Cast", "CastLike"), _converted),
}
