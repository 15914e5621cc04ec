"""Graphs inside of nodes: branches put in place, loops of a known count unrolled, and what they read from around.

Lists of tensors, and tensors that may be missing, are the tensors in them, where it is known which these are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from shorthaul.core.errors import InputError
from shorthaul.tensor.networks.translation.constants import elements, first_line, is_outside
from shorthaul.tensor.networks.translation.writing import Known, Shape

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


def inlined(onnx: Any, model: Any) -> Any:
    """Return a model with the bodies of its own functions in place of these.

    The inliner leaves out what a function says of attributes that are not given, so that is written first.
    Raises :class:`InputError` where a function does not fit its calls.
    """
    if not model.functions:
        return model
    # ``overload`` tells functions of one name apart.
    known = {(each.domain, each.name, each.overload): each.attribute_proto for each in model.functions}
    for node in (node for body in (model.graph, *model.functions) for node in nodes_inside(body)):
        given = {item.name for item in node.attribute}
        said = known.get((node.domain, node.op_type, node.overload), ())
        node.attribute.extend(item for item in said if item.name not in given)
    try:
        return onnx.inliner.inline_local_functions(model)
    except RuntimeError as error:  # as for more inputs than a function has
        told = f"has a function that does not fit its calls: {first_line(error)}"
        raise InputError(told, place="functions") from None


def unrolled(onnx: Any, node: Any, name: str, known: Known, opset: int) -> tuple[list[Any], list[Any]] | None:
    """Return the steps of a ``Loop`` or a ``Scan`` one after the other, and their constants.

    None where their count is not known, a step may end them, they have loops inside, or there are too many.
    """
    if node.op_type not in {"Loop", "Scan"} or node.domain not in {"", "ai.onnx"}:
        return None
    attributes = {item.name: item for item in node.attribute}
    if "body" not in attributes:  # a damaged file
        return None
    body = attributes["body"].g
    steps = _Steps(onnx, node, name, opset, body)
    is_scan = node.op_type == "Scan"
    count = steps.of_scan(attributes, known[0]) if is_scan else steps.of_loop(known[2])
    inside = nodes_inside(body)
    if not 0 < count * len(inside) <= _MOST_NODES or any(
        inner.op_type != "If" and any(item.HasField("g") or item.graphs for item in inner.attribute) for inner in inside
    ):
        return None
    for step in range(count):
        steps.add(step)
    steps.end({at: list(item.ints) for at, item in attributes.items()}.get("scan_output_axes", []))
    return steps.nodes, steps.constants


def goes_on(onnx: Any, body: Any, numbers: Mapping[str, Any]) -> bool:
    """Return whether no step of a ``Loop`` ends it: its condition stays what it was, or is a constant that is true."""
    true = {body.input[1].name} | {name for name, value in numbers.items() if value.dtype == bool and value.all()}
    for tensor in body.initializer:
        true |= {tensor.name} if _is_true(onnx, tensor) else set()
    for node in body.node:
        if node.op_type == "Identity" and node.input[0] in true:
            true.add(node.output[0])
        elif node.op_type == "Constant" and node.attribute[0].name == "value":
            true |= set(node.output) if _is_true(onnx, node.attribute[0].t) else set()
    return body.output[0].name in true


def _is_true(onnx: Any, tensor: Any) -> bool:
    """Return whether a tensor holds what is true, in the model itself."""
    return not is_outside(onnx, tensor) and bool(elements(onnx, tensor).all())


def nodes_inside(graph: Any) -> list[Any]:
    """Return the nodes of a graph, and those of the graphs inside them."""
    inner = [item.g for node in graph.node for item in node.attribute if item.HasField("g")]
    return [*graph.node, *(node for each in inner for node in nodes_inside(each))]


def _rename(node: Any, prefix: str, names: Mapping[str, str]) -> None:
    """Give tensors other names, in the graphs inside a node too, where what these make gets a prefix."""
    node.input[:] = [names.get(name, name) for name in node.input]
    node.output[:] = [f"{prefix}{name}" if name else "" for name in node.output]
    for graph in (item.g for item in node.attribute if item.HasField("g")):
        made = {name for inner in graph.node for name in inner.output if name}
        own = {**names, **{name: f"{prefix}{name}" for name in made | {tensor.name for tensor in graph.initializer}}}
        for inner in graph.node:
            _rename(inner, prefix, own)
        for value in (*graph.initializer, *graph.value_info, *graph.output):
            value.name = own.get(value.name, value.name)


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
        self.turned: list[int] = []
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
        count, begins = numbers.get(self.node.input[0]), numbers.get(self.node.input[1], np.True_)
        if count is None or not np.all(begins) or not goes_on(self.onnx, self.body, numbers):
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
        self.turned = lists.get("scan_output_directions", [])
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
            _rename(copy, prefix, names)
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
            ordered = parts[::-1] if self.turned and self.turned[at] else parts
            for number, part in enumerate(ordered if output else []):
                apart.append(f"{output}/{number}")
                inputs = [part, self.constant(np.array([axis]))] if self.opset >= 13 else [part]
                more = {"axes": [axis]} if self.opset < 13 else {}
                self.nodes.append(helper.make_node("Unsqueeze", inputs, apart[-1:], apart[-1], **more))
            if output:
                self.nodes.append(helper.make_node("Concat", apart, [output], f"{output}/all", axis=axis))


def without_sequences(
    onnx: Any, graph: Any, shapes: Mapping[str, Shape], values: Mapping[str, NDArray[Any]], opset: int
) -> bool:
    """Write nodes that take tensors out of a list anew, as ones of those tensors; return whether there are such.

    What is not known stays, and the nodes that make its list.
    """
    reading = _Lists(onnx, shapes, values, opset, {node.name for node in graph.node})
    nodes = []
    for node in graph.node:
        try:
            nodes += list(reading.written(node))
        except (IndexError, KeyError, TypeError, ValueError):
            nodes.append(node)
    if reading.changed:
        used = {value.name for value in graph.output}
        kept = []
        for node in reversed(nodes):
            if node.output[0] not in reading.lists or node.output[0] in used:
                kept.append(node)
                used.update(node.input)
        del graph.node[:]
        graph.node.extend(reversed(kept))
        graph.initializer.extend(reading.constants)
    return reading.changed


class _Lists:
    """The lists of a graph by name, as names of tensors in order."""

    def __init__(
        self, onnx: Any, shapes: Mapping[str, Shape], values: Mapping[str, Any], opset: int, names: set[str]
    ) -> None:
        self.names = names
        self.onnx, self.shapes, self.values, self.opset = onnx, shapes, values, opset
        self.lists: dict[str, list[str]] = {}
        self.present = set(shapes)
        self.constants: list[Any] = []
        self.changed = False

    def written(self, node: Any) -> Iterator[Any]:
        """Yield what stands for a node; it stays where a list that it makes may be asked for as such."""
        kind, inputs = node.op_type if node.domain in {"", "ai.onnx"} else "", list(node.input)
        given = {item.name: self.onnx.helper.get_attribute_value(item) for item in node.attribute}
        output = node.output[0] if node.output else ""
        known = self.lists.get(inputs[0]) if inputs else None
        if kind == "SequenceInsert" and not self.values.get(inputs[0], np.ones(1)).size:  # an empty one is a constant
            known = []
        if kind == "Identity" and known is not None:
            self.lists[output] = known
        elif kind == "SequenceConstruct":
            self.lists[output] = inputs
        elif kind == "SplitToSequence":
            yield from self._split(node, int(given.get("axis", 0)), keeps=bool(given.get("keepdims", 1)))
        elif kind == "SequenceInsert" and known is not None:
            at = self._place(inputs[2]) if len(inputs) > 2 else len(known)
            self.lists[output] = [*known[:at], inputs[1], *known[at:]]
        elif kind == "SequenceErase" and known is not None:
            at = (self._place(inputs[1]) if len(inputs) > 1 else -1) % len(known)
            self.lists[output] = known[:at] + known[at + 1 :]
        else:
            yield from self._taken(node, kind, known, given)
            return
        yield node

    def _taken(self, node: Any, kind: str, known: list[str] | None, given: Mapping[str, Any]) -> Iterator[Any]:
        """Yield what stands for a node that makes a tensor of a list, or of one that may be missing."""
        make, output = self.onnx.helper.make_node, node.output[0] if node.output else ""
        if kind == "SequenceAt" and known is not None:
            yield make("Identity", [known[self._place(node.input[1])]], [output], name=node.name)
        elif kind == "ConcatFromSequence" and known:
            axis, parts = int(given["axis"]), list(known)
            if given.get("new_axis", 0):
                parts = [f"{output}/{number}" for number in range(len(known))]
                for part, one in zip(parts, known, strict=True):
                    yield from self._with_axes("Unsqueeze", one, part, axis)
            yield make("Concat", parts, [output], name=node.name, axis=axis)
        elif kind in {"Optional", "OptionalGetElement"} and node.input and node.input[0] in self.present:
            yield make("Identity", [node.input[0]], [output], name=node.name)
            self.present.add(output)
        else:
            yield node
            return
        self.changed = True

    def _split(self, node: Any, axis: int, *, keeps: bool) -> Iterator[Any]:
        """Yield the parts of a tensor, and take note of their list."""
        source, name = node.input[0], node.output[0]
        size = self.shapes[source][axis]
        sizes = [1] * size
        if len(node.input) > 1 and node.input[1]:
            asked, keeps = self.values[node.input[1]], True
            each = int(asked) if asked.ndim == 0 else 0
            sizes = [min(each, size - at) for at in range(0, size, each)] if each else asked.tolist()
        parts = [f"{name}/{number}" for number in range(len(sizes))]
        made = parts if keeps else [f"{part}/row" for part in parts]
        self.lists[name] = parts
        if f"{name}/split" in self.names:
            return
        if self.opset < 13:
            yield self.onnx.helper.make_node("Split", [source], made, name=f"{name}/split", axis=axis, split=sizes)
        else:
            self.constants.append(self.onnx.numpy_helper.from_array(np.array(sizes, np.int64), f"{name}/sizes"))
            yield self.onnx.helper.make_node("Split", [source, f"{name}/sizes"], made, name=f"{name}/split", axis=axis)
        for row, part in zip(made, parts, strict=True) if not keeps else ():
            yield from self._with_axes("Squeeze", row, part, axis)

    def _with_axes(self, kind: str, source: str, output: str, axis: int) -> Iterator[Any]:
        if self.opset < 13:
            yield self.onnx.helper.make_node(kind, [source], [output], name=output, axes=[axis])
            return
        self.constants.append(self.onnx.numpy_helper.from_array(np.array([axis], np.int64), f"{output}/axes"))
        yield self.onnx.helper.make_node(kind, [source, f"{output}/axes"], [output], name=output)

    def _place(self, name: str) -> int:
        return int(self.values[name])
