"""A model's numbers in double precision: its weights, inputs for it, and what an evaluator makes of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import onnx
import onnx.inliner
import onnx.reference
import onnx.version_converter
from onnx import TensorProto, numpy_helper

from shorthaul.core.document import read_bytes
from shorthaul.core.errors import InputError
from shorthaul.core.files.arrays import Column, is_archive, read_archive, read_array
from shorthaul.tensor.networks.execution.experts import unpacked
from shorthaul.tensor.networks.execution.mended import OWN
from shorthaul.tensor.networks.translation.constants import (
    elements,
    evaluator_of,
    fetch,
    has_elements,
    is_outside,
    location_of,
    session_of,
)
from shorthaul.tensor.networks.translation.graph import Graph, Node
from shorthaul.tensor.networks.translation.operators import weights_of
from shorthaul.tensor.networks.translation.subgraphs import inlined, nodes_inside

Array = npt.NDArray[Any]

#: Begins the name of who computed outputs where onnxruntime could not.
REFERENCE: Final = "the reference of onnx"
RUNTIME: Final = "onnxruntime"
#: Ends the name of who computed outputs in single precision or whatever the model is written in, not in double.
AS_WRITTEN: Final = "in the model's own types"
_FLOATS: Final = {TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.DOUBLE}
#: Operators whose integer input names rows of a table, and which input that is.
_TABLES: Final = {"Gather": (1, 0), "GatherElements": (1, 0), "GatherND": (1, 0), "RoiAlign": (2, 0)}


#: Operators that the reference has from here, so that onnxruntime is asked first, in the model's own types too.
_FROM_HERE: Final = {"GRU", "LSTM", "MoE", "QMoE", "RNN"}
#: Operators that make floats where nothing is said.
_WINDOWS: Final = {"HannWindow", "HammingWindow", "BlackmanWindow", "MelWeightMatrix"}


def doubled(model: Any) -> Any:
    """Return a copy of a model whose floating numbers all are of double precision."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for owner in (copy.graph, *copy.functions):
        _double_nodes(owner.node)
    _double_graph(copy.graph)
    return copy


def _double_graph(graph: Any) -> None:
    for tensor in graph.initializer:
        _double_tensor(tensor)
    for value in (*graph.input, *graph.output, *graph.value_info):
        if value.type.HasField("tensor_type") and value.type.tensor_type.elem_type in _FLOATS:
            value.type.tensor_type.elem_type = TensorProto.DOUBLE


def _double_tensor(tensor: Any) -> None:
    if tensor.data_type in _FLOATS - {TensorProto.DOUBLE}:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name))


def double_node(node: Any) -> Any:
    """Return a copy of a node that makes double precision where it made less."""
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    _double_nodes([copy])
    return copy


def _double_nodes(nodes: Any) -> None:
    for node in nodes:
        for item in node.attribute:
            if item.name in {"to", "dtype", "output_datatype"} and item.i in _FLOATS:
                item.i = TensorProto.DOUBLE
            elif node.op_type == "Constant" and item.name in {"value_float", "value_floats"}:
                numbers = np.array(item.f if item.name == "value_float" else list(item.floats), np.float64)
                item.CopyFrom(onnx.helper.make_attribute("value", numpy_helper.from_array(numbers)))
            elif item.type == onnx.AttributeProto.TENSOR:
                _double_tensor(item.t)
            elif item.type == onnx.AttributeProto.GRAPH:
                _double_nodes(item.g.node)
                _double_graph(item.g)
        if node.op_type in _WINDOWS and all(item.name != "output_datatype" for item in node.attribute):
            node.attribute.append(onnx.helper.make_attribute("output_datatype", TensorProto.DOUBLE))
        if node.op_type == "ConstantOfShape" and not node.attribute:
            node.attribute.append(onnx.helper.make_attribute("value", numpy_helper.from_array(np.zeros(1))))


def fill(model: Any, folder: Path | None, seed: int) -> int:
    """Read the weights that lie beside a model, make random ones for those without elements; return how many.

    Raises :class:`InputError` where the file beside the model is not there.
    """
    generator, missing = np.random.default_rng(seed), 0
    for tensor in model.graph.initializer:
        if is_outside(onnx, tensor) and (folder is None or not fetch(onnx, tensor, folder)):
            where, cure = location_of(tensor)[:200], "put the file beside the model, and name the model by its path"
            raise InputError(
                "has elements in a file that is not there", place=f"initializer {tensor.name}", value=where, cure=cure
            )
        if not has_elements(tensor):
            shape, name, kind = tuple(tensor.dims), tensor.name, tensor.data_type
            dtype = _dtype(kind, f"initializer {name}")
            if dtype == np.object_:
                raise InputError(
                    "has no elements, and random ones are numbers", place=f"initializer {name}", value="text"
                )
            tensor.CopyFrom(numpy_helper.from_array(random_array(generator, shape, dtype, 127), name))
            missing += 1
    return missing


def _dtype(kind: int, place: str) -> np.dtype[Any]:
    """Return the type of elements that ONNX gives this number; raises :class:`InputError` if it gives it to none."""
    try:
        dtype: np.dtype[Any] = onnx.helper.tensor_dtype_to_np_dtype(kind)
    except KeyError:
        raise InputError("has elements of an unknown type", place=place, value=kind) from None
    return np.dtype(dtype)


def random_array(generator: np.random.Generator, shape: tuple[int, ...], dtype: Any, most: int) -> Array:
    """Return random numbers: products of them stay near 1; vectors are positive, as variances have to be."""
    if np.dtype(dtype) == np.bool_:
        return generator.random(shape) < 0.5
    if np.issubdtype(dtype, np.integer):
        limits = np.iinfo(dtype)
        return generator.integers(max(limits.min, 0), min(int(limits.max), most) + 1, shape).astype(dtype)
    if len(shape) == 1:
        return generator.uniform(0.5, 1.5, shape).astype(dtype)
    inward = math.prod(shape[1:]) if len(shape) > 2 else shape[0] if shape else 1
    return (generator.standard_normal(shape) / math.sqrt(max(inward, 1))).astype(dtype)


def inputs_of(graph: Graph, model: Any, given: str | Path | None, seed: int) -> dict[str, Array]:
    """Return the inputs of a model: those in a file, random ones otherwise; raises :class:`InputError`."""
    dtypes = {
        value.name: _dtype(value.type.tensor_type.elem_type or 1, f"input {value.name}")
        for value in model.graph.input
        if value.name in graph.inputs
    }
    if given is not None:
        return {name: _double(array) for name, array in _read(Path(given), graph, dtypes).items()}
    generator = np.random.default_rng((seed, 1))
    rows, lengths = dict(_rows_named(graph)), dict(_lengths_of_sequences(graph, model))
    result = {}
    for name, dtype in dtypes.items():
        shape = graph.shapes.get(name, ())
        if name in lengths:
            result[name] = np.full(shape, lengths[name], dtype)
            continue
        is_quantised = dtype.itemsize == 1 and dtype.kind in "iu"
        most = rows.get(name, 128 if is_quantised else 2) - 1
        array = random_array(generator, shape, dtype, most) if dtype.kind in "iub" else generator.standard_normal(shape)
        result[name] = np.asarray(array)  # of no axes, too
    return result


def _read(path: Path, graph: Graph, dtypes: Mapping[str, Any]) -> dict[str, Array]:
    """Return the inputs in a file: ``.npz`` by their names, or ``.npy`` where there is one; as of their types."""
    kinds = {"f": "fiu", "i": "iu", "u": "iu", "b": "b"}
    columns = {name: Column(kinds.get(dtype.kind, "f"), graph.shapes.get(name, ())) for name, dtype in dtypes.items()}
    data = read_bytes(path)
    try:
        if is_archive(data):
            arrays = read_archive(data, columns)
        elif len(columns) == 1:
            ((name, column),) = columns.items()
            arrays = {name: read_array(data, column, place=name)}
        else:
            raise InputError("is no archive", allowed=f"a file .npz with {', '.join(columns)}")
    except InputError as error:
        raise error.in_file(path) from None
    return {
        name: array.astype(np.float64 if dtypes[name].kind == "f" else dtypes[name]) for name, array in arrays.items()
    }


def _rows_named(graph: Graph) -> Iterator[tuple[str, int]]:
    """Yield the integer inputs that name rows of a table, and how many rows there are."""
    source = {name: node.inputs[0] for node in graph.nodes for name in node.outputs if node.inputs}
    for node in graph.nodes:
        place, table = _TABLES.get(node.kind, (0, 0))
        if max(place, table) >= len(node.inputs) or node.kind not in _TABLES:
            continue
        shape = graph.shapes.get(node.inputs[table], ())
        name = node.inputs[place]
        for _ in range(len(source)):
            if name not in source:
                break
            name = source[name]
        if shape:
            yield name, shape[int(node.attributes.get("axis", 0)) % len(shape)]


def _lengths_of_sequences(graph: Graph, model: Any) -> Iterator[tuple[str, int]]:
    """Yield the inputs that say how many places sequences have, as if caches were full: numbers, or masks of ones."""
    maker = {name: node for node in model.graph.node for name in node.output}
    for node in model.graph.node:
        if node.op_type != "GroupQueryAttention" or len(node.input) < 7 or len(node.output) < 2:
            continue
        total = (*graph.shapes.get(node.output[1], ()), 0, 0, 0)[2]
        for name, length in ((node.input[5], total - 1), (node.input[6], total)):
            counted = False
            for _ in range(len(maker)):
                if name in graph.inputs or name not in maker or not maker[name].input:
                    break
                counted |= maker[name].op_type == "ReduceSum"
                name = maker[name].input[0]
            if name in graph.inputs:
                yield name, 1 if counted else length


def _double(array: Array) -> Array:
    return array.astype(np.float64) if array.dtype.kind == "f" or array.dtype.name == "bfloat16" else array


def constants_of(graph: Graph, model: Any) -> dict[str, Array]:
    """Return all constants of a graph in double precision: initializers, and what nodes make of them."""
    found = {name: _double(value) for name, value in graph.values.items()}
    found |= {tensor.name: _double(elements(onnx, tensor)) for tensor in model.graph.initializer}
    for node in graph.folded:  # once more: these are in the model's own precision
        is_real = any(found[name].dtype.kind == "f" for name in node.outputs if name in found)
        if is_real and all(name in found for name in node.inputs if name):
            found |= evaluated(node, graph, found)
    for node in graph.nodes:
        outputs = [name for name in node.outputs if name]
        if outputs and all(name in graph.constants for name in outputs) and any(n not in found for n in outputs):
            found |= evaluated(node, graph, found)
        if node.kind.endswith("MatMulNBits") and weights_of(node) in graph.constants:
            found[weights_of(node)] = _unpacked(node, found)
    return found


def _unpacked(node: Node, values: Mapping[str, Array]) -> Array:
    """Return weights of few bits as numbers, by column: every block has a scale, and perhaps a zero of its own."""
    size, columns, block = (int(node.attributes[key]) for key in ("K", "N", "block_size"))
    bits = int(node.attributes.get("bits", 4))
    blocks = -(-size // block)
    found = unpacked(values[node.inputs[1]].reshape(columns, -1), bits)[:, : blocks * block]
    zeros: Array = np.full((columns, blocks), 2 ** (bits - 1))
    if len(node.inputs) > 3 and node.inputs[3]:
        given = values[node.inputs[3]].reshape(columns, -1)
        zeros = given if given.dtype.kind == "f" else unpacked(given, bits)[:, :blocks]
    scales = values[node.inputs[2]].reshape(columns, blocks)
    found = (found.reshape(columns, blocks, block) - zeros[..., None]) * scales[..., None]
    return np.asarray(found.reshape(columns, -1)[:, :size])


def evaluated(node: Node, graph: Graph, values: Mapping[str, Array]) -> dict[str, Array]:
    """Return what a node of ``graph`` makes of ``values``; raises :class:`InputError` if nobody knows."""
    return evaluated_by(node, graph, values)[0]


def evaluated_by(node: Node, graph: Graph, values: Mapping[str, Array]) -> tuple[dict[str, Array], str]:
    """Return what a node makes of ``values``, and who computed it: the reference of onnx, else onnxruntime.

    Raises :class:`InputError` if neither knows how to.
    """
    names = [name for name in node.outputs if name]
    given = {name: values[name] for name in dict.fromkeys(node.inputs) if name}
    errors = []
    for evaluate, who in ((_node_by_reference, REFERENCE), (_node_by_runtime, RUNTIME), (_node_as_written, RUNTIME)):
        try:
            with np.errstate(all="ignore"):  # rows of which nothing is left, as masks make them
                made = evaluate(node, graph, given)
            return {name: np.asarray(value) for name, value in zip(names, made, strict=True)}, who
        except Exception as error:  # of any kind: who is asked lacks the operator, or it fails on the numbers
            errors.append(error)
    text = (str(errors[0]).splitlines() or [type(errors[0]).__name__])[0][:200]
    cure = "plan and check it; only 'run' needs to know what it computes"
    raise InputError(f"cannot be executed: {text}", place=f"node {node.name} ({node.kind})", cure=cure)


def _node_by_reference(node: Node, graph: Graph, given: Mapping[str, Array]) -> Any:
    if node.outputs not in graph.evaluators:  # a step of a plan asks for each again
        made = evaluator_of(onnx, double_node(node.proto), graph.opsets, node.inputs, OWN)
        graph.evaluators[node.outputs] = made
    return graph.evaluators[node.outputs].run(None, dict(given))


def _node_by_runtime(node: Node, graph: Graph, given: Mapping[str, Array]) -> Any:
    return _of_session(double_node(node.proto), graph, given)


def _node_as_written(node: Node, graph: Graph, given: Mapping[str, Array]) -> Any:
    """What the model's own types give, which many operators are defined for alone."""
    kinds = {name: onnx.helper.tensor_dtype_to_np_dtype(graph.types[name]) for name in given}
    made = _of_session(node.proto, graph, {name: value.astype(kinds[name]) for name, value in given.items()})
    return [_double(value) for value in made]


def _of_session(proto: Any, graph: Graph, given: Mapping[str, Array]) -> Any:
    ends = {name: (onnx.helper.np_dtype_to_tensor_dtype(value.dtype), value.shape) for name, value in given.items()}
    return session_of(onnx, proto, graph.opsets, ends).run(None, dict(given))


def outputs_of(model: Any, inputs: Mapping[str, Array]) -> tuple[dict[str, Array], str]:
    """Return a model's outputs in double precision, and who computed them: onnxruntime where it can, else onnx.

    Raises :class:`InputError` if neither can.
    """
    names = [value.name for value in model.graph.output]
    model = inlined(onnx, model)  # the reference knows functions only that come before it asks for them
    copy = doubled(model)
    del copy.graph.value_info[:]
    errors = []
    others = (_by_reference, _by_newer_reference, _by_runtime_as_written)
    if any(node.op_type in _FROM_HERE for node in model.graph.node):
        others = (_by_runtime_as_written, _by_reference, _by_newer_reference)
    for evaluate in (_by_runtime, *others):
        try:
            made, who = evaluate(model if evaluate is _by_runtime_as_written else copy, names, inputs)
            return {name: _numbers(value) for name, value in zip(names, made, strict=True)}, who
        except Exception as error:  # of any kind: not installed, operators or types that it lacks
            errors.append(error)
    text = (str(errors[1]).splitlines() or [type(errors[1]).__name__])[0][:200]
    raise InputError(f"has outputs that nobody else can compute: {text}", place="graph")


def outputs_as_given(
    model: Any, source: str | bytes, inputs: Mapping[str, Array]
) -> tuple[dict[str, Array], str] | None:
    """Return what onnxruntime makes of a file, or the bytes of one, as it is; None where it cannot.

    ``model`` is what the file holds. A function with a node that its version of ONNX lacks would end the process.
    """
    for function in model.functions:
        version = max((item.version for item in function.opset_import if not item.domain), default=1)
        if any(not node.domain and not onnx.defs.has(node.op_type, version, "") for node in nodes_inside(function)):
            return None
    names = [value.name for value in model.graph.output]
    try:
        made, who = _of_source(source, names, _in_own_types(model, inputs))
        return {name: _numbers(value) for name, value in zip(names, made, strict=True)}, f"{who} {AS_WRITTEN}"
    except Exception:  # of any kind: not installed, operators or types that it lacks
        return None


def as_taken_apart(graph: Graph, model: Any, constants: Mapping[str, Array]) -> Any:
    """Return a model of the operators that ``graph`` has in place of those of ``model``."""
    made = {name for node in graph.nodes for name in node.outputs}
    read = dict.fromkeys(name for node in graph.nodes for name in node.inputs if name in constants and name not in made)
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    del copy.graph.node[:], copy.graph.initializer[:], copy.graph.value_info[:], copy.functions[:]
    copy.graph.node.extend(node.proto for node in graph.nodes)
    copy.graph.initializer.extend(numpy_helper.from_array(constants[name], name) for name in read)
    return copy


def _numbers(value: Any) -> Array:
    """Return an output as an array: of numbers with names, the numbers."""
    rows = value if isinstance(value, list) else []
    named = bool(rows) and all(isinstance(row, dict) for row in rows)
    return np.asarray([list(row.values()) for row in rows] if named else value)


def _by_runtime(model: Any, names: list[str], inputs: Mapping[str, Array]) -> tuple[Any, str]:
    return _of_source(model.SerializeToString(), names, inputs)


def _by_runtime_as_written(model: Any, names: list[str], inputs: Mapping[str, Array]) -> tuple[Any, str]:
    """What the model's own types give, which are those of the inputs."""
    made, who = _by_runtime(model, names, _in_own_types(model, inputs))
    return made, f"{who} {AS_WRITTEN}"


def _of_source(source: str | bytes, names: list[str], inputs: Mapping[str, Array]) -> tuple[Any, str]:
    """What onnxruntime makes of a file, or of the bytes of one."""
    import onnxruntime  # type: ignore[import-not-found, unused-ignore]

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(source, options, ["CPUExecutionProvider"])
    return session.run(names, dict(inputs)), f"{RUNTIME} {onnxruntime.__version__}"


def _in_own_types(model: Any, inputs: Mapping[str, Array]) -> dict[str, Array]:
    types = {value.name: value.type.tensor_type.elem_type for value in model.graph.input}
    return {name: array.astype(onnx.helper.tensor_dtype_to_np_dtype(types[name])) for name, array in inputs.items()}


def _by_reference(model: Any, names: list[str], inputs: Mapping[str, Array]) -> tuple[Any, str]:
    evaluator = onnx.reference.ReferenceEvaluator(model, new_ops=OWN)
    rounds = any(node.op_type == "LinearAttention" for node in model.graph.node)  # as its definition says
    with np.errstate(all="ignore"):
        return evaluator.run(names, dict(inputs)), f"{REFERENCE} {onnx.__version__} {AS_WRITTEN * rounds}".strip()


def _by_newer_reference(model: Any, names: list[str], inputs: Mapping[str, Array]) -> tuple[Any, str]:
    """The reference lacks old versions of some operators."""
    return _by_reference(onnx.version_converter.convert_version(model, 21), names, inputs)
