"""A plan as an ONNX model: one local function per group, with its tiles as metadata, that any runtime executes."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import onnx
from onnx import numpy_helper

from shorthaul.core.document import read_bytes, write_bytes
from shorthaul.core.errors import InputError
from shorthaul.tensor.networks.model import Network
from shorthaul.tensor.networks.plan import Group, NetworkPlan
from shorthaul.tensor.networks.translation.agreement import with_defaults
from shorthaul.tensor.networks.translation.constants import fetch, fill_sparse, is_outside
from shorthaul.tensor.networks.translation.graph import Node
from shorthaul.tensor.networks.translation.long_rows import LongRows, taken_apart
from shorthaul.tensor.networks.translation.network import Translation, translated

_DOMAIN: Final = "shorthaul.groups"
#: The first version of ONNX files whose nodes and functions carry metadata.
_IR_VERSION: Final = 10


def save_functions(path: Path, plan: NetworkPlan, network: Network) -> None:
    """Write the model of ``network`` with a function per group; raises :class:`InputError`.

    Weights in files beside the model stay there if ``path`` is in the same folder, else what is written has them.
    """
    model = functions_of(plan, network)
    try:
        if network.origin is not None and isinstance(network.origin.model, Path):
            _fetch_weights(model, network.origin.model.parent, path.parent)
        data = model.SerializeToString()
    except ValueError:
        cure = "keep the weights of the model in a file of their own, and write into its folder"
        raise InputError("would be an ONNX file of more than 2 GiB", file=path, cure=cure) from None
    write_bytes(path, data)


def _fetch_weights(model: Any, source: Path, folder: Path) -> None:
    """Read weights from files beside a model that is written to another folder; raises ValueError above 2 GiB."""
    outside = [tensor for tensor in model.graph.initializer if is_outside(onnx, tensor)]
    if not outside or source.resolve() == folder.resolve():
        return
    sizes = (
        math.prod(tensor.dims) * onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize for tensor in outside
    )
    if sum(sizes) >= 2**31:
        raise ValueError
    for tensor in outside:
        fetch(onnx, tensor, source)


def functions_of(plan: NetworkPlan, network: Network) -> Any:
    """Return the model of ``network`` with a function per group; raises :class:`InputError`.

    Views, and what is made of constants, are copied into every group that reads through them.
    """
    origin = network.origin
    if origin is None:
        raise InputError("was not made of a model", place="network", cure="give the ONNX model")
    data = read_bytes(origin.model) if isinstance(origin.model, Path) else origin.model
    file = origin.model if isinstance(origin.model, Path) else None
    translation = translated(data, origin.dims, file=file, most_row_bytes=origin.most_row_bytes)
    original = onnx.load_model_from_string(data)
    fill_sparse(onnx, original)
    return _Writer(translation, plan, original).model()


class _Writer:
    """A model while it is written."""

    def __init__(self, translation: Translation, plan: NetworkPlan, original: Any) -> None:
        self.translation, self.plan, self.original = translation, plan, original
        self.graph = translation.graph
        self.group = {operator: number for number, group in enumerate(plan.groups) for operator in group.operators}
        self.owner = {
            name: self.group[number] for number, node in enumerate(translation.nodes) for name in node.outputs if name
        }
        self.beside = {name: node for node in self.graph.nodes for name in node.outputs if name not in self.owner}
        self.stored = {tensor.name for tensor in original.graph.initializer}

    def model(self) -> Any:
        """Return the model."""
        graph = self.graph
        bodies = [self._body(group) for group in self.plan.groups]
        last = self._needed([name for name in graph.outputs if name not in self.owner])
        read = {name for body in (*bodies, last) for name in self._free(body)} | set(graph.outputs)
        nodes, functions = [], []
        for number, (group, body) in enumerate(zip(self.plan.groups, bodies, strict=True)):
            if any(attribute.type == onnx.AttributeProto.GRAPH for node in body for attribute in node.proto.attribute):
                nodes += [node.proto for node in body]  # functions see nothing around them, as bodies of loops do
                continue
            made = [name for node in body for name in node.outputs if name in read and name in self.owner]
            functions.append(self._function(number, group, body, made))
            nodes.append(self._call(functions[-1]))
        nodes += [node.proto for node in last]
        made_here = {name for node in nodes for name in node.output}
        missing = {name for body in (*bodies, last) for name in self._free(body)} | (set(graph.outputs) - made_here)
        missing -= self.stored
        lists = {node.outputs[0]: node.proto for node in graph.folded if node.kind == "SequenceEmpty"}
        nodes = [lists[name] for name in sorted(missing & set(lists))] + nodes
        missing = (missing & set(graph.values)) - set(lists)
        for name in sorted(missing & graph.guessed):
            cure = "write the plan as JSON"
            raise InputError("follows from a shape that is not known", place=f"tensor {name}", cure=cure)
        extra = [numpy_helper.from_array(graph.values[name], name) for name in sorted(missing)]
        copy = onnx.ModelProto()
        copy.CopyFrom(self.original)
        del copy.graph.node[:], copy.graph.value_info[:], copy.functions[:], copy.opset_import[:]
        copy.graph.node.extend(nodes)
        copy.graph.initializer.extend(extra)
        copy.functions.extend(functions)
        for output in copy.graph.output:
            kind = output.type.tensor_type
            kind.elem_type = kind.elem_type or graph.types.get(output.name, 0)
            if output.name in graph.shapes and not kind.HasField("shape"):  # the checker of onnx asks for it
                kind.shape.SetInParent()
                for size in graph.shapes[output.name]:
                    kind.shape.dim.add().dim_value = size
        copy.opset_import.extend([*self._opsets(), onnx.helper.make_opsetid(_DOMAIN, 1)])
        copy.ir_version = max(copy.ir_version, _IR_VERSION)
        return copy

    def _opsets(self) -> list[Any]:
        return [onnx.helper.make_opsetid(domain, version) for domain, version in self.graph.opsets.items()]

    def _body(self, group: Group) -> list[Node]:
        """Return the nodes of a group, in the order of the graph, and the views that they read through."""
        own = [self.translation.nodes[number] for number in group.operators]
        views = self._needed(name for node in own for name in node.inputs)
        chosen = {id(node) for node in (*own, *views)}
        return [node for node in self.graph.nodes if id(node) in chosen]

    def _needed(self, names: Iterable[str]) -> list[Node]:
        """Return the nodes beside all groups that tensors are made by, one through the other, in the graph's order."""
        pending, found = list(names), set[int]()
        while pending:
            node = self.beside.get(pending.pop())
            if node is not None and id(node) not in found:
                found.add(id(node))
                pending += node.inputs
        return [node for node in self.graph.nodes if id(node) in found]

    def _free(self, body: Iterable[Node]) -> list[str]:
        """Return what nodes read that none of them makes."""
        made, free = set[str](), dict[str, None]()
        for node in body:
            free.update((name, None) for name in node.inputs if name and name not in made)
            made.update(node.outputs)
        return list(free)

    def _function(self, number: int, group: Group, body: list[Node], made: list[str]) -> Any:
        sink = self.translation.network.operators[group.operators[-1]]
        name = f"group_{number}_{sink.kind.rpartition('.')[2]}"
        nodes = [proto for node in body for proto in self._plain(node)]
        function = onnx.helper.make_function(_DOMAIN, name, self._free(body), made, nodes, self._opsets())
        for key, value in self._metadata(group).items():
            function.metadata_props.add(key=f"shorthaul.{key}", value=value)
        return function

    def _plain(self, node: Node) -> list[Any]:
        """Return a node, or operators in place of one of ONNX's domain that the model's version of ONNX lacks.

        onnxruntime writes and reads such nodes, but ends the process where a function has one.
        """
        graph, version = self.graph, self.graph.opsets.get("", 1)
        if node.proto.domain or onnx.defs.has(node.kind, version, ""):
            # Within a function onnxruntime infers shapes by the definition, which names attributes.
            if not node.proto.domain and onnx.defs.get_schema(node.kind, version, "").has_function:
                with_defaults(node.proto, graph.opsets)
            return [node.proto]
        known = (graph.shapes, graph.types, graph.values)
        written = taken_apart(onnx, node.proto, node.name, known, {}, version, LongRows(0.0))
        if written is None:
            return [node.proto]
        make = onnx.helper.make_node
        return [*(make("Constant", [], [value.name], value=value) for value in written.constants), *written.nodes]

    def _metadata(self, group: Group) -> dict[str, str]:
        """Return what a plan says of a group, as text."""
        network = self.translation.network

        def named(loops: Any) -> list[dict[str, Any]]:
            operators = network.operators
            return [
                {"operator": operators[loop.operator].name, "dim": operators[loop.operator].dim_names[loop.dim],
                 "tile": loop.tile} for loop in loops
            ]  # fmt: skip

        inner = [
            {"operator": network.operators[item.operator].name, "level": item.level, "loops": named(item.loops)}
            for item in group.inner
        ]
        kept = [network.tensors[tensor].name for tensor in group.kept]
        told = {"tiles": named(group.loops), "inner": inner, "kept": kept}
        parts = [
            {"operator": item.name, "first": dict(zip(item.dim_names, item.first, strict=True)),
             "size": dict(zip(item.dim_names, item.dims, strict=True)),
             "step": dict(zip(item.dim_names, item.steps, strict=True))}
            for item in (network.operators[number] for number in group.operators) if item.first
        ]  # fmt: skip
        return {key: json.dumps(value) for key, value in (told | ({"parts": parts} if parts else {})).items()}

    def _call(self, function: Any) -> Any:
        node = onnx.helper.make_node(function.name, function.input, function.output, function.name, domain=_DOMAIN)
        node.metadata_props.extend(function.metadata_props)
        return node
