"""Attention as onnxruntime has it, as products, masks and a softmax between them; rotary embeddings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from shorthaul.tensor.networks.translation.writing import Shape, Writer

#: A place that no query looks at.
_NOWHERE: Final = 2**30


class _Heads:
    """Queries, keys and values by head, (batch, heads, places, features), and what is added to scores."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.values: Any = writer.values

    def by_head(self, source: str, shape: Shape, heads: int) -> tuple[str, Shape]:
        """Return places by head of what has the features of all heads one after the other."""
        batch, places, width = shape
        split = self.writer.reshaped(source, (batch, places, heads, width // heads))
        return self.writer.add("Transpose", split, perm=[0, 2, 1, 3]), (batch, heads, places, width // heads)

    def packed(self, source: str, shape: Shape, at: int) -> tuple[str, Shape]:
        """Return one of several tensors (batch, places, heads, which, features), by head."""
        batch, places, heads, _, size = shape
        flat = self.writer.reshaped(self.writer.part(source, 3, at, at + 1), (batch, places, heads, size))
        return self.writer.add("Transpose", flat, perm=[0, 2, 1, 3]), (batch, heads, places, size)

    def joined(self, past: str, new: str, output: str) -> str:
        """Return keys or values of earlier places before those of the new ones."""
        if past:
            return self.writer.add("Concat", past, new, output=output, axis=2)
        return self.writer.add("Identity", new, output=output) if output else new

    def cached(self, past: str, new: str, output: str, scale: str, by_feature: Shape) -> tuple[str, str]:
        """Return keys or values of all places as a cache of 8 bits has them, and a factor by head and feature.

        The new ones are rounded as those of earlier places were. Where one scale is for all, there is no factor.
        """
        writer = self.writer
        zero, one, factor = writer.constant(0, np.int8), "", ""
        if math.prod(writer.shapes[scale]) == 1:
            one = writer.reshaped(scale, ())
        else:
            one, factor = writer.number(1.0), writer.reshaped(scale, by_feature)
            new = writer.add("Div", new, factor)
        kept = self.joined(past, writer.add("QuantizeLinear", new, one, zero), output)
        return writer.add("DequantizeLinear", kept, one, zero), factor

    def times(self, by_head: tuple[str, Shape], factor: str, pairs: int) -> tuple[str, Shape]:
        """Return numbers by head times a factor by head of keys and feature: cheaper than of all places cached."""
        writer, (name, shape) = self.writer, by_head
        if not factor:
            return by_head
        heads, size = shape[1], shape[3]
        if heads != pairs:
            apart = writer.reshaped(factor, (1, pairs, 1, 1, size))
            alike = writer.add("Expand", apart, writer.constant((1, pairs, heads // pairs, 1, size)))
            factor = writer.reshaped(alike, (1, heads, 1, size))
        return writer.add("Mul", name, factor), shape

    def together(self, source: str, shape: Shape, output: str) -> None:
        """Make the output: the features of all heads one after the other."""
        batch, heads, places, size = shape
        turned = self.writer.add("Transpose", source, perm=[0, 2, 1, 3])
        self.writer.reshaped(turned, (batch, places, heads * size), output)

    def attend(
        self,
        query: tuple[str, Shape],
        key: tuple[str, Shape],
        value: tuple[str, Shape],
        *,
        added: Sequence[tuple[str, Shape]] = (),
        allowed: Sequence[tuple[str, Shape]] = (),
        sink: tuple[str, Shape] | None = None,
    ) -> tuple[str, Shape]:
        """Return attention by head; several heads of queries may share one of keys.

        ``added`` are summands of scores; where one of ``allowed`` is false, a query does not look; a ``sink`` is a
        score by head of a place that has no value.
        """
        writer, (batch, heads, places, size) = self.writer, query[1]
        pairs, total, width = *key[1][1:3], value[1][3]
        factor = float(self.values.get("scale", 0.0)) or 1 / math.sqrt(size)
        scaled = writer.add("Mul", query[0], writer.number(factor))
        keys, values = key[0], value[0]
        inner: Shape = (heads,) if pairs == heads else (pairs, heads // pairs)
        shared: Shape = (pairs, 1)[: len(inner)]
        if pairs != heads:
            scaled = writer.reshaped(scaled, (batch, *inner, places, size))
            keys = writer.reshaped(keys, (batch, *shared, total, size))
            values = writer.reshaped(values, (batch, *shared, total, width))

        def by_pair(name: str, shape: Shape) -> str:
            if pairs == heads or len(shape) < 3:
                return name
            of_head = shape[-3:-2] if shape[-3] == 1 else inner
            return writer.reshaped(name, (*shape[:-3], *((1, 1) if of_head == (1,) else inner), *shape[-2:]))

        axis = 1 + len(inner)
        turned = writer.add("Transpose", keys, perm=[*range(axis), axis + 1, axis])
        scores, cap = writer.add("MatMul", scaled, turned), float(self.values.get("softcap", 0.0))
        if cap:
            limit = writer.number(cap)
            scores = writer.add("Mul", writer.add("Tanh", writer.add("Div", scores, limit)), limit)
        for bias in added:
            scores = writer.add("Add", scores, by_pair(*bias))
        for seen in allowed:
            scores = writer.add("Where", by_pair(*seen), scores, writer.number(-np.inf))
        if sink is not None:
            ends = writer.constant((batch, *inner, places, 1))
            scores = writer.add("Concat", scores, writer.add("Expand", by_pair(*sink), ends), axis=axis + 1)
            nothing = writer.number(np.zeros((batch, *shared, 1, width)))
            values = writer.add("Concat", values, nothing, axis=axis)
        made = writer.add("MatMul", writer.add("Softmax", scores, axis=-1), values)
        shape = (batch, heads, places, width)
        return made if pairs == heads else writer.reshaped(made, shape), shape

    def padding(self, name: str, total: int) -> list[tuple[str, Shape]] | None:
        """Return what a mask of places adds to scores; None for masks of a kind that is not known."""
        writer = self.writer
        if not name:
            return []
        shape = writer.shapes[name]
        if len(shape) == 1 and shape != (writer.shapes[writer.inputs[0]][0],):
            return None
        if len(shape) == 1:  # how many places there are
            seen = writer.add("Less", writer.constant(range(total), np.int32), writer.reshaped(name, (*shape, 1)))
            shape = (*shape, total)
        elif shape[-1] == total and len(shape) in {2, 3}:
            seen = writer.add("Cast", name, to=writer.onnx.TensorProto.BOOL)
        else:
            return None
        wide = (shape[0], 1, *shape[1:]) if len(shape) == 3 else (shape[0], 1, 1, total)
        filler = writer.number(float(self.values.get("mask_filter_value", -10000.0)))
        return [(writer.add("Where", writer.reshaped(seen, wide), writer.number(0.0), filler), wide)]

    def near(self, first: int, places: int, total: int, left: int, right: int) -> list[tuple[str, Shape]]:
        """Return which of ``total`` places each of ``places`` ones looks at, of which the first is ``first``.

        They look at so many before them and behind, or at all where that is negative. Nothing where these are all.
        """
        found, keys = [], self.writer.constant(np.arange(total))
        if right >= 0 and first + right + 1 < total:
            found.append(self.writer.add("Less", keys, self.writer.constant(_column(first + right, places))))
        if 0 <= left < first + places - 1:
            found.append(self.writer.add("Less", self.writer.constant(_column(first - left - 2, places)), keys))
        return [(name, (places, total)) for name in found]


def _given(writer: Writer, number: int) -> list[tuple[str, Shape]]:
    """Return an input with its shape, if there is one."""
    name = writer.input(number)
    return [(name, writer.shapes[name])] if name else []


def _column(first: int, count: int) -> Any:
    """Return, for each of ``count`` places from ``first`` on, the place after it, as a column."""
    return np.arange(first + 1, first + count + 1)[:, None]


def attention(writer: Writer) -> bool:
    """Queries, keys and values are one product of the input with weights."""
    heads, (batch, places, _) = int(writer.values["num_heads"]), writer.shapes[writer.inputs[0]]
    past = writer.input(4)
    if writer.values.get("do_rotary", 0) or writer.input(6) or writer.values.get("past_present_share_buffer", 0):
        return False
    width = writer.shapes[writer.inputs[1]][1]
    widths = list(writer.values.get("qkv_hidden_sizes") or (width // 3,) * 3)
    product = writer.add("MatMul", *writer.inputs[:2])
    product = writer.add("Add", product, writer.input(2)) if writer.input(2) else product
    work, by_head, start = _Heads(writer), [], 0
    for size in widths:
        some = writer.part(product, 2, start, start + size)
        by_head.append(work.by_head(some, (batch, places, size), heads))
        start += size
    earlier = writer.shapes[past][3] if past else 0
    total, kept = earlier + places, []
    for number in (1, 2):
        name, shape = by_head[number]
        if past:
            before = writer.reshaped(
                writer.part(past, 0, number - 1, number), (batch, heads, earlier, widths[number] // heads)
            )
            name = work.joined(before, name, "")
        by_head[number] = name, (*shape[:2], total, shape[3])
        kept.append(writer.reshaped(name, (1, *by_head[number][1])))
    if len(writer.outputs) > 1 and writer.outputs[1]:
        writer.add("Concat", *kept, output=writer.outputs[1], axis=0)
    added = work.padding(writer.input(3), total)
    if added is None:
        return False
    added += _given(writer, 5)
    allowed = work.near(earlier, places, total, -1, 0 if writer.values.get("unidirectional", 0) else -1)
    made, shape = work.attend(*by_head, added=added, allowed=allowed)
    work.together(made, shape, writer.outputs[0])
    return True


def multi_head_attention(writer: Writer) -> bool:
    """Queries, keys and values are inputs, perhaps packed, perhaps without their biases."""
    heads, query = int(writer.values["num_heads"]), writer.shapes[writer.inputs[0]]
    if any(writer.inputs[8:]) or any(writer.outputs[3:]):
        return False
    work = _Heads(writer)
    names = [writer.input(number) for number in range(3)]
    shapes = [writer.shapes[name] if name else () for name in names]
    if len(query) == 5:
        parts = [work.packed(names[0], query, at) for at in range(3)]
    elif len(shapes[1]) == 5:
        parts = [("", ()), *(work.packed(names[1], shapes[1], at) for at in range(2))]
    elif not names[1] or not names[2]:
        return False
    else:
        parts = [("", ())] * 3
    start = 0
    for number in range(3):
        shape = shapes[number]
        if len(shape) == 4 and number:
            parts[number] = names[number], shape
        if parts[number][0]:
            width = parts[number][1][1] * parts[number][1][3]
            if writer.input(3) and len(shape) != 4:
                summand = writer.part(writer.input(3), 0, start, start + width)
                by_head = writer.reshaped(summand, (1, heads, 1, width // heads))
                parts[number] = writer.add("Add", parts[number][0], by_head), parts[number][1]
        else:
            width, name = shape[2], names[number]
            if writer.input(3):
                name = writer.add("Add", name, writer.part(writer.input(3), 0, start, start + width))
            parts[number] = work.by_head(name, shape, heads)
        start += width
    total = parts[1][1][2]
    for number in (1, 2):
        past, (name, shape) = writer.input(5 + number), parts[number]
        total = shape[2] + (writer.shapes[past][2] if past else 0)
        output = writer.outputs[number] if len(writer.outputs) > number else ""
        parts[number] = work.joined(past, name, output), (*shape[:2], total, shape[3])
    added = work.padding(writer.input(4), total)
    if added is None:
        return False
    added += _given(writer, 5)
    past, ahead = writer.input(6), 0 if writer.values.get("unidirectional", 0) else -1
    allowed = work.near(writer.shapes[past][2] if past else 0, parts[0][1][2], total, -1, ahead)
    made, shape = work.attend(*parts, added=added, allowed=allowed)
    work.together(made, shape, writer.outputs[0])
    return True


def grouped_attention(writer: Writer) -> bool:
    """Several heads of queries share one of keys and values, which a cache may hold of earlier places.

    A cache that keeps its size counts as full: its last places are those of the new keys. Those of others that a sample
    does not have are masked.
    """
    values = writer.values
    heads, pairs, window = (int(values.get(key, -1)) for key in ("num_heads", "kv_num_heads", "local_window_size"))
    scales = _scales_of_cache(writer)
    if scales is None or any(writer.inputs[14:]) or any(writer.outputs[3:]):
        return False
    batch, places, width = writer.shapes[writer.inputs[0]]
    work, source = _Heads(writer), list(writer.inputs[:3])
    size = width // heads
    if not source[1]:
        size = width // (heads + 2 * pairs)
        ends = [0, heads * size, (heads + pairs) * size, width]
        source = [writer.part(writer.inputs[0], 2, ends[at], ends[at + 1]) for at in range(3)]
    parts = [
        work.by_head(name, (batch, places, count * size), count)
        for name, count in zip(source, (heads, pairs, pairs), strict=True)
    ]
    past = [writer.input(3), writer.input(4)]
    earlier = writer.shapes[past[0]][2] if past[0] else 0
    made_shape = writer.shapes.get(writer.outputs[1]) if len(writer.outputs) > 1 else None
    keeps_size = made_shape is not None and earlier >= places and made_shape[2] == earlier
    if keeps_size:
        earlier -= places
        writer.remarks.append(f"the cache of {writer.name} counts as full: its last places are those of the new keys")
    is_known = (batch == 1 and not keeps_size) or not earlier
    before = writer.constant([[earlier]], np.int64) if is_known else _lengths(writer, batch, places)
    if values.get("do_rotary", 0):
        at = writer.input(9)
        if not at:
            at = writer.add("Add", before, writer.constant(np.arange(places)[None]))
        for number in range(2):
            parts[number] = _rotated(writer, parts[number], at, writer.input(7), writer.input(8)), parts[number][1]
    factors = ["", "", ""]
    for number in (1, 2):
        name, shape = parts[number]
        output = writer.outputs[number] if len(writer.outputs) > number else ""
        cache = past[number - 1]
        if cache and keeps_size:
            cache = writer.part(cache, 2, 0, earlier)
        cache = cache if earlier else ""
        if scales[number - 1]:
            joined, factors[number] = work.cached(cache, name, output, scales[number - 1], (1, pairs, 1, size))
        else:
            joined = work.joined(cache, name, output)
        parts[number] = joined, (*shape[:2], earlier + places, size)
    allowed = _seen(writer, before if not is_known else "", earlier, places, window)
    sink, end = writer.input(11), None
    if sink:
        end = writer.reshaped(sink, (1, heads, 1, 1)), (1, heads, 1, 1)
    elif values.get("smooth_softmax", 0) > 0:
        end = writer.number(np.zeros((1, 1, 1, 1))), (1, 1, 1, 1)
    added = _given(writer, 10)
    query = work.times(parts[0], factors[1], pairs)
    made, shape = work.times(work.attend(query, *parts[1:], added=added, allowed=allowed, sink=end), factors[2], pairs)
    work.together(made, shape, writer.outputs[0])
    return True


def _scales_of_cache(writer: Writer) -> tuple[str, str] | None:
    """Return the scales of cached keys and values, empty where they are numbers; None for forms that are not known."""
    kinds = {writer.values.get(f"{part}_quant_type", b"NONE") for part in "kv"}
    scales = writer.input(12), writer.input(13)
    if kinds == {b"NONE"}:
        return None if any(scales) else scales
    bits = int(writer.values.get("kv_cache_bit_width", 0))
    known = all(scale in writer.shapes for scale in scales) and kinds <= {b"PER_TENSOR", b"PER_CHANNEL"}
    return scales if known and bits == 8 else None


def attention_of_onnx(writer: Writer) -> bool:
    """The operator of ONNX itself; where masks leave a query nothing to look at, the output is 0."""
    lengths = writer.input(6)
    if any(writer.outputs[3:]) or writer.input(0) not in writer.types or (lengths and writer.input(4)):
        return False
    work, values, parts = _Heads(writer), writer.values, []
    for number, key in enumerate(("q_num_heads", "kv_num_heads", "kv_num_heads")):
        name = writer.inputs[number]
        shape = writer.shapes[name]
        parts.append((name, shape) if len(shape) == 4 else work.by_head(name, shape, int(values[key])))
    earlier = writer.shapes[writer.input(4)][2] if writer.input(4) else 0
    for number in (1, 2):
        name, shape = parts[number]
        output = writer.outputs[number] if len(writer.outputs) > number else ""
        joined = work.joined(writer.input(3 + number), name, output)
        parts[number] = joined, (*shape[:2], earlier + shape[2], shape[3])
    mask, places, total = writer.input(3), parts[0][1][2], parts[1][1][2]
    left, right = (int(values.get(f"{side}_window_size", -1)) for side in ("left", "right"))
    right = 0 if values.get("is_causal", 0) else right
    is_choice = bool(mask) and writer.types[mask] == writer.onnx.TensorProto.BOOL
    shape, known = writer.shapes.get(mask, ()), writer.numbers.get(mask)
    if mask and 1 < shape[-1] < total:  # no query looks at the places behind
        rest = np.zeros((*shape[:-1], total - shape[-1]))
        more = writer.constant(rest, np.bool_) if is_choice else writer.number(rest - np.inf)
        mask, known, shape = writer.add("Concat", mask, more, axis=len(shape) - 1), None, (*shape[:-1], total)
    allowed = [(mask, shape)] if is_choice else []
    if lengths:
        ends = writer.reshaped(lengths, (writer.shapes[lengths][0], 1, 1, 1))
        keys = writer.constant(np.arange(total))
        there = (writer.shapes[lengths][0], 1, 1, total)
        allowed.append((writer.add("Less", keys, ends), there))
        back = writer.add("Sub", keys, ends)  # the queries are the last places that there are
        if right >= 0:
            before = writer.constant(_column(right - places, places))
            allowed.append((writer.add("Less", back, before), (*there[:2], places, total)))
        if left >= 0:
            before = writer.constant(_column(-places - left - 2, places))
            allowed.append((writer.add("Less", before, back), (*there[:2], places, total)))
    else:
        allowed += work.near(earlier, places, total, left, right)
    added = [(mask, shape)] if mask and not is_choice else []
    made, shape = work.attend(*parts, added=added, allowed=allowed)
    all_look = not mask or (is_choice and known is not None and len(allowed) == 1 and bool(known.any(-1).all()))
    if lengths or not all_look:
        made = writer.add("Where", writer.add("IsNaN", made), writer.number(0.0), made)
    if len(writer.shapes[writer.inputs[0]]) == 4:
        writer.add("Identity", made, output=writer.outputs[0])
    else:
        work.together(made, shape, writer.outputs[0])
    return True


def _lengths(writer: Writer, batch: int, places: int) -> str:
    """Return how many places every sample had before: there is room for as many in a cache, or for more."""
    last = writer.add("Cast", writer.input(5), to=writer.onnx.TensorProto.INT64)
    return writer.reshaped(writer.add("Sub", last, writer.constant([places - 1])), (batch, 1))


def _seen(writer: Writer, before: str, earlier: int, places: int, window: int) -> list[tuple[str, Shape]]:
    """Return which places each new one looks at, counted from the first new one; nothing where these are all."""
    after = writer.constant(_column(0, places))
    if not before:
        if places == 1 and (window < 0 or window > earlier):
            return []
        keys = writer.constant(np.arange(-earlier, places))
    else:
        count = writer.constant(np.arange(earlier)[None])
        distance = writer.add("Sub", count, before)
        cached = writer.add("Where", writer.add("Less", count, before), distance, writer.constant(_NOWHERE))
        batch = writer.shapes[writer.inputs[0]][0]
        new = writer.constant(np.tile(np.arange(places), (batch, 1)))
        keys = writer.reshaped(writer.add("Concat", cached, new, axis=1), (batch, 1, 1, earlier + places))
    seen = [writer.add("Less", keys, after)]
    if window > 0:
        seen.append(writer.add("Less", writer.constant(_column(-1 - window, places)), keys))
    shape = (places, earlier + places)
    return [(name, (writer.shapes[writer.inputs[0]][0], 1, *shape) if before else shape) for name in seen]


def rotary_embedding(writer: Writer) -> bool:
    """Pairs of features turned by the angles of their places."""
    shape, values = writer.shapes[writer.inputs[0]], writer.values
    positions, width = writer.shapes[writer.inputs[1]], writer.shapes[writer.inputs[2]][1]
    if values.get("is_packed_batching", 0) or float(values.get("scale", 1.0)) != 1.0:
        return False
    at, turned = writer.inputs[1], writer.inputs[0]
    heads = int(values.get("num_heads", 0)) or (shape[1] if len(shape) == 4 else shape[2] // (2 * width))
    work = _Heads(writer)
    part = (turned, shape) if len(shape) == 4 else work.by_head(turned, shape, heads)
    if len(positions) == 1:
        at = writer.add("Add", writer.reshaped(at, (1, 1)), writer.constant(np.arange(part[1][2])[None]))
    last = writer.outputs[0] if len(shape) == 4 else ""
    made = _rotated(writer, part, at, writer.inputs[2], writer.inputs[3], last)
    if len(shape) == 3:
        work.together(made, part[1], writer.outputs[0])
    return True


def _rotated(writer: Writer, part: tuple[str, Shape], at: str, cos: str, sin: str, output: str = "") -> str:
    """Return places by head, the first of their features turned; ``at`` are the rows of the tables of angles."""
    (name, shape), width = part, writer.shapes[cos][1]
    interleaved = writer.values.get("interleaved", writer.values.get("rotary_interleaved", 0))
    tables = []
    for table in (cos, sin):
        rows = writer.add("Gather", table, at, axis=0)
        tables.append(writer.add("Unsqueeze", rows, writer.constant([1])) if writer.opset >= 13 else
                      writer.add("Unsqueeze", rows, axes=[1]))  # fmt: skip
    if interleaved:
        pairs = writer.part(name, 3, 0, 2 * width) if shape[3] > 2 * width else name
        pairs = writer.reshaped(pairs, (*shape[:3], width, 2))
        halves = [writer.reshaped(writer.part(pairs, 4, side, side + 1), (*shape[:3], width)) for side in range(2)]
    else:
        halves = [writer.part(name, 3, side * width, (side + 1) * width) for side in range(2)]
    first = writer.add("Sub", writer.add("Mul", halves[0], tables[0]), writer.add("Mul", halves[1], tables[1]))
    second = writer.add("Add", writer.add("Mul", halves[0], tables[1]), writer.add("Mul", halves[1], tables[0]))
    made = [first, second]
    if interleaved:
        apart = [writer.reshaped(half, (*shape[:3], width, 1)) for half in made]
        made = [writer.reshaped(writer.add("Concat", *apart, axis=4), (*shape[:3], 2 * width))]
    if shape[3] > 2 * width:
        made.append(writer.part(name, 3, 2 * width, shape[3]))
    return writer.add("Concat", *made, output=output, axis=3)
