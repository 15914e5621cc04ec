"""Elements at places that numbers name: rows of tables, elements along an axis, samples of an image."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from shorthaul.tensor.networks.execution.operators import Kind, Piece
from shorthaul.tensor.networks.execution.reading import mesh
from shorthaul.tensor.networks.translation.graph import Node

Array = npt.NDArray[Any]


def gather(piece: Piece) -> Array:
    """Return rows of a table, as they were loaded."""
    number = piece.reader.number.get(rows_of(piece.node))
    return taken(piece) if number is None else piece.reader.fetch(number, mesh(*piece.written()))


def taken(piece: Piece) -> Array:
    """Return elements at places that another tensor names, of all that they may be taken from."""
    places, shape, given = piece.written(), piece.shape(0), piece.shape(1)
    counted, along, around = [int(piece.node.attributes.get("axis", 0)) % len(shape)], places, list(places)
    if piece.kind == "Gather":
        along = places[counted[0] : counted[0] + len(given)]
        around[counted[0] : counted[0] + len(given)] = [np.arange(0)]
    elif piece.kind == "GatherND":
        first = int(piece.node.attributes.get("batch_dims", 0))
        counted = list(range(first, first + given[-1]))
        along = [*places[: len(given) - 1], np.arange(given[-1])]
        around = [*places[:first], *[np.arange(0)] * given[-1], *places[len(given) - 1 :]]
    elif piece.kind == "GridSample":
        counted, along = [2, 3], [places[0], *places[2:], np.arange(2)]
    whole = [np.arange(size) if axis in counted else around[axis] for axis, size in enumerate(shape)]
    named = piece.take(1, mesh(*along)) if given else piece.constant(1)
    return piece.by_reference({piece.input(0): piece.take(0, mesh(*whole)), piece.input(1): named})


def aligned(piece: Piece) -> Array:
    """Return regions of images, which may lie anywhere in a channel."""
    boxes, channels, rows, columns = piece.written()
    samples, _, *sizes = (np.arange(size) for size in piece.shape(0))
    operands = {
        piece.input(0): piece.take(0, mesh(samples, channels, *sizes)),
        piece.input(1): piece.take(1, mesh(boxes, np.arange(4))),
        piece.input(2): piece.take(2, mesh(boxes)),
    }
    return piece.by_reference(operands)[:, :, rows][..., columns]


_WAYS: Final = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


def put(piece: Piece) -> Array:
    """Return elements with others put among them, at those of the named places that lie here."""
    places, shape, given = piece.written(), piece.shape(0), piece.shape(1)
    made = piece.take(0, mesh(*places)).copy()
    if piece.kind == "ScatterND":
        counted, along = list(range(given[-1])), [np.arange(size) for size in given]
        from_where = [*along[:-1], *places[given[-1] :]]
    else:
        counted = [int(piece.node.attributes.get("axis", 0)) % len(shape)]
        along = from_where = [np.arange(given[at]) if at in counted else place for at, place in enumerate(places)]
    named, new = piece.take(1, mesh(*along)), piece.take(2, mesh(*from_where))
    each = np.moveaxis(named, -1, 0) if piece.kind == "ScatterND" else named[None]
    each = np.stack([one % shape[at] - places[at][0] for one, at in zip(each, counted, strict=True)])
    sizes = np.array([len(places[at]) for at in counted]).reshape(-1, *[1] * (each.ndim - 1))
    here = ((each >= 0) & (each < sizes)).all(0)
    where = [one[here] for one in each]
    if piece.kind != "ScatterND":
        others = np.nonzero(here)
        where = [where[0] if at in counted else others[at] for at in range(len(shape))]
    way = _WAYS.get(str(piece.node.attributes.get("reduction", "none")))
    if way is None:
        made[tuple(where)] = new[here]
    else:
        way.at(made, tuple(where), new[here])
    return made


def rows_of(node: Node) -> str:
    """Return the name of the rows of a table that a node names."""
    return f"{node.inputs[0]} (rows of {node.name})"


LOOKUPS: Final[dict[str, Kind]] = {
    "Gather": Kind(gather),
    **dict.fromkeys(("GatherElements", "GatherND", "GridSample"), Kind(taken)),
    "RoiAlign": Kind(aligned),
    **dict.fromkeys(("Scatter", "ScatterElements", "ScatterND"), Kind(put)),
}
