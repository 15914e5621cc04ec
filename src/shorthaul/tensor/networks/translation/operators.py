"""ONNX operators as iteration dimensions: products, convolutions, pooling, rows, reductions, pointwise operators."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from numpy.typing import NDArray

from shorthaul.tensor.networks.model import Access, Index, Permute, Regroup
from shorthaul.tensor.networks.translation.builder import Builder, Dims, axis_of, output_dims
from shorthaul.tensor.networks.translation.graph import Node, Shape
from shorthaul.tensor.networks.translation.lookups import LOOKUPS
from shorthaul.tensor.networks.translation.writing import margins

Translate = Callable[[Builder, Node], bool]

# fmt: off
POINTWISE: Final = (
    "Abs", "Acos", "Acosh", "Add", "And", "Asin", "Asinh", "Atan", "Atanh", "BatchNormalization", "BiasGelu",
    "BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "Cast", "CastLike", "Ceil", "Celu",
    "Clip", "Cos", "Cosh", "DequantizeLinear", "Div", "DynamicQuantizeLinear", "Elu", "Equal", "Erf", "Exp", "FastGelu",
    "Floor", "Gelu", "Greater", "GreaterOrEqual", "HardSigmoid", "HardSwish", "IsInf", "IsNaN", "LeakyRelu", "Less",
    "LessOrEqual", "Log", "Max", "Mean", "Min", "Mish", "Mod", "Mul", "Neg", "Not", "Or", "PRelu", "Pow",
    "QuantizeLinear", "QuickGelu", "Reciprocal", "Relu", "Round", "Selu", "Shrink", "Sigmoid", "Sign", "Sin", "Sinh",
    "Softplus", "Softsign", "Sqrt", "Sub", "Sum", "Swish", "Tan", "Tanh", "ThresholdedRelu", "Trilu", "Where", "Xor",
)
_REDUCTIONS: Final = (
    "ArgMax", "ArgMin", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
    "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare",
)
# fmt: on
#: Operators over one axis that were over all axes from one on, by default the second, up to a version of ONNX.
FLATTENED: Final = ("Softmax", "LogSoftmax", "Hardmax")
LAST_FLATTENED: Final = 12
#: Operators of which a place along an axis adds up, or multiplies, those before it.
CUMULATIVE: Final = ("CumSum", "CumProd")
#: Operations per element of operators that pass over a row more than once.
_PASSES: Final = {"Softmax": 4.0, "LogSoftmax": 4.0, "LayerNormalization": 6.0, "RMSNormalization": 4.0}


def pointwise(builder: Builder, node: Node) -> bool:
    """Every output element from the elements of the inputs at its place, broadcast."""
    dims, axes = output_dims(builder, node)
    rank, reads = len(axes), []
    channels = node.kind in {"BatchNormalization", "QuantizeLinear", "DequantizeLinear"}
    block = int(node.attributes.get("block_size", 0))
    for number, name in enumerate(node.inputs[:1] if node.kind == "CastLike" else node.inputs):
        if block and number and len(builder.shape(name)) == rank:  # one number for several places along an axis
            along = axis_of(node, 1, rank)
            index = [Index(axis.terms, 0, block) if at == along else axis for at, axis in enumerate(axes)]
            reads += builder.reads(name, index)
            continue
        if channels and number and len(builder.shape(name)) == 1 and rank > 1:  # one number per channel
            reads += builder.reads(name, [axes[axis_of(node, 1, rank)]])
        elif len(builder.shape(name)) <= rank or math.prod(builder.shape(name)) > 1:
            reads += builder.broadcast(name, axes)
    builder.add(node, dims, reads, axes)
    return True


def matmul(builder: Builder, node: Node) -> bool:
    """Products of matrices, batches broadcast."""
    at = {"QLinearMatMul": (0, 3), "MatMulInteger": (0, 1)}.get(node.kind, (0, 1))
    left, right = node.inputs[at[0]], node.inputs[at[1]]
    first, second = builder.shape(left), builder.shape(right)
    if not first or not second:
        return False
    dims = Dims()
    batch_shape = builder.shape(node.outputs[0])
    kept = (len(first) > 1) + (len(second) > 1)
    batch = [dims.add(f"b{axis}", size) for axis, size in enumerate(batch_shape[: len(batch_shape) - kept])]
    m = dims.add("m", first[-2]) if len(first) > 1 else None
    n = dims.add("n", second[-1]) if len(second) > 1 else None
    k = dims.add("k", first[-1])
    reads = builder.reads(left, [*_batched(first[:-2], batch), *([m] if m else []), k])
    reads += builder.reads(right, [*_batched(second[:-2], batch), k, *([n] if n else [])])
    reads += _scalars(builder, node, at)
    axes = [*batch, *(index for index in (m, n) if index is not None)]
    builder.add(node, dims, reads, axes, work=2.0, unit="matrix")
    return True


def _scalars(builder: Builder, node: Node, operands: Sequence[int]) -> list[Access]:
    """Return the accesses to scales and zeros that other operators make."""
    found: list[Access] = []
    for number, name in enumerate(node.inputs):
        if number not in operands and math.prod(builder.shape(name)) == 1:
            found += builder.reads(name, [Index()] * len(builder.shape(name)))
    return found


def _batched(shape: Shape, batch: Sequence[Index]) -> list[Index]:
    last = batch[len(batch) - len(shape) :]
    return [Index() if size == 1 else index for size, index in zip(shape, last, strict=True)]


def gemm(builder: Builder, node: Node) -> bool:
    """``alpha A B + beta C``, either factor transposed."""
    left, right = node.inputs[:2]
    first, second = builder.shape(left), builder.shape(right)
    if len(first) != 2 or len(second) != 2:
        return False
    turned, other = bool(node.attributes.get("transA", 0)), bool(node.attributes.get("transB", 0))
    dims = Dims()
    m = dims.add("m", first[1] if turned else first[0])
    n = dims.add("n", second[0] if other else second[1])
    k = dims.add("k", first[0] if turned else first[1])
    reads = builder.reads(left, [k, m] if turned else [m, k]) + builder.reads(right, [n, k] if other else [k, n])
    if len(node.inputs) > 2 and node.inputs[2]:
        reads += builder.broadcast(node.inputs[2], [m, n])
    builder.add(node, dims, reads, [m, n], work=2.0, unit="matrix")
    return True


def packed_product(builder: Builder, node: Node) -> bool:
    """A product with constant weights of few bits, a scale and perhaps a zero for every block along ``k``."""
    if len(node.inputs) < 3 or any(node.inputs[4:5]):  # the order of groups
        return False
    size, columns, block = (int(node.attributes[key]) for key in ("K", "N", "block_size"))
    bits, blocks, dims = int(node.attributes.get("bits", 4)), -(-size // block), Dims()
    shape = builder.shape(node.inputs[0])
    rows = [dims.add(f"m{axis}", length) for axis, length in enumerate(shape[:-1])]
    n, k = dims.add("n", columns), dims.add("k", size)
    weights = weights_of(node)
    builder.graph.shapes[weights], builder.graph.bits[weights] = (columns, size), bits
    builder.graph.constants.add(weights)
    reads = builder.reads(node.inputs[0], [*rows, k]) + builder.reads(weights, [n, k])
    for number, places in ((2, block), (3, block * (8 // bits))):
        name = node.inputs[number] if number < len(node.inputs) else ""
        if name and number == 3 and builder.graph.bits.get(name) != 8:  # zeros that are not packed
            places = block
        along = -(-blocks * block // places)
        if name and math.prod(builder.shape(name)) == columns * along:
            inside = Regroup((columns, along), builder.shape(name))
            reads += builder.reads(name, [n, Index(k.terms, 0, places)], inside)
    if len(node.inputs) > 5 and node.inputs[5]:
        reads += builder.reads(node.inputs[5], [n])
    builder.add(node, dims, reads, [*rows, n], work=2.0, unit="matrix")
    return True


def weights_of(node: Node) -> str:
    """Return the name of the weights of a product of few bits, as numbers."""
    return f"{node.inputs[1]} ({node.attributes.get('bits', 4)} bits)"


def fused_attention(builder: Builder, node: Node) -> bool:
    """Attention as one operator: the traffic of its inputs and outputs, and the operations of its two products."""
    query, output = builder.shape(node.inputs[0]), builder.shape(node.outputs[0])
    cache = builder.shape(node.outputs[1]) if len(node.outputs) > 1 and node.outputs[1] else ()
    keys = builder.shape(node.inputs[1]) if len(node.inputs) > 1 and node.inputs[1] else ()
    places = cache[2] if len(cache) == 4 else keys[1] if len(keys) == 3 else query[1]
    builder.barrier(node, work=4.0 * math.prod(output) * places, unit="matrix", known=True)
    return True


def einsum(builder: Builder, node: Node) -> bool:
    """Sums of products by letters."""
    equation = str(node.attributes.get("equation", "")).replace(" ", "")
    left, arrow, right = equation.partition("->")
    words = left.split(",")
    if "." in equation or not arrow:
        return False
    sizes: dict[str, int] = {}
    for word, name in zip(words, node.inputs, strict=False):
        if len(word) != len(builder.shape(name)) or len(set(word)) < len(word):
            return False
        for letter, size in zip(word, builder.shape(name), strict=True):
            sizes[letter] = max(sizes.get(letter, 1), size)
    dims = Dims()
    order = [*right, *(letter for letter in sizes if letter not in right)]
    index = {letter: dims.add(letter, sizes[letter]) for letter in order}
    reads = []
    for word, name in zip(words, node.inputs, strict=False):
        shape = builder.shape(name)
        reads += builder.reads(name, [Index() if n == 1 else index[c] for c, n in zip(word, shape, strict=True)])
    builder.add(node, dims, reads, [index[letter] for letter in right], work=2.0, unit="matrix")
    return True


def windows_of(
    node: Node, spatial: Shape, kernel: Shape, output: Shape
) -> tuple[list[int], list[int], list[int], list[int]]:
    """Return strides, dilations, and the padding in front and behind, per axis of ``spatial``.

    Raises ValueError where not even one window fits.
    """
    rank = len(kernel)
    strides = list(node.attributes.get("strides") or (1,) * rank)
    dilations = list(node.attributes.get("dilations") or (1,) * rank)
    if min(*strides, *dilations, 1) < 1:
        raise ValueError("has windows that do not move on")
    pads = list(node.attributes.get("pads") or (0,) * (2 * rank))
    same, is_transposed = str(node.attributes.get("auto_pad", "NOTSET")), node.kind == "ConvTranspose"
    is_given = not (same.startswith("SAME") or (is_transposed and node.attributes.get("output_shape")))
    more = node.attributes.get("output_padding") or (0,) * rank
    for axis in range(rank):
        reach = dilations[axis] * (kernel[axis] - 1) + 1
        if is_given:
            room = spatial[axis] + pads[axis] + pads[rank + axis]
            if reach > room and not is_transposed and not node.attributes.get("ceil_mode", 0):
                raise ValueError(f"has a window of {reach} along an axis of {room}, padding included")
            continue
        if is_transposed:
            total = strides[axis] * (spatial[axis] - 1) + more[axis] + reach - output[axis]
            front = int(total / 2) if same == "SAME_UPPER" else total - total // 2  # towards 0 where it is below
        else:
            total = max(0, (-(-spatial[axis] // strides[axis]) - 1) * strides[axis] + reach - spatial[axis])
            front = total // 2 if same == "SAME_UPPER" else -(-total // 2)
        pads[axis], pads[rank + axis] = front, total - front
    return strides, dilations, pads[:rank], pads[rank:]


def convolution(builder: Builder, node: Node) -> bool:
    """Convolutions of any kernel, stride, dilation, padding and group; transposed ones as well."""
    at = {"QLinearConv": (0, 3, 8), "ConvInteger": (0, 1, 99)}.get(node.kind, (0, 1, 2))
    data, weights = node.inputs[at[0]], node.inputs[at[1]]
    shape, kernel, output = builder.shape(data), builder.shape(weights), builder.shape(node.outputs[0])
    if len(shape) < 3 or len(kernel) != len(shape) or len(output) != len(shape):
        return False
    groups, rank = int(node.attributes.get("group", 1)), len(shape) - 2
    is_transposed = node.kind == "ConvTranspose"
    if shape[1] != (kernel[0] if is_transposed else kernel[1] * groups) or shape[1] % groups or output[1] % groups:
        raise ValueError("channels do not fit its groups")
    strides, dilations, pads, _ = windows_of(node, shape[2:], kernel[2:], output[2:])
    dims = Dims()
    n, g = dims.add("n", output[0]), dims.add("g", groups)
    m = dims.add("m", output[1] // groups)
    places = [dims.add("yxz"[axis % 3] if rank < 3 else "zyx"[axis % 3], output[2 + axis]) for axis in range(rank)]
    c = dims.add("c", shape[1] // groups)
    taps = [dims.add(f"k{axis}", kernel[2 + axis]) for axis in range(rank)]
    reached = []
    for place, tap, stride, dilation, pad in zip(places, taps, strides, dilations, pads, strict=True):
        if is_transposed:
            terms = (*place.terms, *((dim, -dilation) for dim, _ in tap.terms))
            reached.append(Index(terms, pad, stride, exact=True))
        else:
            terms = (*((dim, stride) for dim, _ in place.terms), *((dim, dilation) for dim, _ in tap.terms))
            reached.append(Index(terms, -pad))
    inside = (shape[0], groups, shape[1] // groups, *shape[2:])
    reads = builder.reads(data, [n, g, c, *reached], Regroup(inside, shape))
    filters = (groups, kernel[0] // groups, *kernel[1:])
    order = [g, c, m] if is_transposed else [g, m, c]
    reads += builder.reads(weights, [*order, *taps], Regroup(filters, kernel))
    reads += _scalars(builder, node, at)
    if len(node.inputs) > at[2] and node.inputs[at[2]]:
        reads += builder.reads(node.inputs[at[2]], [g, m], Regroup((groups, output[1] // groups), (output[1],)))
    written = (output[0], groups, output[1] // groups, *output[2:]) if groups > 1 else output
    axes = [n, g, m, *places] if groups > 1 else [n, m, *places]
    work = 2.0 / math.prod(strides) if is_transposed else 2.0
    builder.add(node, dims, reads, axes, work=work, unit="matrix", inner=written, padded=True)
    return True


def pooling(builder: Builder, node: Node) -> bool:
    """Windows over space."""
    shape, output = builder.shape(node.inputs[0]), builder.shape(node.outputs[0])
    rank = len(shape) - 2
    is_global = node.kind.startswith("Global")
    kernel = shape[2:] if is_global else tuple(node.attributes.get("kernel_shape", ()))
    if rank < 1 or len(kernel) != rank or len(output) != len(shape):
        return False
    strides, dilations, pads, _ = windows_of(node, shape[2:], kernel, output[2:])
    dims = Dims()
    n, c = dims.add("n", shape[0]), dims.add("c", shape[1])
    places = [dims.add("yxz"[axis % 3], output[2 + axis]) for axis in range(rank)]
    taps = [dims.add(f"k{axis}", size) for axis, size in enumerate(kernel)]
    reached = [
        Index((*((d, stride) for d, _ in place.terms), *((d, dilation) for d, _ in tap.terms)), -pad)
        for place, tap, stride, dilation, pad in zip(places, taps, strides, dilations, pads, strict=True)
    ]
    builder.add(node, dims, builder.reads(node.inputs[0], [n, c, *reached]), [n, c, *places], padded=True)
    return True


def reduction(builder: Builder, node: Node) -> bool:
    """Sums, means and extremes along axes."""
    shape = builder.shape(node.inputs[0])
    given = node.attributes.get("axes", node.attributes.get("axis") if node.kind.startswith("Arg") else None)
    if len(node.inputs) > 1 and node.inputs[1]:
        value = builder.graph.values.get(node.inputs[1])
        if value is None:
            return False
        given = tuple(value.ravel().tolist())
    if node.kind.startswith("Arg") and given is None:
        given = 0
    given = (given,) if isinstance(given, int) else given
    if not given:
        if node.attributes.get("noop_with_empty_axes", 0):
            return pointwise(builder, node)
        given = tuple(range(len(shape)))
    reduced = {int(axis) % max(len(shape), 1) for axis in given}
    dims = Dims()
    index = [dims.add("abcdefgh"[axis % 8], size) for axis, size in enumerate(shape)]
    keeps = bool(node.attributes.get("keepdims", 1))
    axes = [Index() if axis in reduced else index[axis] for axis in range(len(shape)) if keeps or axis not in reduced]
    # The place of an extreme is not found in parts: they would have to carry the extreme along.
    uncut = [index[axis] for axis in reduced] if node.kind.startswith("Arg") else []
    builder.add(node, dims, builder.reads(node.inputs[0], index), axes, whole=uncut)
    return True


def rows(builder: Builder, node: Node) -> bool:
    """Operators that pass over whole rows, from the axis on or along it: softmax and normalisations."""
    shape = builder.shape(node.inputs[0])
    if not shape:
        if len(node.inputs) > 1:
            raise ValueError("has no axis to pass over")
        return pointwise(builder, node)
    is_flat = node.kind in FLATTENED and builder.graph.opsets.get("", LAST_FLATTENED + 1) <= LAST_FLATTENED
    default = 2 if node.kind == "InstanceNormalization" else 1 if is_flat else -1
    axis = axis_of(node, default, len(shape))
    from_here = is_flat or node.kind not in {*FLATTENED, "LpNormalization", *CUMULATIVE}
    dims, axes = output_dims(builder, node)
    reads = builder.reads(node.inputs[0], axes)
    for name in node.inputs[1:]:
        if node.kind == "InstanceNormalization":
            reads += builder.reads(name, [axes[1]])
        elif name and node.kind not in CUMULATIVE:
            reads += builder.broadcast(name, axes)
    uncut = axes[axis:] if from_here else [axes[axis]]
    if node.kind in CUMULATIVE:  # along an axis that an input names
        along = builder.graph.values.get(node.inputs[1])
        uncut = axes if along is None else [axes[int(along.ravel()[0]) % len(shape)]]
    elif node.kind == "MeanVarianceNormalization":
        uncut = [axes[int(at) % len(shape)] for at in node.attributes.get("axes", (0, 2, 3))]
    builder.add(node, dims, reads, axes, work=_PASSES.get(node.kind, 4.0), whole=uncut)
    return True


def spectrum(builder: Builder, node: Node) -> bool:
    """Fourier transforms of whole rows, or of the frames of a signal."""
    shape, output = builder.shape(node.inputs[0]), builder.shape(node.outputs[0])
    axis = 2 if node.kind == "STFT" else dft_axis(node, builder.graph.values, len(shape))
    numbers = [builder.graph.values.get(name) for name in node.inputs]
    dims, axes = output_dims(builder, node)
    parts = dims.add("r", shape[-1])
    if node.kind == "STFT":
        window, length = (*numbers, None, None)[2:4], node.inputs[2] if len(node.inputs) > 2 else ""
        sizes = {int(window[1])} if window[1] is not None else set[int]()
        sizes |= {builder.shape(length)[0]} if length else set()
        if len(shape) != 3 or numbers[1] is None or len(sizes) != 1:
            return False
        (size,), step = sizes, int(numbers[1])
        tap = dims.add("w", size)
        frame = Index((*((dim, step) for dim, _ in axes[1].terms), *tap.terms))
        reads = builder.reads(node.inputs[0], [axes[0], frame, parts]) + builder.reads(length, [tap] * bool(length))
    else:
        size, tap = shape[axis], dims.add("w", shape[axis])
        index = [*axes[:-1], parts]
        index[axis] = tap
        reads = builder.reads(node.inputs[0], index)
    rows = math.prod(output) / (output[axis] * output[-1])
    work = 5.0 * rows * size * math.log2(max(size, 2)) / math.prod(dims.sizes)
    builder.add(node, dims, reads, axes, work=work, whole=[axes[axis], axes[-1], parts, tap], padded=True)
    return True


def dft_axis(node: Node, values: Mapping[str, NDArray[Any]], rank: int) -> int:
    """Return the axis that a transform is along; raises KeyError where an input tells it that is not known."""
    named = len(node.inputs) > 2 and node.inputs[2]
    axis = int(values[node.inputs[2]]) if named else int(node.attributes.get("axis", -2))
    return axis % rank


def group_normalisation(builder: Builder, node: Node) -> bool:
    """Normalisation of groups of channels."""
    shape = builder.shape(node.inputs[0])
    groups = int(node.attributes.get("num_groups", node.attributes.get("groups", 1)))
    if len(shape) < 2 or shape[1] % groups or node.kind.startswith("com.microsoft"):
        return False
    dims = Dims()
    inside = (shape[0], groups, shape[1] // groups, *shape[2:])
    axes = [dims.add("ngcyxz"[min(axis, 5)], size) for axis, size in enumerate(inside)]
    reads = builder.reads(node.inputs[0], axes, Regroup(inside, shape))
    for name in node.inputs[1:]:
        size = builder.shape(name)
        if size == (shape[1],):
            reads += builder.reads(name, axes[1:3], Regroup(inside[1:3], size))
        elif size == (groups,):
            reads += builder.reads(name, [axes[1]])
    builder.add(node, dims, reads, axes, work=6.0, whole=axes[2:], inner=inside)
    return True


def local_response(builder: Builder, node: Node) -> bool:
    """Normalisation over neighbouring channels."""
    dims, axes = output_dims(builder, node)
    size = int(node.attributes.get("size", 1))
    tap = dims.add("w", size)
    around = Index((*axes[1].terms, *tap.terms), -((size - 1) // 2))
    builder.add(node, dims, builder.reads(node.inputs[0], [axes[0], around, *axes[2:]]), axes, whole=[tap], padded=True)
    return True


def pad(builder: Builder, node: Node) -> bool:
    """A margin around a tensor; beyond its border nothing is read."""
    shape = builder.shape(node.inputs[0])
    given = node.attributes.get("pads")
    if given is None and len(node.inputs) > 1 and node.inputs[1] in builder.graph.values:
        given = tuple(builder.graph.values[node.inputs[1]].ravel().tolist())
    if given is not None and len(node.inputs) > 3 and node.inputs[3]:
        some = builder.graph.values.get(node.inputs[3])
        given = None if some is None else margins(given, some.ravel().tolist(), len(shape))
    mode = str(node.attributes.get("mode", "constant"))
    if given is None or len(given) != 2 * len(shape) or mode not in {"constant", "reflect", "edge"}:
        return False
    dims, axes = output_dims(builder, node)
    shifted = [Index(axis.terms, -int(front)) for axis, front in zip(axes, given[: len(shape)], strict=True)]
    mirrors = mode != "constant"
    uncut = [axis for at, axis in enumerate(axes) if mirrors and (given[at] or given[at + len(shape)])]
    builder.add(node, dims, builder.reads(node.inputs[0], shifted), axes, whole=uncut, padded=True)
    return True


def recurrent(builder: Builder, node: Node) -> bool:
    """LSTM, GRU and RNN: their traffic and operations; their steps follow one another."""
    sequence = builder.shape(node.inputs[0])
    steps = sequence[0] * sequence[1] if len(sequence) == 3 else 1
    weights = sum(math.prod(builder.shape(name)) for name in node.inputs[1:3])
    builder.barrier(node, work=2.0 * steps * weights, unit="matrix", known=True)
    return True


def turned(builder: Builder, node: Node) -> bool:
    """DepthToSpace and SpaceToDepth: views."""
    shape, block = builder.shape(node.inputs[0]), int(node.attributes.get("blocksize", 1))
    n, c, h, w = shape if len(shape) == 4 else (0, 0, 0, 0)
    output = builder.shape(node.outputs[0])
    if not n or len(output) != 4:
        return False
    if node.kind == "SpaceToDepth":
        inner, order = (n, c, h // block, block, w // block, block), (0, 3, 5, 1, 2, 4)
    elif str(node.attributes.get("mode", "DCR")) == "DCR":
        inner, order = (n, block, block, c // block**2, h, w), (0, 3, 4, 1, 5, 2)
    else:
        inner, order = (n, c // block**2, block, block, h, w), (0, 1, 4, 2, 5, 3)
    moved = tuple(inner[axis] for axis in order)
    builder.view(node.outputs[0], node.inputs[0], Regroup(output, moved), Permute(order), Regroup(inner, shape))
    return True


def experts(builder: Builder, node: Node) -> bool:
    """Experts as one operator: the traffic of all weights, and the operations of the ``k`` that each token is sent to.

    Which those are depends on data, so that nothing is fused with it.
    """
    every = 3 if node.kind.endswith("QMoE") else 2
    shapes = [builder.shape(name) for name in node.inputs[2::every][:3] if name]
    packed = 8 // int(node.attributes.get("expert_weight_bits", 4)) if node.kind.endswith("QMoE") else 1
    weights = sum(math.prod(shape[1:]) for shape in shapes) * packed
    tokens = math.prod(builder.shape(node.inputs[0])[:-1])
    builder.barrier(node, work=2.0 * tokens * int(node.attributes.get("k", 1)) * weights, unit="matrix", known=True)
    return True


TRANSLATIONS: Final[dict[str, Translate]] = {
    **dict.fromkeys(POINTWISE, pointwise),
    **dict.fromkeys(("MatMul", "QLinearMatMul", "MatMulInteger"), matmul),
    "Gemm": gemm,
    "MatMulNBits": packed_product,
    **dict.fromkeys(("GroupQueryAttention", "MultiHeadAttention"), fused_attention),
    "Einsum": einsum,
    **dict.fromkeys(("Conv", "ConvTranspose", "QLinearConv", "ConvInteger"), convolution),
    **dict.fromkeys(("MaxPool", "AveragePool", "LpPool"), pooling),
    **dict.fromkeys(("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"), pooling),
    **dict.fromkeys(_REDUCTIONS, reduction),
    **dict.fromkeys((*FLATTENED, *CUMULATIVE, "LpNormalization"), rows),
    **dict.fromkeys(("LayerNormalization", "RMSNormalization", "InstanceNormalization"), rows),
    "MeanVarianceNormalization": rows,
    "SimplifiedLayerNormalization": rows,
    "GroupNormalization": group_normalisation,
    "LRN": local_response,
    "Pad": pad,
    **LOOKUPS,
    **dict.fromkeys(("DFT", "STFT"), spectrum),
    **dict.fromkeys(("LSTM", "GRU", "RNN", "DynamicQuantizeLSTM"), recurrent),
    **dict.fromkeys(("MoE", "QMoE"), experts),
    **dict.fromkeys(("DepthToSpace", "SpaceToDepth"), turned),
}
