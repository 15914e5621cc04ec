"""Graphs inside of nodes: branches put in place, loops of a known count unrolled, and what they read from around."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from shorthaul.tensor.networks.translation.writing import Known

#: Nodes that the steps of a loop have in all, at most, where they are written one after the other.
_MOST_NODES: Final = 512


def branch(node: Any, condition: bool, known: set[str], onnx: Any) -> tuple[list[Any], list[Any]] | None:
    """Return the nodes and constants of the branch that an ``If`` takes; None where names would clash."""
    wanted = "then_branch" if condition else "else_branch"
    graph = next((item.g for item in node.attribute if item.name == wanted), None)
    if graph is None or len(graph.output) != len(node.output):
        return None
    made = {name for inner in graph.node for name in inner.output} | {tensor.name for tensor in graph.initializer}
    if made & known:
        return None
    ends = [
        onnx.helper.make_node("Identity", [inner.name], [name])
        for inner, name in zip(graph.output, node.output, strict=True)
        if name
    ]
    return [*graph.node, *ends], list(graph.initializer)


def captured(node: Any) -> list[str]:
    """Return the tensors from around a node that the graphs inside it read."""
    found: dict[str, None] = {}
    for item in node.attribute:
        for graph in [item.g] if item.HasField("g") else item.graphs:
            own = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
            own |= {name for inner in graph.node for name in inner.output}
            read = [name for inner in graph.node for name in (*inner.input, *captured(inner))]
            read += [value.name for value in graph.output]
            found |= {name: None for name in read if name and name not in own}
    return list(found)


def unrolled(onnx: Any, node: Any, name: str, known: Known, opset: int) -> tuple[list[Any], list[Any]] | None:
    """Return the steps of a ``Loop`` or a ``Scan`` one after the other, and their constants.

    None where their count is not known, a step may end them, they have graphs inside, or there are too many.
    """
    if node.op_type not in {"Loop", "Scan"} or node.domain not in {"", "ai.onnx"}:
        return None
    attributes = {item.name: item for item in node.attribute}
    body = attributes["body"].g
    steps = _Steps(onnx, node, name, opset, body)
    is_scan = node.op_type == "Scan"
    count = steps.of_scan(attributes, known[0]) if is_scan else steps.of_loop(known[2])
    if not 0 < count * len(body.node) <= _MOST_NODES or any(captured(inner) for inner in body.node):
        return None
    for step in range(count):
        steps.add(step)
    steps.end({at: list(item.ints) for at, item in attributes.items()}.get("scan_output_axes", []))
    return steps.nodes, steps.constants


class _Steps:
    """The nodes of the steps of a loop so far, what goes on to the next one, and what is collected."""

    def __init__(self, onnx: Any, node: Any, name: str, opset: int, body: Any) -> None:
        self.onnx, self.node, self.name, self.opset, self.body = onnx, node, name, opset, body
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        #: What the graph of a step reads, by its own names, in every step.
        self.names: dict[str, str] = {}
        self.state: list[str] = []
        self.scanned: list[tuple[str, int, int]] = []
        self.collected: list[list[str]] = []
        self.first, self.made_before, self.count = 0, 0, 0
        for tensor in body.initializer:
            copy = onnx.TensorProto()
            copy.CopyFrom(tensor)
            copy.name = self.names[tensor.name] = f"{name}/{tensor.name}"
            self.constants.append(copy)

    def constant(self, value: Any) -> str:
        """Return the name of a constant."""
        name = f"{self.name}/value{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(value), name))
        return name

    def of_loop(self, numbers: Mapping[str, Any]) -> int:
        """Return the count of a ``Loop`` that nothing ends earlier, else 0."""
        going = {self.body.input[1].name}
        for inner in self.body.node:
            going |= set(inner.output) if inner.op_type == "Identity" and inner.input[0] in going else set()
        count, begins = numbers.get(self.node.input[0]), numbers.get(self.node.input[1], np.True_)
        if count is None or not np.all(begins) or self.body.output[0].name not in going:
            return 0
        self.state, self.first, self.made_before = list(self.node.input[2:]), 2, 1
        self.names[self.body.input[1].name] = self.constant(np.True_)
        return int(np.asarray(count).ravel()[0])

    def of_scan(self, attributes: Mapping[str, Any], shapes: Mapping[str, Any]) -> int:
        """Return how many places a ``Scan`` passes over, 0 where they are not known."""
        if self.opset < 9:
            return 0
        scanned = attributes["num_scan_inputs"].i
        states = len(self.node.input) - scanned
        self.state = list(self.node.input[:states])
        lists = {at: list(item.ints) for at, item in attributes.items()}
        if any(lists.get("scan_output_directions", [])):
            return 0
        axes, ways = (lists.get(f"scan_input_{what}") or [0] * scanned for what in ("axes", "directions"))
        names = self.node.input[states:]
        self.scanned = list(zip(names, axes, ways, strict=True))
        counts = {shapes[name][axis] for name, axis, _ in self.scanned if name in shapes}
        self.count = counts.pop() if len(counts) == 1 else 0
        return self.count

    def add(self, step: int) -> None:
        """Add a step."""
        prefix = f"{self.name}/{step}/"
        if self.scanned:
            for value, (name, axis, way) in zip(self.body.input[len(self.state) :], self.scanned, strict=True):
                place = self.constant(np.int64(self.count - 1 - step if way else step))
                made = f"{prefix}{value.name}"
                self.nodes.append(self.onnx.helper.make_node("Gather", [name, place], [made], made, axis=axis))
                self.names[value.name] = made
        else:
            self.names[self.body.input[0].name] = self.constant(np.int64(step))
        names = dict(self.names)
        names |= dict(zip((value.name for value in self.body.input[self.first :]), self.state, strict=False))
        for number, inner in enumerate(self.body.node):
            copy = self.onnx.NodeProto()
            copy.CopyFrom(inner)
            copy.name = f"{prefix}{inner.name or f'{inner.op_type}_{number}'}"
            copy.input[:] = [names.get(name, name) for name in inner.input]
            copy.output[:] = [f"{prefix}{name}" if name else "" for name in inner.output]
            names |= {name: f"{prefix}{name}" for name in inner.output if name}
            self.nodes.append(copy)
        ends = [names.get(value.name, value.name) for value in self.body.output[self.made_before :]]
        self.state, new = ends[: len(self.state)], ends[len(self.state) :]
        self.collected = [[*before, one] for before, one in zip(self.collected or [[]] * len(new), new, strict=True)]

    def end(self, axes: list[int]) -> None:
        """Make the outputs: the last state, and what was collected along an axis of its own."""
        made, helper = list(self.node.output), self.onnx.helper
        for source, output in zip(self.state, made, strict=False):
            if output:
                self.nodes.append(helper.make_node("Identity", [source], [output], f"{output}/last"))
        for at, (parts, output) in enumerate(zip(self.collected, made[len(self.state) :], strict=False)):
            axis, apart = (axes or [0] * (at + 1))[at], []
            for number, part in enumerate(parts if output else []):
                apart.append(f"{output}/{number}")
                inputs = [part, self.constant(np.array([axis]))] if self.opset >= 13 else [part]
                more = {"axes": [axis]} if self.opset < 13 else {}
                self.nodes.append(helper.make_node("Unsqueeze", inputs, apart[-1:], apart[-1], **more))
            if output:
                self.nodes.append(helper.make_node("Concat", apart, [output], f"{output}/all", axis=axis))
