"""Constants: where their elements lie, which are made while a network runs, and shapes that depend on numbers."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from shorthaul.core.errors import InputError
from shorthaul.tensor.networks.translation.writing import Shape

#: Constants up to so many elements are computed: they hold shapes, axes and indices.
MOST_ELEMENTS: Final = 2**16
#: Where a tensor has its elements.
_ELEMENTS: Final = ("raw_data", "float_data", "int32_data", "int64_data", "double_data", "uint64_data", "string_data")
#: A version of ONNX files that runtimes of some years read.
_IR_VERSION: Final = 10
#: Operators that tell places apart.
_COMPARISONS: Final = ("Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal")


def first_line(error: Exception) -> str:
    """Return what an error of another package says first."""
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


def is_outside(onnx: Any, tensor: Any) -> bool:
    """Return whether the elements of a tensor lie in a file beside the model."""
    return bool(tensor.data_location == onnx.TensorProto.EXTERNAL)


def location_of(tensor: Any) -> str:
    """Return the name of the file that the elements of a tensor lie in, relative to the model."""
    return next((str(entry.value) for entry in tensor.external_data if entry.key == "location"), "")


def is_beside(location: str, folder: Path) -> bool:
    """Return whether a file lies in the folder of the model."""
    try:
        return (folder / location).is_file()
    except (OSError, ValueError):  # no name of a file
        return False


def fetch(onnx: Any, tensor: Any, folder: Path) -> bool:
    """Read the elements of a tensor from its file; return whether there is such a file.

    At most a byte more than the tensor holds is read, which tells that they do not fit: a long file ends protobuf.
    """
    try:
        told = {entry.key: entry.value for entry in tensor.external_data}
        left = (folder / location_of(tensor)).stat().st_size - int(told.get("offset", 0))
        most = math.prod(tensor.dims) * onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize + 1
        tensor.external_data.add(key="length", value=str(min(int(told.get("length", left)), most)))  # the last counts
        onnx.external_data_helper.load_external_data_for_tensor(tensor, str(folder))
    except (OSError, ValueError, RuntimeError, KeyError, onnx.checker.ValidationError):
        return False
    tensor.ClearField("external_data")
    tensor.ClearField("data_location")
    return True


def elements(onnx: Any, tensor: Any) -> npt.NDArray[Any]:
    """Return what an initializer holds; raises :class:`InputError` where that does not fit its shape or type."""
    try:
        return np.asarray(onnx.numpy_helper.to_array(tensor))
    except (ValueError, TypeError, KeyError, RuntimeError, onnx.checker.ValidationError) as error:
        found = first_line(error)
        raise InputError(f"has elements that do not fit: {found}", place=f"initializer {tensor.name}") from None


def fill_sparse(onnx: Any, model: Any, most: float = math.inf) -> None:
    """Put whole tensors in place of sparse initializers and constants; of more than ``most`` elements the shape alone.

    Raises :class:`InputError` where their elements do not fit.
    """
    graph = model.graph
    graph.initializer.extend(_whole(onnx, sparse, sparse.values.name, most) for sparse in graph.sparse_initializer)
    del graph.sparse_initializer[:]
    for node in graph.node:
        for item in node.attribute:
            if item.name == "sparse_value" and node.op_type == "Constant":
                item.CopyFrom(
                    onnx.helper.make_attribute("value", _whole(onnx, item.sparse_tensor, node.output[0], most))
                )


def _whole(onnx: Any, sparse: Any, name: str, most: float) -> Any:
    shape = tuple(sparse.dims)
    if min(shape, default=0) < 0 or math.prod(shape) > most:
        return onnx.TensorProto(name=name, data_type=sparse.values.data_type, dims=shape)
    values, places = elements(onnx, sparse.values), elements(onnx, sparse.indices)
    whole = np.zeros(shape, values.dtype)
    try:
        whole[tuple(places.T) if places.ndim > 1 else np.unravel_index(places, shape)] = values
    except (ValueError, IndexError, TypeError) as error:
        place = f"sparse initializer {name}"
        raise InputError(f"has elements that do not fit: {first_line(error)}", place=place) from None
    return onnx.numpy_helper.from_array(whole, name)


def has_elements(tensor: Any) -> bool:
    """Return whether a tensor holds its elements itself."""
    return math.prod(tensor.dims) == 0 or any(len(getattr(tensor, name)) for name in _ELEMENTS)


def strip(tensor: Any) -> None:
    """Remove the elements of a tensor; its shape and type stay."""
    for name in (*_ELEMENTS, "external_data"):
        tensor.ClearField(name)
    tensor.ClearField("data_location")


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


def evaluator_of(onnx: Any, node: Any, versions: Mapping[str, int], inputs: Iterable[str] = (), own: Any = None) -> Any:
    """Return what computes a node that reads ``inputs`` too, as the ``versions`` of its model say, not the newest."""
    read = dict.fromkeys((*node.input, *inputs))
    ends = ([onnx.helper.make_empty_tensor_value_info(n) for n in filter(None, names)] for names in (read, node.output))
    graph = onnx.helper.make_graph([node], "node", *ends)
    return onnx.reference.ReferenceEvaluator(graph, dict(versions), new_ops=own)


def session_of(
    onnx: Any, node: Any, versions: Mapping[str, int], inputs: Mapping[str, tuple[int, Shape]], values: Any = ()
) -> Any:
    """Return a session of onnxruntime that computes one node, of ``inputs`` of these types and shapes, or ``values``.

    Raises an exception of any kind where it is not installed, or lacks the operator.
    """
    import onnxruntime  # type: ignore[import-not-found, unused-ignore]

    make = onnx.helper
    graph = make.make_graph(
        [node],
        "node",
        [make.make_tensor_value_info(name, *told) for name, told in inputs.items() if name not in values],
        [onnx.ValueInfoProto(name=name) for name in node.output if name],
        [onnx.numpy_helper.from_array(values[name], name) for name in inputs if name in values],
    )
    opsets = [make.make_opsetid(*item) for item in versions.items()]
    model = make.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])


def _shapes_of_runtime(
    onnx: Any, node: Any, versions: Mapping[str, int], known: tuple[Mapping[str, Shape], dict[str, int], Any]
) -> list[Shape] | None:
    """Return the shapes of what a node makes by the rules of onnxruntime, and take down its types."""
    shapes, types, values = known
    try:
        inputs = {name: (types[name], shapes[name]) for name in node.input if name}
        given = {name: values[name] for name in inputs if name in values}
        session = session_of(onnx, node, versions, inputs, given)
        found = {end.name: end for end in session.get_outputs()}
        for name, end in found.items():
            kind = end.type.removeprefix("tensor(").removesuffix(")").upper()
            types.setdefault(name, onnx.TensorProto.DataType.Value(kind))
        made = {name: tuple(end.shape) for name, end in found.items()}
        if not all(shape and all(isinstance(size, int) for size in shape) for shape in made.values()):
            if sum(math.prod(shape) for _, shape in inputs.values()) > MOST_ELEMENTS:
                return None
            zeros = {
                name: np.zeros(shape, onnx.helper.tensor_dtype_to_np_dtype(kind))
                for name, (kind, shape) in inputs.items()
                if name not in given
            }
            made = {name: value.shape for name, value in zip(made, session.run(None, zeros), strict=True)}
    except Exception:  # it is not installed, has no such operator, or that fails on zeros
        return None
    return [made.get(name, ()) for name in node.output]


def shapes_on_trial(
    onnx: Any, node: Any, versions: Mapping[str, int], known: tuple[Mapping[str, Shape], dict[str, int], Any]
) -> list[Shape] | None:
    """Return the shapes of what a node of another domain makes, and take down its types; None where nobody knows.

    Of ``ai.onnx.ml`` ONNX infers few, none of which depends on the numbers: what the reference makes of zeros tells.
    Others are asked of onnxruntime, where it is installed. ``known`` are shapes, types and constants.
    """
    shapes, types, values = known
    inputs = [name for name in node.input if name]
    sizes = [math.prod(shapes[name]) for name in inputs if name in shapes]
    if node.domain in {"", "ai.onnx"} or len(sizes) < len(inputs):
        return None
    if node.domain != "ai.onnx.ml":
        return _shapes_of_runtime(onnx, node, versions, known)
    if sum(sizes) > MOST_ELEMENTS:
        return None
    zeros = {name: np.zeros(shapes[name], onnx.helper.tensor_dtype_to_np_dtype(types.get(name, 1))) for name in inputs}
    try:
        with np.errstate(all="ignore"):
            evaluator = evaluator_of(onnx, node, versions)
            made = evaluator.run(None, {name: values.get(name, zeros[name]) for name in inputs})
    except Exception:  # the reference lacks an operator, or the node is wrong
        return None
    if not all(isinstance(value, np.ndarray) for value in made):
        return None
    for name, value in zip(filter(None, node.output), made, strict=True):
        types.setdefault(name, onnx.helper.np_dtype_to_tensor_dtype(value.dtype))
    return [value.shape for value in made]


def most_elements(node: Any, values: Mapping[str, Any]) -> int:
    """Return how many elements a node may make of constants, beyond which it waits until its shape is known."""
    given = [values[name] for name in node.input if name]
    if node.op_type in {"Expand", "Tile", "ConstantOfShape"} and given:
        return math.prod(abs(int(size)) for size in given[-1].ravel()) * (int(given[0].size) if given[1:] else 1)
    return math.prod(max(int(value.size), 1) for value in given) if given[1:] else 0


def most_places(node: Any, shapes: Mapping[str, Shape], numbers: Mapping[str, Any]) -> list[Shape] | None:
    """Return the largest shapes of what a node makes that finds as many places as there are; None for others.

    ``numbers`` are the constants that are known.
    """
    given = [shapes.get(name) for name in node.input]
    if node.domain not in {"", "ai.onnx"} or not given or given[0] is None:
        return None
    source, axes = given[0], [item.i for item in node.attribute if item.name == "axis"]
    axis = axes[0] % len(source) if axes and source else None
    match node.op_type:
        case "NonZero":
            return [(max(len(source), 1), math.prod(source))]
        case "Compress":
            return [(math.prod(source),) if axis is None else source]
        case "Unique":
            count = math.prod(source) if axis is None else source[axis]
            return [(count,) if axis is None else source, (count,), (count,), (count,)]
        case "NonMaxSuppression" if len(given) > 1 and given[1] is not None:
            batch, classes, boxes = given[1]
            most = numbers.get(node.input[2]) if len(node.input) > 2 else None
            found = boxes if most is None else min(boxes, int(np.ravel(most)[0]))
            return [(batch * classes * found, 3)]
    return None
