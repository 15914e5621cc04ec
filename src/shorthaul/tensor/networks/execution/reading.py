"""Tensors of an ONNX graph read position by position, through its views, from where they are stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.core.errors import InputError
from shorthaul.tensor.networks.boxes import blocks, followed
from shorthaul.tensor.networks.model import Step
from shorthaul.tensor.networks.translation.graph import Node
from shorthaul.tensor.networks.translation.network import Translation

Array = npt.NDArray[Any]
#: Positions along every axis, arrays that broadcast against one another.
Index = tuple[npt.NDArray[np.int64], ...]
#: What gives elements of a stored tensor at an index.
Fetch = Callable[[int, Index], Array]


def mesh(*places: Sequence[int] | npt.NDArray[np.int64]) -> Index:
    """Return the index of all combinations of places along the axes."""
    rank = len(places)
    return tuple(
        np.asarray(at, np.int64).reshape([-1 if other == axis else 1 for other in range(rank)])
        for axis, at in enumerate(places)
    )


def gathered(array: Array, low: Sequence[int], index: Index) -> Array | None:
    """Return elements of a box that begins at ``low``, None where it lacks some of them."""
    plain: list[int | slice] = []
    axes: list[int] = []
    for at, first, size in zip(index, low, array.shape, strict=True):
        if at.size == 1:
            begin = at.item() - first
            if not 0 <= begin < size:
                return None
            plain.append(begin)
            continue
        flat, varying = at.ravel(), max(at.shape)  # along one axis alone if that is all
        by = int(flat[1] - flat[0]) if varying == at.size > 1 else 0
        if by <= 0 or (at.size > 2 and (flat[1:] - flat[:-1] != by).any()):
            return _anywhere(array, low, index)
        begin, end = int(flat[0]) - first, int(flat[-1]) - first
        if begin < 0 or end >= size:
            return None
        plain.append(slice(begin, end + 1, by))
        axes.append(at.shape.index(varying))
    if len(set(axes)) < len(axes):
        return _anywhere(array, low, index)
    part = array[tuple(plain)].transpose(sorted(range(len(axes)), key=axes.__getitem__))
    shape = [1] * (index[0].ndim if index else 0)
    for axis, count in zip(sorted(axes), part.shape, strict=True):
        shape[axis] = count
    return part.reshape(shape)


def _anywhere(array: Array, low: Sequence[int], index: Index) -> Array | None:
    moved = [at - first for at, first in zip(index, low, strict=True)]
    inside = (not at.size or 0 <= at.min() <= at.max() < size for at, size in zip(moved, array.shape, strict=True))
    return array[tuple(moved)] if all(inside) else None


class Reader:
    """The tensors of a graph by name: what is stored is fetched, views are followed, small constants known."""

    def __init__(self, translation: Translation, constants: Mapping[str, Array], fetch: Fetch) -> None:
        network, self.graph = translation.network, translation.graph
        self.views, self.constants, self.fetch = translation.views, constants, fetch
        self.number = {tensor.name: number for number, tensor in enumerate(network.tensors)}
        self.stored_shape = [tensor.shape for tensor in (network.whole or network).tensors]
        self.parts = network.parts
        self.maker = {name: node for node in self.graph.nodes for name in node.outputs}

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a tensor."""
        return self.graph.shapes.get(name, ())

    def take(self, name: str, index: Index) -> Array:
        """Return elements of a tensor; along axes of one place views ask for it once, and it is there as often."""
        found, shape = np.asarray(self.taken(name, index)), np.broadcast_shapes(*(at.shape for at in index))
        found.flags.writeable = False  # a view of what is stored, as often as not
        return found if found.shape == shape else np.broadcast_to(found, shape)

    def taken(self, name: str, index: Index) -> Array:
        """Return elements of a tensor, along axes of one place once."""
        if name in self.constants and self.constants[name].size == 1:  # it stays in a register
            return np.asarray(self.constants[name][index])
        if name in self.number:
            number = self.number[name]
            return self.stored(number, regrouped(index, self.shape(name), self.stored_shape[number]))
        if name in self.constants:
            return np.asarray(self.constants[name][index])
        node = self.maker.get(name)
        if node is not None and name in self.views:
            source, steps = self.views[name]
            found = self.taken(source, seen_at(index, steps))
            if node.kind == "DequantizeLinear":
                return _dequantised(self, node, found, index)
            return converted(self, node, found) if node.kind in {"Cast", "CastLike"} else found
        if node is None or node.kind != "Concat":
            raise InputError("cannot be executed: what it reads is stored nowhere", place=f"tensor {name}")
        return _joined(self, node, name, index)

    def stored(self, number: int, index: Index) -> Array:
        """Return elements of a stored tensor, of which a part may be all there is."""
        part = self.parts.get(number)
        if part is None:
            return self.fetch(number, index)
        return self.fetch(number, tuple((at - low) // by for at, (low, by) in zip(index, part, strict=True)))

    def whole(self, name: str) -> Array:
        """Return all elements of a tensor."""
        shape = self.shape(name)
        return np.zeros(shape) if 0 in shape else self.take(name, mesh(*map(range, shape)))


def regrouped(index: Sequence[npt.NDArray[np.int64]], shape: Sequence[int], source: Sequence[int]) -> Index:
    """Return the places in a tensor of the same elements in row-major order."""
    if tuple(shape) == tuple(source):
        return tuple(index)
    rank = index[0].ndim if index else 0
    found: list[npt.NDArray[np.int64]] = [np.zeros((1,) * rank, np.int64)] * len(source)
    for ours, theirs in blocks(shape, source):
        if len(ours) == len(theirs) == 1:
            found[theirs[0]] = index[ours[0]]
            continue
        flat = np.zeros((1,) * rank, np.int64)
        for axis in ours:
            flat = flat * shape[axis] + index[axis]
        for axis in reversed(theirs):
            flat, found[axis] = np.divmod(flat, source[axis])
    return tuple(found)


def seen_at(index: Index, steps: Sequence[Step]) -> Index:
    """Return the places that views lead to, step after step."""
    one = np.zeros((1,) * (index[0].ndim if index else 0), np.int64)
    found = followed(index, steps, one, lambda at, start, by, _: start + by * at, regrouped)
    assert found is not None, "no place is lost"
    return found


def converted(reader: Reader, node: Node, values: Array) -> Array:
    """Return numbers in the type that a node makes, real ones in double precision."""
    from onnx import helper

    dtype = np.dtype(helper.tensor_dtype_to_np_dtype(reader.graph.types[node.outputs[0]]))
    return values.astype(np.float64 if dtype.kind == "f" or dtype.name == "bfloat16" else dtype)


def _dequantised(reader: Reader, node: Node, source: Array, index: Index) -> Array:
    values = [reader.constants.get(name) for name in node.inputs[1:] if name]
    if any(value is None for value in values):
        cure = "give scales as constants"
        raise InputError("cannot be executed: its scale", place=f"node {node.name} ({node.kind})", cure=cure)
    axis, block = int(node.attributes.get("axis", 1)), int(node.attributes.get("block_size", 0))
    places = tuple(of // block if block and along == axis % len(index) else of for along, of in enumerate(index))
    spread = [
        value
        if value is None or value.ndim == 0
        else value.reshape(())
        if value.size == 1
        else value[places if block else index[axis]]
        for value in values
    ]
    zero = 0.0 if len(spread) < 2 or spread[1] is None else spread[1].astype(np.float64)
    assert spread[0] is not None
    return np.asarray((source.astype(np.float64) - zero) * spread[0])


def expect_rows(chosen: Array, count: int, node: Node) -> npt.NDArray[np.int64]:
    """Return the rows that a Gather names, counted from the front; raises :class:`InputError` for others."""
    rows = np.where(chosen < 0, chosen + count, chosen).astype(np.int64)
    if rows.size and (int(rows.min()) < 0 or int(rows.max()) >= count):
        place, allowed = f"node {node.name} (Gather)", f"0 to {count - 1}"
        raise InputError("names rows that the table lacks", place=place, allowed=allowed)
    return rows


def _joined(reader: Reader, node: Node, name: str, index: Index) -> Array:
    """Return elements of a concatenation, from every part what lies in it."""
    axis = int(node.attributes.get("axis", 0)) % len(reader.shape(name))
    size = np.broadcast_shapes(*(at.shape for at in index))
    along = np.broadcast_to(index[axis], size)
    found: Array | None = None
    start = 0
    for part in node.inputs:
        stop = start + reader.shape(part)[axis]
        inside = (along >= start) & (along < stop)
        if inside.all():
            return reader.taken(part, (*index[:axis], index[axis] - start, *index[axis + 1 :]))
        if inside.any():
            places = [np.broadcast_to(at, size)[inside] for at in index]
            places[axis] = places[axis] - start
            values = reader.take(part, tuple(places))
            found = np.zeros(size, values.dtype) if found is None else found
            found[inside] = values
        start = stop
    assert found is not None, "an index beyond a concatenation"
    return found
