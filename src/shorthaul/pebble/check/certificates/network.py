"""Butterflies, pyramids and stencils on a line, verified: how many nodes a number of words can compute.

``nodes`` are numbered level by level, ``inputs`` in the first one. A schedule is cut, from its end, into segments of
``loaded`` words. What a segment computes for the first time is dominated by the D words that are in fast memory at its
start or loaded in it: every path from the first level meets one of them. D words dominate at most D log2 D nodes of a
butterfly, D (D - 1) / 2 of a pyramid, and D^2 / 4 of the nodes of a stencil that are far enough from its ends. If that
is M, the N nodes take at least ``loaded`` N / M words: the first segment, with fewer, starts with an empty memory.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from shorthaul.pebble.check.certificates.part import Game, Proven, WrongError, whole
from shorthaul.pebble.model import IntArray

#: What rounding may take from a number of words, relatively.
_ROUNDING = 5e-10
_KINDS = ("butterfly", "pyramid", "stencil")


def proven(game: Game, part: Mapping[str, Any]) -> Proven:
    """Return what a part of the kind ``network`` proves; raises :class:`WrongError`."""
    name = part.get("network")
    if not isinstance(name, str) or name not in _KINDS:
        raise WrongError(f"network must be one of {', '.join(_KINDS)}")
    nodes = game.different(part, "nodes")
    inputs = whole(part, "inputs", 2, len(nodes))
    levels = _levels(name, inputs, nodes)
    _are_linked(game, name, levels)
    given = game.cdag.given[levels[0]]
    if not given.all():
        raise WrongError(f"nodes: {game.id(int(levels[0][~given][0]))} is no input")
    weights = game.cdag.weights[nodes]
    least = int(weights.min())
    words = whole(part, "loaded", 1)
    held = (game.budget + words - 1) // least
    most, counted = _dominated(name, inputs, len(nodes) - inputs, held)
    known = int(game.cdag.weights[levels[0]].sum())
    moved = max(0, math.ceil(words * counted / max(most, 1.0) * (1 - _ROUNDING)) - known)
    return Proven(moved, nodes)


def _levels(name: str, inputs: int, nodes: IntArray) -> list[IntArray]:
    """Return the nodes of each level; raises :class:`WrongError` if there are not as many as the network has."""
    sizes = np.arange(inputs, 0, -1) if name == "pyramid" else np.full(max(2, len(nodes) // inputs), inputs)
    is_whole = int(sizes.sum()) == len(nodes)
    if not is_whole or (name == "butterfly" and inputs != 1 << (len(sizes) - 1)):
        raise WrongError(f"a {name} of {inputs} inputs has not {len(nodes)} nodes")
    return np.split(nodes, np.cumsum(sizes)[:-1])


def _are_linked(game: Game, name: str, levels: list[IntArray]) -> None:
    for number in range(1, len(levels)):
        below, above = levels[number - 1], levels[number]
        cells = np.arange(len(above))
        if name == "butterfly":
            read = [cells, cells ^ (1 << (number - 1))]
        else:
            read = [cells, cells + 1] if name == "pyramid" else [cells, cells + 1, cells - 1]
        for places in read:
            inner = (places >= 0) & (places < len(below))
            sources, targets = below[places[inner]], above[inner]
            lacking = np.flatnonzero(~game.are_edges(sources, targets))
            if len(lacking):
                one, other = game.id(int(targets[lacking[0]])), game.id(int(sources[lacking[0]]))
                raise WrongError(f"nodes: {one} does not read {other}")


def _dominated(name: str, inputs: int, computed: int, held: int) -> tuple[float, int]:
    """Return how many nodes so many words dominate at most, and of how many that holds."""
    if name == "butterfly":
        return held * math.log2(max(1, held)), computed
    if name == "pyramid":
        return held * (held - 1) / 2, computed
    # Near an end more are dominated: as many cells as words are left that see it, 1 - sqrt(1/2) of them do not count.
    far = 0 if held >= inputs else max(0, inputs - 2 * math.ceil(held * (1 - math.sqrt(0.5))))
    return held * held / 4, computed // inputs * far
