"""Convolution layers of ResNet-50 and MobileNetV2: the order of the tool beside the best of many searched tiles.

``python benchmarks/affine_convolutions.py [KIB...] [--tiles 10000] [--net resnet50]`` prints, per layer and fast
memory, the lower bound, the loads of the derived order, those of the best of the tiles drawn, and their quotient.
Tiles are drawn here and counted by code of this file only: six edges and orders of the loops over tiles, nothing kept
but what the tile before left. Reductions may be tiled in any loop there, in the tool's orders only as the program adds
up.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import numpy as np

from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.orders.searching import at_sizes
from shorthaul.affine.orders.upper_bound import upper_bound
from shorthaul.core.search import Search

WORD = 4


class Layer(NamedTuple):
    """One layer: channels out and in, output size, filter, stride; depthwise layers have one filter per channel."""

    name: str
    k: int
    c: int
    size: int
    filter: int
    stride: int
    depthwise: bool = False


def resnet50() -> list[Layer]:
    """Return the different convolution layers of ResNet-50."""
    layers = [Layer("conv1", 64, 3, 112, 7, 2)]
    width = 64
    for stage, (inner, size) in enumerate(((64, 56), (128, 28), (256, 14), (512, 7)), 2):
        stride = 1 if stage == 2 else 2
        layers += [
            Layer(f"res{stage} shortcut", 4 * inner, width, size, 1, stride),
            Layer(f"res{stage} first", inner, width, size * stride, 1, 1),
            Layer(f"res{stage} 3x3/{stride}", inner, inner, size, 3, stride),
            Layer(f"res{stage} last", 4 * inner, inner, size, 1, 1),
            Layer(f"res{stage} reduce", inner, 4 * inner, size, 1, 1),
            Layer(f"res{stage} 3x3", inner, inner, size, 3, 1),
        ]
        width = 4 * inner
    return list(dict.fromkeys(layers))


def mobilenet_v2() -> list[Layer]:
    """Return the different convolution layers of MobileNetV2."""
    layers = [Layer("conv1", 32, 3, 112, 3, 2)]
    width, size = 32, 112
    blocks = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
    for number, (factor, out, repeats, first) in enumerate(blocks):
        for at in range(repeats):
            stride, inner = first if at == 0 else 1, factor * width
            if factor > 1:
                layers.append(Layer(f"block{number}.{at} expand", inner, width, size, 1, 1))
            size //= stride
            layers.append(Layer(f"block{number}.{at} depthwise", inner, 1, size, 3, stride, depthwise=True))
            layers.append(Layer(f"block{number}.{at} project", out, inner, size, 1, 1))
            width = out
    layers.append(Layer("last", 1280, width, size, 1, 1))
    known: dict[tuple[object, ...], Layer] = {}
    for item in layers:
        known.setdefault(item[1:], item)
    return list(known.values())


def source(layer: Layer) -> str:
    """Return the layer as C."""
    h, w = (f"{layer.stride} * h + r", f"{layer.stride} * w + q") if layer.stride > 1 else ("h + r", "w + q")
    extent = f"[{layer.stride} * H + R][{layer.stride} * W + R]"
    if layer.depthwise:
        return f"""void layer(int K, int H, int W, int R,
    float in[K]{extent}, float filter[K][R][R], float out[K][H][W]) {{
#pragma scop
  for (int k = 0; k < K; k++) for (int h = 0; h < H; h++) for (int w = 0; w < W; w++) {{
    out[k][h][w] = 0;
    for (int r = 0; r < R; r++) for (int q = 0; q < R; q++) out[k][h][w] += in[k][{h}][{w}] * filter[k][r][q];
  }}
#pragma endscop
}}"""
    return f"""void layer(int K, int C, int H, int W, int R,
    float in[C]{extent}, float filter[K][C][R][R], float out[K][H][W]) {{
#pragma scop
  for (int k = 0; k < K; k++) for (int h = 0; h < H; h++) for (int w = 0; w < W; w++) {{
    out[k][h][w] = 0;
    for (int c = 0; c < C; c++) for (int r = 0; r < R; r++) for (int q = 0; q < R; q++)
      out[k][h][w] += in[c][{h}][{w}] * filter[k][c][r][q];
  }}
#pragma endscop
}}"""


def best_of_drawn(layer: Layer, capacity: int, count: int, seed: int = 0) -> float:
    """Return the fewest loads of ``count`` tiles that fit: edges and the order of the loops drawn."""
    draw = np.random.default_rng(seed)
    extents = np.array([layer.k, 1 if layer.depthwise else layer.c, layer.size, layer.size, layer.filter, layer.filter])
    best, found = np.inf, 0
    while found < count:
        edges = np.exp(draw.uniform(0, np.log(extents + 1), (count, 6))).astype(int).clip(1, extents)
        whole = draw.random((count, 6)) < 0.3
        edges = np.where(whole, extents, edges)
        fits = sum(footprints(layer, edges)) + 1 <= capacity
        edges = edges[fits]
        found += max(len(edges), count // 50)
        for order in {tuple(draw.permutation(6).tolist()) for _ in range(60)}:
            if len(edges):
                best = min(best, float(loads(layer, edges, extents, order).min()))
    return best


def footprints(layer: Layer, edges: np.ndarray) -> list[np.ndarray]:
    """Return the words of input, filter and output that tiles of these edges touch."""
    k, c, h, w, r, q = edges.T
    rows = np.minimum(layer.stride * (h - 1) + r, h * r) * np.minimum(layer.stride * (w - 1) + q, w * q)
    return [(k if layer.depthwise else c) * rows, k * (1 if layer.depthwise else c) * r * q, k * h * w]


def loads(layer: Layer, edges: np.ndarray, extents: np.ndarray, order: tuple[int, ...]) -> np.ndarray:
    """Return what tiles load: each array anew whenever a loop turns that it depends on, less what overlaps."""
    turns = np.ceil(extents / edges)
    depends = [
        (0, 2, 3, 4, 5) if layer.depthwise else (1, 2, 3, 4, 5),
        (0, 4, 5) if layer.depthwise else (0, 1, 4, 5),
        (0, 2, 3),
    ]
    total = np.zeros(len(edges))
    for number, loops in enumerate(depends):
        # per tile, the innermost loop of those that turn at all decides
        remaining = np.ones(len(edges), bool)
        for place in range(5, -1, -1):
            at = order[place]
            if at not in loops:
                continue
            here = remaining & (turns[:, at] > 1)
            run = edges.copy()
            run[:, at] = extents[at]
            cost = footprints(layer, run)[number] * np.prod(turns[:, list(order[:place])], axis=1)
            total += np.where(here, cost, 0)
            remaining &= ~here
        total += np.where(remaining, footprints(layer, edges)[number], 0)
    return total - layer.k * layer.size**2  # outputs begin in fast memory


def derived(layer: Layer, capacity: int, effort: float) -> tuple[float, float]:
    """Return the lower bound, found with ``effort``, and the loads of the order that the tool finds."""
    program = program_from_text(source(layer))
    flow = flow_dependences(program)
    sizes = {"K": layer.k, "C": layer.c, "H": layer.size, "W": layer.size, "R": layer.filter, "S": capacity}
    sizes = {name: sizes[name] for name in (*program.parameters, "S")}
    least = lower_bound(program, flow=flow, sizes=sizes, search=Search(effort=effort)).value(sizes)
    return least, at_sizes(upper_bound(program, flow=flow), flow, sizes).value(sizes)


def main() -> None:
    """Print a line per layer and memory, and the largest quotient."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kib", nargs="*", type=int, default=[16, 64, 256, 1024])
    parser.add_argument("--tiles", type=int, default=10_000)
    parser.add_argument("--effort", type=float, default=1.0, help="that of the bound")
    parser.add_argument("--layers", type=int, default=1_000)
    parser.add_argument("--net", choices=("resnet50", "mobilenet_v2", "both"), default="both")
    given = parser.parse_args()
    nets = {"resnet50": resnet50(), "mobilenet_v2": mobilenet_v2()}
    chosen = [item for name, layers in nets.items() if given.net in (name, "both") for item in layers[: given.layers]]
    quotients = []
    for layer in chosen:
        for kib in given.kib:
            capacity = kib * 1024 // WORD
            (least, ours), drawn = derived(layer, capacity, given.effort), best_of_drawn(layer, capacity, given.tiles)
            quotients.append(ours / drawn)
            figures = f"{least:14,.0f} {ours:14,.0f} {drawn:14,.0f} {quotients[-1]:7.3f}"
            print(f"{layer.name:24} {kib:5} KiB {figures}", flush=True)
    within = sum(item <= 1.3 for item in quotients)
    print(f"{within} of {len(quotients)} within 1.3, largest {max(quotients):.3f}, median {np.median(quotients):.3f}")


if __name__ == "__main__":
    main()
