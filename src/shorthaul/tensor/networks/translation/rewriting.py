"""Operators that onnxruntime adds, as those of ONNX that they stand for, or as shapes."""

from __future__ import annotations

import itertools
import math
import string
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from shorthaul.tensor.networks.translation.extremes import (
    SINCE_PLACES_ARE_TAKEN,
    largest,
    moved_windows,
    pooled,
    put_back,
)
from shorthaul.tensor.networks.translation.heads import attention
from shorthaul.tensor.networks.translation.heads.linear_attention import linear_attention
from shorthaul.tensor.networks.translation.quantised import QUANTISED, by_range, channels_first, channels_last
from shorthaul.tensor.networks.translation.subgraphs import goes_on
from shorthaul.tensor.networks.translation.writing import Known, Shape, Writer

#: The domain of the operators that onnxruntime adds.
_DOMAIN: Final = "com.microsoft"
#: Places along an axis, at most, of which constants are written.
_MOST_PLACES: Final = 2**24
_INLINED: Final = ("Attention", "RotaryEmbedding", "AffineGrid", "CausalConvWithState", "CenterCropPad", "SwiGLU")
_ACTIVATION: Final = {"Clip": ("min", "max"), "HardSigmoid": ("alpha", "beta"), "LeakyRelu": ("alpha",)}


def is_inlined(node: Any, shapes: Mapping[str, Shape]) -> bool:
    """Return whether an operator is known through others only, as ONNX defines it.

    Its definition of ``AffineGrid`` does not hold for a single image, whose axis it squeezes away.
    """
    is_alone = node.op_type == "AffineGrid" and shapes.get(node.input[0], (1,))[:1] == (1,)
    if node.domain == "ai.onnx.preview":
        return bool(node.op_type == "FlexAttention")
    return node.domain in {"", "ai.onnx"} and node.op_type in _INLINED and not is_alone


def rewritten(
    onnx: Any,
    node: Any,
    name: str,
    known: Known,
    opset: int,
    most_row_bytes: float = math.inf,
    pooled_of: Mapping[str, Shape] | None = None,
) -> Writer | None:
    """Return nodes of ONNX that compute what ``node`` does and their constants; None where nothing is known of it.

    What would pass over its rows again and again stays as it is where they have more than ``most_row_bytes``, read and
    written. ``pooled_of`` has the shapes of what was pooled by windows side by side, by the places that were found.
    """
    rewrite = {_DOMAIN: _REWRITTEN, "": _PLAINER, "ai.onnx": _PLAINER}.get(node.domain, {}).get(node.op_type)
    if rewrite is None or any(max(known[0].get(one, ()), default=0) > _MOST_PLACES for one in node.input):
        return None
    writer = Writer(onnx, node, name, known, opset)
    writer.most_row_bytes, writer.pooled_of = most_row_bytes, pooled_of or {}
    return writer if rewrite(writer) else None


def _skipping(writer: Writer) -> bool:
    """A sum and its normalisation, by mean and variance or by the mean square; the sum may be an output as well."""
    is_simple = writer.kind == "SkipSimplifiedLayerNormalization"
    if any(writer.outputs[1:3]):
        return False
    shift, bias = ("", writer.input(3)) if is_simple else (writer.input(3), writer.input(4))
    total = writer.outputs[3] if len(writer.outputs) > 3 else ""
    made = writer.add("Add", *writer.inputs[:2], output="" if bias else total)
    made = writer.add("Add", made, bias, output=total) if bias else made
    kind = "SimplifiedLayerNormalization" if is_simple else "LayerNormalization"
    factors = [factor for factor in (writer.input(2), shift) if factor]
    epsilon = writer.values.get("epsilon", 1e-12)
    writer.add(kind, made, *factors, output=writer.outputs[0], axis=-1, epsilon=epsilon)
    return True


def _product(writer: Writer) -> bool:
    """A product of operands that may be turned, and a factor."""
    values, operands = writer.values, writer.inputs[:2]
    if values.get("transBatchA", 0) or values.get("transBatchB", 0) or writer.inputs[0] not in writer.types:
        return False
    for number, key in enumerate(("transA", "transB")):
        rank = len(writer.shapes.get(operands[number], ()))
        if values.get(key, 0):
            if rank < 2:
                return False
            order = [*range(rank - 2), rank - 1, rank - 2]
            operands[number] = writer.add("Transpose", operands[number], perm=order)
    factor = float(values.get("alpha", 1.0))
    made = writer.add("MatMul", *operands, output=writer.outputs[0] if factor == 1.0 else "")
    if factor != 1.0:
        writer.add("Mul", made, writer.number(factor), output=writer.outputs[0])
    return True


def _activated(writer: Writer) -> bool:
    """A convolution or a product, a tensor that is added, and an activation."""
    kind = writer.kind.removeprefix("Fused")
    after = writer.values.get("activation", b"").decode()
    if after == "Clip" and writer.inputs[0] not in writer.types:
        return False
    own = {key: value for key, value in writer.values.items() if not key.startswith("activation")}
    plain = writer.inputs[: 3 if kind == "Conv" else None]
    added = writer.input(3) if kind == "Conv" else ""
    made = writer.add(kind, *plain, output="" if added or after else writer.outputs[0], **own)
    if added:
        made = writer.add("Add", made, added, output="" if after else writer.outputs[0])
    if after:
        numbers = [float(value) for value in writer.values.get("activation_params", ())]
        limits = [writer.number(value) for value in numbers] if after == "Clip" else []
        words = {} if after == "Clip" else dict(zip(_ACTIVATION.get(after, ()), numbers, strict=False))
        writer.add(after, made, *limits, output=writer.outputs[0], **words)
    return True


def _embedding(writer: Writer) -> bool:
    """Rows of three tables added up and normalised; how many places of a mask are ones."""
    ids, segments, words, places, kinds, gamma, beta = writer.inputs[:7]
    batch, count = writer.shapes[ids]
    at = writer.input(8)
    position = writer.add("Gather", places, at, axis=0) if at else writer.part(places, 0, 0, count)
    made = writer.add("Add", writer.add("Gather", words, ids, axis=0), position)
    made = writer.add("Add", made, writer.add("Gather", kinds, segments, axis=0)) if segments else made
    total = writer.outputs[2] if len(writer.outputs) > 2 else ""
    made = writer.add("Identity", made, output=total) if total else made
    epsilon = writer.values.get("epsilon", 1e-12)
    writer.add("LayerNormalization", made, gamma, beta, output=writer.outputs[0], axis=-1, epsilon=epsilon)
    if len(writer.outputs) > 1 and writer.outputs[1]:
        if writer.input(7):
            along = {} if writer.opset >= 13 else {"axes": [1]}
            axes = [] if along else [writer.constant([1])]
            writer.add("ReduceSum", writer.input(7), *axes, output=writer.outputs[1], keepdims=0, **along)
        else:
            writer.add("Identity", writer.constant(np.zeros(batch), np.int32), output=writer.outputs[1])
    return True


def _gated(writer: Writer) -> bool:
    """Half of the features, times what an activation makes of the other half."""
    shape = writer.shapes[writer.inputs[0]]
    axis, half = len(shape) - 1, shape[-1] // 2
    made = writer.add("Add", *writer.inputs[:2])
    gate = writer.part(made, axis, half, 2 * half)
    root = writer.add("Erf", writer.add("Mul", gate, writer.number(0.5**0.5)))
    gate = writer.add("Mul", writer.add("Mul", gate, writer.number(0.5)), writer.add("Add", root, writer.number(1.0)))
    return bool(writer.add("Mul", writer.part(made, axis, 0, half), gate, output=writer.outputs[0]))


def _summed(writer: Writer) -> bool:
    made = writer.add("Add", *writer.inputs[:2])
    return bool(writer.add("Add", made, writer.inputs[2], output=writer.outputs[0]))


def _biased_softmax(writer: Writer) -> bool:
    """A bias that is broadcast from the last axes on, or along axes in the middle."""
    shape, bias = (writer.shapes[name] for name in writer.inputs[:2])
    axis = int(writer.values.get("axis", 1)) % len(shape)
    if axis != len(shape) - 1 or (not writer.values.get("is_inner_broadcast", 1) and len(bias) != len(shape)):
        return False
    made = writer.add("Add", *writer.inputs[:2])
    return bool(writer.add("Softmax", made, output=writer.outputs[0], axis=-1))


def _by_groups(writer: Writer) -> bool:
    """A normalisation by groups of channels, which may be the last axis, of a sum perhaps, and an activation."""
    batch, *shape = writer.shapes[writer.inputs[0]]
    last, groups = bool(writer.values.get("channels_last", 1)), int(writer.values["groups"])
    made, rank = writer.inputs[0], 1 + len(shape)
    for name in writer.inputs[3:]:  # a tensor to add, and a bias by channel
        wide = name
        if name and len(writer.shapes[name]) == 2:
            wide = writer.reshaped(name, (batch, *(1,) * (rank - 2), shape[-1]))
        made = writer.add("Add", made, wide) if name else made
    if len(writer.outputs) > 1 and writer.outputs[1]:
        made = writer.add("Identity", made, output=writer.outputs[1])
    first = [0, rank - 1, *range(1, rank - 1)] if last else list(range(rank))
    made = writer.add("Transpose", made, perm=first) if last else made
    channels = shape[-1] if last else shape[0]
    if channels % groups:
        return False
    inside = (batch, channels, *(shape[:-1] if last else shape[1:]))
    rows = writer.reshaped(made, (batch, groups, math.prod(inside) // batch // groups))
    scale, shift = writer.number(np.ones(groups)), writer.number(np.zeros(groups))
    epsilon = writer.values.get("epsilon", 1e-5)
    made = writer.reshaped(writer.add("InstanceNormalization", rows, scale, shift, epsilon=epsilon), inside)
    for kind, name in (("Mul", writer.inputs[1]), ("Add", writer.inputs[2])):
        made = writer.add(kind, made, writer.reshaped(name, (channels, *(1,) * (rank - 2))))
    if writer.values.get("activation", 0):
        made = writer.add("Mul", made, writer.add("Sigmoid", made))
    back = [0, *range(2, rank), 1] if last else list(range(rank))
    return bool(writer.add("Transpose", made, output=writer.outputs[0], perm=back))


def _channels_last(writer: Writer) -> bool:
    """A convolution whose channels are the last axis, of its data and of its weights."""
    rank = len(writer.shapes[writer.inputs[0]])
    turned = [channels_first(writer, name, rank) for name in writer.inputs[:2]]
    made = writer.add("Conv", *turned, *writer.inputs[2:3], **writer.values)
    return bool(channels_last(writer, made, rank, writer.outputs[0]))


def _as_in_onnx(writer: Writer) -> bool:
    """What ONNX has too, for more types or in more versions."""
    if not writer.onnx.defs.has(writer.kind, writer.opset, ""):
        return False
    return bool(writer.add(writer.kind, *writer.inputs, output=writer.outputs[0], **writer.values))


def _of_type(writer: Writer) -> bool:
    """A conversion into the type of another tensor, which may be known: then constants stay constants."""
    kind = writer.types.get(writer.inputs[1], 0)
    return bool(kind and writer.add("Cast", writer.inputs[0], output=writer.outputs[0], to=kind))


def _one_hot(writer: Writer) -> bool:
    """One number at the place of an axis that is named, from its end where that is negative, and another elsewhere."""
    names, depth, values = writer.inputs
    if depth not in writer.numbers:
        return False
    shape, count = writer.shapes[names], int(np.asarray(writer.numbers[depth]).ravel()[0])
    if not 0 < count <= _MOST_PLACES:
        return False
    axis = int(writer.values.get("axis", -1)) % (len(shape) + 1)
    named = writer.add("Cast", names, to=writer.onnx.TensorProto.INT64)
    named = writer.reshaped(named, (*shape[:axis], 1, *shape[axis:]))
    behind = writer.add("Add", named, writer.constant(count))
    named = writer.add("Where", writer.add("Less", named, writer.constant(0)), behind, named)
    places = writer.constant(np.arange(count).reshape(-1, *(1,) * (len(shape) - axis)))
    off, on = (writer.add("Gather", values, writer.constant(at), axis=0) for at in range(2))
    return bool(writer.add("Where", writer.add("Equal", named, places), on, off, output=writer.outputs[0]))


def _by_letters(writer: Writer) -> bool:
    """A sum of products in full: axes without letters get some, from the last axis on, and so does the output."""
    equation = writer.values["equation"].decode().replace(" ", "")
    left, arrow, right = equation.partition("->")
    words, dots = left.split(","), "..." in left
    if not arrow:
        letters = left.replace(",", "").replace(".", "")
        right = "..." * dots + "".join(sorted(one for one in set(letters) if letters.count(one) == 1))
    if dots:
        ranks = [
            len(writer.shapes[name]) - len(word.replace("...", ""))
            for name, word in zip(writer.inputs, words, strict=True)
        ]
        most = max(rank for rank, word in zip(ranks, words, strict=True) if "..." in word)
        free = "".join(letter for letter in string.ascii_letters if letter not in equation)[:most]
        words = [word.replace("...", free[most - rank :]) for word, rank in zip(words, ranks, strict=True)]
        right = right.replace("...", free)
    made = list(writer.inputs)
    for number in range(0 if dots else len(words)):  # of those with dots, once they have letters
        made[number], words[number] = _along_diagonals(writer, made[number], words[number])
    if arrow and not dots and made == writer.inputs:
        return False
    return bool(writer.add("Einsum", *made, output=writer.outputs[0], equation=f"{','.join(words)}->{right}"))


def _along_diagonals(writer: Writer, source: str, word: str) -> tuple[str, str]:
    """Return a factor with each letter of its word once: of places equally far apart in a flat tensor, and its word."""
    shape = writer.shapes[source]
    for letter in [one for one in dict.fromkeys(word) if word.count(one) > 1]:
        along = [at for at, one in enumerate(word) if one == letter]
        kept = [at for at in range(len(shape)) if at not in along]
        size, many = shape[along[0]], len(along)
        word = "".join(word[at] for at in kept) + letter
        shape = (*(shape[at] for at in kept), size)
        turned = writer.add("Transpose", source, perm=[*kept, *along])
        flat = writer.reshaped(turned, (*shape[:-1], size**many))
        step = sum(size**power for power in range(many))
        ends = (writer.constant([value]) for value in (0, size**many, len(kept), step))
        source = writer.add("Slice", flat, *ends)
    return source, word


def _written(writer: Writer) -> bool:
    """A tensor with others in it from a place on that each sample names, beyond the end at the beginning again."""
    cache, update, first = writer.inputs[0], writer.inputs[1], writer.input(2)
    shape, new = writer.shapes[cache], writer.shapes[update]
    axis = int(writer.values.get("axis", -2)) % len(shape)
    behind = (1,) * (len(shape) - 1 - axis)
    places = writer.constant(np.arange(new[axis]).reshape(-1, *behind))
    if first:
        begins = writer.add("Cast", first, to=writer.onnx.TensorProto.INT64)
        places = writer.add("Add", writer.reshaped(begins, (shape[0], *(1,) * (len(shape) - 1))), places)
    if writer.values.get("mode", b"linear") == b"circular":
        places = writer.add("Mod", places, writer.constant(shape[axis]))
    places = writer.add("Expand", places, writer.constant(new))
    return bool(writer.add("ScatterElements", cache, places, update, output=writer.outputs[0], axis=axis))


def _turned_back(writer: Writer) -> bool:
    """Sequences whose first places, as many as each has, stand in the opposite order."""
    source, lengths = writer.inputs
    shape, along = writer.shapes[source], int(writer.values.get("time_axis", 0))
    if writer.opset < SINCE_PLACES_ARE_TAKEN:
        return False

    def spread(size: int, axis: int) -> Shape:
        return tuple(size if at == axis else 1 for at in range(len(shape)))

    by = int(writer.values.get("batch_axis", 1))
    place = writer.constant(np.arange(shape[along]).reshape(spread(shape[along], along)))
    many = writer.add("Cast", lengths, to=writer.onnx.TensorProto.INT64)
    many = writer.reshaped(many, spread(shape[by], by))
    last = writer.add("Sub", many, writer.constant(1))
    at = writer.add("Where", writer.add("Less", place, many), writer.add("Sub", last, place), place)
    at = writer.add("Expand", at, writer.constant(shape))
    return bool(writer.add("GatherElements", source, at, output=writer.outputs[0], axis=along))


def _kept(writer: Writer) -> bool:
    """Places along an axis, or of all elements, that a constant names by truths."""
    source, truths = writer.inputs
    if truths not in writer.numbers:
        return False
    places = writer.constant(np.flatnonzero(writer.numbers[truths]))
    if "axis" not in writer.values:
        source = writer.reshaped(source, (-1,))
    axis = int(writer.values.get("axis", 0))
    return bool(writer.add("Gather", source, places, output=writer.outputs[0], axis=axis))


def _chosen(writer: Writer) -> bool:
    """A choice that is the same everywhere, as masks that leave out nothing make."""
    condition = writer.numbers.get(writer.inputs[0])
    if condition is None or not condition.size or condition.all() != condition.any():
        return False
    return _as_it_is(writer, writer.inputs[1 if condition.all() else 2])


def _without_margin(writer: Writer) -> bool:
    pads = writer.values.get("pads", writer.numbers.get(writer.input(1)))
    return pads is not None and not np.any(pads) and _as_it_is(writer, writer.inputs[0])


def _as_it_is(writer: Writer, source: str) -> bool:
    shape = writer.shapes.get(source)
    is_same = shape is not None and shape == writer.shapes.get(writer.outputs[0])
    return is_same and bool(writer.add("Identity", source, output=writer.outputs[0]))


#: Operators of ONNX that others stand for.
_PLAINER: Final[dict[str, Callable[[Writer], bool]]] = {
    "Attention": attention.attention_of_onnx,
    "CastLike": _of_type,
    "Compress": _kept,
    "DeformConv": moved_windows,
    "DynamicQuantizeLinear": by_range,
    "Einsum": _by_letters,
    "LinearAttention": linear_attention,
    "MaxPool": pooled,
    "MaxUnpool": put_back,
    "OneHot": _one_hot,
    "ReverseSequence": _turned_back,
    "TensorScatter": _written,
    "TopK": largest,
    "Where": _chosen,
    "Pad": _without_margin,
}
#: Operators of onnxruntime.
_REWRITTEN: Final[dict[str, Callable[[Writer], bool]]] = {
    **QUANTISED,
    **dict.fromkeys(("DequantizeLinear", "GatherND", "Pad", "QuantizeLinear", "Trilu"), _as_in_onnx),
    "EmbedLayerNormalization": _embedding,
    "BiasSplitGelu": _gated,
    "BiasAdd": _summed,
    "BiasSoftmax": _biased_softmax,
    **dict.fromkeys(("GroupNorm", "SkipGroupNorm"), _by_groups),
    "NhwcConv": _channels_last,
    **dict.fromkeys(("SkipLayerNormalization", "SkipSimplifiedLayerNormalization"), _skipping),
    **dict.fromkeys(("FusedMatMul", "TransposeMatMul"), _product),
    **dict.fromkeys(("FusedConv", "FusedGemm"), _activated),
    "Attention": attention.attention,
    "MultiHeadAttention": attention.multi_head_attention,
    "GroupQueryAttention": attention.grouped_attention,
    "RotaryEmbedding": attention.rotary_embedding,
}


def shapes_of(onnx: Any, node: Any, shapes: Mapping[str, Shape], numbers: Mapping[str, Any]) -> list[Shape] | None:
    """Return the shapes of what an operator makes that ONNX has no rule for, None where they are not known.

    ``numbers`` are the constants that are known.
    """
    find = _SHAPES.get(node.op_type)
    given = [shapes.get(name) for name in node.input]
    if find is None or not given or (given[0] is None and node.op_type != "Loop"):
        return None
    values = {item.name: onnx.helper.get_attribute_value(item) for item in node.attribute}
    try:
        if node.op_type == "Loop":
            steps = numbers.get(node.input[0])
            values["steps"] = steps if goes_on(onnx, values["body"], numbers) else None
        return find([shape or () for shape in given], values)
    except (IndexError, KeyError, ZeroDivisionError):
        return None


def mended(onnx: Any, node: Any, source: Shape, inferred: Shape) -> Shape:
    """Return the shape of what a node makes, where ONNX infers too much: a last window of pooling that begins behind.

    By its definition windows that would begin in the padding behind an axis are left out.
    """
    if not node.op_type.endswith("Pool"):
        return inferred
    values = {item.name: onnx.helper.get_attribute_value(item) for item in node.attribute}
    rank = len(source) - 2
    strides, pads = values.get("strides") or [1] * rank, values.get("pads") or [0] * 2 * rank
    is_whole = rank > 0 and len(strides) == rank == len(inferred) - 2 and len(pads) == 2 * rank
    if not is_whole or not values.get("ceil_mode", 0) or values.get("auto_pad", b"NOTSET") != b"NOTSET":
        return inferred
    spans = zip(inferred[2:], strides, source[2:], pads[:rank], strict=True)
    return (*inferred[:2], *(n - 1 if (n - 1) * by >= size + front else n for n, by, size, front in spans))


def _sliced(given: list[Shape], values: Mapping[str, Any]) -> list[Shape]:
    """Slices as attributes say, of which ONNX infers no shape where axes are negative."""
    shape = list(given[0])
    starts, ends = values["starts"], values["ends"]
    for start, end, axis in zip(starts, ends, values.get("axes") or range(len(starts)), strict=False):
        shape[axis] = len(range(*slice(start, end).indices(shape[axis])))
    return [tuple(shape)]


def _as_read(given: list[Shape], values: Mapping[str, Any]) -> list[Shape]:
    del values
    return given[:1]


def _looped(given: list[Shape], values: Mapping[str, Any]) -> list[Shape]:
    """What goes on keeps its shape, up to what is empty and grows; what is collected has an axis of all steps."""
    carried, body = list(itertools.takewhile(lambda shape: 0 not in shape, given[2:])), values["body"]
    if values["steps"] is None or len(carried) < len(given) - 2:
        return carried
    for value in body.output[1 + len(carried) :]:
        shape = tuple(dim.dim_value for dim in value.type.tensor_type.shape.dim)
        if not value.type.tensor_type.HasField("shape") or not all(shape):
            break
        carried.append((int(values["steps"]), *shape))
    return carried


def _grouped_attention(given: list[Shape], values: Mapping[str, Any]) -> list[Shape]:
    """Queries of more heads than keys and values have; these are joined with those of earlier places."""
    batch, places, width = given[0]
    heads, pairs = int(values["num_heads"]), int(values["kv_num_heads"])
    is_packed = len(given) < 2 or not given[1]
    size = width // (heads + 2 * pairs) if is_packed else width // heads
    earlier = given[3][2] if len(given) > 3 and len(given[3]) == 4 else 0
    cache = (batch, pairs, earlier + places, size)
    return [(batch, places, heads * size), cache, cache]


def _attention(given: list[Shape], values: Mapping[str, Any]) -> list[Shape]:
    """As many values as queries; keys and values of all places."""
    batch, places, width = given[0][:3]
    heads = int(values["num_heads"])
    if len(given) < 3 or len(given[2]) != 3:
        return [(batch, places, width)]
    kept = (batch, heads, given[2][1])
    return [(batch, places, given[2][2]), (*kept, width // heads), (*kept, given[2][2] // heads)]


def _projected_attention(given: list[Shape], values: Mapping[str, Any]) -> list[Shape]:
    del values
    return [(*given[0][:2], given[1][1] // 3)]


def _embedded(given: list[Shape], values: Mapping[str, Any]) -> list[Shape]:
    del values
    return [(*given[0], given[2][1]), (given[0][0],), (*given[0], given[2][1])]


def _recurrent(given: list[Shape], values: Mapping[str, Any]) -> list[Shape]:
    (steps, batch, _), (directions, *_), size = given[0], given[1], int(values["hidden_size"])
    return [(steps, directions, batch, size), (directions, batch, size), (directions, batch, size)]


_SHAPES: Final[dict[str, Callable[[list[Shape], Mapping[str, Any]], list[Shape]]]] = {
    **dict.fromkeys(("BiasGelu", "FastGelu", "QuickGelu", "RotaryEmbedding"), _as_read),
    **dict.fromkeys(("LayerNormalization", "SimplifiedLayerNormalization"), _as_read),
    **dict.fromkeys(("Gelu", "GroupNormalization", "MoE", "QMoE"), _as_read),
    "Loop": _looped,
    "Slice": _sliced,
    "MatMulNBits": lambda given, values: [(*given[0][:-1], int(values["N"]))],
    "GroupQueryAttention": _grouped_attention,
    "MultiHeadAttention": _attention,
    "Attention": _projected_attention,
    "EmbedLayerNormalization": _embedded,
    "DynamicQuantizeLSTM": _recurrent,
}
