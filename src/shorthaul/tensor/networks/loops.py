"""The loops that cut a group: dimensions of its last operator, and what one operator adds up over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shorthaul.tensor.networks.boxes import Key, Span, Touched, touched
from shorthaul.tensor.networks.model import Network, Operator


@dataclass(frozen=True, slots=True)
class Shape:
    """What of a group can be cut: dimensions of the sink, reduced ones of the anchor, and the sizes of all."""

    sink: tuple[Key, ...]
    inner: tuple[Key, ...]
    sizes: dict[Key, int]


def shape_of(network: Network, operators: Sequence[int]) -> Shape:
    """Return the loops of a group.

    Of two that move one axis, or of the anchor after it, one is left out; of the sink, the one that leaves more of the
    axis where it is cut alone: features rather than heads. Loops over rows of a softmax come last.
    """
    sink = operators[-1]
    anchor = _anchor(network, operators)
    keys = [(sink, dim) for dim in range(len(network.operators[sink].dims))]
    if anchor is not None and anchor != sink:
        keys += [(anchor, dim) for dim in network.operators[anchor].reduced]
    sizes = {key: network.operators[key[0]].dims[key[1]] for key in keys}
    operators_of = {key: network.operators[key[0]] for key in keys}
    windows = {key for key, item in operators_of.items() if key[1] in item.reduced and is_tap(item, key[1])}
    keys = [key for key in keys if key[1] not in operators_of[key].rows and key not in windows]
    while True:
        clash = _clash(network, operators, keys, sizes)
        if clash is None:
            break
        keys.remove(clash)
    last = {key for _, key in network.running_in(operators)}
    mine = tuple(key for key in keys if key[0] == sink and key not in last)
    return Shape(mine, tuple(key for key in keys if key not in mine), sizes)


def _anchor(network: Network, operators: Sequence[int]) -> int | None:
    """Return the last operator that accumulates, None if there is none: operators after it take its finished tile."""
    for number in reversed(operators):
        operator = network.operators[number]
        if operator.reduced:
            return number
    return None


def is_tap(operator: Operator, dim: int) -> bool:
    """Return whether a dimension moves along an axis of what is read together with another one, step by step."""
    axes = (index for access in operator.reads for index in access.axes if len(index.terms) > 1)
    return any(dim == other for index in axes for other, _ in index.terms)


def _spans(found: Touched) -> list[Span]:
    boxes = [*found.regions.values(), *found.made.values(), *(box for _, _, box in found.read)]
    return [span for box in boxes for span in box]


def _clash(network: Network, operators: Sequence[int], keys: Sequence[Key], sizes: dict[Key, int]) -> Key | None:
    """Return a loop to leave out: one of two along one axis, or one of the anchor's that moves what comes after it."""
    probe = {key: Span(*(np.zeros(1, np.int64),) * 2, frozenset((key,))) for key in keys}
    found = touched(network, operators, probe)
    for at, span in enumerate(_spans(found)):
        if len(span.of) > 1:
            left = dict.fromkeys(span.of, 0)
            for key in span.of:
                left[key] = int(_spans(touched(network, operators, {key: probe[key]}))[at].lengths()[0])
            return min(span.of, key=lambda key: (key[0] == operators[-1], -left[key], sizes[key], key))
    anchors = {key[0] for key in keys} - {operators[-1]}
    for number in operators:
        if anchors and number > min(anchors):
            for span in found.regions[number]:
                late = [key for key in span.of if key[0] in anchors]
                if late:
                    return late[0]
    return None
