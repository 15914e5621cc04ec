"""Which constants are made while a network runs, and not before."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

import numpy as np

from shorthaul.tensor.networks.translation.writing import Shape

#: Constants up to so many elements are computed: they hold shapes, axes and indices.
MOST_ELEMENTS: Final = 2**16
#: Operators that tell places apart.
_COMPARISONS: Final = ("Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal")


def made_in_place(graph: Any, shapes: Mapping[str, Shape], constants: Collection[str]) -> set[str]:
    """Return large masks of small constants, as of places before others, that one reader makes as it goes along."""
    readers: dict[str, list[Any]] = {}
    for node in graph.node:
        for name in node.input:
            readers.setdefault(name, []).append(node)
    ends = {value.name for value in graph.output}
    found = set()
    for node in graph.node:
        name, sizes = node.output[0], [math.prod(shapes.get(name, ())) for name in node.input]
        size = math.prod(shapes.get(name, ()))
        if node.op_type not in _COMPARISONS or size <= MOST_ELEMENTS or size <= 4 * sum(sizes):
            continue
        while name not in ends and len(readers.get(name, ())) == 1:
            (reader,) = readers[name]
            if any(other and other != name and other not in constants for other in reader.input):
                found.add(node.output[0])
                break
            name = reader.output[0]
    return found


def evaluator_of(onnx: Any, node: Any, opsets: Iterable[Any]) -> Any:
    """Return what computes a node as the versions of its model say: a node alone counts as one of the newest."""
    ends = (
        map(onnx.helper.make_empty_tensor_value_info, filter(None, dict.fromkeys(k))) for k in (node.input, node.output)
    )
    versions = {item.domain: item.version for item in opsets}
    return onnx.reference.ReferenceEvaluator(onnx.helper.make_graph([node], "node", *map(list, ends)), versions)


def shapes_on_trial(
    onnx: Any, node: Any, opsets: Iterable[Any], known: tuple[Mapping[str, Shape], dict[str, int], Mapping[str, Any]]
) -> list[Shape] | None:
    """Return the shapes of what a node of ``ai.onnx.ml`` makes of zeros, and take down its types; None for others.

    ONNX infers few shapes of these, and none depends on the numbers. ``known`` are shapes, types and constants.
    """
    shapes, types, values = known
    inputs = [name for name in node.input if name]
    sizes = [math.prod(shapes[name]) for name in inputs if name in shapes]
    if node.domain != "ai.onnx.ml" or len(sizes) < len(inputs) or sum(sizes) > MOST_ELEMENTS:
        return None
    zeros = {name: np.zeros(shapes[name], onnx.helper.tensor_dtype_to_np_dtype(types.get(name, 1))) for name in inputs}
    try:
        with np.errstate(all="ignore"):
            made = evaluator_of(onnx, node, opsets).run(None, {name: values.get(name, zeros[name]) for name in inputs})
    except Exception:  # the reference lacks an operator, or the node is wrong
        return None
    if not all(isinstance(value, np.ndarray) for value in made):
        return None
    for name, value in zip(filter(None, node.output), made, strict=True):
        types.setdefault(name, onnx.helper.np_dtype_to_tensor_dtype(value.dtype))
    return [value.shape for value in made]
