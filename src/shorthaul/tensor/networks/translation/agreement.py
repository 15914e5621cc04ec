"""The sizes of symbolic dimensions, and whether the shapes of a model agree with what its operators do.

A size is given by name, or computed from given ones, as that of ``past + length``. A damaged model, or a guess, may say
anything.
"""

from __future__ import annotations

import ast
import contextlib
import math
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shorthaul.core.errors import InputError, unknown_name
from shorthaul.graphs.csr import find_cycle, from_edges, topological_order
from shorthaul.tensor.networks.model import Expand, Index, Permute, Regroup, Step, Stride
from shorthaul.tensor.networks.translation.subgraphs import captured, nodes_inside

Shape = tuple[int, ...]


def expect_seen(shape: Shape, steps: Sequence[Step], source: Shape) -> None:
    """Raise ValueError unless the steps lead from every place of ``shape`` to a place of ``source``.

    >>> expect_seen((4, 3), [Permute((1, 0)), Stride((0, 2), (1, 1), (3, 6))], (3, 6))
    """
    for step in steps:
        match step:
            case Permute(axes):
                fits, shape = len(axes) == len(shape), tuple(shape[axes.index(axis)] for axis in range(len(shape)))
            case Regroup(outside, inside):
                fits, shape = shape == outside and math.prod(outside) == math.prod(inside), inside
            case Stride(start, by, whole):
                spans = zip(shape, start, by, whole, strict=True)
                ends = [(low, low + way * (n - 1), size) for n, low, way, size in spans if n]
                fits, shape = all(0 <= min(one, other) <= max(one, other) < size for one, other, size in ends), whole
            case Expand(whole):
                last = shape[len(shape) - len(whole) :]
                fits, shape = all(n in {1, size} for n, size in zip(whole, last, strict=True)), whole
        if not fits:
            raise ValueError(f"a view by {step} does not fit")
    if shape != source:
        raise ValueError(f"a view of {list(source)} as {list(shape)}")


def expect_covered(axes: Sequence[Index], shape: Shape, sizes: Sequence[int]) -> None:
    """Raise ValueError unless writing along ``axes`` makes every element of ``shape`` once."""
    made = tuple(math.prod(sizes[dim] for dim, _ in index.terms) for index in axes)
    if made != shape:
        raise ValueError(f"makes {list(made)} in place of {list(shape)}")


def expect_read(axes: Sequence[Index], shape: Shape, sizes: Sequence[int]) -> None:
    """Raise ValueError unless reading along ``axes`` reaches the end of ``shape``, and nothing beyond."""
    for index, size in zip(axes, shape, strict=True):
        last = (index.offset + sum(way * (sizes[dim] - 1) for dim, way in index.terms if way > 0)) // index.divisor
        if last != size - 1:
            raise ValueError(f"reads {last + 1} of {size}")


def expect_signature(node: Any, opsets: Mapping[str, int]) -> None:
    """Raise ValueError if ``node`` lacks an input or an attribute that ONNX requires, or has inputs too many."""
    from onnx.defs import OpSchema

    schema = _schema(node, opsets)
    if schema is None:
        return
    single = OpSchema.FormalParameterOption.Single
    required = [number for number, item in enumerate(schema.inputs) if item.option == single]
    if not (max(required, default=-1) < len(node.input) <= schema.max_input and all(node.input[n] for n in required)):
        raise ValueError("has other inputs")
    if len(node.output) > schema.max_output:
        raise ValueError("has other outputs")
    given = {item.name for item in node.attribute}
    if any(item.required and name not in given for name, item in schema.attributes.items()):
        raise ValueError("lacks an attribute")


def _schema(node: Any, opsets: Mapping[str, int]) -> Any:
    """Return what ONNX says of a node's operator, of another version where this one lacks it, None if it is unknown."""
    from onnx.defs import SchemaError, get_schema

    domain = "" if node.domain == "ai.onnx" else node.domain
    for version in ((opsets.get(domain, 1),), ()):
        with contextlib.suppress(SchemaError):
            return get_schema(node.op_type, *version, domain)
    return None


def with_defaults(node: Any, opsets: Mapping[str, int]) -> None:
    """Give a node of ONNX the attributes that it leaves out, which its definition by other nodes may name."""
    given = {item.name for item in node.attribute}
    defaults = (item.default_value for item in _schema(node, opsets).attributes.values() if item.name not in given)
    node.attribute.extend(value for value in defaults if value.name)


def put_in_order(graph: Any) -> None:
    """Put nodes in an order in which they can be executed, the first of the file first, as runtimes do.

    Raises :class:`InputError` for what is read and nothing makes, or is made of what reads it, or is made twice.
    """
    known = {value.name for value in (*graph.input, *graph.initializer)} | {""}
    places = [
        f"node {node.name or f'{node.op_type}_{number}'} ({node.op_type})" for number, node in enumerate(graph.node)
    ]
    makers: dict[str, int] = {}
    for number, node in enumerate(graph.node):
        for name in filter(None, node.output):
            if name in known or name in makers:
                raise InputError("makes what is there already", place=places[number], value=name, cure="rename it")
            makers[name] = number
    links: list[tuple[int, int]] = []
    for number, node in enumerate(graph.node):
        read = {name for name in (*node.input, *captured(node)) if name not in known}
        missing = sorted(read - makers.keys())
        if missing:
            raise InputError("reads what no node makes", place=places[number], value=missing[0])
        links += ((makers[name], number) for name in read)
    found = from_edges(len(graph.node), links)
    cycle = find_cycle(found)
    if cycle:
        place = places[min(cycle)]
        raise InputError("stands in a circle of nodes, each of which reads what the next one makes", place=place)
    order = topological_order(found)
    assert order is not None
    if (np.diff(order) < 0).any():
        nodes = [graph.node[number] for number in order]
        del graph.node[:]
        graph.node.extend(nodes)
    for value in graph.output:
        if value.name not in known and value.name not in makers:
            raise InputError("is an output that nothing makes", place=f"tensor {value.name}")


def expect_names(model: Any) -> None:
    """Raise :class:`InputError` for names that are no text, operators without outputs, versions before the first.

    So are attributes that stand for one of a function, where there is none around.
    """
    graph = model.graph
    items = (*graph.initializer, *graph.input, *graph.output, *graph.node)
    names = [item.name for item in (*items, *(sparse.values for sparse in graph.sparse_initializer))]
    for node in graph.node:
        names += (node.domain, node.op_type, *node.input, *node.output, *(item.name for item in node.attribute))
    for tensor in graph.initializer:
        names += (text for entry in tensor.external_data for text in (entry.key, entry.value))
    wrong = next((name for name in names if not isinstance(name, str)), None)
    if wrong is not None:
        raise InputError("has a name that is not UTF-8 text", place="graph", value=repr(wrong))
    for node in graph.node:
        if not node.output:
            place = f"node {node.name} ({node.op_type})"
            raise InputError("has no output", place=place, cure="check the model with onnx.checker.check_model")
    for node in nodes_inside(graph):
        named = next((item for item in node.attribute if item.ref_attr_name), None)
        if named is not None:
            place = f"attribute {named.name} of node {node.name} ({node.op_type})"
            cure = "give it a value: only the nodes of a function may name its attributes"
            raise InputError(
                "stands for an attribute of no function", place=place, value=named.ref_attr_name, cure=cure
            )
    for item in model.opset_import:
        if item.version < 1:
            raise InputError(
                "is no version of operators", place="opset_import", value=item.version, allowed="1 or more"
            )


def bind(graph: Any, dims: Mapping[str, int]) -> None:
    """Give the symbolic dimensions of all inputs their sizes; raises :class:`InputError` naming all that have none."""
    constants = {tensor.name for tensor in graph.initializer}
    known: set[str] = set()
    unbound: dict[str, None] = {}
    for value in graph.input:
        if value.name in constants or not value.type.HasField("tensor_type"):
            continue
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            if dim.HasField("dim_value") and dim.dim_value > 0:
                continue
            name = dim.dim_param or f"{value.name}.{axis}"
            terms = [name] if name in dims else _names_in(name)
            known |= {name, *terms}
            size = dims.get(name) if name in dims else _computed(name, dims)
            if size is not None and size > 0:
                dim.dim_value = size
            else:
                unbound |= dict.fromkeys(item for item in terms if item not in dims) or {name: None}
    for name in dims:
        if name not in known:
            raise unknown_name("dimension", name, known, place="--dim")
    if unbound:
        cure = f"give their sizes, as in --dim {','.join(f'{name}=1' for name in unbound)}"
        raise InputError("has dimensions without a size", place="graph inputs", value=", ".join(unbound), cure=cure)


def _names_in(text: str) -> list[str]:
    """Return the names that a dimension such as ``past + length`` or ``2*height`` is computed from, or itself."""
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return [text]
    allowed = (
        ast.Expression | ast.BinOp | ast.Name | ast.Constant | ast.Load | ast.Add | ast.Sub | ast.Mult | ast.FloorDiv
    )
    plain = all(isinstance(node, allowed) for node in ast.walk(tree))
    return list(dict.fromkeys(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))) if plain else [text]


def _computed(text: str, dims: Mapping[str, int]) -> int | None:
    """Return the size of a dimension that is computed from others, None where it is not or one has no size."""
    names = _names_in(text)
    if names == [text] or any(name not in dims for name in names):
        return None
    return _value(ast.parse(text, mode="eval").body, dims)


def _value(node: Any, dims: Mapping[str, int]) -> int | None:
    if isinstance(node, ast.Name):
        return dims[node.id]
    if not isinstance(node, ast.BinOp):
        return node.value if type(node.value) is int else None
    left, right = _value(node.left, dims), _value(node.right, dims)
    if left is None or right is None or (isinstance(node.op, ast.FloorDiv) and right == 0):
        return None
    steps = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv}
    return int(steps[type(node.op)](left, right))
