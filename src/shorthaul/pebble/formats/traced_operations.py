"""Operations of the computations in a graph of ``torch.fx`` or ``torch.export``; a multiply-accumulate is two.

Products of matrices, convolutions, contractions and attention are counted by the shapes of their operands. A reduction
or normalisation costs an operation for each element that it reads, anything else one for each element of its result;
views cost nothing.
"""

from __future__ import annotations

import math
from typing import Any

from shorthaul.core.errors import InputError

#: What moves no element, or picks elements.
_VIEWS = frozenset((
    "alias", "as_strided", "broadcast_to", "chunk", "contiguous", "detach", "dropout", "expand", "flatten", "getattr",
    "getitem", "identity", "movedim", "narrow", "permute", "reshape", "select", "size", "slice", "split",
    "split_with_sizes", "squeeze", "swapaxes", "sym_size", "t", "tensor_split", "transpose", "unbind", "unflatten",
    "unfold", "unsafe_view", "unsqueeze", "view", "view_as",
))  # fmt: skip
#: Products of matrices, and the place of the first matrix among their operands.
_PRODUCTS = {
    "bmm": 0, "dot": 0, "inner": 0, "linear": 0, "matmul": 0, "mm": 0, "mv": 0, "vdot": 0,
    "addbmm": 1, "addmm": 1, "addmv": 1, "baddbmm": 1,
}  # fmt: skip
#: What multiplies all that it reads with each of several matrices.
_RECURRENT = ("gru", "lstm", "multihead", "rnn", "transformer")
#: How the names of reductions and normalisations begin.
_REDUCTIONS = (
    "adaptive", "all", "amax", "amin", "any", "arg", "avg_pool", "avgpool", "batch_norm", "batchnorm", "count",
    "cross_", "cum", "group_norm", "groupnorm", "instance_norm", "instancenorm", "layer_norm", "layernorm",
    "linalg_vector_norm", "log_softmax", "logsumexp", "max", "mean", "min", "native_", "nll_loss", "norm", "prod",
    "rms_norm", "rmsnorm", "softmax", "std", "sum", "var",
)  # fmt: skip

Shape = tuple[int, ...]


def meta_of(node: Any) -> Any:
    """Return what is known of the value of a node; raises :class:`InputError` where nothing is."""
    value = node.meta.get("val", node.meta.get("tensor_meta"))
    if value is None:
        cure = "export the model with torch.export, or run torch.fx.passes.shape_prop.ShapeProp on the graph"
        raise InputError("has no size", place=f"node {node.name}", cure=cure)
    return value


def shapes_of(value: Any) -> list[Shape]:
    """Return the shapes of a tensor, or of several."""
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return [tuple(int(length) for length in value.shape)]
    return [shape for one in value for shape in shapes_of(one)] if isinstance(value, tuple | list) else []


def operations_of(node: Any, module: Any = None) -> int:
    """Return the operations of a computation; ``module`` is what a node calls that calls a module.

    Raises
    ------
    InputError
        If the size of an operand or of the result is not known.
    """
    name = _name(node, module)
    results = shapes_of(meta_of(node))
    elements = sum(map(math.prod, results))
    if node.op in {"placeholder", "get_attr", "output"} or name in _VIEWS:
        return 0
    operands = _operands(node)
    if module is not None:
        operands += [tuple(one.shape) for _, one in sorted(module.named_parameters(), key=lambda item: -item[1].dim())]
    if name in _PRODUCTS and len(operands) > _PRODUCTS[name]:
        return 2 * elements * (operands[_PRODUCTS[name]] or (1,))[-1]
    if "conv" in name and len(operands) > 1:
        return _convolution(node, name, operands, results)
    if name == "einsum":
        return _contraction(node, operands)
    if "dot_product" in name and "attention" in name and len(operands) > 2:
        query, key, value = operands[:3]
        forward = 2 * math.prod(query[:-1]) * key[-2] * (query[-1] + value[-1])
        return forward * 5 // 2 if "backward" in name else forward
    if name.startswith(_RECURRENT):
        matrices = [math.prod(shape) for shape in operands[1:] if len(shape) == 2]
        return max(elements, 2 * math.prod(operands[0][:-1]) * sum(matrices))
    if operands and name.startswith(_REDUCTIONS):
        return max(elements, math.prod(operands[0]))
    return elements


def _name(node: Any, module: Any) -> str:
    """Return what a node computes: ``mm`` for ``aten.mm.default``, ``conv2d`` for the function and the module."""
    if module is not None:
        return type(module).__name__.lower()
    target = node.target
    text = target if isinstance(target, str) else str(target)
    parts = getattr(target, "__name__", text) if "<" in text else text
    found = parts.split(".")
    return (found[1] if len(found) > 2 else found[0]).strip("_").lower()


def _operands(node: Any) -> list[Shape]:
    """Return the shapes of the tensors that a node is given, in order."""
    listed: list[Any] = []
    waiting = [*reversed([*node.args, *node.kwargs.values()])]
    while waiting:
        one = waiting.pop()
        if isinstance(one, tuple | list):
            waiting += reversed(one)
        elif hasattr(one, "meta") and hasattr(one, "op"):
            listed += shapes_of(meta_of(one))
    return listed


def _convolution(node: Any, name: str, operands: list[Shape], results: list[Shape]) -> int:
    """Return the operations of a convolution: of its weights each reads all places of the result, or of the input.

    A backward convolution is one for each gradient that it returns.
    """
    if "backward" in name and len(operands) > 2:
        gradient, weights = operands[0], operands[2]
        return 2 * math.prod(gradient) * math.prod(weights[1:]) * min(2, len([one for one in results if len(one) > 1]))
    is_transposed = "transpose" in name or (name == "convolution" and len(node.args) > 6 and bool(node.args[6]))
    places = operands[0] if is_transposed else results[0]
    return 2 * math.prod(places) * math.prod(operands[1][1:])


def _contraction(node: Any, operands: list[Shape]) -> int:
    """Return the operations of an ``einsum``: all combinations of its letters, for each product of two operands."""
    read = str(node.args[0]).split("->", maxsplit=1)[0].replace(" ", "").split(",")
    length: dict[str, int] = {}
    for letters, shape in zip(read, operands, strict=False):
        before, dots, after = letters.partition("...")
        length.update(zip(before, shape, strict=False))
        length.update(zip(reversed(after), reversed(shape), strict=False))
        if dots:
            inner = math.prod(shape[len(before) : len(shape) - len(after)])
            length[dots] = max(length.get(dots, 1), inner)
    return 2 * max(1, len(operands) - 1) * math.prod(length.values())
