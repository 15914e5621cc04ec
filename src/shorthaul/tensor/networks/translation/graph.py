"""ONNX files as plain graphs: dimensions bound, functions inlined, shapes inferred, what is constant computed."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from shorthaul.core.errors import InputError
from shorthaul.core.files.arrays import MOST_AXES
from shorthaul.tensor.networks.translation.agreement import bind, expect_names, put_in_order, with_defaults
from shorthaul.tensor.networks.translation.constants import (
    MOST_ELEMENTS,
    elements,
    evaluator_of,
    fetch,
    fill_sparse,
    first_line,
    has_elements,
    is_beside,
    is_outside,
    location_of,
    made_in_place,
    most_elements,
    most_places,
    shapes_on_trial,
    strip,
)
from shorthaul.tensor.networks.translation.extremes import pooled_by_windows_apart
from shorthaul.tensor.networks.translation.long_rows import LongRows, put_together, taken_apart
from shorthaul.tensor.networks.translation.rewriting import is_inlined, mended, rewritten, shapes_of
from shorthaul.tensor.networks.translation.subgraphs import branch, captured, inlined, unrolled, without_sequences

Array = npt.NDArray[Any]
Shape = tuple[int, ...]

#: Elements of a tensor in a file, at most; the largest known have 2^34.
_MOST_WEIGHTS: Final = 2**40
#: Weights beyond this leave the model before shapes are inferred, which copies it.
_LARGEST_KEPT_BYTES: Final = 2**16
#: Computed constants beyond this are known, but not in the model: they hold no shapes.
_LARGEST_SHAPE_BYTES: Final = 2**12
#: The version of ONNX' file format since which constants need not be inputs.
_INITIALIZERS_KNOWN: Final = 4
#: Operators that ONNX defines by others, and that this reader knows through those only.
#: Bits of an element by the number of its ONNX type.
_BITS: Final = {
    1: 32, 2: 8, 3: 8, 4: 16, 5: 16, 6: 32, 7: 64, 8: 64, 9: 8, 10: 16, 11: 64, 12: 32, 13: 64, 14: 64, 15: 128,
    16: 16, 17: 8, 18: 8, 19: 8, 20: 8, 21: 4, 22: 4, 23: 4, 24: 8, 25: 2, 26: 2,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Node:
    """One node: its operator (with its domain, if that is not ONNX's own), tensors by name, attributes as values.

    What the graphs inside a node read from around it follows its own inputs.
    """

    name: str
    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    proto: Any = field(default=None, compare=False, repr=False)


@dataclass(slots=True)
class Graph:
    """The nodes that compute, and what is known of the tensors; ``values`` has the small constants."""

    name: str
    nodes: list[Node]
    inputs: list[str]
    outputs: list[str]
    shapes: dict[str, Shape]
    bits: dict[str, int]
    constants: set[str]
    values: dict[str, Array]
    remarks: list[str] = field(default_factory=list)
    opsets: dict[str, int] = field(default_factory=dict)
    #: The types of elements, by their numbers in ONNX.
    types: dict[str, int] = field(default_factory=dict)
    #: Tensors whose shape is a guess.
    guessed: set[str] = field(default_factory=set)
    #: The nodes that ``values`` were computed by, in order.
    folded: list[Node] = field(default_factory=list)
    #: What computes a node in double precision, by what it makes, once it was asked for.
    evaluators: dict[tuple[str, ...], Any] = field(default_factory=dict)


def graph_from_onnx(
    data: bytes, dims: Mapping[str, int], folder: Path | None = None, long_rows: LongRows | None = None
) -> Graph:
    """Return the graph of an ONNX model with its symbolic dimensions bound to ``dims``.

    Small constants that lie in files beside the model are read from ``folder``; ``long_rows`` are taken apart.
    Raises :class:`InputError` for what is no model, for dimensions that are not bound, all at once, and if the package
    ``onnx`` is not installed.
    """
    try:
        import onnx
        import onnx.external_data_helper
        import onnx.inliner
        import onnx.numpy_helper
        import onnx.reference
        import onnx.shape_inference
        from google.protobuf.message import DecodeError
    except ImportError:
        raise InputError("ONNX models need the package onnx", cure="pip install 'shorthaul[onnx]'") from None
    try:
        model = onnx.load_model_from_string(data)
    except (DecodeError, ValueError, RuntimeError) as error:
        raise InputError(f"is not an ONNX model: {first_line(error)}", cure="write it with onnx.save") from None
    if not model.graph.node:
        raise InputError("has no operator", place="graph", allowed="one node at least")
    # Before version 4 inference knows initializers only if they are inputs too, which many files leave out.
    model.ir_version = max(model.ir_version, _INITIALIZERS_KNOWN)
    expect_names(model)
    fill_sparse(onnx, model, MOST_ELEMENTS)
    put_in_order(model.graph)
    missing: dict[str, int] = {}
    for tensor in model.graph.initializer:
        if min(tensor.dims, default=0) < 0 or math.prod(tensor.dims) > _MOST_WEIGHTS:
            place, allowed = f"initializer {tensor.name}", f"sizes from 0 on, up to {_MOST_WEIGHTS} elements"
            raise InputError("has a shape out of range", place=place, value=list(tensor.dims), allowed=allowed)
        if is_outside(onnx, tensor):
            where = location_of(tensor)
            is_small = folder is not None and math.prod(tensor.dims) <= MOST_ELEMENTS
            if folder is not None and not (fetch(onnx, tensor, folder) if is_small else is_beside(where, folder)):
                missing[where] = missing.get(where, 0) + 1
        if tensor.ByteSize() > _LARGEST_KEPT_BYTES:
            strip(tensor)
    imported = {item.domain for item in model.opset_import}
    for domain in sorted({node.domain for node in model.graph.node} - imported - {"ai.onnx", ""}):
        model.opset_import.append(onnx.helper.make_opsetid(domain, 1))
    bind(model.graph, dims)
    _forget_unfixed(model.graph)  # what the file says of other tensors may name dimensions that now have sizes
    try:
        made = _Reader(onnx, inlined(onnx, model), long_rows or LongRows()).read()
    except (onnx.shape_inference.InferenceError, onnx.checker.ValidationError, DecodeError) as error:
        raise InputError(f"has shapes or types that contradict each other: {first_line(error)}") from None
    told = "is not beside the model: 'run' needs it, and so do shapes that its numbers give; put it there"
    made.remarks += [f"{where[:200]}, where {many} initializers lie, {told}" for where, many in missing.items()]
    return made


def _forget_unfixed(graph: Any) -> None:
    """Drop shapes that are not known whole, so that they are inferred anew."""
    fixed = [value for value in graph.value_info if _fixed_shape(value) is not None]
    del graph.value_info[:]
    graph.value_info.extend(fixed)
    for value in graph.output:
        if _fixed_shape(value) is None and value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")


def _fixed_shape(value: Any) -> Shape | None:
    kind = value.type.tensor_type
    if not value.type.HasField("tensor_type") or not kind.HasField("shape"):
        return None
    sizes = [dim.dim_value if dim.HasField("dim_value") else -1 for dim in kind.shape.dim]
    return None if min(sizes, default=1) < 0 else tuple(sizes)


class _Reader:
    """A model while its shapes are inferred and its constants are computed, in turn until nothing changes."""

    def __init__(self, onnx: Any, model: Any, long_rows: LongRows) -> None:
        self.onnx, self.model, self.long_rows = onnx, model, long_rows
        self.values: dict[str, Array] = {}
        self.folded: list[Node] = []
        self.constants: set[str] = set()
        self.shapes: dict[str, Shape] = {}
        self.types: dict[str, int] = {}
        self.narrowed: dict[str, int] = {}
        self.remarks: list[str] = []
        self.guessed: set[str] = set()
        self.pooled: dict[str, Shape] = {}
        #: Tensors whose shape is not ONNX's, but ours.
        self.assumed: set[str] = set()

    def read(self) -> Graph:
        for number, node in enumerate(self.model.graph.node):
            node.name = node.name or f"{node.op_type}_{number}"  # as the file counts, whatever is taken apart
        self._infer()
        with contextlib.suppress(LookupError, TypeError, ValueError, RuntimeError):  # its translation tells
            put_together(self.onnx, self.model.graph, (self.shapes, self.types, self.values), self._opset())
        self._rewrite()
        self._inline()
        while True:
            self._infer()
            while self._mend():
                self._infer()
            # What is written anew has shapes first, then it is told what of it is constant.
            lists = (self.onnx, self.model.graph, self.shapes, self.values, self._opset())
            if not (self._rewrite() or self._fold() or without_sequences(*lists) or self._assume_shapes()):
                break
        graph = self.model.graph
        constants = {tensor.name for tensor in graph.initializer} | self.constants
        bits = {name: self.narrowed.get(name, _BITS.get(kind, 32)) for name, kind in self.types.items()}
        nodes = [_node(self.onnx, node, number) for number, node in enumerate(graph.node)]
        inputs = [value.name for value in graph.input if value.name not in constants]
        outputs = [value.name for value in graph.output]
        known = (self.shapes, bits, constants, self.values, self.remarks)
        more = (self._versions(), self.types, self.guessed, self.folded)
        return Graph(graph.name or "graph", nodes, inputs, outputs, *known, *more)

    def _versions(self) -> dict[str, int]:
        return {item.domain: item.version for item in self.model.opset_import}

    def _opset(self) -> int:
        return max((version for domain, version in self._versions().items() if domain in {"", "ai.onnx"}), default=1)

    def _inline(self) -> None:
        """Put operators that are known through others only in place."""
        graph = self.model.graph
        inlined = sorted({(node.domain, node.op_type) for node in graph.node if is_inlined(node, self.shapes)})
        if not inlined:
            return
        for node in graph.node:
            if (node.domain, node.op_type) in inlined:
                with_defaults(node, self._versions())
        known = {value.name for value in (*graph.input, *graph.value_info)}
        for tensor in graph.initializer:  # whose types the inliner does not look up
            if tensor.name not in known:
                info = self.onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
                graph.value_info.append(info)
        try:
            inline = self.onnx.inliner.inline_selected_functions
            self.model = inline(self.model, inlined, inline_schema_functions=True)
        except RuntimeError as error:
            self.remarks.append(f"{', '.join(name for _, name in inlined)}: not taken apart: {first_line(error)}")

    def _rewrite(self) -> bool:
        """Put nodes of ONNX in place of those of onnxruntime, and a branch in place of a choice that is known."""
        graph = self.model.graph
        names = {name for node in graph.node for name in node.output} | {tensor.name for tensor in graph.initializer}
        names |= {value.name for value in graph.input}
        nodes, changed = [], False
        before = {
            node.output[0]: self.shapes.get(node.input[0], ())
            for node in graph.node
            if node.op_type == "Reshape" and node.input
        }
        known = (self.shapes, self.types, self.values)
        opset = self._opset()
        self.pooled |= pooled_by_windows_apart(self.onnx, graph.node, self.shapes)
        for number, node in enumerate(graph.node):
            name = node.name or f"{node.op_type}_{number}"
            made: tuple[list[Any], list[Any]] | None = None
            if node.op_type == "If" and node.input and node.input[0] in self.values:
                made = branch(node, bool(self.values[node.input[0]].all()), names, self.onnx)
            else:
                try:
                    made = unrolled(self.onnx, node, name, known, opset)
                    most = self.long_rows.most_bytes
                    written = rewritten(self.onnx, node, name, known, opset, most, self.pooled)
                    written = written or taken_apart(self.onnx, node, name, known, before, opset, self.long_rows)
                except (IndexError, KeyError, TypeError, ValueError, ZeroDivisionError):  # its translation tells
                    made = written = None
                if written is not None:
                    made = written.nodes, written.constants
                    self.remarks += written.remarks
            nodes += [node] if made is None else made[0]
            if made is not None:
                changed = True
                names |= {output for inner in made[0] for output in inner.output}
                graph.initializer.extend(made[1])
        if changed:
            del graph.node[:]
            graph.node.extend(nodes)
        return changed

    def _infer(self) -> None:
        inference = self.onnx.shape_inference
        try:
            self.model = inference.infer_shapes(self.model, data_prop=True)
        except (RuntimeError, ValueError) as error:
            self.remarks.append(f"shapes were inferred without following values: {first_line(error)}")
            try:
                self.model = inference.infer_shapes(self.model)
            except ValueError as wrong:
                raise InputError(f"has tensors that ONNX does not know: {first_line(wrong)}", place="graph") from None
        graph = self.model.graph
        for tensor in graph.initializer:
            self.shapes[tensor.name], self.types[tensor.name] = tuple(tensor.dims), tensor.data_type
            small = math.prod(tensor.dims) <= MOST_ELEMENTS
            if small and tensor.name not in self.values and not is_outside(self.onnx, tensor) and has_elements(tensor):
                self.values[tensor.name] = elements(self.onnx, tensor)
        for value in (*graph.input, *graph.output, *graph.value_info):
            shape = _fixed_shape(value)
            if shape is not None:
                self.shapes.setdefault(value.name, shape)
            if value.type.HasField("tensor_type"):
                self.types.setdefault(value.name, value.type.tensor_type.elem_type)
        for name, shape in self.shapes.items():
            if len(shape) > MOST_AXES:
                raise InputError(
                    "has too many axes", place=f"tensor {name}", value=len(shape), allowed=f"up to {MOST_AXES}"
                )

    def _mend(self) -> bool:
        """Put the right shape in place of the first one that ONNX infers wrongly; return whether there was one.

        What was inferred from it is forgotten.
        """
        for node in self.model.graph.node:
            source, name = node.input[0] if node.input else "", node.output[0] if node.output else ""
            if source in self.shapes and name in self.shapes and name not in self.assumed:
                right = mended(self.onnx, node, self.shapes[source], self.shapes[name])
                if right != self.shapes[name]:
                    self._forget_inferred()
                    self._assume(name, right, self.types.get(name, 1))
                    return True
        return False

    def _forget_inferred(self) -> None:
        graph = self.model.graph
        kept = [value for value in graph.value_info if value.name in self.assumed]
        del graph.value_info[:]
        graph.value_info.extend(kept)
        for value in graph.output:
            if value.name not in self.assumed and value.type.HasField("tensor_type"):
                value.type.tensor_type.ClearField("shape")
        known = {value.name for value in (*graph.input, *graph.initializer)} | self.assumed | set(self.values)
        self.shapes = {name: shape for name, shape in self.shapes.items() if name in known}

    def _fold(self) -> bool:
        """Compute small constants, take large ones for computed; return whether there were small ones."""
        graph = self.model.graph
        constants = {tensor.name for tensor in graph.initializer} | self.constants
        kept, folded, made_here = [], False, made_in_place(graph, self.shapes, constants)
        for node in graph.node:
            result = self._computed(node)
            if result is not None:
                for name, value in zip(node.output, result, strict=False):
                    if name:
                        tensor = self.onnx.numpy_helper.from_array(np.asarray(value), name)
                        if tensor.ByteSize() > _LARGEST_SHAPE_BYTES:
                            strip(tensor)
                        graph.initializer.append(tensor)
                        self.values[name] = np.asarray(value)
                        constants.add(name)
                        self.guessed |= {name} if any(source in self.guessed for source in node.input) else set()
                folded = True
                self.folded.append(_node(self.onnx, node, len(self.folded)))
            elif node.output[0] not in made_here and self._is_constant(node, constants):
                self.constants |= set(node.output)
                constants |= set(node.output)
                kept.append(node)
            else:
                kept.append(node)
        if folded:
            del graph.node[:]
            graph.node.extend(kept)
            _forget_unfixed(graph)  # inference prefers them to the shapes of what was computed
        return folded

    def _is_constant(self, node: Any, constants: set[str]) -> bool:
        """Return whether a node computes with constants only; numbers that it widens are stored as narrow as before."""
        known = bool(node.input) and all(name in constants for name in node.input if name)
        made = known or (node.op_type == "Constant" and node.domain in {"", "ai.onnx"})
        made = made and node.op_type not in {"If", "Loop", "Scan"} and not node.op_type.startswith("Random")
        if made and node.op_type in {"DequantizeLinear", "Cast", "Transpose", "Reshape"}:
            before = self.narrowed.get(node.input[0], _BITS.get(self.types.get(node.input[0], 0), 32))
            after = _BITS.get(self.types.get(node.output[0], 0), 32)
            if before < after:
                self.narrowed[node.output[0]] = before
        return made

    def _computed(self, node: Any) -> list[Array] | None:
        """Return the outputs of a node whose inputs are small constants or only asked for their shape, else None."""
        if node.op_type in {"Shape", "Size", "ConstantOfShape"} and not any(node.input):
            return None
        if node.op_type in {"Shape", "Size"} and node.domain in {"", "ai.onnx"}:
            shape = self.shapes.get(node.input[0])
            if shape is None:
                return None
            slots = {item.name: item.i for item in node.attribute}
            part = shape[slots.get("start", 0) : slots.get("end", len(shape))]
            return [np.array(part if node.op_type == "Shape" else math.prod(shape), np.int64)]
        if any(name and name not in self.values for name in node.input) or node.op_type.startswith("Random"):
            return None
        if captured(node) or (node.op_type == "Loop" and not all(node.input[:2])):
            return None  # the reference takes a condition or a count that is missing for the end
        sizes = [self.shapes.get(name) for name in node.output if name]
        if any(shape is not None and math.prod(shape) > MOST_ELEMENTS for shape in sizes):
            return None
        if None in sizes and most_elements(node, self.values) > MOST_ELEMENTS:
            return None  # until its shape is inferred
        try:
            evaluator = evaluator_of(self.onnx, node, self._versions())
            with np.errstate(all="ignore"):
                result = evaluator.run(None, {name: self.values[name] for name in node.input if name})
        except Exception:  # the reference lacks an operator, or the node is wrong, which inference tells better
            return None
        made = [np.asarray(value) for value in result]
        if any(not isinstance(each, str | bytes) for value in made if value.dtype.hasobject for each in value.flat):
            return None  # a transposed nothing
        # What is rounded to 16 bits here would not be so in double precision.
        narrow = [value for value in made if value.dtype.name in {"float16", "bfloat16"}]
        exact = node.op_type == "Cast" and all(
            np.array_equal(value.astype(np.float64), self.values[node.input[0]].astype(np.float64)) for value in narrow
        )
        return made if exact or not narrow else None

    def _assume_shapes(self) -> bool:
        """Give what has no shape one: first what is known of operators, otherwise that of one operator's input.

        Return whether there was something.
        """
        changed, told = False, (self.shapes, self.types, self.values)
        for node in self.model.graph.node:
            known = shapes_of(self.onnx, node, self.shapes, self.values)
            known = known or shapes_on_trial(self.onnx, node, self._versions(), told)
            if known is None or all(name in self.shapes for name in node.output if name):
                continue
            for name, shape in zip(node.output, known, strict=False):
                if name and name not in self.shapes:
                    self._assume(name, shape, self.types.get(node.input[0], 1))
                    changed = True
        return changed or self._guess_shapes()

    def _guess_shapes(self) -> bool:
        """Take as many places as there may be, or the shape of its first input, for what a node makes of unknown shape.

        What depends on it may have a shape then, and is left alone; return whether there was one.
        """
        waiting = set[str]()
        for node in self.model.graph.node:
            unknown = [name for name in node.output if name and name not in self.shapes]
            source = next((name for name in node.input if name in self.shapes), None)
            if not waiting.isdisjoint(node.input):
                waiting |= set(node.output)
                continue
            if not unknown or (source is None and node.input):
                continue
            most = most_places(node, self.shapes, self.values)
            shapes = most or [() if source is None else self.shapes[source]] * len(unknown)
            for name, shape in zip(unknown, shapes, strict=False):
                self._assume(name, shape, self.types.get(source or "", 1))
                told = f"{node.op_type} {node.name}".strip()
                self.remarks.append(f"the shape of {name} is not known ({told}): taken as {list(shape)}")
            self.guessed |= set(unknown)
            waiting |= set(node.output)
        return bool(waiting)

    def _assume(self, name: str, shape: Shape, kind: int) -> None:
        value = self.onnx.helper.make_tensor_value_info(name, self.types.get(name) or kind, shape)
        _replace_info(self.model.graph, value)
        self.shapes[name] = shape
        self.assumed.add(name)
        self.types.setdefault(name, kind)


def _replace_info(graph: Any, value: Any) -> None:
    kept = [item for item in graph.value_info if item.name != value.name]
    del graph.value_info[:]
    graph.value_info.extend([*kept, value])
    for output in graph.output:
        if output.name == value.name:
            output.CopyFrom(value)


def _node(onnx: Any, node: Any, number: int) -> Node:
    attributes = {item.name: _plain(onnx.helper.get_attribute_value(item)) for item in node.attribute}
    domain = "" if node.domain in {"", "ai.onnx"} else f"{node.domain}."
    name = node.name or f"{node.op_type}_{number}"
    inputs = (*node.input, *captured(node))
    return Node(name, domain + node.op_type, inputs, tuple(node.output), attributes, node)


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, Iterable) and not isinstance(value, str):
        return tuple(_plain(item) for item in value)
    return value
