"""Bounds of graphs some of whose outputs are read by others, from graphs without such outputs.

One way leaves out that these are outputs: a plan then stores them or not. What it moves beyond inputs and outputs may
be stores of these, which are paid already, so only the loads count. The other way cuts the graph there: each of them is
an output, and what reads it reads an input beside. A plan of the graph is one of the graph that is cut: it stores such
a value as soon as that is computed, and loads it in its place as the input. That costs one load of each more, which
every plan of the graph that is cut pays; so what is beyond inputs and outputs there is beyond them here, loads and
stores. It takes that no value is computed twice.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shorthaul.pebble.model import Cdag, NodeId, build

Names = list[list[NodeId]]


def cut(cdag: Cdag) -> tuple[Cdag, Names]:
    """Return the graph that is cut at its outputs that are read, and the names of these and of the inputs beside.

    >>> from shorthaul.pebble.model import build
    >>> found, names = cut(build([1, 2, 1], [0, 1], [1, 2], kept=[False, True, False]))
    >>> names, found.weights.tolist(), [edges.tolist() for edges in found.edge_arrays()]
    ([[1, 3]], [1, 2, 1, 2], [[0, 3], [1, 2]])
    """
    kept = np.flatnonzero(np.zeros(cdag.n, dtype=np.bool_) if cdag.kept is None else cdag.kept)
    sources, targets = cdag.edge_arrays()
    reads = np.arange(cdag.n)
    reads[kept] = cdag.n + np.arange(len(kept))
    given = np.concatenate([cdag.given, np.ones(len(kept), dtype=np.bool_)])
    ids = None if cdag.ids is None else [*cdag.ids, *_new_names(cdag.ids, len(kept))]
    weights = np.concatenate([cdag.weights, cdag.weights[kept]])
    found = build(weights, reads[sources], targets, given=given, ids=ids, name=cdag.name)
    found = replace(found, weight_bytes=cdag.weight_bytes)
    return found, [[cdag.id_of(int(node)), found.id_of(cdag.n + at)] for at, node in enumerate(kept)]


def _new_names(ids: tuple[NodeId, ...], count: int) -> list[str]:
    """Return names that no node has, in writing neither."""
    used = {str(name) for name in ids}
    prefix = "read"
    while any(name.startswith(prefix) for name in used):
        prefix += "_"
    return [f"{prefix}{number}" for number in range(count)]
