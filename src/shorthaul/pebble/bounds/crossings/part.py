"""Paths past a moment of every schedule, of which each holds a value then, and what they charge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shorthaul.pebble.bounds.piece import Piece
from shorthaul.pebble.model import Cdag, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """The nodes of disjoint paths, and what follows each: the next node of the path, at its end a later node.

    The later nodes are D, the starts of the paths A of :mod:`crossing`; ``around`` is the node that all of D needs, -1
    if none is known. ``moved`` is what the paths charge. Shape (nodes,) each. Where values are accumulated, the later
    node is on the path, and -1 follows.
    """

    nodes: IntArray
    then: IntArray
    moved: int
    around: int

    def piece(self) -> Piece:
        """Return the part as a piece of a sum."""
        return Piece(self.nodes, self.moved, self.shown, len(self.nodes))

    def shown(self, cdag: Cdag) -> list[dict[str, Any]]:
        """Return the part of a certificate: by names of nodes, disjoint paths, each with the later node it leads to."""
        then = {node: after for node, after in zip(self.nodes.tolist(), self.then.tolist(), strict=True) if after >= 0}
        paths = []
        inner = set(then.values())
        for start in (node for node in then if node not in inner):
            path = [start]
            while path[-1] in then:
                path.append(then[path[-1]])
            paths.append([cdag.id_of(node) for node in path])
        around = None if self.around < 0 else cdag.id_of(self.around)
        return [{"kind": "crossing", "around": around, "paths": paths}]
