"""What operators that move a window compute on a region: convolutions, pooling, neighbours, interpolation, margins."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from shorthaul.core.errors import InputError
from shorthaul.tensor.networks.execution.lookups import LOOKUPS
from shorthaul.tensor.networks.execution.operators import KINDS, Array, Kind, Piece, pointwise, rounded
from shorthaul.tensor.networks.execution.reading import mesh
from shorthaul.tensor.networks.translation.lookups import scales_of
from shorthaul.tensor.networks.translation.operators import dft_axis, windows_of
from shorthaul.tensor.networks.translation.writing import Shape, margins

Ints = npt.NDArray[np.int64]


def _spatial(piece: Piece, rank: int) -> tuple[list[Ints], list[Ints]]:
    """Return the places of a region in space, and its taps."""
    names = "yxz" if rank < 3 or piece.kind in _POOLED else "zyx"
    return [piece.along(names[axis % 3]) for axis in range(rank)], [piece.along(f"k{axis}") for axis in range(rank)]


def _window(piece: Piece, kernel: Shape) -> tuple[list[int], list[int], list[int], list[int]]:
    """Return strides, dilations, and the padding in front and behind, per axis."""
    return windows_of(piece.node, piece.shape(0)[2:], kernel, piece.reader.shape(piece.node.outputs[0])[2:])


def _padded(
    piece: Piece,
    number: int,
    first: Sequence[Ints],
    spans: Sequence[tuple[int, int]],
    beyond: Any,
    steps: Sequence[int] = (),
) -> Array:
    """Return an input at ``first`` by all places of spans, in ``steps``, which may lie outside: there is ``beyond``.

    ``first`` has the places along leading axes, as many as the input has before those of space; two for a channel are
    its group and the place in the group.
    """
    shape = piece.shape(number)[2:]
    by = steps or (1,) * len(spans)
    ends = [
        (low + -(min(low, 0) // step) * step, high - -(min(size - 1 - high, 0) // step) * step)
        for (low, high), size, step in zip(spans, shape, by, strict=True)
    ]
    size = [(high - low) // step + 1 for (low, high), step in zip(spans, by, strict=True)]
    leading = [len(at) for at in first]
    if any(high < low for low, high in ends):
        return np.full((*leading, *size), beyond, np.float64 if isinstance(beyond, float) else None)
    index = list(mesh(*first, *(np.arange(low, high + 1, step) for (low, high), step in zip(ends, by, strict=True))))
    if len(first) == 3:
        n, g, c, *rest = index
        index = [n, g * (piece.shape(number)[1] // _groups(piece)) + c, *rest]
    values = piece.take(number, tuple(index))
    margins = [(0, 0)] * len(first)
    around = zip(ends, spans, by, strict=True)
    margins += [((low - a) // step, (b - high) // step) for (low, high), (a, b), step in around]
    if not any(front or back for front, back in margins):
        return values
    return np.pad(values, margins, constant_values=beyond)


def _groups(piece: Piece) -> int:
    return int(piece.node.attributes.get("group", 1))


def convolution(piece: Piece) -> Array:
    """Return sums over taps and channels."""
    at = {"QLinearConv": (0, 3), "ConvInteger": (0, 1)}.get(piece.kind, (0, 1))
    shape, kernel = piece.shape(at[0]), piece.shape(at[1])
    rank, groups = len(shape) - 2, _groups(piece)
    strides, dilations, front, _ = _window(piece, kernel[2:])
    places, taps = _spatial(piece, rank)
    n, g, m, c = (piece.along(name) for name in "ngmc")
    each = list(zip(places, taps, strides, dilations, front, strict=True))
    spans = [(int(p[0]) * s + int(t[0]) * d - f, int(p[-1]) * s + int(t[-1]) * d - f) for p, t, s, d, f in each]
    apart = [(int(p[1] - p[0]) * s if len(p) > 1 else 0, d if len(t) > 1 else 0) for p, t, s, d, _ in each]
    steps = [math.gcd(*pair) or 1 for pair in apart]
    spread = mesh(g, m, c, *taps)
    weights = piece.take(at[1], (spread[0] * (kernel[0] // groups) + spread[1], *spread[2:]))
    beyond: Any = 0.0
    if piece.kind != "Conv":
        zero = {"QLinearConv": 2, "ConvInteger": 2}[piece.kind]
        beyond = piece.constant(zero, np.zeros((), np.uint8)).reshape(())
    data = _padded(piece, at[0], (n, g, c), spans, beyond, steps)
    if piece.kind != "Conv":
        data = data.astype(np.int64) - int(beyond)
        offset = (
            piece.constant(5 if piece.kind == "QLinearConv" else 3, np.zeros((), np.int64)).astype(np.int64).ravel()
        )
        channels = (g[:, None] * (kernel[0] // groups) + m).reshape(len(g), len(m), *(1,) * (rank + 1))
        weights = weights.astype(np.int64) - (offset[channels] if offset.size > 1 else offset.reshape(()))
    lengths = [len(p) for p in places]
    windows = np.lib.stride_tricks.as_strided(
        data,
        (*data.shape[:3], *(len(t) for t in taps), *lengths),
        (
            *data.strides[:3],
            *(by * d // step for by, (_, d), step in zip(data.strides[3:], apart, steps, strict=True)),
            *(by * p // step for by, (p, _), step in zip(data.strides[3:], apart, steps, strict=True)),
        ),
        writeable=False,
    )
    columns = windows.reshape(len(n), len(g), -1, math.prod(lengths))
    found = weights.reshape(len(g), len(m), -1) @ columns
    found = found.reshape(len(n), len(g), len(m), *lengths)
    return np.asarray(found if groups > 1 else found[:, 0])


def finish_convolution(piece: Piece, total: Array) -> Array:
    """Return a convolution with its bias, in the type of the output."""
    number = 8 if piece.kind == "QLinearConv" else 2
    if piece.kind != "ConvInteger" and piece.input(number):
        total = total + _by_channel(piece.take(number, (_channels(piece),)), total.ndim)
    if piece.kind == "ConvInteger":
        return total.astype(np.int32)
    if piece.kind == "QLinearConv":
        weights = np.asarray(piece.constant(4), np.float64).ravel()
        scale = np.asarray(piece.constant(1), np.float64).reshape(()) / np.asarray(piece.constant(6)).reshape(())
        by = weights[_channels(piece)] if weights.size > 1 else np.full(_channels(piece).shape, weights[0])
        zero = piece.constant(7)
        return rounded(total * _by_channel(by * scale, total.ndim), zero, zero.dtype)
    return total


def _channels(piece: Piece) -> Ints:
    count = piece.reader.shape(piece.node.outputs[0])[1] // _groups(piece)
    spread = piece.along("g")[:, None] * count + piece.along("m")
    return spread if _groups(piece) > 1 else spread[0]


def _by_channel(values: Array, rank: int) -> Array:
    return values.reshape((1, *values.shape, *(1,) * (rank - 1 - values.ndim)))


def transposed(piece: Piece) -> Array:
    """Return sums over taps and channels of a transposed convolution: every input spreads over its window."""
    shape, kernel, groups = piece.shape(0), piece.shape(1), _groups(piece)
    rank = len(shape) - 2
    strides, dilations, front, _ = _window(piece, kernel[2:])
    places, taps = _spatial(piece, rank)
    n, g, m, c = (piece.along(name) for name in "ngmc")
    spread = mesh(g, c, m, *taps)
    weights = piece.take(1, (spread[0] * (kernel[0] // groups) + spread[1], *spread[2:]))
    found = np.zeros((len(n), len(g), len(m), *(len(p) for p in places)))
    for numbers in itertools.product(*(range(len(t)) for t in taps)):
        ours, theirs = [], []
        for axis, number in enumerate(numbers):
            at = places[axis] + front[axis] - int(taps[axis][number]) * dilations[axis]
            fits = (at % strides[axis] == 0) & (at >= 0) & (at < shape[2 + axis] * strides[axis])
            ours.append(np.flatnonzero(fits))
            theirs.append(at[fits] // strides[axis])
        if any(len(at) == 0 for at in ours):
            continue
        index = mesh(n, g, c, *theirs)
        data = piece.take(0, (index[0], index[1] * (shape[1] // groups) + index[2], *index[3:]))
        part = np.einsum("ngc...,gcm->ngm...", data, weights[(slice(None),) * 3 + numbers], optimize=True)
        found[mesh(*(range(len(at)) for at in (n, g, m)), *ours)] += part
    return found if groups > 1 else found[:, 0]


def pooling(piece: Piece) -> Array:
    """Return the largest element of every window, or the sum of its powers."""
    kernel, (strides, dilations, front, _) = _pool(piece)
    places, taps = _spatial(piece, len(kernel))
    each = zip(places, taps, strides, dilations, front, strict=True)
    spans = [(int(p[0]) * s + int(t[0]) * d - f, int(p[-1]) * s + int(t[-1]) * d - f) for p, t, s, d, f in each]
    is_largest = "Max" in piece.kind
    data = _padded(piece, 0, (piece.along("n"), piece.along("c")), spans, -math.inf if is_largest else 0.0)
    if "Lp" in piece.kind:
        data = np.abs(data) ** piece.number("p", 2.0)
    windows = np.lib.stride_tricks.as_strided(
        data,
        (*data.shape[:2], *(len(p) for p in places), *(len(t) for t in taps)),
        (
            *data.strides[:2],
            *(by * s for by, s in zip(data.strides[2:], strides, strict=True)),
            *(by * d for by, d in zip(data.strides[2:], dilations, strict=True)),
        ),
        writeable=False,
    )
    axes = tuple(range(2 + len(kernel), windows.ndim))
    return np.asarray(windows.max(axes) if is_largest else windows.sum(axes))


def _pool(piece: Piece) -> tuple[tuple[int, ...], tuple[list[int], list[int], list[int], list[int]]]:
    spatial = piece.shape(0)[2:]
    kernel = (
        spatial if piece.kind.startswith("Global") else tuple(int(n) for n in piece.node.attributes["kernel_shape"])
    )
    return kernel, _window(piece, kernel)


def finish_pooling(piece: Piece, total: Array) -> Array:
    """Return the mean of every window, or the root of its powers."""
    if "Lp" in piece.kind:
        return np.asarray(total ** (1 / piece.number("p", 2.0)))
    if "Average" not in piece.kind:
        return total
    kernel, (strides, dilations, front, behind) = _pool(piece)
    spatial, pads = piece.shape(0)[2:], bool(piece.node.attributes.get("count_include_pad", 0))
    places, _ = _spatial(piece, len(kernel))
    for axis, size in enumerate(kernel):
        at = places[axis][:, None] * strides[axis] + np.arange(size) * dilations[axis] - front[axis]
        least, most = (-front[axis], spatial[axis] + behind[axis]) if pads else (0, spatial[axis])
        count = ((at >= least) & (at < most)).sum(1)
        total = total / count.reshape([-1 if other == 2 + axis else 1 for other in range(total.ndim)])
    return np.asarray(total)


def neighbours(piece: Piece) -> Array:
    """Return elements normalised over the channels around them."""
    size = int(piece.node.attributes["size"])
    places = piece.written()
    channels, before = piece.shape(0)[1], (size - 1) // 2
    low, high = max(0, int(places[1][0]) - before), min(channels - 1, int(places[1][-1]) + size - 1 - before)
    x = piece.take(0, mesh(places[0], np.arange(low, high + 1), *places[2:]))
    return piece.by_reference({piece.input(0): x})[:, places[1] - low]


def margin(piece: Piece) -> Array:
    """Return a tensor with a margin: one number, or what is inside mirrored or drawn out."""
    shape, places = piece.shape(0), piece.written()
    given = piece.node.attributes.get("pads")
    pads = piece.constant(1).ravel().tolist() if given is None else list(given)
    some = piece.constant(3)
    pads = pads if some is None else margins(pads, some.ravel().tolist(), len(shape))
    mode = str(piece.node.attributes.get("mode", "constant"))
    at = [place - int(front) for place, front in zip(places, pads, strict=False)]
    if mode == "constant":
        value = piece.constant(2, None)
        beyond = piece.number("value", 0.0) if value is None else value.reshape(())
        inside = [np.flatnonzero((a >= 0) & (a < size)) for a, size in zip(at, shape, strict=True)]
        found = np.full([len(a) for a in at], beyond)
        if all(len(keep) for keep in inside):
            values = piece.take(0, mesh(*(a[keep] for a, keep in zip(at, inside, strict=True))))
            found = found.astype(values.dtype)
            found[np.ix_(*inside)] = values
        return found
    for axis, size in enumerate(shape):
        front, behind = int(pads[axis]), int(pads[axis + len(shape)])
        reached = np.pad(np.arange(size), (max(front, 0), max(behind, 0)), mode)  # type: ignore[call-overload]
        at[axis] = reached[places[axis] - min(front, 0)]
    return piece.take(0, mesh(*at))


def interpolated(piece: Piece) -> Array:
    """Return places between those of the source, along one axis after the other."""
    shape, output = piece.shape(0), piece.reader.shape(piece.node.outputs[0])
    places, source = piece.written(), []
    matrices: list[npt.NDArray[np.float64] | None] = []
    scales = scales_of(
        piece.node, shape, output, {name: piece.constant(n) for n, name in enumerate(piece.node.inputs) if n and name}
    )
    for axis, (size, wanted) in enumerate(zip(shape, output, strict=True)):
        if size == wanted:
            source.append(places[axis])
            matrices.append(None)
            continue
        matrix = _weights(piece, size, wanted, places[axis], float(scales[axis]))
        used = np.flatnonzero(matrix.any(0))
        source.append(np.arange(used[0], used[-1] + 1))
        matrices.append(matrix[:, used[0] : used[-1] + 1])
    found = piece.take(0, mesh(*source))
    for axis, weights in enumerate(matrices):
        if weights is not None:
            found = np.moveaxis(np.tensordot(weights, found, (1, axis)), 0, axis)
    return found


def spectrum(piece: Piece) -> Array:
    """Return Fourier transforms of whole rows, or of frames of a signal."""
    places, shape = piece.written(), piece.shape(0)
    if piece.kind == "STFT":
        step, size, parts = int(piece.constant(1)), len(piece.along("w")), np.arange(shape[2])
        first, last = int(places[1][0]) * step, int(places[1][-1]) * step + size
        signal = piece.take(0, mesh(places[0], np.arange(first, last), parts))
        window = piece.take(2, mesh(np.arange(size))) if piece.input(2) else 1.0
        frames = np.lib.stride_tricks.sliding_window_view(signal, size, axis=1)[:, ::step]
        numbers = frames[:, :, 0] + 1j * frames[:, :, 1] if shape[2] == 2 else frames[:, :, 0]
        found = np.fft.fft(numbers * window)[:, :, : len(places[2])]
        return np.stack([found.real, found.imag], -1)
    axis = dft_axis(piece.node, piece.reader.graph.values, len(shape))
    index = [*places[:-1], np.arange(shape[-1])]
    index[axis] = np.arange(shape[axis])
    values = {name: piece.constant(number) for number, name in enumerate(piece.node.inputs) if number and name}
    return piece.by_reference({**values, piece.input(0): piece.take(0, mesh(*index))})


def _weights(piece: Piece, size: int, wanted: int, places: Ints, scale: float) -> npt.NDArray[np.float64]:
    """Return how much of every source place goes into every place."""
    attributes = piece.node.attributes
    default = "asymmetric" if piece.kind == "Upsample" else "half_pixel"
    kind = str(attributes.get("coordinate_transformation_mode", default))
    x = places.astype(np.float64)
    match kind:
        case "half_pixel":
            at = (x + 0.5) / scale - 0.5
        case "pytorch_half_pixel":
            at = (x + 0.5) / scale - 0.5 if wanted > 1 else x * 0
        case "align_corners":
            at = x * (size - 1) / (wanted - 1) if wanted > 1 else x * 0
        case "asymmetric":
            at = x / scale
        case _:
            raise InputError("cannot be executed", place=f"node {piece.node.name} ({piece.kind})", value=kind)
    at = at.round(9)  # a place that lies on one of the source lies on it
    mode = str(attributes.get("mode", "nearest"))
    found = np.zeros((len(places), size))
    row = np.arange(len(places))
    if mode == "nearest":
        how = str(attributes.get("nearest_mode", "floor" if piece.kind == "Upsample" else "round_prefer_floor"))
        nearest = {"floor": np.floor(at), "ceil": np.ceil(at), "round_prefer_ceil": np.floor(at + 0.5)}
        found[row, np.clip(nearest.get(how, np.ceil(at - 0.5)), 0, size - 1).astype(int)] = 1.0
        return found
    low = np.floor(at).astype(int)
    part = at - low
    if mode == "linear":
        taps = {0: 1 - part, 1: part}
    else:
        a = float(attributes.get("cubic_coeff_a", -0.75))
        near = [(a + 2) * t**3 - (a + 3) * t**2 + 1 for t in (part, 1 - part)]
        far = [a * (t**3 - 5 * t**2 + 8 * t - 4) for t in (part + 1, 2 - part)]
        taps = {-1: far[0], 0: near[0], 1: near[1], 2: far[1]}
    for step, weight in taps.items():
        inside = (low + step >= 0) & (low + step < size)
        excluded = bool(attributes.get("exclude_outside", 0))
        np.add.at(found, (row, np.clip(low + step, 0, size - 1)), np.where(inside | (not excluded), weight, 0.0))
    weights: npt.NDArray[np.float64] = found / found.sum(1, keepdims=True)
    return weights


_POOLED: Final = frozenset(f"{scope}{kind}Pool" for scope in ("", "Global") for kind in ("Max", "Average", "Lp"))
_WINDOWED: Final[dict[str, Kind]] = {
    **dict.fromkeys(("Conv", "QLinearConv", "ConvInteger"), Kind(convolution, finish=finish_convolution)),
    "ConvTranspose": Kind(transposed, finish=finish_convolution),
    **{kind: Kind(pooling, np.maximum if "Max" in kind else np.add, finish_pooling) for kind in _POOLED},
    **dict.fromkeys(("DFT", "STFT"), Kind(spectrum)),
    "LRN": Kind(neighbours),
    "Pad": Kind(margin),
    **dict.fromkeys(("Resize", "Upsample"), Kind(interpolated)),
}


def kind_of(name: str) -> Kind:
    """Return how an operator is executed."""
    plain = name.removeprefix("com.microsoft.")
    return KINDS.get(plain) or LOOKUPS.get(plain) or _WINDOWED.get(plain) or Kind(pointwise)
