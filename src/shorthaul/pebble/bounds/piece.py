"""What one argument proves of some nodes, and how a certificate says that."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from shorthaul.pebble.model import Cdag, IntArray

#: Parts of a certificate, made when they are asked for; it travels to other processes.
Shown = Callable[[Cdag], list[dict[str, Any]]]


class Piece(NamedTuple):
    """A lower bound on what some nodes move beyond inputs and outputs; ``shown`` makes its certificate, if it has one.

    ``size`` is how many names of nodes that holds.
    """

    nodes: IntArray
    excess: int
    shown: Shown | None = None
    size: int = 0


def exhausted(nodes: IntArray, moved: int) -> Piece:
    """Return what an exhaustive search of some nodes has proven."""
    return Piece(nodes, moved, partial(_exhaustion, nodes, moved), len(nodes))


def _exhaustion(nodes: IntArray, moved: int, cdag: Cdag) -> list[dict[str, Any]]:
    return [{"kind": "exhaustion", "nodes": names(cdag, nodes), "moved": moved}]


def names(cdag: Cdag, nodes: IntArray) -> list[int | str]:
    """Return the names of some nodes."""
    return [cdag.id_of(node) for node in nodes.ravel().tolist()]
