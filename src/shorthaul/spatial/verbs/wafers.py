"""What ``--csl`` writes: the messages of a layout, or of a treefix sum, as a program for a wafer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.core.document import write_bytes
from shorthaul.core.errors import InputError
from shorthaul.graphs.tree_kernels import depths, sorted_by
from shorthaul.spatial.computer.operators import operator_named
from shorthaul.spatial.formats.csl import MOST_COLOURS, Program, Trails, csl_bytes
from shorthaul.spatial.layout.fabric import send
from shorthaul.spatial.layout.stored_tree import StoredTree
from shorthaul.spatial.model import Fabric
from shorthaul.spatial.options import TreefixOptions

Index = npt.NDArray[np.int32]
Values = npt.NDArray[Any]

_WORDS: dict[str, Any] = {"i": np.int32, "u": np.uint32, "f": np.float32}


@dataclass(frozen=True, slots=True)
class _Part:
    """The part of a machine that a tree's messages need: a rectangle, the tree's places in it, and the trails."""

    width: int
    height: int
    place: Index
    trails: Trails


def write_messages(file: Path, fabric: Fabric, parent: Index, place: Index) -> None:
    """Write a program in which every vertex sends its number to each child; the results are the parents.

    Raises :class:`InputError` if there is none of this layout.
    """
    n = len(parent)
    part = _part(fabric, parent, place, reverse=False)
    child = np.flatnonzero(parent >= 0).astype(np.int32)
    value = np.concatenate([np.arange(n), np.where(parent < 0, -1, 0)]).astype(np.int32)
    nodes = np.concatenate([part.place, part.place])  # those that send, then those that receive
    answer = np.arange(n, 2 * n, dtype=np.int32)
    program = Program(part.width, part.height, "sum", nodes, value, parent[child], answer[child], part.trails, answer)
    write_bytes(file, csl_bytes(program, f"From each of {n} vertices its number to every child."))


def expect_wafer(fabric: Fabric) -> None:
    """Raise :class:`InputError` unless the machine is a mesh of one layer, all of whose processors live."""
    if fabric.layers > 1:
        raise InputError("is for a machine of one layer", place="--csl", value=f"machine {fabric.name} of {fabric}")
    south, north, east, west = fabric.links.reshape(6, fabric.height, fabric.width)[2:]
    if south[-1].any() or north[0].any() or east[:, -1].any() or west[:, 0].any():
        raise InputError("is for a mesh, without rings", place="--csl", value=f"machine {fabric.name}")
    dead = np.flatnonzero(~fabric.living)
    if len(dead):
        y, x = divmod(int(dead[0]), fabric.width)
        raise InputError(
            "is for machines without dead processors",
            place="--csl",
            value=f"processor [{x}, {y}] of machine {fabric.name} is dead",
            cure="give a machine file of a rectangle of living processors",
        )


def expect_one_wave(options: TreefixOptions, *, own: bool) -> None:
    """Raise :class:`InputError` if ``csl`` is asked for a run that it cannot write."""
    if options.csl is None:
        return
    if options.method != "convergecast":
        cure = "give --method convergecast as well"
        raise InputError("is for one wave over the tree", place="--csl", value=options.method, cure=cure)
    if own or options.op == "affine":
        shown = "an operator of your own" if own else options.op
        raise InputError("is for operators on one word", place="--csl", value=shown, allowed="the other built-in ones")


def write_treefix(file: Path, stored: StoredTree, values: Values, sums: Values, options: TreefixOptions) -> None:
    """Write a program for the treefix sums of ``values`` by one wave; both by vertex. Raises :class:`InputError`."""
    assert stored.fabric is not None
    assert stored.place is not None
    word, identity = np.dtype(_WORDS[values.dtype.kind]), operator_named(options.op, values.dtype).identity
    if word.kind != "f":
        _expect_short(values, "value", word)
        _expect_short(sums, "result", word)
        identity = np.clip(identity, np.iinfo(word).min, np.iinfo(word).max)
    virtual, up = stored.virtual(), options.direction == "up"
    depth, _ = depths(virtual.parent)
    order = sorted_by(depth, int(depth.max()))  # parents first
    number = np.empty(virtual.nodes, np.int32)
    number[order[::-1] if up else order] = np.arange(virtual.nodes, dtype=np.int32)
    part = _part(stored.fabric, virtual.parent, stored.place[virtual.host], reverse=up)
    held = np.full(virtual.nodes, identity, word)
    held[stored.position] = values.astype(word)
    child = np.flatnonzero(virtual.parent >= 0).astype(np.int32)
    below, above = number[child], number[virtual.parent[child]]
    source, target = (below, above) if up else (above, below)
    program = Program(
        part.width, part.height, options.op, _at(number, part.place), _at(number, held),
        source, target, part.trails, number[stored.position],
    )  # fmt: skip
    way = "over every subtree" if up else "from the root to every vertex"
    write_bytes(file, csl_bytes(program, f"The {options.op} {way} of a tree of {stored.n} vertices."))


def _at(number: Index, column: Values) -> Values:
    """Return ``column`` with entry k moved to ``number[k]``."""
    moved = np.empty_like(column)
    moved[number] = column
    return moved


def _expect_short(values: Values, what: str, word: np.dtype[Any]) -> None:
    limits = np.iinfo(word)
    wrong = np.flatnonzero((values < limits.min) | (values > limits.max))
    if len(wrong):
        raise InputError(
            "writes words of 32 bits",
            place="--csl",
            value=f"{what} {values[wrong[0]]} of vertex {wrong[0]}",
            allowed=f"{limits.min} to {limits.max}",
        )


def _part(fabric: Fabric, parent: Index, place: Index, *, reverse: bool) -> _Part:
    """Return the part of the machine that one message from every parent to each child needs, or the other way around.

    Raises :class:`InputError` if the colours do not suffice.
    """
    cells = fabric.cells
    traffic = send(fabric, parent, place, np.ones(len(parent), np.int32), trails=True)
    colours = int(traffic.colour.max(initial=-1)) + 1
    lacking = bool(((traffic.colour < 0) & (traffic.hops > 0)).any())
    if lacking or colours > MOST_COLOURS:
        raise InputError(
            "is for few messages through a router",
            place="--csl",
            value=f"more than {colours} colours" if lacking else f"{colours} colours",
            allowed=f"up to {MOST_COLOURS}",
            cure="give another layout, or write a treefix sum, in which siblings relay messages",
        )
    way, left = np.divmod(traffic.trail, np.int32(cells))
    y, x = np.divmod(np.concatenate([place, left]), np.int32(fabric.width))
    x0, y0, x1, y1 = int(x.min()), int(y.min()), int(x.max()), int(y.max())
    width, height = x1 - x0 + 1, y1 - y0 + 1
    moved = ((y - y0) * width + x - x0).astype(np.int32)
    child = np.flatnonzero(parent >= 0)
    starts = np.append(traffic.starts[child], traffic.starts[-1])
    link = (way * (width * height) + moved[len(place) :]).astype(np.int32)
    return _Part(width, height, moved[: len(place)], Trails(starts, link, traffic.colour[child], reverse))
